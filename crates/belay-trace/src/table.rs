//! Which command a process was running at a moment: raw records in, numbered commands out.
//!
//! Invariants:
//! - records arrive in the order in which they happened for each process: its fork, its execs, its exit;
//! - a process is known by its pid within a span of time, so a pid that is used again is somebody else;
//! - the dead are remembered for a few seconds, since file events about them may still be under way, then forgotten:
//!   memory follows the living.

use std::collections::{HashMap, VecDeque};

use belay_event::{Ended, Event, Exec, Exit, Raw, What};

use crate::clock::Clock;

/// How long a span that ended can still be asked for.
const REMEMBER_NS: u64 = 5_000_000_000;

/// What a tracer saw, dated by the boot clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// A process was made; threads are none.
    Fork {
        /// When.
        at: u64,
        /// Who made it.
        parent: u32,
        /// The new process.
        child: u32,
    },
    /// A process executed something.
    Exec {
        /// When.
        at: u64,
        /// What.
        image: Box<Image>,
    },
    /// The last thread of a process ended.
    Exit {
        /// When.
        at: u64,
        /// The process.
        pid: u32,
        /// How.
        ended: Ended,
    },
}

/// What was executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) pid: u32,
    pub(crate) ppid: u32,
    pub(crate) uid: u32,
    pub(crate) argv: Vec<Raw>,
    pub(crate) exe: Raw,
    pub(crate) cwd: Raw,
    pub(crate) cut: bool,
}

/// The part of the run that a process was at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Charge {
    /// The command; none for a process of the run that never executed anything and has no forebear that did.
    pub(crate) command: Option<u64>,
    /// Whether no other command of the same process comes into question.
    pub(crate) sure: bool,
    /// When it stopped being that, if it did.
    pub(crate) until: u64,
}

/// Every process of the run that lives or died a moment ago.
#[derive(Debug)]
pub(crate) struct Table {
    clock: Clock,
    spans: HashMap<u32, Vec<Span>>,
    ended: VecDeque<(u64, u32)>,
    commands: u64,
}

/// What one process was, from one moment up to another.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: u64,
    to: u64,
    command: Option<u64>,
    /// Whether this process executed the command itself; otherwise it is a fork of one that did.
    executed: bool,
}

impl Table {
    pub(crate) fn new(clock: Clock) -> Table {
        Table { clock, spans: HashMap::new(), ended: VecDeque::new(), commands: 0 }
    }

    /// Takes a process into the run that was not seen to be forked: the held first one.
    pub(crate) fn adopt(&mut self, pid: u32, at: u64) {
        if self.present(pid).is_none() {
            self.begin(pid, Span { from: at, to: u64::MAX, command: None, executed: false });
        }
    }

    /// How many commands were numbered.
    pub(crate) fn commands(&self) -> u64 {
        self.commands
    }

    /// Every process of the run that lives.
    pub(crate) fn living(&self) -> Vec<u32> {
        let lives = |spans: &Vec<Span>| spans.last().is_some_and(|span| span.to == u64::MAX);
        self.spans.iter().filter(|(_, spans)| lives(spans)).map(|(pid, _)| *pid).collect()
    }

    /// Whether a process of the run has this pid now.
    #[cfg(test)]
    pub(crate) fn lives(&self, pid: u32) -> bool {
        self.spans.get(&pid).and_then(|spans| spans.last()).is_some_and(|span| span.to == u64::MAX)
    }

    /// How many spans are remembered.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.spans.values().map(Vec::len).sum()
    }

    /// Learns a record and appends what it means.
    pub(crate) fn learn(&mut self, record: Record, out: &mut Vec<Event>) {
        match record {
            Record::Fork { at, parent, child } => self.fork(at, parent, child),
            Record::Exec { at, image } => self.exec(at, *image, out),
            Record::Exit { at, pid, ended } => self.exit(at, pid, ended, out),
        }
    }

    /// What a process was in `(since, until]`; none if it was not of the run.
    ///
    /// Of several commands the last counts: a shell's child opens its redirections just before it becomes the
    /// command that they belong to.
    pub(crate) fn charge(&self, pid: u32, since: u64, until: u64) -> Option<Charge> {
        let spans = self.spans.get(&pid)?;
        let mut overlapping = spans.iter().filter(|span| span.from <= until && span.to >= since);
        let mut last = overlapping.next()?;
        let mut sure = true;
        for span in overlapping {
            sure &= !last.executed || last.command == span.command;
            last = span;
        }
        Some(Charge { command: last.command, sure, until: last.to })
    }

    /// What a process was in that time, after `turn` of `all` the executions that were seen of it; with `carried` the first of
    /// these may have been before that time.
    ///
    /// None if these are not the executions that separate what it was.
    pub(crate) fn charge_in_turn(
        &self,
        pid: u32,
        time: std::ops::RangeInclusive<u64>,
        turn: u32,
        (all, carried): (u32, bool),
    ) -> Option<Charge> {
        let spans = self.spans.get(&pid)?.iter();
        let overlapping: Vec<&Span> =
            spans.filter(|span| span.from <= *time.end() && span.to >= *time.start()).collect();
        let before = match (all as usize + 1).checked_sub(overlapping.len())? {
            0 => 0,
            1 if carried => 1,
            _ => return None,
        };
        let span = overlapping.get((turn as usize).checked_sub(before)?)?;
        Some(Charge { command: span.command, sure: true, until: span.to })
    }

    /// Forgets what ended long before `now`.
    pub(crate) fn forget(&mut self, now: u64) {
        while let Some((at, pid)) = self.ended.front().copied() {
            if at.saturating_add(REMEMBER_NS) > now {
                return;
            }
            self.ended.pop_front();
            if let Some(spans) = self.spans.get_mut(&pid) {
                spans.retain(|span| span.to.saturating_add(REMEMBER_NS) > now);
                if spans.is_empty() {
                    self.spans.remove(&pid);
                }
            }
        }
    }

    fn fork(&mut self, at: u64, parent: u32, child: u32) {
        let command = self.present(parent).and_then(|span| span.command);
        // An exit that was lost would otherwise leave the old process there for ever.
        self.end(child, at);
        self.begin(child, Span { from: at, to: u64::MAX, command, executed: false });
    }

    fn exec(&mut self, at: u64, image: Image, out: &mut Vec<Event>) {
        self.commands += 1;
        let command = self.commands;
        let before = self.end(image.pid, at);
        // Without a fork that was seen, the parent tells where it comes from.
        let parent = match before {
            Some(span) => span.command,
            None => self.present(image.ppid).and_then(|span| span.command),
        };
        if let Some(Span { from, command: Some(old), executed: true, .. }) = before {
            let exit = Exit {
                command: old,
                pid: image.pid,
                ended: Ended::Replaced(command),
                duration_ns: at.saturating_sub(from),
            };
            out.push(Event::new(self.clock.wall(at), What::Exit(exit)));
        }
        self.begin(image.pid, Span { from: at, to: u64::MAX, command: Some(command), executed: true });
        let Image { pid, ppid, uid, argv, exe, cwd, cut } = image;
        let exec = Exec { command, parent, pid, ppid, uid, argv, exe, cwd, cut };
        out.push(Event::new(self.clock.wall(at), What::Exec(exec)));
    }

    fn exit(&mut self, at: u64, pid: u32, ended: Ended, out: &mut Vec<Event>) {
        if let Some(Span { from, command: Some(command), executed: true, .. }) = self.end(pid, at) {
            let exit = Exit { command, pid, ended, duration_ns: at.saturating_sub(from) };
            out.push(Event::new(self.clock.wall(at), What::Exit(exit)));
        }
    }

    fn begin(&mut self, pid: u32, span: Span) {
        self.spans.entry(pid).or_default().push(span);
    }

    /// Closes the open span of a process and returns it.
    fn end(&mut self, pid: u32, at: u64) -> Option<Span> {
        let span = self.spans.get_mut(&pid)?.last_mut().filter(|span| span.to == u64::MAX)?;
        span.to = at;
        self.ended.push_back((at, pid));
        Some(*span)
    }

    fn present(&self, pid: u32) -> Option<&Span> {
        self.spans.get(&pid)?.last().filter(|span| span.to == u64::MAX)
    }
}

#[cfg(test)]
mod tests;
