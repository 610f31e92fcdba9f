//! `belay demo`: a scripted rogue agent wrecks a small project, and belay takes it back, bit by bit.

use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

/// Watch a rogue agent wreck a small project, and belay take it back
///
/// Everything happens in a temporary directory with a store of its own; nothing of yours is touched.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Keep the temporary directory, to look around in it
    #[arg(long)]
    keep: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay demo
  belay demo --keep";
