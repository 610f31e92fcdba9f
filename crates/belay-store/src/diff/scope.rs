//! Which paths an operation is about.

/// Which paths are meant; no paths mean all.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    paths: Vec<Vec<u8>>,
}

impl Scope {
    /// These paths and everything beneath them; an empty list means everything.
    ///
    /// Slashes at the ends and doubled ones do not matter, and the empty path and `.` mean the whole workspace.
    pub fn new(paths: Vec<Vec<u8>>) -> Scope {
        let paths: Vec<Vec<u8>> = paths.iter().map(|path| normalised(path)).collect();
        if paths.iter().any(Vec::is_empty) { Scope::default() } else { Scope { paths } }
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
