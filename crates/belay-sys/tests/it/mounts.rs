//! Other file systems mounted inside a tree.

use std::path::Path;
use std::process::Command;

use belay_sys::{FileSystemKind, Root, is_root};

use crate::{rerun, world};

/// True in a process with mounts of its own; else starts one, or says why it cannot, and answers false.
fn in_private_namespace(name: &str) -> bool {
    if rerun::is_rerun() {
        return true;
    }
    // An ordinary user gets one only together with a user namespace.
    let unshare: &[&str] = if is_root() { &["unshare", "--mount"] } else { &["unshare", "--map-root-user", "--mount"] };
    let allowed = Command::new(unshare[0]).args(&unshare[1..]).arg("true").output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        println!("skipped: not root, and no user namespaces");
        return false;
    }
    rerun::run(&mut rerun::command(unshare, name));
    false
}

fn mount(words: &[&str], at: &Path) {
    assert!(Command::new("mount").args(words).arg(at).status().unwrap().success());
}

#[test]
fn a_mount_inside_is_refused_unless_crossing() {
    if !in_private_namespace("mounts::a_mount_inside_is_refused_unless_crossing") {
        return;
    }
    let (temp, root) = world();
    let place = temp.path().join("place");
    std::fs::create_dir(&place).unwrap();
    mount(&["-t", "tmpfs", "tmpfs"], &place);
    std::fs::create_dir(place.join("inner")).unwrap();
    let crosses = Some(rustix::io::Errno::XDEV.raw_os_error());
    for rel in [&b"place"[..], b"place/inner"] {
        assert_eq!(root.dir(rel).unwrap_err().raw_os_error(), crosses);
        assert_eq!(root.dir_path_only(rel).unwrap_err().raw_os_error(), crosses);
        assert_eq!(root.subdir(rel).unwrap_err().raw_os_error(), crosses);
    }
    let top = root.dir(b"").unwrap();
    assert_eq!(top.subdir(b"place").unwrap_err().raw_os_error(), crosses);
    assert_ne!(top.stat(b"place").unwrap().mount_id, top.stat_self().unwrap().mount_id);

    let root = root.crossing(true);
    assert!(root.dir(b"place/inner").is_ok());
    assert!(root.dir(b"").unwrap().subdir(b"place").unwrap().subdir(b"inner").is_ok());
    assert_eq!(root.subdir(b"place").unwrap().file_system().unwrap().kind, FileSystemKind::Tmpfs);
    let root = root.crossing(false);
    assert!(root.dir(b"place/inner").is_err());
}

#[test]
fn a_file_mounted_over_a_file_is_refused_too() {
    if !in_private_namespace("mounts::a_file_mounted_over_a_file_is_refused_too") {
        return;
    }
    let (temp, root) = world();
    let (cover, place) = (temp.path().join("cover"), temp.path().join("place"));
    std::fs::write(&cover, "cover").unwrap();
    std::fs::write(&place, "place").unwrap();
    mount(&["--bind", cover.to_str().unwrap()], &place);
    assert!(root.dir(b"").unwrap().open_read(b"place").is_err());
    assert!(root.crossing(true).dir(b"").unwrap().open_read(b"place").is_ok());
}

#[test]
fn a_root_on_a_mount_is_an_ordinary_root() {
    if !in_private_namespace("mounts::a_root_on_a_mount_is_an_ordinary_root") {
        return;
    }
    let (temp, _root) = world();
    mount(&["-t", "tmpfs", "-o", "size=8m", "tmpfs"], temp.path());
    let root = Root::open(temp.path()).unwrap();
    root.dir(b"").unwrap().make_dir(b"inner", 0o700).unwrap();
    assert!(root.dir(b"inner").is_ok());
    let found = root.file_system().unwrap();
    assert_eq!((found.kind, found.bytes_total), (FileSystemKind::Tmpfs, 8 << 20));
    assert!(found.bytes_free > 0 && found.bytes_free <= found.bytes_total);
    assert!(!found.is_remote());
    root.sync_filesystem().unwrap();
}
