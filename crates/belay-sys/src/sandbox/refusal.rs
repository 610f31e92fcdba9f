//! Calls that a filter refuses, told to whoever started the program, who answers them.
//!
//! Invariants: a caller waits until it is answered, or until nobody is left who could; nothing is read from its memory.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// Where the refused calls of a program and of everything that it started arrive.
#[derive(Debug)]
pub struct Refusals(OwnedFd);

/// A call that waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    id: u64,
    /// The thread that called, as we see it.
    pub thread: u32,
    /// The call's number.
    pub number: i32,
    /// Its arguments.
    pub arguments: [u64; 6],
}

impl Refusals {
    pub(super) fn new(listener: OwnedFd) -> Refusals {
        Refusals(listener)
    }

    /// Waits for the next refused call; none once nobody is left whose calls are refused.
    pub fn next(&self) -> io::Result<Option<Refused>> {
        loop {
            let mut polled = [PollFd::from_borrowed_fd(self.0.as_fd(), PollFlags::IN)];
            match poll(&mut polled, None) {
                Err(Errno::INTR) => continue,
                other => other?,
            };
            if !polled[0].revents().contains(PollFlags::IN) {
                return Ok(None);
            }
            // SAFETY: a zeroed structure is what the kernel wants to be given, and it writes to nothing else.
            let (answer, told) = unsafe {
                let mut told: libc::seccomp_notif = std::mem::zeroed();
                (libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut told), told)
            };
            let error = io::Error::last_os_error();
            match answer {
                0 => {
                    let (thread, number, arguments) = (told.pid, told.data.nr, told.data.args);
                    return Ok(Some(Refused { id: told.id, thread, number, arguments }));
                }
                // The caller was killed in between.
                _ if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => {}
                _ => return Err(error),
            }
        }
    }

    /// Tells the caller that it failed; one that is gone needs no answer.
    pub fn answer(&self, refused: &Refused, errno: i32) -> io::Result<()> {
        let mut answer = libc::seccomp_notif_resp { id: refused.id, val: 0, error: -errno, flags: 0 };
        // SAFETY: the kernel reads the structure, which lives until the call returns.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) } {
            0 => Ok(()),
            _ => match io::Error::last_os_error() {
                error if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
                error => Err(error),
            },
        }
    }
}
