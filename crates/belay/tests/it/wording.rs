//! What belay says when something is not as somebody thought: plain words, the nearest names, the right exit code.

use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;

use crate::world::World;

#[test]
fn a_path_that_is_not_there_is_not_found_and_its_error_has_no_number() {
    let mut world = World::new();
    assert_snapshot!(world.belay(&["-C", "nowhere", "status"]), @"
    exit 3
    --- stderr
    error: cannot open nowhere
      because: no such file or directory
      nothing was changed
    ");
    for words in [&["snapshot", "nowhere"][..], &["import", "nowhere.tar"], &["init", "nowhere"], &["watch", "nowhere"]]
    {
        let ran = world.belay(words);
        assert!(ran.code == 3 && ran.stderr.contains("because: no such file or directory"), "{ran}");
    }
    let run = world.belay(&["run", "--isolation", "none", "--", "./no-such-program"]);
    assert!(run.code == 127 && run.stderr.contains("./no-such-program cannot be found"), "{run}");
}

#[test]
fn files_of_belay_that_are_somebody_elses_are_told_with_the_way_out() {
    if belay_testkit::is_root() {
        belay_testkit::skip("root reads what it likes; the test runs as an ordinary user");
        return;
    }
    let mut world = World::new();
    world.workspace.file("a", "a");
    world.snapshot();
    let store = world.workspace.home().join("store");
    std::fs::set_permissions(&store, std::fs::Permissions::from_mode(0o000)).unwrap();
    let ran = world.belay(&["status"]);
    std::fs::set_permissions(&store, std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(ran.code, 7, "{ran}");
    assert!(ran.stderr.contains("because: permission denied"), "{ran}");
    assert!(ran.stderr.contains("sudo chown -R"), "{ran}");
}

#[test]
fn a_letter_is_no_snapshot_and_no_run() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let snapshot = world.snapshot();
    let own = snapshot.trim_start_matches("snap_");
    // Digits alone are the number of a snapshot in its workspace, and 1 is there.
    let is_no_number = |short: &&str| short.parse() != Ok(1);
    for short in [&own[..1], &own[..3]].into_iter().filter(is_no_number) {
        let ran = world.belay(&["rollback", "-y", short]);
        assert!(ran.code == 3 && ran.stderr.contains("no snapshot is called"), "{ran}");
        assert!(
            ran.stderr.contains("type `snap_` and its beginning") || short.bytes().all(|c| c.is_ascii_digit()),
            "{ran}"
        );
    }
    world.ok(&["rollback", "-y", &snapshot[..6]]);
    let fork = world.belay(&["fork", "alpha", "b"]);
    assert!(fork.code == 3 && fork.stderr.contains("`belay fork NAME -n 2`"), "{fork}");
    assert!(!world.ok(&["forks", "--json"]).contains("alpha"), "no fork was made");
    world.ok(&["run", "-q", "--isolation", "none", "--", "true"]);
    let run = world.json(&["runs"])["id"].as_str().unwrap().to_owned();
    assert_eq!(world.belay(&["show", &run[4..5]]).code, 3);
    world.ok(&["show", &run[..6]]);
}

#[test]
fn a_path_comes_back_without_naming_a_snapshot_and_a_wrong_one_is_told_with_the_nearest() {
    let mut world = World::new();
    world.workspace.file("README.md", "read me\n").file("src/deep/main.rs", "fn main() {}\n").file("gone", "gone\n");
    world.snapshot();
    world.workspace.remove("gone").file("README.md", "overwritten\n");
    assert_snapshot!(world.belay(&["restore", "-y", "README"]), @"
    exit 3
    --- stderr
    error: README is not in snap_000001
      nothing was changed
      nearest: README.md
    hint: `belay find NAME` tells which snapshots hold a path
    ");
    assert_snapshot!(world.belay(&["cat", "@latest", "main.rs"]), @"
    exit 3
    --- stderr
    error: main.rs is not in snap_000001
      nearest: src/deep/main.rs
    hint: `belay find NAME` tells which snapshots hold a path
    ");
    let ls = world.belay(&["ls", "@latest", "src/depe"]);
    assert!(ls.code == 3 && ls.stderr.contains("nearest: src/deep\n"), "{ls}");
    let history = world.belay(&["history", "readme.md"]);
    assert!(history.code == 3 && history.stderr.contains("nearest: README.md\n"), "{history}");
    assert_eq!(world.ok(&["cat", "README.md"]), "read me\n");
    assert_eq!(world.ok(&["ls"]), "README.md\ngone\nsrc/\n");
    let typed = world.belay(&["ls", "src"]);
    assert!(typed.code == 3 && typed.stderr.contains("`belay ls @latest src`"), "{typed}");
    let whole = world.belay(&["restore", "-y", "@latest"]);
    assert!(whole.code == 2 && whole.stderr.contains("`belay rollback @latest` everything"), "{whole}");
    let unknown = world.belay(&["restore", "-y", "no-such-label", "gone"]);
    assert!(unknown.code == 3 && unknown.stderr.contains("no snapshot is called"), "{unknown}");
    assert!(!world.has("gone"));
    world.ok(&["restore", "-y", "gone", "README.md"]);
    assert_eq!((world.read("gone").as_str(), world.read("README.md").as_str()), ("gone\n", "read me\n"));
    world.ok(&["undo", "-y"]);
    world.ok(&["restore", "-y", "gone"]);
    assert_eq!((world.has("gone"), world.read("README.md").as_str()), (true, "overwritten\n"));
}

#[test]
fn an_address_is_asked_about_by_its_host() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    world.snapshot();
    for address in ["https://example.org/x", "https://you@example.org:8443/x?y#z"] {
        let why = world.json(&["why", address, "--profile", "strict"]);
        assert_eq!(
            (why["decision"].as_str(), why["rule"].as_str()),
            (Some("not reachable"), Some("there is no network"))
        );
    }
    assert_eq!(world.json(&["why", "http://[::1]:80/", "--profile", "strict"])["decision"], "the jail's own");
    assert_eq!(world.json(&["why", "http://localhost:3000/", "--profile", "strict"])["decision"], "the jail's own");
}

#[test]
fn a_command_that_fails_makes_no_workspace() {
    let mut world = World::new();
    for words in [&["trust"][..], &["import", "nowhere.tar"], &["status"], &["why", "/etc/shadow"]] {
        world.belay(words);
        assert!(!world.ok(&["workspaces"]).contains("ws_"), "{words:?} made a workspace");
    }
    let why = world.belay(&["why", "/etc/shadow"]);
    assert!(why.code == 0 && !why.stderr.contains("isolation.engine"), "a run would be confined: {why}");
}

#[test]
fn what_there_never_was_is_told_as_that() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    world.snapshot();
    for (command, told) in [("log", "no run here yet"), ("review", "no ephemeral run"), ("discard", "no ephemeral run")]
    {
        let ran = world.belay(&[command]);
        assert!(ran.code == 3 && ran.stderr.contains(told), "{ran}");
    }
    let turn = world.belay(&["undo", "@turn-1"]);
    assert!(turn.code == 3 && turn.stderr.contains("`belay snapshots --type turn`"), "{turn}");
    world.ok(&["run", "-q", "--isolation", "none", "--", "true"]);
    let sql = world.belay(&["sql", "delete from events"]);
    assert!(sql.code == 2 && !sql.stderr.contains("Error code"), "{sql}");
}

#[test]
fn what_is_no_bundle_and_a_home_that_cannot_be_are_called_so() {
    let mut world = World::new();
    world.workspace.file("garbage", b"\xff\xfe\x00\x01").file("text", "no bundle\n");
    for file in ["garbage", "text"] {
        let ran = world.belay(&["audit", "verify", file]);
        assert!(ran.code == 2 && ran.stderr.contains(&format!("error: {file} is no audit bundle")), "{ran}");
    }
    let mut command = world.command(&["status"]);
    command.env("BELAY_HOME", "/proc/nope");
    let ran = world.ran(command);
    assert!(ran.stderr.contains("cannot open /proc/nope") && ran.stderr.contains("BELAY_HOME"), "{ran}");
}

#[test]
fn a_noun_alone_lists() {
    let mut world = World::new();
    assert_eq!(world.ok(&["config"]), world.ok(&["config", "list"]));
    assert_eq!(world.ok(&["profile"]), world.ok(&["profile", "list"]));
    assert!(world.ok(&["profile"]).contains("strict"));
}

#[test]
fn a_path_that_the_usual_snapshot_lacks_comes_from_the_newest_that_holds_it() {
    let mut world = World::new();
    world.workspace.file("a", "a\n");
    world.ok(&["run", "-q", "--isolation", "none", "--", "true"]);
    world.workspace.file("day", "work\n");
    world.ok(&["snapshot", "-q", "--label", "evening"]);
    world.workspace.remove("day");
    let back = world.belay(&["restore", "-y", "day"]);
    assert!(back.code == 0 && back.stderr.contains("does not hold it; ") && back.stderr.contains("evening"), "{back}");
    assert_eq!(world.read("day"), "work\n");
    assert_eq!(world.belay(&["restore", "-y", "never"]).code, 3);
}

#[test]
fn a_workspace_that_is_gone_is_told_with_the_way_back() {
    let mut world = World::new();
    world.workspace.file("project/a", "a\n");
    world.ok(&["snapshot", "-q", "--here", "project"]);
    std::fs::remove_dir_all(world.workspace.path().join("project")).unwrap();
    let ran = world.belay(&["-C", "project", "rollback", "-y"]);
    assert!(ran.code == 3 && ran.stderr.contains("a workspace was there: `mkdir "), "{ran}");
    std::fs::create_dir(world.workspace.path().join("project")).unwrap();
    world.ok(&["-C", "project", "rollback", "-y"]);
    assert_eq!(world.read("project/a"), "a\n");
}

#[test]
fn a_completion_script_nobody_reads_to_its_end_is_no_panic() {
    let world = World::new();
    let line = format!("{} completions bash | head -n 1", env!("CARGO_BIN_EXE_belay"));
    let output = std::process::Command::new("sh").args(["-c", &line]).current_dir(world.workspace.path()).output();
    assert_eq!(String::from_utf8_lossy(&output.unwrap().stderr), "");
}

#[test]
fn a_snapshot_that_later_commands_preceded_says_after_which_it_was_taken() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let script = "git init -q . && git add a && git -c user.name=a -c user.email=a@b commit -qm a; cp a b; cp a c";
    world.ok(&["run", "-q", "--isolation", "none", "--", "sh", "-c", script]);
    let log = world.ok(&["log", "--no-files"]);
    let taken = log.lines().find(|line| line.contains(", git, ")).unwrap_or_else(|| panic!("no snapshot: {log}"));
    let copied = log.lines().find(|line| line.contains("cp a c")).unwrap_or_else(|| panic!("no command: {log}"));
    let last = copied.trim_start().split(' ').next().expect("a number");
    assert!(taken.contains(&format!(" later, after {last})")), "{log}");
    assert!(log.find(taken) > log.find(copied), "it stands where it was taken: {log}");
}

#[test]
fn what_was_kept_apart_is_proposed_for_review_as_long_as_it_is_there() {
    if !crate::jailed::has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a", "a");
    world.ok(&["run", "-q", "--ephemeral", "--", "sh", "-c", "ls >/dev/null; echo b > b"]);
    let log = world.ok(&["log"]);
    assert!(log.find("pre-run") < log.find("#1 ") && log.contains("pre-run"), "{log}");
    assert!(log.contains("1 path written apart from the workspace: `belay review --run"), "{log}");
    world.ok(&["discard", "-y"]);
    let log = world.ok(&["log"]);
    assert!(!log.contains("belay review") && log.contains("nothing of it waits for a review"), "{log}");
}

#[test]
fn a_line_is_blamed_on_who_wrote_it_and_with_the_way_to_take_just_that_back() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let run = |world: &mut World, script: &str| {
        world.ok(&["run", "-q", "--isolation", "none", "--", "sh", "-c", script]);
        let shown = world.json(&["show"]);
        shown["run"]["id"].as_str().expect("an id").to_owned()
    };
    let first = run(&mut world, "printf 'one\n' > .env; chmod 644 .env; chmod 600 .env");
    let second = run(&mut world, "printf 'two\n' >> .env");
    if world.json(&["blame", ".env:1"])[1]["by"][0]["command"].is_null() {
        belay_testkit::skip("who changes a file is not told here");
        return;
    }
    let said = |line: &str| {
        let ran = world.command(&["blame", line]).output().expect("the program runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&ran.stdout).lines().last().expect("a line").to_owned(), text(&ran.stderr))
    };
    let (line, hint) = said(".env:1");
    assert!(line.contains(&format!(" in {first}")) && !line.contains("chmod") && line.ends_with("one"), "{line}");
    assert!(hint.contains("`belay undo --command 1 --run ") && hint.contains(&format!("--run {first}`")), "{hint}");
    let (line, hint) = said(".env:2");
    assert!(!line.contains("run_"), "the latest run needs no name: {line}");
    assert!(hint.contains(&format!("--run {second}`")), "{hint}");
}

#[test]
fn outside_of_a_workspace_no_other_projects_run_is_shown() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    world.ok(&["run", "-q", "--isolation", "none", "--", "true"]);
    let run = world.json(&["runs"])["id"].as_str().expect("an id").to_owned();
    let elsewhere = world.workspace.base().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a directory");
    let elsewhere = elsewhere.to_str().expect("a plain path").to_owned();
    for verb in ["log", "show", "logs"] {
        let ran = world.belay(&["-C", &elsewhere, verb]);
        assert!(ran.code == 3 && ran.stderr.contains("is not protected yet"), "{ran}");
        assert!(ran.stderr.contains("named by its id"), "{ran}");
    }
    world.ok(&["-C", &elsewhere, "show", &run]);
    let numbered = world.belay(&["show", "18"]);
    assert!(numbered.stderr.contains("`belay log --command 18`"), "{numbered}");
}

#[test]
fn a_flag_cannot_name_the_whole_machine_and_an_unknown_word_is_no_call() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    for (flag, why) in [("--hide", "every program"), ("--rw", "the whole machine")] {
        let ran = world.belay(&["run", flag, "/", "--", "true"]);
        assert!(ran.code == 125 && ran.stderr.contains(why), "{ran}");
    }
    let ran = world.belay(&["why", "nosuch"]);
    assert!(ran.code == 3 && ran.stderr.contains("nothing called nosuch is known"), "{ran}");
    assert!(world.ok(&["why", "--call", "nosuch"]).contains("allowed"));
    let fork = world.belay(&["fork", "one", "two"]);
    assert!(fork.code != 0 && fork.stderr.contains("two was read as the snapshot"), "{fork}");
}

#[test]
fn the_closest_command_is_named_first_and_who_only_reads_says_nothing_of_changes() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    world.snapshot();
    let ran = world.belay(&["stauts"]);
    assert!(ran.code == 2 && ran.stderr.contains("'status', "), "{ran}");
    for words in [&["blame", "nowhere"][..], &["show"], &["diff", "nowhere"], &["profile", "show", "nobody"]] {
        let ran = world.belay(words);
        assert!(ran.code != 0 && !ran.stderr.contains("nothing was changed"), "{ran}");
    }
    assert!(world.belay(&["rollback", "-y", "nowhere"]).stderr.contains("nothing was changed"));
}
