//! `belay config`: the settings in force and where each comes from.

use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

/// Show the configuration in force
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    List(ListArgs),
}

/// List every key with its value
///
/// Flags beat BELAY_* variables, those beat ~/.config/belay/config.toml (or .yaml), that beats the defaults.
/// /etc/belay/corp.toml wins over all. belay.toml in a workspace counts in full only once it is trusted; until then
/// only what makes protection stronger is taken from it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
struct ListArgs {
    /// Only keys that begin so
    #[arg(value_name = "PREFIX")]
    prefix: Option<String>,

    /// Show where each value comes from
    #[arg(long)]
    origin: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay config list
  belay config list --origin
  belay config list snapshots.exclude
  BELAY_SNAPSHOTS__EXCLUDE__GITIGNORED=capture belay config list --origin";
