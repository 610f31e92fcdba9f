//! `belay history`: the versions of one path.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

/// Show in which snapshots a file or directory is new, modified or deleted
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file or directory; it need not exist any more
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// Show the snapshots in which it did not change, too
    #[arg(short, long)]
    all: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay history .env
  belay history src/main.rs --all
  belay history src --json";
