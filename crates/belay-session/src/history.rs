//! A path through the snapshots of its workspace.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use belay_store::{Entry, Hash, Scope};
use globset::{GlobBuilder, GlobMatcher};

use crate::error::{Error, Result};
use crate::record::Snapshot;
use crate::workspace::Workspace;

/// What became of a path from one snapshot to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionState {
    /// It was not there before.
    New,
    /// It differs from before.
    Modified,
    /// It is as before.
    Unchanged,
    /// It was there before and is gone.
    Deleted,
}

/// A path in one snapshot.
#[derive(Clone, Debug)]
pub struct Version {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// What became of the path.
    pub state: VersionState,
    /// What is there, unless it is gone.
    pub entry: Option<Entry>,
}

/// A path that matches, and the snapshots that hold it.
#[derive(Clone, Debug)]
pub struct Found {
    /// The path beneath the workspace.
    pub path: Vec<u8>,
    /// The newest entry of it.
    pub entry: Entry,
    /// The snapshots, oldest first.
    pub snapshots: Vec<Snapshot>,
}

impl Workspace<'_> {
    /// The versions of a path, oldest first, from the first snapshot that has it; once it is gone nothing more is
    /// said until it is back.
    pub fn history(&self, path: &[u8]) -> Result<Vec<Version>> {
        let mut versions: Vec<Version> = Vec::new();
        let mut last: Option<(Hash, Option<Entry>)> = None;
        for snapshot in self.timeline()?.snapshots() {
            let entry = match &last {
                Some((manifest, entry)) if *manifest == snapshot.manifest => entry.clone(),
                _ => self.entry(&self.tree(snapshot)?, path)?.filter(|entry| !entry.is_opaque()),
            };
            let state = match (last.as_ref().and_then(|(_, entry)| entry.as_ref()), &entry) {
                (None, None) => None,
                (None, Some(_)) => Some(VersionState::New),
                (Some(_), None) => Some(VersionState::Deleted),
                (Some(old), Some(new)) if old.same_identity(new) => Some(VersionState::Unchanged),
                (Some(_), Some(_)) => Some(VersionState::Modified),
            };
            versions.extend(state.map(|state| Version { snapshot: snapshot.clone(), state, entry: entry.clone() }));
            last = Some((snapshot.manifest, entry));
        }
        Ok(versions)
    }

    /// The paths in any snapshot that match: a glob over the whole path if it has a slash, else over the name;
    /// a pattern without glob characters matches any name that contains it.
    pub fn find_paths(&self, pattern: &str) -> Result<Vec<Found>> {
        let pattern = Pattern::new(pattern)?;
        let mut present: BTreeMap<Vec<u8>, Entry> = BTreeMap::new();
        let mut found: BTreeMap<Vec<u8>, Found> = BTreeMap::new();
        let mut last: Option<crate::present::Tree> = None;
        for snapshot in self.timeline()?.snapshots() {
            let tree = self.tree(snapshot)?;
            match &last {
                // Only what differs from the snapshot before is looked at.
                Some(last) => {
                    for change in self.changes(last, &tree, &Scope::default())? {
                        match change.after {
                            Some(entry) if pattern.matches(&change.path) => drop(present.insert(change.path, entry)),
                            Some(_) => {}
                            None => drop(present.remove(&change.path)),
                        }
                    }
                }
                None => belay_store::find_path(
                    self.home.store(),
                    &snapshot.manifest,
                    &|path| pattern.matches(path),
                    &mut |path, entry| {
                        present.insert(path.to_vec(), entry.clone());
                        Ok(())
                    },
                )?,
            }
            for (path, entry) in &present {
                let one = found.entry(path.clone()).or_insert_with(|| Found {
                    path: path.clone(),
                    entry: entry.clone(),
                    snapshots: Vec::new(),
                });
                one.entry = entry.clone();
                one.snapshots.push(snapshot.clone());
            }
            last = Some(tree);
        }
        Ok(found.into_values().collect())
    }
}

enum Pattern {
    Part(Vec<u8>),
    Name(GlobMatcher),
    Path(GlobMatcher),
}

impl Pattern {
    fn new(text: &str) -> Result<Pattern> {
        if !text.contains(['*', '?', '[', '{', '/']) {
            return Ok(Pattern::Part(text.as_bytes().to_vec()));
        }
        let glob = GlobBuilder::new(text.trim_start_matches('/')).literal_separator(true).build();
        let bad = |_| Error::Unreadable { text: text.to_owned(), expected: "a pattern such as *.rs or src/**/main.rs" };
        let matcher = glob.map_err(bad)?.compile_matcher();
        Ok(if text.contains('/') { Pattern::Path(matcher) } else { Pattern::Name(matcher) })
    }

    fn matches(&self, path: &[u8]) -> bool {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        match self {
            Pattern::Part(part) => name.windows(part.len().max(1)).any(|window| window == part.as_slice()),
            Pattern::Name(glob) => glob.is_match(OsStr::from_bytes(name)),
            Pattern::Path(glob) => glob.is_match(OsStr::from_bytes(path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_parts_names_or_paths() {
        let matches = |pattern: &str, path: &[u8]| Pattern::new(pattern).unwrap().matches(path);
        assert!(matches("ain", b"src/main.rs"));
        assert!(!matches("src", b"src/main.rs"));
        assert!(!matches("", b"src/main.rs"));
        assert!(matches("*.rs", b"src/main.rs"));
        assert!(!matches("*.rs", b"src/main.rst"));
        assert!(matches("src/*.rs", b"src/main.rs"));
        assert!(!matches("src/*.rs", b"src/deep/main.rs"));
        assert!(matches("src/**/*.rs", b"src/deep/main.rs"));
        assert!(matches("*\u{e9}*", "caf\u{e9}".as_bytes()));
        assert!(matches("a?c", b"a\xffc"));
        assert!(Pattern::new("[").is_err());
    }
}
