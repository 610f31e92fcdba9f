//! Workspaces that move, are copied, are nested, or are used by many processes at once.

use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::world::{Ran, World};

fn at(world: &mut World, directory: &str, words: &[&str]) -> Ran {
    let mut command = world.command(words);
    command.current_dir(world.workspace.base().join(directory));
    world.ran(command)
}

#[test]
fn a_moved_workspace_keeps_its_history_and_a_copy_starts_its_own() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n").file("more.txt", "two\n");
    world.ok(&["snapshot", "--label", "first"]);
    let base = world.workspace.base().to_owned();
    std::fs::rename(base.join("workspace"), base.join("moved")).expect("it can be moved");
    assert_snapshot!(at(&mut world, "moved", &["snapshots"]), @"
    exit 0
    --- stdout
    ID  TYPE  SIZE  CREATED  LABEL
    snap_000001  manual  [SIZE]  [AGE]  first

    1 snapshot (backend: objects)
    --- stderr
    This workspace was at [WORKSPACE] before; its history came along.
    ");
    let copied = Command::new("cp").args(["-a", "moved", "workspace"]).current_dir(&base).status();
    assert!(copied.is_ok_and(|status| status.success()), "cp failed");
    assert_snapshot!(at(&mut world, "workspace", &["snapshot"]), @"
    exit 0
    --- stdout
    snap_000002
    --- stderr
    This looks like a copy of [BASE]/moved; it has a history of its own from now on.
    ");
    assert_eq!(world.json(&["snapshots"])["snapshots"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_directory_inside_a_workspace_belongs_to_it_unless_asked_otherwise() {
    let mut world = World::new();
    world.workspace.file("inner/a.txt", "a\n").file("b.txt", "b\n");
    world.snapshot();
    assert_eq!(at(&mut world, "workspace/inner", &["snapshot", "-q"]).code, 0);
    assert_eq!(world.json(&["workspaces"])["workspaces"].as_array().map(Vec::len), Some(1));
    assert_eq!(at(&mut world, "workspace/inner", &["snapshot", "-q", "--here"]).code, 0);
    assert_eq!(world.json(&["workspaces"])["workspaces"].as_array().map(Vec::len), Some(2));
    assert_eq!(at(&mut world, "workspace/inner", &["ls", "@latest"]).stdout, "a.txt\n");
}

#[test]
fn many_processes_at_once_lose_nothing() {
    const PROCESSES: usize = 6;
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n");
    world.snapshot();
    let quiet =
        |mut command: Command| command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("belay starts");
    let labels: Vec<String> = (0..PROCESSES).map(|number| format!("process-{number}")).collect();
    let children: Vec<_> = labels.iter().map(|label| quiet(world.command(&["snapshot", "--label", label]))).collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let listed = world.json(&["snapshots"]);
    let listed = listed["snapshots"].as_array().expect("a list");
    assert_eq!(listed.len(), PROCESSES + 1);
    assert!(labels.iter().all(|label| listed.iter().any(|one| one["label"] == label.as_str())));
    assert_eq!(world.belay(&["verify", "--deep"]).code, 0);
}

#[test]
fn a_path_may_be_named_through_a_link_outside() {
    let mut world = World::new();
    world.workspace.file("src/a.txt", "a\n");
    world.snapshot();
    let link = world.workspace.outside().join("link");
    std::os::unix::fs::symlink(world.workspace.path(), &link).expect("a link");
    let path = link.join("src/a.txt");
    assert_eq!(world.ok(&["cat", "@latest", &path.to_string_lossy()]), "a\n");
    assert_eq!(world.belay(&["cat", "@latest", "/etc/passwd"]).code, 2);
}

#[test]
fn nothing_is_extracted_into_belays_own_home() {
    let mut world = World::new();
    world.workspace.file("a.txt", "a\n");
    world.snapshot();
    let inside = world.workspace.home().join("workspaces/new/deeper");
    let ran = world.belay(&["rollback", "@latest", "--to", &inside.to_string_lossy()]);
    assert_eq!(ran.code, 4, "{ran}");
    assert!(ran.stderr.contains("inside belay's home"), "{ran}");
    assert!(!inside.exists() && !world.workspace.home().join("workspaces/new").exists());
}
