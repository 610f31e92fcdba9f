//! Taking a snapshot: what is asked for, what is recorded, and in which order.

use crate::error::Result;
use crate::identity::Arrival;
use crate::record::{Cause, Kind, Origin, Pool, Snapshot};
use crate::retention::Pruned;
use crate::rollback::Recovered;
use crate::workspace::{Work, Workspace};

/// What snapshot to take.
#[derive(Clone, Debug)]
pub struct SnapshotRequest {
    /// Why.
    pub kind: Kind,
    /// For whom.
    pub origin: Origin,
    /// A name for it, unique in the workspace.
    pub label: Option<String>,
    /// A text for it.
    pub description: Option<String>,
    /// Leave nothing out, regenerable directories neither.
    pub all: bool,
    /// Read every byte instead of trusting the stat cache.
    pub full: bool,
    /// What caused it.
    pub cause: Cause,
    /// The pool it goes into; none for a snapshot that is only in the timeline.
    pub pool: Option<Pool>,
}

impl Default for SnapshotRequest {
    fn default() -> Self {
        SnapshotRequest {
            kind: Kind::Manual,
            origin: Origin::Manual,
            label: None,
            description: None,
            all: false,
            full: false,
            cause: Cause::default(),
            pool: None,
        }
    }
}

/// A snapshot that was taken.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// How the workspace was recognised; a copy is noticed only now.
    pub arrival: Arrival,
    /// Files that had to be read.
    pub files_read: u64,
    /// Interrupted rollbacks that were finished or reversed first.
    pub recovered: Vec<Recovered>,
    /// What went to keep the store within its budget.
    pub thinned: Pruned,
    /// Whether the store is over its budget all the same.
    pub over_budget: bool,
}

impl Workspace<'_> {
    /// Takes a snapshot.
    pub fn snapshot(&self, _request: &SnapshotRequest, _work: Work<'_>) -> Result<Taken> {
        unimplemented!()
    }
}
