//! `belay run`: runs a command with a snapshot before it, a record of all that it does, and the way back.

use std::ffi::OsString;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use belay_session::event::Raw;
use belay_session::{BackendChoice, Confinement, ConfinementEngine, Reach, suits};
use belay_session::{
    Farewell, Request, RunClient, RunLimits, RunPlan, RunRecord, Workspace, catch_signals, is_findable,
};
use belay_session::{parse_size, parse_span, shell_word};

use crate::context::Context;
use crate::error::{Failure, Kind, Result};
use crate::relay::{Endings, News, Outcome, Screen, relay, stop_on_signals};
use crate::{past, profiles, summary, view};

/// Run a command, and keep the way back
///
/// Takes a snapshot, then runs CMD and records every command that it starts and every file that changes, with
/// snapshots at the right moments. Interactive programs keep their terminal. When it has ended, belay says what changed
/// and how to take it back; the exit code is CMD's. What CMD leaves running in the background of a jail is ended with it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// A name for the run
    #[arg(short, long, value_name = "NAME")]
    label: Option<String>,

    /// Do not wait: the run goes on without this terminal
    #[arg(short, long)]
    detach: bool,

    /// Stop it after this time, such as 90s or 10m
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    time: Option<u64>,

    /// Let it use no more memory than this, such as 2GiB
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory: Option<u64>,

    /// Let it have no more processes and threads than this
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    processes: Option<u64>,

    /// What keeps the command in; without it, a jail if a flag below asks for one, else what isolation.engine says
    #[arg(long, value_name = "ENGINE")]
    isolation: Option<Isolation>,

    /// Keep what the command writes to the workspace apart, for `belay review`; in a jail or not at all
    #[arg(long, conflicts_with = "isolation")]
    ephemeral: bool,

    /// What a confined command may reach; without it, the profile that suits CMD
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,

    /// Let a confined command read this too
    #[arg(long, value_name = "PATH")]
    ro: Vec<PathBuf>,

    /// Let a confined command write this too; what it changes there outside of the workspace cannot be taken back
    #[arg(long, value_name = "PATH")]
    rw: Vec<PathBuf>,

    /// Hide this from a confined command
    #[arg(long, value_name = "PATH")]
    hide: Vec<PathBuf>,

    /// Watch for paths that the jail refuses, even where every call must wait for that; root's runs always do
    #[arg(long)]
    denials: bool,

    /// Where the content of its snapshots is to lie; without it, where snapshots.backend says
    #[arg(long, value_name = "NAME", value_parser = super::snapshot::backend, hide_short_help = true)]
    backend: Option<BackendChoice>,

    /// Make this very directory a workspace, even if it lies inside one
    #[arg(long, hide_short_help = true)]
    here: bool,

    /// The command and its arguments
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true)]
    command: Vec<OsString>,
}

impl Args {
    /// The first flag that means nothing without a jail.
    fn needs_jail(&self) -> Option<&'static str> {
        let flags = [
            (self.profile.is_some(), "--profile"),
            (!self.ro.is_empty(), "--ro"),
            (!self.rw.is_empty(), "--rw"),
            (!self.hide.is_empty(), "--hide"),
            (self.denials, "--denials"),
        ];
        flags.into_iter().find(|(is_given, _)| *is_given).map(|(_, flag)| flag)
    }
}

/// What keeps a command in.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Isolation {
    /// The strongest that works
    Auto,
    /// A jail, or no run at all
    Jail,
    /// Nothing
    None,
}

const EXAMPLES: &str = "\
Examples:
  belay run -- claude
  belay run --ephemeral -- ./agent.sh
  belay run --profile strict --ro ~/data -- ./agent.sh
  belay run --denials -- npm test
  belay run -- make test
  belay run --time 10m --memory 2GiB -- ./agent.sh
  belay run --detach --label nightly -- ./agent.sh
  belay attach nightly

In a jail the command has a home, /tmp and /var/tmp of its own, which end with the run: what it writes there is
gone, and the summary names it. --rw DIR lets it write to a directory that stays.

Keys: Ctrl-] three times in a row leaves the run going on without you; `belay attach` comes back.

Exit codes: CMD's own; 128 and the signal's number if a signal ended it; 125 if belay itself failed;
126 if CMD cannot be executed; 127 if it cannot be found; 130 if it was interrupted before CMD began.";

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

/// When belay itself fails.
pub(crate) const BELAY_FAILED: u8 = 125;
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

fn seconds(text: &str) -> Result<u64, String> {
    let span = parse_span(text).map_err(|error| error.to_string())?;
    u64::try_from(span.as_secs()).ok().filter(|seconds| *seconds > 0).ok_or_else(|| "less than a second".to_owned())
}

fn bytes(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|error| error.to_string())
}

/// Runs the command; whatever goes wrong with belay itself is told by an exit code of its own.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    run_or_fail(context, args).or_else(|failure| {
        context.ui.fail(&failure);
        Ok(ExitCode::from(BELAY_FAILED))
    })
}

fn run_or_fail(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let directory = context.directory()?;
    let argv: Vec<Vec<u8>> = args.command.iter().map(|word| word.as_bytes().to_vec()).collect();
    let path = std::env::var_os("PATH");
    if !is_findable(&argv[0], path.as_ref().map(|path| path.as_bytes()), &directory) {
        let name = shell_word(&argv[0]);
        if argv[0].contains(&b'/') && directory.join(&args.command[0]).is_dir() {
            context.ui.fail(&Failure::new(Kind::Usage, format!("{name} is a directory and no program")).untouched());
            return Ok(ExitCode::from(NOT_EXECUTABLE));
        }
        context.ui.fail(
            &Failure::not_found(format!("{name} cannot be found"))
                .untouched()
                .hint("a name without a slash is looked for on PATH"),
        );
        return Ok(ExitCode::from(NOT_FOUND));
    }
    let home = context.home()?;
    let workspace = context.workspace_or_new(&home, &directory, args.here)?;
    workspace.check_history()?;
    let screen = if args.detach { Screen::none() } else { Screen::find() };
    let confinement = confinement(context, &args, &workspace, &directory)?;
    let plan = RunPlan {
        argv,
        cwd: directory.as_os_str().as_bytes().to_vec(),
        label: args.label,
        terminal: if args.detach { [true; 3] } else { screen.streams() },
        size: screen.size(),
        confinement,
        backend: args.backend,
        limits: RunLimits { seconds: args.time, memory: args.memory, processes: args.processes },
    };
    let has_terminal = plan.terminal.contains(&true);
    let record = workspace.create_run(&plan)?;
    let mut client = supervised(&record, has_terminal, args.detach)?;
    if args.detach {
        return detached(context, client, &record);
    }
    if has_terminal {
        let size = screen.size().unwrap_or_default();
        client.ask(&Request::Attach(size)).map_err(|error| lost(&record, &error))?;
    }
    let screen = if has_terminal { screen } else { Screen::none() };
    let meter = context.ui.meter("Snapshot");
    let mut is_measured = false;
    let outcome = relay(client, &screen, Endings::PassOn, &mut |news| {
        // Each snapshot has a bar of its own, and nothing is said in the middle of one.
        let is_progress = matches!(news, News::Progress(_));
        if is_progress != is_measured {
            meter.phase("Snapshot");
            is_measured = is_progress;
        }
        match news {
            News::Progress(step) => meter.take(step),
            other => summary::tell(context, &other),
        }
    });
    drop(meter);
    match outcome.map_err(|error| lost(&record, &error))? {
        Outcome::Ended(farewell) => ended(context, &workspace, &farewell),
        Outcome::Detached => {
            context.ui.say(format_args!("\n{0} goes on; `belay attach {0}` comes back to it.", record.id));
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Lost => Err(supervisor_gone(&record)),
    }
}

/// What the command is confined to; a profile that is not there is an error before anything begins.
///
/// Whoever says what a confined command may reach wants it confined.
fn confinement(context: &Context<'_>, args: &Args, workspace: &Workspace<'_>, directory: &Path) -> Result<Confinement> {
    let engine = match args.isolation {
        Some(Isolation::Auto) => ConfinementEngine::Auto,
        Some(Isolation::Jail) => ConfinementEngine::Jail,
        Some(Isolation::None) => ConfinementEngine::None,
        None if args.ephemeral || workspace.is_layered() || args.needs_jail().is_some() => ConfinementEngine::Jail,
        None => workspace.confinement_engine(),
    };
    if workspace.is_layered() {
        check_fork(args, engine)?;
    }
    if engine == ConfinementEngine::None {
        if let Some(flag) = args.needs_jail() {
            return Err(Failure::new(Kind::Usage, format!("{flag} needs a jail, and --isolation none is none"))
                .untouched()
                .hint("leave --isolation out, or say --isolation jail"));
        }
        return Ok(Confinement::default());
    }
    let profile = args.profile.clone().unwrap_or_else(|| suits(args.command[0].as_bytes()).to_owned());
    profiles::get(&profiles::read(context)?, &profile)?;
    let mut paths = Vec::new();
    for (given, reach) in [(&args.ro, Reach::Read), (&args.rw, Reach::Write), (&args.hide, Reach::Hide)] {
        for path in given {
            let path = directory.join(path);
            if reach != Reach::Read && is_root(&path) {
                return Err(the_whole_machine(reach).untouched());
            }
            // What is hidden need not be there; what is granted must be, or the run would miss it without a word.
            if reach != Reach::Hide {
                path.symlink_metadata().map_err(|error| {
                    Failure::named(format!("cannot grant {}", view::path(&path)), &error).untouched()
                })?;
            }
            paths.push((Raw::from(path.as_os_str().as_bytes()), reach));
        }
    }
    Ok(Confinement { engine, profile, paths, ephemeral: args.ephemeral, denials: args.denials })
}

/// Whether a path leads to the root of the filesystem.
fn is_root(path: &Path) -> bool {
    let number = |path: &Path| path.metadata().map(|found| (found.dev(), found.ino())).ok();
    number(path).is_some_and(|one| Some(one) == number(Path::new("/")))
}

/// Why a flag cannot name the root.
fn the_whole_machine(reach: Reach) -> Failure {
    match reach {
        Reach::Hide => Failure::new(Kind::Usage, "--hide / would hide the workspace and every program")
            .hint("name what is to be hidden of it; what no rule of the profile grants is hidden anyway"),
        _ => Failure::new(Kind::Usage, "--rw / would let the command write the whole machine, which is no jail")
            .hint("name the directories that it may write, or leave the jail out with --isolation none"),
    }
}

/// A fork that is a layer can be seen in a jail only.
fn check_fork(args: &Args, engine: ConfinementEngine) -> Result<()> {
    if engine != ConfinementEngine::Jail || args.ephemeral {
        return Err(Failure::new(
            Kind::Usage,
            "a fork needs a jail to be seen in, and keeps what is written apart itself",
        )
        .untouched()
        .hint("leave --isolation and --ephemeral out"));
    }
    Ok(())
}

/// Starts the process that holds the run, and a connection to it.
pub(crate) fn supervised(record: &RunRecord, is_terminal: bool, detach: bool) -> Result<RunClient> {
    let cannot = |error: std::io::Error| Failure::system("cannot start the supervisor", &error).untouched();
    let (client, channel) = RunClient::pair().map_err(cannot)?;
    let mut command = Command::new("/proc/self/exe");
    command.arg0("belay").arg("supervise").arg("--channel").arg(channel.as_raw_fd().to_string()).arg(&record.id);
    if is_terminal && detach {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    }
    // It outlives us, and is nobody's to wait for then.
    command.spawn().map_err(cannot)?;
    Ok(client)
}

fn detached(context: &Context<'_>, mut client: RunClient, record: &RunRecord) -> Result<ExitCode> {
    use belay_session::Answer;
    // Until the run is known to go on by itself, whoever wants this command to end wants no run.
    let listen = || -> std::io::Result<()> {
        let clients = std::sync::Mutex::new(vec![client.another()?]);
        stop_on_signals(catch_signals(&[SIGHUP, SIGINT, SIGTERM])?, clients.into());
        Ok(())
    };
    listen().map_err(|error| Failure::system("cannot handle signals", &error))?;
    let meter = context.ui.meter("Snapshot");
    loop {
        match client.hear_answer().map_err(|error| lost(record, &error))? {
            Some(Answer::Progress(step)) => meter.take(step),
            Some(Answer::Started(run)) => {
                drop(meter);
                summary::begin(context, &run);
                return summary::detached(context, &run).map(|()| ExitCode::SUCCESS);
            }
            Some(Answer::Ended(farewell)) => return never_began(&farewell),
            Some(_) => {}
            None => return Err(supervisor_gone(record)),
        }
    }
}

/// The summary, and CMD's exit code.
pub(crate) fn ended(context: &Context<'_>, workspace: &Workspace<'_>, farewell: &Farewell) -> Result<ExitCode> {
    if farewell.unexecuted.is_some() || farewell.run.started_at.is_none() {
        return never_began(farewell).inspect_err(|failure| context.ui.fail(failure)).or_else(|_| {
            let code = if farewell.interrupted { Kind::Interrupted.exit_code() } else { BELAY_FAILED };
            Ok(ExitCode::from(farewell.run.exit_code().unwrap_or(code)))
        });
    }
    summary::end(context, workspace, farewell)?;
    if farewell.run.confinement.ephemeral {
        context.ui.say("The workspace is as it was. `belay review` shows what was written, `--apply` applies it.");
    }
    if let Some(fork) = context.fork().filter(|_| workspace.is_layered()) {
        context.ui.say(format_args!(
            "The workspace is as it was. `belay compare {fork}` shows what the fork has, `belay pick {fork}` takes it over."
        ));
    }
    Ok(ExitCode::from(farewell.run.exit_code().unwrap_or(BELAY_FAILED)))
}

fn never_began(farewell: &Farewell) -> Result<ExitCode> {
    let words: Vec<String> = farewell.run.argv.iter().map(|word| crate::ui::escape::printable(word.bytes())).collect();
    if let Some(errno) = farewell.unexecuted {
        let error = std::io::Error::from_raw_os_error(errno);
        let name = words.first().cloned().unwrap_or_default();
        let failure = Failure::system(format!("{name} cannot be executed"), &error).untouched();
        return Err(farewell.denied.iter().fold(failure, |failure, one| failure.hint(past::hidden(one))));
    }
    let why = farewell.run.because.clone().unwrap_or_else(|| "nobody knows why".to_owned());
    if farewell.interrupted {
        return Err(Failure::new(Kind::Interrupted, why).untouched());
    }
    let failure = Failure::new(Kind::System, format!("the run did not begin: {why}")).untouched();
    Err(match farewell.run.confinement.ephemeral {
        true => failure
            .hint("--ephemeral takes user namespaces and overlayfs; where those cannot be had, leave it out:")
            .hint("a run without it takes a snapshot first, and `belay rollback` takes back what it did"),
        false => failure,
    })
}

fn lost(record: &RunRecord, error: &std::io::Error) -> Failure {
    Failure::system(format!("the connection to {} is lost", record.id), error)
        .hint("`belay status` says how it stands, and puts in order what was left")
}

fn supervisor_gone(record: &RunRecord) -> Failure {
    Failure::new(Kind::System, format!("the supervisor of {} is gone", record.id))
        .hint("`belay status` says what still lives, and puts in order what was left")
}
