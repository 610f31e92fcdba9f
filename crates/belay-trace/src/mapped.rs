//! Files that a process can change through memory, of which the kernel sends no notice before they are let go.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Every file beneath the workspace that a process has mapped to write to it, as far as we may ask.
///
/// There is no way to be told, and asking every process takes tens of milliseconds; nobody should wait for it.
pub fn mapped_by_anybody(workspace: &Path) -> Vec<Vec<u8>> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let pids: Vec<u32> = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    writable(&pids, workspace.as_os_str().as_bytes())
}

/// Every file beneath the workspace that one of these processes has mapped to write to it.
pub(crate) fn writable(pids: &[u32], workspace: &[u8]) -> Vec<Vec<u8>> {
    let maps = pids.iter().filter_map(|pid| fs::read(format!("/proc/{pid}/maps")).ok());
    maps.flat_map(|maps| shared(&maps, workspace)).collect()
}

/// Lines are `from-to rw-s offset device inode   path`.
fn shared(maps: &[u8], workspace: &[u8]) -> Vec<Vec<u8>> {
    let beneath = |line: &[u8]| {
        let permissions = line.split(|byte| *byte == b' ').nth(1)?;
        if permissions.get(1) != Some(&b'w') || permissions.get(3) != Some(&b's') {
            return None;
        }
        let path = &line[line.iter().position(|byte| *byte == b'/')?..];
        let path = path.strip_prefix(workspace)?.strip_prefix(b"/")?;
        (!path.ends_with(b" (deleted)")).then(|| unescaped(path))
    };
    maps.split(|byte| *byte == b'\n').filter_map(beneath).collect()
}

/// The kernel escapes the end of a line there, and nothing else.
fn unescaped(path: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(b"\\012") {
            plain.push(b'\n');
            rest = after;
        } else {
            plain.push(*first);
            rest = after;
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::shared;

    #[test]
    fn only_what_is_written_to_others() {
        let maps = b"7f00-7f01 rw-s 00000000 fe:00 12   /w/db-shm\n\
                     7f00-7f01 r--s 00000000 fe:00 12   /w/read\n\
                     7f00-7f01 rw-p 00000000 fe:00 12   /w/private\n\
                     7f00-7f01 rw-s 00000000 fe:00 12   /w/gone (deleted)\n\
                     7f00-7f01 rw-s 00000000 fe:00 12   /elsewhere\n\
                     7f00-7f01 rw-s 00000000 00:01 12   /w/a b\\012c\n\
                     7f00-7f01 rw-p 00000000 00:00 0\n";
        assert_eq!(shared(maps, b"/w"), [&b"db-shm"[..], b"a b\nc"]);
        assert!(shared(b"", b"/w").is_empty());
    }
}
