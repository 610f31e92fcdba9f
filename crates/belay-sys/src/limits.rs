//! Limits that the kernel keeps for each process, set on one that is held.

use std::io;

use rustix::process::{Pid, Resource, Rlimit, prlimit};

/// Limits the memory that the process and each of its descendants may ask for.
pub fn limit_address_space(pid: u32, bytes: u64) -> io::Result<()> {
    set(pid, Resource::As, bytes)
}

/// Limits how many processes the user of the process may have; root is not bound by it.
pub fn limit_processes_of_user(pid: u32, count: u64) -> io::Result<()> {
    set(pid, Resource::Nproc, count)
}

fn set(pid: u32, resource: Resource, value: u64) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    prlimit(Some(pid), resource, Rlimit { current: Some(value), maximum: Some(value) })?;
    Ok(())
}
