//! Extended attributes, access control lists, capabilities.

use belay_sys::{Dir, FileType, Root, file_xattrs, is_root};

use crate::{rerun, world_dir};

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn pairs(list: &[(&[u8], &[u8])]) -> Pairs {
    list.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

/// False, and says so, where the file system of the temporary directory has no attributes.
fn offered(dir: &Dir) -> bool {
    let offered = dir.set_self_xattr(b"user.probe", b"").and_then(|()| dir.remove_self_xattr(b"user.probe")).is_ok();
    if !offered {
        println!("skipped: no extended attributes here");
    }
    offered
}

/// `u::rw-,u:1234:r--,g::r--,m::rw-,o::---` as the kernel stores it.
fn access_list() -> Vec<u8> {
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    let entries = [(1, 6, u32::MAX), (2, 4, 1234), (4, 4, u32::MAX), (16, 6, u32::MAX), (32, 0, u32::MAX)];
    for (tag, permissions, id) in entries {
        bytes.extend(u16::to_le_bytes(tag));
        bytes.extend(u16::to_le_bytes(permissions));
        bytes.extend(u32::to_le_bytes(id));
    }
    bytes
}

#[test]
fn attributes_come_back_sorted_and_byte_for_byte() {
    let (_temp, dir) = world_dir();
    if !offered(&dir) {
        return;
    }
    let file = dir.create_new(b"file", 0o600).unwrap();
    let large = vec![0xa5; 3_000];
    let set: [(&[u8], &[u8]); 3] = [(b"user.zeta", b"\0\xff\n"), (b"user.alpha", b""), (b"user.large", &large)];
    for (key, value) in set {
        dir.set_xattr(b"file", key, value).unwrap();
    }
    let wanted = pairs(&[(b"user.alpha", b""), (b"user.large", &large), (b"user.zeta", b"\0\xff\n")]);
    assert_eq!(dir.xattrs(b"file", FileType::File).unwrap(), wanted);
    assert_eq!(file_xattrs(&file).unwrap(), wanted);
    dir.remove_xattr(b"file", b"user.large").unwrap();
    dir.remove_xattr(b"file", b"user.large").unwrap();
    assert_eq!(dir.xattrs(b"file", FileType::File).unwrap().len(), 2);
}

#[test]
fn many_attributes_are_all_found() {
    let (temp, dir) = world_dir();
    if !offered(&dir) {
        return;
    }
    let names: Vec<_> = (0..30).map(|number| format!("user.a-rather-long-name-to-fill-the-list-{number:02}")).collect();
    for name in &names {
        dir.set_self_xattr(name.as_bytes(), b"v").unwrap();
    }
    let found: Vec<_> =
        dir.self_xattrs().unwrap().into_iter().map(|(key, _)| String::from_utf8(key).unwrap()).collect();
    assert_eq!(found, names);
    let unlisted = Root::open(temp.path()).unwrap().dir_path_only(b"").unwrap();
    assert_eq!(unlisted.self_xattrs().unwrap(), dir.self_xattrs().unwrap());
}

#[test]
fn an_access_control_list_is_an_attribute() {
    let (_temp, dir) = world_dir();
    dir.create_new(b"file", 0o600).unwrap();
    let list = access_list();
    if dir.set_xattr(b"file", b"system.posix_acl_access", &list).is_err() {
        println!("skipped: no access control lists here");
        return;
    }
    assert_eq!(dir.xattrs(b"file", FileType::File).unwrap(), pairs(&[(b"system.posix_acl_access", &list)]));
    assert_eq!(dir.stat(b"file").unwrap().mode, 0o660);
    dir.set_self_xattr(b"system.posix_acl_default", &list).unwrap();
    assert_eq!(dir.self_xattrs().unwrap(), pairs(&[(b"system.posix_acl_default", &list)]));
}

#[test]
fn what_belongs_to_the_machine_is_left_out() {
    let (_temp, dir) = world_dir();
    if !is_root() || !offered(&dir) {
        println!("skipped: not root");
        return;
    }
    dir.create_new(b"file", 0o755).unwrap();
    dir.make_symlink(b"link", b"file").unwrap();
    let mut capability = vec![0; 20];
    capability[3] = 2;
    capability[5] = 4;
    let kept: [(&[u8], &[u8]); 2] = [(b"security.capability", &capability), (b"trusted.mark", b"1")];
    for (key, value) in kept {
        dir.set_xattr(b"file", key, value).unwrap();
    }
    dir.set_xattr(b"file", b"trusted.overlay.opaque", b"y").unwrap();
    // A machine that runs SELinux has its own idea of this one.
    let _ = dir.set_xattr(b"file", b"security.selinux", b"label\0");
    assert_eq!(dir.xattrs(b"file", FileType::File).unwrap(), pairs(&kept));

    dir.set_xattr(b"link", b"trusted.own", b"2").unwrap();
    assert_eq!(dir.xattrs(b"link", FileType::Symlink).unwrap(), pairs(&[(b"trusted.own", b"2")]));
    assert_eq!(dir.xattrs(b"file", FileType::File).unwrap(), pairs(&kept));
}

#[test]
fn an_attribute_that_may_not_be_read_is_an_error() {
    if !rerun::as_ordinary_user("xattr::an_attribute_that_may_not_be_read_is_an_error") {
        return;
    }
    let (_temp, dir) = world_dir();
    if !offered(&dir) {
        return;
    }
    dir.create_new(b"file", 0o600).unwrap();
    dir.set_xattr(b"file", b"user.hidden", b"1").unwrap();
    dir.set_mode(b"file", 0o200).unwrap();
    let error = dir.xattrs(b"file", FileType::File).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
    dir.make_symlink(b"link", b"file").unwrap();
    assert!(dir.xattrs(b"link", FileType::Symlink).unwrap().is_empty());
}
