//! Has the disk write out what was staged so far while more is staged, so that the last sync finds little to do.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use belay_sys::Root;

/// Enough that a sync is worth its journal's commit, little enough that the disk is not idle for long.
const EVERY_BYTES: u64 = 48 << 20;

/// Counts what was written and asks for a flush now and then.
pub(super) struct Flusher {
    written: AtomicU64,
    ask: Sender<()>,
}

impl Flusher {
    /// The flusher, and what the thread that flushes waits for.
    pub(super) fn new() -> (Flusher, Receiver<()>) {
        let (ask, asked) = channel();
        (Flusher { written: AtomicU64::new(0), ask }, asked)
    }

    /// Whether so much will be written that a flush will be asked for.
    pub(super) fn is_worth(bytes: u64) -> bool {
        bytes >= EVERY_BYTES
    }

    pub(super) fn note(&self, bytes: u64) {
        let before = self.written.fetch_add(bytes, Ordering::Relaxed);
        if before / EVERY_BYTES != (before + bytes) / EVERY_BYTES {
            // If nobody flushes any more, the sync at the end does it.
            let _ = self.ask.send(());
        }
    }
}

/// Flushes whenever it is asked, until nobody can ask any more.
pub(super) fn flush_when_asked(root: &Root, asked: Receiver<()>) {
    while asked.recv().is_ok() {
        while asked.try_recv().is_ok() {}
        // An error comes up again in the sync that counts.
        let _ = root.sync_filesystem();
    }
}
