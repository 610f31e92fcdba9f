//! `belay workspaces`: all directories that belay knows, and the end of what it knows of one.

use std::io::Write;
use std::process::ExitCode;

use belay_session::{Departed, Home, WorkspaceInfo};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::ui::table::{Cell, Table};
use crate::ui::{escape, quantity, style};
use crate::view;

/// List the workspaces that belay knows, or forget one that is gone
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

/// What to do.
#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List them
    #[command(visible_alias = "ls", after_long_help = LIST_EXAMPLES)]
    List,
    #[command(visible_alias = "forget")]
    Rm(RmArgs),
}

/// Forget workspaces that are gone: their snapshots and the records of their runs, for good
///
/// For directories that were deleted and will not come back. One that was only moved is not gone: run any belay command
/// in it first, and belay finds its history there. What is still a directory is forgotten only with --existing; its files
/// stay as they are. This cannot be undone.
#[derive(Debug, clap::Args)]
#[command(after_long_help = RM_EXAMPLES)]
struct RmArgs {
    /// Identifiers or paths, as `belay workspaces` lists them
    #[arg(value_name = "WORKSPACE", required_unless_present = "gone")]
    names: Vec<String>,

    /// All whose directory is gone
    #[arg(long, conflicts_with = "names")]
    gone: bool,

    /// Also the history of a directory that still exists
    #[arg(long)]
    existing: bool,

    /// Only show what would go
    #[arg(short = 'n', long)]
    dry_run: bool,

    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

const LIST_EXAMPLES: &str = "\
Examples:
  belay workspaces list
  belay workspaces list --json";

const RM_EXAMPLES: &str = "\
Examples:
  belay workspaces rm --gone --dry-run
  belay workspaces rm ~/projects/old
  belay workspaces rm ws_8fk2m10qzx -y";

const EXAMPLES: &str = "\
Examples:
  belay workspaces
  belay workspaces --json
  belay workspaces rm --gone --dry-run";

/// Lists or forgets.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    match args.command.unwrap_or(Command::List) {
        Command::List => list(context),
        Command::Rm(args) => remove(context, &args),
    }
}

/// The workspaces that are meant.
fn meant(context: &Context<'_>, home: &Home, args: &RmArgs) -> Result<Vec<String>> {
    let known = home.workspaces()?;
    if args.gone {
        let gone = known.into_iter().filter(|workspace| !workspace.exists && workspace.fork.is_none());
        return Ok(gone.map(|workspace| workspace.id).collect());
    }
    let here = context.directory()?;
    let find = |name: &String| {
        let path = std::path::absolute(here.join(name)).unwrap_or_default();
        let is_it = |workspace: &&WorkspaceInfo| workspace.id == *name || workspace.path == path;
        let unknown = || Failure::not_found(format!("no workspace is called {}", escape::printable(name.as_bytes())));
        let found = known.iter().find(is_it).map(|workspace| workspace.id.clone());
        found.ok_or_else(|| unknown().untouched().hint("`belay workspaces` lists them"))
    };
    args.names.iter().map(find).collect()
}

/// Forgets workspaces, after it was said what goes with each.
fn remove(context: &Context<'_>, args: &RmArgs) -> Result<ExitCode> {
    let home = context.settled_home()?;
    let ids = meant(context, &home, args)?;
    let plan = || ids.iter().map(|id| home.plan_departure(id)).collect::<belay_session::Result<Vec<Departed>>>();
    let all = context.ui.while_working("Weighing", plan)?;
    if let Some(one) = all.iter().find(|one| one.workspace.exists && !args.existing && !args.dry_run) {
        let path = view::path(&one.workspace.path);
        return Err(Failure::refused(format!("{path} is still there"))
            .untouched()
            .hint("--existing forgets its history all the same, for good; its files stay as they are"));
    }
    if all.is_empty() {
        context.ui.say("Every workspace that belay knows is still there.");
    }
    let says = |one: &Departed| {
        let (path, id) = (view::path(&one.workspace.path), &one.workspace.id);
        let (snapshots, runs) = (one.snapshots.len() as u64, one.runs.len() as u64);
        let (snapshots, runs) = (quantity::count(snapshots, "snapshot"), quantity::count(runs, "run"));
        let state = if one.workspace.exists { "still there; its files stay" } else { "gone" };
        format!("{path} ({id}, {state}): {snapshots}, {runs}, {}", quantity::size(one.freed_bytes))
    };
    if args.dry_run {
        let mut out = context.ui.out();
        match context.ui.json {
            true => {
                out.json(&json!({ "dry_run": true, "forgets": all.iter().map(forgets_json).collect::<Vec<_>>() }))?
            }
            false => all.iter().try_for_each(|one| writeln!(out, "Would forget {}", says(one)))?,
        }
        out.finish()?;
        return Ok(ExitCode::SUCCESS);
    }
    if !args.yes && !all.is_empty() {
        all.iter().for_each(|one| context.ui.say(says(one)));
        let many = quantity::count(all.len() as u64, "workspace");
        context.ui.confirm(&format!("Forget the whole history of {many}? This cannot be undone."))?;
    }
    let mut rows = Vec::new();
    for one in &all {
        let pruned = context.ui.while_working("Forgetting", || home.forget_workspace(one))?;
        context.ui.say(format_args!("Forgot {}.", says(one)));
        view::say_unfreed(context.ui, &pruned);
        rows.push(forgets_json(one));
    }
    if context.ui.json {
        context.ui.print_json(&json!({ "forgot": rows }))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn forgets_json(one: &Departed) -> Value {
    let mut value = to_json(&one.workspace);
    value["runs"] = json!(one.runs);
    value["freed_bytes"] = json!(one.freed_bytes);
    value
}

/// Prints every workspace, the most recently captured last.
fn list(context: &Context<'_>) -> Result<ExitCode> {
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
