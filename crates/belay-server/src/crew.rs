//! The threads that do store work, so that the thread of the connection only reads, waits and answers.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use belay_session::event::McpCall;
use belay_session::store::Progress;
use belay_session::{Work, Workspace};
use tokio::sync::mpsc::UnboundedSender;

use crate::arguments::Arguments;
use crate::error::{Error, Result};
use crate::mcp::Desk;
use crate::ops::{Call, Operation};
use crate::reply::Reply;

/// How many calls are worked on at a time; a snapshot uses several threads by itself.
pub(crate) const WORKERS: usize = 4;
/// How often whoever waits is told how far it is.
const PULSE: Duration = Duration::from_millis(200);
/// Calls are written down in lots: whoever makes many a second does not wait for a line about each.
const LOT_TIME: Duration = Duration::from_millis(100);
const LOT_MAX: usize = 2000;
/// Characters of a question and of an answer that are recorded.
const PREVIEW_CHARS_MAX: usize = 200;

/// A call that somebody waits for.
pub(crate) struct Job {
    pub(crate) operation: &'static Operation,
    pub(crate) arguments: Arguments,
    /// Set when nobody waits any more.
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) said: UnboundedSender<Said>,
}

/// Jobs that wait for a worker. One that comes wakes one worker, and no other has to be told of it.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    bell: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    closed: bool,
}

impl Queue {
    fn push(&self, job: Job) {
        self.lock().jobs.push_back(job);
        self.bell.notify_one();
    }

    /// The next job; none when nobody can send one any more.
    fn pop(&self) -> Option<Job> {
        let is_waiting = |state: &mut State| state.jobs.is_empty() && !state.closed;
        let waited = self.bell.wait_while(self.lock(), is_waiting);
        waited.unwrap_or_else(PoisonError::into_inner).jobs.pop_front()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends jobs; when it goes, the workers do.
pub(crate) struct Jobs(pub(crate) Arc<Queue>);

impl Jobs {
    /// Has the next worker that is free do it.
    pub(crate) fn send(&self, job: Job) {
        self.0.push(job);
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.bell.notify_all();
    }
}

/// What is heard of a job.
pub(crate) enum Said {
    /// So many entries were dealt with, of so many if that is known.
    Progress(u64, Option<u64>),
    /// It is over.
    Done(Result<Reply>),
}

/// Takes jobs until nobody can send one any more.
pub(crate) fn work<'d>(desk: &Desk<'d>, queue: &Queue, calls: Sender<McpCall>) {
    let mut place: Option<Workspace<'d>> = None;
    while let Some(job) = queue.pop() {
        let pulse = Pulse::new(job.said.clone());
        // A fault in one operation must not silence all others; the workspace is opened anew after it.
        let begun = Instant::now();
        let done = catch_unwind(AssertUnwindSafe(|| {
            let workspace = stand(desk, &mut place)?;
            let work = Work { progress: &pulse, stop: &job.stop };
            // Whoever asked may be gone by now.
            let answer = |reply: Reply| drop(job.said.send(Said::Done(Ok(reply))));
            let (arguments, patch) = (&job.arguments, desk.patch);
            (job.operation.run)(&Call { workspace, arguments, work, patch, answer: &answer })
        }));
        let done = done.unwrap_or_else(|_| {
            place = None;
            Err(Error::Refused(format!("{} failed in a way that should not happen", job.operation.name)))
        });
        let call = record(&job, &done, begun.elapsed());
        // Whoever asked may be gone by now.
        let _ = job.said.send(Said::Done(done));
        // What was done is done, whether or not somebody can write it down.
        if place.is_some() {
            let _ = calls.send(call);
        }
    }
}

/// Writes down what was called, until nobody can call any more.
pub(crate) fn write_down<'d>(desk: &Desk<'d>, calls: &Receiver<McpCall>) {
    let mut place: Option<Workspace<'d>> = None;
    while let Ok(first) = calls.recv() {
        // Whoever sleeps is not woken by each of them.
        std::thread::sleep(LOT_TIME);
        let lot: Vec<McpCall> = std::iter::once(first).chain(calls.try_iter().take(LOT_MAX)).collect();
        if let Ok(workspace) = stand(desk, &mut place) {
            let _ = workspace.note_calls(lot);
        }
    }
}

/// A call as it is recorded.
fn record(job: &Job, done: &Result<Reply>, took: Duration) -> McpCall {
    let short = |text: &str| text.chars().take(PREVIEW_CHARS_MAX).collect::<String>();
    McpCall {
        server: "belay".to_owned(),
        method: "tools/call".to_owned(),
        tool: job.operation.name.to_owned(),
        request: short(&job.arguments.preview()),
        response: done.as_ref().map(|reply| short(&reply.text)).unwrap_or_default(),
        error: done.as_ref().err().map(|error| short(&error.story())),
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    }
}

/// The workspace, opened anew if another directory is in its place, or if its history was forgotten.
fn stand<'d, 'p>(desk: &Desk<'d>, place: &'p mut Option<Workspace<'d>>) -> Result<&'p Workspace<'d>> {
    if let Some(workspace) = place
        && !(workspace.is_in_place() && workspace.is_known()?)
    {
        *place = None;
    }
    match place {
        Some(workspace) => Ok(workspace),
        None => Ok(place.insert((desk.open)()?)),
    }
}

/// Tells whoever waits how far the work is, now and then.
struct Pulse {
    said: UnboundedSender<Said>,
    entries: AtomicU64,
    expected: AtomicU64,
    last: Mutex<Last>,
}

/// What was told last, and when.
struct Last {
    at: Instant,
    entries: u64,
}

impl Pulse {
    fn new(said: UnboundedSender<Said>) -> Pulse {
        Pulse {
            said,
            entries: AtomicU64::new(0),
            expected: AtomicU64::new(0),
            last: Mutex::new(Last { at: Instant::now(), entries: 0 }),
        }
    }
}

impl Progress for Pulse {
    fn advance(&self, entries: u64, _bytes: u64) {
        let done = self.entries.fetch_add(entries, Relaxed) + entries;
        // A thread that finds another one telling has nothing to add.
        let Ok(mut last) = self.last.try_lock() else { return };
        // The protocol wants it to grow each time.
        if last.at.elapsed() >= PULSE && done > last.entries {
            *last = Last { at: Instant::now(), entries: done };
            let expected = Some(self.expected.load(Relaxed)).filter(|expected| *expected >= done);
            let _ = self.said.send(Said::Progress(done, expected));
        }
    }

    fn expect(&self, entries: u64, _bytes: u64) {
        self.expected.store(entries, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    #[test]
    fn progress_only_grows_and_names_no_end_that_is_not_known() {
        let (said, mut heard) = unbounded_channel();
        let pulse = Pulse::new(said);
        let later = |pulse: &Pulse| pulse.last.lock().unwrap().at = Instant::now() - PULSE;
        later(&pulse);
        pulse.advance(0, 4096);
        later(&pulse);
        pulse.advance(3, 4096);
        later(&pulse);
        pulse.advance(0, 4096);
        pulse.expect(10, 0);
        later(&pulse);
        pulse.advance(1, 4096);
        drop(pulse);
        let mut told = Vec::new();
        while let Ok(Said::Progress(done, total)) = heard.try_recv() {
            told.push((done, total));
        }
        assert_eq!(told, [(3, None), (4, Some(10))]);
    }
}
