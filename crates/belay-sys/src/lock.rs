//! Locks on open files that end with their holder, even if it is killed.
//!
//! Invariants: the lock is a `flock` on the open file description; it is released by dropping [`FileLock`] at
//! the latest, and at once, even if another thread has just forked.

use std::fs::File;
use std::io;

use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, retry_on_intr};

/// May others hold the lock at the same time?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockKind {
    /// Any number of shared holders at once.
    Shared,
    /// One holder and nobody else.
    Exclusive,
}

/// A held lock; dropping it lets go.
#[derive(Debug)]
pub struct FileLock {
    file: File,
}

/// Waits for the lock as long as it takes.
pub fn lock_file(file: File, kind: LockKind) -> io::Result<FileLock> {
    let operation = match kind {
        LockKind::Shared => FlockOperation::LockShared,
        LockKind::Exclusive => FlockOperation::LockExclusive,
    };
    retry_on_intr(|| flock(&file, operation))?;
    Ok(FileLock { file })
}

/// Takes the lock if it is free, else gives the file back.
pub fn try_lock_file(file: File, kind: LockKind) -> io::Result<Result<FileLock, File>> {
    let operation = match kind {
        LockKind::Shared => FlockOperation::NonBlockingLockShared,
        LockKind::Exclusive => FlockOperation::NonBlockingLockExclusive,
    };
    match retry_on_intr(|| flock(&file, operation)) {
        Ok(()) => Ok(Ok(FileLock { file })),
        Err(Errno::WOULDBLOCK) => Ok(Err(file)),
        Err(error) => Err(error.into()),
    }
}

impl FileLock {
    /// The locked file.
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing is not enough while a forked child that has not yet executed shares the description. A failure
        // leaves the lock to that close.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}
