//! A full or failing disk at every change of belay's home: a plain error, the old state or the new, and it goes on.

use std::sync::Arc;

use belay_session::{Error, Goal, PruneRule, SnapshotRequest};

use crate::bed::{Bed, work};
use crate::faulty::{EIO, ENOSPC, Faulty};
use crate::recover::wreck;

fn fail_everywhere<T>(
    prepare: impl Fn(Bed) -> Bed,
    deed: impl Fn(&Bed) -> Result<T, Error>,
    look: impl Fn(&Bed, bool, &str),
) {
    for errno in [ENOSPC, EIO] {
        for at in 1.. {
            let bed = Bed::new();
            let disk = Faulty::open(bed.ws.home());
            let bed = prepare(bed.on(Arc::new(disk.clone())));
            disk.fail_at(at, errno);
            let worked = deed(&bed).is_ok();
            let ended = disk.changes() < at;
            disk.fail_at(0, 0);
            let what = format!("errno {errno} at change {at}");
            let bed = bed.reopened();
            look(&bed, worked, &what);
            let health = bed.home.verify(true, work()).unwrap();
            assert!(health.is_sound(), "{what}: {health:?}");
            if ended {
                assert!(worked && at > 3, "{what}");
                break;
            }
        }
    }
}

#[test]
fn a_snapshot_that_fails_leaves_the_others_and_the_next_one_works() {
    let prepare = |bed: Bed| {
        bed.ws.file("a", "1");
        bed.snap();
        bed.ws.file("a", "2");
        bed
    };
    fail_everywhere(
        prepare,
        |bed| bed.take(&SnapshotRequest::default()),
        |bed, worked, what| {
            let ids = bed.ids().len();
            assert!(ids == 2 || (ids == 1 && !worked), "{what}: {ids}");
            bed.snap();
            bed.ws.file("a", "3");
            bed.rewind(Goal::To(Some("1".into()))).unwrap();
            assert_eq!(bed.text("a"), "1", "{what}");
        },
    );
}

#[test]
fn a_rollback_that_fails_is_as_if_it_had_not_been_tried_or_is_finished_by_the_next_command() {
    fail_everywhere(
        |bed| wreck(bed).0,
        |bed| bed.rewind(Goal::To(Some("1".into()))),
        |bed, worked, what| {
            let recovered = bed.open().recover(work()).unwrap();
            assert!(recovered.iter().all(|one| one.failed.is_none()), "{what}: {recovered:?}");
            let is_good = bed.text("gone/deep/file") == "1";
            assert_eq!(is_good, bed.text("edited") == "1", "{what}: all or nothing");
            assert!(is_good || !worked, "{what}");
            bed.rewind(Goal::To(Some("1".into()))).unwrap();
            assert_eq!(bed.text("edited"), "1", "{what}");
            bed.rewind(Goal::Undo).unwrap();
            assert_eq!((bed.text("edited").as_str(), bed.text("added/z").as_str()), ("2", "2"), "{what}");
        },
    );
}

#[test]
fn a_prune_that_fails_loses_nothing_that_stays() {
    let prepare = |bed: Bed| {
        for n in 0..3 {
            bed.ws.file("a", crate::budget::noise(n, 3000));
            bed.snap();
        }
        bed
    };
    let deed = |bed: &Bed| {
        let workspace = bed.open();
        workspace.prune(&workspace.plan_prune(PruneRule::Keep(1))?)
    };
    fail_everywhere(prepare, deed, |bed, worked, what| {
        let left = bed.ids().len();
        assert!(left == 1 || (left == 3 && !worked), "{what}: {left}");
    });
}
