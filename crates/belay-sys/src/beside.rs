//! Work in a process of its own that shares our memory and our files.
//!
//! A tracer must not be a thread of the process that started what it traces: the kernel would mix both roles, hand
//! stops to whoever waits for the child, hide job control from its parent, and signal every stop to all of us. A process
//! made with `CLONE_VM` is nobody's thread, and still needs no protocol to talk to us.
//!
//! Invariants: the thread that starts it sleeps in `clone` (`CLONE_VFORK`) for as long as it lives, so that both may use
//! that thread's local storage, as with `posix_spawn`; it dies with that thread, hence with us; it blocks every signal
//! but the one that wakes it, so that a key pressed on the terminal does not reach it; nobody's `wait` sees it.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::OwnedFd;
use std::panic::AssertUnwindSafe;
use std::ptr;
use std::sync::mpsc;
use std::thread::JoinHandle;

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};
use rustix::process::{PidfdFlags, Signal};

/// As much as a thread gets, which is more than any work in here needs.
const STACK_BYTES: usize = 2 * 1024 * 1024;
const GUARD_BYTES: usize = 64 * 1024;

/// The shortest slice that the kernel grants.
const SLICE_NS: u64 = 100_000;

const WAKE: Signal = Signal::USR1;

/// A process beside us, at work until it returns.
#[derive(Debug)]
pub struct Beside {
    pid: u32,
    handle: OwnedFd,
    sleeper: JoinHandle<()>,
}

impl Beside {
    /// Starts `work` in a process that shares our memory and open files.
    pub fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<Beside> {
        let (tell, told) = mpsc::sync_channel(1);
        let failed = tell.clone();
        let body = move || {
            let started = settle();
            let go = started.is_ok();
            if tell.send(started).is_ok() && go {
                work();
            }
        };
        let sleeper = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            if let Err(error) = clone_and_sleep(Box::new(body)) {
                let _ = failed.send(Err(error));
            }
        })?;
        let (pid, handle) = told.recv().map_err(|_| io::Error::other("the process ended at once"))??;
        Ok(Beside { pid, handle, sleeper })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Interrupts whatever system call it waits in; one that it is about to enter is not, so call again.
    pub fn wake(&self) {
        // Failure means that it has ended, which is what waking was to bring about.
        let _ = rustix::process::pidfd_send_signal(&self.handle, WAKE);
    }

    /// Whether it has returned.
    pub fn ended(&self) -> bool {
        self.sleeper.is_finished()
    }

    /// Waits until it has returned.
    pub fn join(self) {
        // A panic in there was already contained, see `run`.
        let _ = self.sleeper.join();
    }
}

type Body = Box<dyn FnOnce() + Send>;

/// In the new process: die with the parent, be wakeable, be known.
fn settle() -> io::Result<(u32, OwnedFd)> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    accept_wake()?;
    ask_for_short_slices();
    let pid = rustix::process::getpid();
    let handle = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    Ok((pid.as_raw_nonzero().get().unsigned_abs(), handle))
}

/// Makes the waking signal interrupt system calls; handlers are this process's own, since `CLONE_SIGHAND` is not set.
fn accept_wake() -> io::Result<()> {
    extern "C" fn nothing(_signal: libc::c_int) {}
    // SAFETY: the structures are zeroed and then filled as sigaction and sigprocmask want them, and the handler does
    // nothing at all.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
        let mut only: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut only);
        libc::sigaddset(&mut only, WAKE.as_raw());
        if libc::sigaction(WAKE.as_raw(), &action, ptr::null_mut()) != 0
            || libc::pthread_sigmask(libc::SIG_UNBLOCK, &only, ptr::null_mut()) != 0
        {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Asks the scheduler to let this process run often and briefly: whoever waits for it waits less on a busy machine.
fn ask_for_short_slices() {
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    let size = size_of::<Attributes>();
    let mut attributes = Attributes {
        size: size as u32,
        policy: libc::SCHED_OTHER.unsigned_abs(),
        flags: 0,
        // SAFETY: the call takes numbers only.
        nice: unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) },
        priority: 0,
        runtime: SLICE_NS,
        deadline: 0,
        period: 0,
    };
    // SAFETY: the kernel reads `size` bytes of a structure laid out as its sched_attr. It is a wish; kernels before 6.12
    // ignore it.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw mut attributes, 0) };
}

/// Makes the process and sleeps until it ends.
fn clone_and_sleep(body: Body) -> io::Result<()> {
    block_signals()?;
    let stack = Stack::new()?;
    let body = Box::into_raw(Box::new(body));
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES | libc::CLONE_FS;
    // SAFETY: the stack is ours, large and mapped until the process has ended, because CLONE_VFORK keeps this thread
    // asleep until then; for the same reason nobody else uses the thread-local storage that the process inherits. `run`
    // takes the box over and does not unwind.
    let pid = unsafe { libc::clone(run, stack.top(), flags, body.cast()) };
    if pid < 0 {
        let error = io::Error::last_os_error();
        // SAFETY: no process was made, so nobody took the box over.
        drop(unsafe { Box::from_raw(body) });
        return Err(error);
    }
    // SAFETY: the call takes no pointer. It has no exit signal, so only a wait that asks for such children sees it.
    unsafe { libc::waitpid(pid, ptr::null_mut(), libc::__WALL) };
    Ok(())
}

extern "C" fn run(body: *mut libc::c_void) -> libc::c_int {
    // SAFETY: clone_and_sleep made this pointer from a box of this type and gave it away.
    let body = unsafe { Box::from_raw(body.cast::<Body>()) };
    i32::from(std::panic::catch_unwind(AssertUnwindSafe(body)).is_err())
}

fn block_signals() -> io::Result<()> {
    // SAFETY: the set is filled before it is used, and only this thread's mask changes.
    let failed = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, ptr::null_mut())
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(failed)) }
}

/// A stack with unreachable pages below it.
struct Stack(*mut libc::c_void);

impl Stack {
    fn new() -> io::Result<Stack> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::STACK | MapFlags::NORESERVE;
        // SAFETY: the kernel picks the address, so no memory of ours is replaced.
        let base = unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), STACK_BYTES, protection, flags)? };
        let stack = Stack(base);
        // SAFETY: these are the first pages of the mapping just made, which nobody uses yet.
        unsafe { rustix::mm::mprotect(base, GUARD_BYTES, MprotectFlags::empty())? };
        Ok(stack)
    }

    fn top(&self) -> *mut libc::c_void {
        // SAFETY: one past the end of the mapping, and aligned to a page.
        unsafe { self.0.byte_add(STACK_BYTES) }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the process that ran on it has ended. Failure would only mean that it stays mapped.
        let _ = unsafe { rustix::mm::munmap(self.0, STACK_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::Beside;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    #[test]
    fn it_is_another_process_with_the_same_memory() {
        let seen = Arc::new(AtomicU32::new(0));
        let mine = Arc::clone(&seen);
        let beside = Beside::start("test", move || {
            let text = format!("{}", rustix::process::getpid().as_raw_nonzero());
            mine.store(text.parse().unwrap_or(1), Ordering::SeqCst);
        })
        .unwrap();
        let pid = beside.pid();
        beside.join();
        assert_ne!(pid, std::process::id());
        assert_eq!(seen.load(Ordering::SeqCst), pid);
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "it was reaped");
    }

    #[test]
    fn a_panic_ends_it_and_nothing_else() {
        let beside = Beside::start("test", || panic!("on purpose")).unwrap();
        beside.join();
    }

    #[test]
    fn it_can_be_woken() {
        let beside = Beside::start("test", || std::thread::sleep(Duration::from_millis(1))).unwrap();
        while !beside.ended() {
            beside.wake();
            std::thread::sleep(Duration::from_micros(100));
        }
        beside.join();
    }
}
