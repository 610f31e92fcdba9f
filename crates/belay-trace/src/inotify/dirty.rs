//! The paths that may have changed since somebody asked.

use std::collections::HashSet;

/// Beyond this, directories stand for the files in them, so that memory has a limit.
const PATHS_MAX: usize = 100_000;

/// A set of paths.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    all: HashSet<Vec<u8>>,
    /// The one of them that stood for the last path, since changes come in runs; the workspace itself stands for everything.
    above: Option<Vec<u8>>,
}

impl Paths {
    /// Whether this very path is in it.
    pub(crate) fn contains(&self, path: &[u8]) -> bool {
        self.all.contains(path)
    }

    /// Adds a path, unless one is there that stands for it.
    pub(crate) fn add(&mut self, path: &[u8]) {
        if self.above.as_ref().is_some_and(|above| is_beneath(path, above)) || self.all.contains(path) {
            return;
        }
        self.above = ancestors(path).find(|above| self.all.contains(*above)).map(<[u8]>::to_vec);
        if self.above.is_some() {
            return;
        }
        self.all.insert(path.to_vec());
        while self.all.len() > PATHS_MAX {
            self.all = self.all.drain().map(|path| parent(&path).to_vec()).collect();
        }
    }

    /// Empties the set; a path beneath another one is left out.
    pub(crate) fn take(&mut self) -> Vec<Vec<u8>> {
        let Paths { all, .. } = std::mem::take(self);
        let mut paths: Vec<_> =
            all.iter().filter(|path| !ancestors(path).any(|above| all.contains(above))).cloned().collect();
        paths.sort_unstable();
        paths
    }
}

fn is_beneath(path: &[u8], above: &[u8]) -> bool {
    above.is_empty() || path.strip_prefix(above).is_some_and(|rest| rest.first() == Some(&b'/'))
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
    fn what_stood_for_the_last_path_does_not_stand_for_its_neighbours() {
        assert_eq!(taken(&[b"a", b"a/b", b"ab", b"a/c/d", b"b/c", b"a/e"]), [&b"a"[..], b"ab", b"b/c"]);
        let mut set = Paths::default();
        [&b"a"[..], b"a/b"].iter().for_each(|path| set.add(path));
        assert_eq!(set.take(), [b"a"]);
        set.add(b"a/b");
        assert_eq!(set.take(), [b"a/b"], "once taken it stands for nothing");
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
