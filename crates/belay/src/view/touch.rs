//! Who touched a path, as text and as JSON.

use belay_session::Touch;
use serde_json::{Value, json};

use crate::ui::escape::printable;

/// Characters of a command line.
const LINE_MAX: usize = 60;

/// The last that touched it, and how many others did.
pub(crate) fn many(touches: &[Touch]) -> String {
    match touches {
        [] => String::new(),
        [one] => text(one),
        [.., last] => format!("{} (or {} more)", text(last), touches.len() - 1),
    }
}

/// `#12 sed -i s/a/b/ x`, or who else it was.
fn text(touch: &Touch) -> String {
    match touch.command {
        Some(number) => {
            let words: Vec<String> = touch.argv.iter().map(|word| printable(word.bytes())).collect();
            let line: String = words.join(" ").chars().take(LINE_MAX).collect();
            format!("#{number} {line}")
        }
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
