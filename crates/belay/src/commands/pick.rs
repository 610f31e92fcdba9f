//! `belay pick`: brings what a fork changed into the workspace.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::bring::bring;
use crate::commands::rollback::How;
use crate::context::Context;
use crate::error::Result;
use crate::rewind::warn_of_runs;

/// Bring what a fork changed into the workspace
///
/// What leads from the state that the fork was taken from to the state that it is in now is merged into the workspace, line
/// by line; whatever changed here since stays. Where both changed the same place the workspace keeps its version, the
/// fork's is put beside it, and the exit code is 5. The present is captured first, and `belay undo` takes it all back.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The fork
    #[arg(value_name = "NAME")]
    name: String,

    /// Only these files and directories
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    how: How,
}

const EXAMPLES: &str = "\
Examples:
  belay pick alpha --dry-run
  belay pick alpha
  belay pick alpha src/parser.rs tests -y
  belay undo";

/// Merges and reports.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    context.refuse_fork("pick")?;
    let home = context.home()?;
    let workspace = context.workspace(&home)?;
    let paths = context.all_beneath(&workspace, &args.paths)?;
    let (opened, fork) = context.open_fork(&workspace, &args.name)?;
    warn_of_runs(context, &workspace)?;
    warn_of_others(context, &workspace, &fork.name)?;
    let meter = context.ui.meter("Looking");
    let incoming = workspace.incoming(&fork, &opened, paths, context.work(&meter))?;
    let draft = workspace.draft(incoming, context.work(&meter))?;
    drop(meter);
    bring(context, &workspace, &draft, &HashMap::new(), &args.how)
}

/// A layer shows what lies beneath it, and that is about to change.
fn warn_of_others(context: &Context<'_>, workspace: &belay_session::Workspace<'_>, picked: &str) -> Result<()> {
    for fork in workspace.forks()?.into_iter().filter(|fork| fork.name != picked && fork.directory().is_none()) {
        if let Some(run) = workspace.fork_state(&fork)?.run {
            context.ui.warn(format_args!("{run} goes on in {}, and may see what is changed here", fork.name));
        }
    }
    Ok(())
}
