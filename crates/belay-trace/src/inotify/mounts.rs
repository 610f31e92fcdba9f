//! Whether something was mounted beneath the workspace, whose changes no watch would see.

use std::fs;
use std::io::Read;

/// Room for the table of most machines.
const TABLE_BYTES: usize = 16 << 10;

/// The mount points beneath a directory when they were last looked at.
#[derive(Debug)]
pub(crate) struct Mounts {
    workspace: Vec<u8>,
    points: Vec<Vec<u8>>,
}

impl Mounts {
    /// As they are now.
    pub(crate) fn beneath(workspace: &[u8]) -> Mounts {
        let points = points(workspace);
        Mounts { workspace: workspace.to_vec(), points }
    }

    /// Whether they are others than the last time.
    pub(crate) fn changed(&mut self) -> bool {
        let now = points(&self.workspace);
        let changed = now != self.points;
        self.points = now;
        changed
    }
}

/// The lines about mount points at or beneath the workspace; each begins with a number that no other mount ever had.
fn points(workspace: &[u8]) -> Vec<Vec<u8>> {
    // The kernel does not say how long it is, and a few large reads are quicker than many small ones.
    let mut table = Vec::with_capacity(TABLE_BYTES);
    let _ = fs::File::open("/proc/self/mountinfo").and_then(|mut file| file.read_to_end(&mut table));
    let wanted = escaped(workspace);
    let beneath = |line: &&[u8]| {
        let point = line.split(|byte| *byte == b' ').nth(4).unwrap_or_default();
        point.strip_prefix(wanted.as_slice()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    };
    table.split(|byte| *byte == b'\n').filter(beneath).map(<[u8]>::to_vec).collect()
}

/// As the kernel writes a path there.
fn escaped(path: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    for byte in path {
        match byte {
            b' ' | b'\t' | b'\n' | b'\\' => text.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
            byte => text.push(*byte),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Mounts, escaped, points};

    #[test]
    fn the_root_is_a_mount_point() {
        assert!(!points(b"").is_empty());
        assert!(!Mounts::beneath(b"").changed());
        assert_eq!(escaped(b"/a b\\c"), b"/a\\040b\\134c");
    }
}
