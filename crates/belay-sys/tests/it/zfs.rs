//! Snapshots of a real ZFS data set.

use std::fs;

use belay_sys::{Root, zfs};
use belay_testkit::ZfsPool;

#[test]
fn a_data_set_is_known_by_its_topmost_directory() {
    let Some(pool) = ZfsPool::create() else { return };
    fs::create_dir(pool.path().join("inner")).unwrap();
    let at = |path: &std::path::Path| zfs::dataset_at(&Root::open(path).unwrap()).unwrap();
    let dataset = at(pool.path()).unwrap();
    assert_eq!((dataset.name.as_str(), dataset.mounted_at.as_path()), (pool.dataset(), pool.path()));
    assert_eq!(at(&pool.path().join("inner")), None);
    assert_eq!(at("/proc".as_ref()), None);
    assert_eq!(at("/tmp".as_ref()), None);
}

#[test]
fn a_snapshot_is_taken_shown_and_removed() {
    let Some(pool) = ZfsPool::create() else { return };
    let dataset = zfs::dataset_at(&Root::open(pool.path()).unwrap()).unwrap().unwrap();
    fs::write(pool.path().join("file"), "before").unwrap();
    fs::create_dir(pool.path().join("empty")).unwrap();
    let top = Root::open(pool.path()).unwrap().dir(b"").unwrap();
    top.set_xattr(b"file", b"user.note", b"x").unwrap();
    zfs::snapshot(&dataset, "belay-one", None).unwrap();
    fs::write(pool.path().join("file"), "after").unwrap();
    fs::remove_dir(pool.path().join("empty")).unwrap();
    assert!(zfs::exists(&dataset.name, "belay-one").unwrap() && !zfs::exists(&dataset.name, "belay-two").unwrap());
    assert!(zfs::snapshot(&dataset, "belay-one", None).is_err(), "a snapshot was taken twice under one name");

    let elsewhere = tempfile::TempDir::new().unwrap();
    let seen = zfs::show(&dataset, "belay-one", &elsewhere.path().join("shown"), None).unwrap();
    assert_eq!(fs::read(seen.path().join("file")).unwrap(), b"before");
    assert!(seen.path().join("empty").is_dir());
    let shown = Root::open(seen.path()).unwrap().dir(b"").unwrap();
    assert!(shown.self_xattrs().unwrap().is_empty());
    assert_eq!(shown.xattrs(b"file", belay_sys::FileType::File).unwrap(), [(b"user.note".to_vec(), b"x".to_vec())]);
    assert!(top.tells_xattrs().unwrap() && shown.tells_xattrs().unwrap());
    assert!(zfs::remove(&dataset.name, "belay-one").is_err(), "a snapshot that is open was removed");
    drop(shown);
    assert!(fs::write(seen.path().join("file"), "x").is_err(), "a snapshot can be written to");
    zfs::own_bytes(&dataset.name, "belay-one").unwrap();

    zfs::snapshot(&dataset, "belay-two", None).unwrap();
    zfs::remove(&dataset.name, "belay-one").unwrap();
    zfs::remove(&dataset.name, "belay-one").unwrap();
    assert!(!zfs::exists(&dataset.name, "belay-one").unwrap());
    assert!(zfs::exists(&dataset.name, "belay-two").unwrap(), "another snapshot went with it");
    assert_eq!(fs::read(pool.path().join("file")).unwrap(), b"after");
}

#[test]
fn what_is_no_snapshot_is_never_removed() {
    let Some(pool) = ZfsPool::create() else { return };
    fs::write(pool.path().join("file"), "x").unwrap();
    for name in ["", "-r", "a@b", "a,b", "%"] {
        assert!(zfs::remove(pool.dataset(), name).is_err(), "{name:?}");
    }
    assert_eq!(fs::read(pool.path().join("file")).unwrap(), b"x");
}

/// Why `show` makes the mount read-only and not the clone: to list the attributes of what has none, zfs-fuse makes a place for
/// them, which a read-only data set refuses. The kernel takes the answer for "never", and asks for no list again.
#[test]
fn a_read_only_clone_of_zfs_fuse_tells_no_attributes_and_says_so() {
    let Some(pool) = ZfsPool::create() else { return };
    let elsewhere = tempfile::TempDir::new().unwrap();
    let dataset = zfs::dataset_at(&Root::open(pool.path()).unwrap()).unwrap().unwrap();
    if zfs::shows_snapshots(&dataset) {
        return;
    }
    fs::write(pool.path().join("file"), "x").unwrap();
    Root::open(pool.path()).unwrap().dir(b"").unwrap().set_xattr(b"file", b"user.note", b"x").unwrap();
    zfs::snapshot(&dataset, "belay-one", None).unwrap();
    let (place, clone) = (elsewhere.path().join("clone"), format!("{}/clone", dataset.name));
    let mountpoint = format!("mountpoint={}", place.display());
    let words = ["clone", "-o", "readonly=on", "-o", &mountpoint, &format!("{}@belay-one", dataset.name), &clone];
    assert!(std::process::Command::new("zfs").args(words).status().unwrap().success());
    for _ in 0..100 {
        if place.join("file").exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let shown = Root::open(&place).unwrap().dir(b"").unwrap();
    assert_eq!(shown.xattrs(b"file", belay_sys::FileType::File).unwrap().len(), 1);
    assert!(!shown.tells_xattrs().unwrap());
    assert_eq!(shown.xattrs(b"file", belay_sys::FileType::File).unwrap(), [], "what was there a moment ago");
}
