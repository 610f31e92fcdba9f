//! `belay discard`: forgets what an ephemeral run wrote and nobody wants.

use std::process::ExitCode;

use belay_session::{Error, Home, RunRecord, Workspace};
use serde_json::json;

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::view;

/// Discard what an ephemeral run wrote
///
/// The workspace stays as it is. What was written is captured once more before it goes, so `belay review` can be
/// made up for with `belay rollback SNAP` until that snapshot is thinned.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The run; by default the latest ephemeral one of this workspace that still waits for a review
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

/// Captures, asks and discards.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace_despite(&home)?;
    discard(context, &home, &workspace, args.run.as_deref(), args.yes)
}

/// The ephemeral run that is called so; by default the latest that goes on or waits for a review, else the latest.
pub(crate) fn ephemeral(home: &Home, workspace: &Workspace<'_>, run: Option<&str>) -> Result<RunRecord> {
    let is_one = |run: &RunRecord| run.workspace == workspace.id() && run.confinement.ephemeral;
    let waits = |one: &RunRecord| is_one(one) && (one.is_live() || home.is_unreviewed(one));
    if let Some(waiting) = home.find_run(None, &waits).ok().filter(|_| run.is_none()) {
        return Ok(waiting);
    }
    let found = home.find_run(run, &is_one);
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
    yes: bool,
) -> Result<ExitCode> {
    let record = ephemeral(home, workspace, run)?;
    if record.is_live() {
        return Err(Failure::refused(format!("{} goes on", record.id)).untouched().hint("`belay stop` ends it"));
    }
    let meter = context.ui.meter("Capturing");
    let written = match workspace.written(&record, context.work(&meter)) {
        Ok(written) => Some(written),
        Err(Error::NothingTo(_)) => None,
        Err(error) => return Err(error.into()),
    };
    drop(meter);
    if written.is_some() && !yes {
        let question = format!("Discard what {} wrote?", record.id);
        context.ui.confirm_or(&question, "add -y to go ahead without being asked; `belay review` shows it")?;
    }
    home.discard_written(&record)?;
    let lacking = written.as_ref().map(|written| written.lacking.as_slice()).unwrap_or_default();
    let snapshot = written.as_ref().map(|written| &written.snapshot.id);
    if context.ui.json {
        let lacking = view::lacking_json(lacking);
        context.ui.print_json(&json!({ "run": record.id, "snapshot": snapshot, "not_captured": lacking }))?;
        return Ok(ExitCode::SUCCESS);
    }
    match snapshot {
        Some(snapshot) => {
            let what = if lacking.is_empty() { "it" } else { "the rest" };
            context.ui.say(format_args!("Discarded what {} wrote; {what} is still in {snapshot}.", record.id));
            view::warn_lacking(context.ui, lacking);
        }
        None => context.ui.say(format_args!("{} wrote nothing that is kept.", record.id)),
    }
    Ok(ExitCode::SUCCESS)
}
