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
