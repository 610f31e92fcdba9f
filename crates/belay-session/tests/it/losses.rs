//! Two faults at once in belay's home: what is left is found, nothing is put where it does not belong, and nothing is freed before.

use std::path::Path;

use belay_session::{Error, Goal, Snapshot};

use crate::bed::{Bed, request, work};
use crate::budget::noise;
use crate::health::{lose, spare_of};

fn take(bed: &Bed, dir: &Path) -> Snapshot {
    bed.open_at(dir).snapshot(&Default::default(), work()).unwrap().snapshot
}

/// Loses the timeline of the workspace at `dir`, and its spare.
fn lose_both(bed: &Bed, dir: &Path) {
    let id = bed.open_at(dir).id().to_owned();
    lose(&bed.ws.home().join("workspaces").join(&id).join("timeline"), "removed");
    std::fs::remove_file(spare_of(bed, &id)).unwrap();
}

fn repair(bed: &Bed) -> belay_session::RepairReport {
    let health = bed.home.verify(false, work()).unwrap();
    assert!(!health.is_sound(), "the loss is told");
    let report = bed.home.repair(&health).unwrap();
    let after = bed.home.verify(true, work()).unwrap();
    assert!(after.is_sound(), "{:?}", after.timelines);
    bed.home.gc(false).unwrap();
    report
}

#[test]
fn a_directory_of_a_workspace_that_is_lost_is_missed_and_comes_back_whole() {
    for has_spare in [true, false] {
        let bed = Bed::new();
        bed.ws.file("one/a", noise(1, 50_000)).file("two/b", "2");
        let (one, two) = (bed.ws.join("one"), bed.ws.join("two"));
        let (first, other) = (take(&bed, &one), take(&bed, &two));
        bed.ws.file("one/a", noise(3, 50_000));
        let second = take(&bed, &one);
        let id = bed.open_at(&one).id().to_owned();
        std::fs::remove_dir_all(bed.ws.home().join("workspaces").join(&id)).unwrap();
        if !has_spare {
            std::fs::remove_file(spare_of(&bed, &id)).unwrap();
        }
        let bed = bed.reopened();
        assert!(!bed.home.verify(false, work()).unwrap().is_sound() && bed.home.gc(false).is_err(), "{has_spare}");
        if has_spare {
            assert!(matches!(bed.open_at(&one).timeline(), Err(Error::LostTimeline { .. })));
        } else {
            // Not even a history that is begun anew hides that there was one.
            bed.ws.file("one/a", "anew");
            take(&bed, &one);
            assert!(bed.home.gc(false).is_err());
        }
        let report = repair(&bed);
        let timeline = bed.open_at(&one).timeline().unwrap();
        if has_spare {
            assert_eq!(timeline.snapshots(), [first.clone(), second], "as it was");
        } else {
            assert_eq!((report.snapshots_found, timeline.snapshots().len()), (2, 3));
        }
        assert_eq!(bed.open_at(&two).timeline().unwrap().snapshots(), [other]);
        let back = timeline.snapshots().iter().find(|snapshot| snapshot.manifest == first.manifest).unwrap();
        let goal = Goal::To(Some(back.id.clone()));
        bed.open_at(&one).rewind(&request(goal, &[]), work(), &mut |_| {}).unwrap();
        assert_eq!(std::fs::read(one.join("a")).unwrap(), noise(1, 50_000));
    }
}

#[test]
fn what_was_deleted_is_not_found_again() {
    let bed = Bed::new();
    bed.ws.file("one/a", noise(1, 50_000)).file("two/b", "2");
    let (one, two) = (bed.ws.join("one"), bed.ws.join("two"));
    let (deleted, _) = (take(&bed, &one), take(&bed, &two));
    bed.ws.file("one/a", noise(2, 50_000));
    let kept = take(&bed, &one);
    // Nothing is freed while the other's is damaged, so that the store still holds what is deleted.
    lose(&bed.ws.home().join("workspaces").join(bed.open_at(&two).id()).join("timeline"), "removed");
    assert!(bed.open_at(&one).delete(std::slice::from_ref(&deleted.id)).unwrap().unfreed.is_some());
    assert!(bed.home.store().contains(&deleted.manifest).unwrap());
    lose_both(&bed, &one);
    let report = repair(&bed);
    assert_eq!((report.snapshots_found, report.unclaimed.len()), (1, 0));
    let found: Vec<_> = bed.open_at(&one).timeline().unwrap().snapshots().iter().map(|one| one.manifest).collect();
    assert_eq!(found, [kept.manifest]);
    assert!(!bed.home.store().contains(&deleted.manifest).unwrap());
}

#[test]
fn what_is_not_certain_to_be_of_a_workspace_is_kept_by_its_id_and_filed_nowhere() {
    let bed = Bed::new();
    bed.ws.file("one/then", noise(1, 50_000)).file("two/then", "other");
    let (one, two) = (bed.ws.join("one"), bed.ws.join("two"));
    let (first, other) = (take(&bed, &one), take(&bed, &two));
    bed.ws.remove("one/then").file("one/now", "1");
    lose_both(&bed, &one);
    let report = repair(&bed);
    assert_eq!((report.snapshots_found, report.unclaimed.len()), (0, 1));
    assert_eq!(bed.open_at(&one).timeline().unwrap().snapshots(), []);
    assert_eq!(bed.open_at(&two).timeline().unwrap().snapshots(), [other]);
    let id = &report.unclaimed[0].id;
    let found = bed.open_at(&one).resolve(id).unwrap();
    assert_eq!(found.manifest, first.manifest);
    let to = bed.ws.join("out");
    bed.open_at(&one).extract(&found, &[], &to, work()).unwrap();
    assert_eq!(std::fs::read(to.join("then")).unwrap(), noise(1, 50_000));
    bed.open_at(&one).delete(std::slice::from_ref(id)).unwrap();
    assert!(!bed.home.store().contains(&first.manifest).unwrap(), "it goes when it is deleted");
}

#[test]
fn a_label_that_was_given_again_meanwhile_is_there_once() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    bed.snap();
    let path = bed.ws.home().join("workspaces").join(bed.open().id()).join("timeline");
    let len = std::fs::metadata(&path).unwrap().len();
    bed.ws.file("a", "2");
    bed.label("good");
    std::fs::File::options().write(true).open(&path).unwrap().set_len(len).unwrap();
    bed.ws.file("a", "3");
    bed.label("good");
    repair(&bed);
    let timeline = bed.open().timeline().unwrap();
    let labels: Vec<_> = timeline.snapshots().iter().map(|snapshot| snapshot.label.as_deref()).collect();
    assert_eq!(labels, [None, Some("good"), Some("good-2")]);
}

#[test]
fn an_interrupted_rollback_is_finished_although_the_timeline_was_lost_with_it() {
    let bed = Bed::new();
    bed.ws.file("a", "1").file("b", "1").file("c", "1");
    let good = bed.snap();
    bed.ws.file("a", "2").file("b", "2").file("c", "2");
    assert!(bed.die_rolling_back(&good, 3).is_err());
    lose_both(&bed, bed.ws.path());
    let report = repair(&bed);
    assert_eq!(report.snapshots_found, 2, "what it goes to, and what was there before");
    let recovered = bed.open().recover(work()).unwrap();
    assert_eq!((recovered.len(), recovered[0].failed.as_deref()), (1, None));
    assert_eq!((bed.text("a"), bed.text("b"), bed.text("c")), ("1".into(), "1".into(), "1".into()));
    bed.rewind(Goal::Undo).unwrap();
    assert_eq!((bed.text("a"), bed.text("b"), bed.text("c")), ("2".into(), "2".into(), "2".into()));
}
