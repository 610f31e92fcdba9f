//! `belay redo`: takes back the last undo.

use std::process::ExitCode;

use belay_session::Goal;

use crate::commands::rollback::{Damage, How};
use crate::context::Context;
use crate::error::Result;
use crate::rewind::rewind;

/// Take back the last undo
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    how: How,

    #[command(flatten)]
    damage: Damage,
}

const EXAMPLES: &str = "\
Examples:
  belay redo
  belay redo -y";

/// Takes back the last undo.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace_despite(&home)?;
    rewind(context, &workspace, Goal::Redo, Vec::new(), (&args.how, args.damage))
}
