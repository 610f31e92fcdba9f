//! Makes a command's output comparable: what differs from run to run becomes a placeholder.
//!
//! Placeholders are numbered in order of appearance and remembered, so that the same id in two outputs of one
//! test stays recognisably the same. A snapshot's placeholder is as long as the id, to keep tables aligned.

use regex::{Captures, Regex};
use std::collections::HashMap;
use std::path::Path;

/// Replaces ids, hashes, times, durations and paths, and remembers what it replaced.
#[derive(Debug)]
pub struct Transcript {
    paths: Vec<(String, String)>,
    hide_sizes: bool,
    squeeze_columns: bool,
    known: HashMap<String, String>,
    snapshots: usize,
    hashes: usize,
}

impl Transcript {
    /// A transcript that has seen nothing yet.
    pub fn new() -> Transcript {
        Transcript {
            paths: Vec::new(),
            hide_sizes: false,
            squeeze_columns: false,
            known: HashMap::new(),
            snapshots: 0,
            hashes: 0,
        }
    }

    /// Shows `path` as `placeholder`, for instance `[WORKSPACE]`; the longest path wins.
    pub fn path(mut self, path: &Path, placeholder: &str) -> Transcript {
        let path = path.to_string_lossy().into_owned();
        self.paths.push((path, placeholder.to_owned()));
        self.paths.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        self
    }

    /// Shows every size as `[SIZE]`.
    pub fn hide_sizes(mut self) -> Transcript {
        self.hide_sizes = true;
        self
    }

    /// Shortens runs of spaces to two, for tables whose columns are as wide as a time or a size.
    pub fn squeeze_columns(mut self) -> Transcript {
        self.squeeze_columns = true;
        self
    }

    /// The text with placeholders.
    pub fn normalise(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (path, placeholder) in &self.paths {
            text = text.replace(path, placeholder);
        }
        text = replace(&text, TIME, |_| "[TIME]".into());
        text = replace(&text, AGE, |_| "[AGE]".into());
        text = replace(&text, DURATION, |_| "[DURATION]".into());
        if self.hide_sizes {
            text = replace(&text, SIZE, |_| "[SIZE]".into());
        }
        text = replace(&text, SNAPSHOT, |id| {
            let number = &mut self.snapshots;
            remember(&mut self.known, id, number, |number| format!("snap_{number:06}"))
        });
        text = replace(&text, HASH, |hash| {
            let number = &mut self.hashes;
            remember(&mut self.known, hash, number, |number| format!("[HASH-{number}]"))
        });
        if self.squeeze_columns {
            text = replace(&text, SPACES, |_| "  ".into());
        }
        text
    }
}

impl Default for Transcript {
    fn default() -> Transcript {
        Transcript::new()
    }
}

const SNAPSHOT: &str = r"\bsnap_[0-9a-z]{6}\b";
// Six-character placeholders of snapshots are too short to be taken for a hash.
const HASH: &str = r"\b[0-9a-f]{12,64}\b";
const TIME: &str = r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?( ?Z\b| ?[+-]\d{2}:?\d{2}\b)?";
const AGE: &str =
    r"\bjust now\b|\b\d+ ?(s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?|weeks?|months?|years?) ago\b";
const DURATION: &str = r"\b\d+(\.\d+)? ?(ns|µs|us|ms|s|min)\b";
const SIZE: &str = r"[+-]?\b\d+(\.\d+)? ?([KMGT]i?B|k?B|bytes?)\b";
const SPACES: &str = r" {3,}";

fn replace(text: &str, pattern: &str, mut with: impl FnMut(&str) -> String) -> String {
    let pattern = Regex::new(pattern).expect("the patterns above are valid");
    let replaced = pattern.replace_all(text, |found: &Captures<'_>| with(&found[0]));
    replaced.into_owned()
}

fn remember(
    known: &mut HashMap<String, String>,
    found: &str,
    number: &mut usize,
    name: impl Fn(usize) -> String,
) -> String {
    let placeholder = known.entry(found.to_owned()).or_insert_with(|| {
        *number += 1;
        name(*number)
    });
    placeholder.clone()
}
