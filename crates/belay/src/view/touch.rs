//! Who touched a path, as text and as JSON.

use belay_session::{Gap, Touch};
use serde_json::{Value, json};

use crate::past;

/// Who changed what no run has seen.
pub(crate) const OUTSIDE: &str = "somebody outside of any run";

/// Characters of a command line.
const LINE_MAX: usize = 60;
/// Others who are named.
const OTHERS_MAX: usize = 2;

/// The last that may have done it, and who else may have.
pub(crate) fn many(touches: &[Touch]) -> String {
    match touches {
        [] => String::new(),
        [one] => text(one, LINE_MAX),
        [others @ .., last] => format!("{} (or {})", text(last, LINE_MAX), numbers(others)),
    }
}

/// Others who may have done it, by their numbers.
fn numbers(others: &[Touch]) -> String {
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
