//! What can go wrong in a measurement; a failed one is never reported as a figure.

use std::error::Error as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// A failed step of a benchmark.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{doing} {}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("start {program}")]
    Start {
        program: String,
        #[source]
        source: io::Error,
    },
    #[error("{command} ended with {status}: {said}")]
    Failed { command: String, status: ExitStatus, said: String },
    #[error("{tool} did not do its work: {finding}")]
    Wrong { tool: String, finding: String },
    #[error("no workspace at {}; make it with bench/workspaces.sh", path.display())]
    NoWorkspace { path: PathBuf },
    #[error("{failed} rows failed")]
    Rows { failed: usize },
    #[error("the library failed")]
    Store(#[from] belay_store::Error),
    #[error("unexpected output of {program}: {text:?}")]
    Output { program: String, text: String },
}

/// The result of a benchmark step.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Attaches what was being done, and to which path, to an error of the system.
pub(crate) trait Doing<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T>;
}

impl<T, E: Into<io::Error>> Doing<T> for std::result::Result<T, E> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::Io { doing, path: path.to_path_buf(), source: source.into() })
    }
}

/// The error and its causes on one line.
pub(crate) fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
