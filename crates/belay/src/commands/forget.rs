//! `belay forget`: erases paths from all history.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

/// Erase files or directories from every snapshot of the workspace
///
/// For secrets that should never have been captured. The files in the workspace stay. The snapshots are written
/// anew without the paths, and belay proves that their content is gone from the store. This cannot be undone.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The files and directories; they need not exist any more
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Only show which snapshots hold them
    #[arg(long)]
    dry_run: bool,

    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay forget .env --dry-run
  belay forget secrets/ id_rsa -y

To keep a path out of future snapshots, add it to snapshots.exclude.additional.";
