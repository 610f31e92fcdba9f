//! `belay cat`: the bytes of a file as they were.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

/// Print a file as it is in a snapshot
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The snapshot
    #[arg(value_name = "SNAP")]
    snapshot: String,

    /// The file
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  belay cat @latest .env
  belay cat before-refactor src/main.rs | diff - src/main.rs";
