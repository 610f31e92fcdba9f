//! `belay watch`: the same record without a command.

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use crate::mcp_client::Client;
use crate::running::{is_alive, records, until};
use crate::world::World;

#[test]
fn a_watch_records_changes_and_is_ended_by_stop() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let mut watch = world.command(&["watch", "--detach"]);
    watch
        .env("BELAY_SNAPSHOTS__AUTO_INTERVAL", "7200")
        .env("BELAY_SNAPSHOTS__TRIGGERS__IDLE_THRESHOLD_SECONDS", "3600");
    let begun = world.ran(watch);
    let rhythm = "a snapshot every 2 h while files change, and once nothing has happened for 1 h";
    assert!(begun.code == 0 && begun.stderr.contains(rhythm), "{begun}");
    assert_eq!(world.ok(&["watch", "--list"]).lines().count(), 1);
    let again = world.belay(&["watch", "--detach"]);
    assert!(again.stderr.contains("watched already"), "{again}");
    world.workspace.file("b", "new").remove("a");
    std::thread::sleep(Duration::from_millis(300));
    world.ok(&["stop"]);
    let run = records(&world).remove(0);
    assert_eq!((run["state"].as_str(), run["argv"].as_array().map(Vec::len)), (Some("ended"), Some(0)));
    assert!(run["totals"]["changes"].as_u64() >= Some(2), "{run}");
    let none = world.belay(&["watch", "--list"]);
    assert!(none.stdout.is_empty() && none.stderr.contains("No watch goes on."), "{none}");
    let plan = world.belay(&["rollback", "-n", "@pre-run"]);
    assert!(!plan.stdout.contains("newer:"), "it happened during the watch: {plan}");
    world.ok(&["rollback", "-y", "@pre-run"]);
    assert!(world.has("a") && !world.has("b"));
}

#[test]
fn several_directories_are_watched_until_ctrl_c() {
    let world = World::new();
    world.workspace.file("one/a", "a").file("two/a", "a");
    let mut watch = world.command(&["watch", "one", "two"]);
    let mut watch = watch.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    until("both are watched", || records(&world).iter().filter(|run| run["state"] == "running").count() == 2);
    std::thread::sleep(Duration::from_millis(200));
    let sent = std::process::Command::new("kill").args(["-INT", &watch.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()));
    assert_eq!(watch.wait().unwrap().code(), Some(0));
    assert!(records(&world).iter().all(|run| run["state"] == "ended"));
}

#[test]
fn whoever_leaves_a_watch_does_not_end_it() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    world.ok(&["watch", "-q", "--detach"]);
    for signal in ["-INT", "-TERM"] {
        let mut visit = world.command(&["attach"]);
        let mut visit = visit.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        let sent = std::process::Command::new("kill").args([signal, &visit.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()));
        assert_eq!(visit.wait().unwrap().code(), Some(0));
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(records(&world)[0]["state"], "running");
    }
    world.ok(&["stop"]);
    let over = world.belay(&["attach", records(&world)[0]["id"].as_str().unwrap()]);
    assert!(over.code == 3 && over.stderr.contains("is over already"), "{over}");
}

#[test]
fn a_watch_names_the_command_that_changed_a_file_where_the_kernel_names_its_process() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    world.ok(&["watch", "-q", "--detach"]);
    let script = "echo one > made; echo two >> made; sleep 0.5; : by a stranger";
    let wrote = std::process::Command::new("sh").args(["-c", script]).current_dir(world.workspace.path()).status();
    assert!(wrote.is_ok_and(|wrote| wrote.success()));
    world.ok(&["stop"]);
    if records(&world)[0]["protection"]["files"] != "fanotify" {
        return belay_testkit::skip("nobody tells a watch who changes a file here");
    }
    let log = world.ok(&["log"]);
    assert!(log.contains("by a stranger") && log.contains("A made"), "{log}");
    assert!(!log.contains("end not seen"), "nobody watches for it: {log}");
    let (stranger, last) = (log.find("by a stranger"), log.find("final"));
    assert!(stranger < last && !log.contains("  * "), "the last snapshot is nobody's but the watch's: {log}");
    assert!(world.ok(&["changes"]).contains("#1 sh -c"));
    assert!(world.ok(&["blame", "made"]).contains("#1 sh -c"));
}

/// The process that supervises the only run.
fn supervisor(world: &World) -> u32 {
    records(world)[0]["supervisor"]["pid"].as_u64().expect("a record names its supervisor") as u32
}

#[test]
fn a_watch_ends_when_its_directory_is_removed() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    world.ok(&["watch", "-q", "--detach"]);
    let pid = supervisor(&world);
    std::fs::remove_dir_all(world.workspace.path()).unwrap();
    until("the watch has ended", || !is_alive(pid));
    let run = records(&world).remove(0);
    assert_eq!((run["state"].as_str(), run["because"].as_str()), (Some("ended"), Some("its directory was removed")));
    assert!(run["final_snapshot"].is_null(), "nothing is taken of what is gone: {run}");
}

#[test]
fn whoever_supervises_what_nobody_can_find_any_more_ends_and_leaves_nothing() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    world.ok(&["run", "-q", "--isolation", "none", "--detach", "--", "sleep", "600"]);
    let run = records(&world).remove(0);
    let (pid, child) =
        (supervisor(&world), run["child"]["pid"].as_u64().expect("a record names its supervisor") as u32);
    std::fs::remove_dir_all(world.workspace.home()).unwrap();
    until("the supervisor has ended", || !is_alive(pid) && !is_alive(child));
    assert!(!world.workspace.home().exists());
}

#[test]
fn what_is_put_back_says_from_which_checkpoint_the_first_time_too() {
    let mut world = World::new();
    world.workspace.file("x", "one\n").file("other", "o\n");
    world.ok(&["watch", "-q", "--detach"]);
    let (mut client, _) = Client::greet(world.command(&["mcp"]), "2025-11-25");
    client.ok("snapshots_create", json!({"name": "first"}));
    client.ok("snapshots_create", json!({"name": "second"}));
    world.workspace.file("x", "two\n").file("other", "changed\n");
    client.ok("snapshots_revert", json!({"path": "x", "checkpoint": "first"}));
    client.ok("snapshots_revert", json!({"path": "other", "checkpoint": "second"}));
    world.ok(&["stop"]);
    let rows = world.ok(&["sql", "@latest", "SELECT path FROM fs_events WHERE action = 'restored' ORDER BY id"]);
    let rows: Vec<&str> = rows.lines().skip(1).map(str::trim).collect();
    assert_eq!(rows, ["x (from cp-10)", "other (from cp-11)"]);
    world.ok(&["audit", "verify"]);
}
