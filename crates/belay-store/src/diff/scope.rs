//! Which paths an operation is about.

use std::collections::BTreeMap;

/// Which paths are meant; no paths mean all.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    paths: Vec<Vec<u8>>,
    spared: Spared,
}

/// Paths that whoever asks may not have changed, with everything beneath them; of two the longer one counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spared {
    paths: BTreeMap<Vec<u8>, bool>,
}

impl Spared {
    /// These paths; the second says whether one is spared, or open although it lies beneath one that is.
    pub fn new(paths: impl IntoIterator<Item = (Vec<u8>, bool)>) -> Spared {
        Spared { paths: paths.into_iter().map(|(path, is_spared)| (normalised(&path), is_spared)).collect() }
    }

    /// Whether nothing is spared.
    pub fn is_empty(&self) -> bool {
        !self.paths.values().any(|is_spared| *is_spared)
    }

    /// Whether the path is to stay as it is.
    pub fn contains(&self, path: &[u8]) -> bool {
        if self.paths.is_empty() {
            return false;
        }
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let above = std::iter::once(path.len()).chain(ends.collect::<Vec<_>>().into_iter().rev()).chain([0]);
        above.filter_map(|end| self.paths.get(&path[..end])).next().copied().unwrap_or_default()
    }

    /// Whether something that is spared lies in the directory, or is it.
    pub fn lies_within(&self, dir: &[u8]) -> bool {
        self.contains(dir) || self.paths.iter().any(|(path, is_spared)| *is_spared && is_within(path, dir))
    }

    /// Whether something beneath a spared directory is open.
    pub(crate) fn opens_within(&self, dir: &[u8]) -> bool {
        self.paths.iter().any(|(path, is_spared)| !is_spared && is_within(path, dir))
    }

    /// The same and all of the files that are one with a spared path, under all of their names.
    pub fn with_names_of(mut self, groups: &[&[Vec<Vec<u8>>]]) -> Spared {
        if self.is_empty() {
            return self;
        }
        // A file may share a name with one group now and with another one then.
        loop {
            let shared = |group: &&Vec<Vec<u8>>| {
                let spared = group.iter().filter(|path| self.contains(path)).count();
                spared > 0 && spared < group.len()
            };
            let names: Vec<&Vec<Vec<u8>>> = groups.iter().flat_map(|groups| groups.iter()).filter(shared).collect();
            if names.is_empty() {
                return self;
            }
            let names: Vec<Vec<u8>> = names.into_iter().flatten().cloned().collect();
            self.paths.extend(names.into_iter().map(|path| (path, true)));
        }
    }
}

impl Scope {
    /// These paths and everything beneath them; an empty list means everything.
    ///
    /// Slashes at the ends and doubled ones do not matter, and the empty path and `.` mean the whole workspace.
    pub fn new(paths: Vec<Vec<u8>>) -> Scope {
        let paths: Vec<Vec<u8>> = paths.iter().map(|path| normalised(path)).collect();
        if paths.iter().any(Vec::is_empty) { Scope::default() } else { Scope { paths, ..Scope::default() } }
    }

    /// The same, but these stay as they are.
    pub fn sparing(self, spared: Spared) -> Scope {
        Scope { spared, ..self }
    }

    /// What stays as it is.
    pub fn spared(&self) -> &Spared {
        &self.spared
    }

    /// Whether everything is meant.
    pub fn is_everything(&self) -> bool {
        self.paths.is_empty()
    }

    /// The paths, none if everything is meant.
    pub fn paths(&self) -> &[Vec<u8>] {
        &self.paths
    }

    /// Whether the path is meant.
    pub fn contains(&self, path: &[u8]) -> bool {
        self.is_everything() || self.paths.iter().any(|one| is_within(path, one))
    }

    /// Whether something beneath the directory is meant.
    pub fn may_contain(&self, dir: &[u8]) -> bool {
        self.is_everything() || self.paths.iter().any(|one| is_within(dir, one) || is_within(one, dir))
    }
}

fn normalised(path: &[u8]) -> Vec<u8> {
    let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".");
    names.collect::<Vec<_>>().join(&b'/')
}

/// Whether `path` is `dir` or lies beneath it.
fn is_within(path: &[u8], dir: &[u8]) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest[0] == b'/' || dir.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spared(paths: &[(&str, bool)]) -> Spared {
        Spared::new(paths.iter().map(|(path, is_spared)| (path.as_bytes().to_vec(), *is_spared)))
    }

    #[test]
    fn the_longest_path_decides_what_is_spared() {
        let some = spared(&[("a/b", true), ("a/b/open/", false), ("a/b/open/not", true)]);
        for path in ["a/b", "a/b/c", "a/b/open/not/x"] {
            assert!(some.contains(path.as_bytes()), "{path}");
        }
        for path in ["", "a", "a/bc", "b", "a/b/open", "a/b/open/x"] {
            assert!(!some.contains(path.as_bytes()), "{path}");
        }
        assert!(some.opens_within(b"a/b") && !some.opens_within(b"a/b/c"));
        assert!(spared(&[("", true), ("src", false)]).contains(b"x") && !spared(&[("x", false)]).contains(b"x"));
    }

    #[test]
    fn all_names_of_a_spared_file_are_spared() {
        let group = |names: &[&str]| names.iter().map(|name| name.as_bytes().to_vec()).collect::<Vec<_>>();
        let (now, then) = ([group(&["a", "b"]), group(&["x", "y"])], [group(&["c", "b"])]);
        let all = spared(&[("a", true)]).with_names_of(&[&now, &then]);
        for (path, is_spared) in [("a", true), ("b", true), ("c", true), ("x", false), ("y", false)] {
            assert_eq!(all.contains(path.as_bytes()), is_spared, "{path}");
        }
    }
}
