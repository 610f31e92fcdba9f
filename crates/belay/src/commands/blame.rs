//! `belay blame`: which command, run and prompt last changed a file, and each of its lines.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;

use belay_session::{Blame, BlamedLine, Interval, RewindKind, Touch};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::ui::escape::{printable, put_path, visible_line};
use crate::ui::quantity;
use crate::ui::style;
use crate::view::{self, touch};

/// Show which command last changed a file, and each of its lines
///
/// For every line: between which snapshots it came, and which commands touched the file then, with their run, their
/// time and what the user had asked for. Where several commands touched the file between two snapshots, all are named.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file, with a colon and a number for a single line
    #[arg(value_name = "PATH[:LINE]")]
    path: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  belay blame src/main.rs
  belay blame src/main.rs:42
  belay blame .env --json";

/// Prints where the file and its lines come from.
pub(crate) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode> {
    let home = context.home()?;
    let workspace = context.workspace_despite(&home)?;
    let (name, line) = split(context, args.path)?;
    let path = context.beneath(&workspace, &name)?;
    let meter = context.ui.meter("Looking");
    let blame = workspace.blame(&path, context.work(&meter))?;
    drop(meter);
    if line.is_some_and(|line| line == 0 || line > blame.lines.len()) {
        return Err(Failure::not_found(format!("{} has {}", view::relative(&path), lines(&blame))));
    }
    let runs = home.runs()?;
    let latest = runs.iter().rev().find(|run| run.workspace == workspace.id()).map(|run| run.id.as_str());
    let mut out = context.ui.paged();
    if context.ui.json {
        out.json(&file_json(&path, &blame))?;
    } else {
        write_file(&mut out, &path, &blame, latest)?;
    }
    let now = home.now().timestamp();
    for (at, one) in blame.lines.iter().enumerate().filter(|(at, _)| line.is_none_or(|line| line == at + 1)) {
        let interval = &blame.intervals[one.interval];
        match context.ui.json {
            true => out.json(&line_json(at + 1, one, interval))?,
            false => writeln!(out, "{}", line_text(at + 1, one, interval, (now, latest)))?,
        }
    }
    out.finish()?;
    let meant = line.map_or(blame.intervals.len() - 1, |line| blame.lines[line - 1].interval);
    if let Some(undo) = undo(context, &blame.intervals[meant]) {
        context.ui.hint(undo);
    }
    Ok(ExitCode::SUCCESS)
}

/// The path and the line that are meant; a file whose very name ends so is meant as it is.
fn split(context: &Context<'_>, path: PathBuf) -> Result<(PathBuf, Option<usize>)> {
    let bytes = path.as_os_str().as_bytes();
    let colon = bytes.iter().rposition(|byte| *byte == b':');
    let number = colon.and_then(|at| std::str::from_utf8(&bytes[at + 1..]).ok()?.parse().ok());
    match (colon, number) {
        (Some(at), Some(number)) if context.directory()?.join(&path).symlink_metadata().is_err() => {
            Ok((PathBuf::from(OsStr::from_bytes(&bytes[..at])), Some(number)))
        }
        _ => Ok((path, None)),
    }
}

fn lines(blame: &Blame) -> String {
    match blame.lines.len() {
        0 => "no lines that could be told apart".to_owned(),
        number => quantity::count(number as u64, "line"),
    }
}

/// How to take back what the last command of that time did; a number alone would mean one of the latest run.
fn undo(context: &Context<'_>, interval: &Interval) -> Option<String> {
    let last = *interval.authors().last().filter(|_| interval.rewound.is_none())?;
    let (belay, number) = (context.itself(), last.command?);
    Some(format!("`{belay} undo --command {number} --run {}` takes back what #{number} did", last.run))
}

/// Whoever it was, in `max` characters or a little more; of the latest run no id is said.
fn who(interval: &Interval, touches: &[&Touch], latest: Option<&str>, max: Option<usize>) -> String {
    match (&interval.after, interval.touches.is_empty(), interval.rewound) {
        (None, ..) => "before the first snapshot".to_owned(),
        (_, _, Some(kind)) => {
            let brought = interval.until.as_ref().and_then(|until| until.description.as_deref()?.strip_prefix("with "));
            let what =
                brought.filter(|_| kind == RewindKind::Pick).map(|what| format!(" ({})", printable(what.as_bytes())));
            format!("belay {}{}", kind.command(), what.unwrap_or_default())
        }
        (_, true, None) if !interval.unread.is_empty() => {
            let runs: Vec<String> = interval.unread.iter().map(|run| printable(run.as_bytes())).collect();
            format!("nobody can tell whom: the record of {} cannot be read", runs.join(" and "))
        }
        (_, true, None) => touch::OUTSIDE.to_owned(),
        _ => touch::many(touches, latest, max),
    }
}

fn ends(interval: &Interval) -> String {
    let name = |snapshot: &Option<belay_session::Snapshot>, none: &str| match snapshot {
        Some(snapshot) => snapshot.id.clone(),
        None => none.to_owned(),
    };
    format!("{}..{}", name(&interval.after, ""), name(&interval.until, "now"))
}

fn write_file(out: &mut dyn Write, path: &[u8], blame: &Blame, latest: Option<&str>) -> Result<()> {
    let last = blame.intervals.last().expect("a file that was found has a first state");
    let verb = if blame.entry.is_some() { "last changed" } else { "removed" };
    let touches: Vec<&Touch> = last.touches.iter().collect();
    let who = who(last, &touches, latest, None);
    writeln!(out, "{}: {verb} by {who} ({})", view::relative(path), ends(last))?;
    if let Some(prompt) = last.touches.last().and_then(|touch| touch.prompt.as_ref()) {
        writeln!(out, "  asked for: {}", visible_line(prompt.as_bytes()))?;
    }
    Ok(())
}

fn line_text(
    number: usize,
    line: &BlamedLine,
    interval: &Interval,
    (now, latest): (jiff::Timestamp, Option<&str>),
) -> String {
    const WHO_WIDTH: usize = 40;
    let when = match (interval.authors().last(), &interval.until) {
        (Some(touch), _) => quantity::age(touch.at.timestamp(), now),
        (None, Some(snapshot)) => quantity::age(snapshot.created_at, now),
        (None, None) => String::new(),
    };
    let who = who(interval, &interval.authors(), latest, Some(WHO_WIDTH));
    let who = match who.chars().count() > WHO_WIDTH {
        // What else is said of it stands behind the command, and is not cut.
        true if !interval.authors().is_empty() && interval.rewound.is_none() => who,
        true => who.chars().take(WHO_WIDTH - 1).chain(['…']).collect(),
        false => who,
    };
    let dim = style::DIM;
    format!("{dim}{who:WHO_WIDTH$} {when:>14}{dim:#} {number:>5}  {}", visible_line(&line.text))
}

fn interval_json(interval: &Interval, touches: &[&Touch]) -> Value {
    json!({
        "after": interval.after.as_ref().map(|snapshot| &snapshot.id),
        "until": interval.until.as_ref().map(|snapshot| &snapshot.id),
        "rewound": interval.rewound.map(|kind| kind.name()),
        "unread": interval.unread,
        "by": touches.iter().rev().copied().map(touch::to_json).collect::<Vec<_>>(),
    })
}

fn file_json(path: &[u8], blame: &Blame) -> Value {
    let last = blame.intervals.last().expect("a file that was found has a first state");
    let mut value = interval_json(last, &last.touches.iter().collect::<Vec<_>>());
    if let Some(object) = value.as_object_mut() {
        put_path(object, "path", path);
        object.insert("exists".to_owned(), blame.entry.is_some().into());
        object.insert("lines".to_owned(), blame.lines.len().into());
    }
    value
}

fn line_json(number: usize, line: &BlamedLine, interval: &Interval) -> Value {
    let mut value = interval_json(interval, &interval.authors());
    if let Some(object) = value.as_object_mut() {
        object.insert("line".to_owned(), number.into());
        put_path(object, "text", &line.text);
    }
    value
}
