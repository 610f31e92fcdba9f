//! The verdicts on tools, as tables and as JSON.

use std::io::Write;

use belay_conformance::{Outcome, Verdict};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Result;
use crate::ui::escape::printable;
use crate::ui::style;
use crate::ui::table::{Cell, Table};

/// Characters of what differs, for a person; `--json` has all of it.
const DIFFERS_CHARS_MAX: usize = 140;

/// Each tool with what was found out about it.
pub(super) type Results<'a> = [(&'a str, Vec<Verdict>)];

/// Prints the verdicts: one tool with what differs, several beside each other.
pub(super) fn show(context: &Context<'_>, results: &Results<'_>) -> Result<()> {
    let mut out = context.ui.out();
    if context.ui.json {
        let tools: Vec<Value> = results.iter().map(|(name, verdicts)| to_json(name, verdicts)).collect();
        out.json(&json!({ "tools": tools }))?;
        return out.finish();
    }
    match results {
        [(_, verdicts)] => alone(verdicts).write(&mut out)?,
        several => beside(several).write(&mut out)?,
    }
    writeln!(out)?;
    for (name, verdicts) in results {
        let (kept, tried) = score(verdicts);
        let bold = style::HEADING;
        writeln!(out, "{bold}{}: {kept} of {tried}{bold:#}", printable(name.as_bytes()))?;
    }
    out.finish()
}

/// What one tool did, with what differs.
fn alone(verdicts: &[Verdict]) -> Table {
    let mut table = Table::new(&["PROPERTY", "LAW", "RESULT", "WHAT DIFFERS"]);
    for verdict in verdicts {
        let differs = match &verdict.outcome {
            Outcome::Kept => String::new(),
            Outcome::Lost(lines) => match lines.as_slice() {
                [only] => short(only),
                lines => format!("{} (and {} more)", short(&lines[0]), lines.len() - 1),
            },
            Outcome::NotTried(why) => why.clone(),
        };
        let cells = [verdict.property.name.into(), verdict.property.law.into(), cell(&verdict.outcome)];
        table.row(cells.into_iter().chain([differs.into()]).collect());
    }
    table
}

/// As much as a line of a table takes; what the observer says is escaped already.
fn short(text: &str) -> String {
    match text.char_indices().nth(DIFFERS_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Several tools, a column each.
fn beside(results: &Results<'_>) -> Table {
    let mut header = vec!["PROPERTY".to_owned(), "LAW".to_owned()];
    header.extend(results.iter().map(|(name, _)| printable(name.as_bytes()).to_uppercase()));
    let mut table = Table::new(&header);
    for (at, first) in results[0].1.iter().enumerate() {
        let row = results.iter().map(|(_, verdicts)| cell(&verdicts[at].outcome));
        table.row([first.property.name.into(), first.property.law.into()].into_iter().chain(row).collect());
    }
    table
}

fn cell(outcome: &Outcome) -> Cell {
    let style = match outcome {
        Outcome::Kept => style::GOOD,
        Outcome::Lost(_) => style::BAD,
        Outcome::NotTried(_) => style::DIM,
    };
    Cell::new(word(outcome), style)
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Kept => "kept",
        Outcome::Lost(_) => "lost",
        Outcome::NotTried(_) => "not tried",
    }
}

fn score(verdicts: &[Verdict]) -> (usize, usize) {
    let count = |wanted: &str| verdicts.iter().filter(|verdict| word(&verdict.outcome) == wanted).count();
    (count("kept"), count("kept") + count("lost"))
}

fn to_json(name: &str, verdicts: &[Verdict]) -> Value {
    let (kept, tried) = score(verdicts);
    let rows = verdicts.iter().map(|verdict| {
        let (lost, why): (&[String], _) = match &verdict.outcome {
            Outcome::Kept => (&[], None),
            Outcome::Lost(lines) => (lines, None),
            Outcome::NotTried(why) => (&[], Some(why)),
        };
        json!({
            "property": verdict.property.name, "law": verdict.property.law, "outcome": word(&verdict.outcome),
            "differs": lost, "not_tried_because": why,
        })
    });
    json!({ "tool": name, "kept": kept, "tried": tried, "properties": rows.collect::<Vec<_>>() })
}
