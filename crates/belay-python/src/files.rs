//! A snapshot as Python reads it: its number, its root hash, and its files when somebody asks for them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use belay_session::Home;
use belay_session::store::{Algorithm, Content, Entry, FileType, Hash, Kind, Manifest, Segment, Store, View};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::error::Result;
use crate::numbered::Numbered;
use crate::values::{ContentHash, FileState};
use crate::work;

/// The state of all tracked files at one moment.
#[pyclass(frozen, module = "belay")]
pub(crate) struct SnapshotManifest {
    home: Arc<Home>,
    number: u64,
    timestamp: String,
    parent: Option<u64>,
    merkle_root: Hash,
    roots: Vec<(PathBuf, Hash)>,
    files: PyOnceLock<Py<PyDict>>,
    others: PyOnceLock<Py<PyDict>>,
}

impl SnapshotManifest {
    pub(crate) fn of(home: &Arc<Home>, record: Numbered) -> SnapshotManifest {
        let roots = record.roots.iter().map(|root| (root.path(), root.key())).collect();
        let merkle_root = record.merkle_root();
        SnapshotManifest::new(home, record.number, record.timestamp, record.parent, merkle_root, roots)
    }

    pub(crate) fn new(
        home: &Arc<Home>,
        number: u64,
        timestamp: String,
        parent: Option<u64>,
        merkle_root: Hash,
        roots: Vec<(PathBuf, Hash)>,
    ) -> SnapshotManifest {
        let (files, others) = (PyOnceLock::new(), PyOnceLock::new());
        SnapshotManifest { home: Arc::clone(home), number, timestamp, parent, merkle_root, roots, files, others }
    }
}

#[pymethods]
impl SnapshotManifest {
    /// The sequence number; 0 is the baseline.
    #[getter]
    fn number(&self) -> u64 {
        self.number
    }

    /// When it was taken, in ISO 8601 and UTC.
    #[getter]
    fn timestamp(&self) -> &str {
        &self.timestamp
    }

    /// The number of the snapshot before it.
    #[getter]
    fn parent(&self) -> Option<u64> {
        self.parent
    }

    /// One hash over everything captured but times and owners.
    #[getter]
    fn merkle_root(&self) -> ContentHash {
        ContentHash(self.merkle_root)
    }

    /// Every regular file by its path. Read from the store when it is first asked for.
    #[getter]
    fn files(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let made = self.files.get_or_try_init(py, || {
            let found = work::run(py, |_| states(self.home.store(), &self.roots))?;
            let dict = PyDict::new(py);
            found
                .into_iter()
                .try_for_each(|(path, state)| dict.set_item(path.as_os_str(), state.into_pyobject(py)?))?;
            PyResult::Ok(dict.unbind())
        })?;
        Ok(made.clone_ref(py))
    }

    /// Everything else that was captured, by its path: "directory", "symlink", "fifo", "socket" or "device".
    #[getter]
    fn others(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let made = self.others.get_or_try_init(py, || {
            let found = work::run(py, |_| others(self.home.store(), &self.roots))?;
            let dict = PyDict::new(py);
            found.into_iter().try_for_each(|(path, kind)| dict.set_item(path.as_os_str(), kind))?;
            PyResult::Ok(dict.unbind())
        })?;
        Ok(made.clone_ref(py))
    }

    fn __repr__(&self) -> String {
        format!("SnapshotManifest(number={}, merkle_root='{}')", self.number, self.merkle_root)
    }
}

fn states(store: &Store, roots: &[(PathBuf, Hash)]) -> Result<Vec<(PathBuf, FileState)>> {
    let mut found = Vec::new();
    each(store, roots, &mut |path, entry| {
        let Kind::File { size, content } = &entry.kind else { return Ok(()) };
        let hash = ContentHash(sha256(store, *size, content)?);
        let (mtime, permissions) = (entry.meta.mtime.sec, u32::from(entry.meta.mode));
        found.push((path, FileState { hash, size: *size, mtime, permissions }));
        Ok(())
    })?;
    Ok(found)
}

fn others(store: &Store, roots: &[(PathBuf, Hash)]) -> Result<Vec<(PathBuf, &'static str)>> {
    let mut found = Vec::new();
    each(store, roots, &mut |path, entry| {
        let kind = match entry.kind.file_type() {
            FileType::File => return Ok(()),
            FileType::Dir => "directory",
            FileType::Symlink => "symlink",
            FileType::Fifo => "fifo",
            FileType::Socket => "socket",
            _ => "device",
        };
        found.push((path, kind));
        Ok(())
    })?;
    Ok(found)
}

/// Calls `each` with every captured entry beneath the roots.
fn each(store: &Store, roots: &[(PathBuf, Hash)], each: &mut dyn FnMut(PathBuf, &Entry) -> Result<()>) -> Result<()> {
    let view = View::stored(store);
    for (root, key) in roots {
        let mut stack: Vec<(PathBuf, Hash)> = vec![(root.clone(), Manifest::read(store, key)?.root_node())];
        while let Some((dir, node)) = stack.pop() {
            for entry in view.node(&node)?.entries.iter().filter(|entry| !entry.is_opaque()) {
                let path = join(&dir, &entry.name);
                if let Kind::Dir { node, .. } = &entry.kind {
                    stack.push((path.clone(), *node));
                }
                each(path, entry)?;
            }
        }
    }
    Ok(())
}

fn join(dir: &Path, name: &[u8]) -> PathBuf {
    dir.join(OsStr::from_bytes(name))
}

/// The SHA-256 of a file's bytes: what the store names it by, or, in a store of another hash, what its bytes give.
fn sha256(store: &Store, size: u64, content: &Content) -> Result<Hash> {
    match content {
        Content::Whole(hash) | Content::Chunked { hash, .. } if store.algorithm() == Algorithm::Sha256 => {
            return Ok(if size == 0 { Algorithm::Sha256.hash(b"") } else { *hash });
        }
        _ => {}
    }
    let mut hasher = Algorithm::Sha256.hasher();
    let zeros = [0; 1 << 16];
    for segment in View::stored(store).segments(size, content)? {
        match segment {
            Segment::Data { key, .. } => hasher.update(&store.read(&key)?),
            Segment::Hole { mut len } => {
                while len > 0 {
                    let piece = len.min(zeros.len() as u64);
                    hasher.update(&zeros[..piece as usize]);
                    len -= piece;
                }
            }
        }
    }
    Ok(hasher.finish())
}
