//! belay inside a confined run: what an agent may ask for, what it may not, and how comfortable it is in there.

use std::process::Command;

use serde_json::json;

use crate::jailed::has_namespaces;
use crate::mcp_client::Client;
use crate::running::records;
use crate::world::{Ran, World};

/// Runs a script in a jail.
fn inside(world: &mut World, flags: &[&str], script: &str) -> Ran {
    world.belay(&[&["run", "--isolation", "jail"], flags, &["--", "sh", "-c", script]].concat())
}

#[test]
fn a_confined_command_snapshots_looks_and_goes_back_through_its_run() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a", "one\n").file("sub/b", "b");
    let script = "belay snapshot --label mine && echo two > a && rm sub/b && belay snapshots | grep -c mine \
                  && belay status | grep -c Workspace && cd sub && belay diff mine -- ../a | grep '^[-+][^-+]' \
                  && belay restore mine b -y && cat b && belay rollback mine -y && cat ../a && belay undo -y && cat ../a \
                  && belay --json snapshots | grep -o '\"label\":\"mine\"' && belay log | grep -c 'belay snapshot'";
    let ran = inside(&mut world, &["-q"], script);
    assert_eq!(ran.code, 0, "{ran}");
    for part in ["\n1\n1\n", "-one\n+two\nb", "one\ntwo\n", "\"label\":\"mine\""] {
        assert!(ran.stdout.contains(part), "{part:?}: {ran}");
    }
    assert_eq!(world.read("a"), "two\n");
    assert_eq!(world.read("sub/b"), "b");
}

#[test]
fn what_reaches_beyond_the_workspace_is_refused_inside() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a", "mine");
    let other = world.workspace.base().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("theirs"), "1").unwrap();
    let path = other.to_str().unwrap().to_owned();
    world.ok(&["-C", &path, "snapshot", "--here", "-q", "-l", "theirs"]);
    std::fs::write(other.join("theirs"), "2").unwrap();
    let refused = [
        "gc",
        "run -- true",
        "stop",
        "forget a -y",
        "snapshots delete @latest -y",
        "rollback @latest --to /tmp/x",
        &format!("-C {path} rollback theirs -y"),
        &format!("snapshot {path}"),
        "--yes-really snapshot",
        "log run_00000000",
        "sql @latest 'select 1'",
        "trust -y",
        "supervise run_00000000",
        "answer --run run_00000000 --cwd / -- gc",
    ];
    for words in refused {
        let ran = inside(&mut world, &["-q"], &format!("belay {words}"));
        // Of a run every other code is its command's.
        let code = if words.starts_with("run ") { 125 } else { 4 };
        assert_eq!(ran.code, code, "belay {words}: {ran}");
        assert!(ran.stderr.contains("nothing was changed"), "belay {words}: {ran}");
    }
    // A link that leads to another workspace does not lead belay there.
    let script = format!("ln -s {path} link && cd link && belay snapshots; belay rollback theirs -y");
    let ran = inside(&mut world, &["-q", "--rw", &path], &script);
    assert!(ran.code == 3 && !ran.stdout.contains("theirs"), "{ran}");
    assert_eq!(std::fs::read_to_string(other.join("theirs")).unwrap(), "2");
}

#[test]
fn what_is_hidden_is_not_shown_by_a_snapshot_either() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file(".env", "SECRET=1\n").file("a", "a");
    world.ok(&["snapshot", "-q", "-l", "before"]);
    world.workspace.file(".env", "SECRET=2\n");
    let ran = inside(&mut world, &["-q", "--profile", "strict"], "belay diff before; belay diff before --name-only");
    assert!(!ran.stdout.contains("SECRET") && !ran.stdout.contains(".env"), "{ran}");
    let ran = inside(&mut world, &["-q", "--hide", "a"], "belay diff before");
    assert!(ran.code == 4 && ran.stdout.is_empty(), "{ran}");
    let ran = inside(&mut world, &["-q", "--hide", "a"], "belay log --json");
    let line = ran.stdout.lines().find(|line| line.contains("\"event\":\"snapshot\"")).expect("the one before it");
    assert!(!line.contains("\"root\"") && !line.contains("\"files\"") && !line.contains("bytes"), "{ran}");
    // However the path is written that hides it.
    let profiles = world.workspace.home().join("profiles");
    std::fs::create_dir_all(&profiles).unwrap();
    let env = world.workspace.join(".env");
    let from_home = format!("~/{}", env.strip_prefix(world.workspace.base()).unwrap().display());
    for path in [env.display().to_string(), from_home] {
        let text = format!("inherits = [\"default\"]\n[paths]\nhide = [\"{path}\"]\n");
        std::fs::write(profiles.join("own.toml"), text).unwrap();
        let ran = inside(&mut world, &["-q", "--profile", "own"], "cat .env; belay diff before");
        assert!(ran.code == 4 && ran.stdout.is_empty(), "{path}: {ran}");
    }
    assert!(inside(&mut world, &["-q"], "belay diff before").stdout.contains("SECRET=2"));
    let ran =
        world.belay(&["run", "-q", "--ephemeral", "--", "sh", "-c", "belay snapshots && belay rollback before -y"]);
    assert!(ran.code == 4 && ran.stderr.contains("kept apart"), "{ran}");
}

#[test]
fn an_enemy_at_the_socket_does_no_harm() {
    if !has_namespaces() || Command::new("python3").arg("--version").output().is_err() {
        return belay_testkit::skip("no python3 or no namespaces");
    }
    let mut world = World::new();
    world.workspace.file("a", "a");
    let script = r#"
import os, socket, random
path = os.environ["BELAY_AGENT_SOCK"]
random.seed(1)
def send(data):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    s.connect(path)
    try:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        return s.recv(65536)
    except OSError:
        return b""
open_ones = []
for _ in range(40):
    s = socket.socket(socket.AF_UNIX); s.connect(path); open_ones.append(s)
for _ in range(20):
    send(random.randbytes(random.randrange(3000)) + b"\n")
for s in open_ones: s.close()
send(b"[" * 2_000_000)
send(b'{"argv":' + b"[" * 50000 + b"\n")
for argv in ['["gc"]', '["--"]', '[]', '["snapshot","--label","\\u0000"]', '["answer","--run","x"]', '["' + "a" * 60000 + '"]']:
    print(send(('{"argv":%s,"cwd":"/etc/../../"}\n' % argv).encode())[:20])
"#;
    world.workspace.file("enemy.py", script);
    let ran = inside(&mut world, &["-q"], "python3 enemy.py && sleep 0.2 && belay snapshot -q --label after");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(world.ok(&["snapshots"]).contains("after"));
    assert_eq!(records(&world)[0]["state"], "ended");
    assert_eq!(world.belay(&["verify", "--deep"]).code, 0);
}

#[test]
fn tools_inside_serve_the_workspace_of_the_run_whatever_a_link_leads_to() {
    if !has_namespaces() || Command::new("python3").arg("--version").output().is_err() {
        return belay_testkit::skip("no python3 or no namespaces");
    }
    let mut world = World::new();
    let outside = world.workspace.base().join("elsewhere");
    std::fs::create_dir(&outside).expect("a directory");
    std::fs::write(outside.join("key"), "CANARY\n").expect("a file");
    world.workspace.file("a", "a").dir("nested");
    world.workspace.symlink("link", outside.as_os_str().as_encoded_bytes());
    let mut nested = world.command(&["snapshot", "-q", "--here"]);
    nested.current_dir(world.workspace.join("nested"));
    assert_eq!(world.ran(nested).code, 0);
    let script = r#"
import json, os, socket
def ask(cwd):
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["BELAY_AGENT_SOCK"])
    lines = s.makefile("rwb", 0)
    say = lambda word: s.sendall((json.dumps(word) + "\n").encode())
    say({"argv": ["mcp"], "cwd": cwd, "pipe": True})
    lines.readline()
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    say({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client})
    lines.readline()
    say({"jsonrpc": "2.0", "method": "notifications/initialized"})
    for number, (name, words) in enumerate([("snapshots_create", {"name": "by-" + os.path.basename(cwd)}), ("belay_blame", {"path": "key"})]):
        say({"jsonrpc": "2.0", "id": number + 1, "method": "tools/call", "params": {"name": name, "arguments": words}})
        print(lines.readline().decode())
here = os.getcwd()
for place in ["", "/link", "/nested"]:
    ask(here + place)
"#;
    world.workspace.file("enemy.py", script);
    let ran = inside(&mut world, &["-q"], "python3 enemy.py");
    assert!(ran.code == 0 && !ran.stdout.contains("CANARY"), "{ran}");
    let known = world.json(&["workspaces"]).to_string();
    assert!(!known.contains("elsewhere"), "{known}");
    let made = world.ok(&["snapshots"]);
    assert!(made.contains("by-link") && made.contains("by-nested"), "{made}");
}

#[test]
fn agents_find_their_settings_and_leave_them_alone() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a", "a");
    let home = world.workspace.base().to_owned();
    std::fs::write(home.join(".claude.json"), "{}").unwrap();
    std::fs::create_dir_all(home.join(".claude/projects")).unwrap();
    std::fs::create_dir_all(home.join(".cargo/registry")).unwrap();
    std::fs::write(home.join(".cargo/credentials.toml"), "token").unwrap();
    std::fs::write(home.join(".gitconfig"), "[user]\nname = Ada\nemail = ada@example.org\n").unwrap();
    let script = "cd && mkdir .claude.json.lock && echo '{\"n\":1}' > .claude.json.tmp && mv .claude.json.tmp .claude.json \
                  && cat .claude.json && rmdir .claude.json.lock && echo x > .claude/projects/x && echo y > .cargo/registry/y \
                  && ! cat .cargo/credentials.toml 2>/dev/null && git config user.name && ! git config --global user.name Eve 2>/dev/null \
                  && test -z \"$SSH_AUTH_SOCK\" && echo comfortable";
    let mut command = world.command(&["run", "-q", "--profile", "claude", "--", "sh", "-c", script]);
    command.env("SSH_AUTH_SOCK", "/run/user/1/agent");
    let ran = world.ran(command);
    assert_eq!(ran.stdout, "{\"n\":1}\nAda\ncomfortable\n", "{ran}");
    assert_eq!(std::fs::read_to_string(home.join(".claude.json")).unwrap(), "{}");
    assert!(!home.join(".claude/projects/x").exists() && !home.join(".cargo/registry/y").exists());
}

#[test]
fn whoever_is_inside_has_a_name_and_a_home() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a", "a");
    let ran = inside(&mut world, &["-q"], "id -u >&2; getent passwd $(id -u) | cut -d: -f6; whoami; cat /etc/shadow");
    let mut lines = ran.stdout.lines();
    if belay_testkit::is_root() {
        assert_eq!((lines.next(), lines.next()), (Some("[BASE]"), Some("agent")), "{ran}");
    }
    assert!(!ran.stderr.lines().any(|line| line == "0"), "nobody is root inside: {ran}");
}

#[test]
fn without_namespaces_rules_on_paths_hold_and_it_is_said_loudly() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a", "a");
    std::fs::write(world.workspace.base().join("secret"), "home").unwrap();
    let python = "import os, socket; s = socket.socket(socket.AF_UNIX); s.settimeout(5); \
                  s.connect(os.environ['BELAY_AGENT_SOCK'].replace('agent.sock', 'control.sock')); s.send(b'\\x01'); print(s.recv(9))";
    let script = format!(
        "cat \"$HOME/secret\"; echo x > \"$HOME/new\"; ls \"$(dirname \"$BELAY_AGENT_SOCK\")\"; echo b > b; \
         belay snapshot -q && python3 -c \"{python}\" 2>&1 | tail -1"
    );
    let plain = world.command(&["run", "--", "sh", "-c", &script]);
    let mut command = Command::new("unshare");
    let forbid = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", forbid, "sh"]);
    command.arg(plain.get_program()).args(plain.get_args()).current_dir(world.workspace.path());
    for (name, value) in plain.get_envs() {
        value.map(|value| command.env(name, value));
    }
    let ran = world.ran(command);
    if records(&world)[0]["protection"]["isolation"] == "none" {
        assert!(ran.stderr.contains("NOT CONFINED (no jail works here)"), "{ran}");
        return belay_testkit::skip("no Landlock");
    }
    assert!(ran.stderr.contains("confined by Landlock") && ran.stderr.contains("NO NAMESPACES"), "{ran}");
    assert!(!ran.stdout.contains("home") && !ran.stdout.contains("control.sock"), "{ran}");
    assert!(ran.stdout.contains("snap_") && !ran.stdout.contains("b'"), "{ran}");
    assert!(world.has("b") && !world.workspace.base().join("new").exists());
}

#[test]
fn what_is_refused_is_written_down_with_the_command_that_asked() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a", "a");
    let script =
        "true; unshare --user true; for i in 1 2 3; do unshare --mount true; done; python3 -c 'import os; os.fork()'";
    let ran = inside(&mut world, &[], script);
    assert!(ran.stderr.contains("Operation not permitted"), "{ran}");
    assert!(ran.stderr.contains("Refused: unshare") && ran.stderr.contains("belay why unshare"), "{ran}");
    let events = world.json(&["log"]);
    let events = events.as_array().cloned().unwrap_or_default();
    let denied: Vec<_> = events.iter().filter(|event| event["event"] == "denied" && event["path"].is_null()).collect();
    assert_eq!(denied.len(), 4, "{denied:?}");
    for event in denied {
        let asked = events.iter().find(|one| one["event"] == "exec" && one["command"] == event["command"]);
        assert!(asked.is_some_and(|one| one["argv"][0] == "unshare"), "{event}");
        assert_eq!((&event["call"], &event["errno"]), (&"unshare".into(), &1.into()));
    }
    assert!(world.ok(&["log"]).contains("refused: unshare"));
    let rows = world.ok(&["sql", "@latest", "select count(*), min(call), max(errno) from denials where path is null"]);
    assert!(rows.contains('4') && rows.contains("unshare"), "{rows}");
    assert_eq!(world.belay(&["audit", "verify"]).code, 0);
}

/// Talks to `belay mcp` as an agent that was started by `belay run` would.
fn client_inside(world: &World, flags: &[&str]) -> Client {
    let words = [&["run", "-q"], flags, &["--", "sh", "-c", "exec belay mcp"]].concat();
    Client::greet(world.command(&words), "2025-11-25").0
}

#[test]
fn an_agent_in_its_jail_has_the_tools_and_never_those_that_remove_history() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a", "one\n");
    let mut client = client_inside(&world, &["--isolation", "jail", "--profile", "claude"]);
    let tools = client.ask("tools/list", json!({}));
    let names: Vec<&str> =
        tools["result"]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"snapshots_create") && names.contains(&"snapshot_diff"), "{names:?}");
    assert!(!names.contains(&"snapshots_delete") && !names.contains(&"snapshots_compact"), "{names:?}");
    client.ok("snapshots_create", json!({"name": "mine"}));
    let (_, list) = client.ok("snapshots_list", json!({}));
    assert_eq!(list["checkpoints"][0]["name"], json!("mine"));
    world.workspace.file("a", "two\n");
    client.ok("snapshots_revert", json!({"path": "a", "checkpoint": "mine"}));
    assert_eq!(world.read("a"), "one\n");
    let refused = client.ask("tools/call", json!({"name": "snapshots_delete", "arguments": {"checkpoint": "mine"}}));
    let why = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(why.contains("inside a run"), "{refused}");
    let (_, well) = client.end();
    assert!(well, "the run ends with its server");
    assert!(world.ok(&["snapshots"]).contains("mine"));
}

#[test]
fn tools_in_a_jail_show_nothing_that_is_hidden_and_touch_nothing_that_is_kept_apart() {
    if !has_namespaces() {
        return;
    }
    let world = World::new();
    world.workspace.file(".env", "SECRET=1\n");
    let offered = |flags: &[&str]| {
        let mut client = client_inside(&world, flags);
        let tools = client.ask("tools/list", json!({})).to_string();
        client.end();
        tools
    };
    let hidden = offered(&["--isolation", "jail", "--hide", ".env"]);
    assert!(!hidden.contains("snapshot_diff") && !hidden.contains("belay_blame"), "{hidden}");
    assert!(hidden.contains("snapshots_create"), "{hidden}");
    let apart = offered(&["--ephemeral"]);
    assert!(!apart.contains("snapshot_restore") && !apart.contains("snapshots_create"), "{apart}");
    assert!(apart.contains("snapshots_list"), "{apart}");
    let ran =
        world.command(&["run", "-q", "--isolation", "jail", "--", "sh", "-c", "belay -C / mcp"]).output().unwrap();
    assert_eq!(ran.status.code(), Some(4), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn what_reads_is_answered_inside_and_the_status_line_too() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a", "one\n");
    world.ok(&["snapshot", "-q", "-l", "before"]);
    let script = "belay cat before a && belay ls before && belay history a | grep -c new && belay blame a | grep one \
                  && belay changes | grep -c Nothing && belay show | grep -c protection && belay statusline";
    let ran = inside(&mut world, &["-q"], script);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("belay: "), "{ran}");
    let ran = inside(&mut world, &["-q", "--hide", "a"], "belay cat before a; belay blame a");
    assert!(ran.code == 4 && !ran.stdout.contains("one"), "{ran}");
    let ran = inside(&mut world, &["-q"], "belay show run_00000000");
    assert_eq!(ran.code, 4, "{ran}");
}

#[test]
fn a_hook_finds_belay_at_the_path_that_it_was_installed_with() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a", "one\n");
    // Where no profile grants anything.
    let place = world.workspace.base().join("opt");
    std::fs::create_dir(&place).unwrap();
    let own = place.join("belay");
    std::fs::copy(env!("CARGO_BIN_EXE_belay"), &own).unwrap();
    std::fs::write(place.join("other"), "secret").unwrap();
    let script = format!("{0} statusline && ! cat {1}/other && ! rm {0}", own.display(), place.display());
    let mut command = Command::new(&own);
    for (name, value) in world.command(&[]).get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.args(["run", "-q", "--isolation", "jail", "--", "sh", "-c", &script]);
    let ran = world.ran({
        command.current_dir(world.workspace.path());
        command
    });
    assert_eq!(ran.code, 0, "{ran}");
}
