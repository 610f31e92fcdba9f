//! Users and filesystems that the tests make for themselves.

use belay_testkit::{OrdinaryUser, SmallDisk, TempWorkspace, as_user, is_root};
use std::io::{ErrorKind, Write};

#[test]
fn an_ordinary_user_cannot_read_what_is_closed() {
    let Some(user) = OrdinaryUser::find() else {
        return;
    };
    let home = user.directory();
    let cat = user.copy_of(std::path::Path::new("/bin/cat"), home.path());
    let closed = home.path().join("closed");
    std::fs::write(&closed, "secret").expect("write");
    user.own(&closed);
    let mode = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(&closed, mode(0o400)).expect("chmod");
    let read = || user.command(&cat, home.path()).arg(&closed).output().expect("cat runs");
    assert_eq!(read().stdout, b"secret");
    std::fs::set_permissions(&closed, mode(0)).expect("chmod");
    assert!(!read().status.success());
}

#[test]
fn the_program_itself_is_the_child() {
    let home = tempfile::tempdir_in("/tmp").expect("a directory");
    std::fs::set_permissions(home.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("chmod");
    let Some(mut command) = as_user("sh", home.path()) else {
        return;
    };
    let child =
        command.args(["-c", "echo $$; id -u; pwd"]).stdout(std::process::Stdio::piped()).spawn().expect("sh runs");
    let pid = child.id();
    let output = child.wait_with_output().expect("sh ends");
    let said = String::from_utf8(output.stdout).expect("text");
    let said: Vec<_> = said.lines().collect();
    assert_eq!(said[0], pid.to_string());
    assert_ne!(said[1], "0");
    assert_eq!(said[2], home.path().to_str().expect("text"));
}

#[test]
fn small_disks_fill_up_and_go_away() {
    type Maker = fn(u64) -> Option<SmallDisk>;
    let makers: [(&str, Maker, u64); 4] = [
        ("tmpfs", SmallDisk::tmpfs, 2 << 20),
        ("ext4", SmallDisk::ext4, 8 << 20),
        ("btrfs", SmallDisk::btrfs, 128 << 20),
        ("xfs", SmallDisk::xfs, 320 << 20),
    ];
    for (name, make, bytes) in makers {
        let Some(disk) = make(bytes) else {
            assert!(!is_root() || name == "btrfs" || name == "xfs", "{name}");
            continue;
        };
        let path = disk.path().to_owned();
        let free = disk.bytes_free();
        assert!(free > 0 && free <= bytes, "{name}: {free} bytes free");
        disk.fill_leaving(128 * 1024);
        let workspace = TempWorkspace::new_in(disk.path());
        let mut file = std::fs::File::create(workspace.path().join("more")).expect("create");
        let error = (0..)
            .find_map(|_| file.write_all(&[1; 4096]).and_then(|()| file.sync_all()).err())
            .expect("a full disk ends the loop");
        assert_eq!(error.kind(), ErrorKind::StorageFull, "{name}");
        drop((file, workspace, disk));
        assert!(!path.exists(), "{name}");
    }
}
