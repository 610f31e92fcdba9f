//! Which two states a step lies between, and which paths are its own.

use std::collections::HashSet;

use belay_event::{Actor, At, Ended, Raw};
use belay_journal::{Change, Reader};
use jiff::Timestamp;

use super::touched::{Touched, family, removed};
use crate::error::{Error, Result};
use crate::record::{Cause, Kind, Snapshot};
use crate::run::RunRecord;
use crate::timeline::Timeline;
use crate::workspace::Workspace;

/// How a step is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepName {
    /// A command of a run, with everything that it started.
    Command {
        /// The run; the latest of the workspace if none is named.
        run: Option<String>,
        /// The command's number.
        number: u64,
    },
    /// From a snapshot to the next: for one that was taken before a turn, to the next turn or the run's end.
    From(String),
}

/// A step as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepInfo {
    /// The step in words.
    pub what: String,
    /// The last snapshot before it.
    pub before: Snapshot,
    /// The first snapshot after it; none if that is the present.
    pub after: Option<Snapshot>,
    /// The run it belongs to.
    pub run: Option<String>,
    /// Ends the names of older versions that are put beside newer ones.
    pub suffix: String,
}

/// A step, and what is its own.
pub(super) struct Step {
    pub(super) info: StepInfo,
    pub(super) touched: Touched,
    /// What it removed and somebody else had touched since the snapshot before.
    pub(super) removed: Vec<Vec<u8>>,
    pub(super) cause: Cause,
}

impl Workspace<'_> {
    /// Finds the step of that name.
    pub(super) fn step(&self, name: &StepName) -> Result<Step> {
        let timeline = self.timeline()?;
        match name {
            StepName::Command { run, number } => self.command_step(&timeline, run.as_deref(), *number),
            StepName::From(name) => self.snapshot_step(&timeline, name),
        }
    }

    fn command_step(&self, timeline: &Timeline, run: Option<&str>, number: u64) -> Result<Step> {
        let run: RunRecord = self.home.find_run(run, &|run| run.workspace == self.id && !run.is_watch())?;
        let reader = Reader::open(&self.home.run_dir(&run.id))?;
        let commands = reader.commands()?;
        let found = commands.iter().find(|command| command.exec.command == number);
        let count = commands.len() as u64;
        let command = found.ok_or_else(|| Error::UnknownCommand { run: run.id.clone(), number, count })?;
        let family = family(&commands, number);
        let changes = reader.changes()?;
        let mine = || {
            changes
                .iter()
                .filter(|change| change.change.by.and_then(|by| by.command).is_some_and(|by| family.contains(&by)))
        };
        let (Some(first), Some(last)) = (mine().map(|change| change.at).min(), mine().map(|change| change.at).max())
        else {
            return Err(nothing_changed(timeline, run.id, number, &changes));
        };
        let what = format!("command {number} of {} ({})", run.id, crate::trigger::said(&command.exec.argv));
        let newest_by = |when: At| timeline.snapshots().iter().rev().find(|one| at(one.created_at) <= when);
        let late = newest_by(first).ok_or_else(|| Error::NoneBefore { step: what.clone() })?;
        // Changes are told later than they happen: a snapshot from after the command began may hold some of them. The one
        // from before it serves, unless somebody else touched the same since, which only the later one tells apart.
        let paths: HashSet<&Raw> = mine().map(|change| &change.change.path).collect();
        let is_shared = |early: &Snapshot| {
            changes.iter().any(|change| {
                let is_mine = change.change.by.and_then(|by| by.command).is_some_and(|by| family.contains(&by));
                change.at > at(early.created_at)
                    && change.at <= first
                    && !is_mine
                    && paths.contains(&change.change.path)
            })
        };
        let early = newest_by(command.at).filter(|early| early.number < late.number && !is_shared(early));
        let before = early.unwrap_or(late);
        let spans = spans(&reader)?;
        let span = |snapshot: &Snapshot| spans.get(&snapshot.id).copied().unwrap_or([at(snapshot.created_at); 2]);
        let after = timeline.snapshots().iter().find(|snapshot| span(snapshot)[0] >= last).cloned();
        // What happened while it was taken may be in it.
        let until = after.as_ref().map(|after| span(after)[1]);
        let later = || changes.iter().filter(|change| until.is_some_and(|until| change.at > until));
        let between = || {
            let is_between =
                |change: &&Change| change.at > at(before.created_at) && until.is_none_or(|until| change.at <= until);
            changes.iter().filter(is_between)
        };
        let is_meant = |by: Option<Actor>| by.and_then(|by| by.command).is_some_and(|by| family.contains(&by));
        // The kernel named the process, but not whether it had become the command already; without a name that is known.
        let is_unsure = |by: Option<Actor>| {
            let unsure = by.filter(|by| by.pid.is_some() && !by.exact).and_then(|by| by.command);
            let became = unsure.and_then(|own| commands.iter().find(|other| other.ended == Some(Ended::Replaced(own))));
            became.is_some_and(|other| !family.contains(&other.exec.command))
        };
        let touched = Touched::by(between(), later(), &is_meant, &is_unsure);
        let removed = removed(between(), &is_meant);
        let cause = Cause { run: Some(run.id.clone()), command: Some(number), ..Cause::default() };
        let suffix = format!("before-command-{number}");
        let info = StepInfo { what, before: before.clone(), after, run: Some(run.id), suffix };
        Ok(Step { info, touched, removed, cause })
    }

    fn snapshot_step(&self, timeline: &Timeline, name: &str) -> Result<Step> {
        let before = self.named(timeline, name)?.clone();
        let later = || timeline.snapshots().iter().filter(|snapshot| snapshot.number > before.number);
        let run = before.cause.run.clone();
        let is_turn = before.kind == Kind::Turn;
        let ends_turn = |snapshot: &&Snapshot| match snapshot.kind {
            Kind::Turn => snapshot.cause.run == run,
            Kind::Final => run.is_some() && snapshot.cause.run == run,
            _ => false,
        };
        let after = match is_turn {
            // What belay did to the workspace since is no part of a turn that has not ended.
            true => later().find(ends_turn).or_else(|| later().find(|snapshot| snapshot.kind == Kind::Safety)),
            false => later().find(|snapshot| snapshot.kind != Kind::Safety),
        };
        let (what, suffix) = match before.cause.turn.filter(|_| is_turn) {
            Some(turn) => (format!("turn {turn}"), format!("before-turn-{turn}")),
            None => (format!("the step after {}", before.id), format!("before-{}", before.id)),
        };
        let touched = self.touched_in(&before, after)?;
        let cause = Cause { run: run.clone(), turn: before.cause.turn, ..Cause::default() };
        let info = StepInfo { what, after: after.cloned(), before, run, suffix };
        Ok(Step { info, touched, removed: Vec::new(), cause })
    }

    /// Everything between two snapshots, but for what only somebody outside the run touched.
    fn touched_in(&self, before: &Snapshot, after: Option<&Snapshot>) -> Result<Touched> {
        let Some(run) = &before.cause.run else { return Ok(Touched::All) };
        // Without a record nobody can be told apart, and the step is everything that happened.
        let Ok(reader) = Reader::open(&self.home.run_dir(run)) else { return Ok(Touched::All) };
        let (from, until) = (at(before.created_at), after.map(|after| at(after.created_at)));
        let changes = reader.changes()?;
        let between = changes.iter().filter(|change| change.at > from && until.is_none_or(|until| change.at <= until));
        let is_outside = |by: Option<belay_event::Actor>| by.is_some_and(|by| by.command.is_none() && by.pid.is_some());
        Ok(Touched::but(between, &is_outside))
    }
}

/// Why no change is the command's, and where those are that nobody could be given.
fn nothing_changed(timeline: &Timeline, run: String, number: u64, changes: &[Change]) -> Error {
    let is_unknown = |by: Option<Actor>| by.is_none_or(|by| by.command.is_none() && by.pid.is_none());
    let unknown = || changes.iter().filter(|change| is_unknown(change.change.by));
    let first = unknown().map(|change| change.at).min();
    let is_before = |snapshot: &&Snapshot| first.is_some_and(|first| at(snapshot.created_at) <= first);
    let step = timeline.snapshots().iter().rev().find(is_before).map(|snapshot| snapshot.id.clone());
    Error::NothingChanged { run, number, unknown: unknown().count() as u64, step }
}

/// When the snapshots of a run were begun and when they were done, by their ids.
fn spans(reader: &Reader) -> Result<std::collections::HashMap<String, [At; 2]>> {
    let span = |snapshot: belay_journal::Snapshot| {
        let took = i128::from(snapshot.taken.took_us) * 1000;
        let begun = At::from_unix_nanos(snapshot.at.unix_nanos() - took);
        Some((snapshot.taken.snapshot?, [begun, snapshot.at]))
    };
    Ok(reader.snapshots()?.into_iter().filter_map(span).collect())
}

fn at(timestamp: Timestamp) -> At {
    At::from(timestamp)
}
