//! Taking, listing, pruning and deleting snapshots.

use insta::assert_snapshot;

use crate::world::World;

#[test]
fn a_snapshot_prints_its_name_and_a_label_is_used_once() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n");
    assert_snapshot!(world.belay(&["snapshot"]), @"
    exit 0
    --- stdout
    snap_000001
    ");
    assert_snapshot!(world.belay(&["snapshot", "--label", "before-refactor"]), @"
    exit 0
    --- stdout
    snap_000002 (before-refactor)
    ");
    assert_snapshot!(world.belay(&["snapshot", "--label", "before-refactor"]), @r#"
    exit 4
    --- stderr
    error: label "before-refactor" is already used by snap_000002
      nothing was changed
    hint: choose another label, or delete that one with `belay snapshots delete snap_000002`
    "#);
    assert_snapshot!(world.belay(&["snapshot", "--label", "@latest"]), @r#"
    exit 2
    --- stderr
    error: "@latest" cannot be a label: it begins with @ or -
      nothing was changed
    "#);
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
    assert_snapshot!(world.belay(&["snapshots"]), @"
    exit 0
    --- stdout
    ID  TYPE  SIZE  CREATED
    snap_000001  manual  [SIZE]  [AGE]

    1 snapshot (backend: objects)
    ");
    world.workspace.file("notes.txt", "two\n");
    world.ok(&["snapshot", "--label", "second", "--description", "after the change"]);
    world.snapshot();
    assert_snapshot!(world.belay(&["snapshots", "list"]), @"
    exit 0
    --- stdout
    ID  TYPE  SIZE  CREATED  LABEL
    snap_000001  manual  [SIZE]  [AGE]
    snap_000002  manual  [SIZE]  [AGE]  second
    snap_000003  manual  -  [AGE]

    3 snapshots (backend: objects)
    ");
    assert_snapshot!(world.belay(&["snapshots", "-n", "1"]), @"
    exit 0
    --- stdout
    ID  TYPE  SIZE  CREATED
    snap_000003  manual  -  [AGE]

    1 of 3 snapshots (backend: objects)
    ");
    assert_snapshot!(world.belay(&["snapshots", "--long"]), @"
    exit 0
    --- stdout
    NUMBER  ID  TYPE  SIZE  CREATED  FILES  BYTES  LABEL  DESCRIPTION
    1  snap_000001  manual  [SIZE]  [TIME]  1  [SIZE]
    2  snap_000002  manual  [SIZE]  [TIME]  1  [SIZE]  second  after the change
    3  snap_000003  manual  -  [TIME]  1  [SIZE]

    3 snapshots (backend: objects)
    ");
    assert_snapshot!(world.belay(&["snapshots", "--type", "safety"]), @"
    exit 0
    --- stdout
    0 of 3 snapshots (backend: objects)
    ");
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
    assert_snapshot!(world.belay(&["ls", "@latest"]), @"
    exit 0
    --- stdout
    .env
    .gitignore
    [node_modules/] regenerable
    package.json
    ");
    world.ok(&["snapshot", "--all"]);
    assert_snapshot!(world.belay(&["ls", "-R", "@latest"]), @"
    exit 0
    --- stdout
    .env
    .gitignore
    node_modules/
    node_modules/left-pad/
    node_modules/left-pad/index.js
    package.json
    ");
}

#[test]
fn a_home_directory_is_no_workspace_unless_that_is_said_twice() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n");
    let mut command = world.command(&["snapshot"]);
    command.env("HOME", world.workspace.path());
    assert_snapshot!(world.ran(command), @"
    exit 4
    --- stderr
    error: [WORKSPACE] is your home, holds it, or is the root of the filesystem: it does not become a workspace by accident
      nothing was changed
    hint: add --yes-really if you mean it
    ");
    let mut command = world.command(&["snapshot", "--yes-really", "-q"]);
    command.env("HOME", world.workspace.path());
    assert_eq!(world.ran(command).code, 0);
}

#[test]
fn a_store_inside_the_workspace_is_refused() {
    let mut world = World::new();
    let mut command = world.command(&["snapshot"]);
    command.env("BELAY_HOME", world.workspace.join("store"));
    assert_snapshot!(world.ran(command), @"
    exit 4
    --- stderr
    error: belay's home [WORKSPACE]/store lies inside the workspace [WORKSPACE]
      nothing was changed
    hint: set BELAY_HOME to a directory outside, or choose a smaller workspace with -C
    ");
    assert!(!world.has("store"), "nothing was changed");
}

#[test]
fn the_latest_is_what_somebody_meant_and_not_what_belay_kept_before_it_changed_something() {
    let mut world = World::new();
    world.workspace.file("a", "good").file("b", "good");
    let quiet = world.ok(&["snapshot", "-q", "--label", "works"]);
    assert!(quiet.trim().starts_with("snap_") && !quiet.contains("works"), "{quiet}");
    world.workspace.file("a", "bad").file("b", "bad");
    world.ok(&["restore", "@latest", "a", "-y"]);
    world.ok(&["restore", "@latest", "b", "-y"]);
    assert_eq!((world.read("a"), world.read("b")), ("good".into(), "good".into()));
    assert_eq!(world.ok(&["ls", "@safety"]), world.ok(&["ls", "@latest"]));
    assert_eq!(world.ok(&["cat", "@safety", "b"]), "bad");
}

#[test]
fn pruning_keeps_what_it_says_and_asks_first() {
    let mut world = World::new();
    for number in 0..6 {
        world.workspace.file("notes.txt", format!("{number}\n").repeat(100));
        world.snapshot();
    }
    world.ok(&["snapshots"]);
    assert_snapshot!(world.belay(&["snapshots", "prune", "--keep", "2"]), @"
    exit 4
    --- stderr
    Would delete: snap_000001, snap_000002, snap_000003, snap_000004
    error: this needs your consent, and there is no terminal to ask on
      nothing was changed
    hint: add -y to go ahead without being asked, or --dry-run to only see the plan
    ");
    assert_snapshot!(world.belay(&["snapshots", "prune", "--keep", "2", "--dry-run"]), @"
    exit 0
    --- stdout
    Keeping: snap_000006, snap_000005
    Would delete: snap_000001, snap_000002, snap_000003, snap_000004 (4 snapshots, about [SIZE])
    ");
    assert_snapshot!(world.belay(&["snapshots", "prune", "--keep", "2", "-y"]), @"
    exit 0
    --- stdout
    Keeping: snap_000006, snap_000005
    Deleting: 4 snapshots (freed [SIZE])
    ");
    assert_snapshot!(world.belay(&["snapshots", "prune", "--older-than", "7d", "-y"]), @"
    exit 0
    --- stdout
    Keeping: snap_000006, snap_000005
    Deleting: nothing
    ");
    assert_eq!(world.belay(&["snapshots", "prune"]).code, 2, "a prune without a rule");
    assert_eq!(world.belay(&["snapshots", "prune", "--older-than", "soon"]).code, 2);
    assert_eq!(world.json(&["snapshots"])["snapshots"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_prune_tells_labels_and_takes_none_that_has_one() {
    let mut world = World::new();
    for number in 0..4 {
        world.workspace.file("notes.txt", format!("{number}\n").repeat(100));
        if number == 1 {
            world.ok(&["snapshot", "--label", "before-refactor"])
        } else {
            world.snapshot()
        };
    }
    world.ok(&["snapshots"]);
    assert_snapshot!(world.belay(&["snapshots", "prune", "--keep", "1", "--dry-run"]), @"
    exit 0
    --- stdout
    Keeping: snap_000004, snap_000002 (before-refactor)
    Would delete: snap_000001, snap_000003 (2 snapshots, about [SIZE])
    ");
    assert_snapshot!(world.belay(&["snapshots", "delete", "before-refactor", "--dry-run"]), @"
    exit 0
    --- stdout
    Would delete: snap_000002 (before-refactor) (1 snapshot, about [SIZE])
    ");
}

#[test]
fn snapshots_are_deleted_by_name() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n");
    world.ok(&["snapshot", "--label", "keep"]);
    world.workspace.file("notes.txt", "two\n");
    world.ok(&["snapshot", "--label", "drop"]);
    world.ok(&["snapshots"]);
    assert_snapshot!(world.belay(&["snapshots", "delete", "drop"]), @"
    exit 4
    --- stderr
    error: this needs your consent, and there is no terminal to ask on
      nothing was changed
    hint: add -y to go ahead without being asked, or --dry-run to only see the plan
    ");
    let would = world.json(&["snapshots", "delete", "drop", "--dry-run"]);
    assert_ne!(would["freed_bytes"], 0, "{would}");
    assert_snapshot!(world.belay(&["snapshots", "delete", "drop", "-y"]), @"
    exit 0
    --- stdout
    Deleting: 1 snapshot (freed [SIZE])
    ");
    assert_snapshot!(world.belay(&["snapshots", "delete", "drop", "-y"]), @r#"
    exit 3
    --- stderr
    error: no snapshot is called "drop"
      nothing was changed
    hint: `belay snapshots` lists them
    "#);
    assert_eq!(world.json(&["snapshots"])["snapshots"].as_array().map(Vec::len), Some(1));
}

#[test]
fn safety_snapshots_alone_are_not_called_none() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n");
    world.ok(&["snapshot", "--label", "good"]);
    world.workspace.file("notes.txt", "two\n");
    world.ok(&["restore", "good", "notes.txt", "-y"]);
    world.ok(&["snapshots", "delete", "good", "-y"]);
    let status = world.ok(&["status"]);
    assert!(status.contains("none but 1 safety snapshot;"), "{status}");
    assert_snapshot!(world.belay(&["diff"]), @"
    exit 3
    --- stderr
    error: this workspace has only safety snapshots, which are used only by name
    hint: `belay snapshots` lists them
    ");
}

#[test]
fn a_backend_is_chosen_shown_and_said_why_not() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n");
    let taken = world.json(&["snapshot", "--backend", "clone"]);
    assert_eq!(taken["backend"], "clone");
    let copy = world.workspace.home().join(taken["native_ref"].as_str().unwrap());
    assert_eq!(std::fs::read_to_string(copy.join("workspace/notes.txt")).unwrap(), "one\n");
    let files = &taken["clone"];
    let count = |key: &str| files[key].as_u64().unwrap();
    assert_eq!(count("shared") + count("linked") + count("copied"), 1, "{files}");
    assert!(world.belay(&["snapshots"]).stdout.ends_with("1 snapshot (backend: clone)\n"));
    world.workspace.file("notes.txt", "two\n");
    let taken = world.belay(&["snapshot", "--backend", "clone"]);
    assert!(taken.stderr.starts_with("Clone: "), "{taken}");
    world.ok(&["snapshot", "--backend", "archive"]);
    assert!(world.belay(&["snapshots"]).stdout.ends_with("3 snapshots (backends: clone, archive)\n"));
    let unknown = world.belay(&["snapshot", "--backend", "tape"]);
    assert_eq!(unknown.code, 2, "{unknown}");
    assert!(unknown.stderr.contains("it is none of objects, clone, btrfs, zfs, archive, auto"), "{unknown}");
    let refused = world.belay(&["snapshot", "--backend", "zfs"]);
    assert_eq!(refused.code, 4, "{refused}");
    assert!(refused.stderr.contains("the backend zfs cannot be had: "), "{refused}");
    assert!(refused.stderr.contains("nothing was changed") && refused.stderr.contains("hint: "), "{refused}");
    assert_eq!(world.belay(&["run", "--backend", "zfs", "--", "true"]).code, 125);
    world.ok(&["run", "--isolation", "none", "--backend", "clone", "--", "sh", "-c", "echo three > notes.txt"]);
    let listed = world.json(&["snapshots"]);
    let latest = listed["snapshots"].as_array().unwrap().iter().max_by_key(|one| one["number"].as_u64()).unwrap();
    assert_eq!((latest["type"].as_str(), latest["backend"].as_str()), (Some("final"), Some("clone")), "{latest}");
    world.ok(&["rollback", "3", "-y"]);
    assert_eq!(world.read("notes.txt"), "two\n");
}

#[test]
fn what_undo_or_redo_goes_back_to_is_not_deleted_by_the_way() {
    let mut world = World::new();
    world.workspace.file("a", "one");
    world.snapshot();
    world.workspace.file("a", "two");
    world.ok(&["rollback", "-y"]);
    let safety = world.json(&["snapshots"])["snapshots"][1]["id"].as_str().expect("an id").to_owned();
    assert_snapshot!(world.belay(&["snapshots", "delete", &safety, "-y"]), @"
    exit 4
    --- stderr
    error: the next `belay undo` goes back to snap_000002
      nothing was changed
    hint: --force deletes it all the same, and that undo cannot be done any more
    ");
    assert!(world.belay(&["snapshots", "delete", &safety, "--dry-run"]).stderr.contains("cannot be done any more"));
    world.workspace.file("a", "three");
    world.snapshot();
    world.ok(&["snapshots", "prune", "--keep", "0", "-y"]);
    world.ok(&["undo", "-y"]);
    assert_eq!(world.read("a"), "two", "the rule took the way back");
    let redo = world.belay(&["snapshots", "delete", "@safety", "-y"]);
    assert!(redo.code == 4 && redo.stderr.contains("belay redo"), "{redo}");
    let ran = world.belay(&["snapshots", "delete", "@safety", "-y", "--force"]);
    assert!(ran.code == 0 && ran.stderr.contains("cannot be done any more"), "{ran}");
    assert_ne!(world.belay(&["redo", "-y"]).code, 0);
}

#[test]
fn what_only_a_copy_held_that_is_gone_is_captured_again_before_it_is_replaced() {
    let mut world = World::new();
    world.workspace.file("f", "one\n").file("g", "stays\n");
    world.ok(&["snapshot", "--label", "first"]);
    world.workspace.file("f", "two: an hour of work\n");
    world.ok(&["snapshot", "--backend", "clone"]);
    // By hand, or with the disk that it was on.
    std::fs::rename(world.workspace.home().join("copies"), world.workspace.outside().join("away"))
        .expect("it is there");
    world.ok(&["rollback", "-y", "first"]);
    let now = |world: &World| std::fs::read_to_string(world.workspace.join("f")).expect("it is there");
    assert_eq!(now(&world), "one\n");
    world.ok(&["undo", "-y"]);
    assert_eq!(now(&world), "two: an hour of work\n");
}

#[test]
fn words_that_are_no_text_are_refused_like_any_others() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    let word = std::ffi::OsStr::from_bytes(b"\xff");
    for verb in ["find", "no-such-command"] {
        let ran = world.command(&[verb]).arg(word).output().expect("belay starts");
        assert!(matches!(ran.status.code(), Some(1..=4)), "{ran:?}");
        assert!(!String::from_utf8_lossy(&ran.stderr).contains("panicked"), "{ran:?}");
    }
}

#[test]
fn a_word_that_is_no_directory_is_taken_for_a_name() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let ran = world.belay(&["snapshot", "before"]);
    assert!(ran.code != 0 && ran.stderr.contains("`belay snapshot --label before`"), "{ran}");
    let ran = world.belay(&["snapshot", "no/such"]);
    assert!(ran.code != 0 && !ran.stderr.contains("--label"), "{ran}");
}
