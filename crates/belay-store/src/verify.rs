//! Finds damage: every byte of the store, and every object that a snapshot needs.

use belay_sys::Root;

use crate::capture::Progress;
use crate::error::Result;
use crate::hash::Hash;
use crate::objects::Store;

/// What to check.
pub struct VerifyOptions<'a> {
    /// Read and hash every object, instead of only checking that each is listed.
    pub deep: bool,
    /// Who is told.
    pub progress: &'a dyn Progress,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file of the store that is damaged.
    pub file: String,
    /// What is wrong with it.
    pub detail: String,
    /// Snapshots (by manifest key) and the paths in them that need what is damaged.
    pub affects: Vec<(Hash, Vec<u8>)>,
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct VerifyReport {
    /// The damage.
    pub damage: Vec<Damage>,
    /// Objects that were checked.
    pub objects: u64,
    /// Bytes that were read.
    pub bytes: u64,
}

/// Checks the store and the snapshots.
pub fn verify(_store: &Store, _snapshots: &[Hash], _options: &VerifyOptions<'_>) -> Result<VerifyReport> {
    unimplemented!()
}

/// What a repair did.
#[derive(Clone, Debug, Default)]
pub struct Repair {
    /// Objects that were found again in a workspace, with the same hash, and stored anew.
    pub healed: u64,
    /// Objects that are lost.
    pub lost: Vec<Hash>,
}

/// Stores damaged objects anew from workspaces that still hold the same bytes, and sets damaged packs aside.
pub fn repair(_store: &Store, _report: &VerifyReport, _workspaces: &[(Root, Hash)]) -> Result<Repair> {
    unimplemented!()
}
