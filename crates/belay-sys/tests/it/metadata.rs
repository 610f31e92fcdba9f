//! Modes, owners, times and inode flags, of the thing itself and nothing else.

use std::os::unix::fs::{MetadataExt, symlink};

use belay_sys::{FileType, InodeFlags, Time, is_root};

use crate::{rerun, world, world_dir};

#[test]
fn stat_agrees_with_the_standard_library() {
    let (temp, dir) = world_dir();
    std::fs::write(temp.path().join("file"), vec![1; 10_000]).unwrap();
    let (ours, theirs) = (dir.stat(b"file").unwrap(), std::fs::metadata(temp.path().join("file")).unwrap());
    assert_eq!((ours.size, ours.blocks, u64::from(ours.nlink)), (theirs.size(), theirs.blocks(), theirs.nlink()));
    assert_eq!((ours.dev, ours.ino, ours.uid, ours.gid), (theirs.dev(), theirs.ino(), theirs.uid(), theirs.gid()));
    assert_eq!(ours.mode, theirs.mode() & 0o7777);
    assert_eq!((ours.mtime.sec, i64::from(ours.mtime.nsec)), (theirs.mtime(), theirs.mtime_nsec()));
    assert_eq!((ours.ctime.sec, i64::from(ours.ctime.nsec)), (theirs.ctime(), theirs.ctime_nsec()));
    assert_eq!(ours.mount_id, dir.stat_self().unwrap().mount_id);
}

#[test]
fn a_mode_is_set_whole_whatever_the_umask() {
    let (_temp, dir) = world_dir();
    dir.create_new(b"file", 0o600).unwrap();
    for mode in [0o4755, 0o6777, 0o1777, 0o000, 0o644] {
        dir.set_mode(b"file", mode).unwrap();
        assert_eq!(dir.stat(b"file").unwrap().mode, mode);
    }
    dir.set_self_mode(0o3775).unwrap();
    assert_eq!(dir.stat_self().unwrap().mode, 0o3775);
}

#[test]
fn a_symlinks_target_is_left_alone() {
    let (temp, dir) = world_dir();
    dir.create_new(b"target", 0o640).unwrap();
    symlink(temp.path().join("target"), temp.path().join("link")).unwrap();
    let before = dir.stat(b"target").unwrap();
    let past = Time { sec: 1_000_000_000, nsec: 123_456_789 };
    dir.set_mode(b"link", 0o777).unwrap();
    dir.set_times(b"link", past).unwrap();
    dir.set_owner(b"link", before.uid, before.gid).unwrap();
    assert_eq!(dir.stat(b"target").unwrap(), before);
    assert_eq!(dir.stat(b"link").unwrap().mtime, past);
    assert_eq!(dir.set_mode(b"absent", 0o600).unwrap_err().kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn a_time_is_kept_to_the_nanosecond_and_before_1970() {
    let (temp, dir) = world_dir();
    dir.create_new(b"file", 0o600).unwrap();
    let atime = || std::fs::metadata(temp.path().join("file")).unwrap().atime_nsec();
    let before = atime();
    for time in [Time { sec: -5, nsec: 1 }, Time { sec: 4_000_000_000, nsec: 999_999_999 }] {
        dir.set_times(b"file", time).unwrap();
        dir.set_self_times(time).unwrap();
        assert_eq!(dir.stat(b"file").unwrap().mtime, time);
        assert_eq!(dir.stat_self().unwrap().mtime, time);
    }
    assert_eq!(atime(), before);
}

#[test]
fn an_owner_is_set_as_root() {
    if !is_root() {
        println!("skipped: not root");
        return;
    }
    let (_temp, dir) = world_dir();
    dir.make_symlink(b"link", b"file").unwrap();
    dir.create_new(b"file", 0o600).unwrap();
    dir.set_owner(b"link", 1234, 5678).unwrap();
    dir.set_self_owner(1234, 5678).unwrap();
    for stat in [dir.stat(b"link").unwrap(), dir.stat_self().unwrap()] {
        assert_eq!((stat.uid, stat.gid), (1234, 5678));
    }
    assert_eq!(dir.stat(b"file").unwrap().uid, 0);
    assert!(dir.set_owner(b"file", u32::MAX, 0).is_err());
}

#[test]
fn inode_flags_are_set_and_cleared_as_root() {
    if !is_root() {
        println!("skipped: not root");
        return;
    }
    let (_temp, dir) = world_dir();
    dir.create_new(b"file", 0o600).unwrap();
    let locked = InodeFlags { immutable: true, no_dump: true, ..InodeFlags::default() };
    if dir.set_inode_flags(b"file", locked).is_err() {
        println!("skipped: no inode flags on this file system");
        return;
    }
    assert_eq!(dir.inode_flags(b"file").unwrap(), locked);
    assert!(dir.stat(b"file").unwrap().immutable);
    assert!(dir.remove_file(b"file").is_err());
    dir.set_inode_flags(b"file", InodeFlags::default()).unwrap();
    let growing = InodeFlags { append_only: true, ..InodeFlags::default() };
    dir.set_self_inode_flags(growing).unwrap();
    assert_eq!(dir.self_inode_flags().unwrap(), growing);
    assert!(dir.stat_self().unwrap().append_only);
    assert!(dir.remove_file(b"file").is_err());
    dir.set_self_inode_flags(InodeFlags::default()).unwrap();
    dir.remove_file(b"file").unwrap();
}

#[test]
fn a_closed_directory_can_be_reached_and_opened_by_its_owner() {
    if !rerun::as_ordinary_user("metadata::a_closed_directory_can_be_reached_and_opened_by_its_owner") {
        return;
    }
    let (_temp, root) = world();
    let top = root.dir(b"").unwrap();
    top.make_dir(b"closed", 0o700).unwrap();
    top.set_mode(b"closed", 0o000).unwrap();
    assert_eq!(root.dir(b"closed").unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
    let closed = root.dir_path_only(b"closed").unwrap();
    assert_eq!(closed.stat_self().unwrap().file_type, FileType::Dir);
    assert!(closed.stat(b"child").is_err());
    closed.set_self_times(Time { sec: 77, nsec: 7 }).unwrap();
    closed.set_self_mode(0o700).unwrap();
    assert_eq!(closed.stat_self().unwrap().mtime.sec, 77);
    root.dir(b"closed").unwrap().create_new(b"child", 0o600).unwrap();
    closed.stat(b"child").unwrap();

    top.set_self_mode(0o000).unwrap();
    assert!(root.dir(b"").is_err());
    root.dir_path_only(b"").unwrap().set_self_mode(0o700).unwrap();
    assert!(root.dir(b"").is_ok());
}

#[test]
fn what_belongs_to_others_is_read_but_not_changed() {
    if !rerun::as_ordinary_user("metadata::what_belongs_to_others_is_read_but_not_changed") {
        return;
    }
    let etc = belay_sys::Root::open("/etc".as_ref()).unwrap().dir(b"").unwrap();
    assert!(!std::io::read_to_string(etc.open_read(b"passwd").unwrap()).unwrap().is_empty());
    assert_eq!(etc.set_mode(b"passwd", 0o666).unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
    assert!(etc.create_new(b"belay-test", 0o600).is_err());
}

#[test]
fn reading_leaves_the_access_time() {
    let (temp, dir) = world_dir();
    let path = temp.path().join("file");
    std::fs::write(&path, "content").unwrap();
    dir.set_times(b"file", belay_sys::now()).unwrap();
    let before = std::fs::metadata(&path).unwrap().atime_nsec();
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::io::read_to_string(dir.open_read(b"file").unwrap()).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().atime_nsec(), before);
}
