//! Subvolumes of a real btrfs, as root and as the user who owns one.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use belay_sys::btrfs::{self, Removal};
use belay_sys::{Dir, Root};
use belay_testkit::SmallDisk;

use crate::{names, rerun};

const BYTES: u64 = 128 << 20;
/// Tells the half of a test that runs as an ordinary user where the file system is.
const PLACE: &str = "BELAY_SYS_BTRFS";

/// A btrfs with the subvolume `work`.
fn world() -> Option<(SmallDisk, PathBuf)> {
    let disk = SmallDisk::btrfs(BYTES)?;
    let work = disk.path().join("work");
    run(Command::new("btrfs").args(["-q", "subvolume", "create"]).arg(&work));
    Some((disk, work))
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn open(path: &Path) -> Dir {
    Root::open(path).unwrap().dir(b"").unwrap()
}

#[test]
fn the_root_of_a_subvolume_is_known() {
    let Some((disk, work)) = world() else { return };
    fs::create_dir(work.join("plain")).unwrap();
    assert!(btrfs::is_subvolume(open(disk.path()).as_fd()).unwrap());
    assert!(btrfs::is_subvolume(open(&work).as_fd()).unwrap());
    assert!(!btrfs::is_subvolume(open(&work.join("plain")).as_fd()).unwrap());
    assert!(!btrfs::is_subvolume(open(Path::new("/proc")).as_fd()).unwrap());
    let (own, inner) = (open(&work), open(&work.join("plain")));
    assert_eq!(btrfs::subvolume(own.as_fd()).unwrap(), btrfs::subvolume(inner.as_fd()).unwrap());
    let error = btrfs::snapshot(inner.as_fd(), &open(disk.path()), b"no").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "a snapshot of what is around it was taken: {error}");
    assert_eq!(names(&open(disk.path())), [b"work"]);
    assert!(btrfs::subvolume(open(Path::new("/proc")).as_fd()).is_err());
    let id = btrfs::file_system_id(own.as_fd()).unwrap();
    assert_eq!(id, btrfs::file_system_id(open(disk.path()).as_fd()).unwrap());
    let other = SmallDisk::btrfs(BYTES).unwrap();
    assert_ne!(id, btrfs::file_system_id(open(other.path()).as_fd()).unwrap());
}

#[test]
fn a_snapshot_is_read_only_and_stays_as_it_was() {
    let Some((disk, work)) = world() else { return };
    fs::write(work.join("file"), "before").unwrap();
    symlink("/nowhere", work.join("link")).unwrap();
    let (into, own) = (open(disk.path()), open(&work));
    btrfs::snapshot(own.as_fd(), &into, b"snap").unwrap();
    fs::write(work.join("file"), "after").unwrap();
    fs::remove_file(work.join("link")).unwrap();

    let snap = disk.path().join("snap");
    assert_eq!(fs::read(snap.join("file")).unwrap(), b"before");
    assert!(snap.join("link").is_symlink());
    let refused = fs::write(snap.join("file"), "x").unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
    let (live, taken) = (btrfs::subvolume(own.as_fd()).unwrap(), btrfs::subvolume(open(&snap).as_fd()).unwrap());
    assert!(taken.is_readonly && !live.is_readonly);
    assert_eq!(taken.parent_uuid, Some(live.uuid));
    assert_ne!(taken.uuid, live.uuid);
    assert_ne!(taken.id, live.id);

    assert_eq!(btrfs::snapshot(own.as_fd(), &into, b"snap").unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    for name in [&b""[..], b".", b"..", b"a/b", &[b'n'; 256]] {
        assert!(btrfs::snapshot(own.as_fd(), &into, name).is_err(), "{name:?}");
    }
    assert_eq!(btrfs::remove(&into, b"snap").unwrap(), Removal::Whole);
    assert_eq!(names(&into), [b"work"]);
    assert!(btrfs::remove(&into, b"snap").is_err());
}

#[test]
fn what_lies_on_another_file_system_takes_no_snapshot() {
    let Some((_disk, work)) = world() else { return };
    let elsewhere = tempfile::TempDir::new().unwrap();
    assert!(btrfs::snapshot(open(&work).as_fd(), &open(elsewhere.path()), b"snap").is_err());
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn a_subvolume_inside_leaves_a_stub() {
    let Some((disk, work)) = world() else { return };
    run(Command::new("btrfs").args(["-q", "subvolume", "create"]).arg(work.join("inner")));
    fs::write(work.join("inner/file"), "x").unwrap();
    assert!(btrfs::has_subvolumes_inside(open(&work).as_fd()).unwrap());
    assert!(!btrfs::has_subvolumes_inside(open(&work.join("inner")).as_fd()).unwrap());
    btrfs::snapshot(open(&work).as_fd(), &open(disk.path()), b"snap").unwrap();
    let stub = open(&disk.path().join("snap/inner"));
    assert!(btrfs::is_stub(stub.as_fd()).unwrap() && names(&stub).is_empty());
    assert!(!btrfs::is_stub(open(&work.join("inner")).as_fd()).unwrap());
    assert_eq!(btrfs::remove(&open(disk.path()), b"snap").unwrap(), Removal::Whole);
}

#[test]
fn what_changed_since_a_snapshot_is_named_and_nothing_else() {
    let Some((disk, work)) = world() else { return };
    for dir in ["same", "changed", "emptied"] {
        fs::create_dir(work.join(dir)).unwrap();
        (0..400).for_each(|n| fs::write(work.join(dir).join(format!("file-{n}")), vec![n as u8; 5000]).unwrap());
    }
    let (into, own) = (open(disk.path()), open(&work));
    btrfs::snapshot(own.as_fd(), &into, b"first").unwrap();
    let since = btrfs::subvolume(open(&disk.path().join("first")).as_fd()).unwrap().created_generation;

    fs::write(work.join("changed/file-7"), "other").unwrap();
    fs::set_permissions(work.join("changed/file-8"), PermissionsExt::from_mode(0o600)).unwrap();
    fs::hard_link(work.join("changed/file-9"), work.join("second-name")).unwrap();
    fs::remove_file(work.join("emptied/file-1")).unwrap();
    fs::create_dir(work.join("new")).unwrap();
    fs::write(work.join("new/deep"), "x").unwrap();
    btrfs::snapshot(own.as_fd(), &into, b"second").unwrap();
    fs::write(work.join("same/file-1"), "after the second").unwrap();

    let second = open(&disk.path().join("second"));
    let told = btrfs::changed_since(second.as_fd(), since).unwrap();
    let told: Vec<_> = told.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
    let expected =
        ["", "changed/file-7", "changed/file-8", "changed/file-9", "emptied", "new", "new/deep", "second-name"];
    assert_eq!(told, expected);
    let now = btrfs::subvolume(second.as_fd()).unwrap().created_generation;
    assert!(btrfs::changed_since(second.as_fd(), now).unwrap().is_empty());
    assert_eq!(btrfs::changed_since(second.as_fd(), 0).unwrap().len(), 1 + 3 + 1200 - 1 + 1 + 1 + 1);
}

#[test]
fn many_names_of_one_file_are_all_told() {
    let Some((disk, work)) = world() else { return };
    fs::write(work.join("first"), "x").unwrap();
    let long = "n".repeat(200);
    (0..120).for_each(|n| fs::hard_link(work.join("first"), work.join(format!("{long}-{n}"))).unwrap());
    btrfs::snapshot(open(&work).as_fd(), &open(disk.path()), b"snap").unwrap();
    let told = btrfs::changed_since(open(&disk.path().join("snap")).as_fd(), 0).unwrap();
    assert_eq!(told.len(), 1 + 1 + 120);
}

/// Runs a test of this file again as an ordinary user in a btrfs that root made; true in that second run.
fn as_owner(name: &str, options: &str) -> Option<PathBuf> {
    if let Some(place) = std::env::var_os(PLACE) {
        return Some(place.into());
    }
    let (disk, work) = world()?;
    fs::create_dir(work.join("closed")).unwrap();
    fs::write(work.join("closed/file"), "x").unwrap();
    let inside = work.join("inside");
    run(Command::new("btrfs").args(["-q", "subvolume", "create"]).arg(&inside));
    run(Command::new("chown").args(["-R", "65534:65534"]).arg(&work));
    fs::set_permissions(work.join("closed"), PermissionsExt::from_mode(0o500)).unwrap();
    run(Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(disk.path()));
    run_as_nobody(name, disk.path());
    None
}

fn run_as_nobody(name: &str, place: &Path) {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(rerun::this_program_in(place));
    command.args(["--exact", name, "--nocapture"]).env(PLACE, place).current_dir("/").uid(65534).gid(65534);
    rerun::run(&mut command);
}

#[test]
fn an_owner_takes_snapshots_and_removes_them_entry_by_entry() {
    let name = "btrfs::an_owner_takes_snapshots_and_removes_them_entry_by_entry";
    let Some(place) = as_owner(name, "rw") else { return };
    let into = open(&place);
    btrfs::snapshot(open(&place.join("work")).as_fd(), &into, b"snap").unwrap();
    let snap = open(&place.join("snap"));
    assert!(btrfs::subvolume(snap.as_fd()).unwrap().is_readonly);
    let refused = btrfs::changed_since(snap.as_fd(), 0).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
    assert_eq!(btrfs::remove(&into, b"snap").unwrap(), Removal::Piecemeal);
    assert!(!names(&into).contains(&b"snap".to_vec()));
    let foreign = btrfs::snapshot(into.as_fd(), &into, b"foreign").unwrap_err();
    assert_eq!(foreign.kind(), std::io::ErrorKind::PermissionDenied, "root's own subvolume was taken");
}

#[test]
fn an_owner_removes_at_once_where_the_mount_allows_it() {
    let name = "btrfs::an_owner_removes_at_once_where_the_mount_allows_it";
    let Some(place) = as_owner(name, "user_subvol_rm_allowed") else { return };
    let into = open(&place);
    btrfs::snapshot(open(&place.join("work")).as_fd(), &into, b"snap").unwrap();
    assert_eq!(btrfs::remove(&into, b"snap").unwrap(), Removal::Whole);
}
