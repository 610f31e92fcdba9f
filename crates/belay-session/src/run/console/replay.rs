//! What a terminal showed, for somebody who comes later: text and colours, and nothing that a terminal would answer.
//!
//! A program may have asked the terminal what it is or where its cursor stands. Shown again, the question would be
//! answered again, and the answer typed into whatever runs now.

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

/// The text and the colours of `shown`.
pub(super) fn harmless(shown: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(shown.len());
    let mut rest = shown;
    while let Some((&byte, after)) = rest.split_first() {
        if let Some(length) = hidden(rest) {
            rest = &rest[length..];
            continue;
        }
        if byte != ESCAPE {
            if byte >= b' ' || matches!(byte, b'\n' | b'\r' | b'\t' | 0x08) {
                kept.push(byte);
            }
            rest = after;
            continue;
        }
        let length = sequence(rest);
        if rest[..length].starts_with(b"\x1b[") && rest[..length].ends_with(b"m") && !rest[..length].contains(&b'>') {
            kept.extend_from_slice(&rest[..length]);
        }
        rest = &rest[length..];
    }
    kept
}

/// The length of a character that begins here and is an order in one, or turns the text around.
fn hidden(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [0xc2, 0x80..=0x9f, ..] => Some(2),
        [0xe2, 0x80, 0x8e | 0x8f | 0xaa..=0xae, ..] | [0xe2, 0x81, 0xa6..=0xa9, ..] => Some(3),
        _ => None,
    }
}

/// The length of the sequence that begins with an escape; all there is if it has no end.
fn sequence(bytes: &[u8]) -> usize {
    let is_final = |byte: &u8| (0x40..=0x7e).contains(byte);
    let end = match bytes.get(1) {
        None => None,
        Some(b'[') => bytes[2..].iter().position(is_final).map(|at| at + 3),
        Some(b']' | b'P' | b'X' | b'^' | b'_') => string_end(bytes),
        Some(0x20..=0x2f) => bytes[2..].iter().position(|byte| !(0x20..=0x2f).contains(byte)).map(|at| at + 3),
        Some(_) => Some(2),
    };
    end.unwrap_or(bytes.len())
}

fn string_end(bytes: &[u8]) -> Option<usize> {
    let at = bytes[2..].iter().position(|byte| matches!(*byte, BELL | ESCAPE))? + 2;
    Some(if bytes[at] == BELL { at + 1 } else { (at + 2).min(bytes.len()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_colours_stay_and_questions_go() {
        let cases: [(&[u8], &[u8]); 8] = [
            ("a\u{9b}2Jb\u{202e}c\u{2066}ä".as_bytes(), "a2Jbcä".as_bytes()),
            (b"in> \x1b[1;31mred\x1b[0m\r\n", b"in> \x1b[1;31mred\x1b[0m\r\n"),
            (b"a\x1b[6nb\x1b[>cc\x1b[?2004hd", b"abcd"),
            (b"a\x1b]11;?\x07b\x1b]11;?\x1b\\c", b"abc"),
            (b"a\x1bP+q5463\x1b\\b\x1b[>4;2mc", b"abc"),
            (b"a\x1b(Bb\x1b=c\x1b7", b"abc"),
            (b"cut \x1b[38;5", b"cut "),
            ("grün \u{1b}[5n".as_bytes(), "grün ".as_bytes()),
        ];
        for (shown, expected) in cases {
            assert_eq!(harmless(shown), expected, "{}", String::from_utf8_lossy(shown).escape_debug());
        }
    }
}
