//! Erasing a path from all history, with proof.

use belay_store::Hash;

use crate::error::Result;
use crate::record::Snapshot;
use crate::workspace::{Work, Workspace};

/// What forgetting would touch.
#[derive(Clone, Debug, Default)]
pub struct Forget {
    /// The paths beneath the workspace.
    pub paths: Vec<Vec<u8>>,
    /// The snapshots that hold one of them.
    pub snapshots: Vec<Snapshot>,
}

/// What forgetting did.
#[derive(Clone, Debug, Default)]
pub struct ForgetReport {
    /// The snapshots that were rewritten, as they are now.
    pub rewritten: Vec<Snapshot>,
    /// Objects that the paths had and that are gone from the store; looking for each found nothing.
    pub gone: Vec<Hash>,
    /// Objects that the paths had and that something else still needs (another path, another workspace).
    pub shared: Vec<Hash>,
    /// Bytes freed.
    pub freed_bytes: u64,
}

impl Workspace<'_> {
    /// Which snapshots hold the paths.
    pub fn plan_forget(&self, _paths: &[Vec<u8>]) -> Result<Forget> {
        unimplemented!()
    }

    /// Rewrites those snapshots without the paths, and frees what only they needed.
    pub fn forget(&self, _plan: &Forget, _work: Work<'_>) -> Result<ForgetReport> {
        unimplemented!()
    }
}
