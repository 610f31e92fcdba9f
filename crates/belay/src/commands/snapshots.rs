//! `belay snapshots`: lists, prunes and deletes snapshots.

use std::process::ExitCode;
use std::time::Duration;

use crate::context::Context;
use crate::error::Result;
use crate::ui::quantity;

/// List, prune or delete snapshots
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    List(ListArgs),
    Prune(PruneArgs),
    Delete(DeleteArgs),
}

/// List the snapshots of the workspace, oldest first
#[derive(Debug, clap::Args)]
#[command(after_long_help = LIST_EXAMPLES)]
struct ListArgs {
    /// Show only the newest N
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,

    /// Show only snapshots of this type, such as manual, pre-run or safety
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    kind: Option<String>,

    /// Show number, exact time, files, bytes and description too
    #[arg(short, long)]
    long: bool,
}

/// Delete old snapshots by a rule, and give the space back
///
/// Labelled, pre-run and safety snapshots go last. `belay gc` is not needed afterwards.
#[derive(Debug, clap::Args)]
#[command(after_long_help = PRUNE_EXAMPLES)]
#[command(group = clap::ArgGroup::new("rule").required(true).args(["keep", "older_than", "budget"]))]
struct PruneArgs {
    /// Keep the N most worthwhile, delete the rest
    #[arg(long, value_name = "N")]
    keep: Option<usize>,

    /// Delete what is older than this, such as 7d or 36h
    #[arg(long, value_name = "SPAN", value_parser = quantity::parse_span)]
    older_than: Option<Duration>,

    /// Delete until the store takes no more than this, such as 2GiB
    #[arg(long, value_name = "SIZE", value_parser = quantity::parse_size)]
    budget: Option<u64>,

    /// Only show what would be deleted
    #[arg(long)]
    dry_run: bool,

    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

/// Delete snapshots by name
#[derive(Debug, clap::Args)]
#[command(after_long_help = DELETE_EXAMPLES)]
struct DeleteArgs {
    /// The snapshots
    #[arg(required = true, value_name = "SNAP")]
    snapshots: Vec<String>,

    /// Only show what would be deleted
    #[arg(long)]
    dry_run: bool,

    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay snapshots
  belay snapshots --long -n 20
  belay snapshots prune --keep 5
  belay snapshots delete snap_k8m2p1

Marks in the list:
  *  the snapshot lacks something that it should hold (unreadable, over a limit); `belay ls` shows what";

const LIST_EXAMPLES: &str = "\
Examples:
  belay snapshots list
  belay snapshots list --type safety --json";

const PRUNE_EXAMPLES: &str = "\
Examples:
  belay snapshots prune --keep 5 --dry-run
  belay snapshots prune --older-than 7d -y
  belay snapshots prune --budget 2GiB";

const DELETE_EXAMPLES: &str = "\
Examples:
  belay snapshots delete before-refactor
  belay snapshots delete snap_k8m2p1 snap_v7n4q9 -y";
