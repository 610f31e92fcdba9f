//! `Workspace`: the same snapshots that the command `belay` takes and lists, one directory at a time.

use std::path::PathBuf;
use std::sync::Arc;

use belay_session::store::{Algorithm, Manifest, OnDamage};
use belay_session::{Consent, Goal, Home, HomeOptions, RewindRequest, SnapshotRequest, Sources, Work};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::changes;
use crate::error::{Error, Result};
use crate::files::SnapshotManifest;
use crate::session::{iso, make_again, rewind, to};
use crate::values::{Change, ContentHash};
use crate::work;

/// One snapshot in a workspace's timeline.
#[pyclass(frozen, module = "belay")]
pub(crate) struct Snapshot(belay_session::Snapshot);

#[pymethods]
impl Snapshot {
    /// `snap_` and six characters.
    #[getter]
    fn id(&self) -> &str {
        &self.0.id
    }

    /// Its number in the timeline, counted from 1.
    #[getter]
    fn number(&self) -> u64 {
        self.0.number
    }

    /// Why it was taken: "manual", "pre-run", "safety" and so on.
    #[getter]
    fn r#type(&self) -> &'static str {
        self.0.kind.name()
    }

    /// The name that somebody gave it.
    #[getter]
    fn label(&self) -> Option<&str> {
        self.0.label.as_deref()
    }

    /// When it was taken, in ISO 8601 and UTC.
    #[getter]
    fn timestamp(&self) -> String {
        iso(&self.0)
    }

    /// One hash over everything captured but times and owners.
    #[getter]
    fn merkle_root(&self) -> ContentHash {
        ContentHash(self.0.root)
    }

    /// Whether something could not be captured.
    #[getter]
    fn partial(&self) -> bool {
        self.0.is_partial()
    }

    fn __repr__(&self) -> String {
        match self.label() {
            Some(label) => format!("Snapshot('{}', label={label:?})", self.0.id),
            None => format!("Snapshot('{}')", self.0.id),
        }
    }
}

/// A directory with its timeline, in the home of belay's that the command uses.
#[pyclass(frozen, subclass, module = "belay")]
pub(crate) struct Workspace {
    home: Arc<Home>,
    path: PathBuf,
}

#[pymethods]
impl Workspace {
    /// The workspace that holds the directory, else the directory as a new one.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, home: PathBuf) -> PyResult<Workspace> {
        work::run(py, move |_| {
            let options = HomeOptions { algorithm: Algorithm::default(), ..HomeOptions::default() };
            let home = Arc::new(Home::open(&home, options)?);
            let found = home.find_or_create(&path, Consent::default(), &Sources::default());
            let path = found.map_err(Error::at(&path))?.path().to_path_buf();
            Ok(Workspace { home, path })
        })
    }

    /// The directory.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Takes a snapshot.
    #[pyo3(signature = (label=None, description=None))]
    fn snapshot(&self, py: Python<'_>, label: Option<String>, description: Option<String>) -> PyResult<Snapshot> {
        let request = SnapshotRequest { label, description, ..SnapshotRequest::default() };
        work::run(py, |work| {
            let taken = self.open()?.snapshot(&request, work).map_err(Error::at(&self.path))?;
            Ok(Snapshot(taken.snapshot))
        })
    }

    /// The snapshots that exist, oldest first.
    fn snapshots(&self, py: Python<'_>) -> PyResult<Vec<Snapshot>> {
        work::run(py, |_| Ok(self.open()?.timeline()?.snapshots().iter().cloned().map(Snapshot).collect()))
    }

    /// The files of a snapshot, by any of its names ("@latest", a label, an id, "10m ago").
    #[pyo3(signature = (name="@latest"))]
    fn manifest(&self, py: Python<'_>, name: &str) -> PyResult<SnapshotManifest> {
        let (workspace, snapshot, parent) = work::run(py, |_| {
            let workspace = self.open()?;
            let snapshot = workspace.resolve(name)?;
            let timeline = workspace.timeline()?;
            let parent = snapshot.parent.as_deref().and_then(|id| timeline.get(id)).map(|parent| parent.number);
            Ok((workspace.path().to_path_buf(), snapshot, parent))
        })?;
        let roots = vec![(workspace, snapshot.manifest)];
        Ok(SnapshotManifest::new(&self.home, snapshot.number, iso(&snapshot), parent, snapshot.root, roots))
    }

    /// What changed from a snapshot to another, or to the present.
    #[pyo3(signature = (before="@latest", after=None))]
    fn changes(&self, py: Python<'_>, before: &str, after: Option<&str>) -> PyResult<Vec<Change>> {
        work::run(py, |work| self.compare(before, after, work))
    }

    /// Takes the workspace back to a snapshot, whatever is there captured first; returns what that changed.
    #[pyo3(signature = (name="@latest"))]
    fn rollback(&self, py: Python<'_>, name: &str) -> PyResult<Vec<Change>> {
        work::run(py, |work| self.rewind(&to(name), work))
    }

    /// Takes the last rollback back; returns what that changed.
    fn undo(&self, py: Python<'_>) -> PyResult<Vec<Change>> {
        let request = RewindRequest { goal: Goal::Undo, paths: Vec::new(), mtime: None, on_damage: OnDamage::Refuse };
        work::run(py, |work| self.rewind(&request, work))
    }

    /// The bytes of a file as they are in a snapshot.
    fn read<'py>(&self, py: Python<'py>, name: &str, path: PathBuf) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = work::run(py, |_| {
            let workspace = self.open()?;
            let beneath = workspace.beneath(&self.path, &path)?;
            let snapshot = workspace.resolve(name)?;
            let tree = workspace.tree(&snapshot)?;
            let gone = || Error::Path(path.clone(), std::io::ErrorKind::NotFound.into());
            let entry = workspace.entry(&tree, &beneath)?.ok_or_else(gone)?;
            Ok(workspace.read(&tree, &beneath, &entry)?)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __repr__(&self) -> String {
        format!("Workspace({:?})", self.path)
    }
}

impl Workspace {
    fn open(&self) -> Result<belay_session::Workspace<'_>> {
        let found = self.home.find_or_create(&self.path, Consent::default(), &Sources::default());
        found.map_err(Error::at(&self.path))
    }

    /// Takes the workspace back, whose directory is made again if it is gone, unless nothing comes of it.
    fn rewind(&self, request: &RewindRequest, work: Work<'_>) -> Result<Vec<Change>> {
        let made = make_again(&self.path)?;
        let rewound = self.open().and_then(|workspace| rewind(&workspace, &self.path, request, work));
        if made && rewound.is_err() {
            // Something may be in it already, which the next command finishes.
            let _ = std::fs::remove_dir(&self.path);
        }
        let changes = rewound?.changes.into_iter();
        Ok(changes.filter(|change| !made || change.path != self.path.as_os_str()).collect())
    }

    fn compare(&self, before: &str, after: Option<&str>, work: Work<'_>) -> Result<Vec<Change>> {
        let store = self.home.store();
        if after.is_none() && !self.path.exists() {
            let old = self.home.resolve_at(&self.path, before)?;
            let gone = self.home.changes_when_gone(&Manifest::read(store, &old.manifest)?)?;
            return Ok(changes::seen(&self.path, &gone));
        }
        let workspace = self.open()?;
        let old = workspace.resolve(before)?;
        match after {
            Some(after) => {
                let read = |key| Manifest::read(store, key);
                let (old, new) = (read(&old.manifest)?, read(&workspace.resolve(after)?.manifest)?);
                changes::between(store, workspace.path(), &old, &new)
            }
            None => {
                let (old, new) = (workspace.tree(&old)?, workspace.present(work).map_err(Error::at(&self.path))?);
                Ok(changes::seen(workspace.path(), &workspace.changes(&old, &new, &Default::default())?))
            }
        }
    }
}
