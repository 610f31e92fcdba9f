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
    // It says something only after a rollback, and that to the agent alone.
    let is_quiet = ran.stdout.is_empty() || ran.stdout.contains("the user took changes in this workspace back");
    assert!(is_quiet && (ran.code, ran.stderr.as_str()) == (0, ""), "{said}: {ran}");
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
    let places: Vec<_> = ["@turn-1", "#1 Bash", "@turn-2", "#2 Bash", "#3 Bash"].map(|what| log.find(what)).to_vec();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "in the order in which it happened: {log}");
    let long = world.ok(&["snapshots", "--long"]);
    assert!(long.contains(" FOR ") && long.contains("@turn-2 make a mess"), "{long}");

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
fn whoever_names_nothing_after_a_turn_is_told_how_to_take_it_back() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    prompt(&mut world, "p1", "add a line");
    shell(&mut world, "t1", "echo two >> a.txt");
    claude(&mut world, "Stop", json!({}));
    for words in [&["rollback", "-y"][..], &["rollback", "--dry-run"], &["undo", "-y"]] {
        let ran = world.belay(words);
        assert!(ran.stderr.contains("`belay undo @turn-1` takes back what the agent did"), "{words:?}: {ran}");
    }
    let changes = world.belay(&["changes"]);
    assert!(changes.stderr.contains("`belay changes @turn-1`"), "{changes}");
    let since = world.ok(&["changes", "@turn-1"]);
    assert!(since.contains("a.txt"), "{since}");
    // Who names a snapshot knows what is meant.
    let named = world.belay(&["rollback", "@latest", "-y"]);
    assert!(!named.stderr.contains("@turn-1"), "{named}");
    world.ok(&["undo", "@turn-1", "-y"]);
    assert_eq!(world.read("a.txt"), "one\n");
}

#[test]
fn the_paths_of_a_conversation_are_counted_alike_wherever_they_are_told() {
    let mut world = World::new();
    prompt(&mut world, "p1", "write a log");
    for (call, line) in [("t1", "one"), ("t2", "two")] {
        shell(&mut world, call, &format!("echo {line} >> log.txt"));
        let (listed, shown) = (world.json(&["runs"])["changes"].clone(), world.ok(&["show", "@latest"]));
        assert_eq!(listed, json!(1), "in the middle of the turn");
        assert!(shown.contains("1 path\n"), "{shown}");
        assert!(shown.contains("a turn goes on (told by hooks)"), "{shown}");
    }
    claude(&mut world, "Stop", json!({}));
    let shown = world.ok(&["show", "@latest"]);
    assert!(shown.contains("its last turn after "), "{shown}");
    assert_eq!(world.json(&["runs"])["changes"], json!(1));
    assert_eq!(world.json(&["show", "@latest"])["changes"], json!(1));
}

#[test]
fn a_hook_that_is_called_wrongly_says_so_and_blocks_nobody() {
    let mut world = World::new();
    // As settings may have it that another version of belay wrote.
    for words in [&["hook", "nobody"][..], &["hook", "claude", "--later"], &["hook"]] {
        let ran = world.belay(words);
        assert_eq!(ran.code, 1, "2 means to agents that the call must not go on: {ran}");
        assert!(ran.stderr.contains("error: "), "{ran}");
    }
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
    assert_eq!(
        tell(&mut world, "claude", &cursor).stdout,
        "{}\n",
        "Cursor ran Claude Code's hook, and reads an answer"
    );
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
    world.workspace.file("a.txt", "two\n");
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

/// The event with which Claude Code tells that its settings were changed.
fn config_change(world: &mut World) -> Ran {
    let settings = world.workspace.base().join(".claude/settings.json");
    let said = json!({"session_id": "s1", "cwd": world.workspace.path(), "hook_event_name": "ConfigChange",
        "source": "user_settings", "file_path": settings});
    tell(world, "claude", &said)
}

#[test]
fn whoever_takes_the_hooks_out_raises_an_alarm_until_they_are_back() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    let settings = world.workspace.base().join(".claude/settings.json");
    world.ok(&["install", "claude", "--no-probe"]);
    let installed = std::fs::read_to_string(&settings).unwrap();
    prompt(&mut world, "p1", "be nice");
    assert_eq!(config_change(&mut world).stdout, "", "a change of something else is no alarm");

    let mut without: Value = serde_json::from_str(&installed).unwrap();
    without["hooks"].as_object_mut().unwrap().remove("PreToolUse");
    std::fs::write(&settings, without.to_string()).unwrap();
    let ran = config_change(&mut world);
    assert_eq!(ran.code, 0);
    let told: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let message = told["systemMessage"].as_str().expect("a message to the user");
    assert!(message.contains("belay's hooks were taken out of Claude Code's settings (PreToolUse)"), "{message}");
    let line = status_line(&mut world, "s1");
    assert!(
        line.contains("not protected") && line.contains("PreToolUse") && line.contains("belay install claude"),
        "{line}"
    );
    assert!(world.ok(&["log"]).contains("taken out of Claude Code's settings"), "the record says so as well");
    prompt(&mut world, "p2", "go on");
    assert!(status_line(&mut world, "s1").contains("not protected"), "a snapshot is no reason to be calm");

    std::fs::write(&settings, "{ \"disableAllHooks\": true }").unwrap();
    assert!(config_change(&mut world).stdout.contains("disableAllHooks"));
    std::fs::write(&settings, installed).unwrap();
    assert!(!status_line(&mut world, "s1").contains("not protected"));
    claude(&mut world, "SessionStart", json!({"source": "startup"}));
    std::fs::write(&settings, "{}").unwrap();
    assert!(!status_line(&mut world, "s1").contains("not protected"), "the alarm was over; `belay doctor` looks");
}

#[test]
fn a_copy_for_an_agent_is_a_fork_with_what_git_leaves_out() {
    let mut world = World::new();
    world.workspace.dir(".git").file(".gitignore", ".env\n").file(".env", "secret\n").file("a.txt", "dirty\n");
    let settings = world.workspace.base().join(".claude/settings.json");
    world.ok(&["install", "claude", "--no-probe"]);
    assert!(!std::fs::read_to_string(&settings).unwrap().contains("WorktreeCreate"), "nobody gets it unasked");
    world.ok(&["install", "claude", "--no-probe", "--worktrees"]);
    assert!(std::fs::read_to_string(&settings).unwrap().contains("WorktreeCreate"));
    prompt(&mut world, "p1", "work apart");
    let said = json!({"session_id": "s1", "cwd": world.workspace.path(), "hook_event_name": "WorktreeCreate", "name": "feature/x"});
    let ran = tell(&mut world, "claude", &said);
    assert_eq!(ran.code, 0, "{ran}");
    let path = std::path::PathBuf::from(ran.raw().trim_end());
    assert!(path.is_absolute() && ran.raw().lines().count() == 1, "{ran}");
    assert_eq!(std::fs::read_to_string(path.join(".env")).unwrap(), "secret\n");
    assert_eq!(std::fs::read_to_string(path.join("a.txt")).unwrap(), "dirty\n");
    let second = tell(&mut world, "claude", &said);
    assert_ne!(second.raw(), ran.raw(), "a name that is taken gets a number");

    std::fs::write(path.join("a.txt"), "worked on\n").unwrap();
    let gone = json!({"session_id": "s1", "cwd": world.workspace.path(), "hook_event_name": "WorktreeRemove", "worktree_path": path});
    assert_eq!(tell(&mut world, "claude", &gone).stderr, "");
    let kept = world.ok(&["-C", path.to_str().unwrap(), "cat", "@latest", "a.txt"]);
    assert_eq!(kept, "worked on\n", "what is about to go was captured");
    world.ok(&["pick", "feature-x", "-y"]);
    assert_eq!(world.read("a.txt"), "worked on\n");
    world.ok(&["uninstall", "claude"]);
    assert!(!settings.exists() || !std::fs::read_to_string(&settings).unwrap().contains("belay"));
}

#[test]
fn a_shell_that_goes_through_belay_captures_what_no_hook_told() {
    use std::os::unix::fs::PermissionsExt;
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    world.ok(&["install", "claude", "--no-probe", "--shell"]);
    let settings: Value =
        serde_json::from_str(&std::fs::read_to_string(world.workspace.base().join(".claude/settings.json")).unwrap())
            .unwrap();
    let shell = std::path::PathBuf::from(settings["env"]["CLAUDE_CODE_SHELL_PREFIX"].as_str().expect("a path"));
    assert_eq!(shell.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    world.snapshot();
    let snapshots = |world: &mut World| world.json(&["snapshots"])["snapshots"].as_array().map_or(0, Vec::len);
    let run = |world: &World, script: &str| {
        let mut command = Command::new(&shell);
        command
            .env("BELAY_HOME", world.workspace.home())
            .env("HOME", world.workspace.base())
            .env_remove("XDG_DATA_HOME");
        command.arg(script).current_dir(world.workspace.path()).output().expect("a shell starts")
    };
    let ran = run(&world, "echo \"$0 it's\"; echo two > a.txt; exit 7");
    assert_eq!((ran.status.code(), String::from_utf8_lossy(&ran.stdout).as_ref()), (Some(7), "bash it's\n"));
    assert_eq!(snapshots(&mut world), 1, "nothing had changed before it");
    run(&world, "rm a.txt");
    assert_eq!(snapshots(&mut world), 2, "what it removed was captured first");
    assert_eq!(world.ok(&["cat", "@latest", "a.txt"]), "two\n");
    let list = world.json(&["snapshots"]).to_string();
    assert!(list.contains("shell: rm a.txt"), "{list}");
    // Without belay it is a shell all the same.
    let text = std::fs::read_to_string(&shell).unwrap();
    std::fs::write(&shell, text.replace(env!("CARGO_BIN_EXE_belay"), "/gone/belay")).unwrap();
    assert_eq!(run(&world, "echo still").stdout, b"still\n");
    world.ok(&["uninstall", "claude"]);
    assert!(!shell.exists());
}
