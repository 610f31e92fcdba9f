//! Control groups of the real kernel: joined, frozen, limited, killed, removed.

use std::fs::File;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use belay_sys::{Cgroup, Launch, hold};

const SOON: Duration = Duration::from_secs(10);

/// A group that is removed whatever happens.
struct Scratch(Cgroup);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = self.0.kill(SOON);
        let _ = self.0.remove();
    }
}

fn scratch() -> Option<Scratch> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("belay-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    match Cgroup::create(&name) {
        Ok(group) => Some(Scratch(group)),
        Err(error) => {
            println!("skipped: no control group: {error}");
            None
        }
    }
}

/// A shell that waits for a line before it runs the script, so that it can be moved first.
fn held(script: &str) -> Child {
    let script = format!("read line; {script}");
    Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).spawn().unwrap()
}

fn release(child: &mut Child) {
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"\n").unwrap();
}

fn cpu_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn a_whole_tree_is_frozen_thawed_and_killed() {
    let Some(Scratch(group)) = &scratch() else { return };
    let mut child = held("sh -c 'while :; do :; done' & while :; do :; done");
    assert!(!group.populated().unwrap());
    group.add(child.id()).unwrap();
    release(&mut child);
    assert!(group.populated().unwrap());
    while group.pids().unwrap().len() < 2 {
        std::thread::sleep(Duration::from_millis(2));
    }

    group.freeze(SOON).unwrap();
    let before = cpu_ticks(child.id());
    std::thread::sleep(Duration::from_millis(150));
    assert_eq!(cpu_ticks(child.id()), before, "a frozen process used the processor");
    group.thaw().unwrap();
    let deadline = std::time::Instant::now() + SOON;
    while cpu_ticks(child.id()) == before {
        assert!(std::time::Instant::now() < deadline, "a thawed process does nothing");
        std::thread::sleep(Duration::from_millis(10));
    }

    group.kill(SOON).unwrap();
    assert!(!group.populated().unwrap());
    assert!(!child.wait().unwrap().success());
}

#[test]
fn a_frozen_group_can_be_killed() {
    let Some(Scratch(group)) = &scratch() else { return };
    let mut child = held("sleep 60");
    group.add(child.id()).unwrap();
    group.freeze(SOON).unwrap();
    group.kill(SOON).unwrap();
    assert!(!child.wait().unwrap().success());
}

#[test]
fn a_group_that_was_found_again_is_the_same() {
    let Some(Scratch(group)) = &scratch() else { return };
    let again = Cgroup::open(group.path()).unwrap();
    assert_eq!(again.id(), group.id());
    assert!(Cgroup::open(&group.path().join("absent")).is_err());
}

#[test]
fn too_many_processes_are_refused() {
    let Some(mut scratch) = scratch() else { return };
    if let Err(error) = scratch.0.limit_pids(8) {
        println!("skipped: no limit of processes: {error}");
        return;
    }
    let mut child = held("for i in 1 2 3 4 5 6 7 8 9 10; do sleep 20 & done; wait");
    scratch.0.add(child.id()).unwrap();
    release(&mut child);
    assert!(!child.wait().unwrap().success(), "a shell that cannot fork ends with an error");
    assert!(scratch.0.pids().unwrap().len() <= 8);
    let older = scratch.0.path().to_owned();
    drop(scratch);
    assert!(!older.exists());
}

/// Holds `sleep`, to be born in the group of that directory.
fn born_in(directory: &File) -> belay_sys::Held {
    let argv = [b"sleep".to_vec(), b"60".to_vec()];
    let null = File::options().read(true).write(true).open("/dev/null").unwrap();
    let here = File::open("/").unwrap();
    let stdio = [null.as_fd(); 3];
    let (cwd, group) = (here.as_fd(), Some(directory.as_fd()));
    hold(&Launch { argv: &argv, env: &[], cwd, stdio, tracer: None, group }).unwrap()
}

#[test]
fn a_held_process_is_born_in_its_group() {
    let Some(group) = scratch() else { return };
    let held = born_in(&group.0.directory().unwrap());
    assert!(held.is_in_group());
    let pid = held.process().pid();
    assert_eq!(group.0.pids().unwrap(), [pid]);
    group.0.add_to_older(pid).unwrap();
    let process = held.release().unwrap();
    assert_eq!(group.0.pids().unwrap(), [pid]);
    process.signal(9).unwrap();
    assert!(process.wait(Some(SOON)).unwrap());
}

#[test]
fn what_is_no_group_holds_a_process_all_the_same() {
    let held = born_in(&File::open("/").unwrap());
    assert!(!held.is_in_group());
    let process = held.release().unwrap();
    process.signal(9).unwrap();
    assert!(process.wait(Some(SOON)).unwrap());
}
