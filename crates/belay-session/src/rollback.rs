//! Going back: plan, safety snapshot, intent, apply, record; and finishing what an interruption left half done.

use std::path::Path;

use belay_store::{Applied, Left, MtimePolicy, Plan};
use jiff::Timestamp;

use crate::error::Result;
use crate::record::{RewindKind, Snapshot};
use crate::workspace::{Work, Workspace};

/// Where to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// To a snapshot; without a name to the pre-run snapshot of the latest run, else to the latest snapshot.
    To(Option<String>),
    /// Some files of a snapshot, and nothing else.
    Files(String),
    /// To before the last rollback that was not undone.
    Undo,
    /// To before the last undo that was not redone.
    Redo,
}

/// What to go back to, and how much of it.
#[derive(Clone, Debug)]
pub struct RewindRequest {
    /// Where to go.
    pub goal: Goal,
    /// The paths beneath the workspace that are meant; none mean all (for undo and redo: those of the rollback).
    pub paths: Vec<Vec<u8>>,
    /// The modification times; without it, exact if build outputs were captured too.
    pub mtime: Option<MtimePolicy>,
}

/// What a rollback would do.
pub struct RewindPlan {
    /// Which command it is.
    pub kind: RewindKind,
    /// The snapshot that would be restored.
    pub target: Snapshot,
    /// The paths that are meant; none mean all.
    pub paths: Vec<Vec<u8>>,
    /// The modification times.
    pub mtime: MtimePolicy,
    /// The steps.
    pub plan: Plan,
}

/// How far a rollback is.
#[derive(Clone, Debug)]
pub enum Stage<'a> {
    /// The present is being captured.
    Capturing,
    /// The present is captured.
    Captured(&'a Snapshot),
    /// The files are being swapped.
    Restoring(&'a Snapshot),
    /// The files were swapped.
    Restored,
}

/// What a rollback did.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Which command it was.
    pub kind: RewindKind,
    /// The safety snapshot of what was there before; none if there was nothing to do.
    pub safety: Option<Snapshot>,
    /// The snapshot that was restored.
    pub target: Snapshot,
    /// How many paths were changed.
    pub changed: u64,
    /// What was left, and why.
    pub left: Vec<Left>,
    /// Interrupted rollbacks that were finished or reversed first.
    pub recovered: Vec<Recovered>,
}

/// An interrupted rollback that was dealt with.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// Which command it was.
    pub kind: RewindKind,
    /// When it began.
    pub at: Timestamp,
    /// The snapshot that it was to restore.
    pub target: String,
    /// The safety snapshot of what was there before.
    pub safety: String,
    /// Whether it was taken back instead of finished, because the target is damaged.
    pub reversed: bool,
    /// How many paths were changed now.
    pub changed: u64,
    /// What was left, and why.
    pub left: Vec<Left>,
    /// Why it could be neither finished nor reversed; it is tried again by the next command.
    pub failed: Option<String>,
}

impl Workspace<'_> {
    /// Finishes or reverses rollbacks that were interrupted; every command calls it first.
    pub fn recover(&self, _work: Work<'_>) -> Result<Vec<Recovered>> {
        unimplemented!()
    }

    /// What the rollback would do; nothing is written.
    pub fn plan_rewind(&self, _request: &RewindRequest, _work: Work<'_>) -> Result<RewindPlan> {
        unimplemented!()
    }

    /// Carries the rollback out.
    pub fn rewind(
        &self,
        _request: &RewindRequest,
        _work: Work<'_>,
        _tell: &mut dyn FnMut(Stage<'_>),
    ) -> Result<Outcome> {
        unimplemented!()
    }

    /// Writes a snapshot, or some paths of it, into a directory that is new or empty.
    pub fn extract(&self, _snapshot: &Snapshot, _paths: &[Vec<u8>], _to: &Path, _work: Work<'_>) -> Result<Applied> {
        unimplemented!()
    }
}
