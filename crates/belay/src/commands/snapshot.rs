//! `belay snapshot`: captures the workspace now.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

/// Take a snapshot of the workspace
///
/// Captures every file, directory and link with its permissions, owners and attributes, `.git` and git-ignored
/// files included. Left out are only directories that can be made again, such as `node_modules` or `target`, and
/// what your configuration excludes; belay names them and their size. Prints the snapshot's id.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// A name for the snapshot, unique in the workspace
    #[arg(short, long, value_name = "NAME")]
    label: Option<String>,

    /// A longer note
    #[arg(short, long, value_name = "TEXT")]
    description: Option<String>,

    /// Capture everything, regenerable and excluded directories too
    #[arg(short, long)]
    all: bool,

    /// Read every byte, instead of trusting that files whose times, size and inode are unchanged are the same
    #[arg(long, hide_short_help = true)]
    full: bool,

    /// Make this very directory a workspace, even if it lies inside one
    #[arg(long, hide_short_help = true)]
    here: bool,

    /// The hash function of a store that does not exist yet
    #[arg(long, value_name = "NAME", value_parser = ["blake3", "sha256"], hide_short_help = true)]
    hash: Option<String>,

    /// A directory in the workspace; the current one by default
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  belay snapshot
  belay snapshot --label before-refactor --description 'works, but slow'
  belay snapshot --all          node_modules, target and their like too
  belay snapshot ~/projects/shop
  id=$(belay snapshot -q)       only the id goes to standard output";
