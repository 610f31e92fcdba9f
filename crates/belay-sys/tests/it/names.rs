//! Names of any bytes, any length, any number.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use belay_sys::{FileType, Root, stat_file};

use crate::{names, world, world_dir};

#[test]
fn a_name_is_bytes_not_text() {
    let (temp, dir) = world_dir();
    let odd: [&[u8]; 5] = [b"\xff\xfe\x80", b"new\nline", b" ", b"-rf", b"\x1b[31m"];
    for name in odd {
        dir.create_new(name, 0o600).unwrap();
        assert!(temp.path().join(OsStr::from_bytes(name)).exists());
        assert_eq!(dir.stat(name).unwrap().file_type, FileType::File);
        dir.make_symlink(&[name, b".link"].concat(), name).unwrap();
        assert_eq!(dir.read_link(&[name, b".link"].concat()).unwrap(), name);
    }
    assert_eq!(names(&dir).len(), 2 * odd.len());
}

#[test]
fn names_may_have_255_bytes() {
    let (_temp, dir) = world_dir();
    let longest = [b'n'; 255];
    dir.make_dir(&longest, 0o700).unwrap();
    assert_eq!(names(&dir), [longest]);
    assert_eq!(dir.stat(&longest).unwrap().file_type, FileType::Dir);
    dir.subdir(&longest).unwrap().create_new(&longest, 0o600).unwrap();
    assert!(dir.stat(&[b'n'; 256]).is_err());
}

#[test]
fn paths_may_have_10_000_bytes() {
    let (temp, root) = world();
    let component = [b'd'; 249];
    let mut dir = root.dir(b"").unwrap();
    let mut rel = Vec::new();
    while rel.len() < 10_000 {
        dir.make_dir(&component, 0o700).unwrap();
        dir = dir.subdir(&component).unwrap();
        if !rel.is_empty() {
            rel.push(b'/');
        }
        rel.extend_from_slice(&component);
    }
    let file = dir.create_new(b"deep", 0o600).unwrap();
    let wanted = stat_file(&file).unwrap().ino;

    for reached in [root.dir(&rel).unwrap(), root.dir_path_only(&rel).unwrap()] {
        assert_eq!(reached.stat(b"deep").unwrap().ino, wanted);
    }
    assert_eq!(names(&root.subdir(&rel).unwrap().dir(b"").unwrap()), [b"deep"]);
    let absolute = temp.path().join(OsStr::from_bytes(&rel));
    let named = Root::open(&absolute).unwrap();
    assert_eq!(named.dir(b"").unwrap().stat(b"deep").unwrap().ino, wanted);
    rel.extend_from_slice(b"/absent");
    assert_eq!(root.dir(&rel).unwrap_err().kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn a_long_path_with_doubled_slashes_is_still_the_users() {
    let (temp, root) = world();
    std::fs::create_dir(temp.path().join("inner")).unwrap();
    let slashes = "/".repeat(3990);
    let path = format!("{}{slashes}///////////////inner", temp.path().display());
    let opened = Root::open(path.as_ref()).unwrap();
    let direct = root.dir(b"inner").unwrap().stat_self().unwrap();
    assert_eq!(opened.dir(b"").unwrap().stat_self().unwrap().ino, direct.ino);
}

#[test]
fn every_length_around_the_cut_resolves() {
    let (_temp, root) = world();
    let mut dir = root.dir(b"").unwrap();
    let mut rel = Vec::new();
    for _ in 0..2100 {
        dir.make_dir(b"a", 0o700).unwrap();
        dir = dir.subdir(b"a").unwrap();
        rel.extend_from_slice(if rel.is_empty() { b"a" } else { b"/a" });
        if (3980..4020).contains(&rel.len()) {
            let reached = root.dir_path_only(&rel).unwrap().stat_self().unwrap();
            assert_eq!(reached.ino, dir.stat_self().unwrap().ino, "{} bytes", rel.len());
        }
    }
}

#[test]
fn a_large_directory_is_listed_whole_and_again() {
    let (_temp, dir) = world_dir();
    for number in 0..5_000 {
        let name = format!("a-name-long-enough-to-need-more-than-one-buffer-{number:0100}");
        dir.make_symlink(name.as_bytes(), b"x").unwrap();
    }
    let mut buffer = Vec::new();
    for _ in 0..2 {
        let mut count = 0;
        dir.list(&mut buffer, &mut |name, kind, ino| {
            assert!(!matches!(name, b"." | b".."));
            assert!(matches!(kind, FileType::Symlink | FileType::Unknown));
            assert!(ino > 0);
            count += 1;
        })
        .unwrap();
        assert_eq!(count, 5_000);
    }
}
