//! Git behind the gate of a run: whatever becomes of the processes that hold it, nobody's git is left waiting.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use belay_testkit::{is_root, skip};

use crate::held::{GIT, repository};
use crate::running::{records, until};
use crate::world::World;

/// Destroys something when it is told to, and says when it has.
const SCRIPT: &str = ": > ready; while [ ! -e go ]; do sleep 0.05; done; echo 7 > f; git reset -q --hard; : > gone; \
                      while [ ! -e end ]; do sleep 0.05; done; echo 8 > f; git reset -q --hard";

/// As long as git of somebody else may take on a busy machine, where another test stops a keeper, which is killed after four
/// seconds; the supervisor that is stopped here stays so for longer.
const AT_ONCE: Duration = Duration::from_secs(6);

/// A run that is about to destroy something.
struct Run {
    child: Child,
    supervisor: u32,
}

fn begin(world: &World) -> Run {
    let script = format!("{GIT}{SCRIPT}");
    let mut command = world.command(&["run", "--isolation", "none", "-q", "--", "sh", "-c", &script]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("belay starts");
    until("the run began", || world.has("ready"));
    let supervisor = records(world)[0]["supervisor"]["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
    Run { child, supervisor: supervisor.expect("a run has a supervisor") }
}

fn send(signal: &str, pid: u32) {
    let sent = Command::new("kill").args([signal, &pid.to_string()]).status();
    assert!(sent.is_ok_and(|sent| sent.success()), "{signal} {pid}");
}

/// How long git takes for somebody who is not of the run.
fn git_elsewhere() -> Duration {
    let began = Instant::now();
    let said = Command::new("git").arg("--version").output().expect("git starts");
    assert!(said.status.success());
    began.elapsed()
}

/// The processes that hold a queue of the kernel's which can make others wait.
fn keepers(supervisor: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let holds = |pid: &u32| {
        let infos = std::fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
        let mut texts = infos.filter_map(|info| std::fs::read_to_string(info.path()).ok());
        // The class of those who are asked first, and a mark on an inode.
        texts.any(|text| {
            text.contains("fanotify flags:") && text.contains("fanotify ino:") && text.contains("mask:40000")
        })
    };
    let is_of = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().nth(1)?.parse().ok());
        *pid == supervisor || parent == Some(supervisor)
    };
    pids.filter(is_of).filter(holds).collect()
}

#[test]
fn a_supervisor_that_is_stopped_keeps_nobodys_git_waiting_and_the_record_says_so() {
    let Some(mut world) = repository() else { return };
    let mut run = begin(&world);
    send("-STOP", run.supervisor);
    for _ in 0..5 {
        let took = git_elsewhere();
        assert!(took < AT_ONCE, "{took:?}");
    }
    let began = Instant::now();
    world.workspace.file("go", "");
    until("git of the run went on", || world.has("gone"));
    let waited = began.elapsed();
    let took = git_elsewhere();
    send("-CONT", run.supervisor);
    world.workspace.file("end", "");
    assert!(run.child.wait().unwrap().success());
    assert!(took < AT_ONCE, "{took:?}");
    assert!(waited < Duration::from_secs(10), "{waited:?}");
    let log = world.ok(&["log"]);
    assert!(log.contains("went on before its snapshot was taken"), "{log}");
    assert!(saved(&mut world).contains(&"8\n".to_owned()), "the next one is held again");
}

#[test]
fn a_supervisor_that_is_killed_keeps_nobodys_git_waiting() {
    let Some(mut world) = repository() else { return };
    let mut run = begin(&world);
    let id = records(&world)[0]["workspace"].as_str().unwrap_or_default().to_owned();
    let lock = std::fs::File::open(world.workspace.home().join("workspaces").join(id).join("lock")).unwrap();
    lock.lock().unwrap();
    world.workspace.file("go", "");
    std::thread::sleep(Duration::from_millis(500));
    assert!(!world.has("gone"), "git of the run is held");
    send("-KILL", run.supervisor);
    let took = git_elsewhere();
    until("git of the run went on", || world.has("gone"));
    lock.unlock().unwrap();
    world.workspace.file("end", "");
    let _ = run.child.wait();
    assert!(took < AT_ONCE, "{took:?}");
    assert_eq!(keepers(run.supervisor), Vec::<u32>::new());
    world.belay(&["stop", "--now"]);
}

#[test]
fn one_process_stands_at_the_gate_and_if_it_is_stopped_git_waits_for_seconds_and_no_longer() {
    if !is_root() {
        return skip("only root has a gate");
    }
    let Some(mut world) = repository() else { return };
    let mut run = begin(&world);
    let keepers_of = keepers(run.supervisor);
    let [keeper] = keepers_of[..] else { panic!("{keepers_of:?} hold the gate of {}", run.supervisor) };
    assert_ne!(keeper, run.supervisor);
    send("-STOP", keeper);
    let took = git_elsewhere();
    assert!(took < Duration::from_secs(15), "{took:?}");
    until("another stands there", || keepers(run.supervisor).first().is_some_and(|other| *other != keeper));
    world.workspace.file("go", "");
    world.workspace.file("end", "");
    assert!(run.child.wait().unwrap().success());
    let log = world.ok(&["log"]);
    assert!(log.contains("was stopped or killed: for a moment"), "{log}");
    let saved = saved(&mut world);
    assert!(saved.contains(&"7\n".to_owned()) && saved.contains(&"8\n".to_owned()), "{saved:?}");
    assert_eq!(keepers(run.supervisor), Vec::<u32>::new());
}

/// What the file held in each snapshot.
fn saved(world: &mut World) -> Vec<String> {
    let all = world.json(&["snapshots"])["snapshots"].as_array().cloned().unwrap_or_default();
    let ids = all.iter().map(|snapshot| snapshot["id"].as_str().unwrap_or_default());
    ids.map(|id| world.belay(&["cat", id, "f"]).raw()).collect()
}
