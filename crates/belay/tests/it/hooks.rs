//! `belay hook` as agents call it: a scripted agent that tells what it does while a shell really edits files.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::jailed::has_namespaces;
use crate::mcp_client::Client;
use crate::world::{Ran, World};

/// Tells an event, as the agent would.
pub(crate) fn tell(world: &mut World, agent: &str, said: &Value) -> Ran {
    let mut command = world.command(&["hook", agent]);
    // Started elsewhere, as agents do: where they work is in what they say.
    command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("belay starts");
    let mut input = child.stdin.take().expect("it is a pipe");
    input.write_all(said.to_string().as_bytes()).expect("belay reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    Ran::of(world, output)
}

/// An event of Claude Code.
fn claude(world: &mut World, event: &str, more: Value) -> Ran {
    let mut said = json!({"session_id": "s1", "cwd": world.workspace.path(), "hook_event_name": event});
    let more = more.as_object().expect("an object").clone();
    said.as_object_mut().expect("an object").extend(more);
    let ran = tell(world, "claude", &said);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{said}");
    ran
}

fn shell(world: &mut World, id: &str, script: &str) {
    let input = json!({"tool_name": "Bash", "tool_input": {"command": script}, "tool_use_id": id});
    claude(world, "PreToolUse", input.clone());
    let status =
        Command::new("sh").arg("-c").arg(script).current_dir(world.workspace.path()).status().expect("a shell starts");
    claude(world, if status.success() { "PostToolUse" } else { "PostToolUseFailure" }, input);
}

fn prompt(world: &mut World, id: &str, text: &str) {
    claude(world, "UserPromptSubmit", json!({"prompt": text, "prompt_id": id}));
}

#[test]
fn turns_and_tool_calls_can_be_named_blamed_and_undone_without_a_run() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n").file("mine.txt", "mine\n");
    prompt(&mut world, "p1", "add a second line");
    shell(&mut world, "t1", "echo two >> a.txt");
    claude(&mut world, "Stop", json!({}));
    world.workspace.file("mine.txt", "mine, edited between the turns\n");
    prompt(&mut world, "p2", "make a mess");
    shell(&mut world, "t2", "echo three >> a.txt; mkdir d; echo x > d/x");
    shell(&mut world, "t3", "rm mine.txt; exit 3");
    claude(&mut world, "Stop", json!({}));
    world.workspace.file("later.txt", "after the turn\n");

    let blame = world.json(&["blame", "a.txt:2"]);
    assert_eq!(blame[1]["by"][0]["argv"], json!(["Bash", "echo two >> a.txt"]), "{blame}");
    assert_eq!(blame[1]["by"][0]["prompt"], json!("add a second line"));
    let log = world.ok(&["log"]);
    assert!(log.contains("#3 Bash 'rm mine.txt; exit 3'") && log.contains("D mine.txt"), "{log}");

    world.ok(&["undo", "@turn-2", "-y"]);
    assert_eq!(world.read("a.txt"), "one\ntwo\n");
    assert_eq!(world.read("mine.txt"), "mine, edited between the turns\n");
    assert_eq!(world.read("later.txt"), "after the turn\n", "what came after the turn stays");
    assert!(!world.has("d"));
    world.ok(&["undo", "-y"]);
    world.ok(&["undo", "--command", "3", "-y"]);
    assert_eq!((world.read("mine.txt").as_str(), world.has("d/x")), ("mine, edited between the turns\n", true));
    world.ok(&["rollback", "@turn-1", "-y"]);
    assert_eq!(world.read("a.txt"), "one\n");
    world.ok(&["audit", "verify"]);
}

#[test]
fn nothing_changed_takes_no_snapshot_and_nothing_is_told_twice() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    prompt(&mut world, "p1", "look around");
    prompt(&mut world, "p1", "look around");
    shell(&mut world, "t1", "cat a.txt > /dev/null");
    shell(&mut world, "t1", "echo again >> a.txt");
    let kinds = |world: &mut World| -> Vec<String> {
        let list = world.json(&["snapshots"]);
        list["snapshots"].as_array().unwrap().iter().map(|one| one["type"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(&mut world), ["turn"], "the second telling of t1 is no news, and cat changes nothing");
    shell(&mut world, "t2", "echo more >> a.txt");
    assert_eq!(kinds(&mut world).iter().filter(|kind| *kind == "tool").count(), 2, "before it and after it");
    let cursor = json!({"conversation_id": "k", "generation_id": "g", "hook_event_name": "beforeSubmitPrompt",
        "workspace_roots": [world.workspace.path()], "prompt": "both fire"});
    assert_eq!(tell(&mut world, "cursor", &cursor).stdout, "{}\n");
    tell(&mut world, "claude", &cursor);
    assert_eq!(kinds(&mut world).iter().filter(|kind| *kind == "turn").count(), 2);
}

#[test]
fn prompts_can_be_kept_as_a_hash_alone() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    std::fs::create_dir_all(world.workspace.home()).unwrap();
    std::fs::write(world.workspace.home().join("config.toml"), "agents.hide_prompts = true\n").unwrap();
    prompt(&mut world, "p1", "my secret plan");
    let list = world.json(&["snapshots"]).to_string();
    assert!(!list.contains("secret") && list.contains("prompt "), "{list}");
}

#[test]
fn a_hook_fails_open_and_loudly_and_the_status_line_tells() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    prompt(&mut world, "p1", "begin");
    let line = world.ok(&["statusline"]);
    assert!(line.contains("1 snapshot") && line.contains("@turn-1"), "{line}");
    std::fs::write(world.workspace.home().join("config.toml"), "snapshots.disabled = true\n").unwrap();
    let said = json!({"session_id": "s1", "cwd": world.workspace.path(), "hook_event_name": "Stop"});
    let ran = tell(&mut world, "claude", &said);
    assert_eq!(ran.code, 0, "an agent is never held up");
    assert!(ran.stdout.contains("systemMessage") && ran.stderr.contains("not protected"), "{ran}");
    let line = world.ok(&["statusline"]);
    assert!(line.contains("missed a step"), "{line}");
    std::fs::remove_file(world.workspace.home().join("config.toml")).unwrap();
    prompt(&mut world, "p2", "again");
    assert!(!world.ok(&["statusline"]).contains("missed"));
    for (agent, said) in [("claude", "not json"), ("gemini", "{}"), ("cursor", "[]"), ("codex", "")] {
        let mut command = world.command(&["hook", agent]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(said.as_bytes()).unwrap();
        assert!(child.wait_with_output().unwrap().status.success(), "{agent} {said}");
    }
}

#[test]
fn a_repository_is_the_workspace_of_whoever_works_somewhere_in_it() {
    let mut world = World::new();
    world.workspace.dir(".git").file("src/deep/a.txt", "one\n");
    let said = json!({"session_id": "s", "cwd": world.workspace.join("src/deep"), "hook_event_name": "UserPromptSubmit", "prompt": "x"});
    tell(&mut world, "claude", &said);
    let list = world.json(&["workspaces"]);
    assert_eq!(list["workspaces"][0]["path"], json!(world.workspace.path()), "{list}");
}

#[test]
fn inside_a_jail_a_prompt_is_a_turn_of_the_run() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    let script = "tell() { echo \"{\\\"session_id\\\":\\\"s\\\",\\\"hook_event_name\\\":\\\"$1\\\",\\\"prompt\\\":\\\"$2\\\"}\" | belay hook claude; }; \
                  tell UserPromptSubmit 'from inside' && echo two > a.txt && tell PreToolUse && tell Stop";
    let ran = world.belay(&["run", "-q", "--isolation", "jail", "--", "sh", "-c", script]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran}");
    let blame = world.json(&["blame", "a.txt"]);
    assert_eq!(blame[0]["by"][0]["prompt"], json!("from inside"), "{blame}");
    world.ok(&["undo", "@turn-1", "-y"]);
    assert_eq!(world.read("a.txt"), "one\n");
}

/// The status line as Claude Code asks for it.
fn status_line(world: &mut World, session: &str) -> String {
    let said = json!({"session_id": session, "workspace": {"project_dir": world.workspace.path()}});
    let mut command = world.command(&["statusline"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("belay starts");
    child.stdin.take().expect("it is a pipe").write_all(said.to_string().as_bytes()).expect("belay reads");
    String::from_utf8(child.wait_with_output().expect("it ends").stdout).expect("text")
}

#[test]
fn what_no_hook_told_turns_the_status_line_red_until_the_next_prompt() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    prompt(&mut world, "p1", "begin");
    shell(&mut world, "t1", "echo two >> a.txt");
    assert!(!status_line(&mut world, "s1").contains("hook"), "a call that was told is no surprise");
    world.workspace.file("a.txt", "by a tool that has no hook\n").file("b.txt", "new\n");
    shell(&mut world, "t2", "true");
    let line = status_line(&mut world, "s1");
    assert!(line.contains("2 paths changed without a hook that told"), "{line}");
    claude(&mut world, "Stop", json!({}));
    world.workspace.file("a.txt", "by a person, after the turn\n");
    prompt(&mut world, "p2", "go on");
    let line = status_line(&mut world, "s1");
    assert!(!line.contains("hook") && line.contains("@turn-2"), "{line}");
    world.ok(&["rollback", "@turn-1", "-y"]);
    shell(&mut world, "t3", "true");
    assert!(!status_line(&mut world, "s1").contains("hook"), "a rollback is no surprise");
    let silent = status_line(&mut world, "s2");
    assert!(silent.contains("the hooks of this session are silent"), "{silent}");
}

#[test]
fn a_tool_call_that_two_tell_is_one() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    let said = |world: &World, event: &str, more: Value| {
        let mut said = json!({"conversation_id": "k", "generation_id": "g", "hook_event_name": event,
            "workspace_roots": [world.workspace.path()]});
        said.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        said
    };
    let ask = said(&world, "beforeSubmitPrompt", json!({"prompt": "twice"}));
    tell(&mut world, "cursor", &ask);
    let own = said(&world, "beforeShellExecution", json!({"command": "echo two >> a.txt"}));
    let input = json!({"tool_name": "Shell", "tool_input": {"command": "echo two >> a.txt"}, "tool_use_id": "u1"});
    let claudes = said(&world, "preToolUse", input.clone());
    tell(&mut world, "cursor", &own);
    tell(&mut world, "claude", &claudes);
    world.workspace.file("a.txt", "one\ntwo\n");
    let own = said(&world, "afterShellExecution", json!({"command": "echo two >> a.txt"}));
    let claudes = said(&world, "postToolUse", input);
    tell(&mut world, "claude", &claudes);
    tell(&mut world, "cursor", &own);
    let log = world.ok(&["log"]);
    assert_eq!(log.matches("echo two").count(), 1, "{log}");
    assert!(log.contains("M a.txt"), "{log}");
    let blame = world.json(&["blame", "a.txt:2"]);
    assert_eq!(blame[1]["by"][0]["prompt"], json!("twice"), "{blame}");
}

#[test]
fn what_is_reverted_during_a_turn_is_recorded_with_its_checkpoint() {
    let mut world = World::new();
    world.workspace.file("x", "one\n");
    prompt(&mut world, "p1", "try it");
    let (mut client, _) = Client::greet(world.command(&["mcp"]), "2025-11-25");
    shell(&mut world, "t0", "echo zero > x");
    let (_, back) = client.ok("snapshots_revert", json!({"path": "x"}));
    assert_eq!(back["action"], json!("restored"), "what hooks captured after the change is not the way back: {back}");
    assert_eq!(world.read("x"), "one\n");
    client.ok("snapshots_create", json!({"name": "base"}));
    shell(&mut world, "t1", "echo two > x; echo new > y");
    client.ok("snapshots_revert", json!({"path": "x"}));
    client.ok("snapshots_revert", json!({"path": "y", "checkpoint": "base"}));
    let query = "SELECT path FROM fs_events WHERE action = 'restored' ORDER BY id";
    let rows = world.ok(&["sql", "@latest", query]);
    let rows: Vec<&str> = rows.lines().skip(1).map(str::trim).collect();
    assert!(rows.len() == 3 && rows[0].starts_with("x (from snap_"), "{rows:?}");
    assert_eq!(rows[1..], ["x (from cp-10)", "y (from cp-10)"]);
    world.ok(&["audit", "verify"]);
}

#[test]
fn the_end_of_what_never_began_is_no_run() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    claude(&mut world, "SessionEnd", json!({"reason": "other"}));
    assert_eq!(world.ok(&["runs", "--json"]), "");
}
