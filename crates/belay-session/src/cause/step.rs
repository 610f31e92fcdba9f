//! Which two states a step lies between, and which paths are its own.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use belay_event::{Action, Actor, At, Ended, Raw};
use belay_journal::{Change, Command, Reader};
use jiff::Timestamp;

use super::doers::Doers;
use super::evidence::{Evidence, is_long_before};
use super::touched::{Deed, LATE_NANOS, Lifetime, family, is_unknown};
use crate::error::{Error, Result};
use crate::record::{Cause, Kind, Snapshot};
use crate::run::RunRecord;
use crate::spans::Spans;
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
    /// Who did what; none if nobody knows, and the step is everything that happened.
    pub(super) account: Option<Account>,
    pub(super) cause: Cause,
    /// The last snapshot before it began, where a later one is the better one to go by.
    pub(super) early: Option<Snapshot>,
}

/// Who did what since the snapshot before a step was begun.
pub(super) struct Account {
    pub(super) deeds: Vec<Deed>,
    /// Whether what nobody is known to have done is the step's as well.
    pub(super) has_rest: bool,
    /// Until when something may have been told that the snapshot before holds.
    pub(super) settled: At,
    /// When the snapshot after was begun, and until when something may have been told that it holds.
    pub(super) until: Option<(At, At)>,
    /// Those whom the record of the run knows.
    pub(super) doers: Doers,
}

impl Account {
    fn new(spans: &Spans, before: &Snapshot, after: Option<&Snapshot>, has_rest: bool, deeds: Vec<Deed>) -> Account {
        let settled = |snapshot: &Snapshot| At::from_unix_nanos(spans.done(snapshot).unix_nanos() + LATE_NANOS);
        let until = after.map(|after| (spans.begun(after), settled(after)));
        Account { deeds, has_rest, settled: settled(before), until, doers: Doers::default() }
    }
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
        let lifetime = Lifetime::of(&commands, number, &family, &changes);
        let is_mine = |change: &Change| lifetime.has_made(change);
        let mine = || changes.iter().filter(|change| is_mine(change));
        let (Some(first), Some(last)) = (mine().map(|change| change.at).min(), mine().map(|change| change.at).max())
        else {
            return Err(nothing_changed(timeline, run.id, command, &lifetime, &changes));
        };
        let what = format!("command {number} of {} ({})", run.id, crate::trigger::said(&command.exec.argv));
        let newest_by = |when: At| timeline.snapshots().iter().rev().find(|one| at(one.created_at) <= when);
        let late = newest_by(first).ok_or_else(|| Error::NoneBefore { step: what.clone() })?;
        // Changes are told later than they happen: a snapshot from after the command began may hold some of them. The one
        // from before it serves, unless somebody else touched the same since, which only the later one tells apart.
        let paths: HashSet<&Raw> = mine().map(|change| &change.change.path).collect();
        let spans = Spans::of(timeline, &reader)?;
        let is_shared = |early: &Snapshot| {
            changes.iter().any(|change| {
                change.at > spans.begun(early)
                    && change.at <= first
                    && !is_mine(change)
                    && paths.contains(&change.change.path)
            })
        };
        let early = newest_by(command.at).filter(|early| early.number < late.number);
        let before = early.filter(|early| !is_shared(early)).unwrap_or(late);
        let early = early.filter(|early| early.number < before.number).cloned();
        let own: BTreeMap<&Raw, &Change> = mine().map(|change| (&change.change.path, change)).collect();
        let evidence = Evidence::of(self, &commands, self.whole_tree(before)?);
        let mut after = None;
        for snapshot in timeline.snapshots().iter().filter(|snapshot| spans.begun(snapshot) >= last) {
            after = Some(snapshot.clone());
            let is_whole = matches!(snapshot.kind, Kind::Final | Kind::Safety);
            let is_known = spans.is_found(last) || is_long_before(last, spans.begun(snapshot));
            if is_whole || is_known || evidence.is_in(own.values(), snapshot)? {
                break;
            }
        }
        // What happened while one of the two was taken may be in it or not, and so counts as between them.
        let (from, until) = (spans.begun(before), after.as_ref().map(|after| spans.done(after)));
        // The kernel named the process, but not whether it had become the command already; without a name that is known.
        let is_unsure = |by: Option<Actor>| {
            let unsure = by.filter(|by| by.pid.is_some() && !by.exact).and_then(|by| by.command);
            let became = unsure.and_then(|own| commands.iter().find(|other| other.ended == Some(Ended::Replaced(own))));
            became.is_some_and(|other| !family.contains(&other.exec.command))
        };
        let deed = |change: &Change| {
            let mine = is_mine(change);
            let late = until.is_some_and(|until| change.at > until);
            let vanished = !late && !mine && lifetime.may_have_removed(change);
            let others = !mine || is_unsure(change.change.by);
            Deed { at: change.at, change: change.change.clone(), mine, others, vanished, late, is_return: false }
        };
        let mut deeds = Vec::new();
        for change in &changes {
            let is_known = spans.is_found(change.at) || is_long_before(change.at, from);
            if change.at > from || (!is_known && !evidence.is_before(change)?) {
                deeds.push(deed(change));
            }
        }
        deeds.extend(self.deeds_since(&run)?);
        let account = Account::new(&spans, before, after.as_ref(), false, deeds);
        let account = Some(Account { doers: Doers::of(&commands), ..account });
        let cause = Cause { run: Some(run.id.clone()), command: Some(number), ..Cause::default() };
        let suffix = format!("before-command-{number}");
        let info = StepInfo { what, before: before.clone(), after, run: Some(run.id), suffix };
        Ok(Step { info, account, cause, early })
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
            true => {
                let next = later().find(ends_turn);
                let ended = self.end_of_turn(timeline, &before, next);
                ended.or(next).or_else(|| later().find(|snapshot| snapshot.kind == Kind::Safety))
            }
            false => later().find(|snapshot| snapshot.kind != Kind::Safety),
        };
        let (what, suffix) = match before.cause.turn.filter(|_| is_turn) {
            Some(turn) => (format!("turn {turn}"), format!("before-turn-{turn}")),
            None => (format!("the step after {}", before.id), format!("before-{}", before.id)),
        };
        let account = self.account_of(timeline, &before, after)?;
        let cause = Cause { run: run.clone(), turn: before.cause.turn, ..Cause::default() };
        let info = StepInfo { what, after: after.cloned(), before, run, suffix };
        Ok(Step { info, account, cause, early: None })
    }

    /// The snapshot with which a turn ended, if its end was told before the next began; one that changed nothing at last
    /// ended with a snapshot that was there.
    fn end_of_turn<'t>(
        &self,
        timeline: &'t Timeline,
        before: &Snapshot,
        next: Option<&Snapshot>,
    ) -> Option<&'t Snapshot> {
        let (from, until) = (at(before.created_at), next.map(|next| at(next.created_at)));
        let ends = self.ends_of_turns(before.cause.run.as_ref()?);
        let (_, id) = ends.into_iter().find(|(end, _)| *end >= from && until.is_none_or(|until| *end <= until))?;
        timeline.get(&id).filter(|end| end.number >= before.number)
    }

    /// Everything between two snapshots, but for what only somebody outside the run touched.
    fn account_of(&self, timeline: &Timeline, before: &Snapshot, after: Option<&Snapshot>) -> Result<Option<Account>> {
        let Some(run) = &before.cause.run else { return Ok(None) };
        // Without a record nobody can be told apart, and the step is everything that happened.
        let Ok(reader) = Reader::open(&self.home.run_dir(run)) else { return Ok(None) };
        let spans = Spans::of(timeline, &reader)?;
        let (from, until) = (spans.begun(before), after.map(|after| spans.done(after)));
        let is_outside = |by: Option<Actor>| by.is_some_and(|by| by.command.is_none() && by.pid.is_some());
        let deed = |change: Change| {
            let late = until.is_some_and(|until| change.at > until);
            let others = late || is_outside(change.change.by);
            Deed {
                at: change.at,
                change: change.change,
                mine: !others,
                others,
                vanished: false,
                late,
                is_return: false,
            }
        };
        let mut deeds: Vec<Deed> = reader.changes()?.into_iter().filter(|change| change.at > from).map(deed).collect();
        if after.is_some()
            && let Ok(run) = self.home.find_run(Some(run), &|_| true)
        {
            deeds.extend(self.deeds_since(&run)?);
        }
        Ok(Some(Account::new(&spans, before, after, true, deeds)))
    }
}

impl Workspace<'_> {
    /// What runs did that began when this one was over, as far as they moved something.
    fn deeds_since(&self, run: &RunRecord) -> Result<Vec<Deed>> {
        let Some(ended) = run.ended_at else { return Ok(Vec::new()) };
        let is_later = |other: &RunRecord| other.workspace == self.id && other.created_at >= ended;
        let mut deeds = Vec::new();
        for (nth, other) in self.home.runs()?.into_iter().filter(is_later).enumerate() {
            // Nobody can be told apart by a record that is gone or damaged, and what it lacks is not guessed.
            let Ok(changes) = Reader::open(&self.home.run_dir(&other.id)).and_then(|reader| reader.changes()) else {
                continue;
            };
            if !changes.iter().any(|change| change.change.to.is_some()) {
                continue;
            }
            deeds.extend(changes.into_iter().map(|change| Deed::since(change, nth as u64 + 1)));
        }
        Ok(deeds)
    }
}

/// Why no change is the command's, and where those are that nobody could be given.
fn nothing_changed(
    timeline: &Timeline,
    run: String,
    command: &Command,
    lifetime: &Lifetime<'_>,
    changes: &[Change],
) -> Error {
    let unknown = || changes.iter().filter(|change| is_unknown(change.change.by));
    let newest_by = |when: Option<At>| {
        let is_before = |snapshot: &&Snapshot| when.is_some_and(|when| at(snapshot.created_at) <= when);
        timeline.snapshots().iter().rev().find(is_before).map(|snapshot| snapshot.id.clone())
    };
    let step = newest_by(unknown().map(|change| change.at).min());
    let meanwhile = changes.iter().filter(|change| lifetime.may_have_removed(change));
    // What went with a directory, whoever is said to have removed that, comes back with it.
    let is_gone = |change: &&Change| change.change.dir && change.change.action == Action::Deleted;
    let gone: HashSet<&[u8]> = changes.iter().filter(is_gone).map(|change| change.change.path.bytes()).collect();
    let removed = tops(meanwhile.map(|change| whole(change.change.path.bytes(), &gone)));
    let before = newest_by(Some(command.at));
    let number = command.exec.command;
    Error::NothingChanged { run, number, unknown: unknown().count() as u64, step, before, removed }
}

/// The repository that a path lies in, or the topmost of the directories around it that are gone; else the path itself.
fn whole<'p>(path: &'p [u8], gone: &HashSet<&[u8]>) -> &'p [u8] {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    let is_whole = |dir: &&[u8]| gone.contains(dir) || *dir == b".git" || dir.ends_with(b"/.git");
    ends.map(|end| &path[..end]).find(is_whole).unwrap_or(path)
}

/// Those of the paths that lie in none of the others.
pub(super) fn tops<'a>(paths: impl Iterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let sorted: BTreeSet<Vec<&[u8]>> = paths.map(|path| path.split(|byte| *byte == b'/').collect()).collect();
    let mut tops: Vec<Vec<&[u8]>> = Vec::new();
    for path in sorted {
        if !tops.last().is_some_and(|top| path.starts_with(top)) {
            tops.push(path);
        }
    }
    tops.into_iter().map(|path| path.join(&b'/')).collect()
}

fn at(timestamp: Timestamp) -> At {
    At::from(timestamp)
}
