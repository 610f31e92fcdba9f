//! Hooks beside `belay watch`, inside an unconfined `belay run`, and with a helper that was there before either.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::hooks::tell;
use crate::jailed::has_namespaces;
use crate::running::{records, until};
use crate::world::World;

fn said(world: &World, event: &str, id: &str, command: &str) -> Value {
    json!({"session_id": "s", "cwd": world.workspace.path(), "hook_event_name": event, "tool_use_id": id,
        "tool_name": "Bash", "tool_input": {"command": command}, "prompt": command, "prompt_id": id})
}

/// A turn of one command that a shell really carries out, told as Claude Code tells it.
fn turn(world: &mut World, prompt: &str, script: &str) {
    for event in ["UserPromptSubmit", "PreToolUse"] {
        let what = if event == "PreToolUse" { script } else { prompt };
        let said = said(world, event, &format!("id of {prompt}"), what);
        assert_eq!(tell(world, "claude", &said).stderr, "");
    }
    let status = Command::new("sh").arg("-c").arg(script).current_dir(world.workspace.path()).status();
    assert!(status.expect("a shell starts").success());
    for event in ["PostToolUse", "Stop"] {
        let said = said(world, event, &format!("id of {prompt}"), script);
        assert_eq!(tell(world, "claude", &said).stderr, "");
    }
}

fn socket(world: &World) -> PathBuf {
    use std::os::unix::fs::MetadataExt;
    let meta = world.workspace.path().metadata().expect("a workspace");
    world.workspace.home().join("helpers").join(format!("{:x}-{:x}", meta.dev(), meta.ino()))
}

/// What has to hold of a turn that wrote `two` into `a.txt`, and of another that wrote `three`.
fn assert_turns(world: &mut World) {
    let blame = world.json(&["blame", "a.txt:2"]);
    assert_eq!(blame[1]["by"][0]["prompt"], json!("add two"), "{blame}");
    assert_eq!(blame[1]["by"][0]["argv"], json!(["Bash", "echo two >> a.txt"]), "{blame}");
    assert_eq!(world.ok(&["diff", "@latest", "--stat"]), "");
    world.ok(&["undo", "@turn-2", "-y"]);
    assert_eq!(world.read("a.txt"), "one\ntwo\n");
    world.ok(&["undo", "-y"]);
    assert_eq!(world.read("a.txt"), "one\ntwo\nthree\n");
}

#[test]
fn beside_a_watch_turns_are_told_blamed_and_undone() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n").file("b.txt", "mine\n");
    world.ok(&["watch", "-q", "--detach"]);
    turn(&mut world, "add two", "echo two >> a.txt");
    until("a helper is there, too", || socket(&world).exists());
    turn(&mut world, "add three", "echo three >> a.txt");
    world.workspace.file("b.txt", "mine, changed by hand\n");
    world.ok(&["snapshot", "-q"]);
    assert_turns(&mut world);
    assert_eq!(world.read("b.txt"), "mine, changed by hand\n");
    world.ok(&["stop"]);
    world.ok(&["audit", "verify"]);
    let watch = records(&world).into_iter().find(|run| run["argv"] == json!([])).expect("a watch");
    assert_eq!(watch["state"], "ended");
}

#[test]
fn a_watch_that_begins_beside_a_helper_misses_nothing_and_takes_nothing_from_it() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    turn(&mut world, "add two", "echo two >> a.txt");
    until("a helper is there", || socket(&world).exists());
    world.ok(&["watch", "-q", "--detach"]);
    turn(&mut world, "add three", "echo three >> a.txt");
    assert_turns(&mut world);
    world.ok(&["stop"]);
    let watch = records(&world).into_iter().find(|run| run["argv"] == json!([])).expect("a watch");
    assert!(watch["totals"]["changes"].as_u64() >= Some(1), "it saw the change, too: {watch}");
    turn(&mut world, "add four", "echo four >> a.txt");
    assert_eq!(world.ok(&["diff", "@latest", "--stat"]), "");
}

/// A run without a jail, in which hooks are fired as in any other shell.
fn run_with_hooks(world: &mut World) {
    let path = world.workspace.path().display();
    let belay = env!("CARGO_BIN_EXE_belay");
    let script = format!(
        "tell() {{ echo \"{{\\\"session_id\\\":\\\"r\\\",\\\"cwd\\\":\\\"{path}\\\",\\\"hook_event_name\\\":\\\"$1\\\",\\\"prompt\\\":\\\"$2\\\",\
         \\\"tool_use_id\\\":\\\"$2\\\",\\\"tool_name\\\":\\\"Bash\\\",\\\"tool_input\\\":{{\\\"command\\\":\\\"$2\\\"}}}}\" | {belay} hook claude; }}; \
         tell UserPromptSubmit 'from the run' && tell PreToolUse t1 && echo two >> a.txt && tell PostToolUse t1 && tell Stop"
    );
    let ran = world.belay(&["run", "-q", "--isolation", "none", "--", "sh", "-c", &script]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{ran}");
    assert_eq!(world.ok(&["diff", "@latest", "--stat"]), "");
    let blame = world.json(&["blame", "a.txt:2"]);
    assert_eq!(blame[1]["by"][0]["prompt"], json!("from the run"), "{blame}");
    world.ok(&["undo", "@turn-1", "-y"]);
    assert_eq!(world.read("a.txt"), "one\n");
    world.ok(&["undo", "-y"]);
    world.ok(&["audit", "verify"]);
}

#[test]
fn inside_an_unconfined_run_a_prompt_is_a_turn_and_no_helper_is_started() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    run_with_hooks(&mut world);
    assert!(!socket(&world).exists(), "the run sees what changes by itself");
    // The same conversation goes on outside.
    let more = |event: &str, what: &str| {
        let mut said = said(&world, event, "outside", what);
        said["session_id"] = json!("r");
        said
    };
    let before = [more("UserPromptSubmit", "go on outside"), more("PreToolUse", "echo three >> a.txt")];
    let after = [more("PostToolUse", "echo three >> a.txt"), more("Stop", "")];
    before.iter().for_each(|said| drop(tell(&mut world, "claude", said)));
    world.workspace.file("a.txt", "one\ntwo\nthree\n");
    after.iter().for_each(|said| drop(tell(&mut world, "claude", said)));
    let blame = world.json(&["blame", "a.txt:3"]);
    assert_eq!(blame[1]["by"][0]["prompt"], json!("go on outside"), "{blame}");
    assert_eq!(blame[1]["by"][0]["argv"], json!(["Bash", "echo three >> a.txt"]), "{blame}");
}

/// What an agent's own process writes, with no command that ends, is captured before its next tool is used: by what the run
/// saw, as the record says.
fn captured_at_a_step(isolation: &str) {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    let path = world.workspace.path().display();
    let belay = env!("CARGO_BIN_EXE_belay");
    let script = format!(
        "tell() {{ echo \"{{\\\"session_id\\\":\\\"r\\\",\\\"cwd\\\":\\\"{path}\\\",\\\"hook_event_name\\\":\\\"$1\\\",\\\"prompt\\\":\\\"$2\\\",\
         \\\"tool_use_id\\\":\\\"$2\\\",\\\"tool_name\\\":\\\"Bash\\\",\\\"tool_input\\\":{{\\\"command\\\":\\\"$2\\\"}}}}\" | {belay} hook claude; }}; \
         tell UserPromptSubmit go; echo two > a.txt; tell PreToolUse first; echo three > a.txt; tell PreToolUse second; \
         tell PostToolUse second; echo four > a.txt"
    );
    let ran = world.belay(&["run", "-q", "--isolation", isolation, "--", "sh", "-c", &script]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{ran}");
    let list = world.json(&["snapshots"])["snapshots"].clone();
    let all = list.as_array().expect("a list");
    let find = |why: &str| all.iter().find(|one| one.to_string().contains(why)).cloned();
    for (why, content) in [("before Bash: first", "two\n"), ("before Bash: second", "three\n")] {
        let found = find(why).unwrap_or_else(|| panic!("no snapshot {why}: {list:#}"));
        let id = found["id"].as_str().expect("an id").to_owned();
        assert_eq!(world.ok(&["cat", &id, "a.txt"]), content, "{why}");
    }
    assert!(find("a tool call").is_none(), "nothing had changed by then: {list:#}");
    let log = world.ok(&["log", "--json"]);
    let by_what_it_saw = log.lines().filter(|line| line.contains("\"by_dirty_set\":true") && line.contains("\"tool\""));
    assert!(by_what_it_saw.count() >= 1, "{log}");
    world.ok(&["audit", "verify"]);
}

#[test]
fn a_step_that_nobody_could_see_is_captured_by_a_walk_and_only_if_something_changed() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    std::fs::create_dir_all(world.workspace.home()).expect("a home");
    std::fs::write(world.workspace.home().join("config.toml"), "tracing.disable_files = true\n").expect("a file");
    let belay = env!("CARGO_BIN_EXE_belay");
    let script = format!(
        "tell() {{ echo \"{{\\\"session_id\\\":\\\"r\\\",\\\"hook_event_name\\\":\\\"$1\\\",\\\"prompt\\\":\\\"$2\\\",\\\"tool_use_id\\\":\\\"$2\\\",\
         \\\"tool_name\\\":\\\"Bash\\\",\\\"tool_input\\\":{{\\\"command\\\":\\\"$2\\\"}}}}\" | {belay} hook claude; }}; \
         tell UserPromptSubmit go; tell PreToolUse first; tell PostToolUse first; echo two > a.txt; tell PreToolUse second"
    );
    let ran = world.belay(&["run", "-q", "--isolation", "none", "--", "sh", "-c", &script]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran}");
    let list = world.json(&["snapshots"])["snapshots"].to_string();
    assert!(list.contains("before Bash: second"), "{list}");
    assert!(!list.contains("before Bash: first") && !list.contains("a tool call"), "{list}");
}

#[test]
fn a_step_inside_an_unconfined_run_is_captured_by_what_the_run_saw() {
    captured_at_a_step("none");
}

#[test]
fn a_step_inside_a_jail_is_captured_by_what_the_run_saw() {
    if has_namespaces() {
        captured_at_a_step("jail");
    }
}

#[test]
fn a_helper_that_was_there_before_answers_inside_a_run_without_harm() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    let begun = json!({"session_id": "before", "cwd": world.workspace.path(), "hook_event_name": "SessionStart"});
    tell(&mut world, "claude", &begun);
    until("a helper is there", || socket(&world).exists());
    run_with_hooks(&mut world);
}
