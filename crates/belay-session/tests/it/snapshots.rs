//! Taking snapshots: what is recorded, what is refused, what is captured.

use std::sync::atomic::Ordering;

use belay_session::{Backend, Cause, Dirty, Error, Kind, Origin, Pool, SnapshotRequest};

use crate::bed::{Bed, work};

#[test]
fn after_the_newest_is_deleted_only_what_went_with_it_is_read_again() {
    let bed = Bed::new();
    for n in 0..60 {
        bed.ws.file(format!("d{}/f{n}", n % 6), crate::budget::noise(n, 3000));
    }
    // Long enough for times to prove something.
    let rest = || std::thread::sleep(std::time::Duration::from_millis(40));
    rest();
    let first = bed.take(&SnapshotRequest::default()).unwrap();
    assert_eq!(first.files_read, 60);
    bed.ws.file("d0/f0", "changed");
    rest();
    let second = bed.snap();
    bed.open().delete(std::slice::from_ref(&second.id)).unwrap();
    let third = bed.take(&SnapshotRequest::default()).unwrap();
    assert!((1..=10).contains(&third.files_read), "{} files were read", third.files_read);
    assert_eq!(third.snapshot.root, second.root);
    assert!(bed.home.verify(true, work()).unwrap().is_sound());
    bed.ws.remove("d0").remove("d1");
    bed.rollback(&third.snapshot);
    assert_eq!(bed.text("d0/f0"), "changed");
}

#[test]
fn a_snapshot_has_everything_that_is_promised() {
    let bed = Bed::new();
    bed.ws.file("a", "12345").file("dir/b", "1").symlink("link", "/nowhere");
    let first = bed.snap();
    let request = SnapshotRequest {
        kind: Kind::Turn,
        origin: Origin::Auto,
        label: Some("before-refactor".into()),
        description: Some("the big one".into()),
        cause: Cause {
            run: Some("run_1".into()),
            turn: Some(7),
            trigger: Some("please refactor".into()),
            ..Cause::default()
        },
        pool: Some(Pool::Manual),
        ..SnapshotRequest::default()
    };
    bed.ws.file("c", "x");
    let second = bed.take(&request).unwrap().snapshot;
    assert!(first.id.starts_with("snap_") && first.id.len() == 11, "{}", first.id);
    assert_eq!((first.number, first.files, first.bytes, first.gaps, &first.parent), (1, 3, 6, 0, &None));
    assert_eq!(first.backend, Backend::Objects);
    assert_eq!((second.number, second.parent.as_deref()), (2, Some(first.id.as_str())));
    assert_eq!(second.checkpoint().as_deref(), Some("cp-10"));
    assert!(second.created_at > first.created_at && second.size_delta > 0);
    let timeline = bed.open().timeline().unwrap();
    assert_eq!(timeline.snapshots(), [first, second]);
}

#[test]
fn equal_trees_have_equal_roots_and_cost_nothing_twice() {
    let bed = Bed::new();
    bed.ws.file("a", "12345");
    // A file that changed in the same tick of the clock as it was captured must be read again.
    std::thread::sleep(std::time::Duration::from_millis(50));
    let first = bed.snap();
    let taken = bed.take(&SnapshotRequest::default()).unwrap();
    assert_eq!(taken.snapshot.root, first.root);
    assert_eq!(taken.files_read, 0, "the stat cache vouches for everything");
    assert_ne!(taken.snapshot.id, first.id);
}

#[test]
fn a_same_size_edit_with_a_forged_time_is_found() {
    let bed = Bed::new();
    bed.ws.file("price.py", "price = 100\n").mtime("price.py", 1_700_000_000, 0);
    let first = bed.snap();
    bed.ws.overwrite("price.py", 8, b"900").mtime("price.py", 1_700_000_000, 0);
    assert_ne!(bed.snap().root, first.root);
}

#[test]
fn a_label_in_use_is_refused_before_anything_is_stored() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    bed.label("mine");
    bed.ws.file("a", "2");
    let before = bed.home.store().stored_bytes().unwrap();
    let again = bed.take(&SnapshotRequest { label: Some("mine".into()), ..SnapshotRequest::default() });
    assert!(matches!(again, Err(Error::LabelInUse { .. })));
    assert_eq!(bed.home.store().stored_bytes().unwrap(), before);
    assert_eq!(bed.ids().len(), 1);
}

#[test]
fn time_does_not_go_back_with_the_clock() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let first = bed.snap();
    bed.seconds.fetch_sub(86_400, Ordering::Relaxed);
    let second = bed.snap();
    assert!(second.created_at > first.created_at);
}

#[test]
fn the_ring_wraps_and_the_manual_pool_fills_across_restarts() {
    let bed = Bed::new().with(&[("snapshots.auto_max", "2"), ("snapshots.manual_max", "1")]);
    bed.ws.file("a", "1");
    let pooled = |pool| SnapshotRequest { pool: Some(pool), ..SnapshotRequest::default() };
    let slots: Vec<_> = (0..3).map(|_| bed.take(&pooled(Pool::Auto)).unwrap().snapshot.slot).collect();
    assert_eq!(slots, [Some(0), Some(1), Some(0)]);
    assert_eq!(bed.ids().len(), 2);
    let manual = bed.take(&pooled(Pool::Manual)).unwrap().snapshot;
    assert_eq!(manual.slot, Some(2));
    assert!(matches!(bed.take(&pooled(Pool::Manual)), Err(Error::PoolFull { max: 1 })));
    let again = bed.other_process(2);
    let workspace = again.find(bed.ws.path(), &bed.sources).unwrap().unwrap();
    assert_eq!(workspace.snapshot(&pooled(Pool::Auto), work()).unwrap().snapshot.slot, Some(1));
    assert_eq!(bed.snap().slot, None);
}

#[test]
fn regenerable_directories_are_left_out_unless_all_is_asked_for() {
    let bed = Bed::new();
    bed.ws.dir(".git").file(".gitignore", "node_modules\n.env\n").file("package.json", "{}");
    bed.ws.file("node_modules/x/index.js", "1").file(".env", "SECRET");
    let workspace = bed.open();
    let holds = |snapshot: &belay_session::Snapshot, path: &str| {
        let tree = workspace.tree(snapshot).unwrap();
        workspace.entry(&tree, path.as_bytes()).unwrap().is_some_and(|entry| !entry.is_opaque())
    };
    let (usual, all) = (bed.snap(), bed.snap_all());
    assert!(holds(&usual, ".env") && !holds(&usual, "node_modules"));
    assert!(holds(&all, "node_modules/x/index.js") && all.all);
    let gaps = workspace.tree(&usual).unwrap().coverage(bed.home.store()).unwrap().gaps;
    assert_eq!(gaps.iter().map(|gap| gap.path.as_slice()).collect::<Vec<_>>(), [b"node_modules"]);
}

#[test]
fn ignore_files_above_the_workspace_count() {
    let bed = Bed::new();
    bed.ws.dir(".git").file(".gitignore", "build.log\n").file("packages/web/build.log", "1");
    let sub = bed.ws.join("packages/web");
    let bed = bed.with(&[("snapshots.exclude.gitignored", "skip")]);
    let workspace = bed.open_at(&sub);
    let snapshot = workspace.snapshot(&SnapshotRequest::default(), work()).unwrap().snapshot;
    assert_eq!((workspace.path(), snapshot.files), (sub.as_path(), 0));
}

#[test]
fn switched_off_means_off_and_says_by_whom() {
    let bed = Bed::new().with(&[("snapshots.disabled", "true")]);
    let Err(Error::Disabled { origin }) = bed.take(&SnapshotRequest::default()) else { panic!("it is switched off") };
    assert_eq!(origin, "--test");
}

#[test]
fn a_known_dirty_set_gives_the_same_snapshot_as_a_look_at_everything() {
    let bed = Bed::new();
    for n in 0..50 {
        bed.ws.file(format!("dir-{}/file-{n}", n % 5), n.to_string());
    }
    let since = bed.snap().id;
    bed.ws.file("dir-1/file-1", "changed").remove("dir-2/file-2").file("new/file", "x");
    let paths = ["dir-1/file-1", "dir-2/file-2", "new"].map(|path| path.as_bytes().to_vec()).to_vec();
    let dirty = Dirty { since, paths };
    let quick = bed.take(&SnapshotRequest { dirty: Some(dirty), ..SnapshotRequest::default() }).unwrap();
    let full = bed.take(&SnapshotRequest { full: true, ..SnapshotRequest::default() }).unwrap();
    assert_eq!((quick.snapshot.root, quick.files_read), (full.snapshot.root, 2));
    assert_eq!(full.files_read, 50);
}
