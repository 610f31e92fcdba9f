//! Programs behind a gate: who of some processes executes one waits until it is let in.
//!
//! The gate is a mark on the program's file, so whoever executes it on this machine passes it. Therefore a process of its own stands
//! there ([`keeper`]) that waits for nobody. Invariants: who is no member is let in at once; a member when its [`Knock`] is dropped,
//! and in any case after a limit; everybody when the gate goes, by whatever end of this process or of the other, and whoever
//! was forked meanwhile.
#![allow(unsafe_code)]

mod keeper;

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{WaitId, WaitIdOptions, waitid};

use crate::pidfd::Process;
use crate::wait::wait_readable;
use keeper::{Orders, WORD_BYTES, Word};

/// Words of a command that are looked at, and bytes of each.
const WORDS_MAX: u64 = 256;
const WORD_BYTES_MAX: usize = 4096;
const PIECE_BYTES: usize = 256;

/// How long the gate may take to stand.
const READY_MAX: Duration = Duration::from_secs(5);

/// Who knocks is told of before it sleeps, and wakes for a moment whenever another is let in; nobody can say then what it executes.
const ASLEEP_MAX: Duration = Duration::from_millis(250);
const ASLEEP_LOOK: Duration = Duration::from_micros(50);

const SIGKILL: i32 = rustix::process::Signal::KILL.as_raw();

/// Whom a gate keeps waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Members {
    /// The processes of a control group of this name, and of those inside it.
    Group(Vec<u8>),
    /// The descendants of a process.
    Descendants(u32),
}

/// What gate to make.
#[derive(Clone, Debug)]
pub struct GatePlan {
    /// The programs behind it, under whatever name they are executed.
    pub programs: Vec<PathBuf>,
    /// Whom it keeps waiting.
    pub members: Members,
    /// For how long at most.
    pub held_max: Duration,
}

/// A gate before some programs.
#[derive(Debug)]
pub struct Gate {
    line: Arc<OwnedFd>,
    keeper: Process,
}

/// A thread that waits to execute a program.
#[derive(Debug)]
pub struct Knock {
    line: Arc<OwnedFd>,
    serial: u64,
    /// The thread, which need not be the first of its process.
    pub thread: u32,
    /// For how long it had waited when it was told of.
    pub waited: Duration,
}

impl Gate {
    /// A gate that stands; needs `CAP_SYS_ADMIN` and a kernel with permission events.
    pub fn open(plan: &GatePlan) -> io::Result<Gate> {
        let named = plan.programs.iter().map(|program| CString::new(program.as_os_str().as_bytes()));
        let programs = named.collect::<Result<Vec<CString>, _>>()?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        let orders = Orders {
            programs: &programs,
            members: &plan.members,
            owner: std::process::id(),
            held_max: plan.held_max,
            line: theirs.as_fd(),
        };
        // SAFETY: the child only runs `keep`, which calls nothing but the kernel on memory made above.
        let pid = match unsafe { libc::fork() } {
            -1 => return Err(io::Error::last_os_error()),
            // SAFETY: this is the child of a fork, and has but one thread.
            0 => unsafe { keeper::keep(&orders) },
            pid => pid.unsigned_abs(),
        };
        drop(theirs);
        let gate = Gate { line: Arc::new(ours), keeper: Process::open(pid)? };
        match gate.first_word()? {
            Some(Word::Stands) => Ok(gate),
            Some(Word::Failed(errno)) => Err(io::Error::from_raw_os_error(errno)),
            _ => Err(io::Error::other("the process that stands at the gate says nothing")),
        }
    }

    fn first_word(&self) -> io::Result<Option<Word>> {
        let deadline = Instant::now() + READY_MAX;
        loop {
            match self.hear() {
                Ok(None) if Instant::now() < deadline && !self.is_gone() => {}
                heard => return heard,
            }
            wait_readable(&self.as_fds(), READY_MAX)?;
        }
    }

    /// What can be read when somebody knocked, or when the gate is gone.
    pub fn as_fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.line.as_fd(), self.keeper.as_fd()]
    }

    /// The process that stands there.
    pub fn keeper(&self) -> u32 {
        self.keeper.pid()
    }

    /// Whether nobody stands there any more, so that everybody was let in.
    pub fn is_gone(&self) -> bool {
        self.keeper.wait(Some(Duration::ZERO)).unwrap_or(true)
    }

    /// Everybody who knocked since the last call.
    pub fn knocks(&self) -> Vec<Knock> {
        let mut knocks = Vec::new();
        while let Ok(Some(word)) = self.hear() {
            if let Word::Knock { serial, thread, since } = word {
                let waited = Duration::from_nanos(keeper::clock().saturating_sub(since));
                knocks.push(Knock { line: Arc::clone(&self.line), serial, thread, waited });
            }
        }
        knocks
    }

    /// The next word of the keeper; none if it says nothing.
    fn hear(&self) -> io::Result<Option<Word>> {
        let mut bytes = [0; WORD_BYTES];
        match rustix::io::retry_on_intr(|| rustix::io::read(&*self.line, &mut bytes)) {
            Ok(length) => Ok(Word::from_bytes(&bytes[..length])),
            Err(Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // With it goes the queue, and the kernel lets everybody in.
        let _ = self.keeper.signal(SIGKILL);
        let _ = self.keeper.wait(Some(READY_MAX));
        // Somebody who reaps all children of this process may have done it before.
        let _ = waitid(WaitId::PidFd(self.keeper.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    }
}

impl Knock {
    /// The words of the command that the thread is about to become; none if they cannot be read.
    pub fn words(&self) -> Option<Vec<Vec<u8>>> {
        let call = self.call()?;
        let mut fields = call.split_ascii_whitespace();
        let argument = match fields.next()?.parse::<libc::c_long>().ok()? {
            libc::SYS_execve => 1,
            libc::SYS_execveat => 2,
            _ => return None,
        };
        let list = u64::from_str_radix(fields.nth(argument)?.strip_prefix("0x")?, 16).ok()?;
        let memory = File::open(format!("/proc/{}/mem", self.thread)).ok()?;
        let mut words = Vec::new();
        for at in 0..WORDS_MAX {
            let mut pointer = [0; 8];
            memory.read_exact_at(&mut pointer, list.checked_add(8 * at)?).ok()?;
            match u64::from_ne_bytes(pointer) {
                0 => break,
                word => words.push(word_at(&memory, word)?),
            }
        }
        Some(words)
    }

    /// The system call that the thread waits in.
    fn call(&self) -> Option<String> {
        let deadline = Instant::now() + ASLEEP_MAX;
        loop {
            let call = fs::read_to_string(format!("/proc/{}/syscall", self.thread)).ok()?;
            if !call.starts_with("running") || Instant::now() >= deadline {
                return Some(call);
            }
            std::thread::sleep(ASLEEP_LOOK);
        }
    }
}

/// The text at an address, up to its zero byte; what lies on the next page may be nobody's.
fn word_at(memory: &File, from: u64) -> Option<Vec<u8>> {
    let mut word = Vec::new();
    while word.len() < WORD_BYTES_MAX {
        let mut piece = [0; PIECE_BYTES];
        let start = from.checked_add(word.len() as u64)?;
        let room = PIECE_BYTES - start as usize % PIECE_BYTES;
        let length = memory.read_at(&mut piece[..room], start).ok().filter(|length| *length > 0)?;
        if let Some(end) = piece[..length].iter().position(|byte| *byte == 0) {
            word.extend_from_slice(&piece[..end]);
            return Some(word);
        }
        word.extend_from_slice(&piece[..length]);
    }
    Some(word)
}

impl Drop for Knock {
    fn drop(&mut self) {
        // A keeper that cannot hear it lets the thread in when its time is up, and one that is gone has let everybody in.
        let _ = rustix::io::write(&*self.line, &self.serial.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests;
