//! `belay restore`: brings back single files and directories.

use std::path::PathBuf;
use std::process::ExitCode;

use belay_session::{Error, Goal, Snapshot, Workspace};

use crate::commands::rollback::{Damage, How};
use crate::context::Context;
use crate::error::{Failure, Kind, Result};
use crate::rewind::rewind;
use crate::view;

/// Bring back files or directories from a snapshot
///
/// Everything else in the workspace stays as it is. Without SNAP they come from where `belay rollback` would go: the
/// state before the latest run, or else the last known one; if that does not hold them, from the newest snapshot that
/// does. `belay undo` takes it back.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES, override_usage = "belay restore [OPTIONS] [SNAP] PATH...")]
pub(crate) struct Args {
    /// The files and directories; before them, the snapshot to take them from
    #[arg(required = true, value_name = "PATH")]
    words: Vec<PathBuf>,

    #[command(flatten)]
    how: How,

    #[command(flatten)]
    damage: Damage,
}

const EXAMPLES: &str = "\
Examples:
  belay restore .env
  belay restore @latest .env
  belay restore '1h ago' src/main.rs docs --dry-run
  belay restore before-refactor -y -- -odd-name";

/// Brings the paths back.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace_despite(&home)?;
    let (snapshot, paths) = meant(context, &workspace, &args.words)?;
    rewind(
        context,
        &workspace,
        Goal::Files(snapshot),
        context.all_beneath(&workspace, paths)?,
        (&args.how, args.damage),
    )
}

/// The snapshot and the paths; the first word is a snapshot if one is called so and more words follow.
fn meant<'w>(
    context: &Context<'_>,
    workspace: &Workspace<'_>,
    words: &'w [PathBuf],
) -> Result<(String, &'w [PathBuf])> {
    let (first, rest) = words.split_first().expect("the command line has at least one");
    let name = match first.to_str() {
        Some(name) => context.snapshot_name(workspace, name.to_owned())?,
        None => String::new(),
    };
    let named = workspace.resolve(&name);
    if !rest.is_empty() && named.is_ok() {
        return Ok((name, rest));
    }
    let usual = workspace.default_target()?;
    let holds = match context.beneath(workspace, first) {
        Ok(path) => workspace.entry(&workspace.tree(&usual)?, &path)?.is_some(),
        // What is outside of the workspace is said when it is looked for.
        Err(_) => false,
    };
    match named {
        Ok(snapshot) if !holds => {
            Err(Failure::new(Kind::Usage, format!("{} is a snapshot", snapshot.id)).untouched().hint(format!(
                "`belay restore {name} PATH` brings back a file or directory, `belay rollback {name}` everything"
            )))
        }
        Err(error @ Error::UnknownSnapshot { .. }) if !holds && !rest.is_empty() => Err(error.into()),
        Ok(_) | Err(Error::UnknownSnapshot { .. }) => Ok((newest_with(context, workspace, &usual, words)?.id, words)),
        Err(error) => Err(error.into()),
    }
}

/// The usual snapshot, or the newest that holds all the paths if it does not: that is what somebody who lost them wants.
fn newest_with(
    context: &Context<'_>,
    workspace: &Workspace<'_>,
    usual: &Snapshot,
    words: &[PathBuf],
) -> Result<Snapshot> {
    let Ok(paths) = context.all_beneath(workspace, words) else { return Ok(usual.clone()) };
    let holds = |snapshot: &Snapshot| -> Result<bool> {
        let tree = workspace.tree(snapshot)?;
        paths.iter().try_fold(true, |all, path| Ok(all && workspace.entry(&tree, path)?.is_some()))
    };
    if holds(usual)? {
        return Ok(usual.clone());
    }
    for snapshot in workspace.timeline()?.snapshots().iter().rev() {
        // One that is damaged is no reason not to look in the others.
        if holds(snapshot).unwrap_or(false) {
            context.ui.say(format_args!("{} does not hold it; {} does.", usual.id, view::snapshot_name(snapshot)));
            return Ok(snapshot.clone());
        }
    }
    Ok(usual.clone())
}
