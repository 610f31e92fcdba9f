//! Stopping processes one by one, where no control group does it at once.
//!
//! Those that are found are stopped until a look finds nobody who moves: whoever is stopped starts nobody else.

use std::io;
use std::time::{Duration, Instant};

use super::tree::{parent_of, state_of};

/// How long to sleep between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// How long a process with a stopped child must wait for something before it counts as waiting for that child.
const WAITS_FOR: Duration = Duration::from_millis(300);

const SIGSTOP: i32 = rustix::process::Signal::STOP.as_raw();
const SIGCONT: i32 = rustix::process::Signal::CONT.as_raw();
const SIGKILL: i32 = rustix::process::Signal::KILL.as_raw();

/// Stops everybody whom `find` finds, again and again; whoever was stopped is added to `stopped`, to be continued.
pub(super) fn stop_all(find: &dyn Fn() -> Vec<u32>, within: Duration, stopped: &mut Vec<u32>) -> io::Result<()> {
    hold_all(find, within, stopped).inspect_err(|_| continue_all(stopped))
}

/// Kills everybody whom `find` finds, however fast they start others.
///
/// All are stopped before the first is killed: who is killed makes room for the next where their number is limited.
pub(super) fn kill_all(find: &dyn Fn() -> Vec<u32>, within: Duration) -> io::Result<()> {
    let began = Instant::now();
    loop {
        // Whoever cannot be stopped, as in a call that never returns, dies when he can.
        let _ = hold_all(find, within / 2, &mut Vec::new());
        for pid in find() {
            let _ = belay_sys::signal_process(pid, SIGKILL);
        }
        std::thread::sleep(LOOK_EVERY);
        // Who is on its way out does nothing more, and may wait there until we take in the end of another.
        if find().into_iter().all(is_exiting) {
            return Ok(());
        }
        if began.elapsed() > within {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "a process does not end"));
        }
    }
}

fn hold_all(find: &dyn Fn() -> Vec<u32>, within: Duration, stopped: &mut Vec<u32>) -> io::Result<()> {
    let began = Instant::now();
    loop {
        let found = find();
        let is_patient = began.elapsed() > WAITS_FOR;
        let is_still = |pid: u32| is_stopped(pid) || waits_for_child(pid, &found, is_patient);
        let moving: Vec<u32> = found.iter().copied().filter(|pid| !is_still(*pid)).collect();
        if moving.is_empty() {
            return Ok(());
        }
        if began.elapsed() > within {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "a process does not stop"));
        }
        for pid in moving {
            // One that ended in between needs no signal.
            let _ = belay_sys::signal_process(pid, SIGSTOP);
            if !stopped.contains(&pid) {
                stopped.push(pid);
            }
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Lets everybody go on who was stopped.
pub(super) fn continue_all(stopped: &mut Vec<u32>) {
    for pid in stopped.drain(..) {
        let _ = belay_sys::signal_process(pid, SIGCONT);
    }
}

/// Whether a process cannot run until somebody continues it, or will never again.
pub(super) fn is_stopped(pid: u32) -> bool {
    state_of(pid).is_none_or(|state| matches!(state, b'T' | b't' | b'Z' | b'X')) || is_exiting(pid)
}

/// Whether a process is on its way out and executes nothing of its own any more, however long others keep it waiting there.
fn is_exiting(pid: u32) -> bool {
    const PF_EXITING: u64 = 4;
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before it may hold anything, a bracket included.
    let flags = text.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(6)?.parse::<u64>().ok());
    flags.is_some_and(|flags| flags & PF_EXITING != 0)
}

/// Whether a process sleeps in `vfork` until its child, which is stopped, executes something or ends.
///
/// The kernel stops it no sooner. Where it does not tell which call that is, a long sleep beside a stopped child will do.
fn waits_for_child(pid: u32, others: &[u32], is_patient: bool) -> bool {
    let has_stopped = || others.iter().any(|other| parent_of(*other) == Some(pid) && is_stopped(*other));
    state_of(pid) == Some(b'D') && belay_sys::is_in_vfork(pid).unwrap_or(is_patient) && has_stopped()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    use super::*;

    fn children_of(child: &Child) -> Vec<u32> {
        let mut all = belay_sys::descendants(child.id()).unwrap_or_default();
        all.push(child.id());
        all.retain(|pid| state_of(*pid).is_some_and(|state| !matches!(state, b'Z' | b'X')));
        all
    }

    #[test]
    fn shells_that_fork_without_end_are_stopped_each_time() {
        // Python's subprocess and many shells start a command by vfork, where its parent cannot be stopped.
        let script = "import subprocess\nwhile True: subprocess.run(['/bin/true'])";
        let Ok(mut forking) = Command::new("python3").args(["-c", script]).process_group(0).spawn() else {
            return belay_testkit::skip("no python3");
        };
        std::thread::sleep(Duration::from_millis(300));
        for round in 0..40 {
            let mut stopped = Vec::new();
            let held = stop_all(&|| children_of(&forking), Duration::from_secs(5), &mut stopped);
            assert!(held.is_ok(), "round {round}: {held:?}");
            let before: Vec<_> = children_of(&forking);
            std::thread::sleep(Duration::from_millis(10));
            assert_eq!(children_of(&forking), before, "somebody moves");
            continue_all(&mut stopped);
            std::thread::sleep(Duration::from_millis(7));
        }
        for pid in children_of(&forking) {
            let _ = belay_sys::signal_process(pid, rustix::process::Signal::KILL.as_raw());
        }
        forking.wait().unwrap();
    }
}
