//! What is protected, since when, what is not, and what it costs.

use belay_store::{Change, GapKind};

use crate::error::Result;
use crate::identity::Arrival;
use crate::maintenance::TimelineDamage;
use crate::record::Snapshot;
use crate::rollback::Recovered;
use crate::workspace::{Work, Workspace};

/// The state of a workspace's protection.
#[derive(Clone, Debug)]
pub struct Status {
    /// How the workspace was recognised.
    pub arrival: Arrival,
    /// How many snapshots there are.
    pub snapshots: usize,
    /// The newest.
    pub latest: Option<Snapshot>,
    /// What changed since then.
    pub changes: Vec<Change>,
    /// What a snapshot taken now would lack.
    pub unprotected: Vec<Unprotected>,
    /// The store's size and limit.
    pub budget: Budget,
    /// Interrupted rollbacks that were dealt with just now.
    pub recovered: Vec<Recovered>,
    /// Damage in the timeline.
    pub damage: Vec<TimelineDamage>,
}

/// A path that is not captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unprotected {
    /// The path beneath the workspace.
    pub path: Vec<u8>,
    /// Why.
    pub reason: GapKind,
    /// What the operating system said, or another detail.
    pub detail: String,
    /// How many bytes are in it, as far as could be seen.
    pub bytes: Option<u64>,
    /// Whether counting was given up, so that there are more.
    pub at_least: bool,
}

/// How much the store holds and may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Bytes that the store holds, for all workspaces.
    pub used_bytes: u64,
    /// Bytes that it may hold.
    pub limit_bytes: u64,
    /// Bytes that are free on its disk.
    pub free_bytes: u64,
}

impl Workspace<'_> {
    /// Looks at everything; nothing is written but the end of an interrupted rollback.
    pub fn status(&self, _work: Work<'_>) -> Result<Status> {
        unimplemented!()
    }

    /// The store's size and limit.
    pub fn budget(&self) -> Result<Budget> {
        unimplemented!()
    }
}
