//! `belay gc`: gives back the space of what no snapshot needs.

use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

/// Give back the space of what no snapshot needs any more
///
/// Snapshots are not deleted by it; see `belay snapshots prune`. Other belay processes may go on working.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only say what would be freed
    #[arg(long)]
    dry_run: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay gc
  belay gc --dry-run";
