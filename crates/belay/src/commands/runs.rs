//! `belay runs`: the runs that there were.

use std::process::ExitCode;
use std::time::Duration;

use belay_session::event::Ended;
use belay_session::{Home, RunRecord, RunState};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Result;
use crate::past;
use crate::ui::escape::printable;
use crate::ui::table::{Cell, Table};
use crate::ui::{quantity, style, width};

/// Columns of the list that are not the command.
const OTHER_COLUMNS: usize = 72;

/// List the runs of the workspace, oldest first
///
/// Outside of a workspace, and with --all, the runs of all workspaces are listed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// List the runs of all workspaces
    #[arg(short, long)]
    all: bool,

    /// Show only the newest N
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
}

const EXAMPLES: &str = "\
Examples:
  belay runs
  belay runs --all -n 20
  belay runs --json | jq -r 'select(.exit_code != 0).id'";

/// Prints the list.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.settled_home()?;
    let here = if args.all { None } else { past::workspace_here(context, &home) };
    let mut runs = home.runs()?;
    runs.retain(|run| here.as_deref().is_none_or(|here| run.workspace == here));
    for id in home.unreadable_runs() {
        let id = printable(id.as_bytes());
        context.ui.warn(format_args!("{id} is not listed: its run.json is damaged, or was written by a newer belay"));
    }
    let hidden = args.limit.map_or(0, |limit| runs.len().saturating_sub(limit));
    runs.drain(..hidden);
    let mut out = context.ui.paged();
    if context.ui.json {
        for run in &runs {
            out.json(&to_json(&home, run))?;
        }
        out.finish()?;
        return Ok(ExitCode::SUCCESS);
    }
    if runs.is_empty() {
        context.ui.say("There was no run yet.");
        context.ui.hint("`belay run -- COMMAND` protects and records one");
    }
    let mut table = Table::new(&["ID", "WHEN", "COMMAND", "EXIT", "DURATION", "PATHS", "STATE", "WORKSPACE"]);
    let now = home.now().timestamp();
    // Of one workspace everybody knows where it is.
    let is_mixed = runs.iter().any(|run| run.workspace != runs[0].workspace);
    for run in &runs {
        let place = if is_mixed { printable(run.root.bytes()) } else { String::new() };
        table.row(row(&home, run, now).into_iter().chain([place.into()]).collect());
    }
    table.write(&mut out)?;
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn row(home: &Home, run: &RunRecord, now: Timestamp) -> Vec<Cell> {
    let failed = matches!(run.ended, Some(Ended::Code(1..) | Ended::Signal(_)));
    let duration = duration(run, now).map(quantity::took).unwrap_or_default();
    vec![
        Cell::new(run.id.clone(), style::ID),
        quantity::age(run.created_at, now).into(),
        name(run, width::rest(OTHER_COLUMNS)).into(),
        Cell::new(past::end(run.ended), if failed { style::BAD } else { style::GOOD }),
        duration.into(),
        quantity::grouped(changes(home, run)).into(),
        state(home, run),
    ]
}

/// What was run, with its label if it has one.
pub(crate) fn name(run: &RunRecord, max: usize) -> String {
    let command = match run.is_watch() {
        true => "(watch)".to_owned(),
        false => past::command_line(&run.argv, max),
    };
    match &run.label {
        Some(label) => format!("{command} ({})", printable(label.as_bytes())),
        None => command,
    }
}

/// How long the run took, or takes by now.
pub(crate) fn duration(run: &RunRecord, now: Timestamp) -> Option<Duration> {
    let end = run.ended_at.or(run.is_live().then_some(now))?;
    Duration::try_from(end.duration_since(run.started_at?)).ok()
}

/// How far the run is, as a cell.
fn state(home: &Home, run: &RunRecord) -> Cell {
    match run.state {
        _ if run.is_live() => Cell::new("running", style::CAUTION),
        RunState::Ended if home.is_unreviewed(run) => Cell::new("to review", style::CAUTION),
        RunState::Ended => run.because.clone().unwrap_or_else(|| "ended".to_owned()).into(),
        RunState::Failed => Cell::new("failed", style::BAD),
        RunState::Created | RunState::Running | RunState::Lost => Cell::new("controller lost", style::BAD),
    }
}

/// The paths that changed; a run or conversation that goes on is asked itself.
fn changes(home: &Home, run: &RunRecord) -> u64 {
    if let Some(paths) = run.totals.paths.filter(|_| !run.state.is_open() && run.ended_at.is_some()) {
        return paths;
    }
    let counts = home.journal(run).and_then(|journal| Ok(journal.path_counts()?));
    counts.map_or(run.totals.changes, |(paths, _)| paths)
}

/// A run as JSON: its record, with what can be derived from that.
pub(crate) fn to_json(home: &Home, run: &RunRecord) -> Value {
    let mut value = serde_json::to_value(run).expect("a record is plain data with text keys");
    if let Some(object) = value.as_object_mut() {
        object.insert("live".to_owned(), run.is_live().into());
        object.insert("exit_code".to_owned(), json!(run.exit_code()));
        object.insert("unreviewed".to_owned(), home.is_unreviewed(run).into());
        object.insert("changes".to_owned(), changes(home, run).into());
        object.insert("directory".to_owned(), home.run_dir(&run.id).to_string_lossy().into());
    }
    value
}
