//! The writer: events are handed in from any thread, and a thread of its own brings them to the disk.
//!
//! The queue between them is bounded. While the disk keeps up a full queue makes the caller wait a moment; when
//! the disk refuses, file changes that no longer fit are given up, counted, and told in the record.

mod thread;

use std::fs::OpenOptions;
use std::mem;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use belay_event::{Event, What};

use crate::chain::Head;
use crate::error::{Error, Result};
use crate::exec_lines::EXEC_LINES;
use crate::key::Key;
use crate::ledger::Ledger;
use crate::schema;
use thread::Worker;

/// Events in the queue beyond which a caller waits; about 10 MB.
const EVENTS_MAX: usize = 1 << 15;
/// Events worth a transaction of their own.
const BATCH: usize = 1 << 13;
/// How long events may gather before they are written.
const LINGER: Duration = Duration::from_millis(10);
/// How long a caller waits for room in the queue.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the disk is left alone after it refused.
const RETRY: Duration = Duration::from_millis(200);

/// The record of a run that is under way.
#[derive(Debug)]
pub struct Writer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    work: Condvar,
    room: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    events: Vec<Event>,
    requests: Vec<Request>,
    /// File changes that were given up and not yet told.
    dropped: u64,
    /// Why the disk refuses, while it does.
    trouble: Option<String>,
    stop: bool,
}

/// Something that a caller waits for.
#[derive(Debug)]
struct Request {
    finish: bool,
    reply: Sender<Result<Head>>,
}

impl Writer {
    /// Begins the record of `run` in the directory `dir`, which has none yet.
    pub fn create(dir: &Path, run: &str, key: Key) -> Result<Writer> {
        let ledger = Ledger::create(schema::open_to_write(dir, true)?, run, key)?;
        let path = dir.join(EXEC_LINES);
        let mut options = OpenOptions::new();
        let lines = options.append(true).create_new(true).mode(0o600).open(&path);
        let lines = lines.map_err(Error::file("create", &path))?;
        rustix::fs::flock(&lines, rustix::fs::FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| Error::file("lock", &path)(error.into()))?;
        let shared = Arc::new(Shared::default());
        let worker = Worker::new(ledger, lines, dir.to_owned(), Arc::clone(&shared));
        let thread = std::thread::Builder::new().name("journal".to_owned()).spawn(move || worker.run());
        let thread = Mutex::new(Some(thread.map_err(Error::file("start a thread for", dir))?));
        Ok(Writer { shared, thread })
    }

    /// Hands events in. Waits only when the queue is full, and never long.
    pub fn append(&self, mut events: Vec<Event>) {
        let mut queue = self.shared.lock();
        if queue.events.len() >= EVENTS_MAX && queue.trouble.is_none() {
            let full = |queue: &mut Queue| queue.events.len() >= EVENTS_MAX && queue.trouble.is_none() && !queue.stop;
            queue = unpoisoned(self.shared.room.wait_timeout_while(queue, PATIENCE, full)).0;
        }
        if queue.stop {
            return;
        }
        if queue.events.len() >= EVENTS_MAX {
            let before = events.len();
            // Commands and snapshots are few and cannot be seen again; a path can, by looking.
            events.retain(|event| !matches!(event.what, What::File(_)));
            queue.dropped += (before - events.len()) as u64;
        }
        let (before, after) = (queue.events.len(), queue.events.len() + events.len());
        queue.events.append(&mut events);
        drop(queue);
        if before == 0 || (before < BATCH && after >= BATCH) {
            self.shared.work.notify_one();
        }
    }

    /// Returns when everything that was handed in before is signed and durable.
    pub fn sync(&self) -> Result<Head> {
        self.ask(false)
    }

    /// Ends the record: like [`Writer::sync`], with the lines of the commands that still run. What is handed in
    /// afterwards is not recorded.
    pub fn finish(&self) -> Result<Head> {
        let head = self.ask(true);
        self.join();
        head
    }

    /// Why the disk refuses at the moment, if it does.
    pub fn trouble(&self) -> Option<String> {
        self.shared.lock().trouble.clone()
    }

    fn ask(&self, finish: bool) -> Result<Head> {
        let (reply, answer) = mpsc::channel();
        let mut queue = self.shared.lock();
        if queue.stop {
            return Err(Error::Closed);
        }
        queue.requests.push(Request { finish, reply });
        drop(queue);
        self.shared.work.notify_one();
        answer.recv().unwrap_or(Err(Error::Closed))
    }

    fn join(&self) {
        self.shared.lock().stop = true;
        self.shared.work.notify_one();
        if let Some(thread) = unpoisoned(self.thread.lock()).take() {
            // A thread that panicked has nothing left to say here: its requests were answered with Closed.
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.join();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        unpoisoned(self.queue.lock())
    }

    /// Moves the events of the queue into `events`, which is empty; returns how many were given up.
    fn refill(&self, events: &mut Vec<Event>) -> u64 {
        let mut queue = self.lock();
        mem::swap(events, &mut queue.events);
        self.room.notify_all();
        mem::take(&mut queue.dropped)
    }

    /// Waits for something to do: events, or with `retry` some time, or a request; returns the requests, and whether
    /// nobody will come any more.
    fn wait(&self, retry: bool) -> (Vec<Request>, bool) {
        let mut queue = self.lock();
        let idle = |queue: &mut Queue| queue.requests.is_empty() && !queue.stop;
        if retry {
            queue = unpoisoned(self.work.wait_timeout_while(queue, RETRY, idle)).0;
        } else {
            queue = unpoisoned(self.work.wait_while(queue, |queue| idle(queue) && queue.events.is_empty()));
            let gather = |queue: &mut Queue| idle(queue) && queue.events.len() < BATCH;
            queue = unpoisoned(self.work.wait_timeout_while(queue, LINGER, gather)).0;
        }
        (mem::take(&mut queue.requests), queue.stop)
    }
}

/// A panic elsewhere leaves the queue as it was: every change of it is whole.
fn unpoisoned<T>(result: std::result::Result<T, PoisonError<T>>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}
