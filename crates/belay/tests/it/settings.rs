//! Configuration, its origins, and trust.

use insta::assert_snapshot;

use crate::world::World;

#[test]
fn every_value_has_an_origin() {
    let mut world = World::new();
    std::fs::write(world.workspace.home().join("config.toml"), "[snapshots.exclude]\nadditional = [\"*.log\"]\n")
        .expect("a file");
    let mut command = world.command(&["config", "list", "--origin", "snapshots.exclude"]);
    command.env("BELAY_SNAPSHOTS__EXCLUDE__GITIGNORED", "capture");
    assert_snapshot!(world.ran(command), @"");
    let all = world.json(&["config", "list"]);
    assert_eq!(all["settings"]["snapshots.exclude.additional"]["layer"], "user");
    assert_eq!(all["settings"]["snapshots.exclude.gitignored"]["layer"], "default");
}

#[test]
fn a_misspelt_key_or_value_is_an_error_that_helps() {
    let mut world = World::new();
    let mut command = world.command(&["config", "list"]);
    command.env("BELAY_SNAPSHOTS__EXCLUDE__GITIGNORD", "capture");
    assert_snapshot!(world.ran(command), @"");
    let mut command = world.command(&["config", "list"]);
    command.env("BELAY_SNAPSHOTS__EXCLUDE__GITIGNORED", "maybe");
    assert_snapshot!(world.ran(command), @"");
    assert_snapshot!(world.belay(&["config", "list", "nothing"]), @"");
}

#[test]
fn a_workspace_can_weaken_its_protection_only_once_trusted() {
    let mut world = World::new();
    world
        .workspace
        .file("belay.toml", "[snapshots.exclude]\nadditional = [\"secret.txt\"]\n")
        .file("secret.txt", "x\n");
    world.snapshot();
    assert_eq!(world.ok(&["cat", "@latest", "secret.txt"]), "x\n", "an untrusted workspace excluded a file");
    assert_snapshot!(world.belay(&["config", "list", "snapshots.exclude.additional"]), @"");
    assert_snapshot!(world.belay(&["trust"]), @"");
    assert_snapshot!(world.belay(&["trust", "-y"]), @"");
    assert_snapshot!(world.belay(&["config", "list", "--origin", "snapshots.exclude.additional"]), @"");
    world.snapshot();
    assert_eq!(world.belay(&["cat", "@latest", "secret.txt"]).code, 3);

    world.workspace.file("belay.toml", "[snapshots.exclude]\nadditional = [\"*\"]\n");
    world.snapshot();
    assert_eq!(world.ok(&["cat", "@latest", "secret.txt"]), "x\n", "trust survived a change of the file");
    world.ok(&["trust", "-y"]);
    assert_snapshot!(world.belay(&["trust", "--revoke"]), @"");
}
