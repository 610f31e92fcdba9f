//! `belay review`: what an ephemeral run wrote, to be applied in whole, in part or not at all.

use std::path::PathBuf;
use std::process::ExitCode;

use belay_session::Goal;

use crate::commands::rollback::How;
use crate::context::Context;
use crate::error::{Failure, Result};
use crate::rewind::rewind;
use crate::view;

/// Show what an ephemeral run wrote, and apply it
///
/// What a run with `--ephemeral` wrote is kept apart from the workspace. Here it becomes a snapshot; without --apply it is
/// shown what applying would change, and nothing happens. Applying is a rollback to that snapshot, of the paths that the run changed
/// and no others: the present is captured first, and `belay undo` takes it back. It can be done in parts, and again.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only these files and directories
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Apply it; on a terminal, after a question
    #[arg(long)]
    apply: bool,

    /// The run; the latest ephemeral one of this workspace by default
    #[arg(long, value_name = "RUN")]
    run: Option<String>,

    #[command(flatten)]
    how: How,
}

const EXAMPLES: &str = "\
Examples:
  belay run --ephemeral -- ./agent.sh
  belay review
  belay review --apply src/main.rs
  belay review --apply -y
  belay discard";

/// Shows or applies what was written.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace(&home)?;
    let record =
        home.find_run(args.run.as_deref(), &|run| run.workspace == workspace.id() && run.confinement.ephemeral)?;
    let meter = context.ui.meter("Looking");
    let written = workspace.written(&record, context.work(&meter))?;
    drop(meter);
    let wanted = context.all_beneath(&workspace, &args.paths)?;
    let mut paths = written.paths;
    paths.retain(|path| wanted.is_empty() || wanted.iter().any(|wanted| is_within(path, wanted)));
    if let Some(unknown) = wanted.iter().find(|wanted| !paths.iter().any(|path| is_within(path, wanted))) {
        let name = view::relative(unknown);
        return Err(Failure::not_found(format!("{} did not write {name}", record.id)).untouched());
    }
    if !args.apply && !context.ui.json {
        context.ui.say(format_args!(
            "{} wrote this; `belay diff @latest {}` shows every line.",
            record.id, written.snapshot.id
        ));
    }
    let how = How { dry_run: args.how.dry_run || !args.apply, ..args.how };
    rewind(context, &workspace, Goal::To(Some(written.snapshot.id)), paths, &how)
}

fn is_within(path: &[u8], outer: &[u8]) -> bool {
    let Some(rest) = path.strip_prefix(outer) else { return false };
    outer.is_empty() || rest.is_empty() || rest[0] == b'/'
}
