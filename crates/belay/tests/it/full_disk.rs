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

#[test]
fn what_a_command_writes_drives_out_no_snapshot_from_before_its_run() {
    if !crate::jailed::has_namespaces() {
        return;
    }
    let mut world = World::new();
    std::fs::write(world.workspace.home().join("config.toml"), "snapshots.retention.budget = \"2MB\"\n").unwrap();
    for number in 0..5_u8 {
        let data: Vec<u8> = noise(200_000).into_iter().map(|byte| byte ^ (number * 37)).collect();
        world.workspace.file("data", data);
        world.ok(&["snapshot"]);
    }
    let ids = |world: &mut World| -> Vec<String> {
        let all = world.json(&["snapshots"]);
        all["snapshots"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    let before = ids(&mut world);
    assert_eq!(before.len(), 5, "{before:?}");
    let script = "i=0; while [ $i -lt 12 ]; do head -c 400000 /dev/urandom > \"data$i\"; belay snapshot -q || exit 9; \
                  rm \"data$i\"; i=$((i+1)); done";
    let ran = world.belay(&["run", "--isolation", "jail", "--", "sh", "-c", script]);
    assert_eq!(ran.code, 0, "{ran}");
    let after = ids(&mut world);
    for id in &before {
        assert!(after.contains(id), "{id} is not in {after:?}");
    }
    assert!(after.len() < 5 + 1 + 12, "the run's own were thinned: {after:?}");
    let pre_run = crate::running::records(&world)[0]["pre_run"].as_str().unwrap().to_owned();
    assert!(after.contains(&pre_run));
}
