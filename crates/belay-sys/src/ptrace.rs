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

/// Whether `thread` is a thread of `process`; asked of the kernel without a look at `/proc`, which makes files for each process.
pub fn is_thread_of(thread: u32, process: u32) -> bool {
    // SAFETY: numbers only, and the signal 0 is sent to nobody.
    let answer = unsafe { libc::syscall(libc::SYS_tgkill, process.cast_signed(), thread.cast_signed(), 0) };
    // Whoever may not be signalled is there.
    answer == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// How much of a new program's stack is looked at: below its variables lie the arguments, and below those where they are.
const STACK_BYTES: usize = 16 * 1024;

/// The part of `struct ptrace_syscall_info` that is filled at every halt.
#[repr(C)]
#[derive(Default)]
struct Registers {
    kind: u8,
    unused: [u8; 3],
    architecture: u32,
    instruction: u64,
    stack: u64,
    rest: [u64; 8],
}

/// The arguments of a process that is halted where it executed something, each with its zero byte, as they lie on its stack.
///
/// None if they are too long for one look, or its words are not ours; `/proc` has them then.
pub fn arguments_at_exec(pid: u32) -> Option<Vec<u8>> {
    const IS_64_BIT: u32 = 0x8000_0000;
    let mut registers = Registers::default();
    // SAFETY: the kernel writes at most as many bytes as it is told there is room for, and `registers` outlives the call.
    let known = unsafe {
        libc::ptrace(
            libc::PTRACE_GET_SYSCALL_INFO,
            pid.cast_signed(),
            size_of::<Registers>() as *mut libc::c_void,
            &raw mut registers,
        )
    };
    if known <= 0 || registers.architecture & IS_64_BIT == 0 || usize::BITS != 64 {
        return None;
    }
    let bytes = read_memory(pid, registers.stack, STACK_BYTES)?;
    arguments_in(&bytes, registers.stack)
}

/// The arguments in a copy of the stack of a new program, which begins at that address.
fn arguments_in(stack: &[u8], address: u64) -> Option<Vec<u8>> {
    let word = |at: usize| Some(u64::from_ne_bytes(stack.get(8 * at..8 * at + 8)?.try_into().ok()?));
    let count = usize::try_from(word(0)?).ok().filter(|count| *count < stack.len() / 8)?;
    if count == 0 {
        return Some(Vec::new());
    }
    let place = |at: usize| usize::try_from(word(at)?.checked_sub(address)?).ok();
    let (first, last) = (place(1)?, place(count)?);
    let end = last + stack.get(last..)?.iter().position(|byte| *byte == 0)? + 1;
    stack.get(first..end).map(<[u8]>::to_vec)
}

/// What lies at that address in another process, up to that many bytes or to where nothing lies any more.
fn read_memory(pid: u32, address: u64, length: usize) -> Option<Vec<u8>> {
    const PAGE_BYTES: u64 = 4096;
    let mut bytes = vec![0_u8; length];
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: length };
    let end = address.checked_add(length as u64)?;
    // Page by page: of a part that cannot be read to its end nothing may be read.
    let mut pages = Vec::with_capacity(length / PAGE_BYTES as usize + 2);
    let mut at = address;
    while at < end {
        let next = end.min((at / PAGE_BYTES + 1) * PAGE_BYTES);
        pages.push(libc::iovec { iov_base: at as *mut libc::c_void, iov_len: (next - at) as usize });
        at = next;
    }
    // SAFETY: the local part is the vector's own memory and as long as it says; the remote ones are another process's, where
    // the kernel only reads.
    let read = unsafe {
        libc::process_vm_readv(pid.cast_signed(), &local, 1, pages.as_ptr(), pages.len() as libc::c_ulong, 0)
    };
    bytes.truncate(usize::try_from(read).ok().filter(|read| *read > 0)?);
    Some(bytes)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A stack as the kernel makes it, at that address: count, pointers, a null, more, and the strings.
    fn stack(words: &[&str], address: u64) -> Vec<u8> {
        let mut at = address + 8 * (words.len() as u64 + 4);
        let mut all = vec![words.len() as u64];
        for word in words {
            all.push(at);
            at += word.len() as u64 + 1;
        }
        all.extend([0, 7, 0]);
        let mut bytes: Vec<u8> = all.into_iter().flat_map(u64::to_ne_bytes).collect();
        words.iter().for_each(|word| bytes.extend([word.as_bytes(), &[0]].concat()));
        bytes.extend(b"VARIABLE=x\0");
        bytes
    }

    #[test]
    fn arguments_are_found_on_the_stack_or_not_at_all() {
        let at = 0x7fff_0000_1238;
        let whole = stack(&["sh", "", "-c", "true"], at);
        assert_eq!(arguments_in(&whole, at).unwrap(), b"sh\0\0-c\0true\0");
        assert_eq!(arguments_in(&stack(&[], at), at).unwrap(), b"");
        assert!(arguments_in(&whole[..whole.len() - 13], at).is_none(), "the last one is cut");
        assert!(arguments_in(&whole, at + 4096).is_none(), "they lie below");
        assert!(arguments_in(b"short", at).is_none());
        assert!(arguments_in(&[0xff; 64], at).is_none());
    }

    #[test]
    fn a_thread_is_of_its_process_only() {
        let me = std::process::id();
        let (tell, told) = std::sync::mpsc::channel();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()).unwrap();
            let _ = wait.recv();
        });
        let other = told.recv().unwrap();
        assert!(is_thread_of(other, me) && is_thread_of(me, me));
        assert!(!is_thread_of(other, 1));
        drop(go);
        thread.join().unwrap();
        // A thread that was joined may still be on its way out.
        while is_thread_of(other, me) {
            std::thread::yield_now();
        }
    }
}
