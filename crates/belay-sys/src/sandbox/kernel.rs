//! The system calls that a sandbox needs and no library offers without allocating.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, RawFd};
use std::ptr;

use rustix::io::Errno;

use super::Namespaces;
use super::child::Prepared;

/// How often the first process of a namespace looks whether anybody else is in it.
const LOOK_SECONDS: libc::time_t = 5;
/// Right after it was made nobody is; this often in a row nobody will come.
const LOOKS_ALONE_MAX: u32 = 3;

/// What executes a text that names no interpreter, as `execvp` has it.
const SHELL: &CStr = c"/bin/sh";

/// What one raw call answered.
pub(super) type Answer = Result<(), Errno>;

/// The newest set of rules that this kernel's Landlock knows; none where it has no Landlock.
pub fn landlock_abi() -> Option<u32> {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the kernel reads nothing and only answers a number.
    let answer = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<u8>(), 0_usize, VERSION) };
    u32::try_from(answer).ok().filter(|abi| *abi > 0)
}

/// Makes the child, which lives by what was prepared; its number.
pub(super) fn clone_child(prepared: &mut Prepared<'_>) -> io::Result<i32> {
    let blocked = block_signals();
    // SAFETY: without CLONE_VM the child has its own copy of everything, and all it does is `live`, which neither
    // allocates nor locks nor returns.
    let pid = unsafe { raw_clone(namespace_flags(prepared.namespaces)) };
    if pid == 0 {
        prepared.live();
    }
    let error = io::Error::last_os_error();
    restore_signals(&blocked);
    if pid < 0 { Err(error) } else { Ok(pid) }
}

/// Makes a process whose parent is our parent; called in a child only.
pub(super) fn clone_sibling(live: impl FnOnce()) -> Result<i32, i32> {
    // SAFETY: as above; we are a child with one thread ourselves.
    let pid = unsafe { raw_clone(libc::CLONE_PARENT) };
    match pid {
        0 => {
            live();
            end(1)
        }
        pid if pid < 0 => Err(errno()),
        pid => Ok(pid),
    }
}

/// Processes that are made from here on live in a namespace of their own.
pub(super) fn unshare_processes() -> Result<(), i32> {
    // SAFETY: no memory is involved.
    match unsafe { libc::unshare(libc::CLONE_NEWPID) } {
        0 => Ok(()),
        _ => Err(errno()),
    }
}

/// Enters a namespace; called in a child only, which has one thread.
pub(super) fn enter_namespace(namespace: RawFd) -> Result<(), i32> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::setns(namespace, 0) })
}

/// # Safety
/// In the child only system calls on memory made before are allowed, and it must not return to its caller's callers.
unsafe fn raw_clone(flags: libc::c_int) -> i32 {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    // SAFETY: no stack, no thread-local storage and no addresses to write to: this is a plain fork.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) };
    i32::try_from(pid).unwrap_or(-1)
}

fn namespace_flags(namespaces: Namespaces) -> libc::c_int {
    const BUT_NETWORK: libc::c_int =
        libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | libc::CLONE_NEWCGROUP;
    match namespaces {
        Namespaces::None => 0,
        Namespaces::AllButNetwork => BUT_NETWORK,
        Namespaces::All => BUT_NETWORK | libc::CLONE_NEWNET,
    }
}

/// A handler of ours must not run in the child, whose memory is a copy.
fn block_signals() -> libc::sigset_t {
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: sigfillset initialises `all`, pthread_sigmask initialises `before`.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        before.assume_init()
    }
}

fn restore_signals(before: &libc::sigset_t) {
    // SAFETY: `before` was filled by the kernel.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, ptr::null_mut()) };
}

/// Signals as a fresh program expects them: none blocked, none handled; what was ignored stays so.
pub(super) fn default_signals() {
    // SAFETY: the sets and actions are local, and the default action touches no memory of ours.
    unsafe {
        for signal in 1..=64 {
            let mut action: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, ptr::null(), &mut action) != 0 {
                continue;
            }
            // Rust ignores SIGPIPE in every program, which no program expects to inherit.
            if action.sa_sigaction != libc::SIG_IGN || signal == libc::SIGPIPE {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
        let mut none = MaybeUninit::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut());
    }
}

pub(super) fn receive_byte(control: RawFd) -> bool {
    let mut byte = 0_u8;
    loop {
        // SAFETY: one byte is received into one byte.
        match unsafe { libc::recv(control, (&raw mut byte).cast(), 1, 0) } {
            1 => return true,
            -1 if errno() == libc::EINTR => {}
            _ => return false,
        }
    }
}

/// Sends a report and a descriptor with it.
pub(super) fn send_with(control: RawFd, words: &[i32; 3], fd: RawFd) {
    // SAFETY: a zeroed msghdr is valid; the buffers are local, as long as we say, and large enough for one descriptor.
    unsafe {
        let mut part = libc::iovec { iov_base: words.as_ptr().cast_mut().cast(), iov_len: size_of_val(words) };
        let mut space = [0_u64; 8];
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = space.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<RawFd>() as u32) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
        libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(fd);
        libc::sendmsg(control, &raw const message, libc::MSG_NOSIGNAL);
    }
}

pub(super) fn close(fd: RawFd) {
    // SAFETY: the child has one thread and nobody in it uses the descriptor any more.
    unsafe { libc::close(fd) };
}

/// Closes every descriptor.
pub(super) fn close_all() {
    // SAFETY: nothing in this child uses a descriptor after this.
    unsafe { libc::syscall(libc::SYS_close_range, 0_u32, u32::MAX, 0) };
}

/// A descriptor that the child never closes before it is done with it.
pub(super) fn borrow_for_ever(fd: RawFd) -> BorrowedFd<'static> {
    // SAFETY: the caller's descriptor was opened by a step and stays open until the last step that uses it.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// Nobody who is not privileged may trace us or read our memory; whoever lists processes sees what we are.
pub(super) fn hide_memory() {
    // SAFETY: the name ends with a zero; no other memory is involved.
    unsafe {
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
        libc::prctl(libc::PR_SET_NAME, c"belay-jail".as_ptr(), 0, 0, 0);
    }
}

pub(super) fn die_with_parent() {
    // SAFETY: no memory is involved.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) };
}

/// Whether nobody is at the other end any more.
pub(super) fn is_hung_up(fd: RawFd) -> bool {
    let mut one = libc::pollfd { fd, events: libc::POLLRDHUP, revents: 0 };
    // SAFETY: `one` is a whole record that lives until the call returns.
    unsafe { libc::poll(&mut one, 1, 0) };
    one.revents & (libc::POLLHUP | libc::POLLRDHUP | libc::POLLERR) != 0
}

pub(super) fn reap_for_ever() -> ! {
    let mut looks_alone = 0;
    loop {
        // SAFETY: nothing is written.
        let pid = unsafe { libc::waitpid(-1, ptr::null_mut(), 0) };
        if pid < 0 && errno() == libc::ECHILD {
            // Orphans come later; SIGCHLD is blocked, so taking it from the queue is how to wait for one.
            wait_for_child();
            // Threads of a parent that is killed end one by one, so it can be gone without a signal and without a hang-up.
            looks_alone = if is_alone() { looks_alone + 1 } else { 0 };
            if looks_alone >= LOOKS_ALONE_MAX {
                end(0);
            }
        }
    }
}

/// Whether no other process is in the namespace.
fn is_alone() -> bool {
    // SAFETY: no memory is involved, and no signal is sent.
    unsafe { libc::kill(-1, 0) < 0 && errno() == libc::ESRCH }
}

fn wait_for_child() {
    let mut set = MaybeUninit::uninit();
    let look = libc::timespec { tv_sec: LOOK_SECONDS, tv_nsec: 0 };
    // SAFETY: the set is initialised before it is used, and the answer is not wanted.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        libc::sigtimedwait(set.as_ptr(), ptr::null_mut(), &look);
    }
}

/// Puts the three streams in their places, marks everything else to be closed, and leads a group in the foreground if asked to.
pub(super) fn take_streams(stdio: Option<[RawFd; 3]>, foreground: bool) -> Result<(), i32> {
    // SAFETY: only descriptors are moved; those of `stdio` are above 2 or already in place, see `lift`.
    unsafe {
        if let Some(fds) = stdio {
            let lifted = [lift(fds[0])?, lift(fds[1])?, lift(fds[2])?];
            for (place, fd) in (0..).zip(lifted) {
                check(libc::dup2(fd, place))?;
            }
        }
        let flags = libc::CLOSE_RANGE_CLOEXEC;
        check(i32::try_from(libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, flags)).unwrap_or(-1))?;
        if foreground {
            check(libc::setpgid(0, 0))?;
            crate::spawn::come_to_the_fore();
        }
    }
    Ok(())
}

/// A copy above the places of the standard streams.
///
/// # Safety
/// `fd` must be open.
unsafe fn lift(fd: RawFd) -> Result<RawFd, i32> {
    // SAFETY: duplicating touches no memory.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
    check(copy)?;
    Ok(copy)
}

/// Tries each place; returns only if none could be executed, with the most telling answer.
///
/// What the kernel does not know how to execute is a script of the shell, which `argv` has room for: its first two
/// places are kept for the shell and the script.
pub(super) fn execute(programs: &[CString], argv: &mut [*const libc::c_char], env: &[*const libc::c_char]) -> i32 {
    let mut answer = libc::ENOENT;
    for program in programs {
        // SAFETY: both lists end with a null and point into strings that live in the recipe.
        unsafe { libc::execve(program.as_ptr(), argv[1..].as_ptr(), env.as_ptr()) };
        if errno() == libc::ENOEXEC {
            argv[0] = SHELL.as_ptr();
            argv[1] = program.as_ptr();
            // SAFETY: as above.
            unsafe { libc::execve(SHELL.as_ptr(), argv.as_ptr(), env.as_ptr()) };
            return libc::ENOEXEC;
        }
        match errno() {
            libc::ENOENT | libc::ENOTDIR => {}
            libc::EACCES => answer = libc::EACCES,
            other => return other,
        }
    }
    answer
}

/// Ends this process at once, without any of the parent's exit handlers.
pub(super) fn end(code: i32) -> ! {
    // SAFETY: `_exit` never returns and runs nothing.
    unsafe { libc::_exit(code) }
}

fn check(answer: i32) -> Result<(), i32> {
    if answer < 0 { Err(errno()) } else { Ok(()) }
}

fn errno() -> i32 {
    // SAFETY: the address is that of this thread's errno.
    unsafe { *libc::__errno_location() }
}

/// The kernel's `struct mount_attr`.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Sets attributes of the mount behind a descriptor, and of those beneath it if asked to.
pub(super) fn set_mount_attributes(mount: RawFd, set: u64, recursive: bool) -> Answer {
    let attributes = MountAttributes { set, clear: 0, propagation: 0, user_namespace: 0 };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty string, the struct is as long as we say.
    answered(unsafe {
        let size = size_of::<MountAttributes>();
        libc::syscall(libc::SYS_mount_setattr, mount, c"".as_ptr(), flags, &raw const attributes, size)
    })
}

/// The kernel's `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

/// Allows `access` beneath an open path.
pub(super) fn landlock_allow(ruleset: RawFd, path: RawFd, access: u64) -> Answer {
    const BENEATH: libc::c_int = 1;
    let rule = PathBeneath { allowed: access, parent: path };
    // SAFETY: the rule is the struct that this kind of rule expects.
    answered(unsafe { libc::syscall(libc::SYS_landlock_add_rule, ruleset, BENEATH, &raw const rule, 0) })
}

/// Puts this process and all its descendants under the ruleset.
pub(super) fn landlock_restrict(ruleset: RawFd) -> Answer {
    // SAFETY: no memory is involved.
    answered(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) })
}

/// Adds a filter of system calls.
pub(super) fn add_filter(program: &[super::Instruction]) -> Answer {
    let Ok(length) = u16::try_from(program.len()) else { return Err(Errno::TOOBIG) };
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut().cast() };
    // SAFETY: an Instruction has the layout of the kernel's sock_filter, and the kernel only reads it.
    answered(unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) })
}

/// Adds a filter whose refusals are told; the descriptor where they are.
pub(super) fn add_told_filter(program: &[super::Instruction]) -> Result<RawFd, Errno> {
    let Ok(length) = u16::try_from(program.len()) else { return Err(Errno::TOOBIG) };
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut().cast() };
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // SAFETY: an Instruction has the layout of the kernel's sock_filter, and the kernel only reads it.
    let listener =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
    RawFd::try_from(listener).ok().filter(|fd| *fd >= 0).ok_or_else(|| {
        // SAFETY: it reads a variable of this thread.
        Errno::from_raw_os_error(unsafe { *libc::__errno_location() })
    })
}

/// Starts the loopback interface of a fresh network namespace.
pub(super) fn loopback_up() -> Answer {
    // SAFETY: a zeroed ifreq is valid; the name fits and ends with a zero; the kernel reads and writes only it.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        answered(libc::c_long::from(socket))?;
        let mut request: libc::ifreq = std::mem::zeroed();
        for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
            *place = byte.cast_signed();
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        let answer = answered(libc::c_long::from(libc::ioctl(socket, libc::SIOCSIFFLAGS, &raw mut request)));
        libc::close(socket);
        answer
    }
}

/// Becomes somebody else and keeps every privilege, for the steps that are left; of this thread, which is the only one.
pub(super) fn become_user(uid: u32, gid: u32, groups: &[u32]) -> Answer {
    // SAFETY: the list is as long as we say, and no other memory is involved. Not by the library, which would take
    // locks to tell threads that there are none of.
    unsafe {
        answered(libc::c_long::from(libc::prctl(libc::PR_SET_KEEPCAPS, 1, 0, 0, 0)))?;
        answered(libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()))?;
        answered(libc::syscall(libc::SYS_setresgid, gid, gid, gid))?;
        answered(libc::syscall(libc::SYS_setresuid, uid, uid, uid))?;
        answered(libc::c_long::from(libc::prctl(libc::PR_SET_KEEPCAPS, 0, 0, 0, 0)))
    }
}

/// Takes away what a program could be given when it executes another.
pub(super) fn drop_bounding_set() {
    for capability in 0..64 {
        // SAFETY: no memory is involved; numbers that this kernel does not know are refused.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
}

fn answered(answer: libc::c_long) -> Answer {
    if answer < 0 { Err(Errno::from_raw_os_error(errno())) } else { Ok(()) }
}
