//! What somebody tries first: `init`, short names, mistakes on the command line; and what an agent is told.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::World;

#[test]
fn a_project_is_protected_by_one_command_and_nothing_is_written_into_it() {
    let mut world = World::new();
    world.workspace.file("a", "one\n").file("sub/b", "b\n");
    let ran = world.belay(&["init"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("baseline") && ran.stderr.contains("2 files"), "{ran}");
    let mut names: Vec<_> =
        std::fs::read_dir(world.workspace.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["a", "sub"]);
    let again = world.json(&["init"]);
    assert_eq!((&again["created"], &again["baseline"]["label"]), (&json!(false), &json!("baseline")));
    assert_eq!(world.json(&["snapshots"])["snapshots"][0]["label"], json!("baseline"), "no second one is taken");
    world.workspace.file("a", "two\n");
    world.ok(&["rollback", "baseline", "-y"]);
    assert_eq!(world.read("a"), "one\n");
}

#[test]
fn a_project_with_agents_is_connected_in_its_own_settings() {
    let mut world = World::new();
    world.workspace.file("a", "one\n");
    std::fs::create_dir_all(world.workspace.base().join(".gemini")).unwrap();
    let mut command = world.command(&["init", "--project"]);
    command.env("PATH", "/usr/bin:/bin");
    let ran = world.ran(command);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(world.has(".gemini/settings.json"), "{ran}");
    assert!(!world.workspace.base().join(".gemini/settings.json").exists());
}

#[test]
fn a_mistake_on_the_command_line_of_a_run_is_belays_own_failure() {
    let mut world = World::new();
    for words in
        [&["run", "--no-such-flag", "--", "true"][..], &["run"], &["-C", "/", "--color", "never", "run", "--idle"]]
    {
        assert_eq!(world.belay(words).code, 125, "{words:?}");
    }
    assert_eq!(world.belay(&["run", "--help"]).code, 0);
    assert_eq!(world.belay(&["snapshot", "--no-such-flag"]).code, 2);
    assert_eq!(world.belay(&["status", "run", "--no-such-flag"]).code, 2);
}

#[test]
fn a_mistake_is_told_in_json_to_whoever_reads_json() {
    let mut world = World::new();
    let ran = world.belay(&["--json", "snapshot", "--no-such-flag"]);
    let told: Value = serde_json::from_str(&ran.stderr).unwrap_or_else(|error| panic!("{error}: {ran}"));
    assert_eq!((&told["error"]["kind"], ran.code), (&json!("usage"), 2), "{ran}");
    assert!(told["error"]["message"].as_str().unwrap().contains("--no-such-flag"), "{ran}");
    // What follows the dashes is somebody else's.
    let ran = world.belay(&["run", "--no-such-flag", "--", "x", "--json"]);
    assert!(ran.stderr.starts_with("error:"), "{ran}");
}

#[test]
fn a_status_line_says_what_is_wrong_instead_of_nothing() {
    let mut world = World::new();
    world.workspace.file("a", "one\n");
    assert!(world.ok(&["statusline"]).contains("not protected yet"));
    world.snapshot();
    let line = world.json(&["statusline"]);
    assert_eq!(line["state"], json!("good"), "{line}");
    assert!(line["line"].as_str().unwrap().starts_with("belay: 1 snapshot"), "{line}");
    let config = world.workspace.home().join("config.toml");
    std::fs::write(config, "[snapshots]\nno_such_key = 1\n").unwrap();
    let ran = world.belay(&["statusline"]);
    assert!(ran.code == 0 && ran.stdout.contains("belay: not protected: "), "{ran}");
    assert_eq!(world.json(&["statusline"])["state"], json!("bad"));
}

#[test]
fn what_a_person_tries_first_is_there() {
    let mut world = World::new();
    world.workspace.file("a", "one\n").file("gone", "x");
    let first = world.snapshot();
    world.workspace.file("a", "two\n").file("new", "n").remove("gone");
    assert_eq!(world.ok(&["status", "-s"]), "M a\nD gone\nA new\n");
    assert_eq!(world.ok(&["diff", "--name-status"]), "M a\nD gone\nA new\n");
    assert!(world.ok(&["rollback", "-n"]).contains("gone"));
    assert!(!world.has("gone"));
    world.ok(&["gc", "-n"]);
    assert!(world.ok(&["snapshots", "ls"]).contains(&first));
    world.ok(&["snapshots", "rm", &first, "-y"]);
    assert!(!world.ok(&["snapshots", "ls"]).contains(&first));
    assert!(world.ok(&["version"]).starts_with("belay "));
    assert_eq!(world.ok(&["config", "get", "snapshots.auto_max"]), "10\n");
    assert_eq!(world.belay(&["config", "get", "snapshots.auto"]).code, 3);
    assert!(world.ok(&["--help"]).contains("@turn-3"));
}

#[test]
fn an_agent_is_told_once_what_the_user_took_back() {
    let mut world = World::new();
    world.workspace.file("a", "one\n").file("b", "b\n");
    let say = |world: &World, event: &str, more: Value| {
        let mut said = json!({ "session_id": "s", "cwd": world.workspace.path(), "hook_event_name": event });
        said.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut child =
            world.command(&["hook", "claude"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(said.to_string().as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    say(&world, "UserPromptSubmit", json!({ "prompt": "first" }));
    world.workspace.file("a", "two\n");
    say(&world, "Stop", json!({}));
    world.ok(&["rollback", "@turn-1", "-y"]);
    assert_eq!(world.read("a"), "one\n");
    let answer = say(&world, "UserPromptSubmit", json!({ "prompt": "second" }));
    let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer:?}"));
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], json!("UserPromptSubmit"));
    let told = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(told.contains("belay rollback") && told.contains(": a.") && !told.contains("b,"), "{told}");
    assert_eq!(say(&world, "UserPromptSubmit", json!({ "prompt": "third" })), "", "it is told once");
    // What the agent itself takes back, it knows.
    say(
        &world,
        "PreToolUse",
        json!({ "tool_name": "Bash", "tool_use_id": "1", "tool_input": { "command": "belay undo" } }),
    );
    world.ok(&["undo", "-y"]);
    say(&world, "PostToolUse", json!({ "tool_name": "Bash", "tool_use_id": "1" }));
    assert_eq!(say(&world, "UserPromptSubmit", json!({ "prompt": "fourth" })), "");
    world.belay(&["stop", "--helper"]);
}

#[test]
fn a_first_snapshot_that_takes_long_goes_on_without_the_agent() {
    let mut world = World::new();
    world.workspace.file("a", "one\n");
    let other = world.workspace.base().join("other");
    std::fs::create_dir(&other).unwrap();
    world.ok(&["-C", other.to_str().unwrap(), "snapshot", "--here", "-q"]);
    // As long as somebody collects, nothing can be stored.
    let lock =
        std::fs::File::options().read(true).append(true).open(world.workspace.home().join("store/lock")).unwrap();
    lock.lock().unwrap();
    let said = json!({ "session_id": "s", "cwd": world.workspace.path(), "hook_event_name": "UserPromptSubmit", "prompt": "go" });
    let fire = |world: &World| {
        let begun = Instant::now();
        let mut command = world.command(&["hook", "claude"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(said.to_string().as_bytes()).unwrap();
        let answer = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        (answer, begun.elapsed())
    };
    for _ in 0..2 {
        let (answer, took) = fire(&world);
        assert!(answer.contains("nothing is protected"), "{answer}");
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
    assert!(world.ok(&["statusline"]).contains("first snapshot is being taken"));
    drop(lock);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !world.ok(&["snapshots", "--json"]).contains("snap_") {
        assert!(Instant::now() < deadline, "the first snapshot never came");
        std::thread::sleep(Duration::from_millis(50));
    }
    let first = world.json(&["snapshots"])["snapshots"][0].clone();
    assert_eq!((&first["type"], &first["number"]), (&json!("turn"), &json!(1)), "{first}");
    assert!(world.ok(&["statusline"]).contains("1 snapshot"));
    assert_eq!(fire(&world).0, "");
    world.belay(&["stop", "--helper"]);
}
