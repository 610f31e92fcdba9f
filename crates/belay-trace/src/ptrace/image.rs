//! What a process that has just executed something is, read while it is halted.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use belay_event::Raw;

use crate::table::Image;

/// Linux gives arguments and environment together 2 MiB by default.
const ARGUMENTS_BYTES_MAX: usize = 2 * 1024 * 1024;

/// More than the kernel ever says in one of its short files, and than most commands have in arguments.
const AT_ONCE_BYTES: usize = 4096;

/// How often to look whether a parent rests; each look takes some microseconds.
const REST_LOOKS_MAX: usize = 10;

/// How long to sleep between the later looks, when the parent seems to wait for a processor.
const REST_NAP: Duration = Duration::from_micros(50);

/// The image of a process at its exec; `ppid` is its parent if that still lives.
pub(crate) fn read_image(pid: u32, ppid: Option<u32>, uid: Option<u32>) -> Image {
    let (argv, cut) = arguments(pid);
    Image {
        pid,
        ppid: ppid.or_else(|| kin_of(pid).map(|kin| kin.parent)).unwrap_or(0),
        uid: uid.or_else(|| kin_of(pid).map(|kin| kin.uid)).unwrap_or(0),
        argv,
        exe: link(pid, "exe"),
        cwd: link(pid, "cwd"),
        cut,
    }
}

/// Whose a process or thread is, as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kin {
    /// The process that a thread is of; a process is its own.
    pub(crate) process: u32,
    pub(crate) parent: u32,
    pub(crate) uid: u32,
}

/// Whose a process or thread is; none if it is gone.
pub(crate) fn kin_of(pid: u32) -> Option<Kin> {
    let status = read_at_once(pid, "status")?;
    let field = |name: &str| {
        let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(name.as_bytes()))?;
        str::from_utf8(line).ok()?.split_ascii_whitespace().next()?.parse().ok()
    };
    Some(Kin { process: field("Tgid:")?, parent: field("PPid:")?, uid: field("Uid:")? })
}

/// Looks whether a parent rests; most of the time it is the same one.
#[derive(Debug, Default)]
pub(crate) struct Repose {
    last: Option<(u32, File)>,
}

impl Repose {
    /// Waits a moment for a parent to have nothing to do but wait for its child: what the child does then is surely its own.
    pub(crate) fn let_rest(&mut self, parent: u32) {
        for look in 0..REST_LOOKS_MAX {
            if !self.runs(parent) {
                return;
            }
            // Not a yield: on a busy machine that would keep the child halted for a whole slice of somebody else's.
            if look >= REST_LOOKS_MAX / 2 {
                std::thread::sleep(REST_NAP);
            }
        }
    }

    fn runs(&mut self, parent: u32) -> bool {
        const RUNNING: &[u8] = b"running";
        let mut word = [0; RUNNING.len()];
        // One that cannot be read any more is gone, and its number may be another's.
        if let Some((_, file)) = self.last.as_ref().filter(|(pid, _)| *pid == parent)
            && let Ok(length) = file.read_at(&mut word, 0)
        {
            return &word[..length] == RUNNING;
        }
        self.last = File::open(format!("/proc/{parent}/syscall")).ok().map(|file| (parent, file));
        let read = self.last.as_ref().and_then(|(_, file)| file.read_at(&mut word, 0).ok());
        read.is_some_and(|length| &word[..length] == RUNNING)
    }
}

fn arguments(pid: u32) -> (Vec<Raw>, bool) {
    if let Some(bytes) = belay_sys::ptrace::arguments_at_exec(pid) {
        return (split(&bytes), false);
    }
    let mut bytes = Vec::new();
    if let Ok(file) = File::open(format!("/proc/{pid}/cmdline")) {
        let mut file = file.take(ARGUMENTS_BYTES_MAX as u64 + 1);
        bytes.resize(AT_ONCE_BYTES, 0);
        // What was read before a failure is still an argument; a process that is being killed has none.
        let length = file.read(&mut bytes).unwrap_or(0);
        bytes.truncate(length);
        if length == AT_ONCE_BYTES {
            let _ = file.read_to_end(&mut bytes);
        }
    }
    let cut = bytes.len() > ARGUMENTS_BYTES_MAX;
    bytes.truncate(ARGUMENTS_BYTES_MAX);
    (split(&bytes), cut)
}

fn split(bytes: &[u8]) -> Vec<Raw> {
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes.strip_suffix(b"\0").unwrap_or(bytes).split(|byte| *byte == 0).map(Raw::from).collect()
}

fn link(pid: u32, which: &str) -> Raw {
    let target = fs::read_link(format!("/proc/{pid}/{which}")).unwrap_or_default();
    Raw::from(target.into_os_string().into_vec())
}

/// A small file about a process, or its beginning, with one call: whoever asks keeps somebody halted.
fn read_at_once(pid: u32, which: &str) -> Option<Vec<u8>> {
    let mut file = File::open(format!("/proc/{pid}/{which}")).ok()?;
    let mut bytes = vec![0; AT_ONCE_BYTES];
    let length = file.read(&mut bytes).ok()?;
    bytes.truncate(length);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::split;
    use belay_event::Raw;

    #[test]
    fn empty_arguments_count() {
        let words = |bytes: &[u8]| split(bytes).into_iter().map(Raw::into_bytes).collect::<Vec<_>>();
        assert_eq!(words(b"a\0\0b\0"), [&b"a"[..], b"", b"b"]);
        assert_eq!(words(b"\0"), [b""]);
        assert_eq!(words(b"cut sho"), [b"cut sho"]);
        assert!(split(b"").is_empty());
    }
}
