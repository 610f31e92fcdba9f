//! Writes the tree that a merge amounts to.

use std::collections::HashMap;

use super::{Edit, split};
use crate::error::Result;
use crate::hash::Hash;
use crate::history::Editor;
use crate::manifest::{Counts, Links, Manifest};
use crate::objects::{ObjectKind, Store, Worker};
use crate::tree::{Kind, View};

/// The new names of what is only moved, by its old ones.
pub type Carried = HashMap<Vec<u8>, Vec<u8>>;

/// Stores `ours` as it is after the edits, with the filter and the coverage that it has; hard links that `theirs` had
/// between files that are as they were then are there again.
pub fn graft(
    store: &Store,
    worker: &mut Worker<'_>,
    ours: &Manifest,
    theirs: &Manifest,
    edits: &[Edit],
    carried: &Carried,
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
    let links = links(store, worker, ours, theirs, edits, carried)?;
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
    carried: &Carried,
) -> Result<Option<Hash>> {
    let edited: HashMap<&[u8], &Edit> = edits.iter().map(|edit| (edit.path.as_slice(), edit)).collect();
    let edit_of = |path: &[u8]| with_parents(path).find_map(|one| edited.get(one));
    let view = View::stored(store);
    let mut groups = Vec::new();
    for names in ours.links(store)?.groups {
        let new_name = |path: &Vec<u8>| carried.get(path).unwrap_or(path).clone();
        let group: Vec<Vec<u8>> = names.iter().map(new_name).collect();
        if become_the_same(&group, &edited) {
            groups.push(group);
            continue;
        }
        let mut kept = Vec::new();
        for (old, new) in names.iter().zip(group) {
            let was = view.lookup(&ours.root, old)?;
            let becomes = edited.get(&new[..]).and_then(|edit| edit.after.as_ref());
            let is_moved = *old != new
                && was.zip(becomes).is_some_and(|(was, becomes)| was.kind == becomes.kind && was.meta == becomes.meta);
            if is_moved || edit_of(&new).is_none() {
                kept.push(new);
            }
        }
        groups.push(kept);
    }
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
