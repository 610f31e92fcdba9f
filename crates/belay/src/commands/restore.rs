//! `belay restore`: brings back single files and directories.

use std::path::PathBuf;
use std::process::ExitCode;

use belay_session::Goal;

use crate::commands::rollback::How;
use crate::context::Context;
use crate::error::Result;
use crate::rewind::rewind;

/// Bring back files or directories from a snapshot
///
/// Everything else in the workspace stays as it is. `belay undo` takes it back.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The snapshot to take them from
    #[arg(value_name = "SNAP")]
    snapshot: String,

    /// The files and directories
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    how: How,
}

const EXAMPLES: &str = "\
Examples:
  belay restore @latest .env
  belay restore '1h ago' src/main.rs docs --dry-run
  belay restore before-refactor -y -- -odd-name";

/// Brings the paths back.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace_despite(&home)?;
    let paths = context.all_beneath(&workspace, &args.paths)?;
    let snapshot = context.snapshot_name(&workspace, args.snapshot)?;
    rewind(context, &workspace, Goal::Files(snapshot), paths, &args.how)
}
