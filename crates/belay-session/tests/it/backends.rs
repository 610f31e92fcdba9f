//! The laws hold whatever keeps the content of a snapshot: each case runs with each backend.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use belay_session::store::{CopyPlace, NativeCopy};
use belay_session::{Backend, BackendChoice, Error, Goal, Kind, Origin, Pool, Snapshot, SnapshotRequest};
use belay_testkit::{Ignore, SmallDisk, TempWorkspace, assert_same_world, walk};

use crate::bed::{Bed, request, work};
use crate::budget::noise;
use crate::native::{Ground, shares_blocks};

/// The backends that any directory can have.
const EVERYWHERE: [&str; 3] = ["objects", "clone", "archive"];

fn bed(backend: &str) -> Bed {
    Bed::new().with(&[("snapshots.backend", backend)])
}

/// Calls `test` with each backend: on an ordinary filesystem, or on the one that it needs.
fn with_each(test: fn(&Bed, &str)) {
    for backend in EVERYWHERE {
        test(&bed(backend), backend);
    }
    for ground in Ground::both() {
        test(&ground.bed, ground.backend.name());
    }
}

/// Calls `test` with each backend on filesystems whose files can share blocks.
fn on_sharing_disks(test: fn(&Bed, &str)) {
    for disk in [SmallDisk::btrfs(256 << 20), SmallDisk::xfs(320 << 20)] {
        let Some(disk) = disk else { return };
        for backend in EVERYWHERE {
            let bed = Bed::of(TempWorkspace::new_in(disk.path())).with(&[("snapshots.backend", backend)]);
            test(&bed, backend);
        }
    }
}

/// What GNU tar makes of an archive.
fn unpacked(archive: &std::path::Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    let mut tar = std::process::Command::new("tar");
    tar.args(["--xattrs", "--xattrs-include=*", "-xpf"]).arg(archive).arg("-C").arg(to.path());
    let done = tar.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    to
}

#[test]
fn plain_tar_unpacks_an_archive() {
    for format in ["tar.zst", "tar.gz"] {
        let bed = bed("archive").with(&[("snapshots.archive_format", format)]);
        bed.ws.every_kind("kinds").remove("kinds/socket");
        bed.ws.odd_names("odd");
        bed.ws.file("big", noise(1, 9_000_000)).file("many/x", "x");
        for n in 0..200 {
            bed.ws.file(format!("many/{n}"), noise(n, 20_000));
        }
        bed.snap();
        bed.ws.file("many/7", "changed");
        let (second, world) = (bed.snap(), bed.ws.walk());
        let archive = slot_of(&bed, &second);
        assert!(archive.to_string_lossy().ends_with(format), "{}", archive.display());
        let to = unpacked(&archive);
        assert_same_world(&world, &walk(to.path()), Ignore { top: true, ..Ignore::default() });
        assert_sound(&bed);
    }
}

#[test]
fn a_restored_file_with_holes_is_the_same_after_somebody_read_it() {
    on_sharing_disks(|bed, backend| {
        let piece = noise(3, 300 << 10);
        // Each piece is written behind the end, where a disk may set blocks aside for more.
        let pieces: Vec<(u64, &[u8])> = (0..6).map(|n| (n * (700 << 10), piece.as_slice())).collect();
        bed.ws.sparse("holes", 6 << 20, &pieces).sparse("tail", 8 << 20, &pieces[..1]);
        bed.ws.sparse("small", 600 << 10, &[(0, &piece[..5000]), (200 << 10, &piece[..70_000])]);
        let names = ["holes", "tail", "small"];
        let full = SnapshotRequest { full: true, ..SnapshotRequest::default() };
        let settle =
            || names.iter().for_each(|name| std::fs::File::open(bed.ws.join(name)).unwrap().sync_all().unwrap());
        settle();
        let taken = bed.take(&full).unwrap().snapshot;
        let before = bed.ws.walk();
        names.iter().for_each(|name| {
            bed.ws.remove(name);
        });
        bed.rollback(&taken);
        assert_same_world(&before, &bed.ws.walk(), Ignore::default());
        names.iter().for_each(|name| drop(std::fs::read(bed.ws.join(name)).unwrap()));
        assert_same_world(&before, &bed.ws.walk(), Ignore::default());
        let again = bed.take(&full).unwrap().snapshot;
        assert_eq!(again.root, taken.root, "{backend}: reading it changed it");
        settle();
        assert_eq!(bed.take(&full).unwrap().snapshot.root, taken.root, "{backend}: writing it out changed it");
    });
}

#[test]
fn archives_are_kept_by_count_and_a_damaged_one_harms_no_other() {
    let bed = bed("archive").with(&[("snapshots.retention.max_count", "3")]);
    bed.ws.file("steady", noise(1, 50_000));
    let mut taken = Vec::new();
    for n in 0..6u64 {
        bed.ws.file("changing", noise(10 + n, 5000));
        taken.push((bed.snap(), bed.ws.walk()));
    }
    assert_eq!((bed.ids().len(), slots(&bed), records(&bed)), (3, 3, 3));
    assert_sound(&bed);
    bed.rollback(&taken[3].0);
    assert_same_world(&taken[3].1, &bed.ws.walk(), Ignore::default());
    let archive = slot_of(&bed, &taken[4].0);
    let mut bytes = std::fs::read(&archive).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    std::fs::write(&archive, bytes).unwrap();
    let bed = bed.reopened();
    let health = bed.home.verify(true, work()).unwrap();
    assert!(health.store.damage.iter().any(|damage| damage.file.ends_with("workspace.tar.zst")), "{health:?}");
    assert!(bed.rewind(Goal::To(Some(taken[4].0.id.clone()))).is_err());
    bed.rollback(&taken[5].0);
    assert_same_world(&taken[5].1, &bed.ws.walk(), Ignore::default());
}

/// The directory that the snapshot's copy is in.
fn slot_of(bed: &Bed, snapshot: &Snapshot) -> PathBuf {
    bed.ws.home().join(snapshot.native_ref.as_ref().expect("the snapshot has a copy"))
}

fn slots(bed: &Bed) -> usize {
    std::fs::read_dir(bed.ws.home().join("copies")).map_or(0, |entries| entries.count())
}

fn records(bed: &Bed) -> usize {
    std::fs::read_dir(bed.ws.home().join("store/copies")).map_or(0, |entries| entries.count())
}

#[track_caller]
fn assert_sound(bed: &Bed) {
    let health = bed.home.verify(true, work()).unwrap();
    assert!(health.is_sound(), "{:?}", health.store.damage);
}

fn comes_back(bed: &Bed, backend: &str) {
    bed.ws.every_kind("kinds");
    bed.ws.odd_names("odd");
    bed.ws.deep("deep", 5000);
    bed.ws.file("big", noise(1, 9_000_000));
    let before = bed.ws.walk();
    let first = bed.snap();
    assert_eq!(first.backend.name(), backend);
    assert_same_world(&before, &bed.ws.walk(), Ignore::NOTHING);
    bed.ws
        .mode("kinds/shut", 0o755)
        .remove("kinds")
        .remove("deep")
        .overwrite("big", 4_000_000, b"other")
        .file("new", "n");
    bed.ws.dir("kinds/plain").mode("odd", 0o700);
    let changed = bed.ws.walk();
    let second = bed.snap();
    assert_eq!(bed.rollback(&first).left, []);
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
    assert_eq!(bed.rollback(&first).changed, 0, "a second rollback has nothing to do");
    bed.rollback(&second);
    assert_same_world(&changed, &bed.ws.walk(), Ignore::default());
    bed.rewind(Goal::Undo).unwrap();
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
    assert_sound(bed);
}

#[test]
fn every_property_comes_back() {
    with_each(comes_back);
}

#[test]
fn every_property_comes_back_where_files_share_blocks() {
    on_sharing_disks(comes_back);
}

#[test]
fn what_changed_is_found_by_content_and_properties() {
    with_each(|bed, _| {
        bed.ws
            .dir(".git")
            .file(".env", "secret")
            .file(".gitignore", "nothing\n")
            .file("same", "aaaa")
            .file("mode", "m");
        bed.ws.mtime("same", 1_700_000_000, 5);
        let before = bed.ws.walk();
        let first = bed.snap();
        bed.ws.file("same", "bbbb").mtime("same", 1_700_000_000, 5).mode("mode", 0o755);
        bed.ws.file(".gitignore", ".env\n");
        let second = bed.snap();
        assert_ne!(first.root, second.root);
        bed.ws.file(".env", "changed").remove("mode");
        bed.rollback(&first);
        assert_same_world(&before, &bed.ws.walk(), Ignore { mtime: true, directory_mtime: true, ..Ignore::default() });
        bed.rollback(&second);
        assert_eq!((bed.text("same"), bed.text(".env")), ("bbbb".into(), "secret".into()));
    });
}

#[test]
fn a_copy_can_be_walked_with_other_tools() {
    let bed = bed("clone");
    bed.ws.every_kind("kinds");
    bed.ws.odd_names("odd");
    let world = bed.ws.walk();
    let first = bed.label("walked");
    let top = Ignore { top: true, ..Ignore::default() };
    assert_same_world(&world, &walk(&slot_of(&bed, &first).join("workspace")), top);
    bed.ws.file("kinds/plain", "changed\n").hard_link("odd/tied", "kinds/old").mode("kinds/program", 0o700);
    let world = bed.ws.walk();
    let second = bed.snap();
    assert_same_world(&world, &walk(&slot_of(&bed, &second).join("workspace")), top);
    let text = std::fs::read_to_string(slot_of(&bed, &first).join("metadata.json")).unwrap();
    let told: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((told["name"].as_str(), told["origin"].as_str()), (Some("walked"), Some("manual")));
    assert_eq!(told["hash"].as_str(), Some(first.root.to_hex().as_str()));
    assert!(told["epoch_millis"].as_i64().unwrap() / 1000 == told["epoch_secs"].as_i64().unwrap());
}

#[test]
fn a_slot_leads_to_the_copy_that_is_in_it() {
    let bed = bed("clone").with(&[("snapshots.auto_max", "2")]);
    let auto = |text: &str| {
        bed.ws.file("file", text);
        let pool = Some(Pool::Auto);
        let request = SnapshotRequest { origin: Origin::Auto, kind: Kind::Auto, pool, ..SnapshotRequest::default() };
        bed.take(&request).unwrap().snapshot
    };
    let slots = bed.ws.home().join("workspaces").join(bed.open().id()).join("auto_snapshots");
    let text = |slot: u32| std::fs::read_to_string(slots.join(format!("{slot}/workspace/file"))).ok();
    for round in ["first", "second", "third"] {
        auto(round);
    }
    // The ring has come round once.
    assert_eq!((text(0).as_deref(), text(1).as_deref()), (Some("third"), Some("second")));
    let told = std::fs::read(slots.join("1/metadata.json")).unwrap();
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&told).unwrap()["slot"], 1);
    let last = bed.ids();
    bed.open().delete(&last).unwrap();
    assert_eq!(std::fs::read_dir(&slots).unwrap().count(), 0);
}

#[test]
fn slots_that_share_a_copy_say_each_what_is_in_it() {
    let bed = bed("clone");
    bed.ws.file("file", "the same\n");
    let manual = |label: &str| {
        let (label, pool) = (Some(label.to_owned()), Some(Pool::Manual));
        bed.take(&SnapshotRequest { label, pool, ..SnapshotRequest::default() }).unwrap().snapshot
    };
    bed.label("in-no-slot");
    let made = [manual("one"), manual("two")];
    let slots = bed.ws.home().join("workspaces").join(bed.open().id()).join("auto_snapshots");
    for snapshot in &made {
        let slot = slots.join(snapshot.slot.unwrap().to_string());
        assert_eq!(std::fs::read_to_string(slot.join("workspace/file")).unwrap(), "the same\n");
        let told = std::fs::read(slot.join("metadata.json")).unwrap();
        let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
        assert_eq!((&told["slot"], &told["id"]), (&snapshot.slot.into(), &snapshot.id.as_str().into()), "{told}");
        assert_eq!((told["name"].as_str(), told["origin"].as_str()), (snapshot.label.as_deref(), Some("manual")));
    }
    bed.open().delete(&[made[0].id.clone()]).unwrap();
    let left: Vec<_> = std::fs::read_dir(&slots).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["11"]);
    assert_eq!(std::fs::read_to_string(slots.join("11/workspace/file")).unwrap(), "the same\n");
}

#[test]
fn damage_in_a_copy_is_named_and_nothing_is_restored_from_it() {
    let bed = bed("clone");
    bed.ws.file("dir/kept", noise(1, 5000)).file("other", "o");
    let first = bed.snap();
    bed.ws.file("dir/kept", "new").file("other", "O");
    bed.snap();
    let file = slot_of(&bed, &first).join("workspace/dir/kept");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[2500] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let health = bed.home.verify(true, work()).unwrap();
    let damage = &health.store.damage[0];
    assert!(damage.file.ends_with("workspace/dir/kept"), "{damage:?}");
    assert_eq!(health.affected.iter().map(|one| &one.snapshot.id).collect::<Vec<_>>(), [&first.id]);
    let before = bed.ws.walk();
    let failed = bed.rewind(Goal::To(Some(first.id.clone()))).unwrap_err();
    assert!(matches!(failed, Error::Damaged { .. }), "{failed}");
    assert_same_world(&before, &bed.ws.walk(), Ignore { inode: false, ..Ignore::default() });
    // The other files of that snapshot are as good as before.
    bed.rewind_part(Goal::Files(first.id.clone()), &["other"]).unwrap();
    assert_eq!(bed.text("other"), "o");
    // A workspace that holds the same bytes again heals it.
    bed.ws.file("dir/kept", noise(1, 5000));
    bed.home.repair(&bed.home.verify(true, work()).unwrap()).unwrap();
    bed.ws.file("dir/kept", "newer");
    bed.rollback(&first);
    assert_eq!(std::fs::read(bed.ws.join("dir/kept")).unwrap(), noise(1, 5000));
}

#[test]
fn a_clone_gives_its_blocks_back_and_never_what_somebody_put_into_it() {
    for disk in [SmallDisk::btrfs(256 << 20), SmallDisk::xfs(320 << 20)] {
        let Some(disk) = disk else { return };
        let bed = Bed::of(TempWorkspace::new_in(disk.path())).with(&[("snapshots.backend", "clone")]);
        bed.ws.file("plain", noise(1, 300_000)).sparse("holes", 4 << 20, &[(0, &[7; 8192]), (3 << 20, b"end")]);
        let first = bed.snap();
        let world = bed.ws.walk();
        let slot = slot_of(&bed, &first).join("workspace");
        let back = |damaged: bool| {
            bed.ws.remove("plain").remove("holes");
            assert_eq!(bed.rollback(&first).left, []);
            assert_same_world(&world, &bed.ws.walk(), Ignore::default());
            for name in ["plain", "holes"] {
                let Some(shared) = shares_blocks(&bed.ws.join(name)) else { return };
                assert_eq!(shared, !(damaged && name == "holes"), "{name}");
            }
        };
        back(false);
        // No hash is about a hole.
        std::os::unix::fs::FileExt::write_all_at(
            &std::fs::OpenOptions::new().write(true).open(slot.join("holes")).unwrap(),
            b"planted",
            2 << 20,
        )
        .unwrap();
        back(true);
    }
}

#[test]
fn older_snapshots_outlive_and_newer_ones_survive_a_deletion() {
    with_each(|bed, _| {
        let mut worlds = Vec::new();
        bed.ws
            .file("steady/one", noise(1, 40_000))
            .file("steady/two", noise(2, 40_000))
            .file("big", noise(3, 6_000_000));
        for n in 0..4u64 {
            bed.ws.file("changing", noise(10 + n, 20_000)).file(format!("new-{n}"), noise(20 + n, 1000));
            worlds.push((bed.snap(), bed.ws.walk()));
        }
        for gone in [0, 2] {
            let deleted = bed.open().delete(&[worlds[gone].0.id.clone()]).unwrap();
            assert_eq!(deleted.deleted.len(), 1);
            assert_sound(bed);
        }
        for kept in [3, 1] {
            bed.rollback(&worlds[kept].0);
            assert_same_world(&worlds[kept].1, &bed.ws.walk(), Ignore::default());
        }
    });
}

#[test]
fn a_copy_goes_with_its_snapshot_and_what_others_need_of_it_stays() {
    let bed = bed("clone");
    bed.ws.file("a", noise(1, 30_000)).file("b", noise(2, 30_000));
    let world = bed.ws.walk();
    let first = bed.snap();
    bed.ws.file("b", noise(3, 30_000));
    let second = bed.snap();
    assert_eq!((slots(&bed), records(&bed)), (2, 2));
    // The safety snapshot of this is kept as objects, and builds on content that only the copies have.
    bed.ws.file("c", "c");
    bed.rollback(&first);
    bed.open().delete(std::slice::from_ref(&second.id)).unwrap();
    assert_eq!((slots(&bed), records(&bed)), (1, 1));
    assert!(!slot_of(&bed, &second).exists());
    assert_sound(&bed);
    bed.open().delete(std::slice::from_ref(&first.id)).unwrap();
    assert_eq!((slots(&bed), records(&bed)), (0, 0));
    assert_sound(&bed);
    bed.rewind(Goal::Undo).unwrap();
    assert_eq!((std::fs::read(bed.ws.join("b")).unwrap(), bed.text("c")), (noise(3, 30_000), "c".into()));
    bed.rewind(Goal::Redo).unwrap();
    assert_same_world(&world, &bed.ws.walk(), Ignore::default());
}

#[test]
fn a_workspace_may_change_its_backend_at_any_time() {
    let bed = Bed::new();
    let take = |backend| {
        let backend = Some(BackendChoice::Only(backend));
        bed.take(&SnapshotRequest { backend, ..SnapshotRequest::default() }).unwrap().snapshot
    };
    bed.ws.file("steady", noise(1, 100_000)).every_kind("kinds");
    let mut taken = Vec::new();
    for (n, backend) in [Backend::Clone, Backend::Objects, Backend::Clone, Backend::Objects].into_iter().enumerate() {
        bed.ws.file("changing", noise(5 + n as u64, 10_000));
        taken.push((take(backend), bed.ws.walk()));
        assert_eq!(taken[n].0.backend, backend);
    }
    for (snapshot, world) in taken.iter().chain(taken.iter().rev()) {
        bed.rollback(snapshot);
        assert_same_world(world, &bed.ws.walk(), Ignore::default());
    }
    let clones: Vec<String> = [0, 2].map(|at: usize| taken[at].0.id.clone()).to_vec();
    bed.open().delete(&clones).unwrap();
    assert_sound(&bed);
    for (snapshot, world) in [&taken[1], &taken[3]] {
        bed.rollback(snapshot);
        assert_same_world(world, &bed.ws.walk(), Ignore::default());
    }
}

#[test]
fn equal_snapshots_share_a_copy() {
    let bed = bed("clone");
    bed.ws.file("a", "a");
    let (first, second) = (bed.snap(), bed.snap());
    assert_eq!((first.native_ref.clone(), slots(&bed), records(&bed)), (second.native_ref.clone(), 1, 1));
    bed.open().delete(&[first.id]).unwrap();
    assert_eq!(slots(&bed), 1);
    bed.ws.file("a", "b");
    bed.rollback(&second);
    assert_eq!(bed.text("a"), "a");
}

#[test]
fn what_changes_while_it_is_copied_never_makes_a_copy_lie() {
    let bed = bed("clone");
    for n in 0..40u64 {
        bed.ws.file(format!("f{n}"), noise(n, 30_000));
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0u64.. {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let path = bed.ws.join(format!("f{}", round % 40));
                let _ = std::fs::write(path, noise(1000 + round, 20_000 + (round % 7) as usize * 3000));
            }
        });
        for _ in 0..5 {
            bed.snap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_sound(&bed);
}

#[test]
fn a_copy_whose_maker_died_is_no_snapshot_and_is_collected() {
    let bed = bed("clone");
    bed.ws.file("a", noise(1, 1000));
    bed.snap();
    // As a process leaves it that dies while it copies.
    let copy = NativeCopy {
        id: "copy_dead".into(),
        backend: "clone".into(),
        place: CopyPlace::Home("copies/copy_dead/workspace".into()),
        reference: "copies/copy_dead".into(),
        manifest: None,
        bytes: 0,
        order: 0,
        is_archive: false,
    };
    let making = bed.home.store().make_copy(copy).unwrap();
    std::fs::create_dir_all(making.path().join("half/done")).unwrap();
    std::fs::write(making.path().join("half/file"), "x").unwrap();
    drop(making);
    assert_eq!((slots(&bed), records(&bed)), (2, 2));
    bed.home.gc(false).unwrap();
    assert_eq!((slots(&bed), records(&bed), bed.ids().len()), (1, 1, 1));
    assert_sound(&bed);
}

#[test]
fn what_cannot_be_captured_is_told_alike() {
    let of = |backend: &str| {
        let bed = bed(backend);
        bed.ws.dir(".git").file(".gitignore", "node_modules\n").file("package.json", "{}").file("node_modules/x", "1");
        bed.ws.file("shut", "s").mode("shut", 0o000).file("open", "o");
        let snapshot = bed.snap();
        let workspace = bed.open();
        let coverage = workspace.tree(&snapshot).unwrap().coverage(bed.home.store()).unwrap();
        (snapshot.root, snapshot.gaps, coverage)
    };
    assert_eq!(of("objects"), of("clone"));
}

#[test]
fn a_backend_that_cannot_be_had_is_an_error_and_nothing_is_touched() {
    let bed = bed("zfs");
    bed.ws.file("a", "a");
    let before = bed.ws.walk();
    let failed = bed.take(&SnapshotRequest::default()).unwrap_err();
    assert!(matches!(failed, Error::NoBackend { backend: "zfs", .. }), "{failed}");
    assert_same_world(&before, &bed.ws.walk(), Ignore::NOTHING);
    assert_eq!(bed.ids().len(), 0);
    let request = SnapshotRequest { backend: Some(BackendChoice::Auto), ..SnapshotRequest::default() };
    assert_eq!(bed.take(&request).unwrap().snapshot.backend, Backend::Objects);
}

#[test]
fn a_rollback_that_dies_is_finished_from_a_copy() {
    let bed = bed("clone");
    bed.ws.file("a", noise(1, 3000)).file("b/c", noise(2, 3000));
    let world = bed.ws.walk();
    let first = bed.snap();
    bed.ws.file("a", "1").remove("b").file("d", "2");
    assert!(bed.die_rolling_back(&first, 4).is_err());
    let bed = bed.reopened();
    let done = bed.open().rewind(&request(Goal::To(Some(first.id)), &[]), work(), &mut |_| {}).unwrap();
    assert_eq!(done.recovered.len(), 1);
    assert_same_world(&world, &bed.ws.walk(), Ignore::default());
}
