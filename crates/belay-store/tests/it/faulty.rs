//! A real directory whose disk refuses one change, or all that need room from one on.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use belay_store::{Disk, DiskFile, DiskWrite, Lock, LockMode, RealDisk};

/// A disk that fails on demand.
#[derive(Clone)]
pub(crate) struct Faulty {
    disk: Arc<RealDisk>,
    fault: Arc<Fault>,
}

#[derive(Default)]
struct Fault {
    seen: AtomicU64,
    at: AtomicU64,
    errno: AtomicI32,
    /// One more than what is said to be free, or zero for the truth.
    free: AtomicU64,
}

pub(crate) const ENOSPC: i32 = 28;
pub(crate) const EIO: i32 = 5;

impl Faulty {
    pub(crate) fn open(path: &Path) -> Faulty {
        Faulty { disk: Arc::new(RealDisk::open(path).unwrap()), fault: Arc::default() }
    }

    /// The `at`-th change from now fails, or with no room each one from then on; zero means none.
    pub(crate) fn fail_at(&self, at: u64, errno: i32) {
        self.fault.seen.store(0, Ordering::SeqCst);
        self.fault.errno.store(errno, Ordering::SeqCst);
        self.fault.at.store(at, Ordering::SeqCst);
    }

    /// Says from now on that so many bytes are free.
    #[allow(dead_code, reason = "not every suite that has this disk asks it")]
    pub(crate) fn set_free(&self, bytes: u64) {
        self.fault.free.store(bytes + 1, Ordering::SeqCst);
    }

    pub(crate) fn changes(&self) -> u64 {
        self.fault.seen.load(Ordering::SeqCst)
    }
}

impl Fault {
    fn check(&self, needs_room: bool) -> io::Result<()> {
        let seen = self.seen.fetch_add(1, Ordering::SeqCst) + 1;
        let (at, errno) = (self.at.load(Ordering::SeqCst), self.errno.load(Ordering::SeqCst));
        let fails = match errno {
            ENOSPC => needs_room && seen >= at,
            _ => seen == at,
        };
        if at > 0 && fails { Err(io::Error::from_raw_os_error(errno)) } else { Ok(()) }
    }
}

struct Writer(Box<dyn DiskWrite>, Arc<Fault>);

impl DiskWrite for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let outcome = self.1.check(true);
        let arrives = if outcome.is_ok() { bytes.len() } else { bytes.len() / 2 };
        self.0.write(&bytes[..arrives])?;
        outcome
    }

    fn sync(&mut self) -> io::Result<()> {
        self.1.check(true)?;
        self.0.sync()
    }
}

impl Disk for Faulty {
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        self.disk.open(name)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskWrite>> {
        self.fault.check(true)?;
        Ok(Box::new(Writer(self.disk.create(name)?, Arc::clone(&self.fault))))
    }

    fn append(&self, name: &str, len: u64) -> io::Result<Box<dyn DiskWrite>> {
        self.fault.check(true)?;
        Ok(Box::new(Writer(self.disk.append(name, len)?, Arc::clone(&self.fault))))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.fault.check(true)?;
        self.disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.fault.check(false)?;
        self.disk.remove(name)
    }

    fn list(&self, dir: &str) -> io::Result<Vec<(String, u64)>> {
        self.disk.list(dir)
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        self.fault.check(false)?;
        self.disk.sync_dir(dir)
    }

    fn lock(&self, name: &str, mode: LockMode, wait: bool) -> io::Result<Option<Lock>> {
        self.disk.lock(name, mode, wait)
    }

    fn free_bytes(&self) -> io::Result<u64> {
        match self.fault.free.load(Ordering::SeqCst) {
            0 => self.disk.free_bytes(),
            more => Ok(more - 1),
        }
    }

    fn path(&self) -> Option<&Path> {
        Disk::path(self.disk.as_ref())
    }
}
