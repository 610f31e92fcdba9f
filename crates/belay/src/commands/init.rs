//! `belay init`: makes a directory a workspace, with a first snapshot to come back to.

use std::path::PathBuf;
use std::process::ExitCode;

use belay_session::{Kind, Origin, SnapshotRequest};
use serde_json::json;

use crate::commands::{install, status};
use crate::context::Context;
use crate::error::Result;
use crate::ui::quantity;
use crate::view;

/// The label of the first snapshot.
const BASELINE: &str = "baseline";

/// Protect a project: a first snapshot of it, kept outside of it
///
/// Nothing is written into the project, unless --project asks for it. `belay snapshot`, `run` and `watch` would make
/// the directory a workspace, too; this one says what is protected from now on and what is not. Doing it again changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The project; the current directory by default
    #[arg(value_name = "DIR")]
    path: Option<PathBuf>,

    /// Also connect the agents that are used here, in the project's own settings
    #[arg(long, conflicts_with = "path")]
    project: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay init
  belay init ~/projects/shop
  belay init --project        for whoever works in this repository";

/// Takes the first snapshot if there is none, and shows where the workspace stands.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let directory = match &args.path {
        Some(path) => context.directory()?.join(path),
        None => context.anchor()?,
    };
    let workspace = context.workspace_or_new(&home, &directory, false)?;
    let first = workspace.timeline()?.snapshots().first().cloned();
    let (baseline, is_new) = match first {
        Some(first) => (first, false),
        None => {
            let meter = context.ui.meter("Capturing");
            let label = Some(BASELINE.to_owned());
            let request =
                SnapshotRequest { kind: Kind::Manual, origin: Origin::Manual, label, ..SnapshotRequest::default() };
            (workspace.snapshot(&request, context.work(&meter))?.snapshot, true)
        }
    };
    if context.ui.json {
        context.ui.print_json(&json!({
            "workspace": workspace.id(),
            "path": workspace.path().to_string_lossy(),
            "store": home.path().to_string_lossy(),
            "created": is_new,
            "baseline": view::snapshot_json(&baseline),
        }))?;
    } else {
        let name = view::snapshot_name(&baseline);
        match is_new {
            true => {
                let (files, place) = (quantity::count(baseline.files, "file"), view::path(home.path()));
                context
                    .ui
                    .say(format_args!("{name} holds {files}; it is kept in {place}, and nothing was written here."));
            }
            false => context.ui.say(format_args!("This is a workspace already; its first snapshot is {name}.")),
        }
        drop(workspace);
        let here = context.at(directory);
        status::run(&here, status::Args { all: false, short: false })?;
        context.ui.hint("`belay install --all` connects your agents, `belay run -- COMMAND` protects from any other");
    }
    match args.project {
        true => install::run(context, install::Args::for_project()),
        false => Ok(ExitCode::SUCCESS),
    }
}
