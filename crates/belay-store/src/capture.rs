//! Turns a workspace into objects: a parallel walk that reads only what the stat cache cannot vouch for.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use belay_sys::{Root, Time};

use crate::disk::Lock;
use crate::error::Result;
use crate::filter::Filter;
use crate::hash::Hash;
use crate::manifest::Manifest;
use crate::objects::Store;
use crate::tree::{Node, View};

/// Tells the time; the store has no clock of its own.
pub type Clock<'a> = &'a (dyn Fn() -> Time + Sync);

/// Which paths a capture looks at.
pub enum Source<'a> {
    /// All, trusting the stat cache where its proof holds.
    Walk,
    /// All, reading every byte.
    Full,
    /// Only these paths (and everything beneath those that are directories); the rest is as in `base`.
    Dirty {
        /// The snapshot that was true before the paths changed.
        base: &'a Manifest,
        /// Every path that may have changed since.
        paths: &'a [Vec<u8>],
    },
}

/// Limits on what one capture may add.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Entries in the tree.
    pub entries_max: u64,
    /// Bytes of content that the store did not have.
    pub new_bytes_max: u64,
    /// Seconds that a directory or file may take to answer before it counts as hung.
    pub answer_seconds_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { entries_max: 300_000, new_bytes_max: 2 << 30, answer_seconds_max: 10 }
    }
}

/// Told about the work as it goes on; called from several threads.
pub trait Progress: Sync {
    /// So many entries and bytes were dealt with since the last call.
    fn advance(&self, entries: u64, bytes: u64);
    /// The work will cover about so many entries and bytes.
    fn expect(&self, entries: u64, bytes: u64);
}

/// A progress that nobody watches.
pub struct Quiet;

impl Progress for Quiet {
    fn advance(&self, _entries: u64, _bytes: u64) {}
    fn expect(&self, _entries: u64, _bytes: u64) {}
}

/// How to capture.
pub struct CaptureOptions<'a> {
    /// The workspace.
    pub root: &'a Root,
    /// What to leave out.
    pub filter: &'a Filter,
    /// The name of the workspace's stat cache on the store's disk, without an ending.
    pub cache: &'a str,
    /// Whether the snapshot that the cache describes is still there, so that its objects are.
    pub is_live: &'a dyn Fn(&Hash) -> bool,
    /// A snapshot whose paths are captured whatever the filter says, because they are about to be changed.
    pub keep: Option<&'a Manifest>,
    /// Which paths to look at.
    pub source: Source<'a>,
    /// What the capture may cost.
    pub limits: Limits,
    /// Whether to cross into filesystems that are mounted inside.
    pub cross_mounts: bool,
    /// Names that begin so are belay's own temporary files of a restore that is under way.
    pub own_prefixes: &'a [Vec<u8>],
    /// The time.
    pub clock: Clock<'a>,
    /// Who is told.
    pub progress: &'a dyn Progress,
    /// Set to stop.
    pub stop: &'a AtomicBool,
}

/// A capture that is durable and not yet named by any timeline; gc leaves it alone while this lives.
pub struct Captured {
    /// The key under which the manifest is stored.
    pub key: Hash,
    /// The snapshot.
    pub manifest: Manifest,
    /// Bytes that the store grew by.
    pub stored_bytes: u64,
    /// Files that had to be read.
    pub files_read: u64,
    _guard: Option<Lock>,
}

impl Captured {
    /// Writes the stat cache that makes the next capture cheap; call it once the snapshot is published.
    pub fn save_cache(&self) -> Result<()> {
        unimplemented!()
    }
}

/// What a capture would find, with nothing written.
pub struct Preview {
    /// The present state.
    pub manifest: Manifest,
    /// The nodes that the store does not have.
    pub nodes: HashMap<Hash, Arc<Node>>,
}

impl Preview {
    /// The preview's nodes in front of the store's.
    pub fn view<'a>(&'a self, store: &'a Store) -> View<'a> {
        View::with_unwritten(store, &self.nodes)
    }
}

/// Captures the workspace.
pub fn capture(_store: &Store, _options: &CaptureOptions<'_>) -> Result<Captured> {
    unimplemented!()
}

/// Looks at the workspace as [`capture`] would, and writes nothing.
pub fn preview(_store: &Store, _options: &CaptureOptions<'_>) -> Result<Preview> {
    unimplemented!()
}
