//! How long a jail takes to start, beside bubblewrap with the same mounts and a bare fork and exec; what work costs in
//! it; how long a whole run takes to begin and end; and what is kept apart, in workspaces of every size.

mod apart;
mod work;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use belay_jail::{Access, Grant, Identity, Launch, Limits, Network, Policy};

use crate::error::{Doing, Error, Result};
use crate::table;

/// What every lane shows read-only; what is not there is left out of all of them.
const SYSTEM: [&str; 6] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc"];
const PROGRAM: &str = "/usr/bin/true";
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Starts a program that does nothing, bare, in bubblewrap and in a jail, in turn, and prints the least times.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(long, default_value_t = 100)]
    rounds: usize,
    /// The workspace that is shown.
    #[arg(long, default_value = ".")]
    workspace: PathBuf,
    /// Where the workspaces are that were made for comparisons: the one called M is shown.
    #[arg(long, conflicts_with = "workspace")]
    data: Option<PathBuf>,
    /// The program belay; without it no whole run is measured.
    #[arg(long)]
    belay: Option<PathBuf>,
    /// Rounds of work inside and outside.
    #[arg(long, default_value_t = 5)]
    work_rounds: usize,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let workspace = args.data.as_ref().map_or_else(|| args.workspace.clone(), |data| data.join("M"));
    let workspace = workspace.canonicalize().doing("find", &workspace)?;
    println!("{}", table::preamble());
    let lanes = ["bare", "bubblewrap", "bubblewrap, no network", "jail", "jail, no network"];
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); lanes.len()];
    let has_peer = Command::new("bwrap").arg("--version").stdout(Stdio::null()).status().is_ok();
    for _ in 0..args.rounds.max(1) {
        let start = |lane: usize| match lane {
            0 => bare(),
            1 => bubblewrap(&workspace, Network::Shared),
            2 => bubblewrap(&workspace, Network::None),
            3 => jail(&workspace, Network::Shared),
            _ => jail(&workspace, Network::None),
        };
        for (lane, times) in times.iter_mut().enumerate().filter(|(lane, _)| has_peer || ![1, 2].contains(lane)) {
            times.push(start(lane)?);
        }
    }
    println!("| start of a program that does nothing | least | median | × bare |");
    println!("|---|---|---|---|");
    times.iter_mut().for_each(|times| times.sort());
    let bare = times[0][0].as_secs_f64();
    for (name, times) in lanes.iter().zip(&times) {
        if times.is_empty() {
            println!("| {name} | is not installed | | |");
            continue;
        }
        let (least, median) = (times[0], times[times.len() / 2]);
        println!("| {name} | {} | {} | {:.2} |", table::time(least), table::time(median), least.as_secs_f64() / bare);
    }
    for (peer, own, what) in [(1, 3, "shared network"), (2, 4, "no network")].into_iter().filter(|_| has_peer) {
        let ratio = times[own][0].as_secs_f64() / times[peer][0].as_secs_f64();
        let kept = if ratio <= 1.0 { "kept" } else { "NOT KEPT" };
        println!("\njail ≤ bubblewrap, {what}: {ratio:.2} × ({kept})");
    }
    if let Some(belay) = &args.belay {
        work::whole_runs(belay, &workspace, args.rounds.div_ceil(5), times[0][0])?;
        let made = |data: &PathBuf| ["S", "M", "L"].map(|name| data.join(name)).to_vec();
        let workspaces = args.data.as_ref().map_or_else(|| vec![workspace.clone()], made);
        apart::ephemeral_and_forks(belay, &workspaces, args.work_rounds)?;
    }
    work::inside_and_outside(args.work_rounds)
}

fn bare() -> Result<Duration> {
    timed(Command::new(PROGRAM).env_clear())
}

fn bubblewrap(workspace: &Path, network: Network) -> Result<Duration> {
    let mut command = Command::new("bwrap");
    command.args(["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup"]);
    if network == Network::None {
        command.arg("--unshare-net");
    }
    for path in SYSTEM {
        command.args(["--ro-bind-try", path, path]);
    }
    command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind"]);
    command.arg(workspace).arg(workspace).arg("--chdir").arg(workspace).arg(PROGRAM);
    timed(&mut command)
}

fn timed(command: &mut Command) -> Result<Duration> {
    let name = command.get_program().to_string_lossy().into_owned();
    let begin = Instant::now();
    let status = command.stdin(Stdio::null()).status();
    let status = status.map_err(|source| Error::Start { program: name.clone(), source })?;
    let time = begin.elapsed();
    if !status.success() {
        return Err(Error::Failed { command: name, status, said: String::new() });
    }
    Ok(time)
}

fn jail(workspace: &Path, network: Network) -> Result<Duration> {
    jailed(workspace, network, &[PROGRAM])
}

fn jailed(workspace: &Path, network: Network, argv: &[&str]) -> Result<Duration> {
    let mut grants: Vec<Grant> = SYSTEM.iter().map(|path| Grant::new(*path, Access::Read)).collect();
    grants.push(Grant::new("/tmp", Access::Empty));
    grants.push(Grant::new(workspace, Access::Write));
    let policy = Policy {
        grants,
        sealed: Vec::new(),
        kept: Vec::new(),
        shown: Vec::new(),
        replaced: Vec::new(),
        network,
        identity: Identity::Own { uid: 1000, gid: 1000 },
        limits: Limits::default(),
        host_name: "bench".into(),
        tells_refusals: false,
        tells_paths: false,
        without_namespaces: false,
    };
    let launch = Launch {
        argv: argv.iter().map(|word| word.as_bytes().to_vec()).collect(),
        env: vec![(b"PATH".to_vec(), PATH.as_bytes().to_vec())],
        directory: workspace.to_owned(),
        stdio: None,
        foreground: false,
        dies_with_parent: false,
        tracer: None,
    };
    let begin = Instant::now();
    let held = belay_jail::hold(&policy, launch, |_| Ok(())).map_err(failed)?;
    let status = held.release().and_then(|mut running| running.wait()).map_err(failed)?;
    let time = begin.elapsed();
    if !status.success() {
        return Err(Error::Failed { command: argv.join(" "), status, said: String::new() });
    }
    Ok(time)
}

fn failed(error: belay_jail::Error) -> Error {
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    Error::Wrong { tool: "belay-jail".to_owned(), finding: format!("{error}{cause}") }
}
