//! `belay trust`: believes the workspace's own configuration, by its hash.

use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

/// Trust the belay.toml (or .yaml) of the workspace as it is now
///
/// Until it is trusted, and again after it changes, only what makes protection stronger is taken from it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Trust it no longer
    #[arg(long)]
    revoke: bool,

    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay trust
  belay trust --revoke";
