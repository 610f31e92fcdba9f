//! Every change that a restore makes to a workspace passes through here, so that tests can stop it at each of them.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{ApplyOptions, Faults};

/// Carries out changes of a workspace, one at a time.
pub(super) struct Hands<'a> {
    faults: Option<&'a Faults>,
    /// Who counts the changes and may stop them.
    watch: Option<&'a ApplyOptions<'a>>,
    done: AtomicU64,
    died: AtomicBool,
}

impl<'a> Hands<'a> {
    pub(super) fn new(faults: Option<&'a Faults>) -> Hands<'a> {
        Hands { faults, watch: None, done: AtomicU64::new(0), died: AtomicBool::new(false) }
    }

    /// Hands whose every change is counted, and that change nothing any more once they are told to stop.
    pub(super) fn watched(options: &'a ApplyOptions<'a>) -> Hands<'a> {
        Hands { watch: Some(options), ..Hands::new(None) }
    }

    /// Makes one change.
    pub(super) fn change<T>(&self, change: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if let Some(faults) = self.faults {
            self.consult(faults)?;
        }
        if let Some(options) = self.watch {
            if options.stop.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            options.progress.advance(1, 0);
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
