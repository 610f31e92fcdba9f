//! The house rules as checks; each complaint says what to do instead.
//!
//! The checks read text, not types: they are meant for what nobody does by accident twice. They run as a test of
//! this crate, so that a broken rule is a failing test.

mod rooms;
mod rules;
mod source;
#[cfg(test)]
mod tests;

use source::Source;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// One broken rule at one place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    path: String,
    line: usize,
    what: String,
    instead: &'static str,
}

impl std::fmt::Display for Complaint {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}:{}: {}. {}", self.path, self.line, self.what, self.instead)
    }
}

/// Checks the project and prints what is wrong with it.
pub(crate) fn run() -> ExitCode {
    match check(&crate::project()) {
        Ok(complaints) if complaints.is_empty() => ExitCode::SUCCESS,
        Ok(complaints) => {
            complaints.iter().for_each(|complaint| eprintln!("{complaint}"));
            eprintln!("{} rules broken", complaints.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("xtask: tidy: {error}");
            ExitCode::FAILURE
        }
    }
}

/// All complaints about the project in `directory`.
fn check(directory: &Path) -> io::Result<Vec<Complaint>> {
    let mut complaints = Vec::new();
    for path in files(directory)? {
        let Ok(text) = String::from_utf8(std::fs::read(directory.join(&path))?) else {
            continue;
        };
        complaints.extend(check_text(&path, text));
    }
    Ok(complaints)
}

/// All complaints about one file of the project.
fn check_text(path: &str, text: String) -> Vec<Complaint> {
    let mut complaints = rules::text(path, &text);
    match path.rsplit('/').next() {
        Some("Cargo.lock") => complaints.extend(rooms::lock(path, &text)),
        Some("Cargo.toml") => complaints.extend(rooms::manifest(path, &text)),
        _ if path.ends_with(".rs") => complaints.extend(rules::rust(&Source::new(path, text))),
        _ => {}
    }
    complaints
}

/// Relative paths of everything that belongs to the project, in order.
fn files(directory: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(relative) = waiting.pop() {
        for entry in std::fs::read_dir(directory.join(&relative))? {
            let entry = entry?;
            let path = relative.join(entry.file_name());
            let kind = entry.file_type()?;
            let name = entry.file_name();
            if kind.is_dir() {
                if name != ".git" && name != "node_modules" && !name.as_encoded_bytes().starts_with(b"target") {
                    waiting.push(path);
                }
            } else if kind.is_file() && name != ".git" {
                files.extend(path.to_str().map(str::to_owned));
            }
        }
    }
    files.sort();
    Ok(files)
}
