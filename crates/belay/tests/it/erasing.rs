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
    assert_snapshot!(world.belay(&["forget", "id_rsa"]), @"");
    assert_snapshot!(world.belay(&["forget", "id_rsa", "--dry-run"]), @"");
    assert_snapshot!(world.belay(&["forget", "id_rsa", "-y"]), @"");
    assert_snapshot!(world.belay(&["forget", "id_rsa", "-y"]), @"");
    assert_eq!(world.belay(&["find", "id_rsa"]).code, 3);
    assert_eq!(world.ok(&["cat", "1", "notes.txt"]), "one\n", "another path was lost");
    assert_eq!(world.belay(&["verify", "--deep"]).code, 0);
    assert_eq!(world.belay(&["forget", ".", "-y"]).code, 4, "the whole workspace cannot be forgotten");
}
