//! `SnapshotManager`: the numbered snapshots of a session, as Python calls them.

use std::io;
use std::path::PathBuf;

use belay_session::store::{Disk, RealDisk};
use pyo3::prelude::*;

use crate::error::{Error, Result};
use crate::files::SnapshotManifest;
use crate::session::{Limits, Session};
use crate::values::{Change, ExclusionConfig};
use crate::work;

const METADATA: &str = "session.json";

/// Numbered snapshots of directories, kept in a session directory.
#[pyclass(frozen, module = "belay")]
pub(crate) struct SnapshotManager {
    session: Session,
}

#[pymethods]
impl SnapshotManager {
    /// Opens the session, going on with the snapshots that it has.
    ///
    /// Without `exclusion` only directories that can be made again (`node_modules`, `target`, `.venv`, ...) are left
    /// out, and only where git ignores them.
    #[new]
    #[pyo3(signature = (session_dir, tracked_paths, exclusion=None, max_entries=300_000, max_bytes=2_147_483_648))]
    fn new(
        py: Python<'_>,
        session_dir: PathBuf,
        tracked_paths: Vec<PathBuf>,
        exclusion: Option<ExclusionConfig>,
        max_entries: u64,
        max_bytes: u64,
    ) -> PyResult<SnapshotManager> {
        let limits = Limits { entries_max: max_entries, bytes_max: max_bytes };
        let open =
            move |_: belay_session::Work<'_>| Session::open(&session_dir, &tracked_paths, exclusion.as_ref(), limits);
        Ok(SnapshotManager { session: work::run(py, open)? })
    }

    /// Captures the present state as the beginning of a chain of snapshots.
    fn create_baseline(&self, py: Python<'_>) -> PyResult<SnapshotManifest> {
        let (record, _) = work::run(py, |work| self.session.take(false, work))?;
        Ok(SnapshotManifest::of(&self.session.home, record))
    }

    /// Captures the present state, and tells what changed since the last snapshot.
    fn create_incremental(&self, py: Python<'_>) -> PyResult<(SnapshotManifest, Vec<Change>)> {
        let (record, changes) = work::run(py, |work| self.session.take(true, work))?;
        Ok((SnapshotManifest::of(&self.session.home, record), changes))
    }

    /// Takes everything tracked back to a snapshot; returns what that changed.
    ///
    /// Only what differs is touched, what the snapshot did not claim is left alone, and what was there before is
    /// captured first: `undo()` brings it back.
    fn restore_to(&self, py: Python<'_>, snapshot_number: u64) -> PyResult<Vec<Change>> {
        work::run(py, |work| self.session.restore(snapshot_number, work))
    }

    /// What `restore_to` would change; nothing is written.
    fn compute_restore_diff(&self, py: Python<'_>, snapshot_number: u64) -> PyResult<Vec<Change>> {
        work::run(py, |work| self.session.plan(snapshot_number, work))
    }

    /// Takes the last `restore_to` back; returns what that changed.
    fn undo(&self, py: Python<'_>) -> PyResult<Vec<Change>> {
        work::run(py, |work| self.session.undo(work))
    }

    /// The snapshot of that number.
    fn load_manifest(&self, py: Python<'_>, number: u64) -> PyResult<SnapshotManifest> {
        let record = work::run(py, |_| {
            let record = self.session.record(number)?;
            record.roots.iter().try_for_each(|root| root.manifest(self.session.home.store()).map(drop))?;
            Ok(record)
        })?;
        Ok(SnapshotManifest::of(&self.session.home, record))
    }

    /// How many snapshots were taken, in this process and before.
    fn snapshot_count(&self, py: Python<'_>) -> PyResult<usize> {
        work::run(py, |_| Ok(self.session.numbers()?.len()))
    }

    /// Keeps the metadata in the session directory.
    fn save_session_metadata(&self, py: Python<'_>, meta: &Bound<'_, PyAny>) -> PyResult<()> {
        let text: String = meta.call_method0("to_json")?.extract()?;
        work::run(py, |_| self.session.write_text(METADATA, &text))
    }

    /// The metadata that was kept in a session directory.
    #[staticmethod]
    fn load_session_metadata<'py>(py: Python<'py>, session_dir: PathBuf) -> PyResult<Bound<'py, PyAny>> {
        let text = work::run(py, |_| read_metadata(session_dir))?;
        py.import("belay")?.getattr("SessionMetadata")?.call_method1("from_json", (text,))
    }

    /// Takes the baseline, unless the session has one.
    fn __enter__(slf: Py<Self>, py: Python<'_>) -> PyResult<Py<Self>> {
        if slf.get().snapshot_count(py)? == 0 {
            slf.get().create_baseline(py)?;
        }
        Ok(slf)
    }

    /// Captures what the block did, however it ended.
    fn __exit__(
        &self,
        py: Python<'_>,
        _type: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        self.create_incremental(py)?;
        Ok(false)
    }

    fn __repr__(&self) -> String {
        format!(
            "SnapshotManager(session_dir={:?}, tracked_paths={:?})",
            self.session.home.path(),
            self.session.tracked()
        )
    }
}

fn read_metadata(session_dir: PathBuf) -> Result<String> {
    let path = session_dir.join(METADATA);
    let cannot = |error| Error::Path(path.clone(), error);
    if !session_dir.is_dir() {
        return Err(cannot(io::ErrorKind::NotFound.into()));
    }
    let bytes = RealDisk::open(&session_dir).and_then(|disk| disk.read(METADATA)).map_err(cannot)?;
    String::from_utf8(bytes).map_err(|_| Error::record(METADATA, "it is not text"))
}
