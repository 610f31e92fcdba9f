//! How paths, sizes and ages read in an answer.

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use belay_session::Workspace;
use jiff::Timestamp;

use crate::error::{Error, Result};

/// A path beneath the workspace as one line of text that [`beneath`] reads again: what is no UTF-8 or could forge or hide a
/// line is escaped as in Rust, and so is the backslash; the workspace itself is a dot.
pub(crate) fn path(path: &[u8]) -> String {
    if path.is_empty() { ".".to_owned() } else { escaped(path, |c| c.is_control() || c == '\\') }
}

/// Anything as one line, for whoever only reads it.
pub(crate) fn line(bytes: &[u8]) -> String {
    escaped(bytes, char::is_control)
}

fn escaped(bytes: &[u8], is_odd: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match is_odd(c) {
                true => out.extend(c.escape_default()),
                false => out.push(c),
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
    let bytes = unescaped(text);
    if bytes.contains(&0) {
        return Err(Error::Arguments("no path has a NUL in it".to_owned()));
    }
    Ok(workspace.beneath(workspace.path(), Path::new(OsStr::from_bytes(&bytes)))?)
}

/// The bytes that [`path`] shows as this text; a backslash that begins nothing is one.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let (escape, len) = escape(&rest[at..]).unwrap_or_else(|| (b"\\".to_vec(), 1));
        bytes.extend(escape);
        rest = &rest[at + len..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

/// What the escape at the beginning of the text means, and how long it is.
fn escape(text: &str) -> Option<(Vec<u8>, usize)> {
    let simple = |byte: u8| Some((vec![byte], 2));
    match text.as_bytes().get(1)? {
        b'\\' => simple(b'\\'),
        b'n' => simple(b'\n'),
        b'r' => simple(b'\r'),
        b't' => simple(b'\t'),
        b'x' => Some((vec![u8::from_str_radix(text.get(2..4)?, 16).ok()?], 4)),
        b'u' => {
            let number = text.get(2..)?.strip_prefix('{')?.split_once('}')?.0;
            let c = char::from_u32(u32::from_str_radix(number, 16).ok()?)?;
            Some((c.to_string().into_bytes(), number.len() + 4))
        }
        _ => None,
    }
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
    fn every_name_is_read_again_as_it_is_shown() {
        for name in [
            &b"plain/a.txt"[..],
            b"a\nb\xff\x1b[2J",
            b"\\",
            b"a\\xff",
            b"\xc3\xa4\xc3",
            b"tab\there\r",
            "\u{85}ö".as_bytes(),
            b"\\u{41}\\\\n",
        ] {
            assert_eq!(unescaped(&path(name)), name, "{}", path(name));
        }
        let all: Vec<u8> = (1..=255).collect();
        assert_eq!(unescaped(&path(&all)), all);
        for (text, bytes) in [
            ("a\\b", &b"a\\b"[..]),
            ("\\x4", b"\\x4"),
            ("\\xzz", b"\\xzz"),
            ("\\u{110000}", b"\\u{110000}"),
            ("end\\", b"end\\"),
            ("\\xé", "\\xé".as_bytes()),
        ] {
            assert_eq!(unescaped(text), bytes, "a backslash that begins nothing is one: {text}");
        }
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
