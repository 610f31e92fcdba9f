//! How paths, sizes and ages read in an answer.

use std::fmt::Write;
use std::path::Path;

use belay_session::Workspace;
use jiff::Timestamp;

use crate::error::Result;

/// A path beneath the workspace as one line: what could forge or hide a line is escaped, the workspace itself is a dot.
pub(crate) fn path(path: &[u8]) -> String {
    if path.is_empty() {
        return ".".to_owned();
    }
    let mut out = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                c if c.is_control() => out.extend(c.escape_default()),
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// The path beneath the workspace that somebody calls `text`: relative to the workspace, or absolute.
pub(crate) fn beneath(workspace: &Workspace<'_>, text: &str) -> Result<Vec<u8>> {
    Ok(workspace.beneath(workspace.path(), Path::new(text))?)
}

/// How long ago: `12 s ago`, `5 min ago`, `3 h ago`, `2 d ago`.
pub(crate) fn age(then: Timestamp, now: Timestamp) -> String {
    match seconds(then, now) {
        seconds @ 0..60 => format!("{seconds} s ago"),
        seconds @ 60..3600 => format!("{} min ago", seconds / 60),
        seconds @ 3600..172_800 => format!("{} h ago", seconds / 3600),
        seconds => format!("{} d ago", seconds / 86_400),
    }
}

/// Seconds from then to now, never fewer than none.
pub(crate) fn seconds(then: Timestamp, now: Timestamp) -> u64 {
    u64::try_from(now.as_second().saturating_sub(then.as_second())).unwrap_or(0)
}

/// `1 file`, `2 files`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_forges_a_line() {
        assert_eq!(path(b"a\nb\xff\x1b[2J"), "a\\nb\\xff\\u{1b}[2J");
        assert_eq!(path(b""), ".");
    }

    #[test]
    fn ages_are_short_and_a_clock_that_went_back_does_no_harm() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for (from, to, text) in
            [(0, 5, "5 s ago"), (0, 125, "2 min ago"), (0, 7200, "2 h ago"), (0, 200_000, "2 d ago"), (9, 3, "0 s ago")]
        {
            assert_eq!(age(at(from), at(to)), text);
        }
    }
}
