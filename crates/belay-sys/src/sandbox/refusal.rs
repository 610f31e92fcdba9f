//! Calls that a filter refuses, told to whoever started the program, who answers them.
//!
//! Invariants: a caller waits until it is answered, or until nobody is left who could; what is read from its memory may
//! change before the kernel reads it, so nothing is allowed or refused by it.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

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
        self.send(libc::seccomp_notif_resp { id: refused.id, val: 0, error: -errno, flags: 0 })
    }

    /// Lets the call through as if nobody had been told; every other rule still holds.
    pub fn let_pass(&self, refused: &Refused) -> io::Result<()> {
        let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
        self.send(libc::seccomp_notif_resp { id: refused.id, val: 0, error: 0, flags })
    }

    fn send(&self, mut answer: libc::seccomp_notif_resp) -> io::Result<()> {
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

impl Refused {
    /// The memory of the caller, for as long as it waits.
    pub fn memory(&self) -> io::Result<Memory> {
        File::open(format!("/proc/{}/mem", self.thread)).map(Memory)
    }
}

/// The memory of a process.
#[derive(Debug)]
pub struct Memory(File);

impl Memory {
    /// The text at an address, up to its zero byte; none if there is none of at most `max` bytes.
    pub fn text(&self, from: u64, max: usize) -> Option<Vec<u8>> {
        const PIECE_BYTES: usize = 256;
        let mut text = Vec::new();
        while text.len() < max {
            let mut piece = [0; PIECE_BYTES];
            let start = from.checked_add(text.len() as u64)?;
            // What lies on the next page may be nobody's.
            let room = PIECE_BYTES - start as usize % PIECE_BYTES;
            let read = self.0.read_at(&mut piece[..room], start).ok().filter(|read| *read > 0)?;
            match piece[..read].iter().position(|byte| *byte == 0) {
                Some(end) => {
                    text.extend_from_slice(&piece[..end]);
                    return Some(text);
                }
                None => text.extend_from_slice(&piece[..read]),
            }
        }
        None
    }

    /// The eight bytes at an address.
    pub fn word(&self, from: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.0.read_exact_at(&mut bytes, from).ok()?;
        Some(u64::from_ne_bytes(bytes))
    }
}
