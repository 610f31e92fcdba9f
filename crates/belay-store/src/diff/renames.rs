//! Which changes are the two ends of a move, for whoever reads them.

use std::collections::{HashMap, HashSet, VecDeque};

use super::Change;
use crate::hash::Hash;
use crate::tree::{Entry, Kind};

/// A path that went and one that came with the same content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rename {
    /// Which of the changes is the path that went.
    pub from: usize,
    /// Which of the changes is the path that came.
    pub to: usize,
}

/// Pairs removed with added files and directories that have exactly the same content, each at most once.
///
/// Of several candidates the one with the same name is preferred, then the first. What lies beneath a renamed
/// directory is not paired again. Empty files are too much alike to be paired.
pub fn renames(changes: &[Change]) -> Vec<Rename> {
    let mut gone: HashMap<Hash, VecDeque<usize>> = HashMap::new();
    for (at, change) in changes.iter().enumerate() {
        if let (Some(before), None, false) = (&change.before, &change.after, change.opaque)
            && let Some(content) = fingerprint(before)
        {
            gone.entry(content).or_default().push_back(at);
        }
    }
    let mut found = Vec::new();
    let mut moved_dirs: HashSet<&[u8]> = HashSet::new();
    let mut inside: Option<&[u8]> = None;
    for (to, change) in changes.iter().enumerate() {
        let (None, Some(after), false) = (&change.before, &change.after, change.opaque) else { continue };
        if inside.is_some_and(|dir| is_beneath(&change.path, dir)) {
            continue;
        }
        let Some(candidates) = fingerprint(after).and_then(|content| gone.get_mut(&content)) else { continue };
        candidates.retain(|from| !above(&changes[*from].path).any(|dir| moved_dirs.contains(dir)));
        let same_name = candidates.iter().position(|from| name(&changes[*from].path) == name(&change.path));
        let Some(from) = candidates.remove(same_name.unwrap_or(0)) else { continue };
        if matches!(after.kind, Kind::Dir { .. }) {
            moved_dirs.insert(&changes[from].path);
            inside = Some(&change.path);
        }
        found.push(Rename { from, to });
    }
    found
}

/// The directories above a path.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at])
}

fn is_beneath(path: &[u8], dir: &[u8]) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.starts_with(b"/"))
}

fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

fn fingerprint(entry: &Entry) -> Option<Hash> {
    match &entry.kind {
        Kind::File { size: 1.., content } => Some(content.identity()),
        Kind::Dir { identity, files: 1.., .. } => Some(*identity),
        _ => None,
    }
}
