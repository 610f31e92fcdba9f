//! `belay rollback`: takes the workspace, or a part of it, back to a snapshot.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use belay_session::store::{MtimePolicy, OnDamage};
use belay_session::{Error, Goal, Workspace};
use serde_json::json;

use crate::context::Context;
use crate::error::{Failure, Kind, Result};
use crate::rewind::rewind;
use crate::view;

/// Take the workspace back to a snapshot
///
/// Captures the present first (a safety snapshot), then changes only what differs. What the snapshot did not
/// capture is never touched. Without SNAP it goes back to the state before the latest run, or else to the last known
/// state: the newest snapshot, or the one that you went back to since. On a terminal it shows the plan and asks.
///
/// Locks of git's (`.git/**/*.lock`) that the snapshot caught and that are gone now do not come back: git would refuse to work.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The snapshot to go back to
    #[arg(value_name = "SNAP")]
    snapshot: Option<String>,

    /// Only these files and directories
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Write the snapshot into this new or empty directory instead, and leave the workspace alone
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dry_run", "mtime"])]
    to: Option<PathBuf>,

    #[command(flatten)]
    how: How,

    #[command(flatten)]
    damage: Damage,
}

impl Args {
    /// Whether an agent may ask for this from inside its run.
    pub(crate) fn is_for_agents(&self) -> bool {
        let Args { snapshot: _, paths: _, to, how: _, damage: _ } = self;
        to.is_none()
    }
}

/// How to go about a change of the workspace.
#[derive(Debug, clap::Args)]
pub(crate) struct How {
    /// Only show what would be done
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Give restored files the time they had, or the present one so that build tools see the change
    ///
    /// By default files get their old time when build outputs were captured too, and a fresh one otherwise.
    #[arg(long, value_name = "WHICH")]
    pub(crate) mtime: Option<Mtime>,
}

/// What to do where the store is damaged.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Damage {
    /// Leave files as they are whose content is damaged in the store, and bring back the rest
    ///
    /// Without it nothing is changed if anything that is needed is damaged. Each file that is left is named, and the exit
    /// code is then 5; `belay verify --repair` may heal it.
    #[arg(long)]
    skip_damaged: bool,
}

impl Damage {
    /// What becomes of files whose content is damaged.
    pub(crate) fn on_damage(&self) -> OnDamage {
        if self.skip_damaged { OnDamage::Leave } else { OnDamage::Refuse }
    }
}

/// Which modification time a restored file gets.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Mtime {
    /// The one it had
    Exact,
    /// The present
    Fresh,
}

impl From<Mtime> for MtimePolicy {
    fn from(mtime: Mtime) -> MtimePolicy {
        match mtime {
            Mtime::Exact => MtimePolicy::Exact,
            Mtime::Fresh => MtimePolicy::Fresh,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  belay rollback                        to before the latest run, or the last known state
  belay rollback before-refactor
  belay rollback @latest src tests      only these
  belay rollback snap_k8m2p1 --dry-run
  belay rollback '10m ago' -y
  belay rollback snap_k8m2p1 --to ./restored
  belay rollback snap_k8m2p1 --skip-damaged    what the store still holds

`belay undo` takes it back.";

/// Goes back, or writes the snapshot elsewhere.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace_despite(&home)?;
    let paths = context.all_beneath(&workspace, &args.paths)?;
    let snapshot = args.snapshot.map(|name| context.snapshot_name(&workspace, name)).transpose()?;
    if let Some(name) = &snapshot {
        check_name(context, &workspace, name)?;
    }
    match &args.to {
        Some(to) => extract(context, &workspace, snapshot.as_deref(), &paths, to, args.damage.on_damage()),
        None => rewind(context, &workspace, Goal::To(snapshot), paths, (&args.how, args.damage)),
    }
}

/// Someone who types a path where a snapshot is expected is told how to say it.
fn check_name(context: &Context<'_>, workspace: &Workspace<'_>, name: &str) -> Result<()> {
    match workspace.resolve(name) {
        Err(error @ Error::UnknownSnapshot { .. }) if context.has_path(name)? => {
            let base = workspace.timeline()?.base().map_or_else(|| "SNAP".to_owned(), |base| base.id.clone());
            Err(Failure::from(error).hint(format!("to bring back the path: `belay restore {base} {name}`")))
        }
        Err(error) => Err(error.into()),
        Ok(_) => Ok(()),
    }
}

/// Writes a snapshot, or some paths of it, into a directory that is new or empty.
pub(crate) fn extract(
    context: &Context<'_>,
    workspace: &Workspace<'_>,
    name: Option<&str>,
    paths: &[Vec<u8>],
    to: &std::path::Path,
    on_damage: OnDamage,
) -> Result<ExitCode> {
    let snapshot = match name {
        Some(name) => workspace.resolve(name)?,
        None => workspace.default_target()?,
    };
    let target = context.directory()?.join(to);
    // What one that was killed has left is cleared away.
    let is_in_the_way =
        |name: &std::ffi::OsStr| !name.as_encoded_bytes().starts_with(belay_session::EXTRACT_PREFIX.as_bytes());
    if fs::read_dir(&target).is_ok_and(|entries| entries.flatten().any(|entry| is_in_the_way(&entry.file_name()))) {
        return Err(Failure::refused(format!("{} is not empty", view::path(to)))
            .untouched()
            .hint("name a directory that is empty or does not exist yet"));
    }
    if let Some(there) =
        target.ancestors().find(|there| there.symlink_metadata().is_ok()).filter(|there| !there.is_dir())
    {
        return Err(Failure::refused(format!("{} is not a directory", view::path(there)))
            .untouched()
            .hint("name a directory that is empty or does not exist yet"));
    }
    let meter = context.ui.meter("Extracting");
    let applied = workspace.extract_all_but(on_damage, &snapshot, paths, &target, context.work(&meter))?;
    drop(meter);
    let incomplete = applied.left.iter().any(view::is_shortfall);
    if context.ui.json {
        context.ui.print_json(&json!({
            "snapshot": view::snapshot_json(&snapshot),
            "to": to.to_string_lossy(),
            "written": applied.changed,
            "left": applied.left.iter().map(view::left_json).collect::<Vec<_>>(),
        }))?;
    } else {
        context.ui.say(format_args!("Extracting {} to {}... done", snapshot.id, view::path(to)));
        view::say_not_written(context.ui, &applied.left);
    }
    Ok(if incomplete { ExitCode::from(Kind::Incomplete.exit_code()) } else { ExitCode::SUCCESS })
}
