//! `belay find`: which snapshots hold a path.

use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

/// Find the snapshots that hold a path
///
/// PATTERN is a glob: without a slash it is matched against names, with one against whole paths in the workspace.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The glob
    #[arg(value_name = "PATTERN")]
    pattern: String,

    /// Search this snapshot only
    #[arg(short, long, value_name = "SNAP")]
    snapshot: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  belay find .env
  belay find '*.sqlite'
  belay find 'src/**/*.rs' --snapshot @latest";
