//! How large the store may be, and what goes when it is larger: of all workspaces, the least worth first.

use std::collections::HashSet;

use belay_store::weigh;

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

/// The part of a limit that history may have when the snapshots that no rule deletes exceed it by themselves:
/// without it each new snapshot would delete all the others in vain.
const HISTORY_SHARE: u64 = 5;

/// Thinning goes this part of the limit below it, so that the next snapshot need not thin again.
const SLACK_SHARE: u64 = 20;

/// How much more room is made each time when what was made is not enough: a capture says that it needs more, not how much.
const MORE_ROOM: u64 = 4;

impl Home {
    /// The store's size, and the limit that these settings set.
    pub fn budget(&self, settings: &Settings) -> Result<Budget> {
        let used_bytes = self.store().stored_bytes()?;
        let free_bytes = self.disk().free_bytes().map_err(Error::disk("measure", "store"))?;
        let percent = settings.number("snapshots.retention.budget_free_percent");
        // What the store holds counts as free, or the limit would shrink as the store grows.
        let share = (u128::from(free_bytes) + u128::from(used_bytes)) * u128::from(percent) / 100;
        let limit_bytes = settings.number("snapshots.retention.budget").min(share as u64);
        Ok(Budget { used_bytes, limit_bytes, free_bytes })
    }
}

impl Workspace<'_> {
    /// The store's size and limit.
    pub fn budget(&self) -> Result<Budget> {
        self.home.budget(&self.settings)
    }

    /// Gives back what nothing names any more. When the disk is full no snapshot is deleted for that: whoever filled it may
    /// not have been us, and would have old snapshots deleted for one that still does not fit.
    pub(crate) fn make_space(&self) -> Pruned {
        Pruned { deleted: Vec::new(), freed_bytes: self.home.collect_quietly().unwrap_or(0) }
    }

    /// Brings the store within its budget without deleting any of `spared`; returns what it has then.
    pub(crate) fn make_room(&self, spared: &[&str], thinned: &mut Pruned) -> Result<Budget> {
        let budget = self.budget()?;
        let slack = budget.limit_bytes / SLACK_SHARE;
        if !budget.is_over() || budget.used_bytes.abs_diff(self.home.thinned_to()) < slack {
            return Ok(budget);
        }
        thinned.add(self.thin(0, slack, spared)?);
        self.budget()
    }

    /// Captures within the budget: what has to go for it goes before the store is larger than it may be, and none of
    /// `spared`. What does not fit when nothing more can go is captured all the same, for protection comes first.
    pub(crate) fn within_budget<T>(
        &self,
        spared: &[&str],
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
    fn thin(&self, needed: u64, wanted: u64, spared: &[&str]) -> Result<Pruned> {
        // While nothing can be freed, deleting snapshots would only lose them.
        let Some(freed_bytes) = self.home.collect_quietly() else { return Ok(Pruned::default()) };
        let mut pruned = Pruned { deleted: Vec::new(), freed_bytes };
        let budget = self.budget()?;
        if !budget.is_over() && budget.room() >= needed {
            return Ok(pruned);
        }
        let delete_initial = self.settings.flag("snapshots.retention.delete_initial");
        let limit = budget.limit_bytes.saturating_sub(wanted);
        for (workspace, mut ids) in beyond(self.home, limit, budget.used_bytes, None, delete_initial)? {
            ids.retain(|id| !spared.contains(&id.as_str()));
            pruned.deleted.extend(delete_records(self.home, &workspace, &ids, Why::Budget)?);
        }
        if !pruned.deleted.is_empty() {
            pruned.freed_bytes += self.home.collect_quietly().unwrap_or(0);
        }
        let rest = self.budget()?;
        self.home.remember_thinned(if rest.is_over() { rest.used_bytes } else { 0 });
        Ok(pruned)
    }

    /// What this workspace would give up for the store to have at most so many bytes.
    pub(crate) fn plan_budget(&self, timeline: &Timeline, limit: u64) -> Result<PrunePlan> {
        let used = self.home.store().stored_bytes()?;
        let delete_initial = self.settings.flag("snapshots.retention.delete_initial");
        let mut going = HashSet::new();
        if used > limit {
            let all = beyond(self.home, limit, used, Some(&self.id), delete_initial)?;
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

impl Home {
    fn thinned_to(&self) -> u64 {
        let text = self.disk().read(THINNED).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    fn remember_thinned(&self, bytes: u64) {
        // Without it the next snapshot tries again.
        let _ = replace(self.disk(), THINNED, bytes.to_string().as_bytes());
    }
}

/// The snapshots, by workspace, that do not fit in the limit; with `only`, those of other workspaces all stay.
fn beyond(
    home: &Home,
    limit: u64,
    used: u64,
    only: Option<&str>,
    delete_initial: bool,
) -> Result<Vec<(String, Vec<String>)>> {
    let mut timelines = Vec::new();
    for identity in Index::read(home.disk())?.known {
        let timeline = Timeline::read(home.disk(), &timeline_name(&identity.id))?;
        let terms = Terms::of(home, &identity.id, &timeline, delete_initial)?;
        timelines.push((identity.id, timeline, terms));
    }
    let mut all = Vec::new();
    for (workspace, timeline, terms) in &timelines {
        let stays = only.is_some_and(|only| only != workspace);
        let worth = |snapshot| if stays { Worth::Never } else { terms.worth(timeline, snapshot) };
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
        let fits = fitting(&added, never, limit, scale);
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
fn fitting(added: &[u64], never: usize, limit: u64, used: u64) -> Vec<bool> {
    let total: u64 = added.iter().sum();
    // The packs hold some waste too, so that a part of them stands for a somewhat smaller part of the content.
    let limit = (u128::from(limit) * u128::from(total) / u128::from(used.max(1))) as u64;
    let base: u64 = added[..never].iter().sum();
    let limit = if base > limit { base + limit / HISTORY_SHARE } else { limit };
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
        assert_eq!(fitting(&[50, 20, 20, 20], 1, 100, 110), [true, true, true, false]);
        assert_eq!(fitting(&[50, 20, 20, 20], 1, 110, 110), [true; 4]);
        assert_eq!(fitting(&[50, 60, 1], 1, 100, 111), [true, false, true]);
        assert_eq!(fitting(&[], 0, 100, 0), [true; 0]);
    }

    #[test]
    fn a_workspace_beyond_the_limit_keeps_a_share_of_history() {
        assert_eq!(fitting(&[500, 10, 10, 10], 1, 100, 530), [true, true, true, false]);
    }

    #[test]
    fn waste_counts_against_the_limit() {
        assert_eq!(fitting(&[50, 20, 20, 20], 1, 100, 220), [true, false, false, false]);
    }
}
