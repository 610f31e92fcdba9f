//! Bisection: the snapshot at which something broke, and the command that did it.

use crate::jailed::has_namespaces;
use crate::running::until;
use crate::world::World;

/// Six states; from the fourth on the number is wrong.
fn world() -> (World, Vec<String>) {
    let mut world = World::new();
    world.workspace.file("package.json", "{}").file(".gitignore", "node_modules\n").file("node_modules/dep", "d");
    let mut ids = Vec::new();
    for step in 0..6 {
        world.workspace.file("number", if step < 3 { "42\n" } else { "43\n" }).file("step", format!("{step}\n"));
        ids.push(world.snapshot());
    }
    (world, ids)
}

const CHECK: &str = "test -e node_modules/dep || exit 99; echo built > output; grep -q 42 number";

#[test]
fn the_first_bad_snapshot_is_found_and_the_workspace_is_only_read() {
    if !has_namespaces() {
        return;
    }
    let (mut world, ids) = world();
    let before = world.workspace.walk();
    let found = world.json(&["bisect", "--since", &ids[0], "--", "sh", "-c", CHECK]);
    assert_eq!((&found["good"]["id"], &found["bad"]["id"]), (&ids[2].as_str().into(), &ids[3].as_str().into()));
    assert!(found["tried"].as_array().unwrap().len() <= 5, "{found}");
    let paths: Vec<&str> = found["changes"].as_array().unwrap().iter().filter_map(|one| one["path"].as_str()).collect();
    assert_eq!(paths.len(), 2, "{found}");
    belay_testkit::assert_same_world(&before, &world.workspace.walk(), Default::default());
    let left = std::fs::read_dir(world.workspace.home().join("forks")).unwrap().count();
    assert_eq!(left, 0, "nothing is left behind");
}

#[test]
fn one_that_cannot_be_tried_is_skipped_and_named() {
    if !has_namespaces() {
        return;
    }
    let (mut world, ids) = world();
    let script = "grep -q '[23]' step && exit 125; grep -q 42 number";
    let found = world.belay(&["bisect", "--since", &ids[0], "--until", &ids[5], "--", "sh", "-c", script]);
    assert_eq!(found.code, 5, "{found}");
    assert!(found.stdout.contains("could not be tried"), "{found}");
    let never = world.belay(&["bisect", "--since", &ids[0], "--", "true"]);
    assert!(never.code == 3 && never.stderr.contains("it does not fail at"), "{never}");
    let always = world.belay(&["bisect", "--since", &ids[0], "--", "false"]);
    assert!(always.code == 3 && always.stderr.contains("already"), "{always}");
    assert_eq!(world.belay(&["bisect", "--since", &ids[5], "--", "true"]).code, 3);
}

#[test]
fn the_command_that_broke_it_is_named() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("number", "42\n").file("other", "o");
    let script = "echo 1 > other; sleep 0.1; sed -i s/42/41/ number; sleep 0.1; echo 2 > other";
    world.ok(&["run", "--isolation", "none", "--", "sh", "-c", script]);
    let found = world.belay(&["bisect", "--since", "@pre-run", "--", "grep", "-q", "42", "number"]);
    assert_eq!(found.code, 0, "{found}");
    assert!(found.stdout.contains("sed -i s/42/41/ number"), "{found}");
}

#[test]
fn what_changes_in_the_workspace_meanwhile_changes_no_verdict() {
    if !has_namespaces() {
        return;
    }
    let (world, ids) = world();
    // Somebody mends the file while it is tried: the verdict is still about what the snapshot has.
    let mut command =
        world.command(&["bisect", "--json", "--since", &ids[0], "--", "sh", "-c", "sleep 0.3; grep -q 42 number"]);
    let bisection = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let forks = world.workspace.home().join("forks");
    until("it tries", || std::fs::read_dir(&forks).is_ok_and(|entries| entries.count() == 1));
    std::thread::sleep(std::time::Duration::from_millis(200));
    world.workspace.file("number", "42\n");
    let output = bisection.wait_with_output().unwrap();
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["bad"]["id"], ids[3].as_str(), "{found}");
    assert_eq!(world.read("number"), "42\n");
}

#[test]
fn what_a_killed_bisection_left_is_collected_by_the_next_command() {
    if !has_namespaces() {
        return;
    }
    let (mut world, ids) = world();
    let forks = world.workspace.home().join("forks");
    let left = || std::fs::read_dir(&forks).map_or(0, |entries| entries.count());
    let mut bisection = world.command(&["bisect", "--since", &ids[0], "--", "sleep", "1000"]).spawn().unwrap();
    until("it has a checkout", || left() == 1);
    bisection.kill().unwrap();
    bisection.wait().unwrap();
    assert_eq!(left(), 1);
    world.ok(&["status"]);
    assert_eq!(left(), 0);
    let is_its = |pid: std::fs::DirEntry| {
        let said = std::fs::read(pid.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&said).contains(ids[0].as_str())
    };
    let processes = || std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    until("nobody of it lives on", || !processes().any(is_its));
}
