//! How large the store may be, and what goes when it is larger: of all workspaces, the least worth first.
//!
//! Invariants: what somebody else takes of the disk deletes no snapshot, it only keeps the store from growing; while a
//! run goes on nothing that was there before it goes, so that a command can fill the disk or the store and drives
//! nothing out but snapshots of its own run.

use std::collections::HashSet;

use belay_store::weigh;
use jiff::Timestamp;

use crate::config::Settings;
use crate::error::{Error, Result};
use crate::home::Home;
use crate::identity::Index;
use crate::log::replace;
use crate::record::{Snapshot, Why};
use crate::retention::{PrunePlan, Pruned, Terms, Worth, delete_records, keep_order};
use crate::timeline::Timeline;
use crate::workspace::{Workspace, timeline_name};

/// How much the store holds and may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Bytes that the store holds, for all workspaces.
    pub used_bytes: u64,
    /// Bytes that it may hold.
    pub limit_bytes: u64,
    /// Bytes that are free on its disk.
    pub free_bytes: u64,
}

impl Budget {
    /// Whether the store holds more than it may.
    pub fn is_over(&self) -> bool {
        self.used_bytes > self.limit_bytes
    }

    /// Bytes that it may grow by.
    fn room(&self) -> u64 {
        self.limit_bytes.saturating_sub(self.used_bytes)
    }
}

/// What must not go for a snapshot.
///
/// While a run goes on, but for one that is just `beginning`, only what is younger than it goes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spared<'a> {
    /// Snapshots that are needed for what is being done.
    pub(crate) ids: &'a [&'a str],
    /// The run that begins with the snapshot: it makes room as everybody does.
    pub(crate) beginning: Option<&'a str>,
}

/// The part of a limit that history may have when the snapshots that no rule deletes exceed it by themselves:
/// without it each new snapshot would delete all the others in vain.
const HISTORY_SHARE: u64 = 5;

/// Thinning goes this part of the limit below it, so that the next snapshot need not thin again.
const SLACK_SHARE: u64 = 20;

/// How much more room is made each time when what was made is not enough: a capture says that it needs more, not how much.
const MORE_ROOM: u64 = 4;

/// The share of the disk that a store has once had is its own; it is written down in steps of this size.
const GRANT_STEP_BYTES: u64 = 64 << 20;

impl Home {
    /// The store's size, and the limit that these settings set.
    pub fn budget(&self, settings: &Settings) -> Result<Budget> {
        let used_bytes = self.store().stored_bytes()?;
        let free_bytes = self.disk().free_bytes().map_err(Error::disk("measure", "store"))?;
        // Whoever fills the disk, a command in a jail perhaps, makes the share smaller, and must not thin history so.
        let share = share(settings, used_bytes, free_bytes).max(self.noted(GRANTED));
        let limit_bytes = settings.number("snapshots.retention.budget").min(share);
        Ok(Budget { used_bytes, limit_bytes, free_bytes })
    }

    /// Remembers what the store has of its share of the disk.
    fn grant(&self, settings: &Settings, budget: &Budget) {
        let share = share(settings, budget.used_bytes, budget.free_bytes);
        if budget.used_bytes <= share && budget.used_bytes > self.noted(GRANTED) {
            self.note(GRANTED, budget.used_bytes.next_multiple_of(GRANT_STEP_BYTES).min(share));
        }
    }

    /// Since when a command runs that could fill the store or the disk, but for the run that just begins.
    pub(crate) fn running_since(&self, beginning: Option<&str>) -> Result<Option<Timestamp>> {
        let mut since: Option<Timestamp> = None;
        for identity in Index::read(self.disk())?.known {
            let runs = self.open_runs(&identity.id)?;
            let runs = runs.iter().filter(|run| run.is_live() && !run.is_watch() && Some(run.id.as_str()) != beginning);
            since = since.into_iter().chain(runs.map(|run| run.created_at)).min();
        }
        Ok(since)
    }
}

/// The part of the free disk that the store may have.
fn share(settings: &Settings, used_bytes: u64, free_bytes: u64) -> u64 {
    let percent = settings.number("snapshots.retention.budget_free_percent");
    // What the store holds counts as free, or the limit would shrink as the store grows.
    ((u128::from(free_bytes) + u128::from(used_bytes)) * u128::from(percent) / 100) as u64
}

impl Workspace<'_> {
    /// The store's size and limit.
    pub fn budget(&self) -> Result<Budget> {
        self.home.budget(&self.settings)
    }

    /// Gives back what nothing names any more. When the disk is full no snapshot is deleted for that: whoever filled it may
    /// not have been us, and would have old snapshots deleted for one that still does not fit.
    pub(crate) fn make_space(&self) -> Pruned {
        Pruned { freed_bytes: self.home.collect_quietly().unwrap_or(0), ..Pruned::default() }
    }

    /// Brings the store within its budget without deleting any of `spared`; returns what it has then.
    pub(crate) fn make_room(&self, spared: Spared<'_>, thinned: &mut Pruned) -> Result<Budget> {
        let budget = self.budget()?;
        if !budget.is_over() {
            self.home.grant(&self.settings, &budget);
            return Ok(budget);
        }
        let slack = budget.limit_bytes / SLACK_SHARE;
        let tried = tried(self.home.running_since(spared.beginning)?);
        if budget.used_bytes.abs_diff(self.home.noted(tried)) < slack {
            return Ok(budget);
        }
        thinned.add(self.thin(0, slack, spared)?);
        self.budget()
    }

    /// Captures within the budget: what has to go for it goes before the store is larger than it may be, and none of
    /// `spared`. What does not fit when nothing more can go is captured all the same, for protection comes first.
    pub(crate) fn within_budget<T>(
        &self,
        spared: Spared<'_>,
        thinned: &mut Pruned,
        capture: &mut dyn FnMut(Option<u64>) -> Result<T>,
    ) -> Result<T> {
        let budget = self.make_room(spared, thinned)?;
        // Of a store that is too large by itself nothing more can be freed.
        let mut room = if budget.is_over() { return capture(None) } else { budget.room() };
        let mut wanted = room.max(budget.limit_bytes / SLACK_SHARE);
        loop {
            match capture(Some(room)) {
                Err(Error::Store(belay_store::Error::NoRoom)) => {}
                other => return other,
            }
            wanted = wanted.saturating_mul(MORE_ROOM).min(budget.limit_bytes);
            thinned.add(self.thin(wanted, wanted, spared)?);
            let more = self.budget()?.room();
            if more <= room {
                return capture(None);
            }
            room = more;
        }
    }

    /// If there is less room than `needed`, deletes what is worth least until there is room for `wanted` bytes, as far as it
    /// can be.
    fn thin(&self, needed: u64, wanted: u64, spared: Spared<'_>) -> Result<Pruned> {
        // While nothing can be freed, deleting snapshots would only lose them.
        let Some(freed_bytes) = self.home.collect_quietly() else { return Ok(Pruned::default()) };
        let mut pruned = Pruned { freed_bytes, ..Pruned::default() };
        let budget = self.budget()?;
        if !budget.is_over() && budget.room() >= needed {
            return Ok(pruned);
        }
        let delete_initial = self.settings.flag("snapshots.retention.delete_initial");
        let limit = budget.limit_bytes.saturating_sub(wanted);
        let since = self.home.running_since(spared.beginning)?;
        let may_go = MayGo { only: None, since, delete_initial };
        for (workspace, mut ids) in beyond(self.home, limit, budget.used_bytes, may_go)? {
            ids.retain(|id| !spared.ids.contains(&id.as_str()));
            pruned.deleted.extend(delete_records(self.home, &workspace, &ids, Why::Budget)?);
        }
        if !pruned.deleted.is_empty() {
            pruned.freed_bytes += self.home.collect_quietly().unwrap_or(0);
        }
        let rest = self.budget()?;
        self.home.note(tried(since), if rest.is_over() { rest.used_bytes } else { 0 });
        Ok(pruned)
    }

    /// What this workspace would give up for the store to have at most so many bytes.
    pub(crate) fn plan_budget(&self, timeline: &Timeline, limit: u64) -> Result<PrunePlan> {
        let used = self.home.store().stored_bytes()?;
        let delete_initial = self.settings.flag("snapshots.retention.delete_initial");
        let mut going = HashSet::new();
        if used > limit {
            let may_go = MayGo { only: Some(&self.id), since: None, delete_initial };
            let all = beyond(self.home, limit, used, may_go)?;
            going.extend(all.into_iter().flat_map(|(_, ids)| ids));
        }
        let (delete, keep): (Vec<Snapshot>, Vec<Snapshot>) =
            timeline.snapshots().iter().cloned().partition(|snapshot| going.contains(&snapshot.id));
        Ok(PrunePlan { keep: keep.into_iter().rev().collect(), delete, freed_bytes: 0 })
    }
}

/// How large the store was when it could not be made small enough: while it is about as large, trying again would
/// only cost time.
const THINNED: &str = "workspaces/thinned";
/// The same while a run goes on, when less may go.
const THINNED_IN_RUN: &str = "workspaces/thinned-in-run";
/// How large the store may be although the disk is fuller by now.
const GRANTED: &str = "workspaces/granted";

/// What tells how large the store was when nothing more could go.
fn tried(running_since: Option<Timestamp>) -> &'static str {
    if running_since.is_some() { THINNED_IN_RUN } else { THINNED }
}

impl Home {
    fn noted(&self, name: &str) -> u64 {
        let text = self.disk().read(name).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    fn note(&self, name: &str, bytes: u64) {
        // Without it the next snapshot tries again.
        let _ = replace(self.disk(), name, bytes.to_string().as_bytes());
    }
}

/// Which snapshots may go at all.
struct MayGo<'a> {
    /// Those of this workspace alone.
    only: Option<&'a str>,
    /// Those that are no older.
    since: Option<Timestamp>,
    /// Pre-run snapshots too.
    delete_initial: bool,
}

/// The snapshots, by workspace, that do not fit in the limit.
fn beyond(home: &Home, limit: u64, used: u64, may_go: MayGo<'_>) -> Result<Vec<(String, Vec<String>)>> {
    let MayGo { only, since, delete_initial } = may_go;
    let mut timelines = Vec::new();
    for identity in Index::read(home.disk())?.known {
        let timeline = Timeline::read(home.disk(), &timeline_name(&identity.id))?;
        let terms = Terms::of(home, &identity.id, &timeline, delete_initial)?;
        timelines.push((identity.id, timeline, terms));
    }
    let mut all = Vec::new();
    for (workspace, timeline, terms) in &timelines {
        let is_elsewhere = only.is_some_and(|only| only != workspace);
        let is_older = |snapshot: &Snapshot| since.is_some_and(|since| snapshot.created_at < since);
        let worth = |snapshot: &Snapshot| match is_elsewhere || is_older(snapshot) {
            true => Worth::Never,
            false => terms.worth(timeline, snapshot),
        };
        all.extend(timeline.snapshots().iter().map(|snapshot| (worth(snapshot), snapshot)));
    }
    let total = all.len();
    let mut kept = keep_order(all, home.options.clock.now());
    // A snapshot that goes may leave what it shared with one that stays, so those that stay are weighed again.
    loop {
        let groups: Vec<_> = kept.iter().map(|(_, snapshot)| vec![snapshot.manifest]).collect();
        let added: Vec<u64> = weigh(home.store(), &groups)?.iter().map(|weight| weight.added_bytes).collect();
        let never = kept.iter().take_while(|(worth, _)| *worth == Worth::Never).count();
        let scale = if kept.len() == total { used } else { added.iter().sum() };
        let fits = fitting(&added, never, limit, scale, since.is_some());
        if fits.iter().all(|fits| *fits) {
            break;
        }
        let mut fits = fits.into_iter();
        kept.retain(|_| fits.next().unwrap_or(true));
    }
    let stays: HashSet<&str> = kept.iter().map(|(_, snapshot)| snapshot.id.as_str()).collect();
    let of_timeline = |timeline: &Timeline| -> Vec<String> {
        timeline.snapshots().iter().map(|s| s.id.clone()).filter(|id| !stays.contains(id.as_str())).collect()
    };
    let found = timelines.iter().map(|(workspace, timeline, _)| (workspace.clone(), of_timeline(timeline)));
    Ok(found.filter(|(_, ids)| !ids.is_empty()).collect())
}

/// Which of the snapshots fit, where each adds so many bytes to those before it and the first `never` stay anyway.
///
/// With a `reserve` the others have their share in any case, or a run in a store that is full would keep none of its own.
fn fitting(added: &[u64], never: usize, limit: u64, used: u64, reserve: bool) -> Vec<bool> {
    let total: u64 = added.iter().sum();
    // The packs hold some waste too, so that a part of them stands for a somewhat smaller part of the content.
    let limit = (u128::from(limit) * u128::from(total) / u128::from(used.max(1))) as u64;
    let base: u64 = added[..never].iter().sum();
    let with_share = base + limit / HISTORY_SHARE;
    let limit = if base > limit || reserve { limit.max(with_share) } else { limit };
    let mut sum = base;
    let fits = |bytes: &u64| {
        let fits = sum + bytes <= limit;
        sum += if fits { *bytes } else { 0 };
        fits
    };
    std::iter::repeat_n(true, never).chain(added[never..].iter().map(fits)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exceeds_the_limit_goes_and_what_costs_little_stays() {
        assert_eq!(fitting(&[50, 20, 20, 20], 1, 100, 110, false), [true, true, true, false]);
        assert_eq!(fitting(&[50, 20, 20, 20], 1, 110, 110, false), [true; 4]);
        assert_eq!(fitting(&[50, 60, 1], 1, 100, 111, false), [true, false, true]);
        assert_eq!(fitting(&[], 0, 100, 0, false), [true; 0]);
    }

    #[test]
    fn a_workspace_beyond_the_limit_keeps_a_share_of_history() {
        assert_eq!(fitting(&[500, 10, 10, 10], 1, 100, 530, false), [true, true, true, false]);
    }

    #[test]
    fn a_run_in_a_full_store_keeps_some_of_its_own() {
        assert_eq!(fitting(&[100, 10, 10, 10], 1, 100, 130, true), [true, true, true, false]);
        assert_eq!(fitting(&[100, 10, 10, 10], 1, 100, 130, false), [true, false, false, false]);
    }

    #[test]
    fn waste_counts_against_the_limit() {
        assert_eq!(fitting(&[50, 20, 20, 20], 1, 100, 220, false), [true, false, false, false]);
    }
}
