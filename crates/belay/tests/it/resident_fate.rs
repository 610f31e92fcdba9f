//! What becomes of a hook, and of what it was told, when its helper is stopped, hangs, is killed or sees too little.

use std::fs::File;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::resident::{Nest, helpers, signal};
use crate::running::{is_alive, until};

/// A hook that is not helped is slow in a build for tests; what must not be in it is somebody's patience.
const AT_MOST: Duration = Duration::from_millis(2500);

impl Nest {
    /// The directory that belay keeps of the workspace.
    fn kept(&self) -> PathBuf {
        let all = std::fs::read_dir(self.home.join("workspaces")).expect("workspaces");
        let mut all = all.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir());
        all.next().expect("one workspace")
    }

    /// The status line.
    fn line(&self) -> String {
        self.said(&["statusline"])
    }
}

#[test]
fn a_stopped_helper_costs_a_hook_a_moment_and_is_replaced() {
    let nest = Nest::new();
    let pid = nest.inhabit();
    signal(pid, "-STOP");
    let begun = Instant::now();
    nest.do_and_tell("echo while it hung >> a.txt", "t1");
    let took = begun.elapsed();
    assert!(took < AT_MOST, "{took:?}");
    nest.assert_captured("the helper was stopped");
    until("who was stopped is gone", || !is_alive(pid));
    let line = nest.line();
    assert!(line.contains(&format!("the helper (process {pid}) did not answer, ended")), "{line}");
    nest.repopulate("again");
    assert_ne!(nest.pid(), pid);
    nest.tell("UserPromptSubmit", "the next turn");
    assert!(!nest.line().contains("did not answer"), "it is said until the next turn");
}

#[test]
fn a_helper_that_hangs_costs_a_hook_a_moment_and_is_left_to_itself() {
    let nest = Nest::new();
    // Nobody answers here, and it is not stopped: this process has the helper's place.
    std::fs::create_dir_all(&nest.home).expect("a home");
    std::fs::write(nest.home.join("config.toml"), "agents.helper_idle_seconds = 0\n").expect("a file");
    nest.said(&["snapshot", "-q"]);
    let (place, name) = nest.socket();
    std::fs::create_dir_all(&place).expect("a directory");
    let _silent = UnixListener::bind(place.join(name)).expect("a socket");
    let begun = Instant::now();
    nest.do_and_tell("echo alone >> a.txt", "t1");
    let took = begun.elapsed();
    assert!(took < AT_MOST, "{took:?}");
    nest.assert_captured("nobody answered");
    let line = nest.line();
    let pid = std::process::id();
    assert!(line.contains(&format!("the helper (process {pid}) did not answer; `belay stop --helper`")), "{line}");
    let doctor = nest.belay(&["doctor", "--json"]);
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains(&format!("process {pid} should answer hooks and gives no sign of life")), "{doctor}");
}

#[test]
fn stop_ends_a_helper_that_does_not_answer() {
    let nest = Nest::new();
    let pid = nest.inhabit();
    signal(pid, "-STOP");
    let stopped = nest.belay(&["stop", "--helper"]);
    assert!(stopped.status.success(), "{stopped:?}");
    until("it is gone", || !is_alive(pid));
}

#[test]
fn what_a_killed_helper_had_answered_is_recorded_by_whoever_comes_next() {
    let nest = Nest::new();
    let pid = nest.inhabit();
    until("it knows that nothing changed", || {
        nest.tell("PreToolUse", "warm");
        std::fs::read_to_string(nest.kept().join("inbox")).is_ok_and(|text| text.contains("told"))
    });
    let is_written = || {
        let text = std::fs::read_to_string(nest.kept().join("inbox")).unwrap_or_default();
        text.lines().last().is_some_and(|line| line.contains("done"))
    };
    until("that is written down", is_written);
    let lock = File::options().write(true).open(nest.kept().join("agents.lock")).expect("a lock");
    // Whoever writes down what was told waits for us.
    lock.lock().expect("nobody holds it for long");
    for id in ["t1", "t2"] {
        nest.tell("PreToolUse", id);
    }
    nest.tell("PostToolUse", "t1");
    signal(pid, "-KILL");
    lock.unlock().expect("it is ours");
    // Its threads do not all die at the same moment.
    until("it is gone, and that is said", || {
        nest.line().contains("the helper was killed; 3 steps will be recorded with the next hook")
    });
    nest.tell("PostToolUse", "t2");
    let log = nest.said(&["--json", "log"]);
    let starts =
        |id: &str| log.lines().filter(|line| line.contains("\"exec\"") && line.contains(&format!("\"{id}\""))).count();
    assert_eq!((starts("t1"), starts("t2")), (1, 1), "{log}");
    assert!(!nest.line().contains("killed"), "{}", nest.line());
    let shown = nest.said(&["log", "--all"]);
    let ended = |id: &str| shown.lines().any(|line| line.contains(id) && !line.contains("end not seen"));
    assert!(ended("Bash t1") && ended("Bash t2"), "{shown}");
    nest.said(&["audit", "verify"]);
}

#[test]
fn a_helper_that_ends_in_peace_leaves_nothing_to_take_up() {
    let nest = Nest::new();
    let pid = nest.inhabit();
    for number in 0..5 {
        nest.tell("PreToolUse", &format!("t{number}"));
        nest.tell("PostToolUse", &format!("t{number}"));
    }
    nest.said(&["stop", "--helper"]);
    until("it is gone", || !is_alive(pid));
    assert!(!nest.kept().join("inbox").exists());
    let commands = nest.said(&["log", "--all"]);
    assert!((0..5).all(|number| commands.contains(&format!("Bash t{number}"))), "{commands}");
}

#[test]
fn the_next_helper_takes_up_what_the_last_one_left_before_it_answers() {
    let nest = Nest::new();
    let pid = nest.inhabit();
    nest.said(&["stop", "--helper"]);
    until("it is gone", || !is_alive(pid));
    let word = json!({"agent": "claude", "session": "claude s", "key": "left", "deed":
        {"tool-start": {"id": "left", "tool": "Bash", "what": "left behind"}}});
    let done = json!({"agent": "claude", "session": "claude s", "key": "was", "deed":
        {"tool-start": {"id": "was", "tool": "Bash", "what": "written down"}}});
    let lines = format!(
        "{}\n{}\n{}\n{{\"told\":[3,{{\"agent\":\"cl",
        json!({"told": [1, word]}),
        json!({"told": [2, done]}),
        json!({"done": 2})
    );
    std::fs::write(nest.kept().join("inbox"), lines).expect("a file");
    let mut reside = nest.command(&nest.program);
    let id = nest.kept().file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
    let mut reside =
        reside.args(["reside", &id]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    until("it answers", || nest.standing().is_some());
    let log = nest.said(&["log"]);
    assert!(log.contains("left behind") && !log.contains("written down"), "{log}");
    nest.said(&["stop", "--helper"]);
    let _ = reside.wait();
}

#[test]
fn a_helper_that_may_not_watch_enough_directories_walks_and_says_so() {
    let nest = Nest::new();
    for number in 0..20 {
        nest.world.file(format!("many/{number}/file"), "x\n");
    }
    let said =
        json!({"session_id": "s", "cwd": nest.world.path(), "hook_event_name": "UserPromptSubmit", "prompt": "few"});
    // The limit of a namespace of users counts for those in it alone.
    let script = format!(
        "echo 5 > /proc/sys/user/max_inotify_watches || exit 9; cd '{}'; echo '{said}' | '{}' hook claude",
        nest.world.path().display(),
        nest.program.display()
    );
    let mut inside = nest.command("unshare".as_ref());
    let ran = inside
        .args(["--user", "--map-current-user", "--keep-caps", "sh", "-c", &script])
        .output()
        .expect("unshare starts");
    if !ran.status.success() {
        return belay_testkit::skip("no namespaces of users");
    }
    until("a helper answers", || nest.standing().is_some());
    assert_eq!(nest.standing().expect("a helper")["files"], json!("none"));
    let doctor = nest.belay(&["doctor", "--json"]);
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains("so every look is a walk; raise fs.inotify.max_user_watches"), "{doctor}");
    nest.do_and_tell("echo more >> many/7/file", "t1");
    nest.assert_captured("it walked");
}

#[test]
fn a_helper_that_nobody_asks_does_nothing() {
    let nest = Nest::new();
    for number in 0..200 {
        nest.world.file(format!("d{number}/file"), "x\n");
    }
    let pid = nest.inhabit();
    nest.tell("PreToolUse", "t1");
    // What it does after a hook is done by then.
    std::thread::sleep(Duration::from_secs(3));
    let ticks = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
        let fields: Vec<u64> =
            stat.rsplit(')').next().unwrap_or_default().split_whitespace().filter_map(|one| one.parse().ok()).collect();
        // Without the state: user and system time are the 11th and 12th.
        fields[10] + fields[11]
    };
    let before = ticks();
    std::thread::sleep(Duration::from_secs(2));
    assert!(ticks() - before <= 1, "hundredths of a second in two: {}", ticks() - before);
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let kib: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.trim().trim_end_matches(" kB").parse().ok())
        .expect("a number");
    assert!(kib < 64 << 10, "{kib} KiB");
    assert_eq!(helpers(&nest), [pid]);
}

#[test]
fn what_changes_while_the_hooks_are_silent_turns_the_status_line_red_at_once() {
    let nest = Nest::new();
    nest.inhabit();
    let line = || {
        let said = json!({"session_id": "s", "workspace": {"project_dir": nest.world.path()}});
        let mut command = nest.command(&nest.program);
        let mut child =
            command.arg("statusline").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), said.to_string().as_bytes())
            .expect("it reads");
        String::from_utf8(child.wait_with_output().expect("it ends").stdout).expect("text")
    };
    until("it has looked at the files", || line().contains("@turn-1"));
    nest.world.file("a.txt", "by a tool that no hook tells of\n").file("new", "too\n");
    let said = line();
    assert!(said.contains("changed, and no hook told"), "{said}");
    nest.tell("PreToolUse", "t1");
    nest.world.file("a.txt", "by a tool that was told of\n");
    let said = line();
    assert!(!said.contains("no hook told; the next"), "a call is under way: {said}");
}
