//! Snapshots of a tree: capture, diff, restore, merge, verify and collect, over a content-addressed store.
//!
//! The crate knows nothing of agents, runs, configuration files or the time of day: whoever calls it
//! passes those in. Its disk format is `docs/format.md`. Three rules hold for everything in here:
//!
//! - an object is named by the hash of its bytes and is checked against that name whenever it is read;
//! - what a workspace holds is reached only beneath an open directory handle, and is never executed;
//! - nothing is published before it is durable.
//!
//! # The way through
//!
//! A [`Store`] lies on a [`Disk`]. [`capture`] makes a [`Captured`] of what lies beneath a [`Root`], as its [`Filter`] says;
//! [`Assembly`] makes one of anything else. A snapshot is a [`Manifest`], known by its key, and whoever keeps it keeps that
//! key (nothing in here lists snapshots). [`diff`] compares two, [`plan`] says what going from one to the other takes and
//! [`apply`] does it, [`extract`] writes one elsewhere, [`merge`] takes a step back and keeps what came later. [`verify`] finds
//! damage, [`gc`] removes what no given key needs.
//!
//! What is public here is meant to last: names and meanings stay, options and variants may come. The examples
//! `there_and_back`, `what_changed` and `from_memory` each run as they are (`cargo run -p belay-store --example there_and_back`).
//!
//! ```
//! use std::sync::Arc;
//! use belay_store::{Algorithm, ObjectKind, RealDisk, Store};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let place = tempfile::tempdir()?;
//! let store = Store::open(Arc::new(RealDisk::open(place.path())?), Algorithm::Sha256)?;
//! let batch = store.begin()?;
//! let mut worker = batch.worker();
//! let (key, is_new) = worker.put(ObjectKind::Content, b"hello\n")?;
//! worker.done()?;
//! batch.finish()?;
//! assert!(is_new);
//! assert_eq!(store.read(&key)?, b"hello\n");
//! assert_eq!(key.to_hex(), "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
//! # Ok(())
//! # }
//! ```

mod assemble;
mod capture;
mod codec;
mod diff;
mod disk;
mod error;
mod filter;
#[cfg(test)]
#[path = "fuzz/tests.rs"]
mod fuzz;
mod gc;
mod hash;
mod history;
mod holders;
mod manifest;
mod mend;
mod merge;
mod moved;
mod native;
mod objects;
mod pack;
mod planted;
mod restore;
mod statcache;
mod tree;
mod veil;
mod verify;
mod weigh;

pub use assemble::{Assembled, Assembly};
pub use capture::{
    CaptureOptions, Captured, Clock, Limits, Preview, Progress, Quiet, Source, capture, capture_copy, preview,
};
pub use diff::{Change, Changes, Rename, Scope, Sides, Spared, What, diff, kept_lines, lines, relinked, renames};
pub use disk::{Disk, DiskFile, DiskWrite, Lock, LockMode, RealDisk};
pub use error::{Error, Result};
pub use filter::{AssumeAll, Evidence, Filter, Ignored, Judge, KEPT_BESIDE, Regenerable, Rules, Verdict};
pub use gc::{GcOptions, GcReport, gc};
pub use hash::{Algorithm, Hash, Hasher};
pub use history::{Forgotten, find_path, forget, with_modes};
pub use holders::{content, holders};
pub use manifest::{Counts, Coverage, Gap, GapKind, Links, Manifest};
pub use mend::mend_format;
pub use merge::{
    Carried, Clash, Conflict, Edit, Inverse, Merged, Ousted, ReadOurs, Share, Side, Trees, graft, merge, merge_lines,
    repository,
};
pub use moved::{Model, Moved, Moving};
pub use native::{Cloned, Completed, Copier, CopyPlace, Frame, Located, Making, NativeCopy, Slot, Whole, remove_copy};
pub use objects::{Batch, ObjectKind, Packing, Store, Usage, Worker};
pub use restore::{
    Applied, ApplyOptions, Faults, Left, LeftReason, MtimePolicy, OnDamage, OnStop, Plan, Step, Steps, apply, extract,
    is_between, is_privileged, plan, tidy_up,
};
pub use tree::{Content, Entry, Kind, Meta, Node, Opaque, Segment, View};
pub use veil::{Veiled, veil};
pub use verify::{Damage, Repair, Stray, VerifyOptions, VerifyReport, Witness, repair, strays, verify};
pub use weigh::{HeavyPath, Weight, heaviest, weigh};

pub use belay_sys::{FileLock, FileType, Root, Stat, Time};
