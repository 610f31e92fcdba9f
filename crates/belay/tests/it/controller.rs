//! The controller of a run: detached and attached, stopped, killed, and held still during a rollback.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::running::{is_alive, records, until};
use crate::world::World;

/// A daemon that left its session and its parent, twice; its pid is in the file.
const DAEMON: &str =
    "setsid sh -c 'setsid sh -c \"echo \\$\\$ > daemon.pid; exec sleep 300\" & exit' >/dev/null 2>&1 &";

fn daemon_of(world: &World) -> u32 {
    until("the daemon began", || {
        std::fs::read(world.workspace.join("daemon.pid")).is_ok_and(|pid| pid.ends_with(b"\n"))
    });
    world.read("daemon.pid").trim().parse().expect("a pid")
}

fn supervisor_of(world: &World) -> u32 {
    records(world)[0]["supervisor"]["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).expect("a pid")
}

fn kill(pid: u32, signal: &str) {
    let sent = Command::new("kill").args([format!("-{signal}"), pid.to_string()]).stderr(Stdio::null()).status();
    assert!(sent.is_ok(), "kill(1) is missing");
}

#[test]
fn a_detached_run_goes_on_has_a_log_and_can_be_waited_for() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let id = world.ok(&[
        "run",
        "--isolation",
        "none",
        "-q",
        "--detach",
        "--label",
        "nightly",
        "--",
        "sh",
        "-c",
        "test -t 1 && echo on a terminal; read line; echo got $line; exit 4",
    ]);
    let id = id.trim().to_owned();
    until("it shows something", || {
        std::fs::read(world.workspace.home().join("runs").join(&id).join("console.log"))
            .is_ok_and(|log| !log.is_empty())
    });
    assert!(world.ok(&["logs", "nightly"]).contains("on a terminal"));
    let lines = world.ok(&["logs", "nightly", "--json"]);
    assert!(lines.lines().any(|line| line == r#"{"line":"on a terminal"}"#), "{lines}");
    // Not a terminal here: keys cannot be typed, but the end can be waited for.
    let attached = world.command(&["attach", "nightly"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    world.ok(&["stop", "nightly"]);
    let output = attached.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(records(&world)[0]["because"], "stopped");
    assert_eq!(world.belay(&["attach", &id]).code, 3);
}

#[test]
fn a_way_back_warns_of_a_run_that_goes_on() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let early = world.belay(&["log"]);
    assert!(early.code == 3 && early.stderr.contains("not protected yet"), "{early}");
    world.snapshot();
    let early = world.belay(&["log"]);
    assert!(early.code == 3 && early.stderr.contains("no run here yet"), "{early}");
    world.ok(&["run", "--isolation", "none", "-q", "--detach", "-l", "night", "--", "sleep", "300"]);
    world.workspace.file("a", "b");
    let planned = world.belay(&["rollback", "@pre-run", "--dry-run"]);
    assert!(planned.stderr.contains("(night) still runs here and may write again"), "{planned}");
    world.ok(&["stop", "--now"]);
    let planned = world.belay(&["rollback", "@pre-run", "--dry-run"]);
    assert!(!planned.stderr.contains("still runs"), "{planned}");
}

#[test]
fn stop_ends_the_whole_tree() {
    for now in [false, true] {
        let mut world = World::new();
        world.workspace.file("a", "a");
        let script = format!("trap '' TERM HUP; {DAEMON} sleep 300; sleep 300");
        world.ok(&["run", "--isolation", "none", "-q", "--detach", "--", "sh", "-c", &script]);
        let daemon = daemon_of(&world);
        assert!(is_alive(daemon));
        world.ok(if now { &["stop", "--now"] } else { &["stop"] });
        assert!(!is_alive(daemon), "the daemon outlived the stop");
        assert_eq!(records(&world)[0]["state"], "ended");
    }
}

#[test]
fn what_outlives_its_run_is_named_and_can_be_stopped() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let ran = world.belay(&["run", "--isolation", "none", "--", "sh", "-c", &format!("{DAEMON} sleep 0.5")]);
    let daemon = daemon_of(&world);
    assert!(is_alive(daemon) && ran.stderr.contains("no longer recorded"), "{ran}");
    for _ in 0..2 {
        let status = world.belay(&["status"]);
        assert!(status.raw().contains(&daemon.to_string()) && status.stdout.contains("belay stop run_"), "{status}");
    }
    let left = world.json(&["status"])["outlived"][0]["left"].clone();
    assert!(left.as_array().is_some_and(|left| left.iter().any(|one| one["pid"] == daemon)), "{left}");
    world.ok(&["stop"]);
    assert!(!is_alive(daemon));
    assert_eq!(world.json(&["status"])["outlived"].as_array().map(Vec::len), Some(0));
    let none = world.belay(&["stop"]);
    assert!(none.code == 3 && none.stderr.contains("no run goes on in this workspace"), "{none}");
}

#[test]
fn the_control_group_of_a_run_whose_controller_was_killed_goes_with_its_recovery() {
    let mut world = World::new();
    world.ok(&["run", "--isolation", "none", "-q", "--detach", "--", "sh", "-c", "touch begun; sleep 1"]);
    until("it began", || world.has("begun"));
    let Some(group) = records(&world)[0]["group"].as_str().map(std::path::PathBuf::from) else {
        return belay_testkit::skip("no control group can be made here");
    };
    kill(supervisor_of(&world), "KILL");
    until("its command ended", || {
        std::fs::read_to_string(group.join("cgroup.events")).is_ok_and(|events| events.contains("populated 0"))
    });
    world.ok(&["status"]);
    assert!(!group.exists(), "{} is left", group.display());
}

#[test]
fn a_killed_controller_is_noticed_and_the_run_put_in_order() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let mut client = world.command(&[
        "run",
        "--isolation",
        "none",
        "--",
        "sh",
        "-c",
        &format!("echo b > b; {DAEMON} sleep 0.2; sleep 300"),
    ]);
    let mut client = client.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let daemon = daemon_of(&world);
    std::thread::sleep(Duration::from_millis(500));
    kill(supervisor_of(&world), "KILL");
    assert_eq!(client.wait().unwrap().code(), Some(125));
    let said = world.belay(&["status"]);
    assert!(said.stderr.contains("the controller of") && said.stderr.contains("no longer recorded"), "{said}");
    let run = records(&world).remove(0);
    assert_eq!((run["state"].as_str(), run["because"].as_str()), (Some("lost"), Some("controller lost")));
    assert!(run["totals"]["changes"].as_u64() >= Some(1), "what was recorded counts: {run}");
    assert!(world.belay(&["status"]).raw().contains(&daemon.to_string()), "told again as long as it is so");
    let found = run["final_snapshot"].as_str().unwrap_or_default().to_owned();
    let recorded = world.ok(&["sql", "@latest", "SELECT snapshot FROM snapshot_events WHERE kind = 'final'", "--csv"]);
    assert!(!found.is_empty() && recorded.contains(&found), "{recorded}");
    assert!(world.ok(&["show"]).contains(&found));
    assert_eq!(world.belay(&["audit", "verify"]).code, 0);
    assert!(!world.belay(&["status"]).stderr.contains("the controller of"), "it is said once");
    assert!(is_alive(daemon));
    world.ok(&["stop"]);
    assert!(!is_alive(daemon));
    assert_eq!(world.belay(&["verify", "--deep"]).code, 0);
}

#[test]
fn a_terminated_controller_stops_its_run_in_order() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    world.ok(&["run", "--isolation", "none", "-q", "--detach", "--", "sleep", "300"]);
    until("it runs", || records(&world)[0]["state"] == "running");
    kill(supervisor_of(&world), "TERM");
    until("it ended", || records(&world)[0]["state"] == "ended");
    assert_eq!(records(&world)[0]["because"], "stopped");
}

#[test]
fn a_signal_to_the_client_reaches_the_command() {
    let world = World::new();
    world.workspace.file("a", "a");
    let mut command = world.command(&[
        "run",
        "--isolation",
        "none",
        "-q",
        "--",
        "sh",
        "-c",
        "trap 'exit 9' INT; echo > begun; while :; do sleep 0.05; done",
    ]);
    let mut client = command.spawn().unwrap();
    until("the command began", || world.has("begun"));
    kill(client.id(), "INT");
    assert_eq!(client.wait().unwrap().code(), Some(9));
}

#[test]
fn nothing_of_a_run_moves_while_files_are_swapped() {
    let mut world = World::new();
    for number in 0..1_500 {
        world.workspace.file(format!("d{}/{number}", number % 20), "before");
    }
    let log = world.workspace.outside().join("log");
    let script =
        format!("for f in d*/*; do echo after > $f; done; : > ready; while :; do date +%s%N; done > {}", log.display());
    world.ok(&["run", "--isolation", "none", "-q", "--detach", "--", "bash", "-c", &script]);
    until("everything changed", || world.has("ready"));
    let outcome = world.json(&["rollback", "-y", "@pre-run"]);
    let nanos = |text: &str| text.parse::<jiff::Timestamp>().expect("a moment").as_nanosecond();
    let from = nanos(outcome["safety"]["created_at"].as_str().expect("a moment"));
    let timeline = std::fs::read_dir(world.workspace.home().join("workspaces")).unwrap().flatten();
    let text: String = timeline
        .filter_map(|dir| std::fs::read(dir.path().join("timeline")).ok())
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .collect();
    let at = text.split("\"rewind\"").nth(1).and_then(|rest| rest.split("\"at\":\"").nth(1)).expect("a rewind");
    let to = nanos(at.split('"').next().unwrap());
    until("the run goes on", || last_of(&log) > to);
    let during = lines_of(&log).into_iter().filter(|moment| (from..to).contains(moment)).count();
    assert_eq!(during, 0, "the run wrote {during} times while files were swapped");
    assert_eq!(world.read("d0/0"), "before");
    world.ok(&["stop", "--now"]);
}

fn lines_of(log: &std::path::Path) -> Vec<i128> {
    std::fs::read_to_string(log).unwrap_or_default().lines().filter_map(|line| line.parse().ok()).collect()
}

fn last_of(log: &std::path::Path) -> i128 {
    lines_of(log).last().copied().unwrap_or(0)
}

#[test]
fn a_run_can_take_itself_back() {
    let mut world = World::new();
    world.workspace.file("a", "good\n");
    let belay = env!("CARGO_BIN_EXE_belay");
    let script = format!("echo bad > a; {belay} rollback -y @pre-run && cat a");
    let ran = world.belay(&["run", "--isolation", "none", "-q", "--", "timeout", "20", "sh", "-c", &script]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "good\n"), "{ran}");
}

#[test]
fn a_rollback_that_dies_leaves_nobody_frozen() {
    let mut world = World::new();
    for number in 0..3_000 {
        world.workspace.file(format!("d{}/{number}", number % 20), "before");
    }
    let log = world.workspace.outside().join("log");
    let script =
        format!("for f in d*/*; do echo after > $f; done; : > ready; while :; do date +%s%N; done > {}", log.display());
    world.ok(&["run", "--isolation", "none", "-q", "--detach", "--", "bash", "-c", &script]);
    until("everything changed", || world.has("ready"));
    let mut rollback = world.command(&["rollback", "-q", "-y", "@pre-run"]);
    let mut rollback = rollback.stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(60));
    rollback.kill().unwrap();
    rollback.wait().unwrap();
    let before = last_of(&log);
    until("the run goes on", || last_of(&log) > before);
    world.ok(&["stop", "--now"]);
}
