//! `belay changes`: what changed since a run began or a snapshot was taken, and by which command.

use std::collections::HashSet;
use std::io::Write;
use std::process::ExitCode;

use belay_session::{Changed, ChangedPath, ChangesOf};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::context::Context;
use crate::error::Result;
use crate::rewind::latest_turn;
use crate::ui::table::{Cell, Table};
use crate::ui::{quantity, width};
use crate::view::{self, changes::Line, touch};

/// Columns of the table that are neither path nor command.
const OTHER_COLUMNS: usize = 36;

/// Show which files changed, and which command did it
///
/// Compares the state before a run, or a snapshot, with the present, and names for each path the command that touched
/// it last, the newest first. Without a name it is about the latest run. A run that is named is compared with the state
/// at its end.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// A run or a snapshot
    #[arg(value_name = "RUN|SNAP")]
    of: Option<String>,

    /// Name every path, also in directories that came or went as a whole
    #[arg(short, long)]
    all: bool,
}

const EXAMPLES: &str = "\
Examples:
  belay changes                  since the latest run began
  belay changes run_k3v9x2ab     of that run
  belay changes '1h ago'         since then
  belay changes @pre-run --json";

/// Prints the paths, those touched last first.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace_despite(&home)?;
    let is_named = args.of.is_some();
    let of = args.of.map_or(ChangesOf::Latest, ChangesOf::Named);
    let meter = context.ui.meter("Looking");
    let changed = workspace.changed(&of, context.work(&meter))?;
    drop(meter);
    let mut out = context.ui.paged();
    if context.ui.json {
        for path in &changed.paths {
            out.json(&to_json(path))?;
        }
        out.finish()?;
        return Ok(ExitCode::SUCCESS);
    }
    context.ui.say(heading(&changed));
    let now = home.now().timestamp();
    let mut table = Table::new(&["", "PATH", "SIZE", "WHEN", "BY"]);
    let wholes = if args.all { HashSet::new() } else { wholes(&changed) };
    let shown: Vec<&ChangedPath> = changed.paths.iter().filter(|path| !is_folded(path, &wholes)).collect();
    let longest = shown.iter().map(|path| Line::from(&path.change).name().width()).max().unwrap_or(0);
    let by_max = width::rest(longest + OTHER_COLUMNS);
    shown.iter().for_each(|path| table.row(row(path, now, by_max)));
    table.write(&mut out)?;
    let folded = changed.paths.len() - shown.len();
    if folded > 0 {
        let (paths, them) = (quantity::more(folded as u64, "path"), quantity::them(folded as u64));
        context.ui.say(format_args!("{paths} in directories that came or went as a whole; --all names {them}"));
    }
    if changed.paths.is_empty() {
        writeln!(out, "Nothing changed.")?;
    }
    out.finish()?;
    if let (true, false, Some(turn)) = (changed.paths.is_empty(), is_named, latest_turn(&workspace)) {
        context
            .ui
            .hint(format_args!("`belay changes @turn-{turn}` shows what changed since the agent's latest turn began"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Directories that came or went with all that is in them.
fn wholes(changed: &Changed) -> HashSet<&[u8]> {
    let whole = changed.paths.iter().filter(|path| Line::from(&path.change).is_whole_directory());
    whole.map(|path| path.change.path.as_slice()).collect()
}

/// Whether such a directory stands for it.
fn is_folded(path: &ChangedPath, wholes: &HashSet<&[u8]>) -> bool {
    let path = path.change.path.as_slice();
    let mut slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    slashes.any(|at| wholes.contains(&path[..at]))
}

fn heading(changed: &Changed) -> String {
    let from = match &changed.run {
        Some(run) => format!("{} (before {run})", changed.before.id),
        None => view::snapshot_name(&changed.before),
    };
    let to = changed.after.as_ref().map_or_else(|| "now".to_owned(), |after| after.id.clone());
    format!("From {from} to {to}:")
}

fn row(path: &ChangedPath, now: jiff::Timestamp, by_max: usize) -> Vec<Cell> {
    let line = Line::from(&path.change);
    let last = path.touches.last().filter(|_| !path.unseen);
    let entry = path.change.after.as_ref().or(path.change.before.as_ref());
    vec![
        Cell::new(line.letter().to_string(), line.style()),
        line.name().into(),
        entry.map(view::amount).unwrap_or_default().into(),
        last.map(|touch| quantity::age(touch.at.timestamp(), now)).unwrap_or_default().into(),
        by(path, by_max).into(),
    ]
}

fn by(path: &ChangedPath, max: usize) -> String {
    match path.rewound {
        _ if path.unseen => touch::OUTSIDE.to_owned(),
        Some(kind) => format!("belay {}", kind.command()),
        None => touch::last(&path.touches, max),
    }
}

fn to_json(path: &ChangedPath) -> Value {
    let mut value = view::change_json(&path.change);
    if let Some(object) = value.as_object_mut() {
        object.insert("rewound".to_owned(), path.rewound.map(|kind| kind.name()).into());
        object.insert("unseen".to_owned(), path.unseen.into());
        object.insert("by".to_owned(), path.touches.iter().rev().map(touch::to_json).collect());
    }
    value
}
