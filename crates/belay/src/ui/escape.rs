//! Makes names from a workspace harmless: nothing that a file is called can move the cursor, hide text or forge a line.

use std::fmt::Write;

use belay_session::is_invisible;
use serde_json::{Map, Value};

/// A name or path as one line of text, reversible: a literal backslash is doubled, everything unprintable escaped.
pub(crate) fn printable(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|c| push_char(&mut out, c));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// The same for a text of ours, in which backslashes stand for themselves as long as nothing must be escaped.
pub(crate) fn harmless(text: &str) -> String {
    let is_shown = |c: char| !c.is_control() && !is_invisible(c);
    if text.chars().all(is_shown) { text.to_owned() } else { printable(text.as_bytes()) }
}

fn push_char(out: &mut String, c: char) {
    match c {
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if c.is_ascii_control() => {
            let _ = write!(out, "\\x{:02x}", u32::from(c));
        }
        c if c.is_control() || is_invisible(c) => {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
        c => out.push(c),
    }
}

/// A line of a file as it may be shown on a terminal: tabs stay, other control characters become visible.
pub(crate) fn visible_line(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\t' | '\n' | '\\' => out.push(c),
                '\r' => out.push_str("^M"),
                c => push_char(&mut out, c),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// A path in git's manner for the headers of a patch: quoted, with octal escapes, when it holds anything unusual.
pub(crate) fn quoted_for_patch(prefix: &str, path: &[u8]) -> String {
    let plain = path.iter().all(|b| (b' '..0x7f).contains(b) && *b != b'"' && *b != b'\\');
    if plain {
        return format!("{prefix}{}", String::from_utf8_lossy(path));
    }
    let mut out = format!("\"{prefix}");
    for byte in path {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            b' '..=0x7e => out.push(char::from(*byte)),
            other => {
                let _ = write!(out, "\\{other:03o}");
            }
        }
    }
    out.push('"');
    out
}

/// Puts a path into a JSON object: as text, and as hexadecimal bytes too when it is not UTF-8.
pub(crate) fn put_path(object: &mut Map<String, Value>, key: &str, path: &[u8]) {
    object.insert(key.to_owned(), Value::from(String::from_utf8_lossy(path)));
    if std::str::from_utf8(path).is_err() {
        let hex = path.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        object.insert(format!("{key}_bytes"), Value::from(hex));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_reaches_the_terminal_raw() {
        assert_eq!(printable(b"plain name.txt"), "plain name.txt");
        assert_eq!(printable(b"a\x1b[31mred\nline\x07"), "a\\x1b[31mred\\nline\\x07");
        assert_eq!(printable(b"caf\xe9"), "caf\\xe9");
        assert_eq!(printable("grün \u{202e}txt.exe \u{9b}".as_bytes()), "grün \\u{202e}txt.exe \\u{9b}");
        for byte in 0..=255u8 {
            assert!(!printable(&[byte]).chars().any(char::is_control), "byte {byte:#x} came through");
        }
    }

    #[test]
    fn different_names_stay_different() {
        assert_ne!(printable(b"\\x1b"), printable(b"\x1b"));
        assert_ne!(printable(b"\\xe9"), printable(b"\xe9"));
    }

    #[test]
    fn patch_headers_are_quoted_as_git_does() {
        assert_eq!(quoted_for_patch("a/", b"with space"), "a/with space");
        assert_eq!(quoted_for_patch("b/", b"tab\there"), "\"b/tab\\there\"");
        assert_eq!(quoted_for_patch("b/", "é\"".as_bytes()), "\"b/\\303\\251\\\"\"");
    }

    #[test]
    fn json_carries_the_bytes_of_a_name_that_is_not_text() {
        let mut object = Map::new();
        put_path(&mut object, "path", b"ok");
        assert_eq!(Value::from(object.clone()).to_string(), r#"{"path":"ok"}"#);
        put_path(&mut object, "path", b"caf\xe9");
        assert_eq!(object["path_bytes"], "636166e9");
    }
}
