//! Processes that are held by a descriptor, so that a number that is used again cannot be mistaken for them.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, pidfd_open, pidfd_send_signal,
    waitid,
};

/// A process.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    fd: OwnedFd,
}

/// What became of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A signal stopped it; another will let it go on.
    Stopped,
    /// It ended.
    Ended,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Process {
    /// The process that has this number now.
    pub fn open(pid: u32) -> io::Result<Process> {
        Ok(Process { pid, fd: pidfd_open(raw(pid)?, PidfdFlags::empty())? })
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends it a signal; a process that is gone is no error.
    pub fn signal(&self, signal: i32) -> io::Result<()> {
        let signal = Signal::from_named_raw(signal).ok_or(io::ErrorKind::InvalidInput)?;
        gone_is_fine(pidfd_send_signal(&self.fd, signal))
    }

    /// Waits until it has ended, whoever reaps it; false when the time is up before.
    pub fn wait(&self, time: Option<Duration>) -> io::Result<bool> {
        let time = time.map(|time| Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() });
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        loop {
            match poll(&mut fds, time.as_ref()) {
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(ready) => return Ok(ready > 0),
            }
        }
    }

    /// Waits until this child of ours is stopped or has ended; its end is left for somebody else to take.
    pub fn wait_for_turn(&self) -> io::Result<Turn> {
        let wait = |options| waitid(WaitId::PidFd(self.fd.as_fd()), options);
        let both = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
        match retry_on_intr(|| wait(both)) {
            Ok(Some(status)) if status.stopped() => {
                // Taken, so that the next wait does not find the same one again.
                retry_on_intr(|| wait(WaitIdOptions::STOPPED | WaitIdOptions::NOHANG))?;
                Ok(Turn::Stopped)
            }
            // Somebody took its end before us.
            Ok(_) | Err(rustix::io::Errno::CHILD) => Ok(Turn::Ended),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn raw(pid: u32) -> io::Result<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

fn gone_is_fine(sent: rustix::io::Result<()>) -> io::Result<()> {
    match sent {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Sends a signal to the process of that number; a process that is gone is no error.
pub fn signal_process(pid: u32, signal: i32) -> io::Result<()> {
    let signal = Signal::from_named_raw(signal).ok_or(io::ErrorKind::InvalidInput)?;
    gone_is_fine(kill_process(raw(pid)?, signal))
}

/// Sends a signal to a process group; a group that is gone is no error.
pub fn signal_group(group: u32, signal: i32) -> io::Result<()> {
    let signal = Signal::from_named_raw(signal).ok_or(io::ErrorKind::InvalidInput)?;
    gone_is_fine(kill_process_group(raw(group)?, signal))
}

/// Makes this process the one that orphans of its descendants are given to.
pub fn become_subreaper() -> io::Result<()> {
    let own = rustix::process::getpid();
    Ok(rustix::process::set_child_subreaper(Some(own))?)
}

/// Takes the exit status of every child of this thread that ended.
///
/// Orphans are given to a subreaper's first thread, so that is where to call it; what another thread of this process
/// traces is left to that thread.
pub fn reap_children() -> Vec<(u32, Exit)> {
    let mut reaped = Vec::new();
    loop {
        let mut status = 0;
        // SAFETY: the kernel writes only to `status`.
        let pid = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG | libc::__WNOTHREAD | libc::__WALL) };
        match pid {
            1.. if libc::WIFEXITED(status) => reaped.push((pid.unsigned_abs(), Exit::Code(libc::WEXITSTATUS(status)))),
            1.. if libc::WIFSIGNALED(status) => {
                reaped.push((pid.unsigned_abs(), Exit::Signal(libc::WTERMSIG(status))));
            }
            1.. => {}
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            _ => return reaped,
        }
    }
}

/// Goes on whatever a terminal sends to end or stop this process; what is executed later does not inherit that.
///
/// Whoever shares our session can put us into the foreground of its terminal and let a person type at us.
pub fn survive_terminal() {
    extern "C" fn go_on(_signal: libc::c_int) {}
    for signal in [libc::SIGHUP, libc::SIGQUIT, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU] {
        // SAFETY: the handler does nothing; what somebody chose to ignore stays ignored, here and in what is executed.
        unsafe {
            let before = libc::signal(signal, go_on as extern "C" fn(libc::c_int) as libc::sighandler_t);
            if before == libc::SIG_IGN {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
    }
}

/// The processes that descend from `pid`, however far down, and not itself.
pub fn descendants(pid: u32) -> io::Result<Vec<u32>> {
    let mut parents = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        // A process that ends while we look has no descendants that were not given to somebody else.
        let Ok(stat) = std::fs::read(format!("/proc/{pid}/stat")) else { continue };
        parents.extend(crate::process::parent_of(&stat).map(|parent| (pid, parent)));
    }
    let mut found = vec![pid];
    let mut at = 0;
    while at < found.len() {
        let parent = found[at];
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    Ok(found.split_off(1))
}
