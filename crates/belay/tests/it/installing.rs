//! `belay install` and `belay uninstall` on settings as people really have them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::world::World;

const SETTINGS: &str = r#"{
  // My model.
  "model": "opus",
  "permissions": { "allow": ["Bash(ls:*)"] },
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "audit.sh" }] } // Ours at work.
    ]
  }
}
"#;

pub(crate) fn place(world: &World, name: &str) -> PathBuf {
    let path = world.workspace.base().join(name);
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory can be made");
    path
}

pub(crate) fn read(world: &World, name: &str) -> String {
    fs::read_to_string(place(world, name)).unwrap_or_default()
}

#[test]
fn claude_is_connected_once_and_disconnected_without_a_trace() {
    let mut world = World::new();
    fs::write(place(&world, ".claude/settings.json"), SETTINGS).unwrap();
    fs::write(place(&world, ".claude.json"), "{\"numStartups\": 7}").unwrap();
    let ran = world.belay(&["install", "claude"]);
    let shown = ran.raw();
    assert_eq!(ran.code, 5, "Claude Code reads nothing of settings with comments: {ran}");
    assert!(shown.contains("+    \"UserPromptSubmit\": [") && !shown.contains("-  \"model\""), "{shown}");
    let settings = read(&world, ".claude/settings.json");
    for piece in ["// My model.", "audit.sh", "// Ours at work.", "\"statusLine\"", "\"PostToolUseFailure\""] {
        assert!(settings.contains(piece), "{piece} is missing: {settings}");
    }
    let servers: Value = serde_json::from_str(&read(&world, ".claude.json")).unwrap();
    assert_eq!(servers["mcpServers"]["belay"]["args"], serde_json::json!(["mcp"]));
    assert_eq!(servers["numStartups"], 7);
    assert_eq!(read(&world, ".claude/settings.json.belay-backup"), SETTINGS);
    let again = world.belay(&["install", "claude"]);
    assert!(again.stdout.is_empty() && again.stderr.contains("everything is in place"), "{again}");
    assert_eq!(read(&world, ".claude/settings.json"), settings, "doing it again changes nothing");
    world.ok(&["uninstall", "claude"]);
    assert_eq!(read(&world, ".claude/settings.json"), SETTINGS);
    assert_eq!(read(&world, ".claude.json"), "{\"numStartups\": 7}");
    assert!(!place(&world, ".claude/settings.json.belay-backup").exists(), "nor does what it says twice");
}

#[test]
fn a_project_has_nothing_written_elsewhere_and_no_pipe_is_waited_for() {
    let mut world = World::new();
    let outside = world.workspace.outside().join("profile");
    fs::write(&outside, "mine\n").unwrap();
    let settings = world.workspace.join(".claude/settings.json");
    let backup = world.workspace.join(".claude/settings.json.belay-backup");
    fs::create_dir_all(world.workspace.join(".claude")).unwrap();
    // What was there is kept beside it, and not where a link of that name leads.
    fs::write(&settings, "{\n\"x\": \"$(touch x)\"\n}\n").unwrap();
    std::os::unix::fs::symlink(&outside, &backup).unwrap();
    world.ok(&["install", "claude", "--project", "--no-probe"]);
    assert_eq!(fs::read_to_string(&outside).unwrap(), "mine\n");
    assert!(fs::symlink_metadata(&backup).unwrap().is_file());
    // Settings that are themselves somewhere else, there or not yet.
    for to in [outside.clone(), world.workspace.outside().join("new")] {
        fs::remove_file(&settings).unwrap();
        std::os::unix::fs::symlink(&to, &settings).unwrap();
        let ran = world.belay(&["install", "claude", "--project", "--no-probe"]);
        assert!(ran.code != 0 && ran.stderr.contains("leads out of the project"), "{ran}");
        assert!(fs::read_to_string(&outside).unwrap() == "mine\n" && !world.workspace.outside().join("new").exists());
    }
    fs::remove_file(&settings).unwrap();
    world.workspace.fifo(".claude/settings.json");
    assert_ne!(world.belay(&["install", "claude", "--project", "--no-probe"]).code, 0);
    assert_ne!(world.belay(&["uninstall", "claude", "--project"]).code, 0);
}

#[test]
fn what_was_not_there_goes_again_and_what_somebody_changed_meanwhile_stays() {
    let mut world = World::new();
    world.ok(&["install", "claude", "gemini", "--no-probe"]);
    world.ok(&["uninstall", "claude", "gemini"]);
    for name in [".claude.json", ".claude/settings.json", ".gemini/settings.json"] {
        assert!(!place(&world, name).exists(), "{name}");
        assert!(!place(&world, &format!("{name}.belay-backup")).exists(), "{name}");
    }
    fs::write(place(&world, ".gemini/settings.json"), "").unwrap();
    fs::write(place(&world, ".claude/settings.json"), SETTINGS).unwrap();
    world.ok(&["install", "claude", "gemini", "--no-probe"]);
    let with = read(&world, ".claude/settings.json").replace("  // My model.\n", "");
    fs::write(place(&world, ".claude/settings.json"), with).unwrap();
    world.ok(&["uninstall", "claude", "gemini"]);
    assert_eq!(read(&world, ".gemini/settings.json"), "");
    let left = read(&world, ".claude/settings.json");
    assert!(!left.contains("My model") && left.contains("// Ours at work.") && !left.contains("belay"), "{left}");
}

#[test]
fn what_is_not_there_is_said_as_such_and_the_nearest_agent_is_proposed() {
    let mut world = World::new();
    world.ok(&["install", "claude", "--no-probe"]);
    world.ok(&["uninstall", "claude"]);
    let again = world.belay(&["uninstall", "claude"]);
    assert!(again.code == 0 && again.stderr.contains("nothing of belay in its settings"), "{again}");
    for (typed, meant) in [("clod", "claude"), ("Claud", "claude"), ("codx", "codex"), ("copylot", "copilot")] {
        let ran = world.belay(&["install", typed]);
        assert!(ran.code == 2 && ran.stderr.contains(&format!("'{meant}'")), "{typed}: {ran}");
    }
    let none = world.belay(&["install", "vim"]);
    assert!(none.code == 2 && !none.stderr.contains("similar"), "{none}");
}

#[test]
fn settings_that_claude_code_does_not_read_are_named() {
    let mut world = World::new();
    fs::write(place(&world, ".claude/settings.json"), SETTINGS).unwrap();
    let ran = world.belay(&["install", "claude"]);
    assert_eq!(ran.code, 5, "it is in place and protects from nothing: {ran}");
    assert!(ran.stderr.contains("will not be run: Claude Code reads nothing of"), "{ran}");
    let doctor = world.belay(&["doctor"]);
    assert!(doctor.code == 1 && doctor.stdout.contains("comments or odd commas"), "{doctor}");
}

#[test]
fn every_agent_is_connected_proven_and_disconnected() {
    let mut world = World::new();
    for dir in [".claude", ".codex", ".gemini", ".cursor", ".config/opencode", ".copilot"] {
        fs::create_dir_all(world.workspace.base().join(dir)).unwrap();
    }
    let config = "# mine\nmodel = \"gpt\"\n\n[mcp_servers.other]\ncommand = \"x\"\n";
    fs::write(place(&world, ".codex/config.toml"), config).unwrap();
    let ran = world.belay(&["install", "--all"]);
    assert_eq!(ran.code, 0, "{ran}");
    for agent in ["claude", "codex", "gemini", "cursor", "opencode", "copilot"] {
        assert!(ran.stderr.contains(&format!("{agent}: connected")), "{agent}: {ran}");
    }
    assert!(ran.stderr.contains("trust belay"), "{ran}");
    let toml: toml::Table = read(&world, ".codex/config.toml").parse().unwrap();
    assert_eq!(toml["mcp_servers"]["belay"]["args"][0].as_str(), Some("mcp"));
    for (file, piece) in [
        (".codex/hooks.json", "hook codex"),
        (".gemini/settings.json", "\"timeout\": 20000"),
        (".cursor/hooks.json", "\"version\": 1"),
        (".cursor/mcp.json", "mcpServers"),
        (".config/opencode/plugins/belay.js", "tool.execute.before"),
        (".config/opencode/opencode.json", "\"local\""),
        (".copilot/mcp-config.json", "mcpServers"),
        (".copilot/hooks/belay.json", "hook copilot userPromptSubmitted"),
    ] {
        assert!(read(&world, file).contains(piece), "{file}: {}", read(&world, file));
    }
    world.ok(&["uninstall", "--all"]);
    assert_eq!(read(&world, ".codex/config.toml"), config);
    assert!(!world.workspace.base().join(".config/opencode/plugins/belay.js").exists());
    for file in [".codex/hooks.json", ".gemini/settings.json", ".cursor/mcp.json"] {
        assert!(!read(&world, file).contains("belay"), "{file}");
    }
}

#[test]
fn what_cannot_be_understood_or_must_not_be_written_is_refused_and_untouched() {
    for (text, why) in [
        ("{ \"model\": ", "cannot be understood"),
        ("model = 1", "cannot be understood"),
        ("[]", "an object was expected"),
    ] {
        let mut world = World::new();
        fs::write(place(&world, ".claude/settings.json"), text).unwrap();
        let ran = world.belay(&["install", "claude"]);
        assert_eq!(ran.code, 4, "{ran}");
        assert!(ran.stderr.contains(why) && ran.stderr.contains("nothing was changed"), "{ran}");
        assert_eq!(read(&world, ".claude/settings.json"), text);
        assert!(!world.workspace.base().join(".claude.json").exists(), "nothing of that agent is written then");
    }
    let mut world = World::new();
    let path = place(&world, ".claude/settings.json");
    fs::write(&path, SETTINGS).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let ran = world.belay(&["install", "claude"]);
    assert!(ran.code == 4 && ran.stderr.contains("is read-only"), "{ran}");
    assert_eq!(read(&world, ".claude/settings.json"), SETTINGS);
}

#[test]
fn somebody_elses_status_line_and_plugin_stay_and_a_link_is_written_through() {
    let mut world = World::new();
    let real = place(&world, "dotfiles/settings.json");
    fs::write(&real, "{ \"statusLine\": { \"type\": \"command\", \"command\": \"mine.sh\" } }").unwrap();
    std::os::unix::fs::symlink(&real, place(&world, ".claude/settings.json")).unwrap();
    world.ok(&["install", "claude", "--no-probe"]);
    assert!(fs::symlink_metadata(place(&world, ".claude/settings.json")).unwrap().is_symlink());
    let text = fs::read_to_string(&real).unwrap();
    assert!(
        text.contains("mine.sh") && !text.contains("belay statusline") && text.contains(" hook claude\""),
        "{text}"
    );
    fs::write(place(&world, ".config/opencode/plugins/belay.js"), "export const X = 1;\n").unwrap();
    let ran = world.belay(&["install", "opencode"]);
    assert!(ran.code == 4 && ran.stderr.contains("not belay's"), "{ran}");
    assert_eq!(read(&world, ".config/opencode/plugins/belay.js"), "export const X = 1;\n");
}

#[test]
fn a_dry_run_shows_and_writes_nothing() {
    let mut world = World::new();
    let ran = world.belay(&["install", "gemini", "--dry-run"]);
    assert!(ran.code == 0 && ran.raw().contains("+    \"BeforeTool\": ["), "{ran}");
    assert!(!world.workspace.base().join(".gemini").exists());
}

#[test]
fn the_doctor_proves_what_works_and_connects_what_does_not() {
    let mut world = World::new();
    fs::create_dir_all(world.workspace.base().join(".gemini")).unwrap();
    let ran = world.belay(&["doctor"]);
    assert!(ran.stdout.contains("a file was changed and brought back"), "{ran}");
    assert!(ran.stdout.contains("a command and its file were recorded"), "{ran}");
    assert!(ran.stdout.contains("tools  works  an MCP client listed the snapshots"), "{ran}");
    assert!(ran.stdout.contains("gemini hooks  missing  not connected"), "{ran}");
    assert_eq!(ran.code, 1, "{ran}");
    let fixed = world.belay(&["doctor", "--fix"]);
    assert!(fixed.stdout.contains("connected; a hook made a snapshot"), "{fixed}");
    let settings = "{ \"disableAllHooks\": true }";
    fs::write(place(&world, ".claude/settings.json"), settings).unwrap();
    let silenced = world.belay(&["doctor", "--fix"]);
    assert!(silenced.stdout.contains("disableAllHooks switches hooks off"), "{silenced}");
}

#[test]
fn an_agent_is_connected_wholly_or_not_at_all() {
    let mut world = World::new();
    let settings = place(&world, ".claude/settings.json");
    fs::write(&settings, SETTINGS).unwrap();
    let servers = place(&world, ".claude.json");
    fs::write(&servers, "{}").unwrap();
    fs::set_permissions(&servers, fs::Permissions::from_mode(0o400)).unwrap();
    let ran = world.belay(&["install", "claude"]);
    assert!(ran.code == 4 && ran.stderr.contains("is read-only"), "{ran}");
    assert_eq!(read(&world, ".claude/settings.json"), SETTINGS, "the other file stays as well");
}

#[test]
fn empty_files_links_to_nothing_yet_and_the_first_backup() {
    let mut world = World::new();
    fs::write(place(&world, ".gemini/settings.json"), "\n").unwrap();
    world.ok(&["install", "gemini", "--no-probe"]);
    assert!(read(&world, ".gemini/settings.json").contains("\"BeforeAgent\""));
    let real = place(&world, "dotfiles/settings.json");
    std::os::unix::fs::symlink(&real, place(&world, ".claude/settings.json")).unwrap();
    world.ok(&["install", "claude", "--no-probe"]);
    assert!(fs::symlink_metadata(place(&world, ".claude/settings.json")).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains(" hook claude\""), "the link is written through");

    let mut world = World::new();
    fs::write(place(&world, ".claude/settings.json"), SETTINGS).unwrap();
    world.ok(&["install", "claude", "--no-probe"]);
    let moved = read(&world, ".claude/settings.json").replace("/belay hook", "/old/belay hook");
    fs::write(place(&world, ".claude/settings.json"), moved).unwrap();
    world.ok(&["install", "claude", "--no-probe"]);
    assert_eq!(read(&world, ".claude/settings.json.belay-backup"), SETTINGS, "what belay wrote is no backup");
}

#[test]
fn the_doctor_knows_what_codex_does_not_trust_yet() {
    let mut world = World::new();
    fs::create_dir_all(world.workspace.base().join(".codex")).unwrap();
    world.ok(&["install", "codex", "--no-probe"]);
    let ran = world.belay(&["doctor"]);
    assert!(ran.code == 1 && ran.stdout.contains("connected, but Codex does not trust them yet"), "{ran}");
    let hooks = place(&world, ".codex/hooks.json");
    let mut config = read(&world, ".codex/config.toml");
    for event in ["user_prompt_submit", "pre_tool_use"] {
        config.push_str(&format!("\n[hooks.state.\"{}:{event}:0:0\"]\ntrusted_hash = \"sha256:x\"\n", hooks.display()));
    }
    fs::write(place(&world, ".codex/config.toml"), config).unwrap();
    let ran = world.belay(&["doctor"]);
    assert!(ran.stdout.contains("connected, but they were changed since Codex was told to trust them"), "{ran}");
}

#[test]
fn what_somebody_made_of_a_server_stays_and_only_the_program_is_renewed() {
    let mut world = World::new();
    let base = world.workspace.base().to_owned();
    fs::create_dir_all(base.join(".gemini")).unwrap();
    fs::create_dir_all(base.join(".config/opencode")).unwrap();
    fs::create_dir_all(base.join(".codex")).unwrap();
    let narrow = json!({ "mcpServers": { "belay": { "command": "/old/belay", "args": ["mcp", "--read-only"],
        "env": { "A": "b" } } } });
    fs::write(base.join(".gemini/settings.json"), narrow.to_string()).unwrap();
    let own = json!({ "mcp": { "belay": { "type": "local", "command": ["docker", "run", "belay-mcp"] } } });
    fs::write(base.join(".config/opencode/opencode.json"), own.to_string()).unwrap();
    world.ok(&["install", "gemini", "opencode", "codex", "--no-probe"]);
    let settings: Value = serde_json::from_str(&read(&world, ".gemini/settings.json")).unwrap();
    let server = &settings["mcpServers"]["belay"];
    assert_eq!(server["args"], json!(["mcp", "--read-only"]), "{server}");
    assert_eq!(server["env"]["A"], json!("b"));
    assert_ne!(server["command"], json!("/old/belay"));
    let left: Value = serde_json::from_str(&read(&world, ".config/opencode/opencode.json")).unwrap();
    assert_eq!(left, own, "a server that is not belay's program is left alone");
    let config = read(&world, ".codex/config.toml").replace("args = [\"mcp\"]", "args = [\"mcp\", \"--read-only\"]");
    fs::write(base.join(".codex/config.toml"), &config).unwrap();
    world.ok(&["install", "codex", "--no-probe"]);
    assert_eq!(read(&world, ".codex/config.toml"), config);
    let moved = config.replace("/belay\"", "/old/belay\"");
    assert_ne!(moved, config);
    fs::write(base.join(".codex/config.toml"), &moved).unwrap();
    world.ok(&["install", "codex", "--no-probe"]);
    assert_eq!(read(&world, ".codex/config.toml"), config, "the program is renewed, and nothing else");
}

#[test]
fn what_is_written_for_a_project_is_written_nowhere_else() {
    let mut world = World::new();
    for (agent, files) in [
        ("claude", [".claude/settings.json", ".mcp.json"]),
        ("codex", [".codex/hooks.json", ".codex/config.toml"]),
        ("gemini", [".gemini/settings.json"; 2]),
        ("cursor", [".cursor/hooks.json", ".cursor/mcp.json"]),
        ("opencode", [".opencode/plugins/belay.js", "opencode.json"]),
        ("copilot", [".github/hooks/belay.json"; 2]),
    ] {
        let before = names(world.workspace.base());
        world.ok(&["install", agent, "--project", "--no-probe"]);
        assert_eq!(names(world.workspace.base()), before, "{agent}");
        files.iter().for_each(|file| assert!(world.has(file), "{file}"));
        let ran = world.belay(&["uninstall", agent, "--project"]);
        assert_eq!(ran.code, 0, "{agent}: {ran}");
        files.iter().for_each(|file| assert!(!world.has(file), "{file} was not there before"));
    }
}

/// What is in a home beside belay's own and the workspace.
fn names(home: &Path) -> Vec<String> {
    let entries = fs::read_dir(home).expect("a home").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.retain(|name| name.starts_with('.') && name != ".local");
    names.sort();
    names
}

#[test]
fn an_agent_that_can_be_started_is_used_here() {
    let mut world = World::new();
    let programs = world.workspace.base().join("programs");
    fs::create_dir(&programs).unwrap();
    fs::write(programs.join("cursor-agent"), "#!/bin/sh\n").unwrap();
    let mut command = world.command(&["install", "--all", "--no-probe"]);
    command.env("PATH", &programs);
    let ran = world.ran(command);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(place(&world, ".cursor/hooks.json").exists(), "{ran}");
    assert!(!place(&world, ".codex/hooks.json").exists(), "{ran}");
}

#[test]
fn an_installation_fires_a_tool_call_and_shows_what_else_protects() {
    let mut world = World::new();
    let ran = world.belay(&["install", "gemini"]);
    assert_eq!(ran.code, 0, "{ran}");
    for layer in ["landlock", "namespaces", "cgroups", "store"] {
        assert!(ran.stderr.lines().any(|line| line.starts_with(layer)), "{layer}: {ran}");
    }
    let rows = world.belay(&["doctor", "--json"]).raw();
    for layer in ["landlock", "namespaces", "cgroups", "store"] {
        assert!(rows.contains(&format!("\"layer\":\"{layer}\"")), "{layer}: {rows}");
    }
    assert!(rows.contains("are free"), "the budget is shown outside of a workspace, too: {rows}");
}

#[test]
fn what_claude_is_given_works_for_cursor_which_drops_the_arguments_of_a_command() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    world.ok(&["install", "claude", "--no-probe"]);
    let settings: Value = serde_json::from_str(&read(&world, ".claude/settings.json")).unwrap();
    let events = settings["hooks"].as_object().unwrap();
    assert!(events.len() >= 10, "{events:?}");
    for (event, groups) in events {
        let handler = &groups[0]["hooks"][0];
        let line = handler["command"].as_str().unwrap();
        assert!(handler.get("args").is_none() && line.ends_with(" hook claude"), "{event}: {handler}");
    }
    // As Cursor runs it: the line in a shell, elsewhere, with its own JSON; a refusal would be exit code 2 or what is no JSON.
    let line = events["UserPromptSubmit"][0]["hooks"][0]["command"].as_str().unwrap().to_owned();
    let said = json!({"conversation_id": "c", "generation_id": "g", "cursor_version": "2.0", "prompt": "hello",
        "hook_event_name": "beforeSubmitPrompt", "workspace_roots": [world.workspace.path()]});
    let program = Path::new(env!("CARGO_BIN_EXE_belay")).parent().unwrap().to_owned();
    let shell = world.command(&[]);
    let mut command = std::process::Command::new("/bin/sh");
    shell.get_envs().for_each(|(name, value)| match value {
        Some(value) => drop(command.env(name, value)),
        None => drop(command.env_remove(name)),
    });
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    command.env("PATH", path).current_dir(world.workspace.base()).arg("-c");
    command.arg(format!("{line} <<'CURSOR_HOOK_EOF'\n{said}\nCURSOR_HOOK_EOF"));
    let ran = world.ran(command);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "{}\n", ""), "{ran}");
    assert_eq!(world.json(&["snapshots"])["snapshots"][0]["type"], "turn");
}

#[test]
fn the_doctor_says_who_can_reach_the_store_and_when_it_is_full() {
    let mut world = World::new();
    world.workspace.file("a.bin", crate::world::noise(50_000));
    world.snapshot();
    let row = |world: &mut World| -> Value {
        let rows = world.belay(&["doctor", "--json"]).raw();
        let rows: Vec<Value> = rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        rows.into_iter().find(|row| row["layer"] == "store").unwrap()
    };
    let found = row(&mut world);
    assert!(
        found["state"] == "works" && found["detail"].as_str().unwrap().contains("only you can reach it"),
        "{found}"
    );
    world.ok(&["config", "set", "snapshots.retention.budget", "10KiB"]);
    let found = row(&mut world);
    assert!(
        found["state"] == "weak" && found["advice"].as_str().unwrap().contains("snapshots.retention.budget"),
        "{found}"
    );
    let store = world.workspace.home().join("store");
    fs::set_permissions(&store, fs::Permissions::from_mode(0o755)).unwrap();
    let found = row(&mut world);
    assert!(found["state"] == "missing" && found["advice"].as_str().unwrap().contains("chmod 700"), "{found}");
    assert_eq!(world.belay(&["doctor"]).code, 1);
}
