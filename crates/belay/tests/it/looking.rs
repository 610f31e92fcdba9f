//! Looking at what is stored: status, history, cat, ls, find, workspaces, du.

use insta::assert_snapshot;

use crate::world::World;

#[test]
fn status_says_what_changed_and_what_is_not_protected() {
    let mut world = World::new();
    world.workspace.file("package.json", "{}").file(".gitignore", "node_modules/\n");
    world.workspace.file("node_modules/x/index.js", "x".repeat(2000)).file("a.txt", "a\n");
    assert_snapshot!(world.belay(&["status"]), @"
    exit 3
    --- stderr
    error: [WORKSPACE] is not protected yet: no workspace holds it
    hint: `belay snapshot` makes it a workspace; `belay workspaces` lists those that belay knows
    ");
    world.snapshot();
    assert_snapshot!(world.belay(&["status"]), @r#"
    exit 0
    --- stdout
    Workspace  [WORKSPACE] ([WS])
    Snapshot  snap_000001, manual, [AGE] (1 snapshot)
    Changed  nothing since then
    Unprotected  1 path, [SIZE]
      node_modules (regenerable, [SIZE])
      To protect it: belay snapshot --all (always: snapshots.exclude.gitignored = "capture")
    Budget  [SIZE] of [SIZE] used; [SIZE] free on the disk
    "#);
    world.workspace.file("a.txt", "b\n").file("dir/one", "1").file("dir/two", "2");
    assert_snapshot!(world.belay(&["status"]), @r#"
    exit 0
    --- stdout
    Workspace  [WORKSPACE] ([WS])
    Snapshot  snap_000001, manual, [AGE] (1 snapshot)
    Changed  4 paths since then
      M a.txt
      A dir/ (2 files, [SIZE])
    Unprotected  1 path, [SIZE]
      node_modules (regenerable, [SIZE])
      To protect it: belay snapshot --all (always: snapshots.exclude.gitignored = "capture")
    Budget  [SIZE] of [SIZE] used; [SIZE] free on the disk
    "#);
    let status = world.json(&["status"]);
    assert_eq!(status["changed"].as_array().map(Vec::len), Some(4), "{status}");
    assert_eq!(status["unprotected"][0]["reason"], "regenerable");
}

#[test]
fn history_names_each_version_of_a_path() {
    let mut world = World::new();
    world.workspace.file("other", "x\n");
    world.snapshot();
    world.workspace.file("notes.txt", "one\n");
    world.snapshot();
    world.snapshot();
    world.workspace.file("notes.txt", "two\n");
    world.snapshot();
    world.workspace.remove("notes.txt");
    world.snapshot();
    world.ok(&["snapshots"]);
    assert_snapshot!(world.belay(&["history", "notes.txt"]), @"
    exit 0
    --- stdout
    ID  CREATED  CHANGE  MODE  SIZE
    snap_000002  [AGE]  new  0644  [SIZE]
    snap_000004  [AGE]  modified  0644  [SIZE]
    snap_000005  [AGE]  deleted
    ");
    assert_snapshot!(world.belay(&["history", "notes.txt", "--all"]), @"
    exit 0
    --- stdout
    ID  CREATED  CHANGE  MODE  SIZE
    snap_000002  [AGE]  new  0644  [SIZE]
    snap_000003  [AGE]  unchanged  0644  [SIZE]
    snap_000004  [AGE]  modified  0644  [SIZE]
    snap_000005  [AGE]  deleted
    ");
    assert_snapshot!(world.belay(&["history", "nothing"]), @"
    exit 3
    --- stderr
    error: no snapshot holds the path nothing
    hint: `belay find NAME` finds a name anywhere in the workspace
    ");
    let states: Vec<serde_json::Value> = world
        .json(&["history", "notes.txt"])
        .as_array()
        .expect("a stream")
        .iter()
        .map(|v| v["change"].clone())
        .collect();
    assert_eq!(states, ["new", "modified", "deleted"]);
}

#[test]
fn cat_prints_the_bytes_and_nothing_else() {
    let mut world = World::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(3_000_000).collect();
    world.workspace.file("blob", &bytes).symlink("link", "blob").dir("dir").file("empty", "");
    world.snapshot();
    let output = world.command(&["cat", "@latest", "blob"]).output().expect("belay starts");
    assert!(output.stdout == bytes, "the bytes are not the file's");
    assert_eq!(world.ok(&["cat", "@latest", "empty"]), "");
    assert_snapshot!(world.belay(&["cat", "@latest", "dir"]), @"
    exit 3
    --- stderr
    error: dir is a directory
    hint: `belay ls snap_000001 dir` lists it
    ");
    assert_snapshot!(world.belay(&["cat", "@latest", "link"]), @"
    exit 3
    --- stderr
    error: link is a symbolic link to blob
    ");
    assert_snapshot!(world.belay(&["cat", "@latest", "nowhere"]), @"
    exit 3
    --- stderr
    error: nowhere is not in snap_000001
    hint: `belay find NAME` tells which snapshots hold a path
    ");
}

#[test]
fn ls_lists_a_directory_a_file_or_everything() {
    let mut world = World::new();
    world.workspace.file_mode("src/main.rs", "fn main() {}\n", 0o640).symlink("link", "src").dir("empty");
    world.workspace.mtime("src/main.rs", 1_700_000_000, 0);
    world.snapshot();
    assert_snapshot!(world.belay(&["ls", "@latest"]), @"
    exit 0
    --- stdout
    empty/
    link
    src/
    ");
    assert_snapshot!(world.belay(&["ls", "-R", "@latest"]), @"
    exit 0
    --- stdout
    empty/
    link
    src/
    src/main.rs
    ");
    assert_snapshot!(world.belay(&["ls", "@latest", "src/main.rs"]), @"
    exit 0
    --- stdout
    src/main.rs
    ");
    let long = world.ok(&["ls", "-l", "@latest", "src"]);
    assert!(long.starts_with("-rw-r-----"), "{long}");
    assert!(long.contains("2023-11-14 22:13:20 src/main.rs"), "{long}");
    assert_eq!(world.belay(&["ls", "@latest", "nowhere"]).code, 3);
    let src = world.workspace.join("src");
    let src = src.to_string_lossy();
    assert_eq!(world.ok(&["-C", &src, "ls", "@latest"]), "main.rs\n");
    assert_eq!(world.ok(&["-C", &src, "ls", "@latest", ".."]), "../empty/\n../link\n./\n");
    assert_eq!(world.ok(&["-C", &src, "cat", "@latest", "main.rs"]), "fn main() {}\n");
}

#[test]
fn find_tells_which_snapshots_hold_a_path() {
    let mut world = World::new();
    world.workspace.file("src/a.rs", "a").file(".env", "x");
    world.snapshot();
    world.workspace.file("src/b.rs", "b").remove(".env");
    world.snapshot();
    world.ok(&["snapshots"]);
    assert_snapshot!(world.belay(&["find", ".env"]), @"
    exit 0
    --- stdout
    SNAPSHOTS  FIRST  LAST  SEEN  PATH
    1  snap_000001  snap_000001  [AGE]  .env
    ");
    assert_snapshot!(world.belay(&["find", "*.rs"]), @"
    exit 0
    --- stdout
    SNAPSHOTS  FIRST  LAST  SEEN  PATH
    2  snap_000001  snap_000002  [AGE]  src/a.rs
    1  snap_000002  snap_000002  [AGE]  src/b.rs
    ");
    assert_snapshot!(world.belay(&["find", "*.rs", "--snapshot", "1"]), @"
    exit 0
    --- stdout
    SNAPSHOTS  FIRST  LAST  SEEN  PATH
    1  snap_000001  snap_000001  [AGE]  src/a.rs
    ");
    assert_snapshot!(world.belay(&["find", "*.py"]), @"
    exit 3
    --- stderr
    error: no snapshot holds anything like *.py
    ");
}

#[test]
fn workspaces_and_their_cost_are_listed() {
    let mut world = World::new();
    assert_snapshot!(world.belay(&["workspaces"]), @"
    exit 0
    --- stdout
    No workspaces yet; `belay snapshot` makes the current directory one.
    ");
    world.workspace.file("a", "a".repeat(10_000));
    world.snapshot();
    let mut other = world.command(&["snapshot", "-q"]);
    other.current_dir(world.workspace.outside());
    assert_eq!(world.ran(other).code, 0);
    let listed = world.json(&["workspaces"]);
    assert_eq!(listed["workspaces"].as_array().map(Vec::len), Some(2));
    std::fs::remove_dir_all(world.workspace.outside()).expect("it can be removed");
    let text = world.ok(&["workspaces"]);
    assert!(text.contains("outside (gone)"), "{text}");
    let du = world.json(&["du", "--why"]);
    assert!(du["stored_bytes"].as_u64() > Some(0));
    assert_eq!(du["workspaces"].as_array().map(Vec::len), Some(2));
    assert!(world.ok(&["du", "--why"]).contains("FREED IF DELETED"));
    assert!(du["workspaces"][0]["paths"][0]["bytes"].as_u64() > Some(0), "{du}");
    assert!(world.ok(&["du", "--why"]).contains("What takes most"));
}

#[test]
fn a_directory_that_is_no_workspace_is_not_made_one_by_looking() {
    let mut world = World::new();
    for command in [&["status"][..], &["snapshots"], &["diff"], &["undo", "-y"], &["ls", "@latest"]] {
        let ran = world.belay(command);
        assert_eq!(ran.code, 3, "{command:?}\n{ran}");
    }
    assert_snapshot!(world.belay(&["snapshots"]), @"
    exit 3
    --- stderr
    error: [WORKSPACE] is not protected yet: no workspace holds it
    hint: `belay snapshot` makes it a workspace; `belay workspaces` lists those that belay knows
    ");
    assert_eq!(world.json(&["workspaces"])["workspaces"].as_array().map(Vec::len), Some(0));
}
