//! Runs afterwards: listed, shown, asked in SQL, verified and exported.

use std::fs;

use serde_json::Value;

use crate::world::World;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
}

/// A world in which one run made, changed and removed something, and failed.
fn after_a_run() -> World {
    let mut world = World::new();
    world.workspace.file("gone.txt", "old\n");
    world.workspace.file("kept.txt", "old\n");
    let script =
        "echo new > made.txt; echo more >> kept.txt; /bin/rm gone.txt; : > \"$(printf 'odd\\033[31m')\"; exit 3";
    let ran = world.belay(&["run", "--", "sh", "-c", script]);
    assert_eq!(ran.code, 3, "{ran}");
    world
}

fn run_dir(world: &mut World) -> std::path::PathBuf {
    let runs = lines(&world.ok(&["runs", "--json"]));
    runs[runs.len() - 1]["directory"].as_str().expect("a run has a directory").into()
}

#[test]
fn a_run_is_listed_and_shown() {
    let mut world = after_a_run();
    let runs = lines(&world.ok(&["runs", "--json"]));
    assert_eq!(runs.len(), 1);
    assert_eq!((runs[0]["exit_code"].as_i64(), runs[0]["state"].as_str()), (Some(3), Some("ended")));
    let listed = world.ok(&["runs"]);
    for word in ["ID", "WHEN", "COMMAND", "EXIT", "DURATION", "PATHS", "STATE", "sh -c"] {
        assert!(listed.contains(word), "{word}: {listed}");
    }
    let shown = world.ok(&["show"]);
    let id = runs[0]["id"].as_str().expect("a run has an id");
    for word in [id, "exit code 3", "protection", "pre-run", "final", "belay rollback snap_"] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    let json: Value = serde_json::from_str(&world.ok(&["show", id, "--json"])).expect("JSON");
    assert_eq!(json["run"]["id"], *id);
    assert!(json["snapshots"].as_array().is_some_and(|all| all.len() >= 2));
    assert!(!listed.contains("WORKSPACE"), "{listed}");
    assert_eq!(world.ok(&["sql", "SELECT 1 AS one", "--csv"]), world.ok(&["sql", id, "SELECT 1 AS one", "--csv"]));
    let other = world.workspace.base().join("other");
    std::fs::create_dir(&other).expect("it is new");
    world.ok(&["-C", &other.to_string_lossy(), "run", "-q", "--", "true"]);
    let all = world.ok(&["runs", "--all"]);
    assert!(all.contains("WORKSPACE") && all.lines().any(|line| line.ends_with("other")), "{all}");
}

#[test]
fn the_log_tells_commands_files_and_snapshots() {
    let mut world = after_a_run();
    let log = world.ok(&["log"]);
    for word in ["#1 sh -c", "exit 3", "A made.txt", "M kept.txt", "D gone.txt", "snapshot snap_", "odd\\x1b[31m"] {
        assert!(log.contains(word), "{word}: {log}");
    }
    assert!(!log.contains('\x1b'), "{log}");
    assert!(!world.ok(&["log", "--no-files"]).contains("A made.txt"));
    let events = lines(&world.ok(&["log", "--json"]));
    let names: Vec<&str> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!((names.first(), names.last()), (Some(&"run-started"), Some(&"run-ended")));
    let numbers: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
    assert_eq!(lines(&world.ok(&["log", "--json", "--follow"])), events);
    let rm = events.iter().find(|event| event["argv"][0] == "/bin/rm").expect("rm was seen");
    let number = rm["command"].to_string();
    let beneath = world.ok(&["log", "--command", &number]);
    assert!(beneath.contains("D gone.txt") && !beneath.contains("A made.txt"), "{beneath}");
    assert_eq!(world.belay(&["log", "--command", "99999"]).code, 3);
}

#[test]
fn sql_answers_and_changes_nothing() {
    let mut world = after_a_run();
    let sql = "SELECT action, path FROM fs_events WHERE path = 'gone.txt'";
    assert_eq!(world.ok(&["sql", "@latest", sql, "--csv"]), "action,path\r\ndeleted,gone.txt\r\n");
    assert_eq!(lines(&world.ok(&["sql", "@latest", sql, "--json"]))[0]["action"], "deleted");
    let table = world.ok(&["sql", "@latest", "SELECT path FROM fs_events WHERE path LIKE 'odd%' LIMIT 1"]);
    assert!(table.contains("odd\\x1b[31m") && !table.contains('\x1b'), "{table}");
    let refused = world.belay(&["sql", "@latest", "DELETE FROM fs_events"]);
    assert_ne!(refused.code, 0, "{refused}");
    assert!(world.ok(&["audit", "verify"]).starts_with("good: run_"));
}

#[test]
fn an_audit_finds_what_was_done_to_a_record() {
    let mut world = after_a_run();
    let verdict: Value = serde_json::from_str(&world.ok(&["audit", "verify", "--json"])).expect("JSON");
    assert_eq!((&verdict["good"], &verdict["verdict"]["closed"]), (&Value::Bool(true), &Value::Bool(true)));
    assert!(verdict["verdict"]["root_before"].is_string() && verdict["verdict"]["root_after"].is_string(), "{verdict}");
    let path = run_dir(&mut world).join("exec.jsonl");
    let text = fs::read_to_string(&path).expect("the lines are there");
    fs::write(&path, text.replace("/bin/rm", "/bin/ls")).expect("the lines can be written");
    let ran = world.belay(&["audit", "verify"]);
    assert_ne!(ran.code, 0);
    assert!(ran.stdout.contains("exec.jsonl") && ran.stdout.contains("changed"), "{ran}");
}

#[test]
fn a_bundle_verifies_elsewhere_and_without_what_was_left_out() {
    let mut world = after_a_run();
    world.ok(&["audit", "export", "@latest", "run.audit", "--redact", "gone.txt"]);
    let bundle = world.workspace.path().join("run.audit");
    let text = fs::read_to_string(&bundle).expect("the bundle is there");
    assert!(!text.contains("gone.txt"));
    let name = bundle.to_str().expect("a plain path").to_owned();
    let mut elsewhere = World::new();
    let said = elsewhere.ok(&["audit", "verify", &name]);
    assert!(said.starts_with("good: run_") && said.contains("NOT this installation's"), "{said}");
    assert!(world.ok(&["audit", "verify", "run.audit"]).contains("this installation's"));
    assert_ne!(world.belay(&["audit", "export", "@latest", "run.audit"]).code, 0, "nothing is overwritten");
    fs::write(&bundle, text.replace("made.txt", "fake.txt")).expect("the bundle can be written");
    assert_ne!(elsewhere.belay(&["audit", "verify", &name]).code, 0);
}

#[test]
fn another_runs_record_and_a_changed_description_are_found() {
    let mut world = after_a_run();
    let first = run_dir(&mut world);
    world.ok(&["audit", "verify"]);
    let description = first.join("run.json");
    let text = fs::read_to_string(&description).unwrap();
    fs::write(&description, text.replacen("exit 3", "exit 0", 1)).unwrap();
    let verdict = world.belay(&["audit", "verify"]);
    assert_eq!(verdict.code, 6, "{verdict}");
    assert!(verdict.stdout.contains("run.json"), "{verdict}");
    fs::write(&description, text).unwrap();
    world.ok(&["run", "--isolation", "none", "--", "true"]);
    let dirs: Vec<_> = fs::read_dir(first.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let second = dirs.iter().find(|dir| **dir != first).expect("a second run");
    for name in ["session.db", "exec.jsonl"] {
        fs::copy(second.join(name), first.join(name)).unwrap();
    }
    let id = first.file_name().unwrap().to_str().unwrap().to_owned();
    let verdict = world.belay(&["audit", "verify", &id]);
    assert_eq!(verdict.code, 6, "{verdict}");
    assert!(verdict.stdout.contains("it is the record of"), "{verdict}");
}

#[test]
fn what_a_description_says_of_protection_snapshots_and_reasons_is_checked_too() {
    let mut world = after_a_run();
    let path = run_dir(&mut world).join("run.json");
    let text = fs::read_to_string(&path).unwrap();
    let run: Value = serde_json::from_str(&text).unwrap();
    let lies = [
        ("/protection/snapshots", Value::Bool(false)),
        ("/protection", Value::Null),
        ("/because", "stopped".into()),
        ("/pre_run", "snap_000000".into()),
        ("/final_snapshot", "snap_000000".into()),
        ("/final_snapshot", Value::Null),
        ("/totals/commands", 1000.into()),
        ("/totals/snapshots", 1000.into()),
    ];
    for (pointer, lie) in lies {
        let mut told = run.clone();
        match told.pointer_mut(pointer) {
            Some(value) => *value = lie.clone(),
            None => told[&pointer[1..]] = lie.clone(),
        }
        fs::write(&path, serde_json::to_vec(&told).unwrap()).unwrap();
        let verdict = world.belay(&["audit", "verify"]);
        assert_eq!(verdict.code, 6, "{pointer} {lie}: {verdict}");
        assert!(verdict.stdout.contains("run.json"), "{pointer}: {verdict}");
    }
    fs::write(&path, text).unwrap();
    world.ok(&["audit", "verify"]);
}

#[test]
fn an_audit_names_what_is_gone() {
    let mut world = after_a_run();
    let dir = run_dir(&mut world);
    fs::rename(dir.join("exec.jsonl"), dir.join("elsewhere")).unwrap();
    let verdict = world.belay(&["audit", "verify"]);
    assert_eq!(verdict.code, 6, "{verdict}");
    assert!(verdict.stdout.contains("exec.jsonl: removed"), "{verdict}");
    fs::rename(dir.join("elsewhere"), dir.join("exec.jsonl")).unwrap();
    let kept = fs::read(dir.join("session.db")).unwrap();
    for table in ["snapshot_events", "events", "head"] {
        for name in ["session.db-wal", "session.db-shm"] {
            let _ = fs::remove_file(dir.join(name));
        }
        fs::write(dir.join("session.db"), &kept).unwrap();
        let sql = format!("DROP TABLE {table}");
        let dropped = std::process::Command::new("sqlite3").arg(dir.join("session.db")).arg(sql).status();
        if !dropped.is_ok_and(|status| status.success()) {
            belay_testkit::skip("no sqlite3");
            break;
        }
        let verdict = world.belay(&["audit", "verify"]);
        assert_eq!(verdict.code, 6, "{table}: {verdict}");
    }
    for name in ["session.db", "session.db-wal", "session.db-shm"] {
        let _ = fs::remove_file(dir.join(name));
    }
    let verdict = world.belay(&["audit", "verify"]);
    assert_eq!(verdict.code, 6, "{verdict}");
}

#[test]
fn a_file_that_is_called_as_a_run_is_not_verified_in_its_place() {
    let mut world = after_a_run();
    let first = run_dir(&mut world).file_name().unwrap().to_str().unwrap().to_owned();
    world.ok(&["run", "-q", "--", "true"]);
    let second = run_dir(&mut world).file_name().unwrap().to_str().unwrap().to_owned();
    world.ok(&["audit", "export", &first, "bundle"]);
    for name in ["@latest", &second] {
        fs::copy(world.workspace.join("bundle"), world.workspace.join(name)).unwrap();
        let verdict = world.json(&["audit", "verify", name]);
        assert_eq!(verdict["verdict"]["run"], *second, "{name}");
        let verdict = world.json(&["audit", "verify", &format!("./{name}")]);
        assert_eq!(verdict["verdict"]["run"], *first, "{name}");
    }
    fs::write(world.workspace.join("none"), "no bundle").unwrap();
    let ran = world.belay(&["audit", "verify", "none"]);
    assert!(ran.stderr.contains("`belay audit export RUN FILE` makes one"), "{ran}");
}

#[test]
fn a_run_whose_controller_died_behind_its_last_event_ended_as_that_says() {
    let mut world = after_a_run();
    let path = run_dir(&mut world).join("run.json");
    let before: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    // As it was written last before the end: whoever held it died between the end of its journal and that of its record.
    let mut open = before.clone();
    let fields = open.as_object_mut().unwrap();
    fields.insert("state".into(), "running".into());
    ["ended", "ended_at", "final_snapshot", "totals"].iter().for_each(|key| drop(fields.remove(*key)));
    fields.insert("totals".into(), serde_json::json!({ "commands": 0, "changes": 0, "snapshots": 0, "lost": 0 }));
    fs::write(&path, serde_json::to_vec(&open).unwrap()).unwrap();
    let id = before["id"].as_str().unwrap();
    let marks = world.workspace.home().join("workspaces").join(before["workspace"].as_str().unwrap()).join("active");
    fs::write(marks.join(id), "").unwrap();
    let snapshots = |world: &mut World| world.json(&["snapshots"])["snapshots"].as_array().map_or(0, Vec::len);
    let taken = snapshots(&mut world);
    let after: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!((&after["state"], &after["ended"]), (&before["state"], &before["ended"]), "{after}");
    assert_eq!(after["final_snapshot"], before["final_snapshot"]);
    assert_eq!(snapshots(&mut world), taken, "what was captured at its end is not captured again");
    world.ok(&["audit", "verify"]);
}

#[test]
fn a_run_that_was_killed_before_its_record_had_a_table_is_put_in_order() {
    let mut world = after_a_run();
    let dir = run_dir(&mut world);
    let mut run: Value = serde_json::from_slice(&fs::read(dir.join("run.json")).unwrap()).unwrap();
    let fields = run.as_object_mut().unwrap();
    let gone = ["started_at", "ended_at", "ended", "pre_run", "final_snapshot", "child", "protection"];
    gone.iter().for_each(|key| drop(fields.remove(*key)));
    fields.insert("state".into(), "created".into());
    fs::write(dir.join("run.json"), serde_json::to_vec(&run).unwrap()).unwrap();
    for name in ["session.db-wal", "session.db-shm"] {
        let _ = fs::remove_file(dir.join(name));
    }
    fs::write(dir.join("session.db"), "").unwrap();
    let marks = world.workspace.home().join("workspaces").join(run["workspace"].as_str().unwrap()).join("active");
    fs::write(marks.join(run["id"].as_str().unwrap()), "").unwrap();
    let said = world.belay(&["status"]);
    assert!(said.stderr.contains("died before its command began"), "{said}");
    let log = world.belay(&["log"]);
    assert_eq!(log.code, 3, "{log}");
    assert!(log.stderr.contains("there is no record"), "{log}");
}

#[test]
fn an_older_record_of_the_same_run_is_found() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let saved = world.workspace.base().join("saved");
    fs::create_dir(&saved).unwrap();
    let (home, to) = (world.workspace.home().display().to_string(), saved.display());
    let script = format!("cp {home}/runs/*/session.db* {home}/runs/*/exec.jsonl {to}; /bin/rm a");
    let ran = world.belay(&["run", "--isolation", "none", "-q", "--", "sh", "-c", &script]);
    assert_eq!(ran.code, 0, "{ran}");
    world.ok(&["audit", "verify"]);
    let dir = run_dir(&mut world);
    for name in ["session.db", "session.db-wal", "session.db-shm", "exec.jsonl"] {
        let _ = fs::remove_file(dir.join(name));
        let _ = fs::copy(saved.join(name), dir.join(name));
    }
    let verdict = world.belay(&["audit", "verify"]);
    assert_eq!(verdict.code, 6, "{verdict}");
    assert!(verdict.stdout.contains("head: truncated"), "{verdict}");
}

#[test]
fn a_console_is_shown_raw_into_a_pipe_and_line_by_line_in_json() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let script = r"printf 'one\n\033]0;hidden\nrm\n\033[31mred\n'";
    let id = world.ok(&["run", "--detach", "-q", "--isolation", "none", "--", "sh", "-c", script]).trim().to_owned();
    let is_over = || crate::running::records(&world).iter().all(|run| run["state"] == "ended");
    crate::running::until("the run ends", is_over);
    assert_eq!(world.ok(&["logs", "--raw", &id]), "one\r\n\x1b]0;hidden\r\nrm\r\n\x1b[31mred\r\n");
    assert_eq!(world.ok(&["logs", &id]), "one\n\nrm\nred\n");
    let told = lines(&world.ok(&["logs", &id, "--json"]));
    let texts: Vec<&str> = told.iter().filter_map(|line| line["line"].as_str()).collect();
    assert_eq!(texts, ["one", "", "rm", "\x1b[31mred"]);
}
