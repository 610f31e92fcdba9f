//! Facts about processes, and interruptions.

use std::io::{BufRead, BufReader, Lines};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use belay_sys::{
    boot_id, now, now_coarse, on_interrupt, peak_rss_bytes, process_alive, raise_open_files_limit, self_start_ticks,
};
use rustix::process::{Pid, Signal, kill_process};

use crate::rerun;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

#[test]
fn a_process_is_known_by_pid_and_start() {
    let (own, start) = (std::process::id(), self_start_ticks());
    assert!(start > 0);
    assert!(process_alive(own, start));
    assert!(!process_alive(own, start + 1));
    assert!(!process_alive(u32::MAX, start));
}

#[test]
fn a_dead_process_is_not_alive_even_before_it_is_reaped() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let start = start_of(child.id());
    assert!(process_alive(child.id(), start));
    drop(child.stdin.take());
    let begun = Instant::now();
    while process_alive(child.id(), start) {
        assert!(begun.elapsed() < Duration::from_secs(20), "a zombie counts as alive");
    }
    child.wait().unwrap();
    assert!(!process_alive(child.id(), start));
}

fn start_of(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let after = stat.rsplit(')').next().unwrap();
    after.split_whitespace().nth(19).unwrap().parse().unwrap()
}

#[test]
fn the_machine_answers() {
    assert_eq!(boot_id().unwrap().len(), 36);
    assert_eq!(boot_id().unwrap(), boot_id().unwrap());
    assert!(peak_rss_bytes() > 1 << 20);
    let coarse = now_coarse();
    assert!(coarse <= now());
    assert!(coarse.sec > 1_700_000_000);
    let limit = raise_open_files_limit();
    assert_eq!(limit, raise_open_files_limit());
    let raw = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    assert_eq!(raw.current.unwrap_or(u64::MAX), limit);
}

/// The child's part: say what happens to the flag, for at most a minute.
fn report_interruption() {
    on_interrupt(&INTERRUPTED).unwrap();
    eprintln!("ready");
    let begun = Instant::now();
    let mut said = false;
    while begun.elapsed() < Duration::from_secs(60) {
        if INTERRUPTED.load(Ordering::SeqCst) && !said {
            eprintln!("flagged");
            said = true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn start_reporter(wrapper: &[&str]) -> (Child, Lines<BufReader<ChildStderr>>) {
    let mut command = rerun::command(wrapper, "process::the_first_signal_flags_and_the_second_kills");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "ready"));
    (child, lines)
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn the_first_signal_flags_and_the_second_kills() {
    if rerun::is_rerun() {
        return report_interruption();
    }
    for (first, second) in [(Signal::INT, Signal::INT), (Signal::TERM, Signal::TERM)] {
        let (mut child, mut lines) = start_reporter(&[]);
        send(&child, first);
        assert!(lines.any(|line| line.unwrap() == "flagged"));
        assert!(child.try_wait().unwrap().is_none());
        send(&child, second);
        assert_eq!(child.wait().unwrap().signal(), Some(second.as_raw()));
    }
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let (mut child, mut lines) = start_reporter(&["sh", "-c", "trap '' INT; exec \"$@\"", "sh"]);
    send(&child, Signal::INT);
    send(&child, Signal::INT);
    send(&child, Signal::TERM);
    assert!(lines.any(|line| line.unwrap() == "flagged"));
    send(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
}
