//! A full disk: the old state stays, the message is clear, the space is given back.

use belay_testkit::{SmallDisk, TempWorkspace};

use crate::world::{World, noise};

#[test]
fn a_store_without_space_keeps_what_it_has() {
    let Some(disk) = SmallDisk::tmpfs(8 << 20) else { return };
    let mut world = World::new();
    let home = disk.path().join("home");
    let belay = |world: &mut World, words: &[&str]| {
        let mut command = world.command(words);
        command.env("BELAY_HOME", &home);
        world.ran(command)
    };
    world.workspace.file("small", "kept\n");
    assert_eq!(belay(&mut world, &["snapshot", "--label", "first"]).code, 0);
    let free = disk.bytes_free();
    world.workspace.file("large", noise(12 << 20));
    let ran = belay(&mut world, &["snapshot"]);
    assert_eq!(ran.code, 7, "{ran}");
    assert!(ran.stderr.contains("the old state is in place"), "{ran}");
    assert!(disk.bytes_free() + (64 << 10) >= free, "{} of {free} bytes came back", disk.bytes_free());

    let ran = belay(&mut world, &["snapshots"]);
    assert!(ran.stdout.contains("1 snapshot (") && ran.stdout.contains("first"), "{ran}");
    assert_eq!(belay(&mut world, &["verify", "--deep"]).code, 0);
    world.workspace.remove("large");
    assert_eq!(belay(&mut world, &["snapshot"]).code, 0, "the store takes snapshots again");
}

#[test]
fn a_workspace_without_space_stays_as_it_is() {
    let Some(disk) = SmallDisk::tmpfs(8 << 20) else { return };
    let mut world = World::new();
    let small = TempWorkspace::new_in(disk.path());
    let belay = |world: &mut World, words: &[&str]| {
        let mut command = world.command(words);
        command.current_dir(small.path());
        world.ran(command)
    };
    small.file("large", noise(4 << 20)).file("other", "one\n");
    assert_eq!(belay(&mut world, &["snapshot"]).code, 0);
    small.remove("large").file("other", "two\n");
    let filler = disk.fill_leaving(1 << 20);
    let before = small.walk();
    let ran = belay(&mut world, &["rollback", "-y"]);
    assert_eq!(ran.code, 7, "{ran}");
    belay_testkit::assert_same_world(&before, &small.walk(), belay_testkit::Ignore::default());
    std::fs::remove_file(filler).expect("the filler goes");
    assert_eq!(belay(&mut world, &["rollback", "-y"]).code, 0);
    assert!(small.join("large").exists());
}
