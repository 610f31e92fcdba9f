//! `belay workspaces`: all directories that belay knows.

use std::io::Write;
use std::process::ExitCode;

use belay_session::WorkspaceInfo;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Result;
use crate::ui::table::{Cell, Table};
use crate::ui::{quantity, style};
use crate::view;

/// List the workspaces that belay knows
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {}

const EXAMPLES: &str = "\
Examples:
  belay workspaces
  belay workspaces --json";

/// Prints every workspace, the most recently captured last.
pub(crate) fn run(context: &Context<'_>, _args: Args) -> Result<ExitCode> {
    let home = context.settled_home()?;
    let mut known = home.workspaces()?;
    known.sort_by_key(|workspace| workspace.latest_at);
    if context.ui.json {
        let rows: Vec<Value> = known.iter().map(to_json).collect();
        context.ui.print_json(&json!({ "workspaces": rows }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = context.ui.paged();
    if known.is_empty() {
        writeln!(out, "No workspaces yet; `belay snapshot` makes the current directory one.")?;
    } else {
        let now = home.now().timestamp();
        let mut table = Table::new(&["ID", "SNAPSHOTS", "LATEST", "PATH"]);
        known.iter().for_each(|workspace| table.row(row(workspace, now)));
        table.write(&mut out)?;
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn row(workspace: &WorkspaceInfo, now: jiff::Timestamp) -> Vec<Cell> {
    let note = match &workspace.fork {
        _ if !workspace.exists => " (gone)".to_owned(),
        Some(fork) => format!(" (the fork {fork})"),
        None => String::new(),
    };
    let latest = workspace.latest_at.map_or_else(|| "-".to_owned(), |at| quantity::age(at, now));
    vec![
        Cell::new(workspace.id.as_str(), style::ID),
        quantity::grouped(workspace.snapshots as u64).into(),
        latest.into(),
        format!("{}{note}", view::path(&workspace.path)).into(),
    ]
}

fn to_json(workspace: &WorkspaceInfo) -> Value {
    json!({
        "id": workspace.id,
        "path": workspace.path.to_string_lossy(),
        "exists": workspace.exists,
        "created_at": workspace.created_at.to_string(),
        "copied_from": workspace.copied_from,
        "fork": workspace.fork,
        "snapshots": workspace.snapshots,
        "latest_at": workspace.latest_at.map(|at| at.to_string()),
    })
}
