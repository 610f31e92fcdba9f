//! What can go wrong, and which exception it becomes; whatever concerns a path carries it as `path` or `filename`.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use belay_session::store;
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(_belay, BelayError, PyRuntimeError, "Something that belay refuses or cannot do.");
create_exception!(_belay, LimitError, BelayError, "The tracked directories exceed max_entries or max_bytes.");
create_exception!(_belay, IntegrityError, BelayError, "What is stored is not what was written; nothing was restored.");

/// The result of what Python asks for.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure on its way to an exception.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The session failed, at this tracked directory if one was meant.
    #[error("{0}")]
    Session(#[source] Box<belay_session::Error>, Option<PathBuf>),
    /// The store failed.
    #[error("{0}")]
    Store(#[from] store::Error),
    /// A file or directory could not be used.
    #[error("{1}")]
    Path(PathBuf, #[source] io::Error),
    /// A directory that must lie outside of another does not.
    #[error("{} lies inside {}", .inner.display(), .outer.display())]
    Inside { inner: PathBuf, outer: PathBuf },
    /// The directories hold more than the limits allow.
    #[error("{what} (limit: {limit}) at {}", .path.display())]
    Limit { what: String, limit: u64, path: PathBuf },
    /// A record of a session does not hold together.
    #[error("{name} is damaged: {detail}")]
    Record { name: String, detail: String },
    /// There is no snapshot of that number.
    #[error("there is no snapshot {0} in this session")]
    NoNumber(u64),
    /// There is nothing to compare with.
    #[error("no previous snapshot: call create_baseline() first")]
    NoBaseline,
    /// The snapshot has nothing of what is tracked now.
    #[error("snapshot {0} holds none of the tracked directories")]
    NotTracked(u64),
    /// Nothing was given to track.
    #[error("tracked_paths is empty")]
    NothingTracked,
    /// Python wants to stop, for this reason.
    #[error("{0}")]
    Python(PyErr),
}

impl From<belay_session::Error> for Error {
    fn from(error: belay_session::Error) -> Error {
        match error {
            belay_session::Error::Store(error) => Error::Store(error),
            other => Error::Session(Box::new(other), None),
        }
    }
}

impl Error {
    /// The same, said of a tracked directory.
    pub(crate) fn at(path: &Path) -> impl FnOnce(belay_session::Error) -> Error {
        let path = path.to_path_buf();
        move |error| Error::Session(Box::new(error), Some(path))
    }

    pub(crate) fn record(name: &str, detail: impl Into<String>) -> Error {
        Error::Record { name: name.to_owned(), detail: detail.into() }
    }
}

impl From<Error> for PyErr {
    fn from(error: Error) -> PyErr {
        let text = chain(&error);
        match error {
            Error::Python(error) => error,
            Error::Path(path, source) => of_system(&source, path.into_os_string(), text),
            Error::Limit { path, .. } => with_path(LimitError::new_err(text), &path),
            Error::Inside { inner, .. } => with_path(BelayError::new_err(text), &inner),
            Error::Record { name, .. } => with_path(IntegrityError::new_err(text), Path::new(&name)),
            Error::NothingTracked => PyValueError::new_err(text),
            Error::NoNumber(_) | Error::NoBaseline | Error::NotTracked(_) => BelayError::new_err(text),
            Error::Store(error) => of_store(error, None, text),
            Error::Session(error, root) => of_session(*error, root.as_deref(), text),
        }
    }
}

fn of_session(error: belay_session::Error, root: Option<&Path>, text: String) -> PyErr {
    use belay_session::Error as E;
    match error {
        E::Store(error) | E::Damaged { source: error, .. } => of_store(error, root, text),
        E::Path { path, source, .. } => of_system(&source, path.into_os_string(), text),
        E::Disk { name, source, .. } => of_system(&source, name.into(), text),
        E::TimelineDamaged { name, .. } => with_path(IntegrityError::new_err(text), Path::new(&name)),
        E::HomeInWorkspace { home, .. } => with_path(BelayError::new_err(text), &home),
        E::WorkspaceInHome { workspace, .. } => with_path(BelayError::new_err(text), &workspace),
        _ => match root {
            Some(root) => with_path(BelayError::new_err(text), root),
            None => BelayError::new_err(text),
        },
    }
}

fn of_store(error: store::Error, root: Option<&Path>, text: String) -> PyErr {
    match error {
        store::Error::Workspace { path, source, .. } => {
            let beneath = OsStr::from_bytes(&path);
            let whole = root.map_or_else(|| beneath.into(), |root| root.join(beneath).into_os_string());
            of_system(&source, whole, text)
        }
        store::Error::Disk { name, source, .. } => of_system(&source, name.into(), text),
        store::Error::Corrupt { name, .. } => with_path(IntegrityError::new_err(text), Path::new(&name)),
        store::Error::Missing(_) => IntegrityError::new_err(text),
        store::Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        store::Error::Pattern { .. } | store::Error::Invalid(_) => PyValueError::new_err(text),
        _ => BelayError::new_err(text),
    }
}

/// `FileNotFoundError`, `PermissionError` and their like, with their `errno` and `filename`.
fn of_system(source: &io::Error, path: OsString, text: String) -> PyErr {
    match source.raw_os_error().or_else(|| number_of(source.kind())) {
        Some(number) => PyOSError::new_err((number, text, path)),
        None => PyOSError::new_err(text),
    }
}

/// The error number that the kernel would have given.
fn number_of(kind: io::ErrorKind) -> Option<i32> {
    Some(match kind {
        io::ErrorKind::NotFound => 2,
        io::ErrorKind::PermissionDenied => 13,
        io::ErrorKind::AlreadyExists => 17,
        io::ErrorKind::NotADirectory => 20,
        io::ErrorKind::IsADirectory => 21,
        _ => return None,
    })
}

fn with_path(error: PyErr, path: &Path) -> PyErr {
    Python::attach(|py| {
        // Without the attribute the text still names the path.
        let _ = error.value(py).setattr("path", path.as_os_str());
        error
    })
}

/// An error with everything that caused it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        if !text.ends_with(&cause.to_string()) {
            text.push_str(": ");
            text.push_str(&cause.to_string());
        }
        source = cause.source();
    }
    belay_session::plain(text)
}
