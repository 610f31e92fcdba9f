//! What taking back a step never does, whatever the record says of moves: it takes away nothing that was there before the
//! step and is as it was, and it changes a repository as a whole or not at all.

use std::collections::BTreeSet;

use belay_event::Raw;
use belay_store::{Clash, Conflict, Edit, Entry, Kind, Merged, Moving, repository};

use super::touched::Deed;
use crate::error::Result;
use crate::present::Tree;
use crate::workspace::Workspace;

impl Workspace<'_> {
    /// Whether the merge would remove something that the tree before the step has as it is now, or put something of
    /// another type there.
    pub(super) fn takes_away(&self, merged: &Merged, before: &Tree, now: &Tree) -> Result<bool> {
        for edit in &merged.edits {
            if self.is_taken_away(edit, before, now)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Has stay what the tree has as it is now, and says what that is.
    pub(super) fn keep_untouched(&self, merged: &mut Merged, before: &Tree, now: &Tree) -> Result<Vec<Vec<u8>>> {
        let (mut edits, mut kept) = (Vec::new(), Vec::new());
        for edit in std::mem::take(&mut merged.edits) {
            match self.is_taken_away(&edit, before, now)? {
                true if edit.before.as_ref().is_some_and(|entry| matches!(entry.kind, Kind::Dir { .. })) => {}
                true => kept.push(edit.path),
                false => edits.push(edit),
            }
        }
        merged.edits = edits;
        let conflict = |path: &Vec<u8>| Conflict { path: path.clone(), clash: Clash::Doubtful, beside: None };
        merged.conflicts.extend(kept.iter().map(conflict));
        Ok(kept)
    }

    fn is_taken_away(&self, edit: &Edit, before: &Tree, now: &Tree) -> Result<bool> {
        let (was, is) = (self.entry(before, &edit.path)?, self.entry(now, &edit.path)?);
        let Some((was, is)) = was.zip(is) else { return Ok(false) };
        let stays = edit.after.as_ref().is_some_and(|after| after.kind.file_type() == is.kind.file_type());
        Ok(!stays && is_as_it_was(&was, &is))
    }

    /// The tree without git's locks that are gone by now: they are no part of a repository, and it is not usable with them.
    pub(super) fn without_locks(&self, tree: &Tree, now: &Tree, deeds: &[Deed]) -> Result<Option<Tree>> {
        let paths = deeds.iter().flat_map(|deed| [Some(&deed.change.path), deed.change.to.as_ref()]).flatten();
        let mut open: BTreeSet<Vec<u8>> =
            paths.map(Raw::bytes).filter_map(repository).map(<[u8]>::to_vec).chain([b".git".to_vec()]).collect();
        let store = self.home.store();
        let mut gone = Vec::new();
        while let Some(dir) = open.pop_first() {
            let Some(Entry { kind: Kind::Dir { node, .. }, .. }) = self.entry(tree, &dir)? else { continue };
            for entry in &tree.view(store).node(&node)?.entries {
                let path = [&dir[..], b"/", &entry.name].concat();
                match entry.kind {
                    // They are many, and git does not lock them.
                    Kind::Dir { .. } if entry.name == b"objects" => {}
                    Kind::Dir { .. } => drop(open.insert(path)),
                    _ if is_lock(&path) && self.entry(now, &path)?.is_none() => gone.push(path),
                    _ => {}
                }
            }
        }
        if gone.is_empty() {
            return Ok(None);
        }
        let mut moving = Moving::new(tree.view(store), &tree.manifest().root);
        for path in gone {
            moving.remove(&path)?;
        }
        Ok(Some(tree.moved(moving.finish(tree.manifest(), &|_| Ok(None))?, Default::default())))
    }

    /// Has nothing change in a repository that stays, and nothing be said of what git only needs for a moment.
    pub(super) fn keep_repositories_whole(&self, merged: &mut Merged, now: &Tree) -> Result<()> {
        merged.conflicts.retain(|conflict| !is_passing(&conflict.path));
        let mut staying = Vec::new();
        for conflict in merged.conflicts.iter().filter(|conflict| conflict.clash == Clash::Repository) {
            if self.entry(now, &conflict.path)?.is_some() {
                staying.push(conflict.path.clone());
            }
        }
        let stays = |path: &[u8]| repository(path).is_some_and(|one| staying.iter().any(|staying| staying == one));
        merged.edits.retain(|edit| !stays(&edit.path));
        merged.conflicts.retain(|conflict| conflict.clash == Clash::Repository || !stays(&conflict.path));
        Ok(())
    }
}

fn is_as_it_was(was: &Entry, is: &Entry) -> bool {
    match (&was.kind, &is.kind) {
        (Kind::Dir { .. }, Kind::Dir { .. }) => true,
        _ => was.same_identity(is) || was.kind == is.kind,
    }
}

/// Whether the path lies in a repository.
pub(super) fn is_in_repository(path: &[u8]) -> bool {
    repository(path).is_some_and(|repository| repository.len() < path.len())
}

fn is_lock(path: &[u8]) -> bool {
    is_in_repository(path) && path.ends_with(b".lock")
}

/// Whether git has the file only while it works.
fn is_passing(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    is_lock(path) || (is_in_repository(path) && name.starts_with(b"tmp_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_all_that_lies_in_it() {
        assert_eq!(repository(b"a/.git/refs/x"), Some(&b"a/.git"[..]));
        assert_eq!(repository(b".git"), Some(&b".git"[..]));
        assert_eq!(repository(b"a/.github/x"), None);
        assert!(is_in_repository(b".git/index") && !is_in_repository(b"a/.git"));
        assert!(is_passing(b".git/index.lock") && is_passing(b".git/objects/ab/tmp_obj_x"));
        assert!(!is_passing(b"Cargo.lock") && !is_passing(b".git/index"));
    }
}
