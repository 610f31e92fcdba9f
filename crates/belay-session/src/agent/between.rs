//! What changed between two words of an agent, when none of its calls was under way: by a person, or another program.
//!
//! Nobody saw who it was, but what it was is known from the snapshots around it, and is recorded as a change by nobody.

use belay_event::{At, Event, What};
use belay_journal::{Change as Recorded, Reader};
use belay_store::{Change, Scope};
use jiff::{SignedDuration, Timestamp};

use super::memory::{Memory, OpenCall};
use super::{CHANGES_MAX, change_of};
use crate::changes::is_same;
use crate::error::Result;
use crate::record::{Kind, Snapshot};
use crate::spans::found_at;
use crate::workspace::Workspace;

/// When in a conversation something changed that is known of no call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Between two turns.
    OutsideTurn,
    /// In a turn, while no call was under way.
    BetweenCalls,
    /// While several calls were under way, or one whose end was never told: they may have done it.
    DuringCalls,
}

/// The turns and calls of a conversation, as its record tells them.
#[derive(Clone, Debug, Default)]
pub struct Gaps {
    /// The calls, from when to when.
    calls: Vec<(At, Option<At>)>,
    /// When turns began, and when they ended.
    turns: Vec<(At, bool)>,
}

impl Gaps {
    /// Reads them.
    pub fn read(journal: &Reader) -> Result<Gaps> {
        let span = |command: belay_journal::Command| {
            let ended = |nanos| At::from_unix_nanos(command.at.unix_nanos() + i128::from(nanos));
            (command.at, command.duration_ns.map(ended))
        };
        let calls = journal.commands()?.into_iter().map(span).collect();
        let begins = |kind: &str| match kind {
            "turn" => Some(true),
            "final" => Some(false),
            _ => None,
        };
        let turns = journal.snapshots()?.into_iter().filter_map(|one| Some((one.at, begins(&one.taken.kind)?)));
        Ok(Gaps { calls, turns: turns.collect() })
    }

    /// Where a change lies that no call is known to have made.
    pub fn of(&self, change: &Recorded) -> Gap {
        // With its turn a call is over whose end was never told.
        let turn_after = |begun: At| self.turns.iter().find(|(at, _)| *at >= begun).map(|(at, _)| *at);
        let is_under_way = |(begun, ended): &(At, Option<At>)| {
            *begun <= change.at && ended.or_else(|| turn_after(*begun)).is_none_or(|ended| change.at <= ended)
        };
        if self.calls.iter().any(is_under_way) {
            return Gap::DuringCalls;
        }
        match self.turns.iter().rev().find(|(at, _)| *at <= change.at) {
            Some((_, true)) => Gap::BetweenCalls,
            _ => Gap::OutsideTurn,
        }
    }
}

/// How long a call of another conversation is believed to be under way without its end being told.
const CALL_TIME_MAX: SignedDuration = SignedDuration::from_mins(10);

impl Workspace<'_> {
    /// When the turns of a conversation ended, as its record tells, and in which snapshots.
    pub(crate) fn ends_of_turns(&self, run: &str) -> Vec<(At, String)> {
        // Without a record nobody knows.
        let Ok(told) = Reader::open(&self.home.run_dir(run)).and_then(|reader| reader.snapshots()) else {
            return Vec::new();
        };
        let ends = told.into_iter().filter(|one| one.taken.kind == Kind::Final.name());
        ends.filter_map(|one| Some((one.at, one.taken.snapshot?))).collect()
    }

    /// Whether a call of another conversation is under way.
    fn is_somebody_at_work(&self, memory: &Memory, now: Timestamp) -> Result<bool> {
        let is_fresh = |call: &OpenCall| now.duration_since(call.at) < CALL_TIME_MAX;
        let others = Memory::all(self)?.into_iter().filter(|other| other.name() != memory.name());
        Ok(others.into_iter().any(|other| other.open.iter().any(is_fresh)))
    }

    /// What changed up to this snapshot, since the last one that a record accounts for, and was not put back by belay.
    pub(super) fn unclaimed(&self, memory: &Memory, after: &Snapshot) -> Result<Vec<Event>> {
        let timeline = self.timeline()?;
        let is_told =
            |one: &&Snapshot| one.number < after.number && one.cause.run.is_some() && one.kind != Kind::Safety;
        let before = timeline.snapshots().iter().rev().find(is_told);
        let Some(before) = before.filter(|before| before.root != after.root && !memory.is_guest) else {
            return Ok(Vec::new());
        };
        // The record of a run that goes on, of a watch or of another conversation tells who.
        let is_told_elsewhere = self.home.open_runs(&self.id)?.iter().any(|run| run.is_live());
        if is_told_elsewhere || self.is_somebody_at_work(memory, after.created_at)? {
            return Ok(Vec::new());
        }
        let rewinds = timeline.rewinds().iter().filter(|rewind| rewind.at > before.created_at);
        let targets = rewinds.filter_map(|rewind| timeline.get(&rewind.to)).map(|target| self.tree(target));
        let targets = targets.collect::<Result<Vec<_>>>()?;
        let is_put_back = |change: &Change| -> Result<bool> {
            for target in &targets {
                if is_same(self.entry(target, &change.path)?.as_ref(), change.after.as_ref()) {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        let at = found_at(after);
        let mut events = Vec::new();
        for change in self.changes(&self.tree(before)?, &self.tree(after)?, &Scope::default())? {
            if events.len() >= CHANGES_MAX {
                break;
            }
            if !change.what().is_nothing() && !change.opaque && !is_put_back(&change)? {
                events.push(Event::new(at, What::File(change_of(&change, None))));
            }
        }
        Ok(events)
    }
}
