//! `belay discard`: forgets what an ephemeral run wrote and nobody wants.

use std::process::ExitCode;

use belay_session::{Error, Home, RunRecord, Workspace};
use serde_json::json;

use crate::context::Context;
use crate::error::{Failure, Result};

/// Discard what an ephemeral run wrote
///
/// The workspace stays as it is. What was written is captured once more before it goes, so `belay review` can be
/// made up for with `belay rollback SNAP` until that snapshot is thinned.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The run; the latest ephemeral one of this workspace by default
    #[arg(value_name = "RUN")]
    run: Option<String>,

    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay discard
  belay discard run_k8m2p1x0 -y";

/// Captures and discards.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace_despite(&home)?;
    if !args.yes && context.ui.is_interactive() {
        let run = ephemeral(&home, &workspace, args.run.as_deref())?;
        context.ui.confirm(&format!("Discard what {} wrote?", run.id))?;
    }
    discard(context, &home, &workspace, args.run.as_deref())
}

/// The ephemeral run that is called so; the latest by default.
pub(crate) fn ephemeral(home: &Home, workspace: &Workspace<'_>, run: Option<&str>) -> Result<RunRecord> {
    let found = home.find_run(run, &|run| run.workspace == workspace.id() && run.confinement.ephemeral);
    found.map_err(|error| match error {
        Error::NoRun => Failure::not_found("there was no ephemeral run here yet")
            .untouched()
            .hint("`belay run --ephemeral -- COMMAND` keeps apart what it writes"),
        other => other.into(),
    })
}

/// The same for whoever decided so in a review.
pub(crate) fn discard(
    context: &Context<'_>,
    home: &Home,
    workspace: &Workspace<'_>,
    run: Option<&str>,
) -> Result<ExitCode> {
    let record = ephemeral(home, workspace, run)?;
    if record.is_live() {
        return Err(Failure::refused(format!("{} goes on", record.id)).untouched().hint("`belay stop` ends it"));
    }
    let meter = context.ui.meter("Capturing");
    let snapshot = match workspace.written(&record, context.work(&meter)) {
        Ok(written) => Some(written.snapshot.id),
        Err(Error::NothingTo(_)) => None,
        Err(error) => return Err(error.into()),
    };
    drop(meter);
    home.discard_written(&record)?;
    if context.ui.json {
        context.ui.print_json(&json!({ "run": record.id, "snapshot": snapshot }))?;
        return Ok(ExitCode::SUCCESS);
    }
    match snapshot {
        Some(snapshot) => {
            context.ui.say(format_args!("Discarded what {} wrote; it is still in {snapshot}.", record.id))
        }
        None => context.ui.say(format_args!("{} wrote nothing that is kept.", record.id)),
    }
    Ok(ExitCode::SUCCESS)
}
