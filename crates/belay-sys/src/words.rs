//! What the operating system answered, in plain words: without the number that only a programmer looks up.

use std::fmt::Display;
use std::io;

use rustix::io::Errno;

const MARK: &str = " (os error ";

/// What an error says, with each answer of the operating system in it put plainly.
///
/// `Permission denied (os error 13)` becomes `permission denied`. Only what is the kernel's own text is touched, so that the
/// name of a file that looks like one stays as it is.
pub fn plain(told: impl Display) -> String {
    let mut text = told.to_string();
    let mut from = 0;
    while let Some(mark) = text[from..].find(MARK).map(|at| from + at) {
        let digits_at = mark + MARK.len();
        let digits = text[digits_at..].bytes().take_while(u8::is_ascii_digit).count();
        from = digits_at + digits;
        let Ok(number) = text[digits_at..from].parse() else { continue };
        let whole = io::Error::from_raw_os_error(number).to_string();
        let end = from + 1;
        let Some(start) = text.get(..end).filter(|told| told.ends_with(&whole)).map(|told| told.len() - whole.len())
        else {
            continue;
        };
        let words = words(number, &whole[..whole.len() - (end - mark)]);
        from = start + words.len();
        text.replace_range(start..end, &words);
    }
    text
}

/// The words for an answer that the C library calls `known`.
fn words(number: i32, known: &str) -> String {
    let better = match Errno::from_raw_os_error(number) {
        Errno::XDEV => "it is on another filesystem",
        Errno::LOOP => "a symbolic link is in the way",
        Errno::TXTBSY => "it is a program that is running",
        Errno::NOSPC => "the disk is full",
        Errno::ROFS => "the filesystem is read-only",
        Errno::NOTTY => "this kind of file does not know the request",
        _ => return lower(known),
    };
    better.to_owned()
}

/// With a small letter at the beginning, unless that is an abbreviation.
fn lower(known: &str) -> String {
    let mut letters = known.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(letters).collect(),
        _ => known.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_goes_and_the_words_stay() {
        assert_eq!(plain(io::Error::from_raw_os_error(13)), "permission denied");
        assert_eq!(plain(io::Error::from_raw_os_error(28)), "the disk is full");
        assert_eq!(plain(Errno::NOENT), "no such file or directory");
        assert_eq!(plain(io::Error::other("as it is")), "as it is");
    }

    #[test]
    fn every_answer_in_a_longer_text_is_put_plainly() {
        let (one, two) = (io::Error::from_raw_os_error(2), io::Error::from_raw_os_error(18));
        assert_eq!(
            plain(format!("first: {one}; then: {two}.")),
            "first: no such file or directory; then: it is on another filesystem."
        );
    }

    #[test]
    fn a_name_that_looks_like_an_answer_is_left_alone() {
        for name in
            ["notes (os error 2)", "x (os error )", "x (os error 99999999999)", "é (os error 2", " (os error 2)"]
        {
            assert_eq!(plain(name), name);
        }
        assert_eq!(plain("No such file or directory (os error 13)"), "No such file or directory (os error 13)");
    }

    #[test]
    fn no_answer_that_the_kernel_has_keeps_its_number() {
        for number in 1..134 {
            let words = plain(io::Error::from_raw_os_error(number));
            assert!(!words.contains("os error") && !words.is_empty(), "{number}: {words}");
        }
    }
}
