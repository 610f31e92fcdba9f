//! What was seen, in the order in which it was seen, by whoever saw it.
//!
//! The kernel queues file events while the change is made, and does not say who made it. So the queue is emptied at every halt
//! of a process, before anything runs on, and each lot is kept with those who ran since the lot before.
//!
//! Invariants: taking file events from the kernel and appending them here is one step under one lock, so that whoever
//! takes items after draining has everything that happened before.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use belay_sys::Bell;
use belay_sys::inotify::{Inotify, Notice, entries};

use super::runners::Runners;
use crate::table::Record;

/// How long a halted process waits for a new directory to be watched; afterwards changes in it are still seen, by a listing,
/// but nobody can say whose they are.
const WATCHED_MAX: Duration = Duration::from_millis(5);

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
    /// The round in which they ran, for [`Queue::ran_since`].
    pub(crate) round: u64,
}

/// Items on their way to whoever makes events of them.
#[derive(Debug)]
pub(crate) struct Queue {
    inotify: Option<Arc<Inotify>>,
    bell: Bell,
    haste: Bell,
    inner: Mutex<Inner>,
    handled: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    items: Vec<Item>,
    runners: Runners,
    /// How many items were ever appended, and how many of them were made events.
    appended: u64,
    handled: u64,
}

impl Queue {
    pub(crate) fn new(inotify: Option<Arc<Inotify>>) -> io::Result<Queue> {
        let (bell, haste) = (Bell::new()?, Bell::new()?);
        Ok(Queue { inotify, bell, haste, inner: Mutex::default(), handled: Condvar::new() })
    }

    /// Whether it matters who runs when.
    pub(crate) fn minds_who_runs(&self) -> bool {
        self.inotify.is_some()
    }

    /// Wakes whoever waits.
    pub(crate) fn wake(&self) {
        self.bell.ring();
        self.haste.ring();
    }

    /// Waits for something to be seen.
    pub(crate) fn wait(&self, at_most: Option<Duration>) {
        let files: Option<BorrowedFd<'_>> = self.inotify.as_ref().map(|inotify| inotify.as_fd());
        self.bell.wait(files, at_most);
    }

    /// Lets items gather, unless somebody is in haste; then takes down who ran up to now, so that a process that began
    /// something and then rested is no suspect of what follows.
    pub(crate) fn rest(&self, at_most: Duration) {
        self.haste.wait(None, Some(at_most));
        let mut inner = self.lock();
        let silent = inner.items.is_empty();
        let lot = inner.drain(self.inotify.as_deref());
        if silent && lot.is_some() {
            self.bell.ring();
        }
        inner.append(lot.map(Item::Files));
    }

    /// Takes a process into account that was not seen to be forked.
    pub(crate) fn adopt(&self, pid: u32) {
        self.lock().runners.begin(pid);
    }

    /// Appends a record about a halted process, after the file events that preceded it.
    ///
    /// If directories are new among those it returns when they are watched: what is made in them once the process
    /// runs on is then told by itself, and not found by a listing that comes too late to know by whom.
    pub(crate) fn note(&self, record: Record) {
        let mut inner = self.lock();
        let silent = inner.items.is_empty();
        let lot = inner.drain(self.inotify.as_deref());
        let directories = lot.as_ref().is_some_and(Lot::brings_directories);
        inner.account(&record);
        match (&record, lot) {
            // Only the process that executes something ran: it was opening the redirections of the new command.
            (Record::Exec { image, .. }, Some(lot)) if lot.ran.as_deref() == Some(&[image.pid]) => {
                inner.append([Item::Process(record), Item::Files(lot)]);
            }
            (_, lot) => inner.append(lot.map(Item::Files).into_iter().chain([Item::Process(record)])),
        }
        if directories {
            self.wake();
            let mine = inner.appended;
            let waited = self.handled.wait_timeout_while(inner, WATCHED_MAX, |inner| inner.handled < mine);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        } else if silent {
            drop(inner);
            self.bell.ring();
        }
    }

    /// Everything that was seen up to now and not yet taken, and the number for [`Queue::done`].
    pub(crate) fn take(&self) -> (Vec<Item>, u64) {
        let mut inner = self.lock();
        let lot = inner.drain(self.inotify.as_deref());
        inner.append(lot.map(Item::Files));
        (std::mem::take(&mut inner.items), inner.appended)
    }

    /// Says that everything up to this number has been made events.
    pub(crate) fn done(&self, number: u64) {
        self.lock().handled = number;
        self.handled.notify_all();
    }

    /// Who ran after a round; none if that is not known.
    pub(crate) fn ran_since(&self, round: u64) -> Option<Vec<u32>> {
        self.lock().runners.since(round)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lot {
    fn brings_directories(&self) -> bool {
        entries(&self.bytes).any(|entry| entry.dir && matches!(entry.notice, Notice::Created | Notice::MovedTo(_)))
    }
}

impl Inner {
    fn append(&mut self, items: impl IntoIterator<Item = Item>) {
        let before = self.items.len();
        self.items.extend(items);
        self.appended += (self.items.len() - before) as u64;
    }

    fn drain(&mut self, inotify: Option<&Inotify>) -> Option<Lot> {
        let mut bytes = Vec::new();
        // A queue that cannot be read would be a bug in the kernel; what was read before the failure still counts.
        let _ = inotify?.drain(&mut bytes);
        if bytes.is_empty() && !self.runners.few() {
            return None;
        }
        bytes.shrink_to_fit();
        let (round, ran) = self.runners.ask();
        (!bytes.is_empty()).then(|| Lot { at: belay_sys::boot_nanos(), bytes, ran, round })
    }

    fn account(&mut self, record: &Record) {
        match record {
            Record::Fork { child, .. } => self.runners.begin(*child),
            Record::Exit { pid, .. } => self.runners.end(*pid),
            Record::Exec { .. } => {}
        }
    }
}
