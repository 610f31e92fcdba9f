//! Forgetting a path in all history.

use insta::assert_snapshot;

use crate::world::World;

#[test]
fn a_secret_is_erased_from_every_snapshot_with_proof() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n").file("id_rsa", "PRIVATE KEY 6f1c\n");
    world.snapshot();
    world.workspace.file("notes.txt", "two\n");
    world.snapshot();
    world.workspace.remove("id_rsa");
    world.snapshot();
    world.ok(&["snapshots"]);
    assert_snapshot!(world.belay(&["forget", "id_rsa"]), @"
    exit 4
    --- stderr
    Held by 2 snapshots: snap_000001, snap_000002
    error: this needs your consent, and there is no terminal to ask on
      nothing was changed
    hint: add -y to go ahead without being asked, or --dry-run to only see the plan
    ");
    assert_snapshot!(world.belay(&["forget", "id_rsa", "--dry-run"]), @"
    exit 0
    --- stdout
    Would rewrite 2 snapshots: snap_000001, snap_000002
    ");
    assert_snapshot!(world.belay(&["forget", "id_rsa", "-y"]), @"
    exit 0
    --- stdout
    Rewrote 2 snapshots (freed [SIZE]).
    Gone from the store, looked for each and found none: 1 object.
      [HASH-1]
    --- stderr
    hint: the files in the workspace are untouched; the next snapshot takes them again unless snapshots.exclude.additional names them
    ");
    assert_snapshot!(world.belay(&["forget", "id_rsa", "-y"]), @"
    exit 3
    --- stderr
    error: no snapshot holds any of these paths
      nothing was changed
    hint: `belay find NAME` tells which snapshots hold a path
    ");
    assert_eq!(world.belay(&["find", "id_rsa"]).code, 3);
    assert_eq!(world.ok(&["cat", "1", "notes.txt"]), "one\n", "another path was lost");
    assert_eq!(world.belay(&["verify", "--deep"]).code, 0);
    assert_eq!(world.belay(&["forget", ".", "-y"]).code, 4, "the whole workspace cannot be forgotten");
}

#[test]
fn what_was_forgotten_and_is_still_there_is_not_called_protected() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n").file(".env", "KEY=1\n");
    world.snapshot();
    world.ok(&["snapshots"]);
    world.ok(&["forget", ".env", "-y"]);
    assert_snapshot!(world.belay(&["status"]), @"
    exit 0
    --- stdout
    Workspace  [WORKSPACE] ([WS])
    Snapshot  snap_000001, manual, [AGE] (1 snapshot)
    Changed  nothing since then
    Left out  1 path that the snapshot does not hold
      .env
      To protect it: belay snapshot
    Budget  [SIZE] of [SIZE] used; [SIZE] free on the disk
    ");
    let uncaptured = world.json(&["status"])["uncaptured"].clone();
    assert_eq!(uncaptured[0]["path"], ".env", "{uncaptured}");
    world.snapshot();
    assert!(world.ok(&["status"]).contains("everything"), "the next snapshot holds it");
}

#[test]
fn a_secret_goes_everywhere_it_was_ever_copied_to() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n").file("id_rsa", "PRIVATE KEY 6f1c\n");
    world.snapshot();
    let other = world.workspace.outside().join("other");
    std::fs::create_dir_all(other.join("keys")).expect("a directory");
    std::fs::write(other.join("keys/copy"), "PRIVATE KEY 6f1c\n").expect("a file");
    std::fs::write(other.join("b.txt"), "b\n").expect("a file");
    let other = other.to_string_lossy().into_owned();
    world.ok(&["-C", &other, "snapshot", "-q"]);
    world.workspace.remove("id_rsa").file("moved", "PRIVATE KEY 6f1c\n");
    world.snapshot();
    let plan = world.json(&["forget", "id_rsa", "--everywhere", "--dry-run"]);
    assert_eq!(plan["paths"], serde_json::json!(["id_rsa", "moved"]));
    assert_eq!(plan["elsewhere"][0]["paths"], serde_json::json!(["keys/copy"]));
    let report = world.json(&["forget", "id_rsa", "--everywhere", "-y"]);
    assert_eq!(report["rewritten"].as_array().map(Vec::len), Some(3), "{report}");
    assert_eq!(report["shared"], serde_json::json!([]), "{report}");
    assert_eq!(world.belay(&["-C", &other, "cat", "@latest", "keys/copy"]).code, 3);
    assert_eq!(world.ok(&["-C", &other, "cat", "@latest", "b.txt"]), "b\n");
    assert_eq!(world.belay(&["verify", "--deep"]).code, 0);
}
