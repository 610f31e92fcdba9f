//! `belay verify`: finds damage in the store, and heals what can be healed.

use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

/// Check that every snapshot can be restored
///
/// Checks that everything a snapshot needs is there, and with --deep that every byte is as it was written. Exits
/// with 1 when something is damaged, and names the snapshots and files that it concerns.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Read and check every byte
    #[arg(long)]
    deep: bool,

    /// Store damaged content anew where a workspace still holds it, and set the rest aside
    #[arg(long)]
    repair: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay verify
  belay verify --deep
  belay verify --deep --repair";
