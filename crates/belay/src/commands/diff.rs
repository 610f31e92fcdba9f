//! `belay diff`: what differs between two snapshots, or between a snapshot and the present.

use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

/// Show what changed between two snapshots, or since one
///
/// Without arguments the newest snapshot is compared with the present, with one argument that snapshot. Content
/// is shown as a unified patch that `git apply` understands; changes of mode, type, link text, attributes and
/// owner are shown too.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The older snapshot; the newest by default
    #[arg(value_name = "A")]
    from: Option<String>,

    /// The newer snapshot; the present by default
    #[arg(value_name = "B")]
    to: Option<String>,

    /// Only these files and directories
    #[arg(last = true, value_name = "PATH")]
    paths: Vec<std::path::PathBuf>,

    /// Count changed lines instead of showing them
    #[arg(long, conflicts_with = "name_only")]
    stat: bool,

    /// Only name what changed
    #[arg(long)]
    name_only: bool,

    /// Exit with 1 when something differs
    #[arg(long)]
    exit_code: bool,

    /// Show N lines around each change
    #[arg(short = 'U', long = "unified", value_name = "N", default_value_t = 3)]
    context: usize,
}

const EXAMPLES: &str = "\
Examples:
  belay diff                            the newest snapshot and the present
  belay diff before-refactor --stat
  belay diff snap_a3f9x2 snap_k8m2p1 -- src
  belay diff @latest -- .env | git apply -R";
