//! Who touched a path, as text and as JSON.

use belay_session::Touch;
use serde_json::{Value, json};

use crate::past;

/// Who changed what no run has seen.
pub(crate) const OUTSIDE: &str = "somebody outside of any run";

/// Characters of a command line.
const LINE_MAX: usize = 60;

/// The last that may have done it, and how many others may have.
pub(crate) fn many(touches: &[Touch]) -> String {
    match touches {
        [] => String::new(),
        [one] => text(one, LINE_MAX),
        [.., last] => format!("{} (or {} more)", text(last, LINE_MAX), touches.len() - 1),
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
        None if touch.outside => format!("somebody outside {}", touch.run),
        None => format!("somebody during {}", touch.run),
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
