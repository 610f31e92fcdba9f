//! A path through the snapshots of its workspace.

use belay_store::Entry;

use crate::error::Result;
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
    /// The versions of a path, oldest first, from the first snapshot that has it.
    pub fn history(&self, _path: &[u8]) -> Result<Vec<Version>> {
        unimplemented!()
    }

    /// The paths in any snapshot that match: a glob over the whole path if it has a slash, else over the name;
    /// a pattern without glob characters matches any name that contains it.
    pub fn find_paths(&self, _pattern: &str) -> Result<Vec<Found>> {
        unimplemented!()
    }
}
