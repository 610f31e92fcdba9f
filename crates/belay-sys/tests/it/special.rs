//! FIFOs, sockets, devices, links, and moving names about.

use std::io::{ErrorKind, Write};
use std::sync::mpsc;
use std::time::Duration;

use belay_sys::{FileType, is_root};

use crate::{names, world_dir};

#[test]
fn a_fifo_is_never_waited_for() {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let (_temp, dir) = world_dir();
        dir.make_fifo(b"pipe", 0o600).unwrap();
        assert_eq!(dir.stat(b"pipe").unwrap().file_type, FileType::Fifo);
        assert!(dir.open_read(b"pipe").is_err());
        assert!(dir.subdir(b"pipe").is_err());
        dir.set_mode(b"pipe", 0o644).unwrap();
        assert_eq!(dir.stat(b"pipe").unwrap().mode, 0o644);
        assert!(dir.xattrs(b"pipe", FileType::Fifo).unwrap().is_empty());
        assert_eq!(dir.inode_flags(b"pipe").unwrap(), Default::default());
        sender.send(()).unwrap();
    });
    receiver.recv_timeout(Duration::from_secs(20)).expect("blocked on a FIFO, or failed above");
}

#[test]
fn a_socket_can_be_made_and_seen() {
    let (_temp, dir) = world_dir();
    dir.make_socket(b"socket", 0o600).unwrap();
    assert_eq!(dir.stat(b"socket").unwrap().file_type, FileType::Socket);
    assert!(dir.open_read(b"socket").is_err());
}

#[test]
fn a_device_keeps_its_number() {
    if !is_root() {
        println!("skipped: not root");
        return;
    }
    let (_temp, dir) = world_dir();
    let null = (1 << 8) | 3;
    dir.make_device(b"null", FileType::CharDevice, null, 0o600).unwrap();
    let stat = dir.stat(b"null").unwrap();
    assert_eq!((stat.file_type, stat.rdev), (FileType::CharDevice, null));
    assert!(dir.open_read(b"null").is_err());
    let error = dir.make_device(b"other", FileType::File, null, 0o600).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn links_share_an_inode_and_a_symlink_is_linked_itself() {
    let (_temp, dir) = world_dir();
    dir.make_dir(b"sub", 0o700).unwrap();
    let sub = dir.subdir(b"sub").unwrap();
    dir.create_new(b"file", 0o600).unwrap();
    dir.make_symlink(b"link", b"file").unwrap();
    dir.hard_link(b"file", &sub, b"second").unwrap();
    dir.hard_link(b"link", &sub, b"link").unwrap();
    let stat = dir.stat(b"file").unwrap();
    assert_eq!((stat.nlink, stat.ino), (2, sub.stat(b"second").unwrap().ino));
    assert_eq!(sub.stat(b"link").unwrap().file_type, FileType::Symlink);
}

#[test]
fn renames_replace_refuse_or_swap_as_named() {
    let (_temp, dir) = world_dir();
    let write = |name: &[u8]| dir.create_new(name, 0o600).unwrap().write_all(name).unwrap();
    let read = |name: &[u8]| std::io::read_to_string(dir.open_read(name).unwrap()).unwrap();
    write(b"one");
    write(b"two");
    assert_eq!(dir.rename_new(b"one", &dir, b"two").unwrap_err().kind(), ErrorKind::AlreadyExists);
    dir.exchange(b"one", &dir, b"two").unwrap();
    assert_eq!((read(b"one"), read(b"two")), ("two".into(), "one".into()));
    dir.rename(b"one", &dir, b"two").unwrap();
    assert_eq!(read(b"two"), "two");
    dir.rename_new(b"two", &dir, b"three").unwrap();
    assert_eq!(names(&dir), [b"three"]);
}

#[test]
fn removing_minds_what_it_removes() {
    let (_temp, dir) = world_dir();
    dir.make_dir(b"dir", 0o700).unwrap();
    dir.make_symlink(b"link", b"dir").unwrap();
    assert!(dir.remove_file(b"dir").is_err());
    assert!(dir.remove_dir(b"link").is_err());
    dir.remove_file(b"link").unwrap();
    dir.subdir(b"dir").unwrap().create_new(b"file", 0o600).unwrap();
    assert_eq!(dir.remove_dir(b"dir").unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
    dir.subdir(b"dir").unwrap().remove_file(b"file").unwrap();
    dir.remove_dir(b"dir").unwrap();
    dir.sync().unwrap();
}
