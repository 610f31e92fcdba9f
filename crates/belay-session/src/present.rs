//! Trees to look at: those of snapshots, and the one that is there now.

use belay_store::{Change, Coverage, Entry, Manifest, Preview, Scope, Store, View};

use crate::error::Result;
use crate::record::Snapshot;
use crate::workspace::{Work, Workspace};

/// A tree: a snapshot's, or the present one as a capture would see it.
pub struct Tree {
    /// The tree's root and counts.
    pub manifest: Manifest,
    /// The snapshot, unless this is the present.
    pub snapshot: Option<Snapshot>,
    preview: Option<Preview>,
}

impl Tree {
    /// The tree's nodes.
    pub fn view<'a>(&'a self, store: &'a Store) -> View<'a> {
        match &self.preview {
            Some(preview) => preview.view(store),
            None => View::stored(store),
        }
    }
}

impl Workspace<'_> {
    /// The tree of a snapshot.
    pub fn tree(&self, _snapshot: &Snapshot) -> Result<Tree> {
        unimplemented!()
    }

    /// The tree that is there now; nothing is written.
    pub fn present(&self, _work: Work<'_>) -> Result<Tree> {
        unimplemented!()
    }

    /// What a tree lacks.
    pub fn coverage(&self, _tree: &Tree) -> Result<Coverage> {
        unimplemented!()
    }

    /// Every path in `scope` that differs.
    pub fn changes(&self, _before: &Tree, _after: &Tree, _scope: &Scope) -> Result<Vec<Change>> {
        unimplemented!()
    }

    /// The entry at `path`.
    pub fn entry(&self, _tree: &Tree, _path: &[u8]) -> Result<Option<Entry>> {
        unimplemented!()
    }

    /// The entries directly inside the directory at `path`; for a file, the file.
    pub fn list(&self, _tree: &Tree, _path: &[u8]) -> Result<Vec<Entry>> {
        unimplemented!()
    }

    /// The bytes of a file of the tree, from the store or, for the present, from the workspace.
    pub fn read(&self, _tree: &Tree, _path: &[u8], _entry: &Entry) -> Result<Vec<u8>> {
        unimplemented!()
    }

    /// Hands the bytes of a file of a snapshot to `each`, piece by piece.
    pub fn stream(
        &self,
        _tree: &Tree,
        _entry: &Entry,
        _each: &mut dyn FnMut(&[u8]) -> std::io::Result<()>,
    ) -> Result<()> {
        unimplemented!()
    }
}
