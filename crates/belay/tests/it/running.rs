//! `belay run` without a terminal: exit codes, streams, the record, limits and the way back.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use belay_testkit::{OrdinaryUser, skip};

use crate::world::World;

/// The records of all runs, oldest first.
pub(crate) fn records(world: &World) -> Vec<serde_json::Value> {
    let Ok(dirs) = std::fs::read_dir(world.workspace.home().join("runs")) else { return Vec::new() };
    let read = |dir: std::fs::DirEntry| std::fs::read(dir.path().join("run.json")).ok();
    let parse = |bytes: Vec<u8>| serde_json::from_slice::<serde_json::Value>(&bytes).ok();
    let mut found: Vec<serde_json::Value> = dirs.filter_map(|dir| parse(read(dir.ok()?)?)).collect();
    found.sort_by_key(|run| run["created_at"].as_str().unwrap_or_default().to_owned());
    found
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn until(what: &str, is: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn is_alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
}

fn exit_of(world: &mut World, script: &str) -> i32 {
    world.belay(&["run", "--isolation", "none", "-q", "--", "sh", "-c", script]).code
}

#[test]
fn the_exit_code_is_the_commands() {
    let mut world = World::new();
    world.workspace.file("a", "a").file("text", "no program");
    assert_eq!(exit_of(&mut world, "exit 0"), 0);
    assert_eq!(exit_of(&mut world, "exit 7"), 7);
    assert_eq!(exit_of(&mut world, "exit 255"), 255);
    assert_eq!(exit_of(&mut world, "kill -TERM $$"), 143);
    assert_eq!(exit_of(&mut world, "kill -KILL $$"), 137);
    assert_eq!(world.belay(&["run", "--isolation", "none", "--", "no-such-program"]).code, 127);
    assert_eq!(world.belay(&["run", "--isolation", "none", "--", "./text"]).code, 126);
    let snapshots = world.json(&["snapshots"])["snapshots"].as_array().map_or(0, Vec::len);
    std::fs::write(world.workspace.home().join("config.toml"), "nonsense = 1\n").unwrap();
    let failed = world.belay(&["run", "--isolation", "none", "--", "true"]);
    assert_eq!(failed.code, 125, "{failed}");
    std::fs::remove_file(world.workspace.home().join("config.toml")).unwrap();
    assert_eq!(world.json(&["snapshots"])["snapshots"].as_array().map_or(0, Vec::len), snapshots);
}

#[test]
fn what_is_there_and_no_program_is_told_from_what_is_not_there() {
    let mut world = World::new();
    world.workspace.file("dir/a", "a");
    let ran = world.belay(&["run", "--isolation", "none", "--", "./dir"]);
    assert_eq!(ran.code, 126, "{ran}");
    assert!(ran.stderr.contains("./dir is a directory"), "{ran}");
    let ran = world.belay(&["run", "--isolation", "none", "--", ""]);
    assert_eq!(ran.code, 127, "{ran}");
    assert!(ran.stderr.contains("'' cannot be found"), "{ran}");
}

#[test]
fn a_run_that_cannot_begin_because_it_is_asked_for_inside_of_one_fails_as_belay_does() {
    if !crate::jailed::has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.workspace.file("a", "a");
    let ran = world.belay(&["run", "--isolation", "jail", "-q", "--", "sh", "-c", "belay run -- true; echo $?"]);
    assert_eq!(ran.stdout.trim(), "125", "{ran}");
}

#[test]
fn what_is_said_into_a_file_has_plain_lines() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let ran = world.belay(&["run", "--isolation", "none", "--", "true"]);
    assert!(ran.stderr.contains("NOT CONFINED") && !ran.stderr.contains('\r'), "{ran}");
}

#[test]
fn an_unknown_option_is_no_command() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let unknown = world.belay(&["run", "--lable", "x", "--", "true"]);
    assert!(unknown.code == 125 && unknown.stderr.contains("--label"), "{unknown}");
    assert_eq!(world.belay(&["run", "-q", "echo", "-n", "--label"]).raw(), "--label");
    assert_eq!(world.belay(&["run", "-q", "--", "-no-such-program"]).code, 127);
}

#[test]
fn the_end_of_a_run_tells_how_it_ended_and_who_did_what() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let script = "for i in 1 2 3 4 5 6 7; do touch file$i; done; exit 3";
    let ran = world.belay(&["run", "--isolation", "none", "--", "sh", "-c", script]);
    assert!(ran.stderr.contains("ended with exit code 3: 8 commands"), "{ran}");
    assert!(ran.stderr.contains("#2 touch file1") && ran.stderr.contains("and 2 more commands"), "{ran}");
    let ran = world.belay(&["run", "--isolation", "none", "--", "sh", "-c", "kill -SEGV $$"]);
    assert!(ran.stderr.contains("was killed by signal 11"), "{ran}");
}

#[test]
fn a_pipe_is_handed_through_and_nothing_is_added_to_it() {
    let world = World::new();
    world.workspace.file("a", "a");
    let mut command = world.command(&["run", "--isolation", "none", "--", "sh", "-c", "cat; echo err >&2"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("belay starts");
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let mut stdin = child.stdin.take().unwrap();
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &sent));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert_eq!(output.stdout, bytes);
    assert!(String::from_utf8_lossy(&output.stderr).contains("err\n"));
}

#[test]
fn a_run_is_recorded_and_can_be_taken_back() {
    let mut world = World::new();
    world.workspace.file("kept", "1").file("changed", "before").file("removed", "r");
    let before = world.workspace.walk();
    let ran = world.belay(&[
        "run",
        "--isolation",
        "none",
        "--",
        "sh",
        "-c",
        "echo after > changed; rm removed; mkdir -p new && date > new/x",
    ]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("NOT CONFINED (--isolation jail keeps it in)"), "{ran}");
    let back = ran.stderr.split("To take it all back: belay rollback ").nth(1).unwrap_or_default();
    assert!(!back.is_empty() && !back.starts_with('@'), "the name still means this run after the next: {ran}");
    let run = records(&world).remove(0);
    assert_eq!((run["state"].as_str(), run["ended"]["code"].as_i64()), (Some("ended"), Some(0)));
    assert!(run["totals"]["commands"].as_u64() >= Some(3), "{run}");
    assert!(run["final_snapshot"].is_string() && run["pre_run"].is_string(), "{run}");
    assert_eq!(run["protection"]["isolation"], "none");
    let id = run["id"].as_str().unwrap().to_owned();
    let dir = world.workspace.home().join("runs").join(&id);
    assert!(dir.join("session.db").exists() && dir.join("exec.jsonl").exists());
    assert!(!dir.join("control.sock").exists());
    world.ok(&["rollback", "-y", "@pre-run"]);
    belay_testkit::assert_same_world(&before, &world.workspace.walk(), Default::default());
}

#[test]
fn the_command_knows_its_run_and_inherits_nothing_of_ours() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    const SCRIPT: &str = "ls /proc/$$/fd; grep SigBlk /proc/self/status; umask; ulimit -a; pwd";
    let mut bare = Command::new("sh");
    let bare = bare.args(["-c", SCRIPT]).current_dir(world.workspace.path()).stdin(Stdio::null()).output().unwrap();
    let ran = world.belay(&["run", "--isolation", "none", "-q", "--", "sh", "-c", SCRIPT]);
    assert_eq!(ran.raw(), String::from_utf8_lossy(&bare.stdout));
    assert!(
        world
            .belay(&["run", "--isolation", "none", "-q", "--", "sh", "-c", "echo $BELAY_RUN"])
            .stdout
            .starts_with("run_")
    );
}

#[test]
fn two_runs_in_one_workspace_at_once_both_work() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let runs: Vec<_> = (0..2)
        .map(|number| {
            let script = format!("for i in 1 2 3 4 5; do echo $i > run{number}; sleep 0.1; done; exit {number}");
            world
                .command(&["run", "--isolation", "none", "-q", "--", "sh", "-c", &script])
                .spawn()
                .expect("belay starts")
        })
        .collect();
    let codes: Vec<Option<i32>> = runs.into_iter().map(|mut run| run.wait().unwrap().code()).collect();
    assert_eq!(codes, [Some(0), Some(1)]);
    assert!(records(&world).iter().all(|run| run["state"] == "ended" && run["final_snapshot"].is_string()));
    assert_eq!(world.belay(&["verify", "--deep"]).code, 0);
}

#[test]
fn the_time_limit_ends_everything_and_says_so() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let began = Instant::now();
    let ran = world.belay(&["run", "--isolation", "none", "--time", "1s", "--", "sh", "-c", "sleep 61 & sleep 60"]);
    assert!(began.elapsed() < Duration::from_secs(20), "{ran}");
    assert_eq!(ran.code, 143, "{ran}");
    assert!(ran.stderr.contains("time limit"), "{ran}");
    assert_eq!(records(&world)[0]["because"], "time limit");
}

#[test]
fn limits_hold_or_are_said_not_to() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let bomb = "i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i+1)); done; wait";
    let ran =
        world.belay(&["run", "--isolation", "none", "--processes", "20", "--time", "20s", "--", "sh", "-c", bomb]);
    let degraded = records(&world)[0]["protection"]["degraded"].to_string();
    let is_held = ran.stderr.to_lowercase().contains("fork");
    assert!(is_held || degraded.contains("limit of processes"), "{ran}{degraded}");
    // Those that could be started outlive the shell that failed.
    let _ = world.belay(&["stop", "--now"]);
    let eater = "import sys; x = bytearray(400 << 20); print(len(x))";
    if Command::new("python3").arg("--version").output().is_err() {
        return skip("no python3");
    }
    let ran = world.belay(&["run", "--isolation", "none", "--memory", "100MiB", "--", "python3", "-c", eater]);
    let degraded = records(&world)[1]["protection"]["degraded"].to_string();
    assert!(ran.code != 0 || degraded.contains("limit of memory"), "{ran}{degraded}");
    assert!(ran.code != 137 || ran.stderr.contains("(memory limit)"), "{ran}");
}

#[test]
fn a_confined_run_leaves_nothing_behind() {
    let mut world = World::new();
    world.workspace.file("a", "a");
    let ran = world.belay(&["run", "--", "sh", "-c", "sleep 300 >/dev/null 2>&1 & exit 3"]);
    let run = records(&world).remove(0);
    if run["protection"]["isolation"] == "none" {
        world.ok(&["stop"]);
        return skip("no jail");
    }
    assert_eq!(ran.code, 3, "{ran}");
    assert!(!ran.stderr.contains("no longer recorded"), "{ran}");
    assert_eq!(world.belay(&["stop"]).code, 3);
}

#[test]
fn an_ordinary_user_has_the_same() {
    let Some(user) = OrdinaryUser::find() else { return };
    let home = user.directory();
    let program = user.copy_of(env!("CARGO_BIN_EXE_belay").as_ref(), home.path());
    let script = "echo new > b; rm a; setsid sh -c 'sleep 300 & exec sleep 301' >/dev/null 2>&1 & sleep 0.3; exit 5";
    let workspace = home.path().join("ws");
    let run = |arguments: &[&str]| {
        let mut command = user.command(&program, home.path());
        command.env("BELAY_HOME", home.path().join("kept")).current_dir(&workspace).args(arguments);
        command.stdin(Stdio::null()).output().expect("belay starts")
    };
    std::fs::create_dir(&workspace).unwrap();
    user.own(&workspace);
    std::fs::write(workspace.join("a"), "a").unwrap();
    user.own(&workspace.join("a"));
    let ran = run(&["run", "--isolation", "none", "--", "sh", "-c", script]);
    let text = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(5), "{text}");
    assert!(text.contains("no longer recorded"), "{text}");
    let stopped = run(&["stop"]);
    assert!(stopped.status.success(), "{}", String::from_utf8_lossy(&stopped.stderr));
    assert!(run(&["rollback", "-y", "@pre-run"]).status.success());
    assert!(workspace.join("a").exists() && !workspace.join("b").exists());
}
