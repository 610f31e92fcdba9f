//! `belay status`: where the workspace stands, what changed, what is not protected.

use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

/// Show the last snapshot, what changed since, and what is not protected
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name every changed and every unprotected path, instead of the first few
    #[arg(short, long)]
    all: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay status
  belay status --all
  belay status --json | jq .changed

Letters:
  A  added    D  deleted    M  content changed    T  of another type
  m  only permissions, attributes or owner changed";
