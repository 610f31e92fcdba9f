//! Signals as bytes in a pipe, so that a thread can wait for them like for anything else.
//!
//! Invariants: the handler only writes one byte to a pipe; a signal that the parent had ignored stays ignored.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::pipe::{PipeFlags, pipe_with};

/// How long a stop takes at most to reach every thread.
const SETTLE: std::time::Duration = std::time::Duration::from_millis(20);

static PIPE: AtomicI32 = AtomicI32::new(-1);

/// From now on these signals come out of the file, one byte each; only the first call in a process counts.
pub fn catch_signals(signals: &[i32]) -> io::Result<File> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    // A full pipe must not stop whoever is interrupted.
    rustix::fs::fcntl_setfl(&write, rustix::fs::OFlags::NONBLOCK)?;
    if PIPE.compare_exchange(-1, write.as_raw_fd(), Ordering::SeqCst, Ordering::SeqCst).is_err() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    // The handler may use it until the process ends.
    let _ = write.into_raw_fd();
    signals.iter().try_for_each(|signal| install(*signal))?;
    Ok(File::from(read))
}

/// Stops this process and its job, as Ctrl-Z would; returns once it goes on, or at once where no shell could let it go on.
pub fn suspend_job() {
    // A group that always exists cannot be missing; one that nobody could wake the kernel does not stop.
    let _ = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
    // The signal may go to another thread first, and then it takes a moment until this one stops as well.
    std::thread::sleep(SETTLE);
}

/// Stops this process alone; returns once somebody lets it go on.
pub fn suspend_self() {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP);
    std::thread::sleep(SETTLE);
}

extern "C" fn pass_on(signal: libc::c_int) {
    let byte = signal as u8;
    // SAFETY: write is async-signal-safe; errno is put back, since the interrupted code may be about to read it.
    unsafe {
        let errno = *libc::__errno_location();
        libc::write(PIPE.load(Ordering::SeqCst), ptr::from_ref(&byte).cast(), 1);
        *libc::__errno_location() = errno;
    }
}

fn install(signal: libc::c_int) -> io::Result<()> {
    // SAFETY: zeroed sigactions are valid values, and the handler only does what is async-signal-safe.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = pass_on as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        if libc::sigaction(signal, ptr::null(), &mut before) != 0 {
            return Err(io::Error::last_os_error());
        }
        if before.sa_sigaction != libc::SIG_IGN && libc::sigaction(signal, &action, ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}
