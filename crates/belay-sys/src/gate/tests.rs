//! The gate against processes that are stopped, killed and forked.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use belay_testkit::skip;
use tempfile::TempDir;

use super::keeper::STILL_MAX;
use super::{Gate, GatePlan, Knock, Members};
use crate::{is_stopped, signal_process};

const LONG: Duration = Duration::from_secs(60);
const SIGSTOP: i32 = rustix::process::Signal::STOP.as_raw();

/// A program of our own, so that nobody else on the machine waits for these tests.
fn program() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("program");
    // Not by this process: a child that another test forks meanwhile would keep it from being executed.
    assert!(Command::new("cp").arg("/bin/true").arg(&program).status().unwrap().success());
    (dir, program)
}

fn gate(program: &Path, members: Members, held_max: Duration) -> Option<Gate> {
    let plan = GatePlan { programs: vec![program.to_owned()], members, held_max };
    let opened = Gate::open(&plan);
    if !crate::is_root() {
        assert!(opened.is_err(), "it takes root");
        skip("a gate takes root");
        return None;
    }
    Some(opened.unwrap())
}

fn ours() -> Members {
    Members::Descendants(std::process::id())
}

/// A shell that becomes the program when it is told to.
fn shell(program: &Path) -> Child {
    let script = format!("read -r go; exec {} 'a b' ''", program.display());
    Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).spawn().unwrap()
}

fn go(child: &mut Child) {
    drop(child.stdin.take().unwrap().write_all(b"\n"));
}

fn knock(gate: &Gate) -> Knock {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(knock) = gate.knocks().pop() {
            return knock;
        }
        assert!(Instant::now() < deadline, "nobody knocks");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[track_caller]
fn assert_waits(child: &mut Child) {
    std::thread::sleep(Duration::from_millis(100));
    assert!(child.try_wait().unwrap().is_none(), "it was let in");
}

/// How long it takes until the child ended well.
#[track_caller]
fn let_in(child: &mut Child, within: Duration) -> Duration {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return began.elapsed();
        }
        if began.elapsed() > within {
            child.kill().unwrap();
            panic!("it waits for more than {within:?}");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn who_knocks_waits_and_a_gate_that_goes_lets_everybody_in() {
    let (_dir, program) = program();
    let Some(gate) = gate(&program, ours(), LONG) else { return };
    let [mut first, mut second] = [(); 2].map(|()| shell(&program));
    go(&mut first);
    let knock = knock(&gate);
    let program_word = program.as_os_str().as_encoded_bytes().to_vec();
    assert_eq!(knock.words(), Some(vec![program_word, b"a b".to_vec(), Vec::new()]));
    assert!(knock.waited < Duration::from_secs(10));
    assert_waits(&mut first);
    drop(knock);
    let_in(&mut first, Duration::from_secs(10));
    go(&mut second);
    assert_waits(&mut second);
    drop(gate);
    let_in(&mut second, Duration::from_secs(10));
}

#[test]
fn what_is_executed_is_known_each_time_also_while_others_are_let_in() {
    let (_dir, program) = program();
    let Some(gate) = gate(&program, ours(), LONG) else { return };
    // Whenever one is let in the kernel wakes all who wait, and until they sleep again nobody can say what they execute.
    let turns = format!("for j in $(seq 75); do {} $i-$j; done", program.display());
    let script = format!("for i in 1 2 3 4; do ({turns}) & done; wait");
    let mut child = Command::new("sh").args(["-c", &script]).spawn().unwrap();
    let mut seen = BTreeSet::new();
    let deadline = Instant::now() + Duration::from_secs(60);
    while seen.len() < 300 && Instant::now() < deadline {
        for knock in gate.knocks() {
            let words = knock.words().expect("words that can be read");
            seen.extend(words.get(1).map(|word| String::from_utf8_lossy(word).into_owned()));
        }
    }
    let all = (1..=4).flat_map(|one| (1..=75).map(move |other| format!("{one}-{other}")));
    assert_eq!(seen, all.collect());
    let_in(&mut child, Duration::from_secs(10));
}

#[test]
fn who_is_no_member_waits_for_nobody() {
    let (_dir, program) = program();
    let Some(gate) = gate(&program, Members::Group(b"no-such-group".to_vec()), LONG) else { return };
    for _ in 0..20 {
        let mut child = Command::new(&program).spawn().unwrap();
        let_in(&mut child, Duration::from_secs(10));
    }
    assert!(gate.knocks().is_empty() && !gate.is_gone());
}

#[test]
fn an_owner_that_does_not_listen_keeps_members_for_a_while_and_no_longer() {
    let (_dir, program) = program();
    let Some(gate) = gate(&program, ours(), Duration::from_millis(300)) else { return };
    // More than have a place, and none waits for another.
    let script = format!("for i in $(seq 80); do {} & done; wait", program.display());
    let mut children = Command::new("sh").args(["-c", &script]).spawn().unwrap();
    let_in(&mut children, Duration::from_secs(20));
    let knocks = gate.knocks();
    assert_eq!(knocks.len(), 80);
    assert!(knocks.iter().any(|knock| knock.waited > Duration::from_millis(300)), "{knocks:?}");
    drop(knocks);
    let mut child = shell(&program);
    go(&mut child);
    let waited = let_in(&mut child, Duration::from_secs(10));
    assert!(waited >= Duration::from_millis(250), "{waited:?}");
}

#[test]
fn a_process_that_was_forked_and_executes_nothing_keeps_nobody_out() {
    let (_dir, program) = program();
    let Some(gate) = gate(&program, ours(), LONG) else { return };
    let mut first = shell(&program);
    // SAFETY: the child only sleeps until it is killed.
    let copy = unsafe {
        match libc::fork() {
            0 => loop {
                libc::pause();
            },
            pid => pid,
        }
    };
    assert!(copy > 0);
    go(&mut first);
    assert_waits(&mut first);
    drop(gate);
    let_in(&mut first, Duration::from_secs(10));
    // SAFETY: it is our child, and was not reaped.
    unsafe {
        libc::kill(copy, libc::SIGKILL);
        libc::waitpid(copy, std::ptr::null_mut(), 0);
    }
}

#[test]
fn a_keeper_that_is_stopped_is_killed_and_then_everybody_goes_in() {
    let (_dir, program) = program();
    let Some(gate) = gate(&program, ours(), LONG) else { return };
    std::thread::sleep(STILL_MAX + Duration::from_millis(500));
    assert!(!gate.is_gone(), "one that moves is not killed");
    let mut child = shell(&program);
    signal_process(gate.keeper(), SIGSTOP).unwrap();
    while !is_stopped(gate.keeper()) {
        std::thread::sleep(Duration::from_millis(1));
    }
    go(&mut child);
    assert_waits(&mut child);
    let_in(&mut child, STILL_MAX + Duration::from_secs(10));
    assert!(gate.keeper.wait(Some(Duration::from_secs(10))).unwrap() && gate.is_gone());
}
