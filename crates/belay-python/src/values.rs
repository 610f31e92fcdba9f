//! The small values that Python is handed: hashes, states of files, changes, and what to leave out.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use belay_session::store::Hash;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A SHA-256 hash. Immutable and hashable.
#[pyclass(frozen, eq, from_py_object, module = "belay")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContentHash(pub(crate) Hash);

#[pymethods]
impl ContentHash {
    /// Reads 64 hexadecimal characters.
    #[new]
    fn new(hex: &str) -> PyResult<ContentHash> {
        let bad = || PyValueError::new_err("a hash has 64 hexadecimal characters");
        Hash::from_hex(hex).map(ContentHash).ok_or_else(bad)
    }

    /// The hash in 64 hexadecimal characters.
    fn hex(&self) -> String {
        self.0.to_hex()
    }

    fn __str__(&self) -> String {
        self.hex()
    }

    fn __repr__(&self) -> String {
        format!("ContentHash('{}')", self.hex())
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish()
    }
}

/// The state of one file within a snapshot.
#[pyclass(frozen, eq, module = "belay")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileState {
    pub(crate) hash: ContentHash,
    /// The length in bytes.
    #[pyo3(get)]
    pub(crate) size: u64,
    /// The modification time in seconds since the epoch.
    #[pyo3(get)]
    pub(crate) mtime: i64,
    /// The permission bits, 0o7777.
    #[pyo3(get)]
    pub(crate) permissions: u32,
}

#[pymethods]
impl FileState {
    /// The SHA-256 of the content.
    #[getter]
    fn hash(&self) -> ContentHash {
        self.hash
    }

    fn __repr__(&self) -> String {
        format!("FileState(size={}, permissions=0o{:o})", self.size, self.permissions)
    }
}

/// One path that differs between two states.
#[pyclass(frozen, module = "belay")]
#[derive(Clone)]
pub(crate) struct Change {
    /// The path, absolute.
    #[pyo3(get)]
    pub(crate) path: OsString,
    pub(crate) kind: ChangeKind,
    /// By how many bytes the file grew; None where nothing has a size.
    #[pyo3(get)]
    pub(crate) size_delta: Option<i64>,
}

/// How a path differs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Created,
    Modified,
    Deleted,
    PermissionsChanged,
}

#[pymethods]
impl Change {
    /// "created", "modified", "deleted" or "permissions_changed".
    #[getter]
    fn change_type(&self) -> &'static str {
        match self.kind {
            ChangeKind::Created => "created",
            ChangeKind::Modified => "modified",
            ChangeKind::Deleted => "deleted",
            ChangeKind::PermissionsChanged => "permissions_changed",
        }
    }

    fn __repr__(&self) -> String {
        format!("Change(path={:?}, change_type='{}')", self.path, self.change_type())
    }
}

/// What a snapshot leaves out.
#[pyclass(frozen, from_py_object, module = "belay")]
#[derive(Clone, Default)]
pub(crate) struct ExclusionConfig {
    /// Whether to leave out what `.gitignore` files say.
    #[pyo3(get)]
    pub(crate) use_gitignore: bool,
    /// Names of path components, or parts of paths if they contain a slash.
    #[pyo3(get)]
    pub(crate) exclude_patterns: Vec<String>,
    /// Globs matched against file names.
    #[pyo3(get)]
    pub(crate) exclude_globs: Vec<String>,
    /// Patterns that override all exclusions.
    #[pyo3(get)]
    pub(crate) force_include: Vec<String>,
}

#[pymethods]
impl ExclusionConfig {
    /// With no arguments: leave out what `.gitignore` files say, and nothing else.
    #[new]
    #[pyo3(signature = (use_gitignore=true, exclude_patterns=None, exclude_globs=None, force_include=None))]
    fn new(
        use_gitignore: bool,
        exclude_patterns: Option<Vec<String>>,
        exclude_globs: Option<Vec<String>>,
        force_include: Option<Vec<String>>,
    ) -> ExclusionConfig {
        ExclusionConfig {
            use_gitignore,
            exclude_patterns: exclude_patterns.unwrap_or_default(),
            exclude_globs: exclude_globs.unwrap_or_default(),
            force_include: force_include.unwrap_or_default(),
        }
    }

    fn __repr__(&self) -> String {
        let flag = if self.use_gitignore { "True" } else { "False" };
        format!(
            "ExclusionConfig(use_gitignore={flag}, exclude_patterns={:?}, exclude_globs={:?}, force_include={:?})",
            self.exclude_patterns, self.exclude_globs, self.force_include
        )
    }
}
