//! What changed since a run began or a snapshot was taken, and who did it.

mod later;

pub(crate) use later::is_same;

use belay_event::At;
use belay_store::{Change, Entry, Scope};

use crate::blame::{Span, Touch, once};
use crate::error::Result;
use crate::present::Tree;
use crate::record::{RewindKind, Snapshot};
use crate::rollback::RewindPlan;
use crate::run::RunRecord;
use crate::workspace::{Work, Workspace};

/// Of what the changes are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangesOf {
    /// Since the latest run began, or without a run since the last known state.
    Latest,
    /// Of a run, by its name; without one the snapshot of that name.
    Named(String),
}

/// What changed.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The state before.
    pub before: Snapshot,
    /// The state after; none for the present.
    pub after: Option<Snapshot>,
    /// The run that it is about, if it is about one.
    pub run: Option<String>,
    /// The paths, those that were touched last first.
    pub paths: Vec<ChangedPath>,
}

/// A path that changed, and who touched it.
#[derive(Clone, Debug)]
pub struct ChangedPath {
    /// What differs.
    pub change: Change,
    /// Who touched it, the last one last, each command once.
    pub touches: Vec<Touch>,
    /// What belay did that left it as it is, if it was belay.
    pub rewound: Option<RewindKind>,
    /// Whether it was changed once more after the last run, where nobody watched.
    pub unseen: bool,
}

/// A path that a rollback would change although somebody else changed it after the run's last touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewerEdit {
    /// The path beneath the workspace.
    pub path: Vec<u8>,
    /// The other run that changed it; none for somebody outside all runs.
    pub run: Option<String>,
}

impl Workspace<'_> {
    /// What changed, and who did it.
    pub fn changed(&self, of: &ChangesOf, work: Work<'_>) -> Result<Changed> {
        let (before, after, run) = self.ends_of(of)?;
        self.changed_in(before, after, run, work)
    }

    /// What changed from one snapshot to another, and who did it.
    pub fn changed_between(&self, before: &Snapshot, after: &Snapshot, work: Work<'_>) -> Result<Changed> {
        self.changed_in(before.clone(), Some(after.clone()), None, work)
    }

    fn changed_in(
        &self,
        before: Snapshot,
        after: Option<Snapshot>,
        run: Option<String>,
        work: Work<'_>,
    ) -> Result<Changed> {
        let tree = match &after {
            Some(after) => self.tree(after)?,
            None => self.present_if_told(work)?,
        };
        let changes = self.changes(&self.tree(&before)?, &tree, &Scope::default())?;
        let span = Span {
            after: Some(At::from(before.created_at)),
            until: after.as_ref().map(|after| At::from(after.created_at)),
        };
        let mut touches = if changes.is_empty() { Default::default() } else { self.all_touches(span)? };
        let rewinds = self.rewinds_in(span)?;
        let last = match after.is_none().then(|| self.run_since(&before)).flatten() {
            Some(run) => self.end_of(&run)?,
            None => None,
        };
        let mut paths = Vec::new();
        for change in changes.into_iter().filter(|change| !change.what().is_nothing()) {
            let (earlier, rewound) = self.unwound(&rewinds, &change.path, change.after.clone())?;
            let unseen = self.is_newer(last.as_ref(), &change.path, change.after.as_ref())?
                && self.is_newer(last.as_ref(), &change.path, earlier.as_ref())?;
            let touches = once(touches.remove(&change.path).unwrap_or_default());
            paths.push(ChangedPath { change, touches, rewound, unseen });
        }
        paths.sort_by_key(|path| std::cmp::Reverse(path.touches.last().map(|touch| touch.at)));
        Ok(Changed { before, after, run, paths })
    }

    /// Between which snapshots, and in which run.
    fn ends_of(&self, of: &ChangesOf) -> Result<(Snapshot, Option<Snapshot>, Option<String>)> {
        let timeline = self.timeline()?;
        let of_workspace = |run: &RunRecord| run.workspace == self.id && run.pre_run.is_some();
        let (name, run) = match of {
            ChangesOf::Latest => (None, self.home.find_run(None, &of_workspace).ok()),
            ChangesOf::Named(name) => (Some(name), self.home.find_run(Some(name), &|_| false).ok()),
        };
        let snapshot = |id: &Option<String>| id.as_deref().and_then(|id| timeline.get(id)).cloned();
        if let Some(run) = run
            && let Some(before) = snapshot(&run.pre_run)
        {
            let after = snapshot(&run.final_snapshot).filter(|_| name.is_some());
            return Ok((before, after, Some(run.id)));
        }
        let before = match name {
            Some(name) => self.named(&timeline, name)?,
            None => timeline.resolve_base()?,
        };
        Ok((before.clone(), None, None))
    }

    /// The paths of a plan that somebody else changed after the run that is rolled back had last touched them.
    pub fn newer_edits(&self, plan: &RewindPlan) -> Result<Vec<NewerEdit>> {
        let Some(run) = plan.target.cause.run.clone().or_else(|| self.run_since(&plan.target)) else {
            return Ok(Vec::new());
        };
        let span = Span { after: Some(At::from(plan.target.created_at)), until: None };
        let touches = self.all_touches(span)?;
        let last = self.end_of(&run)?;
        let rewinds = self.rewinds_in(span)?;
        let mut newer = Vec::new();
        // A watch has no commands: whatever it saw is what is to be taken back.
        let is_watch = self.home.run(&run).is_ok_and(|run| run.is_watch());
        for step in &plan.plan.steps {
            let path = step.path.to_vec();
            match touches.get(&path).and_then(|touches| touches.last()) {
                Some(touch) if touch.outside && !(is_watch && touch.run == run) => {
                    newer.push(NewerEdit { path, run: None })
                }
                Some(touch) if touch.run != run => newer.push(NewerEdit { path, run: Some(touch.run.clone()) }),
                _ => {
                    let (now, _) = self.unwound(&rewinds, &path, step.before)?;
                    if self.is_newer(last.as_ref(), &path, now.as_ref())? {
                        newer.push(NewerEdit { path, run: None });
                    }
                }
            }
        }
        Ok(newer)
    }

    /// The last run that began after the snapshot.
    fn run_since(&self, snapshot: &Snapshot) -> Option<String> {
        let span = Span { after: Some(At::from(snapshot.created_at)), until: None };
        self.runs_in(span).ok()?.pop().map(|run| run.id)
    }

    /// The tree that the run left.
    fn end_of(&self, run: &str) -> Result<Option<Tree>> {
        let timeline = self.timeline()?;
        let last = self.home.run(run).ok().and_then(|run| timeline.get(&run.final_snapshot?));
        last.map(|last| self.tree(last)).transpose()
    }

    /// Whether what is there is not what the run left; nobody watched since.
    fn is_newer(&self, last: Option<&Tree>, path: &[u8], now: Option<&Entry>) -> Result<bool> {
        let Some(last) = last else { return Ok(false) };
        Ok(!later::is_same(self.entry(last, path)?.as_ref(), now))
    }
}
