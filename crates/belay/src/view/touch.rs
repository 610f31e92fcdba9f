//! Who touched a path, as text and as JSON.

use belay_session::{Gap, Touch};
use serde_json::{Value, json};

use crate::past;

/// Who changed what no run has seen.
pub(crate) const OUTSIDE: &str = "somebody outside of any run";

/// Characters of a command line.
const LINE_MAX: usize = 60;
/// Characters of a command line that are left of it in any case.
const LINE_MIN: usize = 8;
/// Characters of a command's number, and the space after it.
const NUMBER_MAX: usize = 4;
/// Others who are named.
const OTHERS_MAX: usize = 2;

/// The last that may have done it, who else may have, and in which run if that is not the latest; in `max` characters
/// or a little more.
pub(crate) fn many(touches: &[&Touch], latest: Option<&str>, max: Option<usize>) -> String {
    let Some((last, others)) = touches.split_last() else { return String::new() };
    let elsewhere = last.command.is_some() && latest.is_some_and(|latest| latest != last.run);
    let run = if elsewhere { format!(" in {}", last.run) } else { String::new() };
    let others = if others.is_empty() { String::new() } else { format!(" (or {})", numbers(others)) };
    let around = run.chars().count() + others.chars().count() + NUMBER_MAX;
    let line = max.map_or(LINE_MAX, |max| max.saturating_sub(around).max(LINE_MIN));
    format!("{}{run}{others}", text(last, line))
}

/// Others who may have done it, by their numbers.
fn numbers(others: &[&Touch]) -> String {
    let named: Option<Vec<String>> = others.iter().rev().map(|one| Some(format!("#{}", one.command?))).collect();
    match (named, others.len()) {
        (Some(named), 1..=OTHERS_MAX) => named.join(" or "),
        (_, 1) => "somebody else".to_owned(),
        (_, number) => format!("{number} others"),
    }
}

/// The last that touched it and how many did before, in `max` characters or a little more.
pub(crate) fn last(touches: &[Touch], max: usize) -> String {
    match touches {
        [] => String::new(),
        [one] => text(one, max),
        [Touch { command: Some(before), .. }, last] => {
            format!("{}, before it #{before}", text(last, max.saturating_sub(16)))
        }
        [_, last] => format!("{}, before it 1 other", text(last, max.saturating_sub(20))),
        [.., last] => format!("{}, before it {} others", text(last, max.saturating_sub(20)), touches.len() - 1),
    }
}

/// `#12 sed -i s/a/b/ x`, or who else it was.
fn text(touch: &Touch, max: usize) -> String {
    match touch.command {
        Some(number) => format!("#{number} {}", past::command_line(&touch.argv, max)),
        None if touch.gap.is_some() => touch.gap.map_or_else(String::new, |gap| gap_words(gap).to_owned()),
        None if touch.outside => format!("somebody outside {}", touch.run),
        None => format!("somebody during {}", touch.run),
    }
}

/// Who it was that changed something in a conversation, as far as that is known.
pub(crate) fn gap_words(gap: Gap) -> &'static str {
    match gap {
        Gap::OutsideTurn => "somebody outside of a turn",
        Gap::BetweenCalls => "somebody between the agent's calls",
        Gap::DuringCalls => "a call that was under way, or somebody else",
    }
}

/// A touch as JSON.
pub(crate) fn to_json(touch: &Touch) -> Value {
    json!({
        "at": touch.at,
        "action": touch.action.name(),
        "run": touch.run,
        "command": touch.command,
        "outside": touch.outside,
        "argv": touch.argv,
        "prompt": touch.prompt,
    })
}
