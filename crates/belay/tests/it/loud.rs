//! What is not protected is said: at the start of a run, at its end, in its record, in `status` and in the status line.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use belay_testkit::skip;

use crate::jailed::has_namespaces;
use crate::running::{records, until};
use crate::world::{Ran, World, noise};

const RUN: [&str; 4] = ["run", "--isolation", "none", "--"];

/// A workspace with one file that is larger than a snapshot may be.
fn over_limit() -> World {
    let world = World::new();
    world.workspace.file("small", "s").file("big", noise(200_000));
    std::fs::write(world.workspace.home().join("config.toml"), "snapshots.max_bytes = 100000\n")
        .expect("the settings are written");
    world
}

fn run(world: &mut World, script: &str) -> Ran {
    let mut words = RUN.to_vec();
    words.extend(["sh", "-c", script]);
    world.belay(&words)
}

#[test]
fn a_run_whose_snapshot_lacks_a_file_says_so_before_and_after_and_in_its_record() {
    let mut world = over_limit();
    let ran = run(&mut world, "rm big");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("not protected: snap_"), "{ran}");
    assert!(ran.stderr.contains("lacks 1 path") && ran.stderr.contains("big (over a limit"), "{ran}");
    assert!(ran.stderr.contains("the snapshot before the run lacks 1 path"), "{ran}");
    assert!(!ran.stderr.contains("To take it all back"), "{ran}");
    let degraded = records(&world).remove(0)["protection"]["degraded"].clone();
    let of_snapshots = |one: &&serde_json::Value| one["layer"] == "snapshots";
    let why = degraded.as_array().and_then(|all| all.iter().find(of_snapshots)).map(|one| one["why"].to_string());
    assert!(why.is_some_and(|why| why.contains("big")), "{degraded}");
    let shown = world.ok(&["show"]);
    assert!(shown.contains("big (over a limit") && shown.contains("pre-run*"), "{shown}");
    let log = world.ok(&["log"]);
    assert!(log.contains("pre-run, ") && log.contains("lacks 1 path"), "{log}");
    let events = world.json(&["log"]);
    let gaps = events.as_array().unwrap().iter().find(|one| one["event"] == "snapshot").map(|one| one["gaps"].clone());
    assert_eq!(gaps, Some(1.into()));
}

#[test]
fn more_entries_than_allowed_are_told_and_the_run_begins_all_the_same() {
    let mut world = World::new();
    for number in 0..30 {
        world.workspace.file(format!("file{number:02}"), "x");
    }
    std::fs::write(world.workspace.home().join("config.toml"), "snapshots.max_entries = 10\n").unwrap();
    let ran = run(&mut world, "rm file00 file29");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("lacks 20 paths") && ran.stderr.contains("file10 (over a limit)"), "{ran}");
    assert!(ran.stderr.contains("and 15 more"), "{ran}");
    world.belay(&["rollback", "-y", "@pre-run"]);
    assert!(
        world.has("file00") && world.has("file15") && !world.has("file29"),
        "what it holds comes back, and no more"
    );
    let partial = world.belay(&["snapshot"]);
    assert!(partial.code == 0 && !partial.stderr.contains("permission denied"), "{partial}");
}

#[test]
fn what_a_later_snapshot_lacks_is_an_event_and_status_does_not_say_everything() {
    let mut world = over_limit();
    world.workspace.remove("big");
    world.ok(&["watch", "-q", "--detach"]);
    let whole = world.ok(&["status"]);
    assert!(whole.contains("Protected    everything"), "{whole}");
    world.workspace.file("one", noise(90_000)).file("two", [noise(90_000), vec![0]].concat());
    std::thread::sleep(Duration::from_millis(300));
    world.ok(&["stop"]);
    let log = world.ok(&["log"]);
    assert!(log.contains("weaker: snapshots: ") && log.contains("over a limit"), "{log}");
    let status = world.ok(&["status"]);
    assert!(!status.contains("everything") && status.contains("lacks; `belay ls snap_"), "{status}");
}

#[test]
fn the_status_line_is_not_green_when_the_last_snapshot_lacks_something() {
    let mut world = over_limit();
    world.belay(&["snapshot", "-q"]);
    let line = world.ok(&["statusline", "--color", "always"]);
    assert!(line.contains("1 path not in it") && !line.contains("\u{1b}[32m"), "{line:?}");
    world.workspace.remove("big");
    world.snapshot();
    let line = world.ok(&["statusline", "--color", "always"]);
    assert!(!line.contains("not in it"), "{line:?}");
}

#[test]
fn without_snapshots_nothing_is_called_protected() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    world.snapshot();
    world.ok(&["snapshots", "delete", "-y", "1"]);
    let status = world.ok(&["status"]);
    assert!(status.contains("nothing yet: there is no snapshot") && !status.contains("everything"), "{status}");
    world.snapshot();
    assert!(world.ok(&["status"]).contains("Protected    everything"));
    std::fs::write(world.workspace.home().join("config.toml"), "snapshots.disabled = true\n").unwrap();
    let status = world.ok(&["status"]);
    assert!(status.contains("snapshots.disabled") && !status.contains("everything"), "{status}");
    assert!(world.json(&["status"])["disabled"].is_string());
    let ran = run(&mut world, "true");
    assert!(ran.code == 0 && ran.stderr.contains("not protected: none is taken"), "{ran}");
    assert_eq!(records(&world)[0]["protection"]["degraded"].to_string().matches("snapshots.disabled").count(), 1);
}

#[test]
fn the_settings_of_tracing_count_in_a_run() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    std::fs::write(world.workspace.home().join("config.toml"), "tracing.disable_files = true\n").unwrap();
    let ran = run(&mut world, "echo b > b");
    assert!(ran.code == 0 && ran.stderr.contains("file changes are not recorded"), "{ran}");
    let protection = records(&world).remove(0)["protection"].clone();
    assert_eq!(protection["files"], "none", "{protection}");
    world.ok(&["rollback", "-y", "@pre-run"]);
    assert!(!world.has("b"), "snapshots are complete all the same");
    std::fs::write(world.workspace.home().join("config.toml"), "tracing.engine = 'unprivileged'\n").unwrap();
    let ran = run(&mut world, "echo c > c");
    assert_eq!(ran.code, 0, "{ran}");
    let protection = records(&world).remove(1)["protection"].clone();
    assert_eq!((protection["exec"].as_str(), protection["files"].as_str()), (Some("ptrace"), Some("inotify")));
}

/// A workspace whose first snapshot takes a while.
fn slow() -> World {
    let world = World::new();
    let noise = noise(8_000_000);
    for number in 0..40u8 {
        world.workspace.file(format!("noise{number}"), [&[number], &noise[..]].concat());
    }
    world
}

fn store_bytes(world: &World) -> u64 {
    let packs = Command::new("du").args(["-sb"]).arg(world.workspace.home().join("store")).output();
    let text = packs.map(|packs| String::from_utf8_lossy(&packs.stdout).into_owned()).unwrap_or_default();
    text.split_whitespace().next().and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}

#[test]
fn whoever_interrupts_the_snapshot_before_a_run_gets_no_run() {
    let mut world = slow();
    for words in [&["run", "--isolation", "none", "--", "touch", "began"][..], &["watch"], &["watch", "--detach"]] {
        let mut command = world.command(words);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("belay starts");
        let before = store_bytes(&world);
        let deadline = Instant::now() + Duration::from_secs(20);
        while store_bytes(&world) < before + (1 << 20) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()));
        let output = child.wait_with_output().expect("it ends");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{words:?}: {text}");
        assert!(text.contains("interrupted before the") && text.contains("nothing was changed"), "{words:?}: {text}");
        assert!(!world.has("began"), "the command was started: {text}");
        until("the run is over", || records(&world).iter().all(|run| run["state"] == "failed"));
    }
    assert!(world.json(&["snapshots"])["snapshots"].as_array().is_none_or(Vec::is_empty));
    assert_eq!(world.belay(&["verify"]).code, 0);
}

#[test]
fn on_a_terminal_the_snapshot_before_a_run_shows_how_far_it_is_and_heeds_ctrl_c() {
    let world = slow();
    let program = format!("{} run --isolation none -- touch began", env!("CARGO_BIN_EXE_belay"));
    let Ok(mut child) = world.at_terminal(&program).spawn() else {
        return skip("there is no script(1) to make a terminal with");
    };
    let mut keys = child.stdin.take().expect("a pipe");
    let (mut shown, mut screen) = (Vec::new(), child.stdout.take().expect("a pipe"));
    let mut part = [0; 4096];
    let is_in = |shown: &[u8], words: &str| String::from_utf8_lossy(shown).contains(words);
    while !is_in(&shown, "Snapshot") && !is_in(&shown, "ended") {
        match screen.read(&mut part) {
            Ok(length @ 1..) => shown.extend(&part[..length]),
            _ => break,
        }
    }
    if !is_in(&shown, "Snapshot") && world.has("began") {
        child.wait().expect("script ends");
        return skip("the snapshot took less than its bar's patience");
    }
    keys.write_all(b"\x03").expect("script reads");
    let began = Instant::now();
    screen.read_to_end(&mut shown).expect("a readable screen");
    let status = child.wait().expect("script ends");
    let text = String::from_utf8_lossy(&shown);
    assert!(text.contains("Snapshot") && text.contains(" MB"), "no bar: {text:?}");
    assert!(began.elapsed() < Duration::from_secs(3) && !world.has("began"), "{text}");
    assert_eq!(status.code(), Some(130), "{text}");
}

#[test]
fn an_ephemeral_run_says_how_many_paths_it_wrote() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a", "a").file("removed", "r").file("kept", "k");
    let ran = world.belay(&["run", "--ephemeral", "--", "sh", "-c", "echo b > b; echo c >> a; rm removed"]);
    assert!(ran.code == 0 && ran.stderr.contains("3 paths changed"), "{ran}");
    assert!(!ran.stderr.contains("To take it all back"), "there is nothing to take back: {ran}");
    assert!(world.ok(&["show"]).contains("changes      3 paths"));
}

#[test]
fn what_is_taken_back_when_no_run_is_there_is_in_the_log() {
    let mut world = World::new();
    world.workspace.file("a", "one");
    run(&mut world, "echo two > a");
    world.ok(&["rollback", "-y"]);
    world.ok(&["undo", "-y"]);
    world.ok(&["redo", "-y"]);
    let log = world.ok(&["log"]);
    for kind in ["* rollback to snap_", "* undo to snap_", "* redo to snap_"] {
        assert!(log.contains(kind), "{kind} is not in\n{log}");
    }
    let kinds = |world: &mut World, words: &[&str]| -> Vec<String> {
        let events = world.json(words);
        let events = events.as_array().cloned().unwrap_or_else(|| vec![events]);
        let rewound = events.iter().filter(|event| event["event"] == "rewound");
        rewound.map(|event| event["kind"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(kinds(&mut world, &["log"]), ["rollback", "undo", "redo"]);
    run(&mut world, "true");
    assert!(kinds(&mut world, &["log"]).is_empty(), "they were before this run");
    assert_eq!(kinds(&mut world, &["log", "@-1"]), ["rollback", "undo", "redo"]);
    let mut world = World::new();
    world.workspace.file("a", "one");
    let first = world.snapshot();
    world.workspace.file("a", "two");
    world.ok(&["rollback", "-y", &first]);
    assert_eq!(kinds(&mut world, &["log"]), ["rollback"], "without any run");
    assert!(world.ok(&["log"]).contains("rollback to snap_"));
}

#[test]
fn small_mistakes_are_told_as_what_they_are() {
    let mut world = World::new();
    world.workspace.file("a", "one").file("file", "f");
    let snapshot = world.snapshot();
    let diff = world.belay(&["diff", "--", "tpyo", "a"]);
    assert!(diff.code == 0 && diff.stderr.contains("nothing called tpyo is in either"), "{diff}");
    assert!(!diff.stderr.contains("called a "), "{diff}");
    for to in ["file", "file/beneath"] {
        let ran = world.belay(&["rollback", &snapshot, "--to", to]);
        assert!(ran.code != 0 && ran.stderr.contains("file is not a directory"), "{ran}");
        assert!(ran.stderr.contains("nothing was changed"), "{ran}");
    }
    std::fs::write(world.workspace.home().join("config.toml"), "tracing.disable_exec = true\n").unwrap();
    run(&mut world, "true");
    let undo = world.belay(&["undo", "--command", "999"]);
    assert!(undo.code != 0 && !undo.stderr.contains("from 1 to 0"), "{undo}");
    assert!(undo.stderr.contains("recorded no commands"), "{undo}");
}

fn kinds_of(world: &mut World) -> Vec<String> {
    let snapshots = world.json(&["snapshots"]);
    let all = snapshots["snapshots"].as_array().cloned().unwrap_or_default();
    all.iter().map(|one| one["type"].as_str().or(one["kind"].as_str()).unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_run_that_goes_on_takes_a_snapshot_at_each_interval_in_which_something_changed() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let settings = "snapshots.auto_interval = 1\nsnapshots.triggers.disable_idle = true\n";
    std::fs::write(world.workspace.home().join("config.toml"), settings).unwrap();
    let ran = run(&mut world, "echo b > b; sleep 2.5; echo c > c; sleep 2.5");
    assert_eq!(ran.code, 0, "{ran}");
    let autos = kinds_of(&mut world).iter().filter(|kind| *kind == "auto").count();
    assert_eq!(autos, 2, "one for each change: {:?}", kinds_of(&mut world));
}

#[test]
fn the_ring_of_a_run_wraps_and_its_counts_stay_right() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let settings = "snapshots.auto_interval = 1\nsnapshots.auto_max = 1\nsnapshots.triggers.disable_idle = true\n\
                    snapshots.triggers.disable_commands = true\n";
    std::fs::write(world.workspace.home().join("config.toml"), settings).unwrap();
    let ran = run(&mut world, "for i in 1 2 3; do echo $i > f$i; sleep 2.2; done");
    assert_eq!(ran.code, 0, "{ran}");
    let mut rows =
        |sql: &str| world.ok(&["sql", "@latest", sql, "--csv"]).lines().skip(1).collect::<Vec<_>>().join(" ");
    let taken: u64 = rows("SELECT count(*) FROM snapshot_events WHERE slot = 0").parse().unwrap();
    assert!(taken >= 2, "{taken}");
    // What the newest in the slot counts is what came since the one before, and together they count each change once.
    let counted = "(SELECT count(*) FROM fs_events WHERE id > s.start_fs_event_id AND id <= s.stop_fs_event_id AND \
                   action = 'created')";
    let newest = format!(
        "SELECT slot, {counted} FROM snapshot_events s WHERE id IN (SELECT max(id) FROM \
                          snapshot_events GROUP BY slot) AND slot >= 0"
    );
    assert_eq!(rows(&newest), "0,1");
    assert_eq!(rows(&format!("SELECT sum({counted}) FROM snapshot_events s")), "3");
    assert_eq!(kinds_of(&mut world).iter().filter(|kind| *kind == "auto").count(), 1);
}

#[test]
fn a_change_fills_the_ring_although_the_snapshot_after_its_command_has_it_already() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let settings = "snapshots.auto_interval = 2\nsnapshots.triggers.disable_idle = true\n";
    std::fs::write(world.workspace.home().join("config.toml"), settings).unwrap();
    let ran = run(&mut world, "sh -c 'echo b > b; exit'; sleep 4.5");
    assert_eq!(ran.code, 0, "{ran}");
    let mut number = |sql: &str| world.ok(&["sql", "@latest", sql, "--csv"]).lines().skip(1).collect::<String>();
    assert_eq!(number("SELECT count(*) FROM snapshot_events WHERE slot >= 0"), "1");
    assert_eq!(number("SELECT count(*) FROM snapshot_events WHERE kind = 'auto' AND slot < 0 AND command > 0"), "1");
}

#[test]
fn a_run_that_falls_idle_takes_one_snapshot_until_it_moves_again() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let settings = "snapshots.triggers.idle_threshold_seconds = 2\nsnapshots.auto_interval = 0\n";
    std::fs::write(world.workspace.home().join("config.toml"), settings).unwrap();
    let ran = run(&mut world, "echo b > b; sleep 8");
    assert_eq!(ran.code, 0, "{ran}");
    let kinds = kinds_of(&mut world);
    assert_eq!(kinds.iter().filter(|kind| *kind == "idle").count(), 1, "{kinds:?}");
}
