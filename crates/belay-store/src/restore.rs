//! The way back: a plan of what differs, verified, staged beside the live files and then swapped in.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};

use belay_sys::Root;

use crate::capture::Progress;
use crate::diff::{Scope, What};
use crate::error::Result;
use crate::manifest::Manifest;
use crate::objects::Store;
use crate::tree::{Entry, View};

/// What a restore will do, path by path.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The steps, parents before children.
    pub steps: Vec<Step>,
    /// What differs and is left as it is.
    pub left: Vec<Left>,
    /// Bytes that will be written.
    pub bytes: u64,
}

/// One path that a restore changes.
#[derive(Clone, Debug)]
pub struct Step {
    /// The path beneath the workspace.
    pub path: Vec<u8>,
    /// What is there and was captured before the restore.
    pub before: Option<Entry>,
    /// What will be there.
    pub after: Option<Entry>,
    /// In what they differ.
    pub what: What,
    /// The path that this one is a hard link to, if its group says so.
    pub link_to: Option<Vec<u8>>,
}

/// A path that differs and that a restore does not touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The path beneath the workspace.
    pub path: Vec<u8>,
    /// Why it is left.
    pub reason: LeftReason,
}

/// Why a restore leaves a path that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftReason {
    /// The snapshot's filter did not claim it.
    NotClaimed,
    /// The snapshot saw it and could not capture it.
    NotCaptured,
    /// It is in the way and was not captured, so it cannot be removed.
    InTheWay,
    /// It changed after the plan was made.
    ChangedSince,
    /// The user may not do it (devices, owners).
    NotPermitted,
}

/// Which modification time a restored file gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MtimePolicy {
    /// The one it had.
    Exact,
    /// The present, so that build tools see the change.
    #[default]
    Fresh,
}

/// Stops a restore at its n-th change of the workspace, as a crash or a full disk would.
#[derive(Debug, Default)]
pub struct Faults {
    /// How many changes are still let through; zero means all.
    pub after: AtomicU64,
    /// The errno to answer with; zero behaves as if the process had died.
    pub errno: AtomicU64,
}

/// How to apply a plan.
pub struct ApplyOptions<'a> {
    /// The modification times.
    pub mtime: MtimePolicy,
    /// Begins the names of temporary files, unique to this restore and recorded in its intent.
    pub prefix: &'a [u8],
    /// Who is told.
    pub progress: &'a dyn Progress,
    /// Set to stop; honoured only until the first live path is changed.
    pub stop: &'a AtomicBool,
    /// For tests.
    pub faults: Option<&'a Faults>,
}

/// What a restore did.
#[derive(Clone, Debug, Default)]
pub struct Applied {
    /// Paths that were changed.
    pub changed: u64,
    /// What was left after all.
    pub left: Vec<Left>,
}

/// Works out how to get from the present (captured, or previewed) to the target.
pub fn plan(
    _present: View<'_>,
    _now: &Manifest,
    _now_links: &crate::manifest::Links,
    _target: &Manifest,
    _scope: &Scope,
    _as_root: bool,
) -> Result<Plan> {
    unimplemented!()
}

/// Carries out a plan: everything is verified and staged before the first live path is changed.
pub fn apply(_store: &Store, _root: &Root, _plan: &Plan, _options: &ApplyOptions<'_>) -> Result<Applied> {
    unimplemented!()
}

/// Writes a snapshot, or a part of it, into an empty directory.
pub fn extract(
    _store: &Store,
    _manifest: &Manifest,
    _scope: &Scope,
    _to: &Path,
    _options: &ApplyOptions<'_>,
) -> Result<Applied> {
    unimplemented!()
}

/// Removes the temporary files that an interrupted restore left behind, in the directories its plan names.
pub fn tidy_up(_root: &Root, _plan: &Plan, _prefix: &[u8]) -> Result<u64> {
    unimplemented!()
}
