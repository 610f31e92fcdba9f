//! A path through the snapshots of its workspace.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ops::Range;
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
    /// The snapshot left it out, or could not capture it: whether it was there is all that is known, if that.
    Uncaptured,
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

/// The paths that match a pattern, and the snapshots that hold each; there may be as many as files.
pub struct Finds {
    snapshots: Vec<Snapshot>,
    paths: BTreeMap<Vec<u8>, Spans>,
}

/// A path that matches, and the snapshots that hold it.
#[derive(Clone, Copy)]
pub struct Found<'a> {
    /// The path beneath the workspace.
    pub path: &'a [u8],
    snapshots: &'a [Snapshot],
    spans: &'a Spans,
}

/// The snapshots that hold a path, by their place in the timeline: nearly always one run of them.
struct Spans {
    earlier: Vec<Range<u32>>,
    last: Range<u32>,
}

impl Finds {
    /// The paths in the order of their bytes.
    pub fn iter(&self) -> impl Iterator<Item = Found<'_>> {
        self.paths.iter().map(|(path, spans)| Found { path, snapshots: &self.snapshots, spans })
    }

    /// Leaves the paths that the snapshot does not hold, and all other snapshots.
    pub fn keep_only(&mut self, snapshot: &Snapshot) {
        let number = self.snapshots.iter().position(|one| one.id == snapshot.id).map(|at| at as u32);
        self.paths.retain(|_, spans| {
            let holds = number.is_some_and(|at| spans.all().any(|span| span.contains(&at)));
            number.into_iter().for_each(|at| *spans = Spans { earlier: Vec::new(), last: at..at + 1 });
            holds
        });
    }

    /// Notes that snapshots from `at` on hold the path, until it is noted that one does not.
    fn begins(&mut self, path: &[u8], at: u32) {
        match self.paths.get_mut(path) {
            None => drop(self.paths.insert(path.to_vec(), Spans { earlier: Vec::new(), last: at..u32::MAX })),
            Some(spans) if spans.last.end == u32::MAX => {}
            Some(spans) => spans.earlier.push(std::mem::replace(&mut spans.last, at..u32::MAX)),
        }
    }

    fn ends(&mut self, path: &[u8], at: u32) {
        if let Some(spans) = self.paths.get_mut(path).filter(|spans| spans.last.end == u32::MAX) {
            spans.last.end = at;
        }
    }
}

impl Spans {
    fn all(&self) -> impl DoubleEndedIterator<Item = &Range<u32>> {
        self.earlier.iter().chain([&self.last])
    }
}

impl<'a> Found<'a> {
    /// The snapshots, oldest first.
    pub fn snapshots(self) -> impl DoubleEndedIterator<Item = &'a Snapshot> {
        let Found { snapshots, spans, .. } = self;
        spans.all().flat_map(move |span| &snapshots[span.start as usize..span.end.min(snapshots.len() as u32) as usize])
    }
}

impl Workspace<'_> {
    /// The versions of a path, oldest first, from the first snapshot that has it; once it is gone nothing more is
    /// said until it is back. What is not captured is compared with nothing.
    pub fn history(&self, path: &[u8]) -> Result<Vec<Version>> {
        let mut versions: Vec<Version> = Vec::new();
        let mut seen: Option<(Hash, bool, Option<Entry>)> = None;
        let mut last: Option<Entry> = None;
        for snapshot in self.timeline()?.snapshots() {
            let (uncaptured, entry) = match &seen {
                Some((manifest, uncaptured, entry)) if *manifest == snapshot.manifest => (*uncaptured, entry.clone()),
                _ => {
                    let tree = self.tree(snapshot)?;
                    (self.is_left_out(&tree, path)?, self.entry(&tree, path)?.filter(|entry| !entry.is_opaque()))
                }
            };
            seen = Some((snapshot.manifest, uncaptured, entry.clone()));
            let state = match (&last, &entry) {
                _ if uncaptured => Some(VersionState::Uncaptured),
                (None, None) => None,
                (None, Some(_)) => Some(VersionState::New),
                (Some(_), None) => Some(VersionState::Deleted),
                (Some(old), Some(new)) if old.same_identity(new) => Some(VersionState::Unchanged),
                (Some(_), Some(_)) => Some(VersionState::Modified),
            };
            versions.extend(state.map(|state| Version { snapshot: snapshot.clone(), state, entry: entry.clone() }));
            if !uncaptured {
                last = entry;
            }
        }
        // Of what no snapshot holds there is nothing to tell; it may have been forgotten on purpose.
        if versions.iter().all(|version| version.state == VersionState::Uncaptured) {
            versions.clear();
        }
        Ok(versions)
    }

    /// Whether a tree says of a path, or of a directory above it, only that it was seen.
    pub fn is_left_out(&self, tree: &crate::present::Tree, path: &[u8]) -> Result<bool> {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        for end in ends.chain([path.len()]) {
            match self.entry(tree, &path[..end])? {
                Some(entry) if entry.is_opaque() => return Ok(true),
                Some(_) => {}
                None => return Ok(false),
            }
        }
        Ok(false)
    }

    /// The paths in any snapshot that match: a glob over the whole path if it has a slash, else over the name;
    /// a pattern without glob characters matches any name that contains it.
    pub fn find_paths(&self, pattern: &str) -> Result<Finds> {
        let pattern = Pattern::new(pattern)?;
        let mut finds = Finds { snapshots: self.timeline()?.snapshots().to_vec(), paths: BTreeMap::new() };
        let mut last: Option<crate::present::Tree> = None;
        for at in 0..finds.snapshots.len() {
            let (snapshot, number) = (&finds.snapshots[at], at as u32);
            let tree = self.tree(snapshot)?;
            match &last {
                // Only what differs from the snapshot before is looked at.
                Some(last) => self.each_change(last, &tree, &Scope::default(), &mut |change| match change.after {
                    Some(_) if pattern.matches(&change.path) => finds.begins(&change.path, number),
                    Some(_) => {}
                    None => finds.ends(&change.path, number),
                })?,
                None => {
                    let manifest = snapshot.manifest;
                    belay_store::find_path(
                        self.home.store(),
                        &manifest,
                        &|path| pattern.matches(path),
                        &mut |path, _| {
                            finds.begins(path, number);
                            Ok(())
                        },
                    )?;
                }
            }
            last = Some(tree);
        }
        Ok(finds)
    }

    /// The entry of a path that was found, in the newest of its snapshots.
    pub fn newest(&self, found: Found<'_>) -> Result<Option<Entry>> {
        match found.snapshots().next_back() {
            Some(snapshot) => self.entry(&self.tree(snapshot)?, found.path),
            None => Ok(None),
        }
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
