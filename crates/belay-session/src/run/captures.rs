//! The snapshots of a run: asked for by triggers, taken one after the other beside it, by what is known to have changed.
//!
//! A set of changed paths is used only against a snapshot of this run that was begun while every change was already
//! being watched, and only if nothing was lost since; otherwise the workspace is walked.

use std::collections::VecDeque;
use std::time::Instant;

use belay_event::{At, Event, SnapshotTaken, What};
use belay_trace::Tracer;

use super::record::RunRecord;
use crate::backend::BackendChoice;
use crate::record::{Cause, Kind, Origin, Pool, Snapshot};
use crate::snapshot::{Dirty, SnapshotRequest};
use crate::trigger::Ask;
use crate::workspace::{Work, Workspace};

/// A snapshot to take.
pub(super) struct Job {
    pub(super) ask: Ask,
    /// What changed since the run's snapshot of this name, if all of that is known.
    dirty: Option<Dirty>,
    /// What will be unknown again if this fails.
    owed: Vec<Vec<u8>>,
}

/// A name of a file that has several: its device and number, and the path.
type Name = (u64, u64, Vec<u8>);

/// A snapshot that was taken, or not.
pub(super) struct Done {
    job: Job,
    result: Result<Snapshot, String>,
    linked: Vec<Name>,
    took_us: u64,
    /// It was there already: a look at everything found nothing new.
    is_known: bool,
}

impl Done {
    /// The snapshot's identifier, if it was taken.
    pub(super) fn id(&self) -> Option<&str> {
        self.result.as_ref().ok().map(|snapshot| snapshot.id.as_str())
    }

    /// The snapshot, if it was taken.
    pub(super) fn snapshot(&self) -> Option<&Snapshot> {
        self.result.as_ref().ok()
    }

    /// The names of files that have several, as it saw them.
    pub(super) fn take_linked(&mut self) -> Vec<Name> {
        std::mem::take(&mut self.linked)
    }

    /// The process that was held for it.
    pub(super) fn held(&self) -> Option<u32> {
        self.job.ask.held
    }

    /// Whether there was nothing to take.
    pub(super) fn is_known(&self) -> bool {
        self.is_known
    }

    /// Why it was not taken.
    pub(super) fn failure(&self) -> Option<&str> {
        self.result.as_ref().err().map(String::as_str)
    }

    /// Its kind.
    pub(super) fn kind(&self) -> Kind {
        self.job.ask.kind
    }
}

/// What is to be taken, and what is known about it.
#[derive(Default)]
pub(super) struct Captures {
    queue: VecDeque<Ask>,
    is_busy: bool,
    /// When the one that is being taken began, and what changed since.
    taking: Option<(At, u64)>,
    /// The last snapshot of this run, if changes were watched since before it began.
    base: Option<String>,
    owed: Vec<Vec<u8>>,
}

impl Captures {
    /// Puts a snapshot on the list; one of the same kind that waits already is made good by the newer, which goes where that
    /// was to go, too.
    pub(super) fn ask(&mut self, mut ask: Ask) {
        self.queue.retain(|waiting| {
            let is_made_good = waiting.kind == ask.kind && waiting.before == ask.before;
            if is_made_good {
                ask.pooled |= waiting.pooled;
                ask.command = ask.command.or(waiting.command);
            }
            !is_made_good
        });
        match ask.before {
            true => self.queue.push_front(ask),
            false => self.queue.push_back(ask),
        }
    }

    /// Whether something waits or is being taken.
    pub(super) fn is_busy(&self) -> bool {
        self.is_busy || !self.queue.is_empty()
    }

    /// Whether one of this kind waits.
    pub(super) fn asks_for(&self, kind: Kind) -> bool {
        self.queue.iter().any(|ask| ask.kind == kind)
    }

    /// Takes down when the one that is being taken began: everything before is in it.
    pub(super) fn began(&mut self, at: At) {
        self.taking = Some((at, 0));
    }

    /// Takes in an event: a change while a snapshot is taken may be in it, or in part, or not.
    pub(super) fn observe(&mut self, event: &Event) {
        if let (Some((began, changes)), What::File(_)) = (&mut self.taking, &event.what)
            && event.at >= *began
        {
            *changes += 1;
        }
    }

    /// What to take next, if nothing is being taken.
    pub(super) fn next(&mut self, tracer: Option<&Tracer>) -> Option<Job> {
        while !self.is_busy {
            let ask = self.queue.pop_front()?;
            let seen = tracer.map(Tracer::dirty).unwrap_or_default();
            let mut paths = std::mem::take(&mut self.owed);
            paths.extend(seen.paths);
            if !seen.complete {
                self.base = None;
            }
            if self.base.is_some() && paths.is_empty() && is_optional(&ask) {
                continue;
            }
            self.is_busy = true;
            let dirty = self.base.clone().map(|since| Dirty { since, paths: paths.clone() });
            return Some(Job { ask, dirty, owed: paths });
        }
        None
    }

    /// Takes in that there was nothing to take.
    pub(super) fn known(&mut self, done: &Done, watched: bool) {
        self.is_busy = false;
        self.base = done.id().filter(|_| watched).map(str::to_owned);
    }

    /// Takes in what came of a job; `watched` says whether changes were watched when it began.
    pub(super) fn done(&mut self, done: Done, watched: bool) -> SnapshotTaken {
        self.is_busy = false;
        let meanwhile = self.taking.take().map_or(0, |(_, changes)| changes);
        let by_dirty_set = done.job.dirty.is_some();
        match &done.result {
            Ok(snapshot) => self.base = watched.then(|| snapshot.id.clone()),
            Err(_) => self.owed.extend(done.job.owed),
        }
        let (snapshot, failed) = match done.result {
            Ok(snapshot) => (Some(snapshot), None),
            Err(why) => (None, Some(why)),
        };
        let ask = done.job.ask;
        SnapshotTaken {
            kind: ask.kind.name().to_owned(),
            origin: "auto".to_owned(),
            name: None,
            slot: snapshot.as_ref().and_then(|snapshot| snapshot.slot),
            files: snapshot.as_ref().map_or(0, |snapshot| snapshot.files),
            stored_bytes: snapshot.as_ref().map_or(0, |snapshot| snapshot.size_delta),
            took_us: done.took_us,
            by_dirty_set,
            command: ask.command,
            root: snapshot.as_ref().map(|snapshot| snapshot.root.to_hex()),
            gaps: snapshot.as_ref().map_or(0, |snapshot| snapshot.gaps),
            meanwhile,
            snapshot: snapshot.map(|snapshot| snapshot.id),
            failed,
        }
    }
}

/// Whether a snapshot of an unchanged workspace would tell nothing. One for the ring was asked for because something changed
/// since the last in there, whichever other snapshots have it.
fn is_optional(ask: &Ask) -> bool {
    !ask.pooled && matches!(ask.kind, Kind::Auto | Kind::Idle | Kind::Tool)
}

impl Job {
    /// A snapshot by a walk of everything.
    pub(super) fn whole(ask: Ask) -> Job {
        Job { ask, dirty: None, owed: Vec::new() }
    }

    /// Takes the snapshot.
    pub(super) fn carry_out(self, workspace: &Workspace<'_>, run: &RunRecord, work: Work<'_>) -> Done {
        let began = Instant::now();
        let took_us = || u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        if let Some(latest) = self.known_already(workspace, work) {
            return Done { job: self, result: Ok(latest), linked: Vec::new(), took_us: took_us(), is_known: true };
        }
        let request = SnapshotRequest {
            backend: run.backend.as_deref().and_then(BackendChoice::from_name),
            kind: self.ask.kind,
            origin: Origin::Auto,
            dirty: self.dirty.clone(),
            cause: Cause {
                run: Some(run.id.clone()),
                trigger: Some(self.ask.why.clone()),
                command: self.ask.command,
                ..Cause::default()
            },
            pool: self.ask.pooled.then_some(Pool::Auto),
            ..SnapshotRequest::default()
        };
        let (result, linked) = match workspace.snapshot(&request, work) {
            Ok(taken) => (Ok(taken.snapshot), taken.linked),
            Err(error) => (Err(crate::error::chain(&error)), Vec::new()),
        };
        Done { job: self, result, linked, took_us: took_us(), is_known: false }
    }

    /// The latest snapshot, if it is asked for what an agent changed, nobody saw whether it did, and it did not.
    fn known_already(&self, workspace: &Workspace<'_>, work: Work<'_>) -> Option<Snapshot> {
        if self.ask.kind != Kind::Tool || self.dirty.is_some() {
            return None;
        }
        let latest = workspace.timeline().ok()?.latest()?.clone();
        let is_same = workspace.present(work).ok()?.manifest().identity == latest.root;
        is_same.then_some(latest)
    }
}

#[cfg(test)]
mod tests {
    use belay_event::{Action, FileChange};

    use super::*;

    fn ask(kind: Kind, command: u64) -> Ask {
        Ask::new(kind, Some(command), "")
    }

    #[test]
    fn one_is_taken_at_a_time_and_the_newer_makes_good_the_older() {
        let mut captures = Captures::default();
        captures.ask(ask(Kind::Auto, 1));
        captures.ask(ask(Kind::Git, 2));
        captures.ask(ask(Kind::Auto, 3));
        assert_eq!(captures.next(None).map(|job| job.ask.command), Some(Some(2)));
        assert!(captures.next(None).is_none());
        assert!(captures.is_busy());
    }

    #[test]
    fn what_belongs_into_the_ring_gets_there_whatever_is_asked_for_besides() {
        let interval = || Ask { pooled: true, ..Ask::new(Kind::Auto, None, "interval") };
        for asks in [[interval(), ask(Kind::Auto, 3)], [ask(Kind::Auto, 3), interval()]] {
            let mut captures = Captures::default();
            asks.into_iter().for_each(|ask| captures.ask(ask));
            let job = captures.next(None).expect("something was asked for");
            assert_eq!((job.ask.pooled, job.ask.command), (true, Some(3)));
            captures.is_busy = false;
            assert!(captures.next(None).is_none(), "the same moment is not captured twice");
        }
    }

    #[test]
    fn what_is_about_to_be_destroyed_goes_first() {
        let mut captures = Captures::default();
        captures.ask(ask(Kind::Auto, 1));
        captures.ask(Ask { before: true, ..ask(Kind::Git, 2) });
        assert_eq!(captures.next(None).map(|job| job.ask.command), Some(Some(2)));
    }

    #[test]
    fn what_changes_while_one_is_taken_is_counted_and_nothing_else() {
        let change = |at: i128| {
            let path = belay_event::Raw::from(&b"f"[..]);
            let change = FileChange { action: Action::Modified, path, to: None, dir: false, size: None, by: None };
            Event::new(At::from_unix_nanos(at), What::File(change))
        };
        let mut captures = Captures::default();
        captures.observe(&change(5));
        captures.ask(ask(Kind::Idle, 1));
        let job = captures.next(None).expect("something was asked for");
        captures.began(At::from_unix_nanos(10));
        [9, 10, 11].into_iter().for_each(|at| captures.observe(&change(at)));
        let done = |job| Done { job, result: Err("disk full".into()), linked: Vec::new(), took_us: 5, is_known: false };
        assert_eq!(captures.done(done(job), true).meanwhile, 2);
        captures.observe(&change(12));
        captures.ask(ask(Kind::Idle, 1));
        let job = captures.next(None).expect("something was asked for");
        captures.began(At::from_unix_nanos(20));
        assert_eq!(captures.done(done(job), true).meanwhile, 0);
    }

    #[test]
    fn without_a_tracer_everything_is_looked_at_and_a_failure_is_told() {
        let mut captures = Captures::default();
        captures.ask(ask(Kind::Idle, 1));
        let job = captures.next(None).expect("something was asked for");
        assert!(job.dirty.is_none());
        let taken = captures
            .done(Done { job, result: Err("disk full".into()), linked: Vec::new(), took_us: 5, is_known: false }, true);
        assert_eq!((taken.failed.as_deref(), taken.by_dirty_set), (Some("disk full"), false));
        assert!(!captures.is_busy() && captures.base.is_none());
    }
}
