//! Taking, listing, pruning and deleting snapshots.

use insta::assert_snapshot;

use crate::world::World;

#[test]
fn a_snapshot_prints_its_name_and_a_label_is_used_once() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n");
    assert_snapshot!(world.belay(&["snapshot"]), @"");
    assert_snapshot!(world.belay(&["snapshot", "--label", "before-refactor"]), @"");
    assert_snapshot!(world.belay(&["snapshot", "--label", "before-refactor"]), @"");
    assert_snapshot!(world.belay(&["snapshot", "--label", "@latest"]), @"");
    assert_eq!(
        world.json(&["snapshots"])["snapshots"].as_array().map(Vec::len),
        Some(2),
        "a refused snapshot is listed"
    );
}

#[test]
fn the_list_is_a_table_with_only_the_columns_that_say_something() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n");
    world.snapshot();
    assert_snapshot!(world.belay(&["snapshots"]), @"");
    world.workspace.file("notes.txt", "two\n");
    world.ok(&["snapshot", "--label", "second", "--description", "after the change"]);
    world.snapshot();
    assert_snapshot!(world.belay(&["snapshots", "list"]), @"");
    assert_snapshot!(world.belay(&["snapshots", "-n", "1"]), @"");
    assert_snapshot!(world.belay(&["snapshots", "--long"]), @"");
    assert_snapshot!(world.belay(&["snapshots", "--type", "safety"]), @"");
}

#[test]
fn json_lists_what_the_timeline_records() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n");
    let id = world.snapshot();
    let list = world.json(&["snapshots"]);
    let one = &list["snapshots"][0];
    assert_eq!(one["id"], id.as_str());
    assert_eq!(one["type"], "manual");
    assert_eq!(one["backend"], "objects");
    assert_eq!(one["number"], 1);
    assert_eq!(one["files"], 1);
    assert_eq!(one["bytes"], 4);
    assert_eq!(one["partial"], false);
    assert_eq!(one["root"].as_str().map(str::len), Some(64));
}

#[test]
fn a_path_names_the_workspace_to_capture() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n");
    let outside = world.workspace.outside().to_owned();
    let mut command = world.command(&["snapshot", "-q"]);
    command.arg(world.workspace.path()).current_dir(outside);
    assert_eq!(world.ran(command).code, 0);
    assert_eq!(world.json(&["snapshots"])["snapshots"].as_array().map(Vec::len), Some(1));
}

#[test]
fn regenerable_directories_are_left_out_unless_all_is_asked_for() {
    let mut world = World::new();
    world.workspace.file("package.json", "{}").file(".gitignore", "node_modules/\n.env\n");
    world.workspace.file("node_modules/left-pad/index.js", "x").file(".env", "KEY=1\n");
    world.snapshot();
    assert_snapshot!(world.belay(&["ls", "@latest"]), @"");
    world.ok(&["snapshot", "--all"]);
    assert_snapshot!(world.belay(&["ls", "-R", "@latest"]), @"");
}

#[test]
fn a_home_directory_is_no_workspace_unless_that_is_said_twice() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n");
    let mut command = world.command(&["snapshot"]);
    command.env("HOME", world.workspace.path());
    assert_snapshot!(world.ran(command), @"");
    let mut command = world.command(&["snapshot", "--yes-really", "-q"]);
    command.env("HOME", world.workspace.path());
    assert_eq!(world.ran(command).code, 0);
}

#[test]
fn a_store_inside_the_workspace_is_refused() {
    let mut world = World::new();
    let mut command = world.command(&["snapshot"]);
    command.env("BELAY_HOME", world.workspace.join("store"));
    assert_snapshot!(world.ran(command), @"");
}

#[test]
fn pruning_keeps_what_it_says_and_asks_first() {
    let mut world = World::new();
    for number in 0..6 {
        world.workspace.file("notes.txt", format!("{number}\n").repeat(100));
        world.snapshot();
    }
    world.ok(&["snapshots"]);
    assert_snapshot!(world.belay(&["snapshots", "prune", "--keep", "2"]), @"");
    assert_snapshot!(world.belay(&["snapshots", "prune", "--keep", "2", "--dry-run"]), @"");
    assert_snapshot!(world.belay(&["snapshots", "prune", "--keep", "2", "-y"]), @"");
    assert_snapshot!(world.belay(&["snapshots", "prune", "--older-than", "7d", "-y"]), @"");
    assert_eq!(world.belay(&["snapshots", "prune"]).code, 2, "a prune without a rule");
    assert_eq!(world.belay(&["snapshots", "prune", "--older-than", "soon"]).code, 2);
    assert_eq!(world.json(&["snapshots"])["snapshots"].as_array().map(Vec::len), Some(2));
}

#[test]
fn snapshots_are_deleted_by_name() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n");
    world.ok(&["snapshot", "--label", "keep"]);
    world.workspace.file("notes.txt", "two\n");
    world.ok(&["snapshot", "--label", "drop"]);
    world.ok(&["snapshots"]);
    assert_snapshot!(world.belay(&["snapshots", "delete", "drop"]), @"");
    assert_snapshot!(world.belay(&["snapshots", "delete", "drop", "-y"]), @"");
    assert_snapshot!(world.belay(&["snapshots", "delete", "drop", "-y"]), @"");
    assert_eq!(world.json(&["snapshots"])["snapshots"].as_array().map(Vec::len), Some(1));
}
