//! The Python package `belay`: numbered snapshots of directories, over the same store as the command.
//!
//! - A session directory is a home of belay's, so `BELAY_HOME=<session_dir> belay snapshots` shows what Python took.
//! - Python's lock is given back while belay works, and Ctrl-C ends that work as it would end the command's.
//! - A path is a `str` as `os.fsdecode` makes it, so that no name is lost.

mod changes;
mod error;
mod everyday;
mod files;
mod numbered;
mod restores;
mod session;
mod snapshots;
mod values;
mod work;

use pyo3::prelude::*;

/// The native part of the package; `belay/__init__.py` is what a program imports.
#[pymodule(gil_used = false)]
mod _belay {
    #[pymodule_export]
    use super::error::{BelayError, IntegrityError, LimitError};
    #[pymodule_export]
    use super::everyday::{Snapshot, Workspace};
    #[pymodule_export]
    use super::files::SnapshotManifest;
    #[pymodule_export]
    use super::snapshots::SnapshotManager;
    #[pymodule_export]
    use super::values::{Change, ContentHash, ExclusionConfig, FileState};
}
