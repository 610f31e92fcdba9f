//! Ctrl-C and a polite kill set a flag, so that work can stop between two steps.
//!
//! Invariants: the handler only stores to an atomic; the second signal of the same kind has its default action;
//! a signal that the parent had ignored stays ignored.

#![allow(unsafe_code)]

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

static FLAG: AtomicPtr<AtomicBool> = AtomicPtr::new(ptr::null_mut());

/// Sets `flag` on the first SIGINT or SIGTERM; the second kills as if nobody had asked.
pub fn on_interrupt(flag: &'static AtomicBool) -> io::Result<()> {
    FLAG.store(ptr::from_ref(flag).cast_mut(), Ordering::SeqCst);
    install(libc::SIGINT)?;
    install(libc::SIGTERM)
}

/// Lets SIGINT and SIGTERM end the process again, as while somebody is asked and nothing is under way.
pub fn until_interrupt() -> io::Result<()> {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: a zeroed sigaction is a valid value and means the default action; the kernel writes only to `before`.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            check(libc::sigaction(signal, ptr::null(), &mut before))?;
            if before.sa_sigaction == raise_flag as extern "C" fn(libc::c_int) as libc::sighandler_t {
                let default: libc::sigaction = std::mem::zeroed();
                check(libc::sigaction(signal, &default, ptr::null_mut()))?;
            }
        }
    }
    Ok(())
}

extern "C" fn raise_flag(_signal: libc::c_int) {
    let flag = FLAG.load(Ordering::SeqCst);
    // SAFETY: FLAG is null or was made from a &'static AtomicBool.
    if let Some(flag) = unsafe { flag.as_ref() } {
        flag.store(true, Ordering::SeqCst);
    }
}

fn install(signal: libc::c_int) -> io::Result<()> {
    // SAFETY: a zeroed sigaction is a valid value, and the kernel writes only to `before`.
    let before = unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        check(libc::sigaction(signal, ptr::null(), &mut before))?;
        before
    };
    if before.sa_sigaction == libc::SIG_IGN {
        return Ok(());
    }
    // SAFETY: the handler does nothing but atomic loads and stores, which are async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = raise_flag as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
        check(libc::sigaction(signal, &action, ptr::null_mut()))
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}
