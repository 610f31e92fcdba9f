//! The paths that may have changed since somebody asked.

use std::collections::HashSet;

/// Beyond this, directories stand for the files in them, so that memory has a limit.
const PATHS_MAX: usize = 100_000;

/// A set of paths.
#[derive(Debug, Default)]
pub(crate) struct Paths(HashSet<Vec<u8>>);

impl Paths {
    /// Whether this very path is in it.
    pub(crate) fn contains(&self, path: &[u8]) -> bool {
        self.0.contains(path)
    }

    /// Adds a path, unless one is there that stands for it.
    pub(crate) fn add(&mut self, path: &[u8]) {
        if self.0.contains(path) || ancestors(path).any(|above| self.0.contains(above)) {
            return;
        }
        self.0.insert(path.to_vec());
        while self.0.len() > PATHS_MAX {
            self.0 = self.0.drain().map(|path| parent(&path).to_vec()).collect();
        }
    }

    /// Empties the set; a path beneath another one is left out.
    pub(crate) fn take(&mut self) -> Vec<Vec<u8>> {
        let all = std::mem::take(&mut self.0);
        let mut paths: Vec<_> =
            all.iter().filter(|path| !ancestors(path).any(|above| all.contains(above))).cloned().collect();
        paths.sort_unstable();
        paths
    }
}

fn parent(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(&[], |at| &path[..at])
}

/// Every path above, the workspace itself (empty) last.
fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(path).filter(|path| !path.is_empty());
    std::iter::from_fn(move || {
        let above = parent(rest?);
        rest = Some(above).filter(|above| !above.is_empty());
        Some(above)
    })
}

#[cfg(test)]
mod tests {
    use super::{PATHS_MAX, Paths};

    fn taken(paths: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut set = Paths::default();
        paths.iter().for_each(|path| set.add(path));
        set.take()
    }

    #[test]
    fn a_directory_stands_for_what_is_beneath() {
        assert_eq!(taken(&[b"a/b/c", b"a-b", b"a/b", b"z"]), [&b"a-b"[..], b"a/b", b"z"]);
        assert_eq!(taken(&[b"a/b", b"", b"z"]), [b""]);
    }

    #[test]
    fn a_flood_becomes_directories() {
        let mut set = Paths::default();
        for number in 0..PATHS_MAX * 2 {
            set.add(format!("dir{}/file{number}", number % 10).as_bytes());
        }
        let paths = set.take();
        assert!(paths.len() <= PATHS_MAX);
        assert!(paths.contains(&b"dir3".to_vec()));
    }
}
