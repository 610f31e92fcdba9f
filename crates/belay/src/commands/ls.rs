//! `belay ls`: what a snapshot holds.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

/// List what a snapshot holds, and what it lacks
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The snapshot
    #[arg(value_name = "SNAP")]
    snapshot: String,

    /// A file or directory; the whole workspace by default
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,

    /// Show mode, owner, size and time
    #[arg(short, long)]
    long: bool,

    /// List what is in directories, too
    #[arg(short = 'R', long)]
    recursive: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay ls @latest
  belay ls -l before-refactor src
  belay ls -R snap_k8m2p1 --json

A name in brackets was seen but not captured; the reason follows.";
