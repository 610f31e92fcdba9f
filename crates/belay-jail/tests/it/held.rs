//! A held program can be traced and placed before its first instruction, and nothing of ours reaches it.

use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::world::{World, has_namespaces};

#[test]
fn it_has_done_nothing_until_it_is_released() {
    if !has_namespaces() {
        return;
    }
    let world = World::new();
    let held = world.held(&["/bin/sh", "-c", "echo ran > ran"]);
    std::thread::sleep(Duration::from_millis(50));
    assert!(!world.path("workspace/ran").exists());
    let status = std::fs::read_to_string(format!("/proc/{}/status", held.pid())).unwrap();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.trim_start_matches(':').trim().to_owned()
    };
    assert_eq!(field("NoNewPrivs"), "1");
    assert_eq!(field("Seccomp"), "2");
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(field(set), "0000000000000000", "{set}");
    }
    assert!(field("NSpid").ends_with("\t2"), "{}", field("NSpid"));
    held.release().unwrap().wait().unwrap();
    assert!(world.path("workspace/ran").exists());
}

#[test]
fn dropping_what_is_held_or_runs_ends_it() {
    if !has_namespaces() {
        return;
    }
    let world = World::new();
    let held = world.held(&["/bin/sleep", "1000"]);
    let pid = held.pid();
    drop(held);
    assert!(!exists(pid));
    let running = world.held(&["/bin/sh", "-c", "sleep 1000 & sleep 1000"]).release().unwrap();
    let pid = running.pid();
    assert!(exists(pid));
    drop(running);
    assert!(!exists(pid));
}

fn exists(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn a_tracer_can_attach_while_it_is_held() {
    if !has_namespaces() {
        return;
    }
    if Command::new("strace").arg("-V").output().is_err() {
        belay_testkit::skip("no strace");
        return;
    }
    let world = World::new();
    let held = world.held(&["/bin/sh", "-c", "/bin/true"]);
    let log = world.path("trace");
    let mut strace = Command::new("strace")
        .args(["-f", "-e", "trace=execve", "-o"])
        .arg(&log)
        .args(["-p", &held.pid().to_string()])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    let traced = format!("TracerPid:\t{}", strace.id());
    while !std::fs::read_to_string(format!("/proc/{}/status", held.pid())).unwrap().contains(&traced) {
        assert!(Instant::now() < until, "strace did not attach");
        std::thread::sleep(Duration::from_millis(5));
    }
    held.release().unwrap().wait().unwrap();
    strace.wait().unwrap();
    let seen = std::fs::read_to_string(log).unwrap();
    assert!(seen.contains("\"/bin/sh\"") && seen.contains("\"/bin/true\""), "{seen}");
}

#[test]
fn no_descriptor_of_ours_reaches_it() {
    if !has_namespaces() {
        return;
    }
    let world = World::new();
    // Not closed on exec, as a careless library would leave it.
    let leaked = rustix::io::dup(std::fs::File::open(world.path("other/file")).unwrap()).unwrap();
    assert!(leaked.as_raw_fd() > 2);
    assert_eq!(world.says("ls /proc/self/fd"), "0\n1\n2\n3", "3 is the listing's own");
}

#[test]
fn a_program_that_is_not_there_is_an_error_and_leaves_nothing() {
    if !has_namespaces() {
        return;
    }
    let world = World::new();
    let held = world.held(&["no-such-program"]);
    let pid = held.pid();
    let error = held.release().unwrap_err();
    assert_eq!(error.to_string(), "cannot execute no-such-program in the jail");
    assert!(!exists(pid));
}

#[test]
fn it_is_placed_before_it_makes_a_process() {
    if !has_namespaces() {
        return;
    }
    let world = World::new();
    let placed = std::cell::Cell::new(0);
    let launch = world.launch(&["/bin/true"], None);
    let held = belay_jail::hold(&world.policy, launch, |pid| {
        placed.set(pid);
        Ok(())
    });
    let held = held.unwrap();
    assert_ne!(placed.get(), 0);
    assert_ne!(placed.get(), held.pid(), "what makes the jail is not the program");
}

#[test]
fn whoever_attends_to_refusals_is_told_of_them_and_answers() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.policy.tells_refusals = true;
    let script = "unshare --user true 2>/dev/null; test $? = 1 && (unshare --mount true 2>/dev/null; exit 3)";
    let mut held = world.held(&["/bin/sh", "-c", script]);
    let refusals = held.take_refusals().unwrap();
    let attends = std::thread::spawn(move || {
        let mut calls = Vec::new();
        while let Some(refused) = refusals.next().unwrap() {
            calls.push(belay_jail::name_of_call(refused.number));
            refusals.answer(&refused, 1).unwrap();
        }
        calls
    });
    let status = held.release().unwrap().wait().unwrap();
    assert_eq!(status.code(), Some(3));
    assert_eq!(attends.join().unwrap(), [Some("unshare"), Some("unshare")]);
}
