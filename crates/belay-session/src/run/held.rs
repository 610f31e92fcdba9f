//! Commands that can destroy work, held until what they may destroy is in a snapshot.
//!
//! A snapshot that was begun after a command was held serves it, whatever it was taken for. Invariants: nobody is held for longer
//! than [`HELD_MAX`], or a moment more if this process itself is stopped; what goes on without its snapshot is told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use belay_event::{At, Degraded, Event, SnapshotTaken, What};
use belay_trace::{GateNews, Held, Holding, Tracer};

use super::supervisor::Supervisor;
use super::tree::Tree;
use super::{Wake, tree};
use crate::error::chain;
use crate::record::Kind;
use crate::trigger;

/// How long a command is held at most: a snapshot of what changed takes milliseconds, and a person does not notice two seconds.
pub(super) const HELD_MAX: Duration = Duration::from_secs(2);

/// Whoever stands at the gate lets somebody in after this, should nobody here be able to: a moment later, so that it is told by then.
const GATE_HELD_MAX: Duration = Duration::from_millis(2500);

/// How long a snapshot waits for the number of the command that it was taken for.
const NAMED_WITHIN: Duration = Duration::from_secs(1);

/// The commands that are held, and the snapshots that were taken for them.
#[derive(Default)]
pub(super) struct Holds {
    waiting: Vec<Waiting>,
    /// Numbers of commands that were held, by their processes.
    numbers: Vec<(u32, u64)>,
    unnamed: Vec<Unnamed>,
}

struct Waiting {
    held: Held,
    until: Instant,
    is_served: bool,
}

/// A snapshot whose command is not recorded yet: one that is held in the middle of its `execve` has no number.
struct Unnamed {
    pid: u32,
    until: Instant,
    at: At,
    taken: SnapshotTaken,
}

impl Holds {
    /// Keeps a command held.
    pub(super) fn wait(&mut self, held: Held) {
        self.numbers.retain(|(pid, _)| *pid != held.pid);
        let until = held.since.map_or_else(Instant::now, |since| since + HELD_MAX);
        self.waiting.push(Waiting { held, until, is_served: false });
    }

    /// A snapshot begins: it holds what everybody who waits now could destroy.
    pub(super) fn begun(&mut self) {
        self.waiting.iter_mut().for_each(|waiting| waiting.is_served = true);
    }

    /// The snapshot that had begun is taken.
    pub(super) fn done(&mut self) {
        self.waiting.retain(|waiting| !waiting.is_served);
    }

    /// Lets everybody go.
    pub(super) fn release(&mut self) {
        self.waiting.clear();
    }

    /// Everybody who waited long enough; everybody at all without a time.
    fn overdue(&mut self, now: Option<Instant>) -> Vec<Held> {
        let late = self.waiting.extract_if(.., |waiting| now.is_none_or(|now| now >= waiting.until));
        late.map(|waiting| waiting.held).collect()
    }

    /// The soonest moment at which somebody has waited long enough.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let waiting = self.waiting.iter().map(|waiting| waiting.until);
        waiting.chain(self.unnamed.iter().map(|unnamed| unnamed.until)).min()
    }

    /// Notes the number of a command; returns the snapshots that waited for it.
    pub(super) fn named(&mut self, pid: u32, number: u64) -> Vec<Event> {
        if self.waiting.iter().any(|waiting| waiting.held.pid == pid) {
            self.numbers.push((pid, number));
        }
        let mine = self.unnamed.extract_if(.., |unnamed| unnamed.pid == pid);
        let taken = |unnamed: Unnamed| SnapshotTaken { command: Some(number), ..unnamed.taken };
        mine.map(|unnamed| Event::new(unnamed.at, What::Snapshot(taken(unnamed)))).collect()
    }

    /// A snapshot that was taken for the process: with its command's number, or none if that is still to come.
    fn name(&mut self, pid: u32, taken: SnapshotTaken, at: At) -> Option<SnapshotTaken> {
        if let Some(known) = self.numbers.iter().position(|(other, _)| *other == pid) {
            return Some(SnapshotTaken { command: Some(self.numbers.swap_remove(known).1), ..taken });
        }
        self.unnamed.push(Unnamed { pid, until: Instant::now() + NAMED_WITHIN, at, taken });
        None
    }

    /// The snapshots whose command never came.
    pub(super) fn nameless(&mut self, now: Option<Instant>) -> Vec<Event> {
        let late = self.unnamed.extract_if(.., |unnamed| now.is_none_or(|now| now >= unnamed.until));
        late.map(|unnamed| Event::new(unnamed.at, What::Snapshot(unnamed.taken))).collect()
    }
}

impl Supervisor<'_> {
    /// Has the tracer hold what can destroy work.
    pub(super) fn hold_destroyers(&mut self, tree: &Tree, degraded: &mut Vec<Degraded>) {
        let Some(tracer) = self.tracer.as_mut().filter(|_| self.triggers.wants_held()) else { return };
        let membership = tree.membership();
        let (held, news, helpers) = (self.wakes.clone(), self.wakes.clone(), self.helpers.clone());
        let mut programs = tree::programs_called("git", &self.env);
        // A tracer is told what was executed, and not by which link.
        let real: Vec<_> = programs.iter().filter_map(|program| std::fs::canonicalize(program).ok()).collect();
        programs.extend(real);
        let holding = Holding {
            programs,
            group: membership.group().map(<[u8]>::to_vec),
            held_max: GATE_HELD_MAX,
            is_meant: Arc::new(move |pid, argv| trigger::destroys(argv) && membership.has(pid)),
            // A loop that has ended lets everybody go.
            tell: Arc::new(move |command| drop(held.send(Wake::Held(command)))),
            news: Arc::new(move |change| {
                match change {
                    GateNews::Stands(pid) => helpers.add(pid),
                    GateNews::Gone { keeper, .. } => helpers.remove(keeper),
                }
                drop(news.send(Wake::Gate(change)));
            }),
        };
        if let Err(error) = Tracer::hold(tracer, holding) {
            let why =
                format!("commands that can destroy work are not held for their snapshot: {}", chain(&error.into()));
            degraded.push(Degraded { layer: "snapshots".into(), why });
        }
    }

    /// Takes in a command that is held.
    pub(super) fn held(&mut self, held: Held) {
        match self.triggers.held(held.pid, held.argv.as_deref()) {
            Some(ask) => {
                self.captures.ask(ask);
                self.holds.wait(held);
            }
            None => held.release(),
        }
    }

    /// Takes in what came of a snapshot.
    pub(super) fn taken(&mut self, done: super::captures::Done) {
        // If this process was stopped meanwhile, they went on before the snapshot was taken.
        self.look_after_held(Instant::now());
        // Before anybody goes on, since what they do then is not beside this snapshot.
        self.see_changes();
        self.holds.done();
        if done.is_known() {
            return self.captures.known(&done, self.tracer.is_some());
        }
        let pid = done.held();
        if done.kind() == Kind::PreRun && done.id().is_some() {
            self.record.pre_run = done.id().map(str::to_owned);
            // Whoever reviews the run meanwhile finds it; at the end it is written in any case.
            let _ = self.record.save(self.workspace.home().disk(), false);
        }
        let lacking = self.news_of_gaps(done.snapshot());
        let taken = self.captures.done(done, self.tracer.is_some());
        let at = self.now();
        let named = match pid {
            Some(pid) => self.holds.name(pid, taken, at),
            None => Some(taken),
        };
        if let Some(taken) = named {
            self.happened(vec![Event::new(at, What::Snapshot(taken))]);
        }
        if let Some(lacking) = lacking {
            self.happened(vec![Event::new(at, What::Degraded(lacking))]);
        }
    }

    /// Lets go of whoever waited for too long.
    pub(super) fn look_after_held(&mut self, now: Instant) {
        for held in self.holds.overdue(Some(now)) {
            self.went_on(held, &format!("was held for {} s and", HELD_MAX.as_secs()));
        }
        let nameless = self.holds.nameless(Some(now));
        if !nameless.is_empty() {
            self.happened(nameless);
        }
    }

    /// Takes in what became of the gate.
    pub(super) fn gate_changed(&mut self, news: GateNews) {
        let GateNews::Gone { again, .. } = news else { return };
        for held in self.holds.overdue(None) {
            self.went_on(held, "was held by nobody any more and");
        }
        let since = if again { "for a moment" } else { "from here on" };
        let why = format!(
            "the process that holds commands for their snapshot was stopped or killed: {since} commands that can destroy work \
             are not held"
        );
        self.happened(vec![self.event(What::Degraded(Degraded { layer: "snapshots".into(), why }))]);
    }

    fn went_on(&mut self, held: Held, because: &str) {
        let said = held.argv.as_deref().map_or_else(|| "a git command".to_owned(), trigger::said);
        held.release();
        let why = format!("{said} {because} went on before its snapshot was taken");
        self.happened(vec![self.event(What::Degraded(Degraded { layer: "snapshots".into(), why }))]);
    }
}
