//! Slots: the ring of automatic snapshots and the named slots of manual ones.
//!
//! Slots below `auto_max` belong to the ring, those from there on to the manual pool. The ring overwrites its
//! oldest; nothing ever overwrites a manual snapshot, not even when the sizes of the pools were changed.

use crate::error::{Error, Result};
use crate::record::{Pool, Snapshot};
use crate::timeline::Timeline;
use crate::workspace::Workspace;

/// How many slots the pools have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolSizes {
    pub(crate) auto_max: u32,
    pub(crate) manual_max: u32,
}

/// A slot for a new snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) slot: Option<u32>,
    /// Snapshots that the new one takes the place of.
    pub(crate) replaces: Vec<String>,
}

impl Workspace<'_> {
    /// How many of the named slots are free, and how many there are.
    pub fn manual_slots(&self) -> Result<(u32, u32)> {
        Ok(self.manual_slots_of(&*self.timeline()?))
    }

    /// The same for whoever has the timeline at hand.
    pub fn manual_slots_of(&self, timeline: &Timeline) -> (u32, u32) {
        let max = self.settings.pools().manual_max;
        let taken = members(timeline, Pool::Manual).count();
        (max.saturating_sub(u32::try_from(taken).unwrap_or(u32::MAX)), max)
    }
}

/// Where the next snapshot of that pool goes.
pub(crate) fn place(timeline: &Timeline, pool: Option<Pool>, sizes: PoolSizes) -> Result<Place> {
    match pool {
        None => Ok(Place::default()),
        Some(Pool::Manual) => manual(timeline, sizes),
        Some(Pool::Auto) => Ok(ring(timeline, sizes)),
    }
}

fn members(timeline: &Timeline, pool: Pool) -> impl Iterator<Item = &Snapshot> + Clone {
    timeline.snapshots().iter().filter(move |snapshot| snapshot.pool == Some(pool))
}

fn manual(timeline: &Timeline, sizes: PoolSizes) -> Result<Place> {
    if members(timeline, Pool::Manual).count() >= sizes.manual_max as usize {
        return Err(Error::PoolFull { max: sizes.manual_max });
    }
    let is_free = |slot: &u32| timeline.snapshots().iter().all(|snapshot| snapshot.slot != Some(*slot));
    Ok(Place { slot: (sizes.auto_max..).find(is_free), replaces: Vec::new() })
}

fn ring(timeline: &Timeline, sizes: PoolSizes) -> Place {
    let start = timeline.auto_slot().map_or(0, |slot| slot + 1);
    let is_manual = |slot: u32| members(timeline, Pool::Manual).any(|snapshot| snapshot.slot == Some(slot));
    let turns = (0..sizes.auto_max).map(|step| (start + step) % sizes.auto_max);
    let slot = turns.into_iter().find(|slot| !is_manual(*slot));
    let is_in_slot = |old: &&Snapshot| slot.is_some() && old.slot == slot;
    let mut replaces: Vec<String> =
        members(timeline, Pool::Auto).filter(is_in_slot).map(|old| old.id.clone()).collect();
    // After the ring was made smaller, the oldest beyond its size go too.
    let others = members(timeline, Pool::Auto).filter(|old| !is_in_slot(old));
    let excess = (others.clone().count() + 1).saturating_sub(sizes.auto_max as usize);
    replaces.extend(others.take(excess).map(|old| old.id.clone()));
    Place { slot, replaces }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Kind, Record, Why};
    use crate::timeline::tests::{at, sample};

    const SIZES: PoolSizes = PoolSizes { auto_max: 3, manual_max: 2 };

    fn add(timeline: &mut Timeline, pool: Pool, sizes: PoolSizes) -> Result<u32> {
        let Place { slot, replaces } = place(timeline, Some(pool), sizes)?;
        let number = timeline.next_number();
        let snapshot = Snapshot { pool: Some(pool), slot, replaces, ..sample(number, Kind::Auto) };
        timeline.apply(Record::Snapshot(Box::new(snapshot)));
        Ok(slot.expect("these pools have room"))
    }

    fn slots(timeline: &Timeline, pool: Pool) -> Vec<(u64, u32)> {
        members(timeline, pool).map(|s| (s.number, s.slot.unwrap())).collect()
    }

    #[test]
    fn the_ring_goes_round_and_overwrites_its_oldest() {
        let mut timeline = Timeline::default();
        let taken: Vec<u32> = (0..5).map(|_| add(&mut timeline, Pool::Auto, SIZES).unwrap()).collect();
        assert_eq!(taken, [0, 1, 2, 0, 1]);
        assert_eq!(slots(&timeline, Pool::Auto), [(3, 2), (4, 0), (5, 1)]);
    }

    #[test]
    fn a_full_manual_pool_refuses_and_deleting_the_middle_harms_nobody() {
        let mut timeline = Timeline::default();
        let sizes = PoolSizes { auto_max: 3, manual_max: 3 };
        let taken: Vec<u32> = (0..3).map(|_| add(&mut timeline, Pool::Manual, sizes).unwrap()).collect();
        assert_eq!(taken, [3, 4, 5]);
        assert!(matches!(add(&mut timeline, Pool::Manual, sizes), Err(Error::PoolFull { max: 3 })));
        timeline.apply(Record::Delete { ids: vec!["snap_000002".into()], why: Why::Asked, at: at(9) });
        assert_eq!(add(&mut timeline, Pool::Manual, sizes).unwrap(), 4);
        assert_eq!(slots(&timeline, Pool::Manual), [(1, 3), (3, 5), (4, 4)]);
    }

    #[test]
    fn snapshots_outside_the_pools_take_no_slot() {
        assert_eq!(place(&Timeline::default(), None, SIZES).unwrap(), Place::default());
    }

    #[test]
    fn a_smaller_ring_sheds_its_oldest_and_a_larger_one_spares_manual_slots() {
        let mut timeline = Timeline::default();
        (0..3).for_each(|_| drop(add(&mut timeline, Pool::Auto, SIZES)));
        add(&mut timeline, Pool::Manual, SIZES).unwrap();
        let small = PoolSizes { auto_max: 2, manual_max: 2 };
        assert_eq!(add(&mut timeline, Pool::Auto, small).unwrap(), 1);
        assert_eq!(slots(&timeline, Pool::Auto), [(3, 2), (5, 1)]);
        let large = PoolSizes { auto_max: 5, manual_max: 2 };
        let taken: Vec<u32> = (0..5).map(|_| add(&mut timeline, Pool::Auto, large).unwrap()).collect();
        assert_eq!(taken, [2, 4, 0, 1, 2]);
        assert_eq!(slots(&timeline, Pool::Manual), [(4, 3)]);
    }

    #[test]
    fn what_finds_no_slot_is_bounded_too() {
        let none = PoolSizes { auto_max: 0, manual_max: 1 };
        let mut timeline = Timeline::default();
        for _ in 0..3 {
            let Place { slot, replaces } = place(&timeline, Some(Pool::Auto), none).unwrap();
            let snapshot = sample(timeline.next_number(), Kind::Auto);
            timeline.apply(Record::Snapshot(Box::new(Snapshot { pool: Some(Pool::Auto), slot, replaces, ..snapshot })));
        }
        assert_eq!(members(&timeline, Pool::Auto).count(), 1);
    }

    #[test]
    fn a_ring_of_one_slot_holds_the_newest() {
        let one = PoolSizes { auto_max: 1, manual_max: 1 };
        let mut timeline = Timeline::default();
        let taken: Vec<u32> = (0..3).map(|_| add(&mut timeline, Pool::Auto, one).unwrap()).collect();
        assert_eq!((taken, slots(&timeline, Pool::Auto)), (vec![0, 0, 0], vec![(3, 0)]));
        assert_eq!(add(&mut timeline, Pool::Manual, one).unwrap(), 1);
        assert!(matches!(add(&mut timeline, Pool::Manual, one), Err(Error::PoolFull { max: 1 })));
    }

    #[test]
    fn a_ring_without_slots_takes_none() {
        let none = PoolSizes { auto_max: 0, manual_max: 0 };
        assert_eq!(place(&Timeline::default(), Some(Pool::Auto), none).unwrap(), Place::default());
    }
}
