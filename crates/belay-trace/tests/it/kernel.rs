//! Cases that only the kernel's own tracing can pass.

use std::fs::{self, File};
use std::io::Write;
use std::process::Command;
use std::time::Duration;

use belay_event::{Action, FileSource};
use belay_testkit::SmallDisk;
use belay_trace::{Dirty, Engine};

use crate::mirror::Mirror;
use crate::world::{World, python};

/// Processes of the group are seen, in a group beneath it too; others are not, even if they are of the same parent.
pub(crate) fn a_group_and_nobody_else() {
    let Some(mut world) = World::grouped(Engine::Privileged) else { return };
    let deeper = world.group_path().join("deeper");
    let script = "mkdir \"$0\"; echo $$ > \"$0/cgroup.procs\"; /bin/true deeper";
    let mut child = world.start(&["/bin/sh".as_ref(), "-c".as_ref(), script.as_ref(), deeper.as_os_str()]);
    assert!(Command::new("/bin/true").arg("outside").status().unwrap().success());
    child.wait().unwrap();
    let story = world.end();
    story.assert_whole();
    let words: Vec<_> = story.named("true").iter().map(|exec| exec.argv[1].lossy().into_owned()).collect();
    assert_eq!(words, ["deeper"]);
}

/// A file that is still held open is dirty as soon as it was written to.
pub(crate) fn without_a_close() {
    let world = World::new(Engine::Privileged, |root| fs::write(root.join("log"), "").unwrap());
    let mut log = File::options().append(true).open(world.at("log")).unwrap();
    assert_eq!(world.tracer.dirty(), Dirty { paths: Vec::new(), complete: true });
    for _ in 0..2 {
        log.write_all(b"line\n").unwrap();
        assert_eq!(world.tracer.dirty(), Dirty { paths: vec![b"log".to_vec()], complete: true });
    }
    fs::set_permissions(world.at("log"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(world.tracer.dirty().paths, [b"log".to_vec()]);
}

/// A file that is changed through memory is dirty as long as it is mapped, and is told when it is let go.
pub(crate) fn through_memory() {
    let Some(python) = python() else { return };
    let mut world = World::new(Engine::Privileged, |root| fs::write(root.join("data"), [0; 4096]).unwrap());
    let program = r#"
import mmap, os, sys
file = os.open("data", os.O_RDWR)
memory = mmap.mmap(file, 4096)
os.close(file)
open("mapped", "w").close()
while not os.path.exists("go"): pass
memory[0] = 1
memory.close()
"#;
    let mut child = world.start(&[python, "-c", program]);
    while !world.at("mapped").exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    world.tracer.dirty();
    assert_eq!(world.tracer.dirty().paths, [b"data".to_vec()]);
    fs::write(world.at("go"), "").unwrap();
    child.wait().unwrap();
    let dirty = world.tracer.dirty();
    assert!(dirty.paths.contains(&b"data".to_vec()), "{dirty:?}");
    assert_eq!(world.tracer.dirty().paths, Vec::<Vec<u8>>::new());
    assert!(world.end().paths(Action::Modified).contains(&"data".to_owned()));
}

/// A file with another name may have changed under that one too, so the set is not complete.
pub(crate) fn several_names() {
    let world = World::new(Engine::Privileged, |root| {
        fs::write(root.join("one"), "").unwrap();
        fs::hard_link(root.join("one"), root.join("other")).unwrap();
    });
    fs::write(world.at("one"), "changed").unwrap();
    assert!(!world.tracer.dirty().complete);
    fs::write(world.at("alone"), "").unwrap();
    assert!(world.tracer.dirty().complete);
}

/// Something that is mounted over a part of the workspace, or taken away, is noticed.
pub(crate) fn a_mount_beneath() {
    let world = World::new(Engine::Privileged, |root| fs::create_dir(root.join("d")).unwrap());
    assert!(world.tracer.dirty().complete);
    let point = world.at("d");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "belay-test"]).arg(&point).status().unwrap().success();
    if !mounted {
        return belay_testkit::skip("nothing can be mounted");
    }
    let with = world.tracer.dirty().complete;
    let still = world.tracer.dirty().complete;
    assert!(Command::new("umount").arg(&point).status().unwrap().success());
    assert_eq!((with, still, world.tracer.dirty().complete), (false, true, false));
}

/// Wherever a file system can be marked, the same holds.
pub(crate) fn every_file_system() {
    const MIB: u64 = 1 << 20;
    let disks = [
        ("ext4", SmallDisk::ext4(32 * MIB)),
        ("tmpfs", SmallDisk::tmpfs(32 * MIB)),
        ("xfs", SmallDisk::xfs(320 * MIB)),
        ("btrfs", SmallDisk::btrfs(128 * MIB)),
    ];
    for (name, disk) in disks {
        let Some(disk) = disk else { continue };
        let place = tempfile::tempdir_in(disk.path()).unwrap();
        fs::create_dir_all(place.path().join("old/deep")).unwrap();
        let mut mirror = Mirror::of(place.path());
        let mut world = World::open(Engine::Privileged, place, None);
        let script = "mkdir -p a/b; echo 1 > a/b/f; mv a c; echo 2 >> c/b/f; echo 3 > old/deep/g; rm -r old/deep";
        assert!(world.shell(script).success(), "{name}");
        let dirty = world.tracer.dirty();
        assert!(dirty.complete, "{name}");
        mirror.refresh(&dirty.paths);
        mirror.assert_equals(&Mirror::of(&world.at("")));
        let story = world.end();
        story.assert_whole();
        assert!(story.files().iter().all(|file| file.by.unwrap().command.is_some()), "{name}: {:?}", story.files());
        assert!(story.paths(Action::Created).contains(&"a/b/f".to_owned()), "{name}");
    }
}

/// A directory of an overlay has another handle once it was copied up, so its directories are watched instead.
pub(crate) fn an_overlay() {
    let Some(disk) = SmallDisk::ext4(32 << 20) else { return };
    let at = |name: &str| disk.path().join(name);
    for name in ["upper", "work", "merged", "lower/old/deep", "lower/moved/deep"] {
        fs::create_dir_all(at(name)).unwrap();
    }
    fs::write(at("lower/old/deep/f"), "old").unwrap();
    let [lower, upper, work] = ["lower", "upper", "work"].map(|name| at(name).display().to_string());
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work},redirect_dir=on");
    let mut mount = Command::new("mount");
    mount.args(["-t", "overlay", "-o", &options, "belay-test"]).arg(at("merged"));
    if !mount.status().unwrap().success() {
        return belay_testkit::skip("no overlay");
    }
    let told = {
        let mut world = World::over(Engine::Best, at("merged"), None);
        assert_eq!(world.tracer.file_source(), FileSource::Inotify);
        let why = world.tracer.degraded().iter().map(|degraded| degraded.why.as_str()).collect::<String>();
        assert!(why.contains("overlay"), "{why}");
        let mut mirror = Mirror::of(&at("merged"));
        let script = "echo 1 > old/deep/new; echo 2 >> old/deep/f; mv moved away; echo 3 > away/deep/g; sleep 0.1";
        assert!(world.shell(script).success());
        let dirty = world.tracer.dirty();
        assert!(dirty.complete);
        mirror.refresh(&dirty.paths);
        mirror.assert_equals(&Mirror::of(&at("merged")));
        world.end()
    };
    assert!(Command::new("umount").arg(at("merged")).status().unwrap().success());
    told.assert_whole();
}

/// A subvolume cannot be marked; its directories are watched instead, and that is said.
pub(crate) fn a_subvolume() {
    let Some(disk) = SmallDisk::btrfs(128 << 20) else { return };
    let volume = disk.path().join("volume");
    let made = Command::new("btrfs").args(["-q", "subvolume", "create"]).arg(&volume).status();
    if !made.is_ok_and(|made| made.success()) {
        return belay_testkit::skip("no btrfs command");
    }
    let place = tempfile::tempdir_in(&volume).unwrap();
    let mut world = World::open(Engine::Best, place, None);
    if world.tracer.file_source() == FileSource::Inotify {
        let why = world.tracer.degraded().iter().map(|degraded| degraded.why.as_str()).collect::<String>();
        assert!(why.contains("subvolume"), "{why}");
    }
    assert!(world.shell("mkdir d; echo 1 > d/f; sleep 0.1").success());
    let dirty = world.tracer.dirty();
    assert!(dirty.complete);
    assert_eq!(dirty.paths, [b"d".to_vec()]);
    let story = world.end();
    story.assert_whole();
    assert_eq!(story.paths(Action::Created), ["d", "d/f"]);
}
