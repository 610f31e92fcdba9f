//! The same promises on a kernel, or under a seccomp profile, that does not offer `openat2` and `fchmodat2`.

#![allow(unsafe_code)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::rerun;

const OPENAT2: u32 = 437;
const FCHMODAT2: u32 = 452;

const GROUPS: [&str; 7] = ["escape::", "race::", "mounts::", "names::", "special::", "metadata::a_", "xattr::"];

fn run_where_the_calls_fail_with(errno: i32) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(GROUPS).args(["--test-threads=2"]);
    // SAFETY: between fork and exec the closure only makes two prctl calls with data on its own stack.
    unsafe { command.pre_exec(move || refuse(errno as u32)) };
    rerun::run(&mut command);
}

fn refuse(errno: u32) -> io::Result<()> {
    const LOAD_NUMBER: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut steps = [
        step(LOAD_NUMBER, 0, 0, 0),
        step(IF_EQUAL, 1, 0, OPENAT2),
        step(IF_EQUAL, 0, 1, FCHMODAT2),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | errno),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the program and its steps live until the second call returns, and the kernel copies them.
    let results = unsafe {
        [
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program),
        ]
    };
    if results == [0, 0] { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[test]
fn a_kernel_that_does_not_know_them() {
    run_where_the_calls_fail_with(libc::ENOSYS);
}

#[test]
fn a_profile_that_forbids_them() {
    run_where_the_calls_fail_with(libc::EPERM);
}
