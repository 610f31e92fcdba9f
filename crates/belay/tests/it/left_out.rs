//! What a snapshot does not hold or a rollback does not bring back: said as it is, and no failure.

use belay_testkit::git;

use crate::world::World;

fn world() -> World {
    let world = World::new();
    world.workspace.file(".gitignore", "node_modules\n").file("package.json", "{}").file("code", "1\n");
    world.workspace.file("node_modules/x/m.js", "m").file("Cargo.lock", "l").file("src/x.lock", "l");
    for words in [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "-m", "first"]] {
        assert!(git(world.workspace.path()).args(words).status().is_ok_and(|done| done.success()));
    }
    world
}

#[test]
fn locks_that_git_held_do_not_come_back() {
    let mut world = world();
    let locks = [".git/index.lock", ".git/refs/heads/topic.lock", ".git/HEAD.lock"];
    for lock in locks {
        world.workspace.file(lock, "held");
    }
    world.ok(&["snapshot", "-q", "--label", "locked"]);
    locks.iter().for_each(|lock| std::fs::remove_file(world.workspace.path().join(lock)).unwrap());
    world.workspace.file("code", "2\n");
    ["Cargo.lock", "src/x.lock"]
        .iter()
        .for_each(|lock| std::fs::remove_file(world.workspace.path().join(lock)).unwrap());
    let planned = world.belay(&["rollback", "locked", "--dry-run"]);
    assert!(planned.stdout.contains("not brought back: .git/index.lock (git-lock)"), "{planned}");
    let back = world.belay(&["rollback", "locked", "-y"]);
    assert_eq!((back.code, world.read("code").as_str()), (0, "1\n"), "{back}");
    assert!(
        back.stderr.contains("Not brought back (git was at work") && back.stderr.contains(".git/HEAD.lock"),
        "{back}"
    );
    assert!(locks.iter().all(|lock| !world.has(lock)) && world.has("Cargo.lock") && world.has("src/x.lock"));
    let works = |world: &World| {
        let words = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "next"];
        git(world.workspace.path()).args(words).status().is_ok_and(|done| done.success())
    };
    assert!(works(&world), "git refuses to work");

    // A repository that is gone comes back whole but for them, and so does one that is written elsewhere.
    std::fs::remove_dir_all(world.workspace.path().join(".git")).unwrap();
    world.ok(&["rollback", "locked", "-y"]);
    assert!(locks.iter().all(|lock| !world.has(lock)) && works(&world));
    let elsewhere = world.workspace.base().join("elsewhere");
    world.ok(&["export", "locked", elsewhere.to_str().unwrap()]);
    assert!(elsewhere.join(".git/HEAD").exists() && !elsewhere.join(".git/index.lock").exists());

    // One that git holds now is git's own business.
    world.workspace.file(".git/index.lock", "held");
    world.workspace.file("code", "3\n");
    world.ok(&["rollback", "locked", "-y"]);
    assert_eq!((world.has(".git/index.lock"), world.read("code").as_str()), (true, "1\n"));
}

#[test]
fn what_no_snapshot_holds_is_neither_left_alone_nor_a_failure() {
    let mut world = world();
    world.ok(&["snapshot", "-q"]);
    for words in [&["export", "@latest"][..], &["rollback", "@latest", "--to"]] {
        let to = world.workspace.base().join(words[0]);
        let written = world.belay(&[words, &[to.to_str().unwrap()]].concat());
        assert_eq!(written.code, 0, "{written}");
        assert!(written.stderr.contains("Not written (the snapshot does not hold it): node_modules"), "{written}");
        assert!(to.join("code").exists() && !to.join("node_modules").exists());
    }
    world.workspace.file("code", "2\n");
    let back = world.belay(&["rollback", "@latest", "-y"]);
    assert_eq!(back.code, 0, "{back}");
    assert!(back.stderr.contains("Not part of it (left out of snapshots): node_modules"), "{back}");
    assert!(world.has("node_modules/x/m.js"));
    std::fs::remove_dir_all(world.workspace.path().join("node_modules")).unwrap();
    world.workspace.file("code", "2\n");
    let back = world.belay(&["rollback", "@latest", "-y"]);
    assert_eq!(back.code, 0, "{back}");
    assert!(!back.stderr.contains("Left alone"), "{back}");
    assert!(back.stderr.contains("Not brought back (the snapshot does not hold it): node_modules"), "{back}");
}

#[test]
fn what_a_run_changes_where_no_snapshot_reaches_is_told_by_every_command_that_could_promise_more() {
    let mut world = world();
    let script = "echo broken > node_modules/x/m.js; echo 2 > code";
    let run = world.belay(&["run", "--isolation", "none", "--", "sh", "-c", script]);
    assert!(run.stderr.contains("left out of snapshots: node_modules"), "{run}");
    let warning = "1 path changed in node_modules, which snapshots leave out: no rollback brings that back";
    assert!(run.stderr.contains(warning) && run.stderr.contains("To take what was captured back"), "{run}");
    let back = world.belay(&["rollback", "-y"]);
    assert!(back.stderr.contains("Not part of it (left out of snapshots): node_modules"), "{back}");
    let again = world.belay(&["rollback", "-y"]);
    assert!(again.stderr.contains("Nothing to do") && again.stderr.contains("Not part of it"), "{again}");
    let undo = world.belay(&["undo", "--command", "1", "-y"]);
    assert!(undo.stderr.contains("can be taken back; snapshots leave out node_modules."), "{undo}");
    assert_eq!(world.read("node_modules/x/m.js"), "broken\n");
    let quiet = world.belay(&["run", "--isolation", "none", "--", "sh", "-c", "echo 3 > code"]);
    assert!(!quiet.stderr.contains("brings that back") && quiet.stderr.contains("To take it all back"), "{quiet}");
}

#[test]
fn a_run_in_a_linked_worktree_says_that_its_repository_lies_elsewhere() {
    let mut world = world();
    let line = ["worktree", "add", "-q", "../linked"];
    assert!(git(world.workspace.path()).args(line).status().is_ok_and(|done| done.success()));
    let run = world.belay(&["-C", "../linked", "run", "--isolation", "none", "--", "true"]);
    assert!(run.stderr.contains("the repository of this worktree lies in "), "{run}");
    let own = world.belay(&["run", "--isolation", "none", "--", "true"]);
    assert!(!own.stderr.contains("of this worktree"), "{own}");
}
