//! `belay workspaces`: all directories that belay knows.

use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

/// List the workspaces that belay knows
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {}

const EXAMPLES: &str = "\
Examples:
  belay workspaces
  belay workspaces --json";
