//! Facts about this process, other processes and the machine.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{Access, AtFlags};
use rustix::process::{Pid, Resource, Rlimit};
use rustix::time::{ClockId, clock_gettime};

use crate::stat::Time;

/// True if this process acts as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The user that this process acts as.
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Refuses unless this process may add to the directory.
pub fn check_writable(directory: &Path) -> io::Result<()> {
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    Ok(rustix::fs::accessat(rustix::fs::CWD, directory, wanted, AtFlags::EACCESS)?)
}

/// Raises the limit of open files as far as allowed and returns it.
pub fn raise_open_files_limit() -> u64 {
    let before = rustix::process::getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: before.maximum, maximum: before.maximum };
    let after = match rustix::process::setrlimit(Resource::Nofile, wanted) {
        Ok(()) => wanted,
        Err(_) => before,
    };
    after.current.unwrap_or(u64::MAX)
}

/// The wall clock.
pub fn now() -> Time {
    read_clock(ClockId::Realtime)
}

/// The wall clock as the kernel stamps files with it: cheaper, and up to one tick behind [`now`].
pub fn now_coarse() -> Time {
    read_clock(ClockId::RealtimeCoarse)
}

/// Nanoseconds since boot, time asleep included: the clock by which the kernel dates processes.
pub fn boot_nanos() -> u64 {
    let raw = clock_gettime(ClockId::Boottime);
    let (seconds, nanos) = (u64::try_from(raw.tv_sec).unwrap_or(0), u64::try_from(raw.tv_nsec).unwrap_or(0));
    seconds * 1_000_000_000 + nanos
}

fn read_clock(clock: ClockId) -> Time {
    let raw = clock_gettime(clock);
    Time { sec: raw.tv_sec, nsec: u32::try_from(raw.tv_nsec).unwrap_or(0) }
}

/// An id that is new after every boot.
pub fn boot_id() -> io::Result<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(text.trim_end().to_owned())
}

/// True if the process that had `pid` and started at `start_ticks` still runs; a recycled pid does not count.
pub fn process_alive(pid: u32, start_ticks: u64) -> bool {
    match fs::read(format!("/proc/{pid}/stat")) {
        Ok(stat) => parse_stat(&stat).is_some_and(|found| found.running && found.start == start_ticks),
        // With hidepid the process may be there although we may not see it; when in doubt it is alive.
        Err(_) => exists_unseen(pid),
    }
}

/// True if a signal stopped the process, and none has let it go on.
pub fn is_stopped(pid: u32) -> bool {
    let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    let end = stat.iter().rposition(|byte| *byte == b')').unwrap_or(stat.len());
    stat[end..].get(2) == Some(&b'T')
}

/// When this process started, in clock ticks since boot: with the pid and the boot id it names us for ever.
pub fn self_start_ticks() -> u64 {
    let stat = fs::read("/proc/self/stat").unwrap_or_default();
    parse_stat(&stat).map_or(0, |stat| stat.start)
}

/// The most memory this process ever had resident.
pub fn peak_rss_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.map_or(0, |kib| kib * 1024)
}

struct ProcessStat {
    running: bool,
    start: u64,
}

/// Reads state (field 3) and start time (field 22) of `/proc/<pid>/stat`.
fn parse_stat(stat: &[u8]) -> Option<ProcessStat> {
    // The command in field 2 may hold spaces and parentheses of its own, so count from the last one.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let text = std::str::from_utf8(&stat[end + 1..]).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let running = !matches!(fields.next()?, "Z" | "X" | "x");
    let start = fields.nth(18)?.parse().ok()?;
    Some(ProcessStat { running, start })
}

/// The parent (field 4) in `/proc/<pid>/stat`.
pub(crate) fn parent_of(stat: &[u8]) -> Option<u32> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    std::str::from_utf8(&stat[end + 1..]).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Whether a process is in a call that returns only when its new child executed something or ended; none if the kernel does
/// not tell us.
pub fn is_in_vfork(pid: u32) -> Option<bool> {
    let call = fs::read_to_string(format!("/proc/{pid}/syscall")).ok()?;
    let mut fields = call.split_ascii_whitespace();
    let Ok(number) = fields.next()?.parse::<libc::c_long>() else { return Some(false) };
    let first = u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok()?;
    let flags = match number {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_vfork => return Some(true),
        libc::SYS_clone => first,
        libc::SYS_clone3 => {
            let mut flags = [0; 8];
            fs::File::open(format!("/proc/{pid}/mem")).ok()?.read_exact_at(&mut flags, first).ok()?;
            u64::from_ne_bytes(flags)
        }
        _ => return Some(false),
    };
    Some(flags & libc::CLONE_VFORK as u64 != 0)
}

/// When the process of that number started, in clock ticks since boot.
pub fn start_ticks(pid: u32) -> Option<u64> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?).map(|stat| stat.start)
}

fn exists_unseen(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| {
        let answer = rustix::process::test_kill_process(pid);
        !matches!(answer, Err(rustix::io::Errno::SRCH))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_may_hold_anything() {
        let mut stat = b"7 (a) Z (b) S 1".to_vec();
        stat.extend_from_slice(b" 0".repeat(17).as_slice());
        stat.extend_from_slice(b" 4242 9 9");
        let parsed = parse_stat(&stat).unwrap();
        assert!(parsed.running);
        assert_eq!(parsed.start, 4242);
        assert!(parse_stat(b"7 (a) S 1").is_none());
        assert!(parse_stat(b"").is_none());
    }

    #[test]
    fn a_stopped_process_is_told_from_one_that_sleeps() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        assert!(!is_stopped(pid));
        crate::signal_process(pid, libc::SIGSTOP).unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !is_stopped(pid) {
            assert!(std::time::Instant::now() < deadline, "it stops at once");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_stopped(pid), "nobody is there");
    }
}
