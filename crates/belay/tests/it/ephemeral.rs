//! Ephemeral runs: the workspace stays as it is until somebody applies what was written.

use crate::jailed::has_namespaces;
use crate::world::World;

fn ephemeral(script: &str) -> World {
    let mut world = World::new();
    world.workspace.file("code", "before").file("removed", "r").file("dir/inner", "i").file("kept", "k");
    let ran = world.belay(&["run", "--ephemeral", "--", "sh", "-c", script]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("The workspace is as it was"), "{ran}");
    world
}

const SCRIPT: &str = "echo after > code; rm removed; rm -r dir; mkdir new; echo n > new/file; cat code";

#[test]
fn nothing_changes_until_it_is_applied_and_that_can_be_undone() {
    if !has_namespaces() {
        return;
    }
    let mut world = ephemeral(SCRIPT);
    assert_eq!(world.read("code"), "before");
    assert!(world.has("removed") && world.has("dir/inner") && !world.has("new"));

    let before = world.workspace.walk();
    let shown = world.belay(&["review"]);
    assert_eq!(shown.code, 0, "{shown}");
    for path in ["code", "removed", "dir", "new"] {
        assert!(shown.stdout.contains(path), "{path} is not in\n{shown}");
    }
    assert!(!shown.stdout.contains("kept"), "{shown}");
    belay_testkit::assert_same_world(&before, &world.workspace.walk(), Default::default());

    world.ok(&["review", "--apply", "-y"]);
    assert_eq!(world.read("code"), "after\n");
    assert_eq!(world.read("new/file"), "n\n");
    assert!(!world.has("removed") && !world.has("dir") && world.has("kept"));
    world.ok(&["undo", "-y"]);
    assert_eq!(world.read("code"), "before");
    assert!(world.has("removed") && world.has("dir/inner") && !world.has("new"));
}

#[test]
fn a_part_can_be_applied_and_newer_work_of_others_stays() {
    if !has_namespaces() {
        return;
    }
    let mut world = ephemeral(SCRIPT);
    world.workspace.file("mine", "written meanwhile").file("kept", "edited meanwhile");
    world.ok(&["review", "--apply", "-y", "new", "removed"]);
    assert_eq!(world.read("new/file"), "n\n");
    assert!(!world.has("removed"));
    assert_eq!(world.read("code"), "before");
    world.ok(&["review", "--apply", "-y"]);
    assert_eq!(world.read("code"), "after\n");
    assert_eq!(world.read("mine"), "written meanwhile");
    assert_eq!(world.read("kept"), "edited meanwhile");
    let unknown = world.belay(&["review", "kept"]);
    assert_eq!(unknown.code, 3, "{unknown}");
}

#[test]
fn what_is_discarded_is_gone_but_captured() {
    if !has_namespaces() {
        return;
    }
    let mut world = ephemeral(SCRIPT);
    let discarded = world.json(&["discard"]);
    let snapshot = discarded["snapshot"].as_str().expect("it was captured").to_owned();
    assert_eq!(world.read("code"), "before");
    assert_eq!(world.belay(&["review"]).code, 3);
    world.ok(&["rollback", "-y", &snapshot, "code"]);
    assert_eq!(world.read("code"), "after\n");
    assert_eq!(world.belay(&["verify", "--deep"]).code, 0);
}
