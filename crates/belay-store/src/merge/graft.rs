//! Writes the tree that a merge amounts to.

use std::collections::HashMap;

use super::{Edit, split};
use crate::error::Result;
use crate::hash::Hash;
use crate::history::Editor;
use crate::manifest::{Counts, Links, Manifest};
use crate::objects::{ObjectKind, Store, Worker};
use crate::tree::{Kind, View};

/// Stores `ours` as it is after the edits, with the filter and the coverage that it has; hard links that `theirs` had
/// between files that are as they were then are there again.
pub fn graft(
    store: &Store,
    worker: &mut Worker<'_>,
    ours: &Manifest,
    theirs: &Manifest,
    edits: &[Edit],
) -> Result<(Hash, Manifest)> {
    let mut editor = Editor::new(store);
    let mut parents_first: Vec<&Edit> = edits.iter().collect();
    parents_first.sort_by_key(|edit| (edit.path.iter().filter(|byte| **byte == b'/').count(), edit.after.is_none()));
    for edit in parents_first {
        if let Some(bytes) = edit.bytes.as_ref().filter(|bytes| !bytes.is_empty()) {
            worker.put(ObjectKind::Content, bytes)?;
        }
        editor.set(&ours.root, &edit.path, edit.after.as_ref())?;
    }
    let root = match edits.is_empty() {
        true => ours.root.clone(),
        false => editor.write(worker, &ours.root)?,
    };
    let links = links(store, worker, ours, theirs, edits)?;
    let identity = Manifest::identity_of(store.algorithm(), &root, links.as_ref());
    let counts = match root.kind {
        Kind::Dir { files, bytes, .. } => Counts { files, bytes, ..ours.counts },
        _ => unreachable!("an edited root is still a directory"),
    };
    let manifest = Manifest { root, identity, links, counts, ..ours.clone() };
    let (key, _) = worker.put(ObjectKind::Tree, &manifest.encode())?;
    Ok((key, manifest))
}

/// The groups of `ours` without the paths that were edited otherwise than all of their group, and those of `theirs` that are whole again.
fn links(
    store: &Store,
    worker: &mut Worker<'_>,
    ours: &Manifest,
    theirs: &Manifest,
    edits: &[Edit],
) -> Result<Option<Hash>> {
    let edited: HashMap<&[u8], &Edit> = edits.iter().map(|edit| (edit.path.as_slice(), edit)).collect();
    let edit_of = |path: &[u8]| with_parents(path).find_map(|one| edited.get(one));
    let mut groups = ours.links(store)?.groups;
    for group in groups.iter_mut().filter(|group| !become_the_same(group, &edited)) {
        group.retain(|path| edit_of(path).is_none());
    }
    let view = View::stored(store);
    for group in theirs.links(store)?.groups {
        let mut is_whole = group.iter().any(|path| edit_of(path).is_some());
        for path in &group {
            let then = view.lookup(&theirs.root, path)?;
            let now = match edit_of(path) {
                Some(edit) if edit.path == *path => edit.after.clone(),
                // A directory above it came from `theirs` as a whole, or went.
                Some(edit) => then.clone().filter(|_| edit.after.is_some()),
                None => view.lookup(&ours.root, path)?,
            };
            is_whole = is_whole && then.zip(now).is_some_and(|(then, now)| then.same_identity(&now));
        }
        if is_whole {
            groups.iter_mut().for_each(|other| other.retain(|path| !group.contains(path)));
            groups.push(group);
        }
    }
    let links = Links::normalised(groups);
    match links.groups.is_empty() {
        true => Ok(None),
        false => Ok(Some(worker.put(ObjectKind::Tree, &links.encode())?.0)),
    }
}

/// Whether all of the paths are edited, and alike.
fn become_the_same(group: &[Vec<u8>], edited: &HashMap<&[u8], &Edit>) -> bool {
    let mut became = group.iter().map(|path| edited.get(path.as_slice()).and_then(|edit| edit.after.as_ref()));
    let Some(Some(first)) = became.next() else { return false };
    became.all(|other| other.is_some_and(|other| other.kind == first.kind && other.meta == first.meta))
}

/// The path and the directories above it, but for the root.
fn with_parents(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(path), |path| Some(split(path).0).filter(|dir| !dir.is_empty()))
}
