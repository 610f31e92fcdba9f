//! What was seen, in the order in which it was seen, by whoever saw it.
//!
//! The kernel queues file events while the change is made, and does not say who made it. So the queue is emptied at every halt
//! of a process, before anything runs on, and each lot is kept with those who ran since the lot before: a process whose
//! processor time did not change did nothing.
//!
//! Invariants: taking file events from the kernel and appending them here is one step under one lock, so that whoever
//! takes items after draining has everything that happened before.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use belay_sys::Bell;
use belay_sys::inotify::Inotify;
use belay_sys::ptrace::cpu_nanos;

use crate::table::Record;

/// Above this many processes nobody is asked how long they ran unless files changed.
const ASK_ALWAYS_MAX: usize = 16;

/// Above this many processes the answer is that anybody could have done it.
const ASK_MAX: usize = 256;

/// Something that was seen.
#[derive(Debug)]
pub(crate) enum Item {
    /// About a process.
    Process(Record),
    /// About files.
    Files(Lot),
}

/// File events that were taken from the kernel at once.
#[derive(Debug)]
pub(crate) struct Lot {
    /// When they were taken, by the boot clock.
    pub(crate) at: u64,
    /// As the kernel gave them.
    pub(crate) bytes: Vec<u8>,
    /// The processes of the run that ran since the lot before; none if that is not known.
    pub(crate) ran: Option<Vec<u32>>,
}

/// Items on their way to whoever makes events of them.
#[derive(Debug)]
pub(crate) struct Queue {
    inotify: Option<Arc<Inotify>>,
    bell: Bell,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    items: Vec<Item>,
    /// The processor time of every process of the run when it was last asked for.
    living: HashMap<u32, u64>,
}

impl Queue {
    pub(crate) fn new(inotify: Option<Arc<Inotify>>) -> io::Result<Queue> {
        Ok(Queue { inotify, bell: Bell::new()?, inner: Mutex::default() })
    }

    /// Whether it matters who runs when.
    pub(crate) fn minds_who_runs(&self) -> bool {
        self.inotify.is_some()
    }

    /// Rings when something was appended to an empty queue, or by hand.
    pub(crate) fn bell(&self) -> &Bell {
        &self.bell
    }

    /// Readable when file events wait in the kernel.
    pub(crate) fn files(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(|inotify| inotify.as_fd())
    }

    /// Takes a process into account that was not seen to be forked.
    pub(crate) fn adopt(&self, pid: u32) {
        self.lock().living.insert(pid, 0);
    }

    /// Appends a record about a halted process, after the file events that preceded it.
    pub(crate) fn note(&self, record: Record) {
        let mut inner = self.lock();
        let silent = inner.items.is_empty();
        let lot = inner.drain(self.inotify.as_deref());
        inner.account(&record);
        match (&record, lot) {
            // Only the process that executes something ran: it was opening the redirections of the new command.
            (Record::Exec { image, .. }, Some(lot)) if lot.ran.as_deref() == Some(&[image.pid]) => {
                inner.items.extend([Item::Process(record), Item::Files(lot)]);
            }
            (_, lot) => inner.items.extend(lot.map(Item::Files).into_iter().chain([Item::Process(record)])),
        }
        drop(inner);
        if silent {
            self.bell.ring();
        }
    }

    /// Takes down who ran up to now, so that a process that began something and then rested is no suspect of what follows.
    pub(crate) fn look_around(&self) {
        let mut inner = self.lock();
        let lot = inner.drain(self.inotify.as_deref());
        let silent = inner.items.is_empty() && lot.is_some();
        inner.items.extend(lot.map(Item::Files));
        drop(inner);
        if silent {
            self.bell.ring();
        }
    }

    /// Everything that was seen up to now and not yet taken.
    pub(crate) fn take(&self) -> Vec<Item> {
        let mut inner = self.lock();
        let lot = inner.drain(self.inotify.as_deref());
        inner.items.extend(lot.map(Item::Files));
        std::mem::take(&mut inner.items)
    }

    /// Who ran since the last lot, if nothing was appended since.
    pub(crate) fn running(&self) -> Option<Vec<u32>> {
        let inner = self.lock();
        if !inner.items.is_empty() || inner.living.len() > ASK_MAX {
            return None;
        }
        Some(inner.living.iter().filter(|(pid, then)| cpu_nanos(**pid) != Some(**then)).map(|(pid, _)| *pid).collect())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn drain(&mut self, inotify: Option<&Inotify>) -> Option<Lot> {
        let mut bytes = Vec::new();
        // A queue that cannot be read would be a bug in the kernel; what was read before the failure still counts.
        let _ = inotify?.drain(&mut bytes);
        if bytes.is_empty() && self.living.len() > ASK_ALWAYS_MAX {
            return None;
        }
        let ran = self.ran();
        (!bytes.is_empty()).then(|| Lot { at: belay_sys::boot_nanos(), bytes, ran })
    }

    fn ran(&mut self) -> Option<Vec<u32>> {
        if self.living.len() > ASK_MAX {
            return None;
        }
        let mut ran = Vec::new();
        for (pid, then) in &mut self.living {
            let now = cpu_nanos(*pid).unwrap_or(u64::MAX);
            if now != *then || now == u64::MAX {
                *then = now;
                ran.push(*pid);
            }
        }
        Some(ran)
    }

    fn account(&mut self, record: &Record) {
        match record {
            Record::Fork { child, .. } => {
                self.living.insert(*child, 0);
            }
            Record::Exit { pid, .. } => {
                self.living.remove(pid);
            }
            Record::Exec { .. } => {}
        }
    }
}
