//! What is protected and what happened: status, the log of a run, and who changed a file.

use belay_session::event::{Ended, Raw};
use belay_session::{Blame, Gap, Interval, RunRecord, Touch};
use serde_json::{Map, Value, json};

use super::Call;
use super::checkpoint::name_of;
use crate::error::Result;
use crate::page::Paged;
use crate::reply::Reply;
use crate::words::{self, age, count};

/// Changes that are named in a status.
const CHANGES_MAX: usize = 100;
/// Characters of a command line.
const COMMAND_CHARS_MAX: usize = 200;

/// What is protected, what changed, what is not captured, and who is at work.
pub(super) fn status(call: &Call<'_>) -> Result<Reply> {
    let (workspace, home) = (call.workspace, call.workspace.home());
    let status = workspace.status(call.work)?;
    let now = home.now().timestamp();
    let runs: Vec<RunRecord> = home.open_runs(workspace.id())?.into_iter().filter(RunRecord::is_live).collect();
    let base = match &status.base {
        Some(base) => format!("last known state: {} ({})", name_of(base), age(base.created_at, now)),
        None => "not captured yet; snapshots_create takes a first snapshot".to_owned(),
    };
    let changes: Vec<String> = status.changes.iter().map(|change| words::path(&change.path)).collect();
    let shown = &changes[..changes.len().min(CHANGES_MAX)];
    let gaps: Vec<Value> = status
        .unprotected
        .iter()
        .map(|gap| json!({ "path": words::path(&gap.path), "bytes": gap.bytes, "detail": gap.detail }))
        .collect();
    let mut text =
        format!("{}\n{base}\n{} changed since", workspace.path().display(), count(changes.len() as u64, "path"));
    for path in shown {
        text.push_str(&format!("\n  {path}"));
    }
    for gap in &status.unprotected {
        text.push_str(&format!("\nnot captured: {}", words::path(&gap.path)));
    }
    for run in &runs {
        text.push_str(&format!("\ngoing on: {} {}", run.id, line(&run.argv)));
    }
    let mut data = json!({
        "workspace": workspace.path().to_string_lossy(),
        "snapshots": status.snapshots,
        "base": status.base.as_ref().map(name_of),
        "changes": shown,
        "changes_total": changes.len(),
        "not_captured": gaps,
        "runs": runs.iter().map(|run| &run.id).collect::<Vec<_>>(),
    });
    // How much a store grows tells somebody who guesses whether it holds what he wrote already.
    if !workspace.hides_something() {
        data["store_bytes"] = status.budget.used_bytes.into();
        data["store_limit_bytes"] = status.budget.limit_bytes.into();
    }
    Ok(Reply::new(text, data))
}

fn line(argv: &[Raw]) -> String {
    let words: Vec<String> = argv.iter().map(|word| words::line(word.bytes())).collect();
    words.join(" ").chars().take(COMMAND_CHARS_MAX).collect()
}

/// The commands of a run.
pub(super) fn log(call: &Call<'_>) -> Result<Reply> {
    let home = call.workspace.home();
    let of_workspace = |run: &RunRecord| run.workspace == call.workspace.id();
    let name = call.arguments.text("run");
    let run = home.find_run(name, &of_workspace)?;
    if !of_workspace(&run) {
        return Err(belay_session::Error::UnknownRun(name.unwrap_or_default().to_owned()).into());
    }
    let journal = home.journal(&run)?;
    let counts = journal.change_counts()?;
    let commands = journal.commands()?;
    let items = commands.iter().map(|command| {
        let number = command.exec.command;
        let changes = counts.get(&Some(number)).copied().unwrap_or_default();
        let end = match command.ended {
            None => "runs".to_owned(),
            Some(Ended::Code(code)) => format!("exit {code}"),
            Some(Ended::Signal(signal)) => format!("signal {signal}"),
            Some(Ended::Replaced(by)) => format!("became #{by}"),
        };
        let command_line = line(&command.exec.argv);
        let data = json!({
            "command": number, "parent": command.exec.parent, "argv": command_line, "ended": end,
            "changes": changes, "at": command.at,
        });
        (format!("#{number} {command_line} ({end}, {})", count(changes, "change")), data)
    });
    let items = items.collect();
    let snapshots: Vec<Value> =
        journal.snapshots()?.into_iter().filter_map(|one| one.taken.snapshot).map(Value::from).collect();
    let head = format!("{} ({}): {}\n", run.id, run.state.name(), line(&run.argv));
    let extra = Map::from_iter([
        ("run".to_owned(), Value::from(run.id.clone())),
        ("state".to_owned(), run.state.name().into()),
        ("snapshots".to_owned(), snapshots.into()),
    ]);
    Ok(Paged { key: "commands", none: "no command was recorded", items, head, extra }.reply(call.arguments))
}

/// Who changed a file, and where its lines come from.
pub(super) fn blame(call: &Call<'_>) -> Result<Reply> {
    let path = words::beneath(call.workspace, call.arguments.required("path"))?;
    let blame = call.workspace.blame(&path, call.work)?;
    let only = call.arguments.number("line");
    let name = words::path(&path);
    let last = blame.intervals.last().expect("a file that was found has a first state");
    let verb = if blame.entry.is_some() { "last changed" } else { "removed" };
    let items = lines(&blame).filter(|(number, ..)| only.is_none_or(|only| only == *number));
    let items = items.map(|(number, interval, text)| {
        let data = json!({ "line": number, "text": text, "by": by(interval) });
        (format!("{number}: {text}  [{}]", who(interval)), data)
    });
    let items = items.collect();
    let prompt = last.touches.last().and_then(|touch| touch.prompt.clone());
    let asked =
        prompt.as_ref().map(|prompt| format!("asked for: {}\n", words::line(prompt.as_bytes()))).unwrap_or_default();
    let head = format!("{name}: {verb} by {}\n{asked}", who(last));
    let extra = Map::from_iter([("path".to_owned(), Value::from(name)), ("last".to_owned(), by(last))]);
    Ok(Paged { key: "lines", none: "", items, head, extra }.reply(call.arguments))
}

fn lines(blame: &Blame) -> impl Iterator<Item = (u64, &Interval, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let all = blame.lines.iter().enumerate();
    all.map(move |(at, line)| (at as u64 + 1, &blame.intervals[line.interval], text(&line.text)))
}

fn who(interval: &Interval) -> String {
    match (&interval.after, interval.rewound, interval.touches.last()) {
        (None, ..) => "somebody before the first snapshot".to_owned(),
        (_, Some(kind), _) => format!("belay {}", kind.command()),
        (.., Some(Touch { command: Some(number), argv, run, .. })) => format!("#{number} of {run}: {}", line(argv)),
        (.., Some(Touch { gap: Some(Gap::OutsideTurn), .. })) => {
            "somebody outside of a turn; who is not known".to_owned()
        }
        (.., Some(Touch { gap: Some(Gap::BetweenCalls), .. })) => {
            "somebody between two tool calls; who is not known".to_owned()
        }
        (.., Some(touch)) => format!("somebody during {}", touch.run),
        (_, None, None) => "somebody that no run has seen".to_owned(),
    }
}

fn by(interval: &Interval) -> Value {
    let touches = interval.touches.iter().map(|touch| {
        json!({ "run": touch.run, "command": touch.command, "argv": line(&touch.argv), "prompt": touch.prompt, "at": touch.at })
    });
    json!({
        "after": interval.after.as_ref().map(|snapshot| &snapshot.id),
        "until": interval.until.as_ref().map(|snapshot| &snapshot.id),
        "rewound": interval.rewound.map(|kind| kind.name()),
        "touches": touches.collect::<Vec<_>>(),
    })
}
