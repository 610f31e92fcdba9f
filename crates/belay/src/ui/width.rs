//! How wide the terminal is, and prose that breaks between its words.

use std::io;

use belay_session::terminal_size;
use unicode_width::UnicodeWidthStr;

/// What is written to a file or a pipe is as wide as this.
const WITHOUT_TERMINAL: usize = 100;
const NARROWEST: usize = 40;

/// Columns of standard output.
pub(crate) fn columns() -> usize {
    let found = terminal_size(io::stdout()).map(|size| usize::from(size.columns));
    found.unwrap_or(WITHOUT_TERMINAL).max(NARROWEST)
}

/// What is left of a line for a last column, when so many columns stand before it.
pub(crate) fn rest(before: usize) -> usize {
    columns().saturating_sub(before).max(NARROWEST / 2)
}

/// Text for standard error, broken between words if that is a terminal; every further line is indented.
pub(crate) fn prose(text: &str, indent: usize) -> String {
    match terminal_size(io::stderr()) {
        Some(size) => wrap(text, usize::from(size.columns).max(NARROWEST), indent),
        None => text.to_owned(),
    }
}

/// What ends a line on standard error before the line end, while a run's terminal may be in raw mode already.
pub(crate) fn carriage() -> &'static str {
    if terminal_size(io::stderr()).is_some() { "\r" } else { "" }
}

/// The same behind a word that is styled, and so has more characters than columns; without that word.
pub(crate) fn behind(lead: &str, text: &str, indent: usize) -> String {
    prose(&format!("{lead}{text}"), indent).split_off(lead.len())
}

/// Text behind something that stands before its first line alone, on so many columns.
pub(crate) fn hang(lead: &str, text: &str, columns: usize) -> String {
    let indent = lead.width();
    let body = wrap(text, columns.saturating_sub(indent).max(NARROWEST / 2), 0);
    format!("{lead}{}", body.replace("\r\n", &format!("\n{}", " ".repeat(indent))))
}

/// A carriage return comes before each break: a run's terminal may be in raw mode already.
fn wrap(text: &str, columns: usize, indent: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for (at, word) in text.split(' ').enumerate() {
        let width = word.width();
        if used > 0 && used + 1 + width > columns {
            out.push_str("\r\n");
            out.push_str(&" ".repeat(indent));
            used = indent;
        } else if at > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += width;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_breaks_between_words_only() {
        assert_eq!(wrap("belay: one two three", 12, 2), "belay: one\r\n  two three");
        assert_eq!(wrap("a_word_that_is_longer_than_a_line b", 10, 2), "a_word_that_is_longer_than_a_line\r\n  b");
        assert_eq!(wrap("short", 10, 2), "short");
        assert_eq!(wrap("  a note that is indented", 12, 4), "  a note\r\n    that is\r\n    indented");
    }

    #[test]
    fn what_hangs_is_indented_as_far_as_its_lead() {
        assert_eq!(hang("  name  ", "one two three four five", 30), "  name  one two three four\n        five");
    }
}
