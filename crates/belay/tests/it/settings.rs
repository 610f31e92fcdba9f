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
    assert_snapshot!(world.ran(command), @r#"
    exit 0
    --- stdout
    KEY  VALUE  ORIGIN
    snapshots.exclude.gitignored  "capture"  BELAY_SNAPSHOTS__EXCLUDE__GITIGNORED
    snapshots.exclude.ignore_gitignore  false  default
    snapshots.exclude.regenerable_min  "[SIZE]"  default
    snapshots.exclude.additional  ["*.log"]  [HOME]/config.toml
    snapshots.exclude.exclude_patterns  []  default
    snapshots.exclude.exclude_globs  []  default
    snapshots.exclude.force_include  []  default
    "#);
    let all = world.json(&["config", "list"]);
    assert_eq!(all["settings"]["snapshots.exclude.additional"]["layer"], "user");
    assert_eq!(all["settings"]["snapshots.exclude.gitignored"]["layer"], "default");
}

#[test]
fn a_misspelt_key_or_value_is_an_error_that_helps() {
    let mut world = World::new();
    let mut command = world.command(&["config", "list"]);
    command.env("BELAY_SNAPSHOTS__EXCLUDE__GITIGNORD", "capture");
    assert_snapshot!(world.ran(command), @"
    exit 2
    --- stderr
    error: BELAY_SNAPSHOTS__EXCLUDE__GITIGNORD sets snapshots.exclude.gitignord, which does not exist
      nothing was changed
      nearest: snapshots.exclude.gitignored
    hint: `belay config list` shows every key
    ");
    let mut command = world.command(&["config", "list"]);
    command.env("BELAY_SNAPSHOTS__EXCLUDE__GITIGNORED", "maybe");
    assert_snapshot!(world.ran(command), @r#"
    exit 2
    --- stderr
    error: BELAY_SNAPSHOTS__EXCLUDE__GITIGNORED sets snapshots.exclude.gitignored to "maybe", which is not skip or regenerable or capture
      nothing was changed
    hint: `belay config list` shows every key
    "#);
    assert_snapshot!(world.belay(&["config", "list", "nothing"]), @"
    exit 3
    --- stderr
    error: no key begins with nothing
    hint: `belay config list` shows every key
    ");
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
    assert_snapshot!(world.belay(&["config", "list", "snapshots.exclude.additional"]), @"
    exit 0
    --- stdout
    snapshots.exclude.additional = []
    --- stderr
    belay.toml is not trusted, so these of its keys do not count: snapshots.exclude.additional
    hint: read it, then `belay trust`
    ");
    let status = world.ok(&["status"]);
    assert!(status.contains("not in force until `belay trust`: snapshots.exclude.additional"), "{status}");
    assert_snapshot!(world.belay(&["trust"]), @r#"
    exit 4
    --- stderr
      [snapshots.exclude]
      additional = ["secret.txt"]
    Not in force until belay.toml is trusted: snapshots.exclude.additional
    error: this needs your consent, and there is no terminal to ask on
      nothing was changed
    hint: add -y to trust it without being asked
    "#);
    assert_snapshot!(world.belay(&["trust", "-y"]), @r#"
    exit 0
    --- stderr
      [snapshots.exclude]
      additional = ["secret.txt"]
    Not in force until belay.toml is trusted: snapshots.exclude.additional
    belay.toml is trusted until it changes.
    "#);
    assert_snapshot!(world.belay(&["config", "list", "--origin", "snapshots.exclude.additional"]), @r#"
    exit 0
    --- stdout
    KEY  VALUE  ORIGIN
    snapshots.exclude.additional  ["secret.txt"]  belay.toml (workspace)
    "#);
    world.snapshot();
    assert_eq!(world.belay(&["cat", "@latest", "secret.txt"]).code, 3);

    world.workspace.file("belay.toml", "[snapshots.exclude]\nadditional = [\"*\"]\n");
    world.snapshot();
    assert_eq!(world.ok(&["cat", "@latest", "secret.txt"]), "x\n", "trust survived a change of the file");
    world.ok(&["trust", "-y"]);
    assert_snapshot!(world.belay(&["trust", "--revoke"]), @"
    exit 0
    --- stderr
    It is trusted no longer.
    ");
}

#[test]
fn what_cannot_be_in_force_is_not_trusted_and_stops_nothing() {
    let mut world = World::new();
    world.workspace.file("a", "one").file("belay.toml", "[isolation]\nengin = \"jail\"\n");
    world.snapshot();
    world.workspace.file("a", "two");
    let refused = world.belay(&["trust", "-y"]);
    assert!(refused.code == 2 && refused.stderr.contains("isolation.engine"), "{refused}");
    world.ok(&["status"]);
    world.ok(&["trust", "--revoke"]);
    world.ok(&["rollback", "-y"]);
    assert_eq!(world.read("a"), "one");
}

#[test]
fn a_mistake_in_the_configuration_does_not_stand_in_the_way_back() {
    let mut world = World::new();
    world.workspace.file("a", "one");
    let id = world.snapshot();
    world.workspace.file("a", "two");
    for wrong in ["[isolation]\nengin = \"jail\"\n", "no TOML at all", "[snapshots]\nmax_entries = \"many\"\n"] {
        std::fs::write(world.workspace.home().join("config.toml"), wrong).unwrap();
        for command in ["status", "diff", "changes"] {
            let ran = world.belay(&[command]);
            assert!(ran.code == 0 && ran.stderr.contains("it does not count"), "{command}: {ran}");
        }
        world.ok(&["rollback", &id, "-y"]);
        assert_eq!(world.read("a"), "one");
        world.ok(&["undo", "-y"]);
        assert_eq!(world.read("a"), "two");
        world.ok(&["redo", "-y"]);
        world.ok(&["undo", "-y"]);
        assert_eq!(world.belay(&["snapshot"]).code, 2, "what is taken from now on waits until it is mended");
        assert_eq!(world.belay(&["run", "--", "true"]).code, 125);
    }
}

#[test]
fn a_key_is_set_and_unset_in_your_own_file_and_nothing_else_changes() {
    let mut world = World::new();
    let file = world.workspace.home().join("config.toml");
    let ran = world.belay(&["config", "set", "agents.hide_prompts", "yes"]);
    assert_snapshot!(ran, @"
    exit 0
    --- stderr
    agents.hide_prompts = true in [HOME]/config.toml
    ");
    let mine =
        "# Mine.\nagents.hide_prompts = true # so far\n\n[snapshots.exclude]\nadditional = [\"*.log\"] # large\n";
    std::fs::write(&file, mine).expect("a file");
    world.ok(&["config", "set", "snapshots.exclude.additional", "*.log, *.iso"]);
    let changed = mine.replace("[\"*.log\"]", "[\"*.log\", \"*.iso\"]");
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), changed);
    assert_eq!(world.ok(&["config", "get", "snapshots.exclude.additional"]), "[\"*.log\", \"*.iso\"]\n");
    world.ok(&["config", "unset", "agents.hide_prompts"]);
    let changed = changed.replace("agents.hide_prompts = true # so far\n", "");
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), changed);
    let ran = world.belay(&["config", "unset", "agents.hide_prompts"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "agents.hide_prompts is not in [HOME]/config.toml\n"), "{ran}");
    let mut command = world.command(&["config", "set", "agents.hide_prompts", "true"]);
    command.env("BELAY_AGENTS__HIDE_PROMPTS", "false");
    let ran = world.ran(command);
    assert!(ran.stderr.contains("in force is false, by BELAY_AGENTS__HIDE_PROMPTS"), "{ran}");
    for words in [["agents.hide_promts", "true"], ["agents.hide_prompts", "maybe"]] {
        let before = std::fs::read_to_string(&file).expect("a file");
        let ran = world.belay(&["config", "set", words[0], words[1]]);
        assert!(ran.code == 2 && ran.stderr.contains("nothing was changed"), "{ran}");
        assert!(words[1] == "maybe" || ran.stderr.contains("nearest: agents.hide_prompts"), "{ran}");
        assert_eq!(std::fs::read_to_string(&file).expect("a file"), before);
    }
    std::fs::rename(&file, file.with_extension("yaml")).expect("it moves");
    std::fs::write(file.with_extension("yaml"), "agents:\n  hide_prompts: true\n").expect("a file");
    let ran = world.belay(&["config", "set", "agents.hide_prompts", "false"]);
    assert!(
        ran.code == 4 && ran.stderr.contains("YAML") && ran.stderr.contains("agents.hide_prompts = false"),
        "{ran}"
    );
}

#[test]
fn belays_own_directories_are_private_whichever_command_makes_them() {
    use std::os::unix::fs::PermissionsExt;
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    let home = world.workspace.outside().join("above/home");
    for words in
        [&["config", "set", "snapshots.auto_max", "9"][..], &["run", "-q", "--isolation", "none", "--", "true"]]
    {
        let mut command = world.command(words);
        command.env("BELAY_HOME", &home);
        assert_eq!(world.ran(command).code, 0, "{words:?}");
    }
    for dir in ["", "runs", "store", "store/packs", "workspaces"] {
        let mode = std::fs::metadata(home.join(dir)).unwrap().permissions().mode();
        assert_eq!(format!("{:o}", mode & 0o777), "700", "{dir:?}");
    }
}
