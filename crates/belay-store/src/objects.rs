//! The store: objects by hash, in packs that are written once and never changed.

use std::sync::Arc;

use crate::disk::Disk;
use crate::error::Result;
use crate::hash::{Algorithm, Hash};
use crate::tree::Node;

/// What an object is; only a hint for how it is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// Bytes of a file.
    Content,
    /// A node, a manifest, or another small record.
    Tree,
}

/// A content-addressed store on a disk.
pub struct Store;

/// How much the store holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Files of content.
    pub packs: u64,
    /// Objects in them.
    pub objects: u64,
    /// Bytes on disk.
    pub stored_bytes: u64,
    /// Bytes that the objects have when they are unpacked.
    pub content_bytes: u64,
}

impl Store {
    /// Opens the store beneath `store/` of the disk, creating it with `algorithm` if there is none.
    pub fn open(_disk: Arc<dyn Disk>, _algorithm: Algorithm) -> Result<Store> {
        unimplemented!()
    }

    /// The disk that the store is on.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        unimplemented!()
    }

    /// The hash function of the store.
    pub fn algorithm(&self) -> Algorithm {
        unimplemented!()
    }

    /// Whether the object is there.
    pub fn contains(&self, _key: &Hash) -> Result<bool> {
        unimplemented!()
    }

    /// The object's bytes, checked against its key.
    pub fn read(&self, _key: &Hash) -> Result<Vec<u8>> {
        unimplemented!()
    }

    /// The tree node of that key.
    pub fn node(&self, _key: &Hash) -> Result<Arc<Node>> {
        unimplemented!()
    }

    /// How much the store holds.
    pub fn usage(&self) -> Result<Usage> {
        unimplemented!()
    }

    /// Starts writing; gc removes nothing until the batch, and the lock it leaves, are gone.
    pub fn begin(&self) -> Result<Batch<'_>> {
        unimplemented!()
    }
}

/// Objects on their way into the store.
pub struct Batch<'a>(#[expect(dead_code)] &'a Store);

impl<'a> Batch<'a> {
    /// A writer for one thread, with a pack of its own.
    pub fn worker(&self) -> Worker<'_> {
        unimplemented!()
    }

    /// Makes everything durable and readable; returns the bytes the store grew by and the lock that still holds gc off.
    pub fn finish(self) -> Result<(u64, crate::disk::Lock)> {
        unimplemented!()
    }
}

/// Writes objects into a pack; its objects count once `done` was called.
pub struct Worker<'a>(#[expect(dead_code)] &'a Store);

impl Worker<'_> {
    /// Stores bytes unless they are there already; returns their key and whether they were new.
    pub fn put(&mut self, _kind: ObjectKind, _bytes: &[u8]) -> Result<(Hash, bool)> {
        unimplemented!()
    }

    /// Closes the pack.
    pub fn done(self) -> Result<()> {
        unimplemented!()
    }
}
