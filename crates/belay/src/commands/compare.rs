//! `belay compare`: what differs between two forks, or between a fork and the workspace.

use std::process::ExitCode;

use belay_session::Stored;
use belay_session::store::{Changes, Scope};

use crate::commands::diff::{Style, write};
use crate::context::Context;
use crate::error::Result;
use crate::patch::Comparison;

/// Show what differs between two forks, or between the workspace and a fork
///
/// `origin` is the workspace itself, as it is now. Nothing in either is changed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// A fork, or origin
    #[arg(value_name = "A")]
    from: String,

    /// The fork that it is compared with; without it, A is compared with the workspace
    #[arg(value_name = "B")]
    to: Option<String>,

    /// Only these files and directories
    #[arg(last = true, value_name = "PATH")]
    paths: Vec<std::path::PathBuf>,

    #[command(flatten)]
    style: Style,
}

const EXAMPLES: &str = "\
Examples:
  belay compare alpha              what alpha has and the workspace has not
  belay compare alpha beta --stat
  belay compare origin beta -- src";

/// Compares and prints; 1 with `--exit-code` when something differs.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    context.refuse_fork("compare")?;
    let home = context.home()?;
    let workspace = context.workspace(&home)?;
    let scope = Scope::new(context.all_beneath(&workspace, &args.paths)?);
    let stored = |name: &str| -> Result<Stored> {
        let meter = context.ui.meter("Looking");
        if name == "origin" {
            return Ok(workspace.stored(context.work(&meter))?);
        }
        Ok(context.open_fork(&workspace, name)?.0.stored(context.work(&meter))?)
    };
    let (from, to) = match &args.to {
        Some(to) => (stored(&args.from)?, stored(to)?),
        None => (stored("origin")?, stored(&args.from)?),
    };
    let mut changes = Changes::default();
    workspace.each_change(&from.tree, &to.tree, &scope, &mut |change| {
        if !change.opaque {
            changes.push(&change);
        }
    })?;
    let differs = !changes.is_empty();
    let comparison = Comparison { workspace: &workspace, before: &from.tree, after: &to.tree, is_indexed: false };
    let mut out = context.ui.paged();
    write(context, &mut out, &comparison, changes, &args.paths, &args.style)?;
    out.finish()?;
    Ok(if args.style.exit_code && differs { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
