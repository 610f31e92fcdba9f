//! The log as a stream: one line for each event, in the order in which they happened.

use std::collections::HashSet;
use std::io::Write;
use std::time::Duration;

use belay_session::event::{Ended, Event, What};
use belay_session::journal::{Entry, Reader};
use belay_session::{Home, RunRecord};
use serde_json::Value;

use super::{Args, Scope};
use crate::context::Context;
use crate::error::Result;
use crate::past;
use crate::ui::escape::printable;
use crate::ui::{Out, quantity, style};
use crate::view;

const LOOK_EVERY: Duration = Duration::from_millis(100);
const COMMAND_MAX: usize = 120;

/// How to print the stream.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub(super) json: bool,
    pub(super) follow: bool,
}

/// Prints every event, and with `follow` those that are yet to come.
pub(super) fn print(
    context: &Context<'_>,
    home: &Home,
    run: &RunRecord,
    journal: &Reader,
    args: &Args,
    mut scope: Scope,
    style: Style,
) -> Result<()> {
    let mut out = context.ui.out();
    let is_veiled = context.guard().is_some_and(|guard| guard.hides());
    let mut seq = 0;
    let mut rewound = HashSet::new();
    loop {
        // Asked before reading: what was written until then is read below.
        let over = !style.follow || super::is_over(home, run);
        let entries = super::next(journal, seq, !args.no_files)?;
        for entry in &entries {
            seq = entry.seq;
            if let What::Rewound(told) = &entry.event.what {
                rewound.insert(told.from.clone());
            }
            if scope.takes(&entry.event) {
                put(&mut out, entry, style.json, is_veiled)?;
            }
        }
        let ended = entries.iter().any(|entry| matches!(entry.event.what, What::RunEnded(_)));
        if entries.is_empty() && over || ended {
            let after = match scope.only {
                None => home.rewinds_after(&home.run(&run.id)?, &rewound)?,
                Some(_) => Vec::new(),
            };
            after.iter().try_for_each(|event| put_alone(&mut out, event, style.json))?;
            return out.finish();
        }
        out.flush()?;
        if entries.is_empty() {
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// Prints what no run recorded.
pub(super) fn print_alone(context: &Context<'_>, events: &[Event]) -> Result<()> {
    let mut out = context.ui.paged();
    events.iter().try_for_each(|event| put_alone(&mut out, event, context.ui.json))?;
    out.finish()
}

/// What is in no journal has no number there.
fn put_alone(out: &mut Out, event: &Event, json: bool) -> Result<()> {
    if json { out.json(event) } else { Ok(line(out, event)?) }
}

/// What a snapshot holds is not told to whom some of it is hidden.
const OF_EVERYTHING: [&str; 3] = ["files", "stored_bytes", "root"];

fn put(out: &mut Out, entry: &Entry, json: bool, is_veiled: bool) -> Result<()> {
    if !json {
        return Ok(line(out, &entry.event)?);
    }
    let mut value = serde_json::to_value(&entry.event).expect("an event has text keys only");
    if let Value::Object(object) = &mut value {
        object.insert("seq".to_owned(), entry.seq.into());
        if is_veiled && matches!(entry.event.what, What::Snapshot(_)) {
            object.retain(|key, _| !OF_EVERYTHING.contains(&key.as_str()));
        }
    }
    out.json(&value)
}

fn line(out: &mut Out, event: &Event) -> std::io::Result<()> {
    let (dim, id, caution) = (style::DIM, style::ID, style::CAUTION);
    let at = quantity::moment(event.at.timestamp());
    write!(out, "{dim}{at}{dim:#}  ")?;
    match &event.what {
        What::RunStarted(started) => {
            writeln!(out, "{} began: {}", started.run, past::command_line(&started.argv, COMMAND_MAX))
        }
        What::Exec(exec) => {
            writeln!(out, "{id}#{}{id:#} {}", exec.command, past::command_line(&exec.argv, COMMAND_MAX))
        }
        What::Exit(exit) => {
            let took = quantity::took(Duration::from_nanos(exit.duration_ns));
            writeln!(out, "{dim}#{} ended: {}, {took}{dim:#}", exit.command, past::end(Some(exit.ended)))
        }
        What::File(change) => {
            let by = change.by.and_then(|by| by.command).map(|command| format!(" by #{command}")).unwrap_or_default();
            let to = change.to.as_ref().map(|to| format!(" -> {}", view::relative(to.bytes()))).unwrap_or_default();
            writeln!(out, "  {} {}{to}{dim}{by}{dim:#}", change.action.name(), view::relative(change.path.bytes()))
        }
        other => {
            writeln!(out, "{caution}{}{caution:#}", note(other).unwrap_or_default())
        }
    }
}

/// An event that is neither a command nor a change, in words.
pub(super) fn note(what: &What) -> Option<String> {
    let text = |text: &str| printable(text.as_bytes());
    match what {
        What::Snapshot(taken) => Some(match (&taken.snapshot, &taken.failed) {
            // A turn in which nothing changed at last ends with a snapshot that is there already.
            (Some(id), _) if taken.kind == "final" && taken.took_us == 0 => {
                format!("the turn ended, as in {}", text(id))
            }
            (Some(id), _) => {
                let took = quantity::took(Duration::from_micros(taken.took_us));
                let name = taken.name.as_ref().map(|name| format!(" ({})", text(name))).unwrap_or_default();
                let lacks = if taken.gaps > 0 {
                    format!(", lacks {}", quantity::count(taken.gaps, "path"))
                } else {
                    String::new()
                };
                // What went on beside it may be in it by halves.
                let beside = match taken.meanwhile {
                    0 => String::new(),
                    changes => format!(", {} meanwhile", quantity::count(changes, "change")),
                };
                format!("snapshot {}{name}, {}, {took}{lacks}{beside}", text(id), text(&taken.kind))
            }
            (None, why) => format!("no snapshot ({}): {}", text(&taken.kind), text(why.as_deref().unwrap_or("failed"))),
        }),
        What::Rewound(rewound) => Some(format!(
            "{} to {}: {} (before it: {})",
            if rewound.kind == "revert" { "undo of a step".to_owned() } else { text(&rewound.kind) },
            text(&rewound.to),
            quantity::count(rewound.changed, "path"),
            text(&rewound.from)
        )),
        What::Lost(lost) => {
            let how_many = lost.count.map_or_else(|| "some".to_owned(), quantity::grouped);
            Some(format!("{how_many} {} events were lost", text(&lost.source)))
        }
        What::Degraded(degraded) => Some(format!("weaker: {}: {}", text(&degraded.layer), text(&degraded.why))),
        What::Denied(denied) => Some(past::denied(denied)),
        What::Storm(storm) => Some(past::storm(storm)),
        What::McpCall(call) => {
            let (tool, why) = (text(&call.tool), call.error.as_ref().map(|why| format!(": refused: {}", text(why))));
            Some(format!(
                "tool {tool}, {}{}",
                quantity::took(Duration::from_millis(call.duration_ms)),
                why.unwrap_or_default()
            ))
        }
        What::Erased(erased) => {
            Some(format!("`belay forget` erased words of {}", quantity::count(erased.events.len() as u64, "event")))
        }
        What::RunEnded(ended) => {
            let is_stopped = ended.ended.is_none() && ended.because.as_deref() == Some("stopped");
            let because = ended.because.as_ref().filter(|_| !is_stopped);
            let because = because.map(|why| format!(" ({})", text(why))).unwrap_or_default();
            let end = match ended.ended {
                None if is_stopped => "stopped".to_owned(),
                None => "its end was not seen".to_owned(),
                Some(Ended::Code(code)) => format!("exit code {code}"),
                other => past::end(other),
            };
            Some(format!("the run ended: {end}{because}"))
        }
        _ => None,
    }
}
