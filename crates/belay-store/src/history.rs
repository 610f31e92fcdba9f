//! Paths through time: where a path is found, and how it is erased from what was stored.

use crate::error::Result;
use crate::hash::Hash;
use crate::objects::{Store, Worker};
use crate::tree::Entry;

/// Every path of a snapshot whose bytes match the pattern.
pub fn find_path(
    _store: &Store,
    _snapshot: &Hash,
    _matches: &dyn Fn(&[u8]) -> bool,
    _each: &mut dyn FnMut(&[u8], &Entry) -> Result<()>,
) -> Result<()> {
    unimplemented!()
}

/// A snapshot without certain paths.
#[derive(Clone, Debug)]
pub struct Forgotten {
    /// The key of the snapshot without them.
    pub key: Hash,
    /// The identity of that snapshot.
    pub identity: Hash,
    /// The content objects that the paths had.
    pub objects: Vec<Hash>,
}

/// Writes a snapshot anew without the paths; `None` if it holds none of them.
pub fn forget(
    _store: &Store,
    _worker: &mut Worker<'_>,
    _snapshot: &Hash,
    _paths: &[Vec<u8>],
) -> Result<Option<Forgotten>> {
    unimplemented!()
}
