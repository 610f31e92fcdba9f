//! `belay rollback`: takes the workspace, or a part of it, back to a snapshot.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

/// Take the workspace back to a snapshot
///
/// Captures the present first (a safety snapshot), then changes only what differs. What the snapshot did not
/// capture is never touched. Without SNAP it goes back to the state before the latest run, or else to the newest
/// snapshot. On a terminal it shows the plan and asks.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The snapshot to go back to
    #[arg(value_name = "SNAP")]
    snapshot: Option<String>,

    /// Only these files and directories
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Write the snapshot into this new or empty directory instead, and leave the workspace alone
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,

    #[command(flatten)]
    how: How,
}

/// How to go about a change of the workspace.
#[derive(Debug, clap::Args)]
pub(crate) struct How {
    /// Only show what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Give restored files the time they had, or the present one so that build tools see the change
    ///
    /// By default files get their old time when build outputs were captured too, and a fresh one otherwise.
    #[arg(long, value_name = "WHICH")]
    pub(crate) mtime: Option<Mtime>,
}

/// Which modification time a restored file gets.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Mtime {
    /// The one it had
    Exact,
    /// The present
    Fresh,
}

const EXAMPLES: &str = "\
Examples:
  belay rollback                        to before the latest run, or to the newest snapshot
  belay rollback before-refactor
  belay rollback @latest src tests      only these
  belay rollback snap_k8m2p1 --dry-run
  belay rollback '10m ago' -y
  belay rollback snap_k8m2p1 --to ./restored

`belay undo` takes it back.";
