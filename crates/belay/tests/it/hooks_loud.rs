//! What goes wrong beside a hook is said: to whoever reads its answer, to the agent, and by the status line.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use belay_testkit::{OrdinaryUser, is_root, skip};
use serde_json::{Value, json};

use crate::hooks::tell;
use crate::world::{Ran, World};

fn claude(world: &mut World, event: &str, more: Value) -> Ran {
    let mut said = json!({"session_id": "s1", "cwd": world.workspace.path(), "hook_event_name": event});
    said.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    tell(world, "claude", &said)
}

fn line(world: &mut World) -> Value {
    world.json(&["statusline"])
}

#[test]
fn what_cannot_be_understood_is_a_step_that_was_missed() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    claude(&mut world, "UserPromptSubmit", json!({"prompt": "begin"}));
    for (said, why) in [
        ("{\"session_id\": \"s1\", \"hook_event_name\": ", "did not say JSON"),
        ("not json", "did not say JSON"),
        ("", "did not say JSON"),
        ("[]", "names no event"),
        ("{\"session_id\": \"s1\"}", "names no event"),
        ("7", "names no event"),
    ] {
        world.snapshot();
        assert_eq!(line(&mut world)["state"], "good");
        let mut command = world.command(&["hook", "claude"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("belay starts");
        child.stdin.take().expect("a pipe").write_all(said.as_bytes()).expect("belay reads");
        let output = child.wait_with_output().expect("it ends");
        let ran = Ran::of(&mut world, output);
        assert!(ran.code == 0 && ran.stdout.contains(why) && ran.stderr.contains(why), "{ran}");
        let line = line(&mut world);
        assert_eq!(line["state"], "bad", "{line}");
        assert!(line["line"].as_str().is_some_and(|line| line.contains(why)), "{line}");
    }
}

#[test]
fn a_home_that_cannot_be_written_is_not_green() {
    let Some(user) = OrdinaryUser::find() else { return };
    let base = user.directory();
    let belay = user.copy_of(std::path::Path::new(env!("CARGO_BIN_EXE_belay")), base.path());
    let mut world = World::new();
    let workspace = base.path().join("w");
    let run = |world: &mut World, words: &[&str]| {
        let mut command = user.command(&belay, base.path());
        command.args(words).current_dir(&workspace).env("BELAY_HOME", base.path().join("home"));
        world.ran(command)
    };
    std::fs::create_dir(&workspace).unwrap();
    user.own(&workspace);
    assert_eq!(run(&mut world, &["snapshot"]).code, 0);
    let good = run(&mut world, &["statusline", "--json"]);
    assert!(good.stdout.contains("\"good\""), "{good}");
    for shut in ["store", "workspaces/*"] {
        let chmod = |mode: &str| {
            let script = format!("chmod {mode} home/{shut}/");
            assert!(user.command("sh", base.path()).args(["-c", &script]).status().unwrap().success());
        };
        chmod("u-w");
        let bad = run(&mut world, &["statusline", "--json"]);
        assert!(bad.stdout.contains("\"bad\"") && bad.stdout.contains("not protected"), "{shut}: {bad}");
        chmod("u+w");
        assert!(run(&mut world, &["statusline", "--json"]).stdout.contains("\"good\""), "{shut}");
    }
    if !is_root() {
        skip("a home on a disk that is mounted for reading only needs root");
    }
}

#[test]
fn an_undo_is_told_although_the_last_call_was_broken_off() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    claude(&mut world, "UserPromptSubmit", json!({"prompt": "change it", "prompt_id": "p1"}));
    let call =
        json!({"tool_name": "Bash", "tool_input": {"command": "echo two > a.txt; sleep 100"}, "tool_use_id": "t1"});
    claude(&mut world, "PreToolUse", call);
    world.workspace.file("a.txt", "two\n");
    // The user presses Escape: neither the end of the call is told nor that of the turn.
    world.ok(&["undo", "@turn-1", "-y"]);
    assert_eq!(world.read("a.txt"), "one\n");
    let told = claude(&mut world, "UserPromptSubmit", json!({"prompt": "go on", "prompt_id": "p2"}));
    assert!(told.stdout.contains("additionalContext") && told.stdout.contains("a.txt"), "{told}");

    // What the agent takes back itself, by whatever way, it knows.
    for (id, tool, input) in
        [("t2", "Bash", json!({"command": "belay undo -y"})), ("t3", "mcp__belay__belay_undo", json!({}))]
    {
        claude(&mut world, "PreToolUse", json!({"tool_name": tool, "tool_input": input, "tool_use_id": id}));
        world.ok(&[if id == "t2" { "undo" } else { "redo" }, "-y"]);
        claude(&mut world, "PostToolUse", json!({"tool_name": tool, "tool_input": {}, "tool_use_id": id}));
        let quiet = claude(&mut world, "UserPromptSubmit", json!({"prompt": format!("after {id}"), "prompt_id": id}));
        assert!(!quiet.stdout.contains("took changes"), "{id}: {quiet}");
    }
}

#[test]
fn what_the_agent_is_told_of_an_undo_can_be_typed_and_leaves_the_inside_of_repositories_out() {
    let mut world = World::new();
    belay_testkit::repository(world.workspace.path());
    claude(&mut world, "UserPromptSubmit", json!({"prompt": "clean up", "prompt_id": "p1"}));
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "rm -rf .git src"}, "tool_use_id": "t1"});
    claude(&mut world, "PreToolUse", call.clone());
    for name in [".git", "src"] {
        std::fs::remove_dir_all(world.workspace.join(name)).unwrap();
    }
    claude(&mut world, "PostToolUse", call);
    claude(&mut world, "Stop", json!({}));
    claude(&mut world, "UserPromptSubmit", json!({"prompt": "go on", "prompt_id": "p2"}));
    world.ok(&["undo", "@turn-1", "-y"]);
    let status = line(&mut world)["line"].as_str().expect("a line").to_owned();
    assert!(status.contains("@turn-2"), "the turn that goes on is the second: {status}");
    let told = claude(&mut world, "PreToolUse", json!({"tool_name": "Read", "tool_use_id": "t2", "tool_input": {}}));
    assert!(told.stdout.contains("(belay undo, to"), "{told}");
    assert!(told.stdout.contains("src/lib.rs") && told.stdout.contains(", .git"), "{told}");
    assert!(!told.stdout.contains(".git/") && !told.stdout.contains("revert"), "{told}");
    let blame = world.ok(&["blame", "src/lib.rs"]);
    assert!(blame.contains("belay undo"), "{blame}");
}

#[test]
fn what_changes_between_two_hooks_is_in_the_log_and_blamed_on_nobody_who_is_known() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n").file("b.txt", "b\n");
    claude(&mut world, "UserPromptSubmit", json!({"prompt": "change a", "prompt_id": "p1"}));
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "echo two > a.txt"}, "tool_use_id": "t1"});
    claude(&mut world, "PreToolUse", call.clone());
    world.workspace.file("a.txt", "two\n");
    claude(&mut world, "PostToolUse", call);
    claude(&mut world, "Stop", json!({}));
    world.workspace.file("b.txt", "by hand\n").file("new.txt", "by hand\n");
    claude(&mut world, "UserPromptSubmit", json!({"prompt": "and go on", "prompt_id": "p2"}));
    world.workspace.file("c.txt", "in the turn\n");
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "true"}, "tool_use_id": "t2"});
    claude(&mut world, "PreToolUse", call.clone());
    claude(&mut world, "PostToolUse", call);
    claude(&mut world, "Stop", json!({}));
    let log = world.belay(&["log"]);
    let places =
        ["#1 Bash", "* changed outside of a turn; by whom is not known:\n    M b.txt\n    A new.txt", "and go on"];
    let found = places.map(|what| log.stdout.replace("  ", "    ").replace("        ", "    ").find(what));
    assert!(found.iter().all(Option::is_some) && found.is_sorted(), "{log}");
    assert!(log.stdout.contains("(@turn-1)") && log.stdout.contains("change a"), "{log}");
    assert!(log.stdout.contains("changed between the agent's calls; by whom is not known"), "{log}");
    let blame = world.ok(&["blame", "b.txt"]);
    assert!(blame.contains("last changed by somebody outside of a turn"), "{blame}");
    assert!(world.ok(&["blame", "c.txt"]).contains("somebody between the agent's calls"));
    assert!(world.ok(&["blame", "a.txt"]).contains("#1 Bash"));
    world.ok(&["undo", "@turn-1", "-y"]);
    assert_eq!((world.read("a.txt").as_str(), world.read("b.txt").as_str()), ("one\n", "by hand\n"));
    let log = world.belay(&["log"]);
    assert_eq!(log.stdout.matches("undo of a step to").count(), 1, "{log}");
    // What belay put back is nobody else's, and it stays in the log of the turns around it.
    claude(&mut world, "UserPromptSubmit", json!({"prompt": "third", "prompt_id": "p3"}));
    let log = world.belay(&["log"]);
    assert_eq!(log.stdout.matches("outside of a turn").count(), 1, "{log}");
    assert_eq!(log.stdout.matches("undo of a step to").count(), 1, "{log}");
    world.ok(&["audit", "verify"]);
}

#[test]
fn a_turn_in_which_nothing_changed_takes_one_snapshot_and_ends_all_the_same() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    for turn in ["p1", "p2"] {
        claude(&mut world, "UserPromptSubmit", json!({"prompt": turn, "prompt_id": turn}));
        claude(&mut world, "Stop", json!({}));
        world.workspace.file("mine.txt", turn);
    }
    let all = world.json(&["snapshots"]);
    assert_eq!(all["snapshots"].as_array().map(Vec::len), Some(2), "{all}");
    // What came after the end of a turn is not taken back with it, whether another followed or not.
    for turn in ["@turn-1", "@turn-2"] {
        let plan = world.json(&["undo", turn, "--dry-run"]);
        assert_eq!(plan["changes"], json!([]), "{turn}: {plan}");
    }
    assert!(world.ok(&["log"]).contains("outside of a turn"));
    world.ok(&["rollback", "@turn-1", "-y"]);
    assert!(!world.has("mine.txt"));
}

/// A rollback that is killed after it has begun to change files.
fn killed_rollback(world: &mut World) {
    let begun = |world: &World| {
        let dirs = std::fs::read_dir(world.workspace.home().join("workspaces")).expect("a directory");
        let names = dirs.flatten().flat_map(|dir| std::fs::read_dir(dir.path()).into_iter().flatten().flatten());
        names.map(|entry| entry.file_name()).any(|name| {
            let name = name.to_string_lossy().into_owned();
            name.starts_with("intent-") && !name.ends_with(".new")
        })
    };
    for round in 0..50 {
        for number in 0..600 {
            world.workspace.file(format!("dir{}/file{number}", number % 7), format!("bad {round} {number}\n"));
        }
        let mut rollback = world.command(&["rollback", "good", "-y"]);
        let mut child = rollback.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("belay starts");
        let deadline = Instant::now() + Duration::from_secs(20);
        while !begun(world) && child.try_wait().expect("a child").is_none() && Instant::now() < deadline {}
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        if begun(world) {
            return;
        }
    }
    panic!("no rollback could be killed in the middle");
}

#[test]
fn a_hook_that_finishes_a_killed_rollback_says_so() {
    for with_helper in [false, true] {
        let mut world = World::new();
        for number in 0..600 {
            world.workspace.file(format!("dir{}/file{number}", number % 7), format!("good {number}\n"));
        }
        world.ok(&["snapshot", "--label", "good"]);
        if with_helper {
            claude(&mut world, "UserPromptSubmit", json!({"prompt": "begin", "prompt_id": "p0"}));
        }
        killed_rollback(&mut world);
        let said = claude(&mut world, "UserPromptSubmit", json!({"prompt": "go on", "prompt_id": "p1"}));
        assert_eq!(said.code, 0, "{said}");
        assert!(said.stdout.contains("was interrupted, and is now finished"), "{with_helper}: {said}");
        assert_eq!(world.read("dir0/file0"), "good 0\n");
        let quiet = claude(&mut world, "UserPromptSubmit", json!({"prompt": "once", "prompt_id": "p2"}));
        assert!(!quiet.stdout.contains("interrupted"), "it is said once: {quiet}");
        world.belay(&["stop", "--helper"]);
    }
}

#[test]
fn while_files_are_put_back_the_status_line_is_not_red() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    claude(&mut world, "UserPromptSubmit", json!({"prompt": "begin", "prompt_id": "p0"}));
    world.ok(&["snapshot", "--label", "good"]);
    for number in 0..3000 {
        world.workspace.file(format!("dir{}/file{number}", number % 7), format!("bad {number}\n"));
    }
    let mut rollback = world.command(&["rollback", "good", "-y"]);
    let mut child = rollback.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("belay starts");
    let mut seen = Vec::new();
    while child.try_wait().expect("a child").is_none() {
        seen.push(line(&mut world));
    }
    let red: Vec<&Value> = seen.iter().filter(|line| line["state"] == "bad").collect();
    assert!(red.is_empty(), "{red:?}");
    assert!(!seen.is_empty() && !world.has("dir0"), "{seen:?}");
}

#[test]
fn what_belay_itself_puts_back_in_a_turn_does_not_turn_the_status_line_red() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    for turn in 1..3 {
        let call = json!({"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": format!("t{turn}")});
        claude(&mut world, "UserPromptSubmit", json!({"prompt": format!("p{turn}"), "prompt_id": format!("p{turn}")}));
        claude(&mut world, "PreToolUse", call.clone());
        world.workspace.file("a.txt", format!("turn {turn}\n")).file(format!("new{turn}"), "new\n");
        claude(&mut world, "PostToolUse", call);
    }
    let asked = |world: &mut World| {
        let said = json!({"session_id": "s1", "workspace": {"project_dir": world.workspace.path()}});
        let mut command = world.command(&["statusline", "--json"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("belay starts");
        child.stdin.take().expect("a pipe").write_all(said.to_string().as_bytes()).expect("belay reads");
        let output = child.wait_with_output().expect("it ends");
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    // A person takes a turn back in the middle of the next one, and the agent is told of it with its next step.
    world.ok(&["undo", "@turn-2", "-y"]);
    let line = asked(&mut world);
    assert_eq!(line["state"], "good", "{line}");
    claude(&mut world, "UserPromptSubmit", json!({"prompt": "go on", "prompt_id": "p9"}));
    let line = asked(&mut world);
    assert_eq!(line["state"], "good", "{line}");
    world.belay(&["stop", "--helper"]);
}
