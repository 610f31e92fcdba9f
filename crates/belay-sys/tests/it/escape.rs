//! Nothing inside a tree leads out of it.

use std::io::ErrorKind;
use std::os::unix::fs::symlink;

use belay_sys::{Root, stat_file};
use tempfile::TempDir;

use crate::{names, world, world_dir};

fn tree_with_links() -> (TempDir, TempDir, Root) {
    let (temp, root) = world();
    let outside = TempDir::new().unwrap();
    std::fs::create_dir_all(outside.path().join("inner")).unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    std::fs::create_dir_all(temp.path().join("real/inner")).unwrap();
    symlink(outside.path(), temp.path().join("absolute")).unwrap();
    let name = outside.path().file_name().unwrap().to_str().unwrap();
    symlink(format!("../{name}"), temp.path().join("upward")).unwrap();
    symlink("real", temp.path().join("inward")).unwrap();
    symlink("/", temp.path().join("real/slash")).unwrap();
    (temp, outside, root)
}

#[test]
fn a_symlink_is_never_passed_through() {
    let (_temp, _outside, root) = tree_with_links();
    let paths: [&[u8]; 8] = [
        b"absolute",
        b"absolute/inner",
        b"upward",
        b"upward/inner",
        b"inward",
        b"inward/inner",
        b"real/slash",
        b"real/slash/etc",
    ];
    for rel in paths {
        assert!(root.dir(rel).is_err(), "{rel:?}");
        assert!(root.dir_path_only(rel).is_err(), "{rel:?}");
        assert!(root.subdir(rel).is_err(), "{rel:?}");
    }
    assert!(root.dir(b"real/inner").is_ok());
    let dir = root.dir(b"").unwrap();
    assert!(dir.subdir(b"inward").is_err());
    assert!(dir.subdir_path_only(b"absolute").is_err());
    assert!(dir.subdir(b"real").unwrap().subdir(b"inner").is_ok());
}

#[test]
fn a_symlink_to_a_file_is_not_opened() {
    let (temp, outside, root) = tree_with_links();
    symlink(outside.path().join("secret"), temp.path().join("file")).unwrap();
    let dir = root.dir(b"").unwrap();
    assert!(dir.open_read(b"file").is_err());
    assert_eq!(dir.create_new(b"file", 0o600).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(std::fs::read(outside.path().join("secret")).unwrap(), b"secret");
}

#[test]
fn dots_slashes_and_nul_are_refused() {
    let (_temp, _outside, root) = tree_with_links();
    let paths: [&[u8]; 11] = [
        b".",
        b"..",
        b"/",
        b"/etc",
        b"real/",
        b"real//inner",
        b"real/.",
        b"real/../..",
        b"real/..",
        b"re\0al",
        b"real/\0",
    ];
    for rel in paths {
        assert_eq!(root.dir(rel).unwrap_err().kind(), ErrorKind::InvalidInput, "{rel:?}");
        assert_eq!(root.dir_path_only(rel).unwrap_err().kind(), ErrorKind::InvalidInput, "{rel:?}");
    }
    let dir = root.dir(b"").unwrap();
    let single: [&[u8]; 6] = [b"", b".", b"..", b"real/inner", b"/", b"a\0"];
    for name in single {
        assert_eq!(dir.stat(name).unwrap_err().kind(), ErrorKind::InvalidInput, "{name:?}");
        assert_eq!(dir.remove_file(name).unwrap_err().kind(), ErrorKind::InvalidInput, "{name:?}");
        assert_eq!(dir.rename(b"real", &dir, name).unwrap_err().kind(), ErrorKind::InvalidInput, "{name:?}");
        assert_eq!(dir.set_mode(name, 0o700).unwrap_err().kind(), ErrorKind::InvalidInput, "{name:?}");
        assert_eq!(dir.set_xattr(name, b"user.a", b"").unwrap_err().kind(), ErrorKind::InvalidInput, "{name:?}");
    }
}

#[test]
fn a_magic_link_is_not_passed_even_when_mounts_are() {
    let process = Root::open("/proc/self".as_ref()).unwrap().crossing(true);
    assert!(process.dir(b"fd").is_ok());
    for rel in [&b"root"[..], b"cwd", b"root/etc"] {
        assert!(process.dir(rel).is_err(), "{rel:?}");
        assert!(process.dir_path_only(rel).is_err(), "{rel:?}");
    }
}

#[test]
fn the_path_that_the_user_named_may_hold_symlinks() {
    let (temp, outside, _root) = tree_with_links();
    let root = Root::open(&temp.path().join("absolute")).unwrap();
    let secret = root.dir(b"").unwrap().open_read(b"secret").unwrap();
    let direct = std::fs::File::open(outside.path().join("secret")).unwrap();
    assert_eq!(stat_file(&secret).unwrap().ino, stat_file(&direct).unwrap().ino);
}

#[test]
fn a_root_stays_with_its_directory_when_that_is_moved() {
    let (temp, root) = world();
    std::fs::create_dir(temp.path().join("tree")).unwrap();
    let tree = root.subdir(b"tree").unwrap();
    std::fs::rename(temp.path().join("tree"), temp.path().join("moved")).unwrap();
    std::fs::create_dir(temp.path().join("tree")).unwrap();
    tree.dir(b"").unwrap().create_new(b"here", 0o600).unwrap();
    assert!(temp.path().join("moved/here").exists());
    assert!(!temp.path().join("tree/here").exists());
    let second = tree.try_clone().unwrap();
    assert_eq!(names(&second.dir(b"").unwrap()), [b"here"]);
}

#[test]
fn a_file_where_a_directory_was_expected_is_an_error() {
    let (_temp, dir) = world_dir();
    dir.create_new(b"file", 0o600).unwrap();
    assert_eq!(dir.subdir(b"file").unwrap_err().kind(), ErrorKind::NotADirectory);
    assert_eq!(dir.subdir(b"absent").unwrap_err().kind(), ErrorKind::NotFound);
    assert!(dir.open_read(b"absent").is_err());
}
