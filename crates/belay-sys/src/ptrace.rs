//! Following processes with ptrace: forks, execs, ends, and signals passed on unchanged.
//!
//! Invariants: every call here is made by the one process and thread that seized the first process, and concerns only
//! what it traces; a halt is reported again until the process is resumed, listened to or reaped, so that one may look
//! around before anything moves; when the tracer ends, the kernel lets go of everybody.

#![allow(unsafe_code)]

use std::io;
use std::ptr;

/// Why a traced process does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// It made a process or a thread; the newcomer is traced too. None if it was killed before one could ask.
    Made(Option<u32>),
    /// It executed something.
    Executed,
    /// A signal is about to be delivered to it.
    Signal(i32),
    /// Job control stopped it.
    Stopped,
    /// It is new, or was woken from a stop.
    Ready,
    /// It ended with this code.
    Exited(i32),
    /// This signal killed it.
    Killed(i32),
}

/// Whether to wait if nobody has halted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Until somebody halts or a signal arrives.
    Wait,
    /// Not at all.
    Look,
}

/// Traces a process and whatever it starts; it keeps running.
pub fn seize(pid: u32) -> io::Result<()> {
    let options =
        libc::PTRACE_O_TRACEFORK | libc::PTRACE_O_TRACEVFORK | libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_TRACEEXEC;
    request(libc::PTRACE_SEIZE, pid, options as usize)
}

/// Lets a halted process run on, with a signal or with none (0).
pub fn resume(pid: u32, signal: i32) -> io::Result<()> {
    request(libc::PTRACE_CONT, pid, signal as usize)
}

/// Leaves a process stopped by job control as it is, until somebody continues it.
pub fn listen(pid: u32) -> io::Result<()> {
    request(libc::PTRACE_LISTEN, pid, 0)
}

/// Takes note of an end; the real parent learns of it only now.
pub fn reap(pid: u32) {
    // SAFETY: the call takes no pointer. If the end was somebody else's to reap there is nothing to do.
    unsafe { libc::waitpid(pid.cast_signed(), ptr::null_mut(), libc::__WALL | libc::__WNOTHREAD | libc::WNOHANG) };
}

/// Who has halted and why, leaving it so; none if a signal interrupted or nobody has. ECHILD: nobody is traced.
pub fn next_halt(patience: Patience) -> io::Result<Option<(u32, Halt)>> {
    let more = if patience == Patience::Look { libc::WNOHANG } else { 0 };
    halt_of(libc::P_ALL, 0, more)
}

/// Why this process has halted; none if it has not.
pub fn halt_of_process(pid: u32) -> Option<Halt> {
    halt_of(libc::P_PID, pid, libc::WNOHANG).ok().flatten().map(|(_, halt)| halt)
}

fn halt_of(which: libc::idtype_t, number: u32, more: i32) -> io::Result<Option<(u32, Halt)>> {
    let flags = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | libc::__WALL | libc::__WNOTHREAD | more;
    // SAFETY: a zeroed siginfo is valid, the kernel fills it, and the fields read are those of a child's change.
    let (pid, code, status) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        if libc::waitid(which, number, &mut info, flags) != 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(None) } else { Err(error) };
        }
        (info.si_pid().unsigned_abs(), info.si_code, info.si_status())
    };
    if pid == 0 {
        return Ok(None);
    }
    let halt = match code {
        libc::CLD_EXITED => Halt::Exited(status),
        libc::CLD_KILLED | libc::CLD_DUMPED => Halt::Killed(status),
        _ => stopped(pid, status),
    };
    Ok(Some((pid, halt)))
}

fn stopped(pid: u32, status: i32) -> Halt {
    let signal = status & 0xff;
    match status >> 8 {
        libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => Halt::Made(message(pid)),
        libc::PTRACE_EVENT_EXEC => {
            // When a thread took over the number of its process, the kernel wants a true wait first: somebody who
            // did not wait may mean the process that is gone.
            reap(pid);
            Halt::Executed
        }
        libc::PTRACE_EVENT_STOP => match signal {
            libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => Halt::Stopped,
            _ => Halt::Ready,
        },
        _ => Halt::Signal(signal),
    }
}

fn message(pid: u32) -> Option<u32> {
    let mut answer: libc::c_ulong = 0;
    // SAFETY: the kernel writes one unsigned long to `answer`, which outlives the call.
    let failed = unsafe {
        libc::ptrace(libc::PTRACE_GETEVENTMSG, pid.cast_signed(), ptr::null_mut::<libc::c_void>(), &raw mut answer)
    };
    if failed == 0 { u32::try_from(answer).ok() } else { None }
}

fn request(what: libc::c_uint, pid: u32, data: usize) -> io::Result<()> {
    // SAFETY: none of these requests makes the kernel read or write memory of ours: address and data are plain numbers.
    let failed = unsafe { libc::ptrace(what, pid.cast_signed(), ptr::null_mut::<libc::c_void>(), data) };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The processor time that all threads of a process ever used, in nanoseconds; none if it is gone.
///
/// A process for which it does not change did not run in between.
pub fn cpu_nanos(pid: u32) -> Option<u64> {
    // As clock_getcpuclockid(3) makes it, which asks the kernel once more: the scheduler's clock of a whole process.
    let clock = (!pid.cast_signed() << 3) | 2;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes only to `time`, which outlives it.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) } != 0;
    if failed {
        return None;
    }
    Some(u64::try_from(time.tv_sec).ok()? * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?)
}

/// Lets the process `tracer`, which need not be an ancestor, trace this one where the Yama module would forbid it.
pub fn allow_tracer(tracer: u32) {
    // SAFETY: the call takes numbers only. Where Yama is missing it fails, and is not needed.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::c_ulong::from(tracer), 0, 0, 0) };
}
