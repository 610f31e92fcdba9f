//! A program that is held before its first instruction, so that somebody can attach to it.
//!
//! Invariants: between `fork` and `execve` the child calls only what is safe there, on memory that was made before;
//! a held child whose parent dies ends without having executed anything.

#![allow(unsafe_code)]

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use rustix::pipe::{PipeFlags, pipe_with};

use crate::pidfd::Process;

/// Where a program without a path is looked for if nobody says.
const DEFAULT_PATH: &[u8] = b"/usr/local/bin:/usr/bin:/bin";
/// What executes a text that names no interpreter, as `execvp` has it.
const SHELL: &std::ffi::CStr = c"/bin/sh";

/// What to start.
pub struct Launch<'a> {
    /// The program and its arguments; not empty.
    pub argv: &'a [Vec<u8>],
    /// The environment, `NAME=value`.
    pub env: &'a [Vec<u8>],
    /// The directory to start in.
    pub cwd: BorrowedFd<'a>,
    /// Standard input, output and error.
    pub stdio: [BorrowedFd<'a>; 3],
    /// Another process that will trace it, where the system lets only ancestors do so unasked.
    pub tracer: Option<u32>,
    /// The control group that it is to be born in, by its directory: whoever is moved into one later waits until the kernel
    /// knows that nobody forks meanwhile, which takes longer than all else.
    pub group: Option<BorrowedFd<'a>>,
}

/// A child that waits to be released.
#[derive(Debug)]
pub struct Held {
    process: Process,
    is_in_group: bool,
    go: OwnedFd,
    answer: OwnedFd,
}

/// The beginning of what `clone3` takes.
#[repr(C)]
#[derive(Default)]
struct CloneRequest {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Everything that the child needs, made before the fork.
struct Prepared {
    programs: Vec<CString>,
    _argv: Vec<CString>,
    _env: Vec<CString>,
    argv: Vec<*const libc::c_char>,
    /// `sh`, the program, and its arguments; the program's place is filled in by the child.
    shell_argv: Vec<*const libc::c_char>,
    env: Vec<*const libc::c_char>,
    cwd: RawFd,
    stdio: [RawFd; 3],
    tracer: Option<u32>,
}

/// Closes every descriptor but the standard streams; for the beginning of a process that is to keep nothing of whoever
/// started it.
pub fn close_inherited() {
    // SAFETY: nothing of this process has opened a descriptor yet, which is what the caller promises; an error leaves
    // them as they were.
    unsafe { libc::close_range(3, u32::MAX, 0) };
}

/// Starts a child that leads a process group of its own, in the foreground of our terminal if we have one, and holds it.
///
/// It stays in our session: a group whose parent is in another one cannot be stopped by keys.
pub fn hold(launch: &Launch<'_>) -> io::Result<Held> {
    let mut prepared = prepare(launch)?;
    let (go_read, go_write) = pipe_with(PipeFlags::CLOEXEC)?;
    let (answer_read, answer_write) = pipe_with(PipeFlags::CLOEXEC)?;
    // SAFETY: the child only runs `become_program`, which calls nothing but system calls on memory made above.
    let (pid, is_in_group) = unsafe { fork_into(launch.group)? };
    if pid == 0 {
        // SAFETY: this is the child of the fork, with one thread, and its descriptors are open.
        unsafe {
            libc::close(go_write.as_raw_fd());
            become_program(&mut prepared, go_read.as_raw_fd(), answer_write.as_raw_fd())
        }
    }
    drop((go_read, answer_write));
    let process = Process::open(pid.unsigned_abs())?;
    Ok(Held { process, is_in_group, go: go_write, answer: answer_read })
}

impl Held {
    /// The child.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Whether it was born in the group that it was to be born in; otherwise it is in ours.
    pub fn is_in_group(&self) -> bool {
        self.is_in_group
    }

    /// Lets the child execute its program; the kernel's answer if it cannot.
    pub fn release(self) -> io::Result<Process> {
        File::from(self.go).write_all(&[1])?;
        let mut errno = [0; 4];
        match File::from(self.answer).read_exact(&mut errno) {
            // The end of the pipe was closed by a successful execve, or by the child's death.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(self.process),
            Err(error) => Err(error),
            Ok(()) => Err(io::Error::from_raw_os_error(i32::from_ne_bytes(errno))),
        }
    }
}

/// A descriptor that this process was born with, named by whoever started it; it will not be inherited further.
pub fn inherited(fd: RawFd) -> io::Result<OwnedFd> {
    if fd < 3 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: the kernel refuses a number that is not open, and the copy is nobody's but ours.
    unsafe {
        let copy = libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3);
        if copy < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::close(fd);
        Ok(OwnedFd::from_raw_fd(copy))
    }
}

/// Forks, into the group if the kernel lets us; the child's number, 0 in the child itself, and whether it is in the group.
///
/// SAFETY: the child may call only what is safe between `fork` and `execve`.
unsafe fn fork_into(group: Option<BorrowedFd<'_>>) -> io::Result<(libc::pid_t, bool)> {
    if let Some(group) = group {
        let request = CloneRequest {
            flags: CLONE_INTO_CGROUP,
            exit_signal: libc::SIGCHLD as u64,
            cgroup: group.as_raw_fd() as u64,
            ..CloneRequest::default()
        };
        // SAFETY: the request says no more than `fork` would, and has no pointers; the rest is the caller's promise.
        let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const request, size_of::<CloneRequest>()) };
        if pid >= 0 {
            return Ok((pid as libc::pid_t, true));
        }
    }
    // Kernels before 5.7, and groups that we may not fork into; whoever wants it there moves it.
    // SAFETY: the caller's promise.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok((pid, false)),
    }
}

fn prepare(launch: &Launch<'_>) -> io::Result<Prepared> {
    let nul = |_| io::Error::new(io::ErrorKind::InvalidInput, "an argument holds a zero byte");
    let strings = |texts: &[Vec<u8>]| -> io::Result<Vec<CString>> {
        texts.iter().map(|text| CString::new(text.clone()).map_err(nul)).collect()
    };
    let pointers = |texts: &[CString]| -> Vec<*const libc::c_char> {
        texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
    };
    let (argv, env) = (strings(launch.argv)?, strings(launch.env)?);
    let program = argv.first().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let path = launch.env.iter().find_map(|variable| variable.strip_prefix(b"PATH="));
    let programs = candidates(program.as_bytes(), path.unwrap_or(DEFAULT_PATH));
    let programs = strings(&programs)?;
    let rest = argv[1..].iter().map(|text| text.as_ptr());
    let shell_argv = [SHELL.as_ptr(), ptr::null()].into_iter().chain(rest).chain([ptr::null()]).collect();
    Ok(Prepared {
        programs,
        argv: pointers(&argv),
        shell_argv,
        env: pointers(&env),
        _argv: argv,
        _env: env,
        cwd: launch.cwd.as_raw_fd(),
        stdio: launch.stdio.map(|fd| fd.as_raw_fd()),
        tracer: launch.tracer,
    })
}

/// The paths at which a program may be, in the order in which they are tried.
fn candidates(program: &[u8], path: &[u8]) -> Vec<Vec<u8>> {
    if program.contains(&b'/') {
        return vec![program.to_vec()];
    }
    let place = |dir: &[u8]| match dir {
        b"" => [b"./", program].concat(),
        dir => [dir, b"/", program].concat(),
    };
    path.split(|byte| *byte == b':').map(place).collect()
}

/// Whether a program can be found from the directory `cwd`, as the child will look for it.
pub fn is_findable(program: &[u8], path: Option<&[u8]>, cwd: &std::path::Path) -> bool {
    let found = |candidate: &Vec<u8>| cwd.join(OsStr::from_bytes(candidate)).is_file();
    candidates(program, path.unwrap_or(DEFAULT_PATH)).iter().any(found)
}

/// SAFETY: only to be called in the child of a fork; `go` and `answer` are open.
unsafe fn become_program(prepared: &mut Prepared, go: RawFd, answer: RawFd) -> ! {
    // SAFETY: everything called is async-signal-safe, and all pointers are into `prepared`, made before the fork.
    unsafe {
        let mut errno = arrange(prepared);
        if errno == 0 {
            let mut byte = 0_u8;
            loop {
                match libc::read(go, ptr::from_mut(&mut byte).cast(), 1) {
                    1 => break,
                    -1 if *libc::__errno_location() == libc::EINTR => {}
                    // Nobody is left who could release us.
                    _ => libc::_exit(125),
                }
            }
            errno = execute(prepared);
        }
        libc::write(answer, ptr::from_ref(&errno).cast(), 4);
        libc::_exit(if errno == libc::ENOENT { 127 } else { 126 })
    }
}

/// Puts group, terminal, streams, directory and signals in order; the error number, or 0.
///
/// SAFETY: as for [`become_program`].
unsafe fn arrange(prepared: &Prepared) -> i32 {
    // SAFETY: system calls on descriptors and plain values.
    unsafe {
        libc::setpgid(0, 0);
        // The streams may lie where others are to go; copies above all of them cannot be overwritten.
        let mut high = [0; 3];
        for (at, fd) in prepared.stdio.iter().enumerate() {
            high[at] = libc::fcntl(*fd, libc::F_DUPFD_CLOEXEC, 10);
            if high[at] < 0 {
                return *libc::__errno_location();
            }
        }
        for (at, fd) in high.iter().enumerate() {
            if libc::dup2(*fd, at as RawFd) < 0 {
                return *libc::__errno_location();
            }
        }
        come_to_the_fore();
        if libc::fchdir(prepared.cwd) < 0 {
            return *libc::__errno_location();
        }
        if let Some(tracer) = prepared.tracer {
            // Where nothing forbids tracing this means nothing, and fails.
            libc::prctl(libc::PR_SET_PTRACER, libc::c_ulong::from(tracer), 0, 0, 0);
        }
        // Rust ignores it, and that would be inherited.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
        0
    }
}

/// Puts the caller's own process group into the foreground of the terminal that it has among its streams, if it has one.
///
/// SAFETY: only to be called in the child of a fork, by the leader of its group.
pub(crate) unsafe fn come_to_the_fore() {
    // SAFETY: sets and numbers are local; whoever has no terminal is refused, and that is all.
    unsafe {
        let (mut told, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
        libc::sigemptyset(&mut told);
        // Whoever is not in the foreground yet would be stopped for this.
        libc::sigaddset(&mut told, libc::SIGTTOU);
        libc::sigprocmask(libc::SIG_BLOCK, &told, &mut before);
        let _ = (0..3).any(|stream| libc::tcsetpgrp(stream, libc::getpid()) == 0);
        libc::sigprocmask(libc::SIG_SETMASK, &before, ptr::null_mut());
    }
}

/// Executes the first candidate that is there; the error number if none can be executed.
///
/// SAFETY: as for [`become_program`].
unsafe fn execute(prepared: &mut Prepared) -> i32 {
    let mut errno = libc::ENOENT;
    for program in &prepared.programs {
        // SAFETY: the vectors end with a null pointer, and their strings live as long as `prepared`.
        unsafe {
            libc::execve(program.as_ptr(), prepared.argv.as_ptr(), prepared.env.as_ptr());
            match *libc::__errno_location() {
                libc::ENOENT | libc::ENOTDIR => continue,
                libc::ENOEXEC => {
                    prepared.shell_argv[1] = program.as_ptr();
                    libc::execve(SHELL.as_ptr(), prepared.shell_argv.as_ptr(), prepared.env.as_ptr());
                    return libc::ENOEXEC;
                }
                other => errno = other,
            }
        }
    }
    errno
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_looked_for_as_shells_do() {
        assert_eq!(candidates(b"ls", b"/bin::/usr/bin"), [&b"/bin/ls"[..], b"./ls", b"/usr/bin/ls"]);
        assert_eq!(candidates(b"./ls", b"/bin"), [b"./ls"]);
    }
}
