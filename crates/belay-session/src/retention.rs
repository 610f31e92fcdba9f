//! Which snapshots go, and when.

use jiff::SignedDuration;

use crate::error::Result;
use crate::record::Snapshot;
use crate::workspace::Workspace;

/// What to prune by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PruneRule {
    /// Keep so many of the newest.
    Keep(usize),
    /// Delete what is older.
    OlderThan(SignedDuration),
    /// Delete until the store has at most so many bytes.
    Budget(u64),
}

/// What a prune would do.
#[derive(Clone, Debug, Default)]
pub struct PrunePlan {
    /// The snapshots that stay, newest first.
    pub keep: Vec<Snapshot>,
    /// The snapshots that go, oldest first.
    pub delete: Vec<Snapshot>,
    /// Bytes that would be freed.
    pub freed_bytes: u64,
}

/// What a prune did.
#[derive(Clone, Debug, Default)]
pub struct Pruned {
    /// The snapshots that went.
    pub deleted: Vec<Snapshot>,
    /// Bytes really freed.
    pub freed_bytes: u64,
}

impl Workspace<'_> {
    /// What the rule would delete; labelled, safety and pre-run snapshots go last or never.
    pub fn plan_prune(&self, _rule: PruneRule) -> Result<PrunePlan> {
        unimplemented!()
    }

    /// Deletes what the plan says, and frees what nothing needs any more.
    pub fn prune(&self, _plan: &PrunePlan) -> Result<Pruned> {
        unimplemented!()
    }

    /// Deletes snapshots by id, and frees what nothing needs any more.
    pub fn delete(&self, _ids: &[String]) -> Result<Pruned> {
        unimplemented!()
    }
}
