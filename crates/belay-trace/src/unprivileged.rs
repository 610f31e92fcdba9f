//! The tracer of an ordinary user: commands by ptrace, file changes by inotify.
//!
//! Three hold it up: a process that follows the tree, a thread that hands events over, and whoever asks for the dirty set.
//! Invariants: items are taken from the queue and turned into events under one lock, so that the sink sees them in order
//! whoever does it.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use belay_event::{Actor, Degraded, Event, FileChange, Lost, What};
use belay_sys::Root;
use belay_sys::inotify::Inotify;

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::hold::Holding;
use crate::inotify::{Changes, Watches};
use crate::options::{Dirty, Options, Sink};
use crate::ptrace::Follower;
use crate::table::Table;
use crate::tracer::Totals;

pub(crate) mod queue;
mod runners;

use queue::{Item, Lot, Queue};

/// After a lot the thread rests, so that the next one is larger: the kernel keeps 16,384 events, and the fastest writer
/// that we saw makes 300 in a millisecond.
const REST: Duration = Duration::from_millis(4);

/// How often the thread looks whether the follower still lives.
const LOOK: Duration = Duration::from_millis(500);

/// How long the second half of a rename is waited for.
const HALF: Duration = Duration::from_millis(25);

/// Watches with what an ordinary user may do.
pub(crate) struct Unprivileged {
    core: Arc<Core>,
    follower: Option<Arc<Mutex<Follower>>>,
    relay: Option<JoinHandle<()>>,
    degraded: Vec<Degraded>,
}

struct Core {
    queue: Arc<Queue>,
    state: Mutex<State>,
    sink: Sink,
    over: AtomicBool,
}

struct State {
    clock: Clock,
    table: Table,
    watches: Option<Watches>,
    totals: Totals,
    /// Whether it was said that the kernel refuses more watches.
    told_full: bool,
}

impl Unprivileged {
    /// Watches the workspace from here on, and is ready to follow a process; says who will follow it as soon as that is known.
    pub(crate) fn prepare(options: &Options, sink: Sink, name: impl FnOnce(Option<u32>)) -> Result<Unprivileged> {
        let clock = Clock::start();
        let inotify = options.files.then(Inotify::new).transpose().map_err(kernel("make an inotify queue"))?;
        let inotify = inotify.map(Arc::new);
        let queue = Arc::new(Queue::new(inotify.clone()).map_err(kernel("make an event descriptor"))?);
        let follower = options.exec.then(|| Follower::start(Arc::clone(&queue))).transpose();
        let follower = follower.map_err(kernel("start the process that traces"))?;
        name(follower.as_ref().map(Follower::pid));
        let watches = inotify.map(|inotify| watch(options, inotify)).transpose()?;
        let table = Table::new(clock);
        let mut state = State { clock, table, watches, totals: Totals::default(), told_full: false };
        let degraded = state.shortcomings(options.exec);
        let core = Arc::new(Core { queue, state: Mutex::new(state), sink, over: AtomicBool::new(false) });
        let follower = follower.map(|follower| Arc::new(Mutex::new(follower)));
        let relay = start_relay(&core, follower.clone()).map_err(kernel("start a thread"))?;
        Ok(Unprivileged { core, follower, relay: Some(relay), degraded })
    }

    /// The process that will trace; a held process must allow it to where Yama asks for that.
    pub(crate) fn tracer_pid(&self) -> Option<u32> {
        self.follower.as_ref().map(|follower| lock(follower).pid())
    }

    /// Follows the held process.
    pub(crate) fn attach(&self, pid: u32) -> Result<()> {
        let Some(follower) = &self.follower else { return Ok(()) };
        lock(&self.core.state).table.adopt(pid, belay_sys::boot_nanos());
        lock(follower).attach(pid).map_err(kernel("trace the process"))
    }

    /// Holds some commands before their first instruction.
    pub(crate) fn hold(&self, holding: Holding) {
        if let Some(follower) = &self.follower {
            lock(follower).hold(holding);
        }
    }

    /// What is weaker than it could be.
    pub(crate) fn degraded(&self) -> &[Degraded] {
        &self.degraded
    }

    /// What changed since the last call.
    pub(crate) fn dirty(&self) -> Dirty {
        let mut state = lock(&self.core.state);
        self.core.hand_over(&mut state);
        state.watches.as_mut().map_or_else(Dirty::default, Watches::take_dirty)
    }

    /// Gives the sink what was seen up to now.
    pub(crate) fn hand_over(&self) {
        self.core.hand_over(&mut lock(&self.core.state));
    }

    /// Returns once the sink has everything that already happened.
    pub(crate) fn flush(&self) {
        if let Some(follower) = &self.follower {
            lock(follower).catch_up();
        }
        self.core.hand_over(&mut lock(&self.core.state));
    }

    /// Lets go of everybody and hands the last events over.
    pub(crate) fn stop(mut self) -> Totals {
        self.flush();
        self.end();
        let core = Arc::clone(&self.core);
        let mut state = lock(&core.state);
        core.hand_over(&mut state);
        core.give_up(&mut state, u64::MAX);
        state.totals
    }

    fn end(&mut self) {
        self.core.over.store(true, Ordering::SeqCst);
        self.core.queue.wake();
        if let Some(relay) = self.relay.take() {
            // It does not panic unless the sink does, and then there is nobody left to tell.
            let _ = relay.join();
        }
        if let Some(follower) = self.follower.take() {
            lock(&follower).leave();
        }
    }
}

impl Drop for Unprivileged {
    fn drop(&mut self) {
        self.end();
    }
}

fn watch(options: &Options, inotify: Arc<Inotify>) -> Result<Watches> {
    let root = Root::open(&options.workspace).map_err(kernel("open the workspace"))?;
    let path = options.workspace.as_os_str().as_bytes();
    Watches::new(root, inotify, path).map_err(kernel("watch the workspace"))
}

fn start_relay(core: &Arc<Core>, follower: Option<Arc<Mutex<Follower>>>) -> io::Result<JoinHandle<()>> {
    let core = Arc::clone(core);
    std::thread::Builder::new().name("belay-events".into()).spawn(move || core.relay(follower.as_deref()))
}

impl Core {
    fn relay(&self, follower: Option<&Mutex<Follower>>) {
        let mut alive = follower.is_some();
        while !self.over.load(Ordering::SeqCst) {
            let expects = lock(&self.state).watches.as_ref().is_some_and(Watches::expects);
            let at_most = if expects { Some(HALF) } else { alive.then_some(LOOK) };
            self.queue.wait(at_most);
            let mut state = lock(&self.state);
            self.hand_over(&mut state);
            // Whoever holds the follower waits for it, and it may wait for us.
            if alive && follower.is_some_and(|follower| follower.try_lock().is_ok_and(|follower| follower.died())) {
                alive = false;
                self.tell_death(&state);
            }
            drop(state);
            self.queue.rest(REST);
        }
    }

    /// Turns everything that was seen into events and gives them to the sink.
    fn hand_over(&self, state: &mut State) {
        let (items, number) = self.queue.take();
        let now = belay_sys::boot_nanos();
        if items.is_empty() {
            if let Some(watches) = &mut state.watches {
                watches.settle();
            }
            return self.give_up(state, now);
        }
        let mut events = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Item::Process(record) => state.table.learn(record, &mut events),
                Item::Files(lot) => state.read(&lot, &mut events, || self.queue.ran_since(lot.round)),
            }
        }
        self.queue.done(number);
        state.table.forget(now);
        state.totals.execs = state.table.commands();
        (self.sink)(events);
    }

    fn give_up(&self, state: &mut State, now: u64) {
        let mut changes = Changes::default();
        if let Some(watches) = &mut state.watches {
            watches.give_up(now, &mut changes);
        }
        if !changes.list.is_empty() {
            let mut events = Vec::new();
            state.tell(changes, now.min(belay_sys::boot_nanos()), None, None, &mut events);
            (self.sink)(events);
        }
    }

    fn tell_death(&self, state: &State) {
        let at = state.clock.wall(belay_sys::boot_nanos());
        let why = "the process that traces was killed; commands are no longer seen, and the run goes on without".into();
        let lost = Lost { source: "exec".into(), count: None };
        let degraded = Degraded { layer: "exec".into(), why };
        (self.sink)(vec![Event::new(at, What::Lost(lost)), Event::new(at, What::Degraded(degraded))]);
    }
}

impl State {
    fn read(&mut self, lot: &Lot, events: &mut Vec<Event>, running: impl FnOnce() -> Option<Vec<u32>>) {
        let Some(watches) = &mut self.watches else { return };
        let changes = watches.read(&lot.bytes, lot.at);
        let by = lot.ran.as_deref().and_then(|ran| self.suspect(ran, lot.at));
        // What a listing found may be younger than the lot, so whoever ran since then is a suspect too.
        let listed = changes.list.iter().any(|(_, found)| *found);
        let since = if listed { running() } else { None };
        let both = lot.ran.as_deref().zip(since.as_deref()).map(|(ran, since)| [ran, since].concat());
        let found_by = both.and_then(|both| self.suspect(&both, lot.at));
        self.tell(changes, lot.at, by, found_by, events);
    }

    fn tell(&mut self, changes: Changes, at: u64, by: Option<Actor>, found_by: Option<Actor>, events: &mut Vec<Event>) {
        let at = self.clock.wall(at);
        self.totals.files += changes.list.len() as u64;
        for (change, found) in changes.list {
            let change = FileChange { by: if found { found_by } else { by }, ..change };
            events.push(Event::new(at, What::File(change)));
        }
        if changes.lost {
            self.totals.lost += 1;
            events.push(Event::new(at, What::Lost(Lost { source: "file".into(), count: None })));
        }
        if let Some(degraded) = self.fullness() {
            events.push(Event::new(at, What::Degraded(degraded)));
        }
    }

    /// The one command that every process that ran belongs to.
    fn suspect(&self, ran: &[u32], at: u64) -> Option<Actor> {
        let mut commands = ran.iter().map(|pid| self.table.charge(*pid, at, at).and_then(|charge| charge.command));
        let command = commands.next()??;
        commands.all(|other| other == Some(command)).then_some(Actor {
            pid: None,
            command: Some(command),
            exact: false,
        })
    }

    fn shortcomings(&mut self, exec: bool) -> Vec<Degraded> {
        let mut all = Vec::new();
        if exec {
            let why = "commands are followed with ptrace: in the run no debugger or strace works, and sudo and other \
                       set-user-id programs get no further rights";
            all.push(Degraded { layer: "exec".into(), why: advised(why, "tracing in the kernel") });
        }
        if self.watches.is_some() {
            let why = "file changes are watched with inotify, which does not name the process: the command is given only \
                       where no other one ran";
            all.push(Degraded { layer: "files".into(), why: advised(why, "exact attribution") });
        }
        all.extend(self.fullness());
        all
    }

    fn fullness(&mut self) -> Option<Degraded> {
        if self.told_full || !self.watches.as_ref().is_some_and(Watches::full) {
            return None;
        }
        self.told_full = true;
        let why = "the limit of inotify watches is reached, so changes in some directories are not seen and every snapshot \
                   looks at the whole workspace; raise fs.inotify.max_user_watches";
        Some(Degraded { layer: "files".into(), why: why.into() })
    }
}

/// Root has been told already why it cannot have more.
fn advised(why: &str, benefit: &str) -> String {
    if belay_sys::is_root() { why.to_owned() } else { format!("{why}; run belay as root for {benefit}") }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn kernel(what: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Kernel { what, source }
}
