//! `belay undo`: takes back the last rollback.

use std::process::ExitCode;

use belay_session::Goal;

use crate::commands::rollback::How;
use crate::context::Context;
use crate::error::Result;
use crate::rewind::rewind;

/// Take back the last rollback
///
/// Restores what was there before it. Undo again to go further back, `belay redo` to go forward. Edits made since
/// are captured in a safety snapshot first.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    how: How,
}

const EXAMPLES: &str = "\
Examples:
  belay undo
  belay undo --dry-run
  belay undo -y";

/// Takes back the last rollback.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace(&home)?;
    rewind(context, &workspace, Goal::Undo, Vec::new(), &args.how)
}
