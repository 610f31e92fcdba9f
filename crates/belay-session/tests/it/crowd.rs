//! Many at once: several processes' worth of homes on one store and one workspace.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use belay_session::{BackendChoice, PruneRule, SnapshotRequest};

use crate::bed::{Bed, work};

#[test]
fn no_snapshot_is_lost_and_no_number_given_twice() {
    let bed = Bed::new();
    bed.ws.file("shared", "1");
    bed.open();
    let ids: Vec<String> = std::thread::scope(|scope| {
        let crowd: Vec<_> = (0..4)
            .map(|one| {
                let bed = &bed;
                scope.spawn(move || {
                    let home = bed.other_process(100 + one);
                    let workspace = home.find(bed.ws.path(), &bed.sources).unwrap().unwrap();
                    (0..8)
                        .map(|n| {
                            bed.ws.file(format!("file-{one}"), format!("{n}"));
                            workspace.snapshot(&SnapshotRequest::default(), work()).unwrap().snapshot.id
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        crowd.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let timeline = bed.open().timeline().unwrap();
    let listed: HashSet<&str> = timeline.snapshots().iter().map(|snapshot| snapshot.id.as_str()).collect();
    assert!(ids.iter().all(|id| listed.contains(id.as_str())) && listed.len() == 32);
    assert_eq!(
        timeline.snapshots().iter().map(|snapshot| snapshot.number).collect::<Vec<_>>(),
        (1..=32).collect::<Vec<_>>()
    );
    assert!(timeline.snapshots().is_sorted_by_key(|snapshot| snapshot.created_at));
    assert!(bed.home.verify(true, work()).unwrap().is_sound());
}

#[test]
fn pruning_beside_writers_frees_nothing_that_is_needed() {
    prune_beside_writers(&["objects"], 25);
}

#[test]
fn pruning_beside_writers_frees_nothing_that_is_needed_of_copies() {
    prune_beside_writers(&["clone", "archive", "objects"], 10);
}

fn prune_beside_writers(backends: &[&str], rounds: u64) {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    bed.open();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let home = bed.other_process(7);
            let workspace = home.find(bed.ws.path(), &bed.sources).unwrap().unwrap();
            while !done.load(Ordering::Relaxed) {
                let plan = workspace.plan_prune(PruneRule::Keep(2)).unwrap();
                workspace.prune(&plan).unwrap();
            }
        });
        for n in 0..rounds {
            bed.ws.file("a", format!("{n}")).file("b", crate::budget::noise(n % 3, 20_000));
            let backend = BackendChoice::from_name(backends[n as usize % backends.len()]);
            bed.take(&SnapshotRequest { backend, ..SnapshotRequest::default() }).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(bed.home.verify(true, work()).unwrap().is_sound());
    let latest = bed.open().resolve("@latest").unwrap();
    bed.ws.file("a", "wreck");
    bed.rollback(&latest);
    assert_eq!(bed.text("a"), (rounds - 1).to_string());
}
