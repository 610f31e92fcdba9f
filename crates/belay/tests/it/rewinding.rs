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

    assert_snapshot!(world.belay(&["status"]), @"
    exit 0
    --- stdout
    Workspace  [WORKSPACE] ([WS])
    Snapshot  snap_000001 (morning), manual, [AGE] (1 snapshot)
    Changed  56 paths since then
      M .env
      D .git/ (22 files, [SIZE])
      A DONE.md
      M current (link releases/1 → /etc)
      D data/customers.db
      P deploy.sh (mode 0755 → 0777)
      M src/price.py
      T tests (directory → file, mode 0755 → 0644)
    Protected  everything
    Budget  [SIZE] of [SIZE] used; [SIZE] free on the disk
    ");
    assert_snapshot!(world.belay(&["rollback", "-y"]), @"
    exit 0
    --- stderr
    Creating safety snapshot of current state... done (snap_000002)
    Restoring workspace to snap_000001... done

    To undo: belay undo
    ");
    assert_same_world(&before, &world.workspace.walk(), Ignore::default());
    assert_snapshot!(world.belay(&["rollback", "morning", "-y"]), @"
    exit 0
    --- stderr
    Nothing to do: the workspace is as in snap_000001 already.
    ");

    assert_snapshot!(world.belay(&["undo", "-y"]), @"
    exit 0
    --- stderr
    Creating safety snapshot of current state... done (snap_000003)
    Restoring workspace to snap_000002... done

    To undo: belay redo
    ");
    assert_same_world(&wrecked, &world.workspace.walk(), Ignore::default());
    assert_snapshot!(world.belay(&["redo", "-y"]), @"
    exit 0
    --- stderr
    Creating safety snapshot of current state... done (snap_000004)
    Restoring workspace to snap_000003... done

    To undo: belay undo
    ");
    assert_same_world(&before, &world.workspace.walk(), Ignore::default());
    assert_snapshot!(world.belay(&["redo", "-y"]), @"
    exit 3
    --- stderr
    error: there is nothing to redo
      nothing was changed
    hint: only an undo can be redone, until the next rollback
    ");
    assert_snapshot!(world.belay(&["snapshots"]), @"
    exit 0
    --- stdout
    ID  TYPE  SIZE  CREATED  LABEL
    snap_000001  manual  [SIZE]  [AGE]  morning
    snap_000002  safety  [SIZE]  [AGE]
    snap_000003  safety  -  [AGE]
    snap_000004  safety  -  [AGE]

    4 snapshots (backend: objects)
    ");
}

#[test]
fn a_dry_run_shows_everything_and_touches_nothing() {
    let mut world = World::new();
    small_project(world.workspace.path());
    world.snapshot();
    RogueAgent::wreck(world.workspace.path());
    let wrecked = world.workspace.walk();
    assert_snapshot!(world.belay(&["rollback", "--dry-run"]), @"
    exit 0
    --- stdout
    Back to snap_000001:
      ~ .env
      + .git/ (22 files, [SIZE])
      - DONE.md
      ~ current (link /etc → releases/1)
      + data/customers.db
      ~ deploy.sh (mode 0777 → 0755)
      ~ src/price.py
      ~ tests/ (file → directory)
    56 paths: 50 to bring back, 5 to change, 1 to remove; [SIZE] to write
    --- stderr
    Nothing was changed (dry run).
    ");
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
    assert_snapshot!(world.belay(&["rollback"]), @"
    exit 4
    --- stderr
    error: this needs your consent, and there is no terminal to ask on
      nothing was changed
    hint: add -y to go ahead without being asked, or --dry-run to only see the plan
    ");
    assert_eq!(world.read("notes.txt"), "two\n");
    let nothing = world.belay(&["undo"]);
    assert!(nothing.code == 3 && nothing.stderr.contains("nothing to undo"), "looked at before asking: {nothing}");
}

#[test]
fn a_rollback_without_a_name_tells_which_snapshots_of_yours_it_passes() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n");
    world.ok(&["run", "--isolation", "none", "--", "sh", "-c", "echo two > notes.txt"]);
    world.ok(&["snapshot", "--label", "good"]);
    world.workspace.file("notes.txt", "three\n");
    let plan = world.belay(&["rollback", "--dry-run"]);
    assert!(plan.stderr.contains("(good) of yours; `belay snapshots` lists them"), "{plan}");
    let done = world.belay(&["rollback", "-y"]);
    assert!(done.stderr.contains("past snap_") && done.stderr.contains("(good) of yours"), "{done}");
    assert_eq!(world.read("notes.txt"), "one\n");
    world.ok(&["undo", "-y"]);
    let named = world.belay(&["rollback", "good", "-y"]);
    assert!(!named.stderr.contains("of yours"), "{named}");
    assert_eq!(world.read("notes.txt"), "two\n");
}

#[test]
fn what_is_damaged_in_the_store_is_left_and_the_rest_comes_back_if_one_asks_for_it() {
    let mut world = World::new();
    let noise = |seed: u32| -> Vec<u8> {
        let mut state = seed;
        let next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        std::iter::repeat_with(next).take(300_000).collect()
    };
    let names = ["a.bin", "b.bin", "new/c.bin", "new/d.bin"];
    for (seed, name) in names.iter().enumerate() {
        world.workspace.file(name, noise(seed as u32));
    }
    world.workspace.file("small.txt", "small\n");
    let twin = world.workspace.join("new/twin.bin");
    std::fs::hard_link(world.workspace.join("new/c.bin"), &twin).expect("a second name");
    world.snapshot();
    let before = world.workspace.walk();
    std::fs::remove_dir_all(world.workspace.join("new")).expect("it was there");
    for name in ["a.bin", "b.bin", "small.txt"] {
        world.workspace.file(name, "wrecked");
    }
    // One file of those that are there, and one of those that are not.
    for (seed, name) in [(1, "b.bin"), (2, "new/c.bin")] {
        damage(&world, &noise(seed), name);
    }
    let refused = world.belay(&["rollback", "-y"]);
    assert_eq!(refused.code, 6, "{refused}");
    assert!(refused.stderr.contains("--skip-damaged"), "{refused}");
    assert_eq!(world.read("a.bin"), "wrecked", "nothing was changed");

    let elsewhere = world.belay(&["rollback", "@latest", "--to", "../elsewhere", "--skip-damaged"]);
    assert_eq!(elsewhere.code, 5, "{elsewhere}");
    assert!(elsewhere.stderr.contains("b.bin"), "{elsewhere}");

    let ran = world.belay(&["rollback", "-y", "--skip-damaged"]);
    assert_eq!(ran.code, 5, "{ran}");
    assert!(ran.stderr.contains("b.bin") && ran.stderr.contains("new/c.bin"), "{ran}");
    assert_eq!(world.read("b.bin"), "wrecked", "what is damaged is left as it was");
    assert!(!world.has("new/c.bin") && !world.has("new/twin.bin") && world.has("new/d.bin"));
    assert!(!ran.stderr.contains("meantime"), "{ran}");
    let mut expected = before;
    let now = world.workspace.walk();
    for name in ["b.bin", "new/c.bin", "new/twin.bin"] {
        expected.remove(name.as_bytes());
    }
    let mut now = now;
    now.remove(&b"b.bin"[..]);
    assert_same_world(&expected, &now, Ignore::default());
    world.ok(&["undo", "-y"]);
    assert_eq!((world.read("a.bin").as_str(), world.has("new")), ("wrecked", false));
}

/// Changes a byte of the content in whichever pack holds it.
fn damage(world: &World, content: &[u8], name: &str) {
    let packs = std::fs::read_dir(world.workspace.home().join("store/packs")).expect("a store");
    for pack in packs.map(|pack| pack.expect("an entry").path()) {
        let mut bytes = std::fs::read(&pack).expect("a pack");
        // What does not become smaller is stored as it is, in pieces.
        let piece = &content[1000..1064];
        if let Some(at) = bytes.windows(piece.len()).position(|window| window == piece) {
            bytes[at] ^= 1;
            std::fs::set_permissions(&pack, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("a mode");
            return std::fs::write(&pack, bytes).expect("it can be written");
        }
    }
    panic!("{name} is in no pack");
}

#[test]
fn parts_can_be_brought_back_alone() {
    let mut world = World::new();
    world.workspace.file("src/a.txt", "a\n").file("src/b.txt", "b\n").file("c.txt", "c\n");
    world.snapshot();
    world.workspace.file("src/a.txt", "x\n").file("src/b.txt", "x\n").file("c.txt", "x\n");
    assert_snapshot!(world.belay(&["restore", "@latest", "src/a.txt", "-y"]), @"
    exit 0
    --- stderr
    Creating safety snapshot of current state... done (snap_000002)
    Restoring 1 path from snap_000001... done

    To undo: belay undo
    ");
    assert_eq!((world.read("src/a.txt").as_str(), world.read("src/b.txt").as_str()), ("a\n", "x\n"));

    let mut command = world.command(&["rollback", "1", "b.txt", "-y"]);
    command.current_dir(world.workspace.join("src"));
    assert_eq!(world.ran(command).code, 0, "a path is relative to the current directory");
    assert_eq!((world.read("src/b.txt").as_str(), world.read("c.txt").as_str()), ("b\n", "x\n"));

    world.ok(&["undo", "-y"]);
    assert_eq!(world.read("src/b.txt"), "x\n");
    assert_snapshot!(world.belay(&["restore", "@latest", "nowhere.txt", "-y"]), @"
    exit 3
    --- stderr
    error: nowhere.txt is not in snap_000001
      nothing was changed
    hint: `belay find NAME` tells which snapshots hold a path
    ");
    assert_snapshot!(world.belay(&["restore", "@latest", "../outside", "-y"]), @"
    exit 2
    --- stderr
    error: ../outside is outside the workspace [WORKSPACE]
      nothing was changed
    hint: name a path inside the workspace, or another workspace with -C
    ");
}

#[test]
fn a_snapshot_can_be_written_elsewhere() {
    let mut world = World::new();
    world.workspace.file("src/a.txt", "a\n").file_mode("run.sh", "#!/bin/sh\n", 0o750).symlink("link", "src/a.txt");
    let before = world.workspace.walk();
    world.ok(&["snapshot", "--label", "first"]);
    world.workspace.file("src/a.txt", "changed\n");
    assert_snapshot!(world.belay(&["rollback", "first", "--to", "../outside/restored"]), @"
    exit 0
    --- stderr
    Extracting snap_000001 to ../outside/restored... done
    ");
    let restored = belay_testkit::walk(&world.workspace.outside().join("restored"));
    assert_same_world(&before, &restored, Ignore::default());
    assert_eq!(world.read("src/a.txt"), "changed\n");
    assert_snapshot!(world.belay(&["rollback", "first", "--to", "../outside/restored"]), @"
    exit 4
    --- stderr
    error: ../outside/restored is not empty
      nothing was changed
    hint: name a directory that is empty or does not exist yet
    ");
}

#[test]
fn names_that_mean_nothing_or_too_much_are_errors_that_help() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n");
    assert_snapshot!(world.belay(&["rollback", "-y"]), @"
    exit 3
    --- stderr
    error: [WORKSPACE] is not protected yet: no workspace holds it
    hint: `belay snapshot` makes it a workspace; `belay workspaces` lists those that belay knows
    ");
    world.ok(&["snapshot", "--label", "before-refactor"]);
    assert_snapshot!(world.belay(&["rollback", "befor-refactor", "-y"]), @r#"
    exit 3
    --- stderr
    error: no snapshot is called "befor-refactor"
      nothing was changed
      nearest: before-refactor
    hint: `belay snapshots` lists them
    "#);
    assert_snapshot!(world.belay(&["rollback", "notes.txt", "-y"]), @r#"
    exit 3
    --- stderr
    error: no snapshot is called "notes.txt"
      nothing was changed
    hint: `belay snapshots` lists them
    hint: to bring back the path: `belay restore snap_000001 notes.txt`
    "#);
    let diff = world.belay(&["diff", "notes.txt"]);
    assert!(diff.stderr.contains("`belay diff -- notes.txt`"), "{diff}");
    assert_snapshot!(world.belay(&["rollback", "10m ago", "-y"]), @r#"
    exit 3
    --- stderr
    error: no snapshot is as old as "[AGE]"; the oldest is snap_000001
      nothing was changed
    hint: `belay snapshots` lists them
    "#);
    assert_snapshot!(world.belay(&["undo", "-y"]), @"
    exit 3
    --- stderr
    error: there is nothing to undo
      nothing was changed
    hint: `belay rollback` goes back to before the latest run, or to the last snapshot
    hint: `belay undo --command N` takes back one command of a run; `belay log` shows their numbers
    ");
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

#[test]
fn a_plan_tells_new_content_from_a_new_mode() {
    let mut world = World::new();
    world.workspace.file("same", "a").file("other", "a");
    world.snapshot();
    world.workspace.mode("same", 0o600).file("other", "b").mode("other", 0o600);
    let plan = world.ok(&["rollback", "--dry-run"]);
    let line = |name: &str| plan.lines().find(|line| line.contains(name)).unwrap_or_default().to_owned();
    assert!(line("other").contains("(content, mode") && line("same").contains("(mode"), "{plan}");
}
