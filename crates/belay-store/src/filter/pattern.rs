//! Patterns in gitignore syntax: those of ignore files, which may be anything, and those of a filter, which must be valid.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::error::{Error, Result};

/// Larger ignore files are not believed: no person wrote them, and matching them would cost more than it saves.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Nor are those with more lines that hold a wildcard: each takes about half a microsecond of every match.
const WILDCARD_LINES_MAX: usize = 4096;

/// The patterns of one ignore file.
pub(super) struct Patterns {
    /// Later parts prevail. There is more than one only if all in one exceed what the matcher can hold.
    parts: Vec<Gitignore>,
}

impl Patterns {
    /// Reads an ignore file; what cannot be understood is left away.
    pub(super) fn lenient(text: &[u8]) -> Patterns {
        let mut parts = Vec::new();
        if text.len() <= TEXT_BYTES_MAX {
            let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
            let lines: Vec<String> = text.split(|byte| *byte == b'\n').filter_map(readable).collect();
            if lines.iter().filter(|line| line.contains(['*', '?', '['])).count() <= WILDCARD_LINES_MAX {
                compile(&lines, &mut parts);
            }
        }
        Patterns { parts }
    }

    /// Takes the patterns of a filter, of which each must be valid.
    pub(super) fn strict(lines: &[String]) -> Result<Patterns> {
        let mut builder = GitignoreBuilder::new("");
        for line in lines {
            builder.add_line(None, &without_braces(line)).map_err(|error| invalid(line, error))?;
        }
        let all = builder.build().map_err(|error| invalid(&lines.join(" "), error))?;
        Ok(Patterns { parts: vec![all] })
    }

    /// Whether the last pattern that matches `path` ignores it or takes it back; `None` if none does.
    pub(super) fn ignores(&self, path: &[u8], is_dir: bool) -> Option<bool> {
        let path = Path::new(OsStr::from_bytes(path));
        self.parts.iter().rev().find_map(|part| match part.matched(path, is_dir) {
            Match::None => None,
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
        })
    }
}

fn invalid(pattern: &str, error: impl std::fmt::Display) -> Error {
    Error::Pattern { pattern: pattern.to_string(), detail: error.to_string() }
}

/// A line as text. The matcher knows only UTF-8, so of other lines the reading that captures more is chosen:
/// one that ignores is dropped, one that takes back matches any byte where it had an unreadable one.
fn readable(line: &[u8]) -> Option<String> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match std::str::from_utf8(line) {
        Ok(text) => Some(text.to_string()),
        Err(_) if line.starts_with(b"!") => Some(
            line.utf8_chunks().map(|chunk| chunk.valid().to_string() + &"?".repeat(chunk.invalid().len())).collect(),
        ),
        Err(_) => None,
    }
}

/// Escapes braces, which are alternatives to the matcher and nothing special to git.
fn without_braces(line: &str) -> Cow<'_, str> {
    if !line.contains(['{', '}']) {
        return Cow::Borrowed(line);
    }
    let mut text = String::with_capacity(line.len() + 2);
    let (mut escaped, mut class) = (false, None);
    for (at, c) in line.char_indices() {
        if !escaped && class.is_none() && matches!(c, '{' | '}') {
            text.push('\\');
        }
        class = match (class, c) {
            (None, '[') if !escaped => Some(at),
            // The first bracket of a class, after a negation too, is a member of it.
            (Some(begin), ']') if !matches!(&line[begin + 1..at], "" | "!" | "^") => None,
            (class, _) => class,
        };
        escaped = c == '\\' && !escaped;
        text.push(c);
    }
    Cow::Owned(text)
}

fn compile(lines: &[String], parts: &mut Vec<Gitignore>) {
    let mut builder = GitignoreBuilder::new("");
    for line in lines {
        // Git does not mind a pattern that it cannot understand, either.
        let _ = builder.add_line(None, &without_braces(line));
    }
    match builder.build() {
        Ok(part) => parts.push(part),
        Err(_) if lines.len() > 1 => {
            let (first, second) = lines.split_at(lines.len() / 2);
            compile(first, parts);
            compile(second, parts);
        }
        Err(_) => {}
    }
}

/// Tells which directories may hold something that a pattern in gitignore syntax matches.
pub(super) enum Way {
    /// All of them.
    Anywhere,
    /// Those that match the beginning of this list; what follows may be at any depth if `open`.
    Along { components: Vec<GlobMatcher>, open: bool },
}

impl Way {
    pub(super) fn new(pattern: &str) -> Result<Way> {
        let body = pattern.strip_suffix('/').unwrap_or(pattern);
        if !body.contains('/') {
            return Ok(Way::Anywhere);
        }
        let body = body.strip_prefix('/').unwrap_or(body);
        let names: Vec<&str> = body.split('/').collect();
        let (above, _) = names.split_at(names.len() - 1);
        let closed = names.iter().position(|name| *name == "**");
        let components = above[..closed.unwrap_or(above.len()).min(above.len())]
            .iter()
            .map(|name| match GlobBuilder::new(&without_braces(name)).backslash_escape(true).build() {
                Ok(glob) => Ok(glob.compile_matcher()),
                Err(error) => Err(invalid(pattern, error)),
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Way::Along { components, open: closed.is_some() })
    }

    /// Whether something beneath the directory may match.
    pub(super) fn passes(&self, dir: &[u8]) -> bool {
        let Way::Along { components, open } = self else { return true };
        let mut globs = components.iter();
        for name in dir.split(|byte| *byte == b'/') {
            match globs.next() {
                Some(glob) if glob.is_match(OsStr::from_bytes(name)) => {}
                Some(_) => return false,
                None => return *open,
            }
        }
        true
    }
}
