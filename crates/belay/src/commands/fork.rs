//! `belay fork`: copies of the workspace as it is, for agents that work side by side.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, ExitCode, Stdio};
use std::time::{Duration, Instant};

use belay_session::{Error, Fork, Workspace};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::{Failure, Kind, Result};
use crate::ui::quantity;
use crate::view;

/// Make copies of the workspace as it is, for agents that work side by side
///
/// A fork has everything that the workspace has, git-ignored files and dependencies included, and a history of its own.
/// It takes no time and no space: it is a layer of changes above the workspace, which `belay run --fork NAME` shows to the
/// command that it starts, at the workspace's own path. With --to it is a directory of its own that shares blocks with the
/// workspace where the filesystem can (btrfs, XFS), and is a full copy where it cannot.
///
/// `belay --fork NAME` before any other command is about the fork: its status, diff, snapshots, rollback. What it changed comes
/// back with `belay pick NAME`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The name; without it, the next free one of fork-1, fork-2, …
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Begin with the workspace as it was in this snapshot
    #[arg(value_name = "SNAP", conflicts_with = "to")]
    snapshot: Option<String>,

    /// Make so many, called NAME-1, NAME-2, …
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100), conflicts_with = "to")]
    number: Option<u32>,

    /// Make it a directory of its own, new or empty
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,

    /// Do not ask before a full copy
    #[arg(short, long)]
    yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay fork alpha
  belay run --fork alpha -- ./agent.sh
  belay fork -n 3                       fork-1, fork-2, fork-3
  belay fork old-way before-refactor    as it was in a snapshot
  belay fork beta --to ../beta          a directory to work in

  belay forks
  belay compare alpha beta
  belay pick alpha";

/// How long whoever forks waits for the capture of a small workspace.
const SETTLED_WITHIN: Duration = Duration::from_millis(30);

/// Makes the forks and says how to use them.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    context.refuse_fork("fork")?;
    let home = context.home()?;
    let workspace = context.workspace_or_new(&home, &context.directory()?, false)?;
    let names = names(&workspace, &args)?;
    let mut forks = Vec::new();
    for name in &names {
        forks.push(match &args.to {
            Some(to) => directory(context, &workspace, name, to, args.yes)?,
            None => layered(context, &workspace, name, args.snapshot.as_deref())?,
        });
    }
    let settling = args.to.is_none() && args.snapshot.is_none() && !settle(context, &names)?;
    if context.ui.json {
        context.ui.print_json(&json!({ "forks": forks.iter().map(to_json).collect::<Vec<_>>() }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for fork in &forks {
        match fork.directory() {
            Some(path) => context.ui.say(format_args!("Forked {}: it is at {}", fork.name, view::path(&path))),
            None => {
                context.ui.say(format_args!("Forked {0}: `belay run --fork {0} -- COMMAND` works in it", fork.name))
            }
        }
    }
    if settling {
        context.ui.say(
            "The workspace as it is now is being captured beside this; what you change meanwhile may be in the fork.",
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Has what the forks stand on captured beside us, so that a large workspace keeps nobody waiting; whether it is done.
fn settle(context: &Context<'_>, names: &[String]) -> Result<bool> {
    let directory = context.directory()?;
    let begun = Instant::now();
    let mut all = true;
    for name in names {
        let mut process = Process::new("/proc/self/exe");
        process.arg("-q").arg("-C").arg(&directory).arg("--fork").arg(name).arg("status");
        process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        // If it cannot be started, or dies, whoever uses the fork first captures it.
        let Ok(mut process) = process.spawn() else { return Ok(true) };
        let mut done = false;
        while !done && begun.elapsed() < SETTLED_WITHIN {
            std::thread::sleep(Duration::from_millis(1));
            done = !matches!(process.try_wait(), Ok(None));
        }
        all &= done;
    }
    Ok(all)
}

/// The names of the forks to make, each of them free.
fn names(workspace: &Workspace<'_>, args: &Args) -> Result<Vec<String>> {
    let names: Vec<String> = match (&args.name, args.number) {
        (Some(name), None) => vec![name.clone()],
        (Some(name), Some(number)) => (1..=number).map(|nth| format!("{name}-{nth}")).collect(),
        (None, number) => {
            let free = |name: &String| workspace.check_fork_name(name).is_ok();
            let wanted = number.unwrap_or(1) as usize;
            (1..10_000).map(|nth| format!("fork-{nth}")).filter(free).take(wanted).collect()
        }
    };
    names.iter().try_for_each(|name| workspace.check_fork_name(name))?;
    Ok(names)
}

fn layered(context: &Context<'_>, workspace: &Workspace<'_>, name: &str, snapshot: Option<&str>) -> Result<Fork> {
    let given = snapshot.unwrap_or_default();
    let snapshot = snapshot.map(|snapshot| workspace.resolve(snapshot)).transpose().map_err(|error| match error {
        Error::UnknownSnapshot { .. } | Error::NoSnapshots | Error::NoneSoOld { .. } | Error::OnlySafety => {
            Failure::from(error).hint(format!(
                "{} was read as the snapshot to begin with; for several forks: `belay fork NAME -n 2`",
                view::relative(given.as_bytes())
            ))
        }
        other => other.into(),
    })?;
    let mut fork = workspace.fork_layered(name)?;
    if let Some(snapshot) = snapshot {
        let meter = context.ui.meter("Forking");
        let made = workspace.fork_at(&mut fork, &snapshot, &context.sources()?, context.work(&meter));
        if let Err(error) = made {
            // A fork that is not what was asked for is none.
            let _ = workspace.remove_fork(name, &context.sources()?, context.work(&meter));
            return Err(error.into());
        }
    }
    Ok(fork)
}

fn directory(context: &Context<'_>, workspace: &Workspace<'_>, name: &str, to: &Path, yes: bool) -> Result<Fork> {
    let to = context.directory()?.join(to);
    if std::fs::read_dir(&to).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::refused(format!("{} is not empty", view::path(&to)))
            .untouched()
            .hint("name a directory that is empty or does not exist yet"));
    }
    let cost = workspace.copy_cost(&to);
    if !cost.shares_blocks && !yes {
        let (files, size) = (quantity::count(cost.files, "file"), quantity::size(cost.bytes));
        context.ui.say(format_args!("This filesystem cannot share blocks, so {files} with {size} would be copied."));
        context.ui.confirm_or("Copy them?", "add -y to copy, or leave --to out for a fork that takes no space")?;
    }
    let meter = context.ui.meter("Copying");
    let made = workspace.fork_to(name, &to, context.consent(), &context.sources()?, context.work(&meter));
    made.map_err(|error| match error {
        Error::Path { source, .. } if source.kind() == std::io::ErrorKind::Interrupted => {
            Failure::new(Kind::Interrupted, "stopped").hint(format!("remove what was copied to {}", view::path(&to)))
        }
        other => other.into(),
    })
}

/// A fork as JSON.
pub(crate) fn to_json(fork: &Fork) -> Value {
    json!({
        "name": fork.name,
        "workspace": fork.id,
        "origin": fork.origin,
        "directory": fork.directory().map(|path| path.to_string_lossy().into_owned()),
        "created_at": fork.created_at.to_string(),
        "base": fork.base,
    })
}
