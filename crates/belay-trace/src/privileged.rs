//! The tracer of root: commands by BPF programs, file changes by fanotify, joined by process and time.
//!
//! Invariants:
//! - file notices are read first and records of processes after them, so every process that changed a file is known by
//!   the time its change is charged;
//! - whoever looks (the thread, or somebody who asks for the dirty set) does it under one lock, so the sink gets events
//!   in order;
//! - while much happens nobody is woken by it: the thread sleeps a tick and takes everything at once.

mod source;

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use belay_event::{Action, Actor, Degraded, Event, ExecSource, FileChange, FileSource, Lost, What};
use belay_sys::fanotify::Queue;

use crate::clock::Clock;
use crate::ebpf::{self, Commands};
use crate::error::{Error, Result};
use crate::fanotify::{Change, Telling};
use crate::inotify::dirty::Paths;
use crate::inotify::mounts::Mounts;
use crate::mapped;
use crate::options::{Dirty, Options, Sink};
use crate::table::{Charge, Record, Table};
use crate::tracer::Totals;
use source::Source;

/// How long events may lie about while much happens.
const TICK: Duration = Duration::from_millis(10);

/// After so many ticks without any event the thread waits to be woken.
const QUIET_TICKS: u32 = 20;

/// How long the thread waits then, for notices and for records, of which one may come just before it asks to be woken.
const NAP: Duration = Duration::from_secs(1);

/// How long it waits if there are only notices, which always wake it.
const SLEEP: Duration = Duration::from_secs(3600);

/// How far behind the clock may be by which files are dated.
const COARSE_NS: u64 = 20_000_000;

/// Watches with what root may do.
pub(crate) struct Privileged {
    state: Arc<Mutex<State>>,
    thread: Option<JoinHandle<()>>,
    bell: Option<PipeWriter>,
    exec: ExecSource,
    files: FileSource,
    degraded: Vec<Degraded>,
}

struct State {
    clock: Clock,
    table: Table,
    commands: Option<Commands>,
    /// Records that wait for the file notices that precede them.
    records: Vec<Record>,
    files: Option<Source>,
    mounts: Mounts,
    workspace: Vec<u8>,
    dirty: Paths,
    complete: bool,
    totals: Totals,
    sink: Sink,
    /// Everything that happened before was charged.
    since: u64,
}

impl Privileged {
    /// Loads the programs and marks the file system; file changes are seen from here on.
    pub(crate) fn prepare(options: &Options, sink: Sink, queue: Queue) -> Result<Privileged> {
        if options.exec {
            // Before anything is watched that would then have to be watched in another way.
            ebpf::check_machine()?;
        }
        let since = belay_sys::boot_nanos();
        let clock = Clock::start();
        let (sources, commands) = std::thread::scope(|scope| {
            let commands = scope.spawn(|| options.exec.then(|| Commands::load(options.group)).transpose());
            let sources = options.files.then(|| Source::open(options, queue)).transpose();
            (sources, commands.join().expect("loading does not panic"))
        });
        let ((files, weaker), commands) = (sources?.unzip(), commands?);
        let exec = if options.exec { ExecSource::Ebpf } else { ExecSource::None };
        let source = match &files {
            None => FileSource::None,
            Some(Source::Marked(_)) => FileSource::Fanotify,
            Some(Source::Watched(_)) => FileSource::Inotify,
        };
        let degraded = weaker.flatten().map(|error| shortcoming(&error)).into_iter().collect();
        let workspace = named(&options.workspace).map_err(kernel("name the workspace"))?;
        let state = State {
            clock,
            table: Table::new(clock),
            commands,
            records: Vec::new(),
            complete: files.is_some(),
            files,
            mounts: Mounts::beneath(&workspace),
            workspace,
            dirty: Paths::default(),
            totals: Totals::default(),
            sink,
            since,
        };
        let descriptors = state.descriptors().map_err(kernel("wait for events"))?;
        let state = Arc::new(Mutex::new(state));
        let (ears, bell) = io::pipe().map_err(kernel("make a pipe"))?;
        let theirs = Arc::clone(&state);
        let thread = std::thread::Builder::new().name("belay-events".into());
        let thread =
            thread.spawn(move || look_after(&theirs, &ears, &descriptors)).map_err(kernel("start a thread"))?;
        Ok(Privileged { state, thread: Some(thread), bell: Some(bell), exec, files: source, degraded })
    }

    /// Follows the held process.
    pub(crate) fn attach(&self, pid: u32) -> Result<()> {
        let mut state = lock(&self.state);
        state.table.adopt(pid, belay_sys::boot_nanos());
        state.commands.as_mut().map_or(Ok(()), |commands| commands.follow(pid))
    }

    /// How commands are seen.
    pub(crate) fn exec_source(&self) -> ExecSource {
        self.exec
    }

    /// How file changes are seen.
    pub(crate) fn file_source(&self) -> FileSource {
        self.files
    }

    /// What is weaker than it could be.
    pub(crate) fn degraded(&self) -> &[Degraded] {
        &self.degraded
    }

    /// Hands over everything that already happened.
    pub(crate) fn flush(&self) {
        lock(&self.state).look_until_empty();
    }

    /// What changed since the last question.
    pub(crate) fn dirty(&self) -> Dirty {
        lock(&self.state).take_dirty()
    }

    /// Ends the watching.
    pub(crate) fn stop(mut self) -> Totals {
        self.end();
        let mut state = lock(&self.state);
        state.look_until_empty();
        state.totals
    }

    fn end(&mut self) {
        drop(self.bell.take());
        if let Some(thread) = self.thread.take() {
            // It panics only if the sink does, and then whoever gave us the sink knows.
            let _ = thread.join();
        }
    }
}

impl Drop for Privileged {
    fn drop(&mut self) {
        self.end();
    }
}

fn look_after(state: &Mutex<State>, ears: &PipeReader, descriptors: &[OwnedFd]) {
    let bell = [ears.as_fd()];
    let all: Vec<_> = bell.into_iter().chain(descriptors.iter().map(AsFd::as_fd)).collect();
    let nap = if lock(state).commands.is_some() { NAP } else { SLEEP };
    let mut quiet = 0;
    loop {
        let found = lock(state).glance().found;
        quiet = if found { 0 } else { quiet + 1 };
        let rung = if quiet < QUIET_TICKS {
            belay_sys::wait_readable(&bell, TICK)
        } else {
            lock(state).ask_to_be_woken();
            belay_sys::wait_readable(&all, nap)
        };
        if rung.is_ok_and(|rung| rung[0]) {
            return;
        }
    }
}

/// What one look brought.
struct Look {
    found: bool,
    emptied: bool,
}

impl State {
    fn descriptors(&self) -> io::Result<Vec<OwnedFd>> {
        let commands = self.commands.as_ref().map(AsFd::as_fd);
        let files = self.files.as_ref().map(AsFd::as_fd);
        commands.into_iter().chain(files).map(|descriptor| descriptor.try_clone_to_owned()).collect()
    }

    fn ask_to_be_woken(&mut self) {
        if let Some(commands) = &mut self.commands {
            commands.wake_me();
        }
        // Whatever came before the wish was heard would otherwise lie there for a whole nap.
        self.look();
    }

    fn look_until_empty(&mut self) {
        while !self.look().emptied {}
    }

    /// Looks, unless somebody would have to wait: then the ring is emptied, which must not run over.
    fn glance(&mut self) -> Look {
        if !self.files.as_ref().is_some_and(Source::lists) {
            return self.look();
        }
        if let Some(commands) = &mut self.commands {
            commands.drain(&mut self.records);
        }
        Look { found: true, emptied: false }
    }

    /// Reads both streams, joins them, and hands the events over.
    fn look(&mut self) -> Look {
        let began = belay_sys::boot_nanos();
        let lot = self.files.as_mut().map(Source::read);
        let until = belay_sys::boot_nanos();
        let mut records = std::mem::take(&mut self.records);
        let lost = self.commands.as_mut().map_or(0, |commands| {
            commands.drain(&mut records);
            commands.lost()
        });

        let mut commands = Vec::with_capacity(records.len());
        records.into_iter().for_each(|record| self.table.learn(record, &mut commands));
        self.lose(lost, until, &mut commands);
        let emptied = lot.as_ref().is_none_or(|lot| lot.emptied);
        let mut changes = Vec::new();
        let mut found = !commands.is_empty();
        if let Some(mut lot) = lot {
            found |= !lot.changes.is_empty() || lot.lost;
            self.tell_loss(lot.lost, until, &mut changes);
            for change in std::mem::take(&mut lot.changes) {
                let turns = lot.turns(change.pid);
                self.charge(change, turns, until, &mut changes);
            }
        }
        if emptied {
            self.since = began;
        }
        self.table.forget(until);
        self.totals.execs = self.table.commands();
        let events = in_turn(commands, changes);
        if !events.is_empty() {
            (self.sink)(events);
        }
        Look { found, emptied }
    }

    fn lose(&mut self, count: u64, at: u64, events: &mut Vec<Event>) {
        if count > 0 {
            self.totals.lost += count;
            let lost = Lost { source: "exec".into(), count: Some(count) };
            events.push(Event::new(self.clock.wall(at), What::Lost(lost)));
        }
    }

    fn tell_loss(&mut self, lost: bool, at: u64, events: &mut Vec<Event>) {
        if lost {
            self.complete = false;
            self.totals.lost += 1;
            let lost = Lost { source: "file".into(), count: None };
            events.push(Event::new(self.clock.wall(at), What::Lost(lost)));
        }
    }

    fn charge(&mut self, one: Change, turns: (u32, bool), until: u64, events: &mut Vec<Event>) {
        let Change { pid, change, telling, turn } = one;
        let news = telling == Telling::IfYoung && !self.dirty.contains(change.path.bytes());
        self.dirty.add(change.path.bytes());
        if let Some(to) = &change.to {
            self.dirty.add(to.bytes());
        }
        let told = match telling {
            Telling::Yes => true,
            Telling::IfYoung => news && self.is_young(&change),
            Telling::No => false,
        };
        if !told {
            return;
        }
        let charge = self.table.charge(pid, self.since, until).map(|charge| match charge.sure {
            true => charge,
            false => self.table.charge_in_turn(pid, self.since..=until, turn, turns).unwrap_or(charge),
        });
        let at = charge.map_or(until, |charge| charge.until.min(until));
        let by = (pid != 0).then(|| Actor {
            pid: Some(pid),
            command: charge.and_then(|charge| charge.command),
            exact: charge.is_none_or(|Charge { sure, .. }| sure),
        });
        self.totals.files += 1;
        events.push(Event::new(self.clock.wall(at), What::File(FileChange { by, ..change })));
    }

    fn is_young(&self, change: &FileChange) -> bool {
        debug_assert_eq!(change.action, Action::Modified);
        let start = self.clock.wall(self.since.saturating_sub(COARSE_NS)).unix_nanos();
        let Some(Source::Marked(files)) = &self.files else { return false };
        files.changed_at(change.path.bytes()).is_some_and(|changed| changed >= start)
    }

    fn take_dirty(&mut self) -> Dirty {
        self.look_until_empty();
        for path in mapped::writable(&self.table.living(), &self.workspace) {
            self.dirty.add(&path);
        }
        let mut complete = std::mem::replace(&mut self.complete, self.files.is_some());
        complete &= !self.mounts.changed();
        match &mut self.files {
            None => {}
            Some(Source::Watched(watched)) => {
                let theirs = watched.watches().take_dirty();
                complete &= theirs.complete;
                theirs.paths.iter().for_each(|path| self.dirty.add(path));
            }
            Some(Source::Marked(files)) if !files.complete() => {
                complete = false;
                files.list_again();
            }
            Some(Source::Marked(_)) => {}
        }
        let paths = self.dirty.take();
        if let Some(Source::Marked(files)) = &self.files {
            complete &= !files.any_linked_elsewhere(&paths);
        }
        Dirty { paths, complete }
    }
}

/// Puts changes between the beginnings and ends of commands, each before the end of the command that made it.
///
/// What is told of processes keeps its order, although their times may differ by a little: each processor has read the
/// clock before it had its turn at the ring.
fn in_turn(commands: Vec<Event>, mut changes: Vec<Event>) -> Vec<Event> {
    changes.sort_by_key(|event| event.at);
    let mut events = Vec::with_capacity(commands.len() + changes.len());
    let mut changes = changes.into_iter().peekable();
    for event in commands {
        let ends = matches!(event.what, What::Exit(_));
        while let Some(change) = changes.next_if(|change| change.at < event.at || (ends && change.at == event.at)) {
            events.push(change);
        }
        events.push(event);
    }
    events.extend(changes);
    events
}

fn named(workspace: &Path) -> io::Result<Vec<u8>> {
    belay_sys::path_of(belay_sys::Root::open(workspace)?.as_fd())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn kernel(what: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Kernel { what, source }
}

/// What it means that a layer does not work as root would have it.
pub(crate) fn shortcoming(error: &Error) -> Degraded {
    let files = matches!(error, Error::Unavailable { engine: "fanotify", .. });
    let (layer, instead) = if files { ("files", "inotify") } else { ("exec", "ptrace and inotify") };
    Degraded { layer: layer.into(), why: format!("{error}; belay makes do with {instead}") }
}

#[cfg(test)]
mod tests;
