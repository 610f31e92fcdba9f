//! The machine ends before every single change of belay's disk: the old state or the new, and nothing else.

use std::path::Path;
use std::sync::Arc;

use belay_session::{Error, Goal, PruneRule, SnapshotRequest};
use belay_testkit::{TempWorkspace, assert_same_world, diff_worlds};

use crate::bed::{Bed, work};
use crate::recover::{BUT_TIMES, wreck};
use crate::twin::{End, Twin};

/// How many ways to lose power are tried at each change.
fn ends() -> impl Iterator<Item = End> {
    let full = std::env::var("BELAY_CRASH").is_ok_and(|value| value == "full");
    std::iter::once(End::Death).chain((0..if full { 20 } else { 2 }).map(End::PowerLoss))
}

/// A workspace and a home on a filesystem on which waiting for the disk takes no time, if there is one.
fn in_memory() -> Bed {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { Bed::of(TempWorkspace::new_in(memory)) } else { Bed::new() }
}

/// Does `deed` until the machine ends at its n-th change of the disk, for every n and end, and has a look each time.
fn end_everywhere<T>(
    prepare: impl Fn(Bed) -> Bed,
    deed: impl Fn(&Bed) -> Result<T, Error>,
    look: impl Fn(Bed, Option<T>, &str),
) {
    for operation in 1.. {
        let mut done = false;
        for end in ends() {
            let bed = in_memory();
            let disk = Twin::beside(bed.ws.home());
            let bed = prepare(bed.on(Arc::new(disk.clone())));
            disk.end_at(operation);
            let made = deed(&bed).ok();
            done = disk.operations() < operation;
            let what = format!("{end:?} at change {operation}");
            look(bed.on(Arc::new(disk.after(end))), made, &what);
        }
        if done {
            assert!(operation > 3, "nothing was changed, so nothing was tested");
            return;
        }
    }
}

fn is_sound(bed: &Bed, what: &str) {
    let health = bed.home.verify(true, work()).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(health.is_sound(), "{what}: {health:?}");
    bed.home.gc(false).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(bed.home.verify(true, work()).unwrap().is_sound(), "{what}: after gc");
}

#[test]
fn a_snapshot_is_listed_or_not_and_the_others_stay() {
    let prepare = |bed: Bed| {
        bed.ws.file("a", "1").file("dir/b", "1");
        bed.label("first");
        bed.ws.file("a", "2");
        bed
    };
    let deed = |bed: &Bed| bed.take(&SnapshotRequest::default()).map(|taken| taken.snapshot);
    end_everywhere(prepare, deed, |bed, made, what| {
        is_sound(&bed, what);
        let timeline = bed.open().timeline().unwrap();
        assert_eq!(timeline.snapshots()[0].label.as_deref(), Some("first"), "{what}");
        if let Some(made) = made {
            assert_eq!(timeline.latest(), Some(&made), "{what}: what was reported is there");
        }
        let next = bed.snap();
        assert_eq!(next.number, timeline.snapshots().len() as u64 + 1, "{what}");
        bed.ws.file("a", "wreck");
        bed.rewind(Goal::To(Some("first".into()))).unwrap();
        assert_eq!(bed.text("a"), "1", "{what}");
    });
}

/// Every copy belongs to a snapshot, once gc has been there.
fn has_no_leftovers(bed: &Bed, what: &str) {
    bed.home.gc(false).unwrap_or_else(|error| panic!("{what}: {error}"));
    let timeline = bed.open().timeline().unwrap();
    let mut wanted: Vec<_> = timeline.snapshots().iter().filter_map(|one| one.native_ref.clone()).collect();
    let mut copies = bed.home.store().native_copies().unwrap();
    copies.sort_by(|a, b| a.reference.cmp(&b.reference));
    wanted.sort();
    wanted.dedup();
    assert_eq!(
        copies.iter().map(|copy| &copy.reference).collect::<Vec<_>>(),
        wanted.iter().collect::<Vec<_>>(),
        "{what}"
    );
    let there = std::fs::read_dir(bed.ws.home().join("copies")).map_or(0, |entries| entries.count());
    assert_eq!(there, wanted.len(), "{what}: directories of copies");
}

fn ends_during_a_copy(backend: &'static str) {
    let prepare = |bed: Bed| {
        let bed = bed.with(&[("snapshots.backend", backend)]);
        bed.ws.file("a", "1").file("dir/b", "1");
        bed.label("first");
        bed.ws.file("a", "2");
        bed
    };
    let deed = |bed: &Bed| bed.take(&SnapshotRequest::default()).map(|taken| taken.snapshot);
    end_everywhere(prepare, deed, |bed, made, what| {
        is_sound(&bed, what);
        let timeline = bed.open().timeline().unwrap();
        assert_eq!(timeline.snapshots()[0].label.as_deref(), Some("first"), "{what}");
        assert!(made.is_none_or(|made| timeline.latest() == Some(&made)), "{what}: what was reported is there");
        has_no_leftovers(&bed, what);
        bed.ws.file("a", "wreck");
        bed.rewind(Goal::To(Some("first".into()))).unwrap();
        assert_eq!((bed.text("a"), bed.text("dir/b")), ("1".into(), "1".into()), "{what}");
    });
}

#[test]
fn a_clone_is_whole_or_collected() {
    ends_during_a_copy("clone");
}

#[test]
fn an_archive_is_whole_or_collected() {
    ends_during_a_copy("archive");
}

#[test]
fn a_copy_that_goes_leaves_what_others_need() {
    let prepare = |bed: Bed| {
        let bed = bed.with(&[("snapshots.backend", "clone")]);
        bed.ws.file("steady", crate::budget::noise(1, 3000)).file("once", crate::budget::noise(2, 3000));
        bed.label("first");
        bed.ws.file("changing", "2").remove("once");
        bed.label("second");
        let bed = bed.with(&[("snapshots.backend", "objects")]);
        bed.ws.file("changing", "3").file("once", crate::budget::noise(2, 3000));
        bed.label("third");
        bed
    };
    let deed = |bed: &Bed| {
        let timeline = bed.open().timeline()?;
        bed.open().delete(&[timeline.snapshots()[0].id.clone()])
    };
    end_everywhere(prepare, deed, |bed, made, what| {
        is_sound(&bed, what);
        has_no_leftovers(&bed, what);
        assert!(made.is_none() || bed.ids().len() == 2, "{what}");
        bed.ws.remove("steady").remove("once");
        bed.rewind(Goal::To(Some("third".into()))).unwrap();
        assert_eq!(std::fs::read(bed.ws.join("once")).unwrap(), crate::budget::noise(2, 3000), "{what}");
        bed.rewind(Goal::To(Some("second".into()))).unwrap();
        assert_eq!(std::fs::read(bed.ws.join("steady")).unwrap(), crate::budget::noise(1, 3000), "{what}");
    });
}

#[test]
fn a_workspace_is_known_or_not() {
    let prepare = |bed: Bed| {
        bed.ws.file("a", "1");
        bed
    };
    let deed = |bed: &Bed| {
        bed.home
            .find_or_create(bed.ws.path(), Default::default(), &bed.sources)?
            .snapshot(&SnapshotRequest::default(), work())
    };
    end_everywhere(prepare, deed, |bed, made, what| {
        let known = bed.home.workspaces().unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(known.len() <= 1, "{what}");
        if let Some(made) = made {
            assert_eq!(bed.ids(), [made.snapshot.id], "{what}");
        }
        bed.snap();
        assert_eq!(bed.home.workspaces().unwrap().len(), 1, "{what}");
        is_sound(&bed, what);
    });
}

#[test]
fn what_a_prune_leaves_is_whole() {
    let prepare = |bed: Bed| {
        for n in 0..4 {
            bed.ws.file("a", crate::budget::noise(n, 3000)).file("b", n.to_string());
            bed.snap();
        }
        bed
    };
    let deed = |bed: &Bed| {
        let workspace = bed.open();
        workspace.prune(&workspace.plan_prune(PruneRule::Keep(2))?)
    };
    end_everywhere(prepare, deed, |bed, made, what| {
        is_sound(&bed, what);
        let left = bed.ids().len();
        assert!(left == 4 || left == 2, "{what}: all or none go: {left}");
        assert!(made.is_none() || left == 2, "{what}: what was reported has happened");
    });
}

#[test]
fn what_was_to_be_forgotten_is_gone_when_the_next_command_has_finished_it() {
    let secret = crate::budget::noise(9, 3000);
    let prepare = |bed: Bed| {
        bed.ws.file("keep", "1").file("secret", &secret);
        bed.snap();
        bed.ws.file("keep", crate::budget::noise(1, 3000));
        bed.snap();
        bed
    };
    let deed = |bed: &Bed| {
        let workspace = bed.open();
        workspace.forget(&workspace.plan_forget(&[b"secret".to_vec()])?, false)
    };
    end_everywhere(prepare, deed, |bed, made, what| {
        let finished = bed.home.finish_forgetting().unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(bed.home.finish_forgetting().unwrap().is_empty(), "{what}: it is finished once");
        let is_held = !bed.open().plan_forget(&[b"secret".to_vec()]).unwrap().snapshots.is_empty();
        assert!(
            !is_held || made.is_none() && finished.is_empty(),
            "{what}: what was reported or finished has happened"
        );
        let store = bed.home.store();
        let is_there = store.contains(&store.algorithm().hash(&secret)).unwrap();
        assert_eq!(is_there, is_held, "{what}: no snapshot holds it, and the store does");
        let proven = made.iter().chain(finished.iter().map(|one| &one.report));
        proven.for_each(|report| assert_eq!((report.gone.len(), report.shared.len()), (1, 0), "{what}"));
        is_sound(&bed, what);
        assert_eq!(bed.ids().len(), 2, "{what}");
    });
}

#[test]
fn a_rollback_is_finished_or_never_began() {
    let prepare = |bed: Bed| wreck(bed).0;
    let deed = |bed: &Bed| bed.rewind(Goal::To(Some("1".into())));
    end_everywhere(prepare, deed, |bed, made, what| {
        let after_the_end = bed.ws.walk();
        let recovered = bed.open().recover(work()).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(recovered.iter().all(|one| one.failed.is_none() && one.left.is_empty()), "{what}: {recovered:?}");
        assert!(bed.open().recover(work()).unwrap().is_empty(), "{what}");
        is_sound(&bed, what);
        let now = bed.ws.walk();
        let is_good = bed.text("gone/deep/file") == "1";
        if made.is_some() || !recovered.is_empty() {
            assert!(is_good, "{what}: what was reported or recovered has happened");
        }
        if !is_good {
            assert!(diff_worlds(&after_the_end, &now, BUT_TIMES).is_empty(), "{what}: nothing began");
            assert_eq!(bed.text("edited"), "2", "{what}");
            return;
        }
        let plan = bed.open().plan_rewind(&crate::bed::request(Goal::To(Some("1".into())), &[]), work()).unwrap();
        assert!(plan.plan.steps.is_empty(), "{what}: the rollback is whole");
        bed.rewind(Goal::Undo).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!((bed.text("edited").as_str(), bed.text("added/z").as_str()), ("2", "2"), "{what}");
        bed.rewind(Goal::Redo).unwrap();
        assert_same_world(&now, &bed.ws.walk(), BUT_TIMES);
    });
}

#[test]
fn a_repair_of_lost_workspaces_is_begun_again_until_everything_is_back() {
    let prepare = |bed: Bed| {
        bed.ws.file("a", "1");
        bed.label("first");
        bed.ws.file("a", "2");
        bed.label("second");
        let (id, disk) = (bed.open().id().to_owned(), Arc::clone(bed.home.store().disk()));
        // Nobody waits for a spare, and here it is to be there.
        disk.append(&format!("spares/{id}"), u64::MAX).and_then(|mut file| file.sync()).unwrap();
        disk.sync_dir("spares").unwrap();
        for dir in [format!("workspaces/{id}"), "workspaces".to_owned()] {
            for (name, _) in disk.list(&dir).unwrap() {
                disk.remove(&format!("{dir}/{name}")).unwrap();
            }
            disk.sync_dir(&dir).unwrap();
        }
        bed
    };
    let deed = |bed: &Bed| bed.home.repair(&bed.home.verify(false, work())?);
    end_everywhere(prepare, deed, |bed, made, what| {
        // Whatever is collected in between, nothing of theirs is.
        let _ = bed.home.gc(false);
        let health = bed.home.verify(false, work()).unwrap();
        assert!(made.is_none() || health.is_sound(), "{what}: {health:?}");
        bed.home.repair(&health).unwrap();
        is_sound(&bed, what);
        let timeline = bed.open().timeline().unwrap();
        let labels: Vec<_> = timeline.snapshots().iter().filter_map(|one| one.label.as_deref()).collect();
        assert_eq!(labels, ["first", "second"], "{what}");
        bed.rewind(Goal::To(Some("first".into()))).unwrap();
        assert_eq!(bed.text("a"), "1", "{what}");
    });
}
