//! `belay undo`: takes back the last rollback.

use std::process::ExitCode;

use crate::commands::rollback::How;
use crate::context::Context;
use crate::error::Result;

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
