//! `belay install` and `belay uninstall` beside what other people have in the same files, to the last remark.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};

use belay_testkit::{OrdinaryUser, is_root, skip};
use serde_json::{Value, json};

use crate::installing::{place, read};
use crate::world::World;

fn settings(world: &World) -> Value {
    serde_json::from_str(&read(world, ".claude/settings.json")).expect("settings")
}

#[test]
fn handlers_of_others_in_one_group_with_ours_stay() {
    for words in [&["install", "claude", "--no-probe"][..], &["doctor", "--fix"], &["uninstall", "claude"]] {
        let mut world = World::new();
        let theirs = |name: &str| json!({"type": "command", "command": name});
        let mixed = json!({"matcher": "Bash", "hooks": [theirs("audit.sh"), theirs("/old/belay hook claude"),
            theirs("belay hook claude && notify.sh"), theirs("lint.sh")]});
        let old = json!({"hooks": [theirs("/old/belay hook claude")]});
        let text = json!({"hooks": {"PreToolUse": [mixed, old], "Stop": [theirs("say done")]}}).to_string();
        fs::write(place(&world, ".claude/settings.json"), text).unwrap();
        world.belay(words);
        let after = settings(&world);
        let left = json!([theirs("audit.sh"), theirs("belay hook claude && notify.sh"), theirs("lint.sh")]);
        assert_eq!(after["hooks"]["PreToolUse"][0], json!({"matcher": "Bash", "hooks": left}), "{words:?}");
        assert_eq!(after["hooks"]["Stop"][0], theirs("say done"), "{words:?}");
        let groups = after["hooks"]["PreToolUse"].as_array().unwrap().len();
        assert_eq!(groups, if words[0] == "uninstall" { 1 } else { 2 }, "{words:?}: {after}");
        assert!(!after.to_string().contains("/old/belay"), "{words:?}: {after}");
        if words[0] == "install" {
            let again = world.belay(words);
            assert!(again.stderr.contains("everything is in place"), "{again}");
        }
    }
}

#[test]
fn a_status_line_that_only_speaks_of_belay_is_somebody_elses() {
    for line in ["/opt/belay statusline | cut -c1-40", "mine.sh --like 'belay statusline'", "~/belay/my-line.sh"] {
        let mut world = World::new();
        let own = json!({"statusLine": {"type": "command", "command": line, "padding": 1}});
        fs::write(place(&world, ".claude/settings.json"), own.to_string()).unwrap();
        world.ok(&["install", "claude", "--no-probe"]);
        assert_eq!(settings(&world)["statusLine"], own["statusLine"]);
        world.ok(&["uninstall", "claude"]);
        assert_eq!(settings(&world), own);
    }
}

#[test]
fn no_remark_swallows_a_setting_when_ours_go() {
    let mut world = World::new();
    let text = "{\n  // mine\n  \"statusLine\": { \"type\": \"command\", \"command\": \"belay statusline\" }, \"model\": \"opus\",\n  \
                \"permissions\": { \"deny\": [\"Bash(rm:*)\"] }, // never\n  \
                \"hooks\": { \"Stop\": [{ \"hooks\": [{ \"type\": \"command\", \"command\": \"belay hook claude\" }] }] } }\n";
    fs::write(place(&world, ".claude/settings.json"), text).unwrap();
    world.ok(&["uninstall", "claude"]);
    let left = read(&world, ".claude/settings.json");
    assert!(left.contains("// mine") && left.contains("// never") && !left.contains("belay"), "{left}");
    let bare: String = left.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let said: Value = serde_json::from_str(&bare).unwrap_or_else(|error| panic!("{error}: {left}"));
    assert_eq!(said, json!({"model": "opus", "permissions": {"deny": ["Bash(rm:*)"]}}));
}

#[test]
fn what_somebody_changed_inside_a_text_is_not_taken_back() {
    let mut world = World::new();
    let before = "{\n  \"permissions\": { \"allow\": [\"Bash(git log,git diff)\"] }\n}\n";
    fs::write(place(&world, ".claude/settings.json"), before).unwrap();
    world.ok(&["install", "claude", "--no-probe"]);
    let edited = read(&world, ".claude/settings.json").replace("git log,git diff", "git log, git  diff");
    fs::write(place(&world, ".claude/settings.json"), edited).unwrap();
    world.ok(&["uninstall", "claude"]);
    assert_eq!(settings(&world), json!({"permissions": {"allow": ["Bash(git log, git  diff)"]}}));
}

#[test]
fn what_was_there_and_empty_is_there_again() {
    for (agent, file, text) in [
        ("cursor", ".cursor/mcp.json", "{\"mcpServers\":{}}"),
        ("cursor", ".cursor/hooks.json", "{ \"version\": 1, \"hooks\": { } }\n"),
        ("gemini", ".gemini/settings.json", "{\"hooks\": {\"BeforeTool\": []}, \"theme\": \"x\"}\n"),
    ] {
        let mut world = World::new();
        fs::write(place(&world, file), text).unwrap();
        world.ok(&["install", agent, "--no-probe"]);
        assert!(read(&world, file).contains("belay"), "{file}");
        world.ok(&["uninstall", agent]);
        assert_eq!(read(&world, file), text, "{file}");
    }
}

#[test]
fn all_of_our_table_leaves_codex_and_nothing_else() {
    for (own, added) in [
        ("args = [\"mcp\"]", "args = [\n  \"mcp\", # tools\n  \"--read-only\",\n]"),
        ("args = [\"mcp\"]", "args = [\"mcp\"]\nstartup_timeout_sec = 20\n\n[mcp_servers.belay.env]\nA = \"b\""),
    ] {
        for end in ["\n", "\r\n"] {
            let mut world = World::new();
            let config = "# mine\nmodel = \"gpt\"\n\n[mcp_servers.other]\ncommand = \"x\"\n".replace('\n', end);
            fs::write(place(&world, ".codex/config.toml"), &config).unwrap();
            world.ok(&["install", "codex", "--no-probe"]);
            let with = read(&world, ".codex/config.toml");
            assert_eq!(with.matches('\n').count(), with.matches(end).count(), "one kind of line: {with:?}");
            let with = with.replace(own, &added.replace('\n', end));
            let later = "[profiles.fast]\nmodel = \"mini\"\n".replace('\n', end);
            fs::write(place(&world, ".codex/config.toml"), format!("{with}{later}")).unwrap();
            world.ok(&["install", "codex", "--no-probe"]);
            assert_eq!(read(&world, ".codex/config.toml"), format!("{with}{later}"), "it is in place");
            world.ok(&["uninstall", "codex"]);
            let left = read(&world, ".codex/config.toml");
            let wanted: toml::Table = format!("{config}{later}").parse().unwrap();
            assert_eq!(left.parse::<toml::Table>().unwrap(), wanted, "{left}");
            assert!(left.starts_with(&config) && !left.contains("belay") && !left.contains("timeout"), "{left}");
        }
    }
}

#[test]
fn what_fails_halfway_is_put_back_before_it_is_called_untouched() {
    let mut world = World::new();
    fs::write(place(&world, ".claude.json"), "{\"numStartups\": 7}").unwrap();
    // It can be read as not there yet, and never be written.
    std::os::unix::fs::symlink("/proc/nowhere/settings.json", place(&world, ".claude/settings.json")).unwrap();
    let ran = world.belay(&["install", "claude", "--no-probe"]);
    assert!(ran.code != 0 && ran.stderr.contains("nothing was changed") && ran.stdout.is_empty(), "{ran}");
    assert_eq!(read(&world, ".claude.json"), "{\"numStartups\": 7}");
    assert!(!place(&world, ".claude.json.belay-backup").exists());
}

#[test]
fn settings_of_another_user_are_not_written_and_root_leaves_them_to_their_owner() {
    let Some(user) = OrdinaryUser::find().filter(|_| is_root()) else {
        return skip("only root can give files to others");
    };
    let mut world = World::new();
    let path = place(&world, ".claude/settings.json");
    fs::write(&path, "{}\n").unwrap();
    for owned in [path.parent().unwrap(), &path, world.workspace.base()] {
        chown(owned, Some(user.uid()), Some(user.gid())).unwrap();
    }
    world.ok(&["install", "claude", "--no-probe"]);
    for name in [".claude/settings.json", ".claude.json"] {
        assert_eq!(place(&world, name).metadata().unwrap().uid(), user.uid(), "{name}");
    }
    world.ok(&["uninstall", "claude"]);
    user.own(world.workspace.base());
    chown(&path, Some(0), Some(0)).unwrap();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let belay = user.copy_of(std::path::Path::new(env!("CARGO_BIN_EXE_belay")), world.workspace.base());
    let mut command = user.command(belay, world.workspace.base());
    command.args(["install", "claude", "--no-probe"]).current_dir(world.workspace.path());
    let ran = world.ran(command);
    assert!(ran.code == 4 && ran.stderr.contains("belongs to another user"), "{ran}");
    assert!(ran.stderr.contains("nothing was changed") && !place(&world, ".claude.json").exists(), "{ran}");
    assert_eq!(read(&world, ".claude/settings.json"), "{}\n");
}

#[test]
fn what_is_no_file_and_what_is_too_large_hold_nobody_up() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    fs::create_dir_all(world.workspace.base().join(".claude")).unwrap();
    world.ok(&["install", "claude", "--no-probe"]);
    world.snapshot();
    let base = world.workspace.base().to_owned();
    let fifo = |path: &std::path::Path| {
        let _ = fs::remove_file(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    let huge = fs::File::create(base.join("huge")).unwrap();
    huge.set_len(80 << 20).unwrap();
    let places = [".mcp.json", ".claude/settings.json", ".claude/settings.local.json", "opencode.json"];
    for name in places {
        let path = world.workspace.join(name);
        for round in 0..3 {
            match round {
                0 => fifo(&path),
                1 => {
                    fs::remove_file(&path).unwrap();
                    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
                }
                _ => {
                    fs::remove_file(&path).unwrap();
                    fs::hard_link(base.join("huge"), &path).unwrap();
                }
            }
            let begun = std::time::Instant::now();
            if name == ".mcp.json" {
                world.belay(&["doctor"]);
            }
            for event in ["SessionStart", "ConfigChange", "UserPromptSubmit"] {
                let said = json!({"session_id": "s", "cwd": world.workspace.path(), "hook_event_name": event,
                    "prompt": format!("{name} {round}"), "source": "startup"});
                let ran = crate::hooks::tell(&mut world, "claude", &said);
                assert_eq!(ran.code, 0, "{name} {event}: {ran}");
            }
            world.ok(&["statusline"]);
            assert!(begun.elapsed().as_secs() < 30, "{name} {round} took {:?}", begun.elapsed());
        }
        fs::remove_file(&path).unwrap();
    }
}
