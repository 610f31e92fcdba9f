//! Pruning and the budget, with bytes really freed.

use std::sync::Arc;

use belay_session::{Error, Kind, PruneRule, SnapshotRequest};
use jiff::SignedDuration;

use crate::bed::{Bed, work};
use crate::faulty::Faulty;

/// Bytes that no compressor makes smaller.
pub(crate) fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..len).map(|_| next()).collect()
}

fn numbers(bed: &Bed) -> Vec<u64> {
    bed.open().timeline().unwrap().snapshots().iter().map(|snapshot| snapshot.number).collect()
}

#[test]
fn pruning_deletes_what_it_says_and_frees_what_it_says() {
    let bed = Bed::new();
    for n in 0..6 {
        bed.ws.file("data", noise(n, 200_000));
        bed.snap();
    }
    let workspace = bed.open();
    let plan = workspace.plan_prune(PruneRule::Keep(2)).unwrap();
    assert_eq!((plan.keep.len(), plan.delete.len()), (2, 4));
    assert!(plan.freed_bytes > 790_000, "{}", plan.freed_bytes);
    assert_eq!(numbers(&bed).len(), 6, "a plan deletes nothing");
    let before = bed.home.store().stored_bytes().unwrap();
    let pruned = workspace.prune(&plan).unwrap();
    let freed = before - bed.home.store().stored_bytes().unwrap();
    assert_eq!((pruned.deleted.len(), numbers(&bed)), (4, vec![5, 6]));
    assert!(freed > 790_000 && pruned.freed_bytes.abs_diff(freed) < 4096, "{freed} {}", pruned.freed_bytes);
    assert!(bed.home.verify(true, work()).unwrap().is_sound());
    let none = workspace.plan_prune(PruneRule::OlderThan(SignedDuration::from_hours(1))).unwrap();
    assert!(none.delete.is_empty() && none.freed_bytes == 0);
}

#[test]
fn a_budget_can_be_asked_for() {
    let bed = Bed::new();
    for n in 0..6 {
        bed.ws.file("data", noise(n, 200_000));
        bed.snap();
    }
    let plan = bed.open().plan_prune(PruneRule::Budget(700_000)).unwrap();
    assert_eq!(plan.delete.len(), 3, "three of 200 kB fit");
    bed.open().prune(&plan).unwrap();
    assert!(bed.home.store().stored_bytes().unwrap() <= 700_000);
    assert!(numbers(&bed).contains(&6));
}

#[test]
fn the_store_stays_within_its_budget_by_itself() {
    let bed = Bed::new().with(&[("snapshots.retention.budget", "1MB")]);
    bed.ws.file("data", noise(100, 100_000));
    bed.take(&SnapshotRequest { kind: Kind::PreRun, ..SnapshotRequest::default() }).unwrap();
    bed.ws.file("data", noise(101, 100_000));
    bed.label("precious");
    let mut thinned = 0;
    for n in 0..20 {
        bed.ws.file("data", noise(n, 100_000));
        let taken = bed.take(&SnapshotRequest { kind: Kind::Auto, ..SnapshotRequest::default() }).unwrap();
        thinned += taken.thinned.deleted.len();
        assert!(!taken.over_budget);
        assert!(bed.home.store().stored_bytes().unwrap() <= 1_000_000);
    }
    let left = numbers(&bed);
    assert!(thinned >= 12 && left.len() + thinned == 22, "{thinned} {left:?}");
    assert!(left.contains(&1) && left.contains(&2) && left.contains(&22), "{left:?}");
}

#[test]
fn old_snapshots_go_before_a_new_one_takes_their_room() {
    const LIMIT: u64 = 1_000_000;
    let bed = Bed::new().with(&[("snapshots.retention.budget", "1MB")]);
    for n in 0..9 {
        bed.ws.file("data", noise(n, 100_000));
        bed.snap();
    }
    let used = bed.home.store().stored_bytes().unwrap();
    assert!(used > 800_000 && used <= LIMIT, "{used}");
    // More than what is free, and more than what is made free at first.
    bed.ws.remove("data").file("large", noise(77, 600_000));
    let mut at_once = 0;
    let workspace = bed.open();
    let measure = |_: &belay_session::Snapshot| at_once = bed.home.store().stored_bytes().unwrap();
    let taken = workspace.snapshot_then(&SnapshotRequest::default(), work(), measure).unwrap();
    assert!(at_once > 600_000 && at_once <= LIMIT, "the store had {at_once} bytes when the snapshot was published");
    assert!(!taken.over_budget && !taken.thinned.deleted.is_empty(), "{:?}", taken.thinned);
    assert!(numbers(&bed).contains(&9) && numbers(&bed).contains(&10), "{:?}", numbers(&bed));
    assert!(bed.home.verify(true, work()).unwrap().is_sound());
}

#[test]
fn a_rollback_keeps_its_target_however_little_room_there_is() {
    let bed = Bed::new().with(&[("snapshots.retention.budget", "1MB")]);
    bed.ws.file("data", noise(0, 100_000));
    let first = bed.snap();
    for n in 1..9 {
        bed.ws.file("data", noise(n, 100_000));
        bed.snap();
    }
    bed.ws.file("large", noise(77, 600_000));
    let outcome = bed.rollback(&first);
    assert_eq!(std::fs::read(bed.ws.join("data")).unwrap(), noise(0, 100_000));
    assert!(bed.home.store().stored_bytes().unwrap() <= 1_000_000);
    let safety = outcome.safety.unwrap().number;
    assert!(numbers(&bed).contains(&1) && numbers(&bed).contains(&safety), "{:?}", numbers(&bed));
}

#[test]
fn a_workspace_that_exceeds_the_budget_by_itself_is_still_protected_and_says_so() {
    let bed = Bed::new().with(&[("snapshots.retention.budget", "100KB")]);
    bed.ws.file("data", noise(1, 300_000));
    let first = bed.take(&SnapshotRequest::default()).unwrap();
    assert!(first.over_budget);
    bed.ws.file("small", "1");
    let second = bed.take(&SnapshotRequest::default()).unwrap();
    assert!(second.over_budget && second.thinned.deleted.is_empty(), "history that costs nothing stays");
    assert_eq!(numbers(&bed), [1, 2]);
    bed.ws.file("big", noise(2, 60_000));
    bed.snap();
    bed.ws.remove("big").file("more", noise(3, 10_000));
    let last = bed.take(&SnapshotRequest::default()).unwrap();
    assert_eq!(last.thinned.deleted.len(), 1, "history beyond its share goes");
    assert_eq!(numbers(&bed).len(), 3);
}

#[test]
fn deleting_by_name_is_exact() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let (one, two) = (bed.snap(), bed.snap());
    assert!(matches!(bed.open().delete(&["snap_nobody".into()]), Err(Error::UnknownSnapshot { .. })));
    let pruned = bed.open().delete(std::slice::from_ref(&one.id)).unwrap();
    assert_eq!((pruned.deleted[0].id.as_str(), bed.ids()), (one.id.as_str(), vec![two.id.clone()]));
    bed.open().delete(&[two.id]).unwrap();
    assert_eq!(bed.snap().number, 3, "numbers are not used again");
}

#[test]
fn deleting_does_not_go_on_while_nothing_can_be_freed() {
    let bed = Bed::new().with(&[("snapshots.retention.budget", "250KB")]);
    let another_writer = bed.home.store().begin().unwrap();
    for n in 0..6 {
        bed.ws.file("data", noise(n, 100_000));
        bed.snap();
    }
    assert_eq!(numbers(&bed).len(), 5, "one went, and its bytes are still there");
    drop(another_writer);
    bed.ws.file("data", noise(9, 100_000));
    assert!(!bed.take(&SnapshotRequest::default()).unwrap().over_budget);
    assert!(numbers(&bed).len() <= 2);
}

#[test]
fn whoever_fills_the_disk_deletes_no_snapshot() {
    let bed = Bed::new();
    let disk = Faulty::open(bed.ws.home());
    let bed = bed.on(Arc::new(disk.clone()));
    disk.set_free(100 << 20);
    for n in 0..6 {
        bed.ws.file("data", noise(n, 200_000));
        bed.snap();
    }
    for free in [1 << 20, 1_000, 0, 0] {
        disk.set_free(free);
        bed.ws.file("small", free.to_string());
        let taken = bed.take(&SnapshotRequest { kind: Kind::Auto, ..SnapshotRequest::default() }).unwrap();
        assert!(taken.thinned.deleted.is_empty(), "{free}: {:?}", taken.thinned);
    }
    assert_eq!(numbers(&bed).len(), 10);
    // It still has the share that it had, and no more than the setting says.
    let bed = bed.with(&[("snapshots.retention.budget", "700KB")]);
    bed.ws.file("small", "last");
    assert!(!bed.take(&SnapshotRequest::default()).unwrap().thinned.deleted.is_empty());
    assert!(bed.home.store().stored_bytes().unwrap() <= 700_000);
}

#[test]
fn a_store_that_never_had_more_stays_within_its_share_of_the_disk() {
    let bed = Bed::new();
    let disk = Faulty::open(bed.ws.home());
    let bed = bed.on(Arc::new(disk.clone()));
    for n in 0..10 {
        disk.set_free((4 << 20) - bed.home.store().stored_bytes().unwrap());
        bed.ws.file("data", noise(n, 200_000));
        bed.snap();
    }
    assert!(bed.home.store().stored_bytes().unwrap() <= (4 << 20) / 5);
    assert!(numbers(&bed).len() < 5, "{:?}", numbers(&bed));
}
