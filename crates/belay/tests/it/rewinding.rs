//! Rollback, undo, redo and restore.

use belay_testkit::{Ignore, RogueAgent, assert_same_world, small_project};
use insta::assert_snapshot;

use crate::world::World;

#[test]
fn a_whole_day_snapshot_wreck_status_rollback_undo_redo() {
    let mut world = World::new();
    small_project(world.workspace.path());
    let before = world.workspace.walk();
    world.ok(&["snapshot", "--label", "morning"]);
    RogueAgent::wreck(world.workspace.path());
    let wrecked = world.workspace.walk();

    assert_snapshot!(world.belay(&["status"]), @"");
    assert_snapshot!(world.belay(&["rollback", "-y"]), @"");
    assert_same_world(&before, &world.workspace.walk(), Ignore::default());
    assert_snapshot!(world.belay(&["rollback", "morning", "-y"]), @"");

    assert_snapshot!(world.belay(&["undo", "-y"]), @"");
    assert_same_world(&wrecked, &world.workspace.walk(), Ignore::default());
    assert_snapshot!(world.belay(&["redo", "-y"]), @"");
    assert_same_world(&before, &world.workspace.walk(), Ignore::default());
    assert_snapshot!(world.belay(&["redo", "-y"]), @"");
    assert_snapshot!(world.belay(&["snapshots"]), @"");
}

#[test]
fn a_dry_run_shows_everything_and_touches_nothing() {
    let mut world = World::new();
    small_project(world.workspace.path());
    world.snapshot();
    RogueAgent::wreck(world.workspace.path());
    let wrecked = world.workspace.walk();
    assert_snapshot!(world.belay(&["rollback", "--dry-run"]), @"");
    let plan = world.json(&["rollback", "--dry-run"]);
    assert_eq!(plan["kind"], "rollback");
    assert!(plan["steps"].as_array().is_some_and(|steps| steps.iter().any(|step| step["path"] == ".env")));
    assert_same_world(&wrecked, &world.workspace.walk(), Ignore::default());
    assert_eq!(world.json(&["snapshots"])["snapshots"].as_array().map(Vec::len), Some(1), "a dry run took a snapshot");
}

#[test]
fn without_a_terminal_consent_must_be_given_beforehand() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n");
    world.snapshot();
    world.workspace.file("notes.txt", "two\n");
    assert_snapshot!(world.belay(&["rollback"]), @"");
    assert_eq!(world.read("notes.txt"), "two\n");
}

#[test]
fn parts_can_be_brought_back_alone() {
    let mut world = World::new();
    world.workspace.file("src/a.txt", "a\n").file("src/b.txt", "b\n").file("c.txt", "c\n");
    world.snapshot();
    world.workspace.file("src/a.txt", "x\n").file("src/b.txt", "x\n").file("c.txt", "x\n");
    assert_snapshot!(world.belay(&["restore", "@latest", "src/a.txt", "-y"]), @"");
    assert_eq!((world.read("src/a.txt").as_str(), world.read("src/b.txt").as_str()), ("a\n", "x\n"));

    let mut command = world.command(&["rollback", "1", "b.txt", "-y"]);
    command.current_dir(world.workspace.join("src"));
    assert_eq!(world.ran(command).code, 0, "a path is relative to the current directory");
    assert_eq!((world.read("src/b.txt").as_str(), world.read("c.txt").as_str()), ("b\n", "x\n"));

    world.ok(&["undo", "-y"]);
    assert_eq!(world.read("src/b.txt"), "x\n");
    assert_snapshot!(world.belay(&["restore", "@latest", "nowhere.txt", "-y"]), @"");
    assert_snapshot!(world.belay(&["restore", "@latest", "../outside", "-y"]), @"");
}

#[test]
fn a_snapshot_can_be_written_elsewhere() {
    let mut world = World::new();
    world.workspace.file("src/a.txt", "a\n").file_mode("run.sh", "#!/bin/sh\n", 0o750).symlink("link", "src/a.txt");
    let before = world.workspace.walk();
    world.ok(&["snapshot", "--label", "first"]);
    world.workspace.file("src/a.txt", "changed\n");
    assert_snapshot!(world.belay(&["rollback", "first", "--to", "../outside/restored"]), @"");
    let restored = belay_testkit::walk(&world.workspace.outside().join("restored"));
    assert_same_world(&before, &restored, Ignore::default());
    assert_eq!(world.read("src/a.txt"), "changed\n");
    assert_ne!(world.belay(&["rollback", "first", "--to", "../outside/restored"]).code, 0, "it is not empty any more");
}

#[test]
fn names_that_mean_nothing_or_too_much_are_errors_that_help() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n");
    assert_snapshot!(world.belay(&["rollback", "-y"]), @"");
    world.ok(&["snapshot", "--label", "before-refactor"]);
    assert_snapshot!(world.belay(&["rollback", "befor-refactor", "-y"]), @"");
    assert_snapshot!(world.belay(&["rollback", "notes.txt", "-y"]), @"");
    assert_snapshot!(world.belay(&["undo", "-y"]), @"");
}

#[test]
fn every_way_to_name_a_snapshot_works() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n");
    let first = world.ok(&["snapshot", "--label", "first", "-q"]).split(' ').next().expect("an id").to_owned();
    world.workspace.file("notes.txt", "two\n");
    world.snapshot();
    for name in [first.as_str(), &first[..10], "first", "1", "@-1"] {
        assert_eq!(world.ok(&["cat", name, "notes.txt"]), "one\n", "{name} is not the first snapshot");
    }
    for name in ["2", "@latest", "0s ago"] {
        assert_eq!(world.ok(&["cat", name, "notes.txt"]), "two\n", "{name} is not the second snapshot");
    }
}
