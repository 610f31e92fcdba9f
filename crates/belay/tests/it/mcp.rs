//! `belay mcp` as an agent uses it: every tool, and everything that a client can do wrong.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::mcp_client::Client;
use crate::world::World;

const CURRENT: &str = "2025-11-25";

fn client(world: &World) -> Client {
    Client::greet(world.command(&["mcp"]), CURRENT).0
}

#[test]
fn checkpoints_are_made_listed_compacted_and_deleted() {
    let world = World::new();
    world.workspace.file("a.txt", "one\n");
    let mut client = client(&world);
    let (text, first) = client.ok("snapshots_create", json!({"name": "first"}));
    assert_eq!(text.split(" hash").next(), Some("created cp-10 (first, 1 file,"));
    assert_eq!((&first["checkpoint"], &first["available"]), (&json!("cp-10"), &json!(11)));
    assert_eq!(first["hash"].as_str().map(str::len), Some(64));
    world.workspace.file("a.txt", "two\n").file("b.txt", "new\n");
    let (_, second) = client.ok("snapshots_create", json!({"name": "second"}));
    assert_ne!(first["hash"], second["hash"]);
    world.workspace.remove("a.txt");
    client.ok("snapshots_create", json!({"name": "third"}));

    let (_, list) = client.ok("snapshots_list", json!({"include_changes": true}));
    let told = |at: usize| (&list["checkpoints"][at]["name"], &list["checkpoints"][at]["changes"]);
    assert_eq!(told(0), (&json!("third"), &json!({"created": 0, "modified": 0, "deleted": 1})));
    assert_eq!(told(1), (&json!("second"), &json!({"created": 1, "modified": 1, "deleted": 0})));
    assert_eq!((&list["total"], &list["manual_available"]), (&json!(3), &json!(9)));

    let (text, one) =
        client.ok("snapshots_compact", json!({"checkpoints": ["cp-10", "cp-12", "cp-11"], "name": "all"}));
    assert!(text.starts_with("compacted 3 checkpoints into cp-10 (all, 1 file"), "{text}");
    assert_eq!((&one["checkpoint"], &one["available"]), (&json!("cp-10"), &json!(11)));
    let (_, history) = client.ok("snapshots_history", json!({"path": "a.txt"}));
    assert_eq!(history["versions"], json!([]), "the newest state wins, deletions included");

    let refused = client.refused("snapshots_delete", json!({"checkpoint": "second"}));
    assert!(refused.starts_with("no snapshot is called \"second\""), "{refused}");
    let (_, deleted) = client.ok("snapshots_delete", json!({"checkpoint": "cp-10"}));
    assert_eq!(deleted, json!({"deleted": true, "checkpoint": "cp-10", "available": 12}));
}

#[test]
fn a_full_pool_refuses_and_compacting_makes_room() {
    let world = World::new();
    world.workspace.file("a.txt", "one\n");
    let mut client = client(&world);
    for number in 0..12 {
        client.ok("snapshots_create", json!({"name": format!("s{number}")}));
    }
    let refused = client.refused("snapshots_create", json!({"name": "more"}));
    assert!(refused.starts_with("all 12 manual slots are taken. Nothing was overwritten."), "{refused}");
    client.ok("snapshots_compact", json!({"checkpoints": ["s0", "s1"]}));
    let (_, list) = client.ok("snapshots_list", json!({}));
    assert_eq!((&list["total"], &list["manual_available"]), (&json!(11), &json!(1)));
    let refused = client.refused("snapshots_compact", json!({"checkpoints": ["s3", "nobody"]}));
    assert!(refused.starts_with("no snapshot is called \"nobody\""), "{refused}");
    let (_, after) = client.ok("snapshots_list", json!({}));
    assert_eq!(after["total"], json!(11), "what failed removed nothing");
}

#[test]
fn what_the_newest_could_not_capture_is_not_compacted_away() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n").file("local.db", "the only copy\n");
    let mut before = client(&world);
    before.ok("snapshots_create", json!({"name": "one"}));
    drop(before);
    world.ok(&["config", "set", "snapshots.exclude.additional", "[\"local.db\"]"]);
    let mut after = client(&world);
    after.ok("snapshots_create", json!({"name": "two"}));
    let refused = after.refused("snapshots_compact", json!({"checkpoints": ["one", "two"]}));
    assert!(refused.contains("holds local.db"), "{refused}");
    assert_eq!(world.ok(&["cat", "one", "local.db"]), "the only copy\n");
}

#[test]
fn a_path_goes_back_and_the_revert_itself_can_be_undone() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n").file_mode("run.sh", "#!/bin/sh\n", 0o755);
    let mut client = client(&world);
    client.ok("snapshots_create", json!({"name": "base"}));
    world.workspace.file("a.txt", "two!\n").file("new.txt", "new\n").mode("run.sh", 0o600);

    let (_, changes) = client.ok("snapshots_changes", json!({}));
    let told: Vec<(&str, &str)> =
        changes["changes"].as_array().unwrap().iter().map(|one| (word(&one["op"]), word(&one["path"]))).collect();
    assert_eq!(told, [("modified", "a.txt"), ("created", "new.txt"), ("modified", "run.sh")]);

    let (_, reverted) = client.ok("snapshots_revert", json!({"path": "a.txt"}));
    assert_eq!((&reverted["action"], &reverted["checkpoint"]), (&json!("restored"), &json!("cp-10")));
    assert_eq!(world.read("a.txt"), "one\n");
    let (text, again) = client.ok("snapshots_revert", json!({"path": "a.txt"}));
    assert_eq!(
        (text.as_str(), &again["reverted"]),
        ("a.txt is already as in cp-10; nothing was changed", &json!(false))
    );
    client.ok("snapshots_revert", json!({"path": "run.sh"}));
    let mode = std::fs::metadata(world.workspace.join("run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
    let absolute = world.workspace.join("new.txt").to_string_lossy().into_owned();
    let (_, gone) = client.ok("snapshots_revert", json!({"path": absolute, "checkpoint": "base"}));
    assert_eq!(gone["action"], json!("deleted"));
    assert!(!world.has("new.txt"));
    client.ok("belay_undo", json!({}));
    assert_eq!(world.read("new.txt"), "new\n");

    for (path, why) in [
        ("../outside", "is outside the workspace"),
        ("/etc/passwd", "is outside the workspace"),
        ("nowhere", "is not in any snapshot"),
    ] {
        let refused = client.refused("snapshots_revert", json!({"path": path}));
        assert!(refused.contains(why), "{path}: {refused}");
    }
    assert!(world.json(&["snapshots"]).to_string().contains("safety"));
}

fn word(value: &Value) -> &str {
    value.as_str().expect("a text")
}

#[test]
fn the_four_named_tools_answer_to_the_letter() {
    let world = World::new();
    world.workspace.file("a.txt", "v1\n").file("b.txt", "b\n");
    let mut client = client(&world);
    assert_eq!(client.ok("snapshot_list", json!({})).0, "no snapshots");
    let (text, data) = client.ok("snapshot_create", json!({"name": "s1", "description": "before refactor"}));
    assert_eq!(text, format!("snapshot s1 created: {}", word(&data["hash"])));
    assert_eq!(client.ok("snapshot_diff", json!({"name": "s1"})).0, "no differences");
    let (rows, _) = client.ok("snapshot_list", json!({}));
    let columns: Vec<&str> = rows.split('\t').collect();
    assert_eq!((columns[0], columns[1].len(), columns[3]), ("s1", 12, "before refactor"));
    assert!(columns[2].len() == 25 && columns[2].ends_with("+00:00"), "{rows}");

    world.workspace.file("a.txt", "v2\n").file("c.txt", "new\n");
    world.workspace.remove("b.txt");
    let (diff, _) = client.ok("snapshot_diff", json!({"name": "s1"}));
    assert!(
        diff.starts_with(
            "diff --git a/a.txt b/a.txt\nindex 626799f..8c1384d 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-v1\n+v2\n"
        ),
        "{diff}"
    );
    let (restored, _) = client.ok("snapshot_restore", json!({"name": "s1"}));
    assert_eq!(restored, "restored snapshot s1 (3 file(s) changed):\na.txt\nb.txt\nc.txt");
    assert_eq!((world.read("a.txt").as_str(), world.has("c.txt")), ("v1\n", false));
    assert_eq!(client.ok("snapshot_restore", json!({"name": "s1"})).0, "restored snapshot s1 (0 file(s) changed)");

    for bad in ["", ".secret", "foo/bar", "a b", "-x"] {
        let refused = client.refused("snapshot_create", json!({ "name": bad }));
        assert!(refused.starts_with("invalid snapshot name"), "{refused}");
    }
    let refused = client.refused("snapshot_restore", json!({"name": "s2"}));
    assert!(refused.starts_with("no snapshot is called \"s2\". Nothing was changed."), "{refused}");
    let refused = client.refused("snapshot_create", json!({"name": "s1"}));
    assert!(refused.contains("is already used"), "{refused}");
}

#[test]
fn the_named_tools_leave_what_git_knows_alone() {
    let world = World::new();
    let git = |words: &[&str]| {
        let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.invalid"];
        let mut git = std::process::Command::new("git");
        let output = git.args(identity).args(words).current_dir(world.workspace.path()).output().expect("git starts");
        assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    git(&["init", "-q"]);
    world.workspace.file("a.txt", "v1\n");
    let mut client = client(&world);
    client.ok("snapshot_create", json!({"name": "s1"}));
    world.workspace.file("a.txt", "v2\n").file("b.txt", "b\n");
    git(&["add", "."]);
    git(&["commit", "-qm", "later"]);
    world.workspace.file("b.txt", "dirty\n");
    git(&["stash", "-q"]);
    let known = |git: &dyn Fn(&[&str]) -> String| (git(&["rev-parse", "HEAD", "refs/stash"]), git(&["ls-files", "-s"]));
    let before = known(&git);
    let (diff, _) = client.ok("snapshot_diff", json!({"name": "s1"}));
    assert!(diff.contains("+v2") && !diff.contains(".git/"), "{diff}");
    let (restored, _) = client.ok("snapshot_restore", json!({"name": "s1"}));
    assert_eq!(restored, "restored snapshot s1 (2 file(s) changed):\na.txt\nb.txt");
    assert_eq!((world.read("a.txt").as_str(), world.has("b.txt")), ("v1\n", false));
    assert_eq!(known(&git), before, "HEAD, stash and index are as they were");
}

#[test]
fn status_log_blame_and_undo_of_a_turn_tell_of_runs_and_turns() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    world.ok(&["run", "-q", "--isolation", "none", "--", "sh", "-c", "echo two >> a.txt"]);
    world.ok(&["snapshot", "-q", "--turn", "--prompt", "add three"]);
    world.workspace.file("a.txt", "one\ntwo\nthree\n").file("b.txt", "b\n");
    let mut client = client(&world);
    let (_, log) = client.ok("belay_log", json!({}));
    assert!(log["commands"].to_string().contains("echo two"), "{log}");
    let (blame, _) = client.ok("belay_blame", json!({"path": "a.txt", "line": 2}));
    assert!(blame.contains("2: two"), "{blame}");
    let (_, status) = client.ok("belay_status", json!({}));
    assert_eq!(status["changes"], json!(["a.txt", "b.txt"]));
    let (_, plan) = client.ok("belay_undo", json!({"step": "@turn-1", "dry_run": true}));
    assert_eq!(plan["paths"], json!(["a.txt", "b.txt"]));
    assert!(world.has("b.txt"), "a dry run changes nothing");
    client.ok("belay_undo", json!({"step": "@turn-1"}));
    assert_eq!((world.read("a.txt").as_str(), world.has("b.txt")), ("one\ntwo\n", false));
    client.ok("belay_undo", json!({}));
    assert_eq!(world.read("a.txt"), "one\ntwo\nthree\n");
}

#[test]
fn a_read_only_server_offers_only_what_changes_nothing() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    world.snapshot();
    let (mut client, _) = Client::greet(world.command(&["mcp", "--read-only"]), CURRENT);
    let tools = client.ask("tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<&str> = tools.as_array().unwrap().iter().map(|tool| word(&tool["name"])).collect();
    let expected = [
        "snapshots_list",
        "snapshots_changes",
        "snapshots_history",
        "snapshot_list",
        "snapshot_diff",
        "belay_status",
        "belay_log",
        "belay_blame",
    ];
    assert_eq!(names, expected);
    assert!(tools.as_array().unwrap().iter().all(|tool| tool["annotations"]["readOnlyHint"] == json!(true)));
    let answer = client.ask("tools/call", json!({"name": "snapshots_create", "arguments": {"name": "x"}}));
    assert_eq!(answer["error"]["code"], json!(-32602));
    assert!(word(&answer["error"]["message"]).contains("--read-only"));
    assert_eq!(client.ok("snapshots_list", json!({})).1["total"], json!(1));
}

#[test]
fn tools_are_described_for_a_model() {
    let world = World::new();
    let mut client = client(&world);
    let tools = client.ask("tools/list", json!({}))["result"]["tools"].clone();
    assert_eq!(tools.as_array().unwrap().len(), 15);
    for tool in tools.as_array().unwrap() {
        let schema = &tool["inputSchema"];
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)), "{tool}");
        assert!(tool["title"].is_string() && tool["annotations"]["destructiveHint"].is_boolean(), "{tool}");
        for (name, property) in schema["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{name} of {tool}");
        }
    }
}

#[test]
fn a_path_of_any_bytes_is_named_as_the_tools_show_it() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    world.workspace.file("plain", "1\n");
    let odd = world.workspace.path().join(std::ffi::OsStr::from_bytes(b"odd\xff\\n \n\x1b.txt"));
    std::fs::write(&odd, "one\n").unwrap();
    let mut client = client(&world);
    client.ok("snapshots_create", json!({"name": "base"}));
    std::fs::write(&odd, "two, longer\n").unwrap();
    let (_, changes) = client.ok("snapshots_changes", json!({}));
    let path = changes["changes"][0]["path"].clone();
    assert_eq!(path, json!("odd\\xff\\\\n \\n\\u{1b}.txt"));
    let (_, history) = client.ok("snapshots_history", json!({"path": path}));
    assert_eq!(history["versions"].as_array().map(Vec::len), Some(1), "{history}");
    assert!(client.ok("belay_blame", json!({"path": path})).0.contains("odd\\xff"));
    let (_, back) = client.ok("snapshots_revert", json!({"path": path}));
    assert_eq!((&back["action"], &back["path"]), (&json!("restored"), &path));
    assert_eq!(std::fs::read(&odd).unwrap(), b"one\n");
    let refused = client.refused("snapshots_revert", json!({"path": "a\\x00b"}));
    assert!(refused.contains("NUL"), "{refused}");
}

#[test]
fn calls_are_recorded_with_the_run_or_conversation_that_they_belong_to() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    let said = json!({ "session_id": "s", "cwd": world.workspace.path(), "hook_event_name": "UserPromptSubmit", "prompt": "go" });
    crate::hooks::tell(&mut world, "claude", &said);
    let mut outside = client(&world);
    outside.ok("snapshots_create", json!({"name": "first"}));
    outside.refused("snapshots_create", json!({"name": "first"}));
    assert!(outside.end().1);
    let columns =
        "select server, method, tool, request_preview, decision, error is null as fine from mcp_calls order by id";
    let rows = world.ok(&["sql", "@latest", columns]);
    assert!(rows.contains("snapshots_create") && rows.contains("allowed") && rows.contains("refused"), "{rows}");
    assert!(rows.contains("{\"name\":\"first\"}"), "{rows}");
    let words = ["run", "-q", "--isolation", "none", "--", env!("CARGO_BIN_EXE_belay"), "mcp"];
    let mut inside = Client::greet(world.command(&words), CURRENT).0;
    inside.ok("snapshots_list", json!({}));
    inside.ok("belay_status", json!({}));
    assert!(inside.end().1);
    let rows = world.ok(&["sql", "@latest", columns]);
    assert!(rows.contains("snapshots_list") && rows.contains("belay_status"), "{rows}");
    assert!(!rows.contains("snapshots_create"), "{rows}");
    let ran = world.belay(&["audit", "verify"]);
    assert_eq!(ran.code, 0, "{ran}");
    world.belay(&["stop", "--helper"]);
}

#[test]
fn what_somebody_asks_to_keep_during_a_run_or_turn_is_in_its_record() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    let rows =
        "select slot, origin, name, start_fs_event_id, kind from snapshot_events where origin = 'manual' order by id";
    let script = format!("echo two > a.txt; {} snapshot -q --label by-hand; sleep 0.2", env!("CARGO_BIN_EXE_belay"));
    world.ok(&["run", "-q", "--isolation", "none", "--", "sh", "-c", &script]);
    let found = world.ok(&["sql", "@latest", rows, "--csv"]);
    assert!(found.contains(",manual,by-hand,0,manual"), "{found}");
    assert!(world.ok(&["log"]).contains("(by-hand), manual"), "{}", world.ok(&["log"]));
    let words = ["run", "-q", "--isolation", "none", "--", env!("CARGO_BIN_EXE_belay"), "mcp"];
    let mut inside = Client::greet(world.command(&words), CURRENT).0;
    inside.ok("snapshots_create", json!({"name": "by-tool"}));
    assert!(inside.end().1);
    let found = world.ok(&["sql", "@latest", rows, "--csv"]);
    assert!(found.contains("10,manual,by-tool,0,manual"), "{found}");
    let said = json!({ "session_id": "s", "cwd": world.workspace.path(), "hook_event_name": "UserPromptSubmit", "prompt": "go" });
    crate::hooks::tell(&mut world, "claude", &said);
    let mut outside = client(&world);
    outside.ok("snapshots_create", json!({"name": "in-a-turn"}));
    assert!(outside.end().1);
    let found = world.ok(&["sql", "@latest", rows, "--csv"]);
    assert!(found.contains("11,manual,in-a-turn,0,manual"), "{found}");
    assert_eq!(world.belay(&["audit", "verify"]).code, 0);
    world.belay(&["stop", "--helper"]);
}

#[test]
fn a_history_that_is_forgotten_beside_an_open_server_begins_anew_and_nothing_else_is_harmed() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    let mut client = client(&world);
    client.ok("snapshots_create", json!({"name": "before"}));
    let here = world.workspace.path().to_string_lossy().into_owned();
    world.ok(&["workspaces", "rm", "--existing", "-y", &here]);
    world.workspace.file("a.txt", "two\n");
    client.ok("snapshots_create", json!({"name": "after"}));
    let (_, list) = client.ok("snapshots_list", json!({}));
    assert_eq!((&list["total"], &list["checkpoints"][0]["name"]), (&json!(1), &json!("after")));
    assert_eq!(world.ok(&["cat", "after", "a.txt"]), "two\n", "what a tool says it took is there for everybody");
    let other = world.workspace.outside().join("other");
    std::fs::create_dir(&other).unwrap();
    world.ok(&["-C", &other.to_string_lossy(), "snapshot"]);
    assert_eq!(world.belay(&["verify"]).code, 0);
}

#[test]
fn a_history_that_is_forgotten_again_and_again_while_snapshots_are_taken_loses_none_that_was_reported() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n");
    let here = world.workspace.path().to_string_lossy().into_owned();
    let mut client = client(&world);
    for round in 0..15 {
        let ids: Vec<u64> = (0..4)
            .map(|at| {
                let arguments = json!({"name": format!("r{round}-{at}")});
                client.request("tools/call", json!({"name": "snapshots_create", "arguments": arguments}))
            })
            .collect();
        world.belay(&["workspaces", "rm", "--existing", "-y", &here]);
        ids.into_iter().for_each(|id| drop(client.answer(id)));
        let (_, last) = client.ok("snapshots_create", json!({"name": format!("last-{round}")}));
        let found = world.json(&["snapshots"]);
        let ids: Vec<&Value> = found["snapshots"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
        assert!(ids.contains(&&last["id"]), "{last} is not in {found}");
        world.ok(&["workspaces", "rm", "--existing", "-y", &here]);
    }
    let other = world.workspace.outside().join("other");
    std::fs::create_dir(&other).unwrap();
    world.ok(&["-C", &other.to_string_lossy(), "snapshot"]);
    assert_eq!(world.belay(&["verify"]).code, 0);
}

#[test]
fn of_what_is_left_out_nothing_is_claimed() {
    let mut world = World::new();
    world.workspace.file("a.txt", "one\n").file("secret/key", "1\n");
    world.snapshot();
    world.ok(&["config", "set", "snapshots.exclude.additional", "[\"secret/\"]"]);
    let mut client = client(&world);
    client.ok("snapshots_create", json!({"name": "without"}));
    world.workspace.file("secret/key", "2\n").file("secret/new", "new\n");
    let (text, history) = client.ok("snapshots_history", json!({"path": "secret/key"}));
    let states: Vec<&str> = history["versions"].as_array().unwrap().iter().map(|one| word(&one["status"])).collect();
    assert_eq!(states, ["new"], "what was not captured was not deleted: {text}");
    assert_eq!(history["not_captured"], json!(["cp-10"]), "{text}");
    assert!(text.contains("not captured, though it was there: cp-10"), "{text}");
    for path in ["secret/key", "secret/new", "secret"] {
        let refused = client.refused("snapshots_revert", json!({"path": path, "checkpoint": "without"}));
        assert!(refused.starts_with(&format!("{path} was not captured in cp-10; nothing was changed")), "{refused}");
    }
    assert_eq!((world.read("secret/key").as_str(), world.read("secret/new").as_str()), ("2\n", "new\n"));
    let table = world.ok(&["history", "secret/key"]);
    assert!(table.contains("not captured") && !table.contains("deleted"), "{table}");
}

#[test]
fn a_snapshot_that_lacks_something_says_so_whichever_tool_took_it() {
    let world = World::new();
    world.workspace.file("a.txt", "one\n").file("big", crate::world::noise(200_000));
    std::fs::write(world.workspace.home().join("config.toml"), "snapshots.max_bytes = 100000\n").unwrap();
    let mut client = client(&world);
    for tool in ["snapshots_create", "snapshot_create"] {
        let (text, data) = client.ok(tool, json!({"name": tool}));
        assert!(text.contains("it lacks 1 path") && text.contains("big (over a limit"), "{tool}: {text}");
        assert_eq!(data["missing"], json!(1), "{tool}: {data}");
    }
}

#[test]
fn reverts_that_come_side_by_side_are_all_carried_out() {
    let world = World::new();
    let names: Vec<String> = (0..12).map(|number| format!("file{number}")).collect();
    for name in &names {
        world.workspace.file(name, "good\n");
    }
    let mut client = client(&world);
    client.ok("snapshots_create", json!({"name": "good"}));
    for name in &names {
        world.workspace.file(name, "bad\n");
    }
    let call = |name: &String| json!({"name": "snapshots_revert", "arguments": {"path": name}});
    let ids: Vec<u64> = names.iter().map(|name| client.request("tools/call", call(name))).collect();
    for id in ids {
        let answer = client.answer(id);
        assert_eq!(answer["result"]["isError"], json!(false), "{answer}");
    }
    assert!(names.iter().all(|name| world.read(name) == "good\n"));
}
