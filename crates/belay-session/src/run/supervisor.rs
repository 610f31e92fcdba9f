//! The supervisor: what it holds, and the loop over what wakes it.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Scope;
use std::time::{Duration, Instant};

use belay_event::{At, Ended, Event, Isolation, Rewound, RunEnded, What};
use belay_journal::Writer;
use belay_store::Quiet;
use belay_sys::Exit;
use belay_trace::Tracer;

use super::agent::{self, Answerer, Helpers};
use super::captures::{Captures, Job};
use super::confine::{Den, Engine};
use super::console::Recent;
use super::control::Control;
use super::denials::{RefusedPaths, Watch};
use super::discarded::Private;
use super::held::Holds;
use super::outskirts::Outskirts;
use super::passers::Passers;
use super::person::Owner;
use super::progress::Telling;
use super::record::{ProcessName, RunRecord, RunState};
use super::refusals::{Commands, Mending};
use super::start::Streams;
use super::steps::Steps;
use super::storm::Deletions;
use super::tally::Tally;
use super::thrift::Thrift;
use super::tree::{self, Tree};
use super::unseen;
use super::wire::{Answer, Farewell, Request};
use super::{Host, Wake};
use crate::error::{Error, Result, chain};
use crate::record::Kind;
use crate::trigger::{Ask, Triggers};
use crate::workspace::{Work, Workspace};

/// How often the loop looks around when nothing wakes it.
pub(super) const TICK: Duration = Duration::from_millis(250);
/// How often it looks at what the processes do.
const LOOK: Duration = Duration::from_secs(1);
/// How long the processes are given to end by themselves when asked politely.
const GRACE: Duration = Duration::from_secs(5);
/// How long the terminal is given to show the last words of a run.
const LAST_WORDS: Duration = Duration::from_millis(500);

const SIGKILL: i32 = rustix::process::Signal::KILL.as_raw();
const SIGTERM: i32 = rustix::process::Signal::TERM.as_raw();
const SIGCONT: i32 = rustix::process::Signal::CONT.as_raw();

/// Everything that a supervisor holds.
pub(super) struct Supervisor<'w> {
    pub(super) workspace: &'w Workspace<'w>,
    pub(super) record: RunRecord,
    pub(super) control: Control,
    pub(super) wakes: Sender<Wake>,
    pub(super) inbox: Receiver<Wake>,
    pub(super) streams: Option<Streams>,
    pub(super) terminal: Option<Arc<File>>,
    pub(super) recent: Recent,
    pub(super) pump: Option<std::thread::JoinHandle<()>>,
    pub(super) env: Vec<Vec<u8>>,
    pub(super) den: Den,
    pub(super) helpers: Helpers,
    pub(super) answerer: Option<Answerer>,
    pub(super) deletions: Deletions,
    thrift: Thrift,
    pub(super) outskirts: Outskirts,
    pub(super) commands: Commands,
    pub(super) mending: Option<Mending>,
    /// Directories that only the jail has.
    pub(super) private: Private,
    /// Paths that the command must not make or change, and no jail can keep it from.
    pub(super) unheld: Vec<super::Unheld>,
    /// How often one of them was put aside.
    pub(super) put_aside: usize,
    /// When they are looked at again: whatever wakes the loop, not more often than it turns by itself.
    pub(super) next_aside: Instant,
    /// Names of the workspace before the run, of files that may have others elsewhere.
    pub(super) linked: super::links::Names,
    pub(super) denials: Option<Watch>,
    /// Loaded beside other work, and not yet told what to watch.
    pub(super) denials_by_kernel: Option<belay_trace::Denials>,
    pub(super) tree: Option<Tree>,
    pub(super) tracer: Option<Tracer>,
    pub(super) journal: Option<Writer>,
    pub(super) triggers: Triggers,
    pub(super) captures: Captures,
    pub(super) steps: Steps,
    pub(super) holds: Holds,
    passers: Passers,
    jobs: Option<Sender<Job>>,
    pub(super) tally: Tally,
    /// The command's own end, as the tracer saw it.
    seen_end: Option<Ended>,
    pub(super) unexecuted: Option<i32>,
    /// Processes that were ended with the command.
    ended_with_it: Vec<(u32, String)>,
    /// Events from before the journal's first.
    pub(super) pending: Vec<Event>,
    pub(super) frozen_by: Vec<u64>,
    pub(super) thawed_at: Option<Instant>,
    /// Whether keys stopped the command, and nobody let it go on.
    pub(super) is_suspended: bool,
    /// Clients that stopped with it.
    pub(super) away: Vec<u64>,
    /// What whoever holds it has put back so far.
    put_back: Vec<Event>,
    pub(super) kill_at: Option<Instant>,
    is_over: bool,
    pub(super) time_up_at: Option<Instant>,
    next_look: Instant,
    /// What the last snapshot of the run lacked, as it was told.
    pub(super) lacking: String,
    pub(super) stop: &'static AtomicBool,
}

impl<'w> Supervisor<'w> {
    /// Opens the terminal and the socket; whoever started the run can be told everything from here on.
    pub(super) fn open(workspace: &'w Workspace<'w>, mut record: RunRecord, host: Host) -> Result<Supervisor<'w>> {
        let dir = workspace.home().run_dir(&record.id);
        let (wakes, inbox) = channel();
        let (streams, terminal) = Streams::open(&record, &dir).map_err(Error::run("open a terminal"))?;
        let control = Control::new(wakes.clone(), terminal.clone(), host.stop);
        control.listen(&dir).map_err(Error::run("open the control socket"))?;
        host.channel.map(|channel| control.serve(channel)).transpose().map_err(Error::run("answer whoever asked"))?;
        let den = host.den.at(workspace.path());
        let helpers = Helpers::default();
        if let Some(answerer) = host.answerer.filter(|_| record.confinement.engine != Engine::None) {
            let owner = den.owner.as_ref().map(Owner::numbers);
            agent::listen(&dir, &record.id, (answerer, helpers.clone()), owner, wakes.clone())
                .map_err(Error::run("open the agent's socket"))?;
        }
        record.supervisor = ProcessName::of(std::process::id());
        record.save(workspace.home().disk(), false)?;
        let now = At::from(workspace.home().options.clock.now());
        Ok(Supervisor {
            triggers: Triggers::new(workspace.settings(), true, now),
            workspace,
            record,
            control,
            wakes,
            inbox,
            streams: Some(streams),
            terminal,
            recent: Recent::default(),
            pump: None,
            env: host.env,
            den,
            helpers,
            answerer: host.answerer,
            deletions: Deletions::new(workspace.settings()),
            thrift: Thrift::default(),
            outskirts: Outskirts::new(workspace.settings()),
            commands: Commands::default(),
            mending: None,
            private: Private::default(),
            unheld: Vec::new(),
            put_aside: 0,
            next_aside: Instant::now(),
            linked: super::links::Names::default(),
            denials: None,
            denials_by_kernel: None,
            tree: None,
            tracer: None,
            journal: None,
            captures: Captures::default(),
            steps: Steps::default(),
            holds: Holds::default(),
            passers: Passers::default(),
            jobs: None,
            tally: Tally::default(),
            seen_end: None,
            unexecuted: None,
            ended_with_it: Vec::new(),
            pending: Vec::new(),
            frozen_by: Vec::new(),
            thawed_at: None,
            is_suspended: false,
            away: Vec::new(),
            put_back: Vec::new(),
            kill_at: None,
            is_over: false,
            time_up_at: None,
            next_look: Instant::now() + LOOK,
            lacking: String::new(),
            stop: host.stop,
        })
    }

    /// Lets a thread take the snapshots, so that the loop never waits for one.
    pub(super) fn take_snapshots_on<'s>(&mut self, scope: &'s Scope<'s, '_>)
    where
        'w: 's,
    {
        let (jobs, todo) = channel::<Job>();
        let (workspace, wakes, run) = (self.workspace, self.wakes.clone(), self.record.clone());
        let control = self.control.clone();
        scope.spawn(move || {
            // A snapshot of a run is finished even if the run is to stop: it is what the stop is taken back to.
            static CALM: AtomicBool = AtomicBool::new(false);
            for job in todo {
                // Only for the last one somebody waits.
                let done = match job.ask.kind {
                    Kind::Final => {
                        let progress = Telling::new(control.clone(), run.terminal.contains(&true));
                        job.carry_out(workspace, &run, Work { progress: &progress, stop: &CALM })
                    }
                    _ => job.carry_out(workspace, &run, Work { progress: &Quiet, stop: &CALM }),
                };
                if wakes.send(Wake::Taken(Box::new(done))).is_err() {
                    return;
                }
            }
        });
        self.jobs = Some(jobs);
    }

    pub(super) fn stop_taking_snapshots(&mut self) {
        self.jobs = None;
    }

    /// The loop: until the command ended, or a watch is stopped.
    pub(super) fn attend(&mut self) {
        while !self.is_over {
            let rest = self.holds.deadline().map(|at| at.saturating_duration_since(Instant::now()));
            match self.inbox.recv_timeout(rest.map_or(TICK, |rest| rest.min(TICK))) {
                Ok(wake) => self.wake(wake),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.tick();
        }
    }

    pub(super) fn wake(&mut self, wake: Wake) {
        match wake {
            Wake::Events(events) => self.observed(events),
            Wake::Outside(place, events) => self.outskirts.observe(place, &events),
            Wake::Request(client, request) => self.asked(client, request),
            Wake::Gone(client) => {
                self.thaw(client, None);
                self.gone(client);
                self.without_a_person();
            }
            Wake::Refused(refusal) => self.refused(refusal),
            Wake::Undone(failed) => self.undone(failed),
            Wake::ChildExited(ended) => {
                self.is_over = true;
                self.ended_with_it = ended;
            }
            Wake::ChildStopped(at) => self.stopped(at),
            Wake::Held(held) => self.held(held),
            Wake::Gate(news) => self.gate_changed(news),
            Wake::Taken(done) => {
                self.steps.taken(&done);
                self.taken(*done);
            }
            Wake::Step(why, told) => self.step(&why, told),
        }
    }

    /// What is done whenever the loop turns.
    fn tick(&mut self) {
        if self.record.child.is_some() {
            self.reap();
        }
        self.mend_covers(false);
        let now = Instant::now();
        if now >= self.next_aside {
            self.next_aside = now + TICK;
            self.put_aside_made();
        }
        self.watch_denials();
        self.watch_deletions();
        self.watch_outside();
        let now = Instant::now();
        if self.stop.swap(false, Ordering::SeqCst) {
            self.stop("stopped", false);
        }
        if self.time_up_at.is_some_and(|at| now >= at) {
            self.time_up_at = None;
            self.stop("time limit", false);
        }
        if self.kill_at.is_some_and(|at| now >= at) {
            self.kill_at = None;
            self.kill();
        }
        self.look_after_held(now);
        let at = self.now();
        if now >= self.next_look {
            self.next_look = now + LOOK;
            self.look_for_the_end();
            let activity = self.tree.as_mut().map(Tree::activity).unwrap_or_default();
            let asks = self.triggers.tick(at, activity);
            asks.into_iter().for_each(|ask| self.captures.ask(ask));
        } else if self.triggers.next_tick().is_some_and(|due| due <= at) {
            let asks = self.triggers.tick(at, Default::default());
            asks.into_iter().for_each(|ask| self.captures.ask(ask));
        }
        self.take_next();
    }

    /// Ends what nobody can want any more, or end in any other way.
    fn look_for_the_end(&mut self) {
        if self.record.is_watch() && self.workspace.is_gone() {
            self.stop("its directory was removed", false);
        } else if !self.has_record() && (self.record.is_watch() || !self.control.has_clients()) {
            self.stop("its record was removed", false);
        }
    }

    /// Whether its record is where whoever wants to know of it, or to stop it, looks.
    fn has_record(&self) -> bool {
        self.workspace.home().run_dir(&self.record.id).is_dir()
    }

    /// Hands the next snapshot to the thread that takes them.
    fn take_next(&mut self) {
        let Some(jobs) = &self.jobs else { return self.holds.release() };
        if let Some(job) = self.captures.next(self.tracer.as_ref()) {
            let now = self.now();
            self.captures.began(now);
            if job.ask.kind == Kind::Tool {
                self.steps.begun();
            }
            self.holds.begun();
            // The thread outlives the sender.
            let _ = jobs.send(job);
        } else if !self.captures.is_busy() {
            self.holds.release();
        }
        if !self.captures.asks_for(Kind::Tool) {
            self.steps.unchanged();
        }
    }

    /// Takes in what the tracer saw.
    fn observed(&mut self, mut events: Vec<Event>) {
        if self.record.is_watch() {
            events = self.passers.name(events);
        }
        if self.frozen_by.is_empty() {
            return self.happened(events);
        }
        let holders: Vec<u32> = self.frozen_by.iter().filter_map(|client| self.control.pid_of(*client)).collect();
        let (put_back, rest) = unseen::while_held(events, &holders);
        self.put_back.extend(put_back);
        self.happened(rest);
    }

    /// Takes in every event that already happened; other wakes wait their turn.
    pub(super) fn catch_up(&mut self) {
        if let Some(tracer) = &self.tracer {
            tracer.flush();
        }
        self.outskirts.flush();
        self.take_events();
    }

    /// Takes in every change of a file that already happened; commands may be late.
    pub(super) fn see_changes(&mut self) {
        if let Some(tracer) = &self.tracer {
            tracer.hand_over();
        }
        self.take_events();
    }

    fn take_events(&mut self) {
        let waiting: Vec<Wake> = self.inbox.try_iter().collect();
        for wake in waiting {
            match wake {
                Wake::Events(events) => self.observed(events),
                Wake::Outside(place, events) => self.outskirts.observe(place, &events),
                // We hold the other end ourselves.
                other => drop(self.wakes.send(other)),
            }
        }
    }

    /// Takes in events, in order.
    pub(super) fn happened(&mut self, mut events: Vec<Event>) {
        let mut named = Vec::new();
        for event in &events {
            self.tally.observe(event);
            if let What::Exec(exec) = &event.what {
                named.extend(self.holds.named(exec.pid, exec.command));
            }
            self.deletions.observe(event);
            if matches!(event.what, What::Exit(_)) {
                self.outskirts.command_ended();
            }
            self.commands.observe(event);
            self.captures.observe(event);
            if let What::Exit(exit) = &event.what
                && self.record.child.as_ref().is_some_and(|child| child.pid == exit.pid)
                && !matches!(exit.ended, Ended::Replaced(_))
            {
                self.seen_end = Some(exit.ended);
            }
            for ask in self.triggers.observe(event) {
                self.captures.ask(ask);
            }
        }
        if let Some(journal) = &self.journal {
            self.thrift.cut(&mut events);
            journal.append(events);
        }
        if !named.is_empty() {
            self.happened(named);
        }
    }

    fn asked(&mut self, client: u64, request: Request) {
        match request {
            Request::Attach(size) => self.attached(client, size),
            Request::Resize(size) => self.resize(size),
            Request::Away => self.away(client),
            Request::Resume(size) => self.back(client, size),
            Request::Signal(signal) => match &self.record.child {
                Some(child) => drop(belay_sys::signal_group(child.pid, signal)),
                None => self.stop("stopped", false),
            },
            Request::Stop { now } => self.stop("stopped", now),
            Request::Freeze => self.freeze(client),
            Request::Thaw(rewound) => {
                self.thaw(client, rewound);
                self.control.answer(client, &Answer::Thawed);
            }
            Request::Decide(decision) => self.decide(decision),
            Request::Called(call) => {
                self.happened(vec![self.event(What::McpCall(*call))]);
                self.report(client);
            }
            Request::Taken(at, taken) => {
                self.happened(vec![Event::new(at, What::Snapshot(*taken))]);
                self.report(client);
            }
            Request::Step(why) => {
                let control = self.control.clone();
                let told = move |done: std::result::Result<(), String>| {
                    control.answer(client, &done.map_or_else(Answer::Refused, |()| Answer::Captured));
                };
                self.step(&why, Box::new(told));
            }
            Request::Status => self.report(client),
        }
    }

    fn report(&mut self, client: u64) {
        self.record.totals = self.tally.totals;
        self.control.answer(client, &Answer::Status(Box::new(self.record.clone())));
    }

    fn freeze(&mut self, client: u64) {
        // Who waits in the middle of an `execve` cannot be frozen; let in, it freezes before its first instruction.
        self.holds.release();
        let pid = self.control.pid_of(client);
        let frozen = match &mut self.tree {
            Some(tree) if self.frozen_by.is_empty() => tree.freeze(pid),
            _ => Ok(()),
        };
        match frozen {
            Ok(()) => {
                self.catch_up();
                self.frozen_by.push(client);
                self.control.answer(client, &Answer::Frozen);
            }
            Err(error) => {
                self.thawed_at = Some(Instant::now());
                self.control.answer(client, &Answer::Refused(belay_sys::plain(error)));
            }
        }
    }

    /// Lets the run go on if this client was the last that held it.
    pub(super) fn thaw(&mut self, client: u64, rewound: Option<Rewound>) {
        let held = self.frozen_by.len();
        if held > 0 {
            self.catch_up();
            self.mend_covers(true);
        }
        self.frozen_by.retain(|holder| *holder != client);
        if let Some(rewound) = rewound {
            self.announce(&rewound);
            self.happened(vec![self.event(What::Rewound(rewound))]);
        }
        // Behind that, so that each says where it came from.
        let put_back = std::mem::take(&mut self.put_back);
        self.happened(put_back);
        if held > 0
            && self.frozen_by.is_empty()
            && let Some(tree) = &mut self.tree
        {
            // A group that cannot be thawed is gone, and so are its processes.
            let _ = tree.thaw();
            self.thawed_at = Some(Instant::now());
        }
    }

    /// Ends everything: politely with a last resort, or at once.
    fn stop(&mut self, because: &str, now: bool) {
        self.record.because.get_or_insert_with(|| because.to_owned());
        if self.record.is_watch() {
            self.is_over = true;
            return;
        }
        if let Some(tree) = self.tree.as_mut().filter(|_| !self.frozen_by.is_empty()) {
            let _ = tree.thaw();
            self.frozen_by.clear();
        }
        if now {
            return self.kill();
        }
        if let Some(tree) = &self.tree {
            tree.signal(SIGTERM);
            tree.signal(SIGCONT);
        }
        self.kill_at.get_or_insert(Instant::now() + GRACE);
    }

    pub(super) fn kill(&mut self) {
        if let Some(Err(error)) = self.tree.as_mut().map(Tree::kill) {
            let why = format!("not everything could be stopped: {}", belay_sys::plain(error));
            let degraded = belay_event::Degraded { layer: "freeze".into(), why };
            self.happened(vec![self.event(What::Degraded(degraded))]);
        }
    }

    /// Takes the exit status of the command, and of orphans that were given to us.
    fn reap(&mut self) {
        for (pid, exit) in belay_sys::reap_children() {
            if self.record.child.as_ref().is_some_and(|child| child.pid == pid) {
                self.record.ended = Some(match exit {
                    Exit::Code(code) => Ended::Code(code),
                    Exit::Signal(signal) => Ended::Signal(signal),
                });
            }
        }
    }

    /// After the loop: last events, last snapshots, the end of the journal.
    pub(super) fn settle(&mut self) {
        self.reap();
        if self.record.ended == Some(Ended::Signal(SIGKILL))
            && self.tree.as_ref().is_some_and(Tree::has_run_out_of_memory)
        {
            self.record.because.get_or_insert_with(|| "memory limit".to_owned());
        }
        let is_confined = self.record.protection.as_ref().is_some_and(|now| now.isolation != Isolation::None);
        // What is confined would end with us anyway, but after the last snapshot.
        if self.record.because.is_some() || is_confined {
            self.kill();
            self.reap();
        }
        self.settle_storms();
        self.control.tell_all(&Answer::Finishing);
        self.put_aside_at_the_end();
        if let Some(tracer) = &self.tracer {
            tracer.flush();
        }
        self.drain();
        // Of a directory that is gone there is nothing to take, and in a home that is gone nothing to keep it in.
        if self.has_record() && !(self.record.is_watch() && self.workspace.is_gone()) {
            self.take_last_snapshots();
        }
        if let Some(tracer) = self.tracer.take() {
            tracer.stop();
        }
        self.drain();
        let nameless = self.holds.nameless(None);
        self.happened(nameless);
        self.settle_denials();
        self.record.discarded = std::mem::take(&mut self.private).end();
        self.record_unseen();
        self.record.ended = self.record.ended.or(self.seen_end);
        self.last_words();
    }

    fn take_last_snapshots(&mut self) {
        let asks = self.triggers.at_end();
        asks.into_iter().for_each(|ask| self.captures.ask(ask));
        self.finish_snapshots();
        if self.workspace.settings().disabled_by().is_none() {
            self.captures.ask(Ask::new(Kind::Final, None, "after the run"));
            self.finish_snapshots();
        }
    }

    /// Takes in everything that is waiting.
    fn drain(&mut self) {
        while let Ok(wake) = self.inbox.try_recv() {
            self.wake(wake);
        }
    }

    fn finish_snapshots(&mut self) {
        self.take_next();
        while self.captures.is_busy() {
            let Ok(wake) = self.inbox.recv() else { return };
            if let Wake::Taken(done) = &wake
                && let Some(id) = done.id().filter(|_| done.kind() == Kind::Final)
            {
                self.record.final_snapshot = Some(id.to_owned());
            }
            self.wake(wake);
            self.take_next();
        }
    }

    /// Waits a moment for the terminal to show what was written to it last.
    fn last_words(&mut self) {
        let Some(pump) = self.pump.take() else { return };
        let deadline = Instant::now() + LAST_WORDS;
        while !pump.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Writes down how it ended, and tells everybody.
    pub(super) fn farewell(mut self, result: Result<()>) -> Result<()> {
        let disk = self.workspace.home().disk();
        self.record.state = if result.is_ok() { RunState::Ended } else { RunState::Failed };
        if let Err(error) = &result {
            self.record.because = Some(chain(error));
            self.kill();
        }
        self.record.ended_at = Some(self.workspace.home().options.clock.now());
        let ended = RunEnded { ended: self.record.ended, because: self.record.because.clone(), root: self.last_root() };
        self.happened(vec![self.event(What::RunEnded(ended))]);
        let recorded = self.journal.take().map(|journal| journal.finish()).transpose();
        let removed = || (!self.has_record()).then(|| "it was removed while the run went on".to_owned());
        let unrecorded = recorded.err().map(|error| chain(&error.into())).or_else(removed);
        self.record.totals = self.tally.totals;
        self.count_kept_apart();
        let saved = match self.has_record() {
            true => self.record.save(disk, true).and_then(|()| self.record.unmark(disk)),
            false => Ok(()),
        };
        let left = self.tree.as_ref().map(Tree::outlive).unwrap_or_default();
        let denied = match self.unexecuted {
            Some(errno) => RefusedPaths { paths: self.hidden_program(errno), ..RefusedPaths::default() },
            None => self.refused_paths(),
        };
        let farewell = Farewell {
            run: self.record.clone(),
            unexecuted: self.unexecuted,
            left: left.into_iter().map(|pid| (pid, tree::command_of(pid))).collect(),
            ended: std::mem::take(&mut self.ended_with_it),
            refused: self.tally.refused(),
            denied: denied.paths,
            denied_more: denied.more,
            denied_untold: denied.untold,
            by_command: self.tally.deeds(),
            doers: self.tally.doers(),
            paths: self.record.totals.paths.unwrap_or(0),
            beyond: self.tally.beyond(),
            gaps: self.gaps_of(self.record.final_snapshot.as_ref()),
            pre_run_gaps: self.gaps_of(self.record.pre_run.as_ref()),
            interrupted: matches!(result, Err(Error::RunInterrupted)),
            unrecorded,
        };
        self.control.tell_all(&Answer::Ended(Box::new(farewell)));
        for socket in ["control.sock", agent::SOCKET] {
            let _ = std::fs::remove_file(self.workspace.home().run_dir(&self.record.id).join(socket));
        }
        saved?;
        result
    }

    fn last_root(&self) -> Option<String> {
        let timeline = self.workspace.timeline().ok()?;
        let id = self.record.final_snapshot.as_ref()?;
        timeline.get(id).map(|snapshot| snapshot.root.to_hex())
    }

    /// What is written to a layer is told by no event: the layer itself says how many paths there are.
    fn count_kept_apart(&mut self) {
        if !self.record.confinement.ephemeral {
            return;
        }
        let layer = self.workspace.home().layer_of(&self.record.id, self.workspace.path());
        if let Some(changed) = layer.exists().then(|| layer.changed().ok()).flatten() {
            self.record.totals.paths = Some(changed.len() as u64);
        }
    }

    pub(super) fn now(&self) -> At {
        At::from(self.workspace.home().options.clock.now())
    }

    pub(super) fn event(&self, what: What) -> Event {
        Event::new(self.now(), what)
    }
}
