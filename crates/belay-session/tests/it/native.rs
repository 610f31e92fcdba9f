//! Snapshots that a filesystem keeps, by the same laws as all others: on a real btrfs, and on a real ZFS.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use belay_session::store::{CopyPlace, NativeCopy, Progress, Quiet};
use belay_session::{
    Arrival, Backend, BackendChoice, Consent, Error, Goal, Home, SnapshotRequest, Sources, Taken, Work,
};
use belay_testkit::{Ignore, RogueAgent, SmallDisk, TempWorkspace, ZfsPool, assert_same_world, small_project};

use crate::bed::{Bed, CALM, request, work};
use crate::budget::noise;

const BTRFS_BYTES: u64 = 256 << 20;

/// A workspace on a filesystem that keeps its snapshots; the filesystem goes after what is on it.
pub(crate) struct Ground {
    pub(crate) bed: Bed,
    pub(crate) backend: Backend,
    _pool: Option<ZfsPool>,
    _disk: Option<SmallDisk>,
}

fn bed(ws: TempWorkspace, backend: &str) -> Bed {
    Bed::of(ws).with(&[("snapshots.backend", backend)])
}

impl Ground {
    fn btrfs() -> Option<Ground> {
        let disk = SmallDisk::btrfs(BTRFS_BYTES)?;
        let ws = TempWorkspace::new_in(disk.path());
        SmallDisk::make_subvolume(ws.path());
        Some(Ground { bed: bed(ws, "btrfs"), backend: Backend::Btrfs, _pool: None, _disk: Some(disk) })
    }

    fn zfs() -> Option<Ground> {
        let pool = ZfsPool::create()?;
        let ws = TempWorkspace::new();
        pool.mount_at(ws.path());
        Some(Ground { bed: bed(ws, "zfs"), backend: Backend::Zfs, _pool: Some(pool), _disk: None })
    }

    /// One of each kind that can be had here.
    pub(crate) fn both() -> impl Iterator<Item = Ground> {
        [Ground::btrfs as fn() -> Option<Ground>, Ground::zfs].into_iter().filter_map(|make| make())
    }

    fn request(&self) -> SnapshotRequest {
        let backend = Some(BackendChoice::Only(self.backend));
        SnapshotRequest { all: true, backend, ..SnapshotRequest::default() }
    }

    #[track_caller]
    fn take(&self) -> Taken {
        let taken = self.bed.take(&self.request()).unwrap();
        assert_eq!(taken.snapshot.backend, self.backend);
        taken
    }

    /// Where the snapshots lie that are beside the workspace.
    fn beside(&self) -> PathBuf {
        self.bed.ws.base().join(".belay-snapshots")
    }

    fn kept(&self) -> usize {
        match self.backend {
            Backend::Zfs => {
                let said = Command::new("zfs").args(["list", "-H", "-o", "name", "-t", "snapshot"]).output().unwrap();
                String::from_utf8(said.stdout).unwrap().lines().filter(|line| line.contains("@belay-")).count()
            }
            _ => fs::read_dir(self.beside()).map_or(0, Iterator::count),
        }
    }
}

#[test]
fn a_wrecked_project_comes_back_and_the_wreck_too() {
    for ground in Ground::both() {
        let bed = &ground.bed;
        small_project(bed.ws.path());
        bed.ws.every_kind("kinds");
        bed.ws.odd_names("odd");
        let good = ground.take().snapshot;
        assert_eq!(good.gaps, 0, "{}", ground.backend.name());
        let before = bed.ws.walk();
        RogueAgent::wreck(bed.ws.path());
        fs::remove_dir_all(bed.ws.join("odd")).unwrap();
        let wreck = bed.ws.walk();
        let outcome = bed.rollback(&good);
        assert!(outcome.left.is_empty(), "{}: {:?}", ground.backend.name(), outcome.left);
        assert_same_world(&before, &bed.ws.walk(), Ignore::default());
        bed.rewind(Goal::Undo).unwrap();
        assert_same_world(&wreck, &bed.ws.walk(), Ignore::default());
        bed.rewind(Goal::Redo).unwrap();
        assert_same_world(&before, &bed.ws.walk(), Ignore::default());
        assert_eq!(bed.rollback(&good).changed, 0);
    }
}

#[test]
fn only_what_differs_is_touched() {
    for ground in Ground::both() {
        let bed = &ground.bed;
        for n in 0..20 {
            bed.ws.file(format!("dir/{n}"), format!("{n}"));
        }
        let good = ground.take().snapshot;
        bed.ws.file("dir/7", "changed");
        let ctime =
            |n: u32| fs::metadata(bed.ws.join(format!("dir/{n}"))).map(|meta| (meta.ino(), meta.ctime_nsec())).unwrap();
        let before: Vec<_> = (0..20).map(ctime).collect();
        assert_eq!(bed.rollback(&good).changed, 1);
        let after: Vec<_> = (0..20).map(ctime).collect();
        let moved: Vec<_> = (0..20).filter(|n| before[*n] != after[*n]).collect();
        assert!(moved == [7] || moved.is_empty(), "{}: {moved:?}", ground.backend.name());
        assert_eq!(bed.text("dir/7"), "7");
    }
}

/// Whether the filesystem says that blocks of the file are another file's, too; none where nobody can be asked.
pub(crate) fn shares_blocks(file: &Path) -> Option<bool> {
    let said = Command::new("filefrag").arg("-sv").arg(file).output();
    match said {
        Ok(said) if said.status.success() => Some(String::from_utf8_lossy(&said.stdout).contains("shared")),
        _ => {
            belay_testkit::skip("filefrag cannot be had");
            None
        }
    }
}

#[test]
fn what_comes_back_shares_the_blocks_of_the_snapshot() {
    let Some(ground) = Ground::btrfs() else { return };
    let bed = &ground.bed;
    bed.ws.file("small", noise(1, 8192)).file("large", noise(2, 9_000_000)).file("tiny", "t");
    bed.ws.file("holes", noise(3, 100_000)).overwrite("holes", 3 << 20, b"an end after a hole");
    ground.take();
    // What the second snapshot has of it lies in two of them, and only the second has it whole.
    bed.ws.overwrite("large", 4_000_000, b"an edit in the middle");
    let good = ground.take().snapshot;
    let before = bed.ws.walk();
    let names = ["small", "large", "holes"];
    for name in names.into_iter().chain(["tiny"]) {
        bed.ws.remove(name);
    }
    assert_eq!(bed.rollback(&good).left, []);
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
    for name in names {
        let Some(shared) = shares_blocks(&bed.ws.join(name)) else { return };
        assert!(shared, "{name} was written instead of shared");
    }
}

#[test]
fn snapshots_are_found_again_after_the_directory_around_them_was_renamed() {
    let Some(ground) = Ground::btrfs() else { return };
    let bed = &ground.bed;
    let (here, there) = (bed.ws.outside().join("here"), bed.ws.outside().join("there"));
    fs::create_dir(&here).unwrap();
    SmallDisk::make_subvolume(&here.join("work"));
    fs::write(here.join("work/file"), "1").unwrap();
    let kept = bed.open_at(&here.join("work")).snapshot(&ground.request(), work()).unwrap().snapshot;
    fs::write(here.join("work/file"), "2").unwrap();
    let other = bed.open_at(&here.join("work")).snapshot(&ground.request(), work()).unwrap().snapshot;
    // Somebody who has the list in memory and nothing open.
    let watching = bed.other_process(7);
    assert!(watching.verify(true, work()).unwrap().store.damage.is_empty());
    fs::rename(&here, &there).unwrap();
    let moved = bed.open_at(&there.join("work"));
    assert!(matches!(moved.arrival(), Arrival::Moved { .. }), "{:?}", moved.arrival());
    for snapshot in moved.timeline().unwrap().snapshots() {
        let place = PathBuf::from(snapshot.native_ref.as_deref().expect("btrfs keeps it"));
        assert!(place.starts_with(&there) && place.is_dir(), "{}", place.display());
    }
    moved.rewind(&request(Goal::To(Some(kept.id.clone())), &[]), work(), &mut |_| {}).unwrap();
    assert_eq!(fs::read_to_string(there.join("work/file")).unwrap(), "1");
    for home in [&bed.home, &bed.other_process(8), &watching] {
        assert_eq!(home.verify(true, work()).unwrap().store.damage, []);
    }
    // The safety snapshot of the rollback is the same as the second, and shares its copy.
    let all: Vec<String> = moved.timeline().unwrap().snapshots().iter().map(|one| one.id.clone()).collect();
    assert!(all.contains(&other.id) && all.len() == 3);
    moved.delete(&all).unwrap();
    assert!(!there.join(".belay-snapshots").exists());
}

#[test]
fn what_is_out_of_sight_when_it_is_to_go_is_said_and_goes_when_it_is_seen_again() {
    let Some(ground) = Ground::btrfs() else { return };
    let bed = &ground.bed;
    let (here, there) = (bed.ws.outside().join("here"), bed.ws.outside().join("there"));
    fs::create_dir(&here).unwrap();
    SmallDisk::make_subvolume(&here.join("work"));
    drop(bed.open_at(&here.join("work")));
    // As a process leaves it that dies while the snapshot is captured.
    let place = here.join(".belay-snapshots/copy_dead");
    let copy = NativeCopy {
        id: "copy_dead".into(),
        backend: "btrfs".into(),
        place: CopyPlace::Outside(place.clone()),
        reference: place.display().to_string(),
        manifest: None,
        bytes: 0,
        order: 0,
        is_archive: false,
    };
    drop(bed.home.store().make_copy(copy).unwrap());
    fs::create_dir(here.join(".belay-snapshots")).unwrap();
    SmallDisk::make_subvolume(&place);
    fs::rename(&here, &there).unwrap();
    let report = bed.home.gc(false).unwrap().report;
    assert!(matches!(&report.left[..], [left] if left.contains("copy_dead") && left.contains("moved")), "{report:?}");
    assert!(there.join(".belay-snapshots/copy_dead").is_dir());
    assert!(matches!(bed.open_at(&there.join("work")).arrival(), Arrival::Moved { .. }));
    assert_eq!(bed.home.gc(false).unwrap().report.left, Vec::<String>::new());
    assert!(!there.join(".belay-snapshots").exists());
}

#[test]
fn a_snapshot_that_somebody_wrote_to_is_found_out_and_nothing_is_restored_from_it() {
    let Some(ground) = Ground::btrfs() else { return };
    let bed = &ground.bed;
    bed.ws.file("kept", noise(1, 200_000)).file("other", "o");
    let good = ground.take().snapshot;
    let place = good.native_ref.clone().unwrap();
    let property = Command::new("btrfs").args(["property", "set", "-ts", &place, "ro", "false"]).status().unwrap();
    assert!(property.success());
    let mut bytes = noise(1, 200_000);
    bytes[100_000] ^= 1;
    fs::write(Path::new(&place).join("kept"), bytes).unwrap();
    bed.ws.remove("kept").file("other", "O");
    let before = bed.ws.walk();
    let failed = bed.rewind(Goal::To(Some(good.id.clone()))).unwrap_err();
    assert!(matches!(failed, Error::Damaged { .. }), "{failed}");
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
    let damage = bed.home.verify(true, work()).unwrap().store.damage;
    assert!(damage[0].file.ends_with("/kept"), "{damage:?}");
}

#[test]
fn a_workspace_around_another_leaves_its_snapshots_alone() {
    let Some(ground) = Ground::btrfs() else { return };
    let bed = &ground.bed;
    let around = bed.ws.outside().join("around");
    fs::create_dir(&around).unwrap();
    fs::write(around.join("own"), "1").unwrap();
    SmallDisk::make_subvolume(&around.join("work"));
    fs::write(around.join("work/file"), "1").unwrap();
    // In one home and in another, which does not know what the first keeps.
    let (elsewhere, seconds) = (bed.ws.base().join("elsewhere"), bed.seconds.clone());
    let other = Home::open(&elsewhere, crate::bed::options(&seconds, 9)).unwrap();
    let inner = bed.home.create(&around.join("work"), Consent::default(), &bed.sources).unwrap();
    let homes = [&bed.home, &other];
    let plain = SnapshotRequest { backend: Some(BackendChoice::Only(Backend::Objects)), ..SnapshotRequest::default() };
    let whole = SnapshotRequest { all: true, ..plain.clone() };
    let outer = homes.map(|home| home.create(&around, Consent::default(), &Sources::default()).unwrap());
    let before =
        outer.each_ref().map(|outer| [&plain, &whole].map(|request| outer.snapshot(request, work()).unwrap().snapshot));
    let kept = inner.snapshot(&ground.request(), work()).unwrap().snapshot;
    for (outer, before) in outer.iter().zip(before) {
        let files = before[1].files;
        for target in before {
            let plan = outer.plan_rewind(&request(Goal::To(Some(target.id.clone())), &[]), work()).unwrap().plan;
            let steps: Vec<String> =
                plan.steps.paths().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
            assert!(!steps.iter().any(|path| path.starts_with(".belay-snapshots")), "{steps:?}");
            fs::write(around.join("own"), "2").unwrap();
            outer.rewind(&request(Goal::To(Some(target.id)), &[]), work(), &mut |_| {}).unwrap();
            assert_eq!(fs::read_to_string(around.join("own")).unwrap(), "1");
        }
        let after = outer.snapshot(&whole, work()).unwrap().snapshot;
        assert_eq!(after.files, files, "what the inner one keeps is not captured");
    }
    assert!(Path::new(kept.native_ref.as_deref().unwrap()).join("file").is_file());
    fs::write(around.join("work/file"), "2").unwrap();
    inner.rewind(&request(Goal::To(Some(kept.id)), &[]), work(), &mut |_| {}).unwrap();
    assert_eq!(fs::read_to_string(around.join("work/file")).unwrap(), "1");
}

#[test]
fn nothing_is_said_of_a_snapshot_that_somebody_else_removed() {
    let Some(ground) = Ground::btrfs() else { return };
    let bed = &ground.bed;
    let around = bed.ws.outside().join("around");
    fs::create_dir(&around).unwrap();
    SmallDisk::make_subvolume(&around.join("work"));
    fs::write(around.join("work/file"), "1").unwrap();
    let inner = bed.open_at(&around.join("work"));
    let kept = inner.snapshot(&ground.request(), work()).unwrap().snapshot;
    let mut delete = Command::new("btrfs");
    delete.args(["-q", "subvolume", "delete", kept.native_ref.as_deref().unwrap()]);
    assert!(delete.status().unwrap().success());
    fs::remove_dir(around.join(".belay-snapshots")).unwrap();
    inner.delete(&[kept.id]).unwrap();
    drop(inner);
    fs::remove_dir_all(&around).unwrap();
    assert_eq!(bed.home.gc(false).unwrap().report.left, Vec::<String>::new());
}

#[test]
fn the_second_snapshot_reads_what_changed_and_nothing_else() {
    for ground in Ground::both() {
        let bed = &ground.bed;
        let old = 1_500_000_000;
        for n in 0..60 {
            bed.ws.file(format!("d{}/file-{n}", n % 6), format!("content {n}")).mtime(
                format!("d{}/file-{n}", n % 6),
                old,
                0,
            );
        }
        bed.ws.hard_link("linked", "d1/file-1");
        // Whatever was changed within the last moments is read again, because its times prove nothing.
        std::thread::sleep(std::time::Duration::from_millis(2500));
        assert_eq!(ground.take().files_read, 61);
        bed.ws.file("d3/file-9", "other").remove("d4/file-10").file("d5/new", "x").mode("d0", 0o700);
        let taken = ground.take();
        assert!(taken.files_read <= 3, "{}: {} files were read", ground.backend.name(), taken.files_read);
        let walked = bed.take(&SnapshotRequest { full: true, ..ground.request() }).unwrap();
        assert_eq!(taken.snapshot.root, walked.snapshot.root, "{}: something was missed", ground.backend.name());
    }
}

/// Counts the entries that a capture looks at.
#[derive(Default)]
struct Looks(AtomicU64);

impl Progress for Looks {
    fn expect(&self, _entries: u64, _bytes: u64) {}

    fn advance(&self, entries: u64, _bytes: u64) {
        self.0.fetch_add(entries, Ordering::Relaxed);
    }
}

#[test]
fn btrfs_is_asked_what_changed_so_that_the_rest_is_not_looked_at() {
    let Some(ground) = Ground::btrfs() else { return };
    let bed = &ground.bed;
    for n in 0..800 {
        bed.ws.file(format!("d{}/file-{n}", n % 20), format!("content {n}"));
    }
    let looks = |request: &SnapshotRequest| {
        let looks = Looks::default();
        let taken = bed.open().snapshot(request, Work { progress: &looks, stop: &CALM }).unwrap();
        (looks.0.into_inner(), taken.snapshot.root)
    };
    ground.take();
    bed.ws.file("d3/file-3", "other").remove("d4/file-4").file("d5/new", "x");
    let (by_generation, root) = looks(&ground.request());
    // The same through a walk, which `objects` has to make.
    bed.ws.file("d3/file-3", "another");
    let objects = Some(BackendChoice::Only(Backend::Objects));
    let (by_walk, _) = looks(&SnapshotRequest { backend: objects, ..ground.request() });
    bed.ws.file("d3/file-3", "other");
    let (_, again) = looks(&SnapshotRequest { full: true, ..ground.request() });
    assert_eq!(root, again, "something was missed");
    assert!(by_generation < 20 && by_walk > 20, "{by_generation} looks by generation, {by_walk} by a walk");
}

#[test]
fn btrfs_is_asked_what_differs_from_the_present_so_that_the_rest_is_not_looked_at() {
    let Some(ground) = Ground::btrfs() else { return };
    let bed = &ground.bed;
    for n in 0..2500 {
        bed.ws.file(format!("d{}/file-{n}", n % 50), format!("content {n}"));
    }
    bed.ws.symlink("link", "d1").hard_link("twin", "d2/file-2");
    let taken = bed.take(&SnapshotRequest { all: false, ..ground.request() }).unwrap().snapshot;
    // Nobody had the disk write any of this.
    let change = |round: u32| {
        bed.ws.file("d3/file-3", format!("other {round}")).remove("d4/file-4").file("d4/file-4", "anew");
        bed.ws.file(format!("d5/new-{round}"), "x").mode("d6/file-6", 0o600 + round).overwrite("d2/file-2", 0, b"C");
        bed.ws.file(format!("e{round}/inner/file"), "deep").remove(format!("d7/file-{}", 7 + 50 * round));
    };
    for round in 0..3 {
        change(round);
        let workspace = bed.open();
        let before = workspace.tree(&taken).unwrap();
        let look = |told: bool| {
            let looks = Looks::default();
            let work = Work { progress: &looks, stop: &CALM };
            let tree = if told { workspace.present_if_told(work) } else { workspace.present(work) }.unwrap();
            let changes = workspace.changes(&before, &tree, &Default::default()).unwrap();
            let paths: Vec<_> = changes.into_iter().map(|change| (change.path.clone(), change.what())).collect();
            (looks.0.into_inner(), tree.manifest().identity, paths)
        };
        let ((by_generation, told, some), (by_walk, walked, all)) = (look(true), look(false));
        assert_eq!((told, &some), (walked, &all), "something was missed");
        assert!(all.len() > 5 && by_generation < 200 && by_walk > 2000, "{by_generation} looks, {by_walk} by a walk");
    }
}

#[test]
fn a_change_right_after_a_snapshot_is_in_the_next() {
    for ground in Ground::both() {
        let bed = &ground.bed;
        for round in 0..6_u8 {
            bed.ws.file("file", [b'a' + round, b'0']).mtime("file", 1_500_000_000, 0);
            let first = ground.take().snapshot;
            bed.ws.overwrite("file", 1, b"1").mtime("file", 1_500_000_000, 0);
            let second = ground.take().snapshot;
            assert_ne!(first.root, second.root, "{}: a change was missed", ground.backend.name());
        }
    }
}

#[test]
fn snapshots_are_private_and_read_only_and_go_with_what_they_keep() {
    for ground in Ground::both() {
        let bed = &ground.bed;
        bed.ws.file("same", "same in both").file("changes", "1");
        let one = ground.take().snapshot;
        bed.ws.file("changes", "2");
        let two = ground.take().snapshot;
        assert_eq!(ground.kept(), 2, "{}", ground.backend.name());
        assert!(one.native_ref.is_some() && one.native_ref != two.native_ref);
        if ground.beside().exists() {
            assert_eq!(fs::metadata(ground.beside()).unwrap().permissions().mode() & 0o7777, 0o700);
            for copy in fs::read_dir(ground.beside()).unwrap() {
                let file = copy.unwrap().path().join("same");
                assert_eq!(fs::read(&file).unwrap(), b"same in both");
                assert!(fs::write(&file, "x").is_err(), "{} can be written to", file.display());
            }
        }
        bed.open().delete(std::slice::from_ref(&one.id)).unwrap();
        bed.home.gc(false).unwrap();
        assert_eq!(ground.kept(), 1, "{}", ground.backend.name());
        // What only the first kept found another home.
        bed.ws.remove("same").file("changes", "3");
        bed.rollback(&two);
        assert_eq!((bed.text("same").as_str(), bed.text("changes").as_str()), ("same in both", "2"));
        let all = bed.ids();
        bed.open().delete(&all).unwrap();
        bed.home.gc(false).unwrap();
        assert_eq!(ground.kept(), 0, "{}", ground.backend.name());
        assert!(!ground.beside().exists());
    }
}

#[test]
fn a_workspace_may_change_its_backend() {
    for ground in Ground::both() {
        let bed = &ground.bed;
        bed.ws.file("a", "1");
        let objects = || {
            let backend = Some(BackendChoice::Only(Backend::Objects));
            bed.take(&SnapshotRequest { backend, ..SnapshotRequest::default() }).unwrap().snapshot
        };
        let earlier = objects();
        bed.ws.file("a", "2");
        let native = ground.take().snapshot;
        bed.ws.file("a", "3");
        let later = objects();
        assert_eq!((earlier.backend, later.backend), (Backend::Objects, Backend::Objects));
        for (snapshot, text) in [(&native, "2"), (&earlier, "1"), (&later, "3"), (&native, "2")] {
            bed.rollback(snapshot);
            assert_eq!(bed.text("a"), text, "{}", ground.backend.name());
        }
    }
}

#[test]
fn the_limit_on_new_bytes_is_for_what_is_written() {
    for ground in Ground::both() {
        let bed = ground.bed.with(&[("snapshots.max_bytes", "100000")]);
        bed.ws.file("large", vec![7; 400_000]);
        let taken = bed.take(&SnapshotRequest::default()).unwrap();
        assert!(!taken.snapshot.is_partial(), "{}", ground.backend.name());
        let backend = Some(BackendChoice::Only(Backend::Objects));
        bed.ws.file("large", vec![8; 400_001]);
        assert!(bed.take(&SnapshotRequest { backend, ..SnapshotRequest::default() }).unwrap().snapshot.is_partial());
    }
}

#[test]
fn an_interrupted_snapshot_leaves_nothing_behind() {
    for ground in Ground::both() {
        ground.bed.ws.file("a", "1");
        let stopped = AtomicBool::new(true);
        let taken = ground.bed.open().snapshot(&ground.request(), Work { progress: &Quiet, stop: &stopped });
        assert!(taken.is_err());
        assert_eq!(ground.kept(), 0, "{}", ground.backend.name());
        assert!(ground.bed.ids().is_empty());
    }
}

#[test]
fn a_workspace_around_leaves_out_what_is_kept_of_the_one_inside() {
    let Some(ground) = Ground::btrfs() else { return };
    let bed = &ground.bed;
    let inner = bed.ws.outside().join("inner");
    SmallDisk::make_subvolume(&inner);
    fs::write(inner.join("file"), "x").unwrap();
    bed.open_at(&inner).snapshot(&ground.request(), work()).unwrap();
    assert!(bed.ws.outside().join(".belay-snapshots").is_dir());
    for all in [false, true] {
        let around = bed.open_at(bed.ws.outside());
        let backend = Some(BackendChoice::Only(Backend::Objects));
        let taken = around.snapshot(&SnapshotRequest { all, backend, ..SnapshotRequest::default() }, work()).unwrap();
        assert_eq!(taken.snapshot.files, 1, "snapshots were captured again");
        assert!(!taken.snapshot.is_partial());
    }
}

#[track_caller]
fn refused(bed: &Bed, backend: Backend) -> String {
    let backend = Some(BackendChoice::Only(backend));
    match bed.take(&SnapshotRequest { backend, ..SnapshotRequest::default() }) {
        Err(Error::NoBackend { why, .. }) => why,
        other => panic!("it was not refused: {:?}", other.map(|taken| taken.snapshot.id)),
    }
}

#[test]
fn what_a_snapshot_would_lack_is_said_instead_of_lost() {
    let Some(ground) = Ground::btrfs() else { return };
    let bed = &ground.bed;
    bed.ws.dir("place").file("a", "1");
    let auto = SnapshotRequest { backend: Some(BackendChoice::Auto), ..SnapshotRequest::default() };
    assert_eq!(bed.take(&auto).unwrap().snapshot.backend, Backend::Btrfs);
    SmallDisk::make_subvolume(&bed.ws.join("inner"));
    let why = refused(bed, Backend::Btrfs);
    assert!(why.contains("subvolumes inside"), "{why}");
    assert_eq!(bed.take(&auto).unwrap().snapshot.backend, Backend::Objects);
    fs::remove_dir(bed.ws.join("inner")).unwrap();
    let mount = Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(bed.ws.join("place")).status().unwrap();
    assert!(mount.success());
    let why = refused(bed, Backend::Btrfs);
    assert!(Command::new("umount").arg(bed.ws.join("place")).status().unwrap().success());
    assert!(why.contains("mounted at"), "{why}");
    assert_eq!(ground.take().snapshot.backend, Backend::Btrfs);
}

#[test]
fn a_filesystem_without_snapshots_is_refused_by_name() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    assert!(refused(&bed, Backend::Btrfs).contains("btrfs subvolume"));
    assert!(refused(&bed, Backend::Zfs).contains("ZFS data set"));
    assert!(bed.ids().is_empty());
    let auto = SnapshotRequest { backend: Some(BackendChoice::Auto), ..SnapshotRequest::default() };
    assert_eq!(bed.take(&auto).unwrap().snapshot.backend, Backend::Objects);
}
