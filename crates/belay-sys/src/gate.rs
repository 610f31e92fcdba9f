//! Programs behind a gate: whoever executes one waits until it is let in.
//!
//! Invariants: reading never waits; whoever knocked is let in when its [`Knock`] is dropped, and everybody when the gate
//! goes with its last knock or with this process: nobody is turned away and nobody is left standing. A process that is
//! forked while a gate stands has a copy of it until it executes something, so it must not be the one that knocks.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

const METADATA_BYTES: usize = 24;
const BUFFER_BYTES: usize = 4096;

/// Words of a command that are looked at, and bytes of each.
const WORDS_MAX: u64 = 256;
const WORD_BYTES_MAX: usize = 4096;
const PIECE_BYTES: usize = 256;

/// A gate before some programs.
#[derive(Debug)]
pub struct Gate {
    queue: Arc<OwnedFd>,
}

/// A thread that waits to execute a program.
#[derive(Debug)]
pub struct Knock {
    queue: Arc<OwnedFd>,
    program: OwnedFd,
    /// The thread, which need not be the first of its process.
    pub thread: u32,
}

impl Gate {
    /// A gate before nothing yet; needs `CAP_SYS_ADMIN` and a kernel with permission events.
    pub fn open() -> io::Result<Gate> {
        let flags = libc::FAN_CLASS_CONTENT | libc::FAN_REPORT_TID | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK;
        // SAFETY: the call takes no pointers.
        let fd = unsafe { libc::fanotify_init(flags, (libc::O_RDONLY | libc::O_CLOEXEC) as libc::c_uint) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just gave us this descriptor and nobody else knows of it.
        Ok(Gate { queue: Arc::new(unsafe { OwnedFd::from_raw_fd(fd) }) })
    }

    /// Puts the gate before a program, under whatever name it is executed.
    pub fn guard(&self, program: &Path) -> io::Result<()> {
        let path = CString::new(program.as_os_str().as_bytes())?;
        let (queue, mask) = (self.queue.as_raw_fd(), libc::FAN_OPEN_EXEC_PERM);
        // SAFETY: the path ends with a zero byte and outlives the call.
        let answer = unsafe { libc::fanotify_mark(queue, libc::FAN_MARK_ADD, mask, libc::AT_FDCWD, path.as_ptr()) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Everybody who knocked since the last call.
    pub fn knocks(&self) -> io::Result<Vec<Knock>> {
        let mut buffer = [0_u8; BUFFER_BYTES];
        let length = match rustix::io::retry_on_intr(|| rustix::io::read(&*self.queue, &mut buffer)) {
            Ok(length) => length,
            Err(rustix::io::Errno::WOULDBLOCK) => 0,
            Err(error) => return Err(error.into()),
        };
        let mut rest = &buffer[..length];
        let mut knocks = Vec::new();
        while rest.len() >= METADATA_BYTES {
            let number = |at: usize| i32::from_ne_bytes(rest[at..at + 4].try_into().expect("four bytes"));
            let (size, fd, thread) = (number(0), number(16), number(20));
            if fd >= 0 {
                // SAFETY: the kernel opened this descriptor for whoever reads the notice, and only we do.
                let program = unsafe { OwnedFd::from_raw_fd(fd) };
                let queue = Arc::clone(&self.queue);
                knocks.push(Knock { queue, program, thread: thread.unsigned_abs() });
            }
            let size = usize::try_from(size).unwrap_or(0).max(METADATA_BYTES);
            rest = rest.get(size..).unwrap_or_default();
        }
        Ok(knocks)
    }
}

impl AsFd for Gate {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}

impl Knock {
    /// The words of the command that the thread is about to become; none if they cannot be read.
    pub fn words(&self) -> Option<Vec<Vec<u8>>> {
        let call = fs::read_to_string(format!("/proc/{}/syscall", self.thread)).ok()?;
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
        let [a, b, c, d] = self.program.as_raw_fd().to_ne_bytes();
        let [e, f, g, h] = libc::FAN_ALLOW.to_ne_bytes();
        // Whoever was killed meanwhile needs no answer.
        let _ = rustix::io::write(&*self.queue, &[a, b, c, d, e, f, g, h]);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use super::Gate;

    #[test]
    fn who_knocks_waits_and_a_gate_that_goes_lets_everybody_in() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("program");
        // Not by this process: a child that another test forks meanwhile would keep it from being executed.
        assert!(Command::new("cp").arg("/bin/true").arg(&program).status().unwrap().success());
        // They exist before the gate does: one that is forked later has a copy of it until it has executed something.
        let [mut first, mut second] = [(); 2].map(|()| {
            let script = format!("read -r go; exec {} 'a b' ''", program.display());
            Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).spawn().unwrap()
        });
        let go = |child: &mut Child| drop(child.stdin.take().unwrap().write_all(b"\n"));
        let Ok(gate) = Gate::open() else { return };
        gate.guard(&program).unwrap();
        go(&mut first);
        let knock = loop {
            if let Some(knock) = gate.knocks().unwrap().pop() {
                break knock;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let program_word = program.as_os_str().as_encoded_bytes().to_vec();
        assert_eq!(knock.words(), Some(vec![program_word, b"a b".to_vec(), Vec::new()]));
        std::thread::sleep(Duration::from_millis(50));
        assert!(first.try_wait().unwrap().is_none());
        let began = Instant::now();
        drop(knock);
        assert!(first.wait().unwrap().success());
        go(&mut second);
        std::thread::sleep(Duration::from_millis(50));
        assert!(second.try_wait().unwrap().is_none());
        drop(gate);
        assert!(second.wait().unwrap().success());
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
