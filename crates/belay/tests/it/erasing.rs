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
    Named in none of belay's records any more: looked through 7 files.
    The snapshots keep the bare name, so that a rollback leaves what is there.
    --- stderr
    hint: the files in the workspace are untouched; the next snapshot takes them again unless snapshots.exclude.additional names them
    ");
    assert_snapshot!(world.belay(&["forget", "id_rsa", "-y"]), @"
    exit 3
    --- stderr
    error: no snapshot holds any of these paths, and no run names one
      nothing was changed
    hint: `belay find NAME` tells which snapshots hold a path
    ");
    assert_eq!(world.belay(&["find", "id_rsa"]).code, 3);
    assert_eq!(world.ok(&["cat", "1", "notes.txt"]), "one\n", "another path was lost");
    assert_eq!(world.belay(&["verify", "--deep"]).code, 0);
    assert_eq!(world.belay(&["forget", ".", "-y"]).code, 4, "the whole workspace cannot be forgotten");
}

/// `belay forget` that was killed when the snapshots were rewritten and nothing was freed yet.
fn killed_forgetting(world: &World, path: &str) {
    // Whoever takes a snapshot holds this lock, and what is freed waits for it.
    let lock = std::fs::File::options().read(true).append(true).open(world.workspace.home().join("store/lock"));
    let lock = lock.expect("a store has a lock");
    lock.lock_shared().expect("nobody holds it alone");
    let mut forgetting = world.command(&["forget", path, "-y"]).spawn().expect("belay starts");
    let timelines = || {
        let dirs = std::fs::read_dir(world.workspace.home().join("workspaces")).expect("workspaces").flatten();
        let texts = dirs.filter_map(|dir| std::fs::read(dir.path().join("timeline")).ok());
        texts.map(|text| String::from_utf8_lossy(&text).into_owned()).collect::<String>()
    };
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !timelines().contains("\"forget\"") {
        assert!(std::time::Instant::now() < until, "the snapshots are not rewritten");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    forgetting.kill().expect("it waits");
    forgetting.wait().expect("it was killed");
}

#[test]
fn a_forgetting_that_was_killed_is_finished_by_the_next_one_with_its_proof() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n").file("id_rsa", "PRIVATE KEY 6f1c\n");
    world.snapshot();
    world.ok(&["snapshots"]);
    killed_forgetting(&world, "id_rsa");
    let ran = world.belay(&["forget", "id_rsa", "-y"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("was interrupted, and is now finished"), "{ran}");
    assert!(ran.stdout.contains("looked for each and found none: 1 object"), "{ran}");
    assert_eq!(world.belay(&["forget", "id_rsa", "-y"]).code, 3, "there is nothing left to do");
}

#[test]
fn a_forgetting_that_was_killed_is_finished_by_any_other_command_and_told() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n").file("id_rsa", "PRIVATE KEY 6f1c\n");
    world.snapshot();
    killed_forgetting(&world, "id_rsa");
    let ran = world.belay(&["snapshots"]);
    assert!(ran.code == 0 && ran.stderr.contains("the forgetting of id_rsa"), "{ran}");
    assert!(ran.stderr.contains("is now finished: 1 object gone from the store"), "{ran}");
    assert_eq!(world.belay(&["snapshots"]).stderr, "", "it is told once");
    assert!(world.ok(&["gc"]).contains("Nothing to free"));
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

/// Every file of belay's home, packs too, that has the text in it.
fn files_with(world: &World, text: &str) -> Vec<String> {
    let (mut found, mut dirs) = (Vec::new(), vec![world.workspace.home().to_path_buf()]);
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry")) {
            if entry.file_type().expect("a type").is_dir() {
                dirs.push(entry.path());
            } else if let Ok(bytes) = std::fs::read(entry.path())
                && bytes.windows(text.len()).any(|window| window == text.as_bytes())
            {
                found.push(entry.path().display().to_string());
            }
        }
    }
    found
}

#[test]
fn what_runs_say_of_a_secret_goes_with_it_and_the_record_still_proves_the_rest() {
    let mut world = World::new();
    world.workspace.file("notes.txt", "one\n");
    let script = "printf 'token-6f1c81\\n' > keys/id_rsa.pem; cat keys/id_rsa.pem >/dev/null; echo two > notes.txt";
    std::fs::create_dir(world.workspace.join("keys")).expect("a directory");
    world.ok(&["run", "-q", "--isolation", "none", "--", "sh", "-c", script]);
    let run = world.json(&["runs"])["id"].as_str().expect("an id").to_owned();
    assert!(!files_with(&world, "id_rsa.pem").is_empty(), "the test shows nothing");
    assert!(!files_with(&world, "token-6f1c81").is_empty(), "the test shows nothing");
    let bundle = world.workspace.base().join("before.bundle").display().to_string();
    world.ok(&["audit", "export", &run, &bundle]);
    let plan = world.json(&["forget", "keys/id_rsa.pem", "--dry-run"]);
    assert_eq!(plan["runs"][0]["run"], run.as_str(), "{plan}");
    std::fs::remove_file(world.workspace.join("keys/id_rsa.pem")).expect("it is there");
    let report = world.json(&["forget", "keys/id_rsa.pem", "-y"]);
    assert_eq!(report["records"]["still_named_in"], serde_json::json!([]), "{report}");
    assert_eq!(report["records"]["unreached"], serde_json::json!([]), "{report}");
    let named = |file: &String| !file.contains("/store/packs/");
    let named_in = files_with(&world, "id_rsa.pem").into_iter().filter(named).collect::<Vec<_>>();
    assert_eq!(named_in, Vec::<String>::new(), "a snapshot keeps the bare name, nothing else does");
    assert_eq!(files_with(&world, "token-6f1c81"), Vec::<String>::new(), "it stood in the words of the command");
    let verdict = world.ok(&["audit", "verify", &run]);
    assert!(verdict.contains("good") && verdict.contains("erased"), "{verdict}");
    assert!(world.ok(&["audit", "verify", &bundle]).contains("good"), "what was exported before proves itself");
    let log = world.ok(&["log", &run]);
    assert!(log.contains("(erased)") && log.contains("notes.txt"), "{log}");
    assert_eq!(world.belay(&["forget", "keys/id_rsa.pem", "-y"]).code, 3, "nothing is left");
    assert_eq!(world.belay(&["verify", "--deep"]).code, 0);
    world.snapshot();
}

#[test]
fn what_a_terminal_showed_is_kept_but_for_lines_that_name_a_secret_unless_it_is_to_go() {
    let mut world = World::new();
    world.workspace.file("id_rsa", "PRIVATE KEY 6f1c\n");
    world.ok(&["run", "-q", "--isolation", "none", "--detach", "--", "sh", "-c", "ls id_rsa; cat id_rsa; echo done"]);
    let run = world.json(&["runs"])["id"].as_str().expect("an id").to_owned();
    let is_over = |world: &mut World| world.json(&["runs"])["state"] == "ended";
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !is_over(&mut world) {
        assert!(std::time::Instant::now() < deadline, "the run does not end");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let ran = world.belay(&["forget", "id_rsa", "-y"]);
    assert!(ran.stderr.contains("what the terminal showed is kept"), "{ran}");
    let log = world.ok(&["logs", &run]);
    assert!(!log.contains("id_rsa") && log.contains("PRIVATE KEY") && log.contains("done"), "{log}");
    world.snapshot();
    world.ok(&["run", "-q", "--isolation", "none", "--", "sh", "-c", "cat id_rsa >/dev/null"]);
    world.ok(&["forget", "id_rsa", "-y", "--consoles"]);
    assert!(world.ok(&["logs", &run]).contains("PRIVATE KEY"), "no event of that run names it any more");
}

#[test]
fn a_run_that_goes_on_is_told_to_be_out_of_reach() {
    let mut world = World::new();
    world.workspace.file("id_rsa", "PRIVATE KEY 6f1c\n");
    world.ok(&["run", "-q", "--isolation", "none", "--detach", "--", "sh", "-c", "cat id_rsa; sleep 600"]);
    let run = world.json(&["runs"])["id"].as_str().expect("an id").to_owned();
    let question = "SELECT count(*) FROM exec_events WHERE args LIKE '%id_rsa%'";
    let named = |world: &mut World| !world.ok(&["sql", &run, question, "--csv"]).ends_with("\n0\n");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !named(&mut world) {
        assert!(std::time::Instant::now() < deadline, "no command was recorded");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let report = world.json(&["forget", "id_rsa", "-y"]);
    assert_eq!(report["records"]["unreached"][0]["run"], run.as_str(), "{report}");
    world.ok(&["stop", &run]);
    world.ok(&["forget", "id_rsa", "-y"]);
    let named = |file: &String| !file.contains("/store/packs/");
    assert!(!files_with(&world, "id_rsa").iter().any(named), "a record names it");
    assert!(world.ok(&["audit", "verify", &run]).contains("good"));
}
