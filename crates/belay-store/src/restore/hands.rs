//! Every change that a restore makes to a workspace passes through here, so that tests can stop it at each of them.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::Faults;

/// Carries out changes of a workspace, one at a time.
pub(super) struct Hands<'a> {
    faults: Option<&'a Faults>,
    done: AtomicU64,
    died: AtomicBool,
}

impl<'a> Hands<'a> {
    pub(super) fn new(faults: Option<&'a Faults>) -> Hands<'a> {
        Hands { faults, done: AtomicU64::new(0), died: AtomicBool::new(false) }
    }

    /// Makes one change.
    pub(super) fn change<T>(&self, change: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if let Some(faults) = self.faults {
            self.consult(faults)?;
        }
        change()
    }

    /// Whether a simulated death happened, after which nothing is changed any more.
    pub(super) fn died(&self) -> bool {
        self.died.load(Ordering::SeqCst)
    }

    fn consult(&self, faults: &Faults) -> io::Result<()> {
        faults.seen.fetch_add(1, Ordering::SeqCst);
        if self.died() {
            return Err(io::Error::other("the process is dead"));
        }
        let number = self.done.fetch_add(1, Ordering::SeqCst) + 1;
        if number != faults.after.load(Ordering::SeqCst) {
            return Ok(());
        }
        match faults.errno.load(Ordering::SeqCst) {
            0 => {
                self.died.store(true, Ordering::SeqCst);
                Err(io::Error::other("the process is dead"))
            }
            errno => Err(io::Error::from_raw_os_error(errno as i32)),
        }
    }
}
