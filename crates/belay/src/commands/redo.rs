//! `belay redo`: takes back the last undo.

use std::process::ExitCode;

use crate::commands::rollback::How;
use crate::context::Context;
use crate::error::Result;

/// Take back the last undo
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    how: How,
}

const EXAMPLES: &str = "\
Examples:
  belay redo
  belay redo -y";
