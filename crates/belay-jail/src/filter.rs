//! The filter of system calls: what no agent needs and every escape begins with.
//!
//! Invariants: everything that is not named here is allowed; calls of another architecture's numbering are refused,
//! since a list of forbidden numbers means nothing for them; a program that asks for what is forbidden gets an error
//! and goes on.

use std::collections::BTreeMap;

use belay_sys::Instruction;
use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use crate::calls::{PATH_CALLS, path_call};
use crate::error::{Error, Result};

/// A system call that is refused, always or with some arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeniedCall {
    /// Its name.
    pub name: &'static str,
    /// With which arguments; empty means always.
    pub when: &'static str,
    /// Why.
    pub why: &'static str,
    /// What the program is told.
    pub errno: i32,
    number: c_long,
}

const MOUNTS: &str = "mounts would change what the jail shows";
const NAMESPACES: &str = "a namespace inside would bring privileges back";
const KERNEL: &str = "it changes the machine, not the workspace";
const KEYS: &str = "keyrings are shared with the whole session of the user";
const SURFACE: &str = "it offers the kernel's least guarded side";
const RING: &str = "requests through a ring pass by every other rule";
const TERMINAL: &str = "it types into the terminal of whoever started the run";
const WAITING: &str = "whoever opens the file outside would have to wait, and could not read it";
const OUTSIDE: &str = "it reaches files by number, whatever is visible";

macro_rules! denied {
    ($($call:ident $errno:ident $why:ident $when:literal,)*) => {
        &[$(DeniedCall {
            name: stringify!($call),
            when: $when,
            why: $why,
            errno: libc::$errno,
            number: denied!(@number $call),
        }),*]
    };
    (@number $call:ident) => { numbers::$call };
}

/// The numbers by their names, so that the table below reads as names.
mod numbers {
    macro_rules! numbers {
        ($($call:ident = $number:ident,)*) => {
            $(#[allow(non_upper_case_globals)] pub(super) const $call: libc::c_long = libc::$number;)*
        };
    }
    numbers! {
        mount = SYS_mount, umount2 = SYS_umount2, pivot_root = SYS_pivot_root, chroot = SYS_chroot,
        move_mount = SYS_move_mount, open_tree = SYS_open_tree, fsopen = SYS_fsopen, fsconfig = SYS_fsconfig,
        fsmount = SYS_fsmount, fspick = SYS_fspick, mount_setattr = SYS_mount_setattr,
        unshare = SYS_unshare, setns = SYS_setns, clone = SYS_clone, clone3 = SYS_clone3,
        bpf = SYS_bpf, perf_event_open = SYS_perf_event_open, userfaultfd = SYS_userfaultfd,
        keyctl = SYS_keyctl, add_key = SYS_add_key, request_key = SYS_request_key,
        io_uring_setup = SYS_io_uring_setup, io_uring_enter = SYS_io_uring_enter,
        io_uring_register = SYS_io_uring_register,
        kexec_load = SYS_kexec_load, kexec_file_load = SYS_kexec_file_load, init_module = SYS_init_module,
        finit_module = SYS_finit_module, delete_module = SYS_delete_module, reboot = SYS_reboot,
        swapon = SYS_swapon, swapoff = SYS_swapoff, acct = SYS_acct, quotactl = SYS_quotactl,
        quotactl_fd = SYS_quotactl_fd, syslog = SYS_syslog,
        settimeofday = SYS_settimeofday, clock_settime = SYS_clock_settime, clock_adjtime = SYS_clock_adjtime,
        sethostname = SYS_sethostname, setdomainname = SYS_setdomainname, vhangup = SYS_vhangup,
        open_by_handle_at = SYS_open_by_handle_at, fanotify_init = SYS_fanotify_init, kcmp = SYS_kcmp,
        ioctl = SYS_ioctl, socket = SYS_socket, fcntl = SYS_fcntl,
    }
    /// Since Linux 6.15, with one number on every architecture; the library does not know it yet.
    #[allow(non_upper_case_globals)]
    pub(super) const open_tree_attr: libc::c_long = 467;
}

/// Every call that is refused.
pub const DENIED_CALLS: &[DeniedCall] = denied! {
    mount EPERM MOUNTS "", umount2 EPERM MOUNTS "", pivot_root EPERM MOUNTS "", chroot EPERM MOUNTS "",
    move_mount EPERM MOUNTS "", open_tree EPERM MOUNTS "", fsopen EPERM MOUNTS "", fsconfig EPERM MOUNTS "",
    fsmount EPERM MOUNTS "", fspick EPERM MOUNTS "", mount_setattr EPERM MOUNTS "", open_tree_attr EPERM MOUNTS "",
    unshare EPERM NAMESPACES "", setns EPERM NAMESPACES "",
    clone EPERM NAMESPACES "with a flag that makes a namespace",
    clone3 ENOSYS NAMESPACES "",
    bpf EPERM SURFACE "", perf_event_open EPERM SURFACE "", userfaultfd EPERM SURFACE "", kcmp EPERM SURFACE "",
    keyctl EPERM KEYS "", add_key EPERM KEYS "", request_key EPERM KEYS "",
    io_uring_setup ENOSYS RING "", io_uring_enter ENOSYS RING "", io_uring_register ENOSYS RING "",
    kexec_load EPERM KERNEL "", kexec_file_load EPERM KERNEL "", init_module EPERM KERNEL "",
    finit_module EPERM KERNEL "", delete_module EPERM KERNEL "", reboot EPERM KERNEL "", swapon EPERM KERNEL "",
    swapoff EPERM KERNEL "", acct EPERM KERNEL "", quotactl EPERM KERNEL "", quotactl_fd EPERM KERNEL "",
    syslog EPERM KERNEL "",
    settimeofday EPERM KERNEL "", clock_settime EPERM KERNEL "", clock_adjtime EPERM KERNEL "",
    sethostname EPERM KERNEL "", setdomainname EPERM KERNEL "", vhangup EPERM KERNEL "",
    open_by_handle_at EPERM OUTSIDE "", fanotify_init EPERM OUTSIDE "",
    ioctl EPERM TERMINAL "TIOCSTI and TIOCLINUX",
    fcntl EPERM WAITING "F_SETLEASE and F_SETDELEG",
    socket EPERM SURFACE "of another family than AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK",
};

/// What is refused about a call of this name, if anything.
pub fn denied_call(name: &str) -> Option<&'static DeniedCall> {
    DENIED_CALLS.iter().find(|call| call.name == name)
}

const NAMESPACE_FLAGS: [u64; 8] = [
    libc::CLONE_NEWUSER as u64,
    libc::CLONE_NEWNS as u64,
    libc::CLONE_NEWPID as u64,
    libc::CLONE_NEWNET as u64,
    libc::CLONE_NEWIPC as u64,
    libc::CLONE_NEWUTS as u64,
    libc::CLONE_NEWCGROUP as u64,
    // CLONE_NEWTIME shares its bit with the exit signal of `clone`, which therefore cannot ask for it.
    0,
];

/// What a filter allows beyond the list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed {
    /// Whether a file can be given the bit that makes it run as its owner.
    pub(crate) set_uid_files: bool,
    /// Whether there are sockets that lead beyond this machine's files.
    pub(crate) network: bool,
}

/// Calls and the arguments with which each is refused; always, if there are none.
type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

/// Programs for the kernel, one for each answer; all of them are asked and the strictest wins.
pub(crate) fn programs(allowed: Allowed) -> Result<Vec<(i32, Vec<Instruction>)>> {
    rules_by_errno(allowed)?.into_iter().map(|(errno, rules)| Ok((errno, compile(errno, rules)?))).collect()
}

/// The program that tells of what is forbidden and of every call that names a path; whoever is told answers both.
pub(crate) fn observing(allowed: Allowed) -> Result<Vec<Instruction>> {
    let mut rules = rules_by_errno(allowed)?.remove(&FORBIDDEN).unwrap_or_default();
    rules.extend(PATH_CALLS.iter().copied().flatten().map(|call| (c_long::from(call.number), Vec::new())));
    Ok(told(&compile(FORBIDDEN, rules)?, FORBIDDEN))
}

/// Whether a call that is told is refused, or only looked at.
pub fn is_refused(number: i32, arguments: &[u64; 6]) -> bool {
    let sets_owner = |(call, argument): &(c_long, u8)| {
        *call == c_long::from(number) && arguments[usize::from(*argument)] & u64::from(libc::S_ISUID) != 0
    };
    path_call(number).is_none() || (belay_sys::is_root() && MODE_ARGUMENTS.iter().any(sets_owner))
}

fn rules_by_errno(allowed: Allowed) -> Result<BTreeMap<i32, Rules>> {
    let mut by_errno: BTreeMap<i32, Rules> = BTreeMap::new();
    for call in DENIED_CALLS {
        by_errno.entry(call.errno).or_default().insert(call.number, rules(call)?);
    }
    if !allowed.network {
        let other = rule(0, SeccompCmpOp::Ne, libc::AF_UNIX as u64)?;
        by_errno.entry(libc::EPERM).or_default().insert(libc::SYS_socket, vec![other]);
    }
    if !allowed.set_uid_files {
        for (number, argument) in MODE_ARGUMENTS {
            let bit = masked(*argument, u64::from(libc::S_ISUID))?;
            by_errno.entry(libc::EPERM).or_default().insert(*number, vec![bit]);
        }
        // Its mode lies in memory, where a filter cannot look; whoever uses it must be ready for a kernel without.
        by_errno.entry(libc::ENOSYS).or_default().insert(libc::SYS_openat2, Vec::new());
    }
    Ok(by_errno)
}

/// What a call is told that is refused because it is forbidden, and not because a kernel may lack it.
pub(crate) const FORBIDDEN: i32 = libc::EPERM;

/// The same program, but somebody is told of what it refuses, and answers.
pub(crate) fn told(program: &[Instruction], errno: i32) -> Vec<Instruction> {
    const RETURN: u16 = 0x06;
    let refuses = libc::SECCOMP_RET_ERRNO | errno.unsigned_abs();
    let tell = |each: &Instruction| match each.code == RETURN && each.operand == refuses {
        true => Instruction { operand: libc::SECCOMP_RET_USER_NOTIF, ..*each },
        false => *each,
    };
    program.iter().map(tell).collect()
}

/// The name of a refused call.
pub fn name_of_call(number: i32) -> Option<&'static str> {
    let number = c_long::from(number);
    let is_mode = || MODE_ARGUMENTS.iter().any(|(call, _)| *call == number);
    let named = DENIED_CALLS.iter().find(|call| call.number == number).map(|call| call.name);
    named.or_else(|| is_mode().then_some("a set-user-id file"))
}

/// Whether a call of this name can give a file a mode.
pub fn sets_modes(name: &str) -> bool {
    const NAMES: [&str; 9] =
        ["chmod", "fchmod", "fchmodat", "fchmodat2", "mknod", "mknodat", "creat", "open", "openat"];
    NAMES.contains(&name)
}

/// Calls that set a mode, and which argument it is.
#[cfg(target_arch = "x86_64")]
const MODE_ARGUMENTS: &[(c_long, u8)] = &[
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
    (libc::SYS_creat, 1),
    (libc::SYS_open, 2),
    (libc::SYS_openat, 3),
];
#[cfg(not(target_arch = "x86_64"))]
const MODE_ARGUMENTS: &[(c_long, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
    (libc::SYS_mknodat, 2),
    (libc::SYS_openat, 3),
];

fn rules(call: &DeniedCall) -> Result<Vec<SeccompRule>> {
    const REQUESTS: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];
    /// The second since Linux 6.19; the library does not know it yet.
    const LEASES: [u64; 2] = [libc::F_SETLEASE as u64, 1040];
    const AFTER_INET: u64 = libc::AF_INET as u64 + 1;
    const AFTER_INET6: u64 = libc::AF_INET6 as u64 + 1;
    const AFTER_NETLINK: u64 = libc::AF_NETLINK as u64 + 1;
    match call.name {
        "clone" => NAMESPACE_FLAGS.into_iter().filter(|flag| *flag != 0).map(|flag| masked(0, flag)).collect(),
        "fcntl" => LEASES.into_iter().map(|request| equal(1, request)).collect(),
        "ioctl" => REQUESTS.into_iter().map(|request| equal(1, request)).collect(),
        "socket" => Ok(vec![
            between(0, AFTER_INET, libc::AF_INET6 as u64 - 1)?,
            between(0, AFTER_INET6, libc::AF_NETLINK as u64 - 1)?,
            rule(0, SeccompCmpOp::Ge, AFTER_NETLINK)?,
        ]),
        _ => Ok(Vec::new()),
    }
}

/// True if all bits of `bits` are set in an argument, of which only the lower half counts, as for the kernel.
fn masked(argument: u8, bits: u64) -> Result<SeccompRule> {
    rule(argument, SeccompCmpOp::MaskedEq(bits), bits)
}

fn equal(argument: u8, value: u64) -> Result<SeccompRule> {
    rule(argument, SeccompCmpOp::Eq, value)
}

fn between(argument: u8, least: u64, most: u64) -> Result<SeccompRule> {
    let condition = |operation, value| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value);
    let conditions = [condition(SeccompCmpOp::Ge, least), condition(SeccompCmpOp::Le, most)];
    let conditions = conditions.into_iter().collect::<std::result::Result<_, _>>().map_err(Error::Filter)?;
    SeccompRule::new(conditions).map_err(Error::Filter)
}

fn rule(argument: u8, operation: SeccompCmpOp, value: u64) -> Result<SeccompRule> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value)
        .and_then(|condition| SeccompRule::new(vec![condition]))
        .map_err(Error::Filter)
}

fn compile(errno: i32, rules: Rules) -> Result<Vec<Instruction>> {
    let architecture = std::env::consts::ARCH.try_into().map_err(Error::Filter)?;
    let answer = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, architecture).map_err(Error::Filter)?;
    let program: BpfProgram = filter.try_into().map_err(Error::Filter)?;
    let mut instructions = refuse_other_numbering();
    instructions.extend(program.iter().map(|each| Instruction {
        code: each.code,
        if_true: each.jt,
        if_false: each.jf,
        operand: each.k,
    }));
    Ok(instructions)
}

/// On x86-64 a bit of the number selects a second numbering of the same calls, which no list of numbers covers.
fn refuse_other_numbering() -> Vec<Instruction> {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const OTHER_NUMBERING: u32 = 0x4000_0000;
    if !cfg!(target_arch = "x86_64") {
        return Vec::new();
    }
    let refuse = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    vec![
        Instruction { code: LOAD_NUMBER, if_true: 0, if_false: 0, operand: 0 },
        Instruction { code: JUMP_IF_AT_LEAST, if_true: 0, if_false: 1, operand: OTHER_NUMBERING },
        Instruction { code: RETURN, if_true: 0, if_false: 0, operand: refuse },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDINARY: Allowed = Allowed { set_uid_files: true, network: true };

    #[test]
    fn a_call_is_listed_once_and_says_why() {
        for call in DENIED_CALLS {
            assert!(!call.why.is_empty());
            assert_eq!(denied_call(call.name), Some(call), "{} is listed twice", call.name);
        }
        assert_eq!(denied_call("read"), None);
    }

    #[test]
    fn only_what_is_forbidden_is_told() {
        let all = programs(ORDINARY).unwrap();
        let (errno, program) = all.iter().find(|(errno, _)| *errno == FORBIDDEN).unwrap();
        let told = told(program, *errno);
        let count = |program: &[Instruction], operand| program.iter().filter(|each| each.operand == operand).count();
        assert!(count(&told, libc::SECCOMP_RET_USER_NOTIF) > 0);
        assert_eq!(count(&told, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32), 0);
        assert_eq!(name_of_call(libc::SYS_mount as i32), Some("mount"));
        assert_eq!(name_of_call(libc::SYS_read as i32), None);
    }

    #[test]
    fn a_call_that_names_a_path_is_told_and_not_refused() {
        let program = observing(ORDINARY).unwrap();
        let knows = |number: c_long| program.iter().any(|each| u64::from(each.operand) == number as u64);
        assert!(knows(libc::SYS_openat) && knows(libc::SYS_mount) && !knows(libc::SYS_io_uring_setup));
        assert!(!is_refused(libc::SYS_openat as i32, &[0; 6]));
        assert!(is_refused(libc::SYS_mount as i32, &[0; 6]));
        let mode = [0, 0, 0, u64::from(libc::S_ISUID | 0o755), 0, 0];
        assert_eq!(is_refused(libc::SYS_openat as i32, &mode), belay_sys::is_root());
    }

    #[test]
    fn there_is_a_program_for_each_answer() {
        assert_eq!(programs(ORDINARY).unwrap().len(), 2);
        assert_eq!(programs(Allowed { set_uid_files: false, network: false }).unwrap().len(), 2);
    }
}
