//! Mark and sweep by pack, with a bounded rewrite, beside any number of readers and writers.

use crate::error::Result;
use crate::hash::Hash;
use crate::objects::Store;

/// How to collect.
#[derive(Clone, Copy, Debug)]
pub struct GcOptions {
    /// Only say what would be freed.
    pub dry_run: bool,
    /// Rewrite a pack when at least this part of it, in percent, is unreachable.
    pub waste_percent_min: u8,
}

/// What a collection did.
#[derive(Clone, Copy, Debug, Default)]
pub struct GcReport {
    /// Bytes given back.
    pub freed_bytes: u64,
    /// Objects that nothing refers to any more.
    pub dead_objects: u64,
    /// Packs removed or rewritten.
    pub packs: u64,
}

/// Collects what none of the snapshots named by `roots` needs; `roots` is asked again under the lock.
pub fn gc(_store: &Store, _roots: &mut dyn FnMut() -> Result<Vec<Hash>>, _options: &GcOptions) -> Result<GcReport> {
    unimplemented!()
}
