//! `belay du`: what the snapshots cost.

use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

/// Show how much space the snapshots take
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Show for each snapshot what would be freed without it, and the paths that cost most
    #[arg(long)]
    why: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay du
  belay du --why";
