//! Which snapshots go, and when.
//!
//! Never by a rule: the newest of a workspace, pre-run snapshots unless `delete_initial` is set, and those that
//! a rollback under way, the next undo or the next redo needs. Labelled and safety snapshots go last.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};

use crate::error::{Error, Result, chain};
use crate::home::Home;
use crate::intent::Pending;
use crate::record::{Backend, Kind, Pool, Record, Snapshot, Why};
use crate::timeline::Timeline;
use crate::workspace::Workspace;

/// What to prune by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PruneRule {
    /// Keep so many of the newest, of which the one from before a run is one; what has a label stays beside them.
    Keep(usize),
    /// Delete what is older and has no label.
    OlderThan(SignedDuration),
    /// Delete until the store has at most so many bytes.
    Budget(u64),
}

/// What a prune would do.
#[derive(Clone, Debug, Default)]
pub struct PrunePlan {
    /// The snapshots that stay: those that no rule deletes first, then the newest first.
    pub keep: Vec<Snapshot>,
    /// The snapshots that go, oldest first.
    pub delete: Vec<Snapshot>,
    /// Bytes that would be freed.
    pub freed_bytes: u64,
}

/// What a prune did.
#[derive(Clone, Debug, Default)]
pub struct Pruned {
    /// The snapshots that went.
    pub deleted: Vec<Snapshot>,
    /// Bytes really freed.
    pub freed_bytes: u64,
    /// Why nothing is freed although they went, if damage elsewhere is in the way.
    pub unfreed: Option<String>,
}

impl Pruned {
    pub(crate) fn add(&mut self, more: Pruned) {
        self.deleted.extend(more.deleted);
        self.freed_bytes += more.freed_bytes;
        self.unfreed = self.unfreed.take().or(more.unfreed);
    }
}

/// How hard a snapshot is to replace; what comes first goes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Worth {
    /// No rule deletes it.
    Never,
    /// Somebody named it.
    Named,
    /// It is the way back from a rollback, or to before a run.
    WayBack,
    /// It is one of many.
    Plain,
}

/// What retention knows beside the timeline.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terms {
    pub(crate) delete_initial: bool,
    /// Ids that a rollback under way, the next undo or the next redo needs.
    pub(crate) needed: HashSet<String>,
}

impl Terms {
    pub(crate) fn of(home: &crate::home::Home, workspace: &str, timeline: &Timeline, initial: bool) -> Result<Terms> {
        let mut needed = needed(home, workspace)?;
        needed.extend(timeline.ways_back().into_iter().map(|(_, snapshot)| snapshot.id.clone()));
        Ok(Terms { delete_initial: initial, needed })
    }

    pub(crate) fn worth(&self, timeline: &Timeline, snapshot: &Snapshot) -> Worth {
        let is_latest = timeline.latest().is_some_and(|latest| latest.id == snapshot.id);
        let is_initial = snapshot.kind == Kind::PreRun && !self.delete_initial;
        if is_latest || is_initial || self.needed.contains(&snapshot.id) {
            Worth::Never
        } else if snapshot.label.is_some() || snapshot.pool == Some(Pool::Manual) {
            Worth::Named
        } else if matches!(snapshot.kind, Kind::Safety | Kind::PreRun) {
            Worth::WayBack
        } else {
            Worth::Plain
        }
    }
}

/// The snapshots in the order in which they would be kept: the first is the last to go.
pub(crate) fn keep_order(snapshots: Vec<(Worth, &Snapshot)>, now: Timestamp) -> Vec<(Worth, &Snapshot)> {
    let (plain, mut rest): (Vec<_>, Vec<_>) = snapshots.into_iter().partition(|(worth, _)| *worth == Worth::Plain);
    rest.sort_by_key(|(worth, snapshot)| (*worth, std::cmp::Reverse(snapshot.created_at)));
    let plain = thin(plain.into_iter().map(|(_, snapshot)| snapshot).collect(), now);
    rest.into_iter().chain(plain.into_iter().map(|snapshot| (Worth::Plain, snapshot))).collect()
}

/// Orders snapshots so that any beginning of the list is spread over their time, denser towards the present:
/// the one goes first whose loss leaves the smallest gap, measured by its age.
fn thin(mut snapshots: Vec<&Snapshot>, now: Timestamp) -> Vec<&Snapshot> {
    snapshots.sort_by_key(|snapshot| snapshot.created_at);
    let seconds = |a: Timestamp, b: Timestamp| b.duration_since(a).as_secs_f64().max(1e-9);
    let mut gone = Vec::with_capacity(snapshots.len());
    while snapshots.len() > 2 {
        let gap = |at: usize| {
            let (older, newer) = (snapshots[at - 1].created_at, snapshots[at + 1].created_at);
            seconds(older, newer) / seconds(snapshots[at].created_at, now)
        };
        let least =
            (1..snapshots.len() - 1).min_by(|a, b| gap(*a).total_cmp(&gap(*b))).expect("there are three or more");
        gone.push(snapshots.remove(least));
    }
    gone.extend(snapshots);
    gone.reverse();
    gone
}

/// Divides the snapshots by a rule that needs no sizes.
fn divide(timeline: &Timeline, terms: &Terms, rule: PruneRule, now: Timestamp) -> PrunePlan {
    let worth = |snapshot: &&Snapshot| terms.worth(timeline, snapshot);
    let newest_first = || timeline.snapshots().iter().rev();
    let is_initial = |snapshot: &&Snapshot| worth(snapshot) == Worth::Never && snapshot.kind == Kind::PreRun;
    let is_latest = |snapshot: &&Snapshot| timeline.latest().is_some_and(|latest| latest.id == snapshot.id);
    // What stays in any case, and what somebody named, takes nobody's place; but of those from before a run one is counted.
    let may_be_counted = |snapshot: &&Snapshot| is_latest(snapshot) || worth(snapshot) > Worth::Named;
    let counted_apart = usize::from(newest_first().any(|snapshot| is_initial(&snapshot) && !is_latest(&snapshot)));
    let newest: HashSet<&str> = match rule {
        PruneRule::Keep(count) => {
            let counted = newest_first().filter(may_be_counted).take(count.saturating_sub(counted_apart));
            counted.map(|snapshot| snapshot.id.as_str()).collect()
        }
        _ => HashSet::new(),
    };
    let stays = |snapshot: &&Snapshot| match rule {
        _ if worth(snapshot) == Worth::Never => true,
        PruneRule::Keep(_) => worth(snapshot) == Worth::Named || newest.contains(snapshot.id.as_str()),
        PruneRule::OlderThan(age) => worth(snapshot) == Worth::Named || now.duration_since(snapshot.created_at) <= age,
        PruneRule::Budget(_) => true,
    };
    let (initial, others): (Vec<&Snapshot>, Vec<&Snapshot>) = newest_first().filter(stays).partition(is_initial);
    let delete = timeline.snapshots().iter().filter(|snapshot| !stays(snapshot));
    PrunePlan {
        keep: initial.into_iter().chain(others).cloned().collect(),
        delete: delete.cloned().collect(),
        freed_bytes: 0,
    }
}

impl Workspace<'_> {
    /// What the rule would delete in this workspace.
    pub fn plan_prune(&self, rule: PruneRule) -> Result<PrunePlan> {
        let timeline = self.timeline()?;
        let mut plan = match rule {
            PruneRule::Budget(bytes) => self.plan_budget(&timeline, bytes)?,
            _ => divide(&timeline, &self.terms()?, rule, self.home.options.clock.now()),
        };
        plan.freed_bytes = self.home.freed_without(&plan.delete)?;
        Ok(plan)
    }

    /// What is left and what is freed when these are deleted.
    pub fn plan_delete(&self, delete: Vec<Snapshot>) -> Result<PrunePlan> {
        let timeline = self.timeline()?;
        let stays = |snapshot: &&Snapshot| !delete.iter().any(|other| other.id == snapshot.id);
        let keep = timeline.snapshots().iter().rev().filter(stays).cloned().collect();
        let freed_bytes = self.home.freed_without(&delete)?;
        Ok(PrunePlan { keep, delete, freed_bytes })
    }

    /// Deletes what the plan says, and frees what nothing needs any more.
    pub fn prune(&self, plan: &PrunePlan) -> Result<Pruned> {
        self.remove(&plan.delete.iter().map(|snapshot| snapshot.id.clone()).collect::<Vec<_>>(), Why::Pruned)
    }

    /// Deletes snapshots by id, whatever the rules say, and frees what nothing needs any more.
    pub fn delete(&self, ids: &[String]) -> Result<Pruned> {
        let timeline = self.timeline()?;
        let needed = needed(self.home, &self.id)?;
        for id in ids {
            if timeline.get(id).is_none() && self.home.set_aside_snapshot(id)?.is_none() {
                return Err(Error::UnknownSnapshot { name: id.clone(), nearest: Vec::new() });
            }
            if needed.contains(id) {
                return Err(Error::RollbackBusy);
            }
        }
        self.remove(ids, Why::Asked)
    }

    fn remove(&self, ids: &[String], why: Why) -> Result<Pruned> {
        let mut deleted = delete_records(self.home, &self.id, ids, why)?;
        deleted.extend(self.home.delete_set_aside(ids)?);
        self.show_slots(&*self.timeline()?);
        Ok(if deleted.is_empty() { Pruned::default() } else { self.home.free_after(deleted) })
    }

    /// Snapshots of a backend that are more than so many: the oldest first, and none that no rule deletes, or that is
    /// older than `since`.
    pub(crate) fn beyond_count(&self, backend: Backend, kept: usize, since: Option<Timestamp>) -> Result<Vec<String>> {
        let timeline = self.timeline()?;
        let terms = self.terms()?;
        let of_backend = || timeline.snapshots().iter().filter(|snapshot| snapshot.backend == backend);
        let over = of_backend().count().saturating_sub(kept);
        let stays = |snapshot: &Snapshot| {
            since.is_some_and(|since| snapshot.created_at < since)
                || matches!(terms.worth(&timeline, snapshot), Worth::Never | Worth::Named)
        };
        let may_go = of_backend().filter(|snapshot| !stays(snapshot));
        Ok(may_go.take(over).map(|snapshot| snapshot.id.clone()).collect())
    }

    pub(crate) fn terms(&self) -> Result<Terms> {
        let delete_initial = self.settings.flag("snapshots.retention.delete_initial");
        Terms::of(self.home, &self.id, &*self.timeline()?, delete_initial)
    }
}

/// Ids of a workspace that a rollback under way needs.
pub(crate) fn needed(home: &crate::home::Home, workspace: &str) -> Result<HashSet<String>> {
    let pending = Pending::read(home.disk(), workspace)?;
    Ok(pending.intents.into_iter().flat_map(|intent| [intent.target.id, intent.safety.id]).collect())
}

impl Home {
    /// Frees what nothing needs after these were deleted.
    pub(crate) fn free_after(&self, deleted: Vec<Snapshot>) -> Pruned {
        match self.gc(false) {
            Ok(collected) => Pruned { deleted, freed_bytes: collected.report.freed_bytes, unfreed: None },
            // They are gone all the same, and whoever asked must not be told that nothing happened.
            Err(error) => Pruned { deleted, freed_bytes: 0, unfreed: Some(chain(&error)) },
        }
    }
}

/// Takes snapshots out of a timeline; returns those that were still there.
pub(crate) fn delete_records(home: &Home, workspace: &str, ids: &[String], why: Why) -> Result<Vec<Snapshot>> {
    let now = home.options.clock.now();
    let mut deleted = Vec::new();
    crate::workspace::publish(home, workspace, None, |timeline| {
        deleted = ids.iter().filter_map(|id| timeline.get(id).cloned()).collect();
        let ids: Vec<String> = deleted.iter().map(|snapshot| snapshot.id.clone()).collect();
        let record = Record::Delete { ids, why, at: timeline.instant(now) };
        Ok(if deleted.is_empty() { Vec::new() } else { vec![record] })
    })?;
    Ok(deleted)
}

#[cfg(test)]
mod tests;
