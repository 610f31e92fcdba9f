//! Why an operation was not done, in words for whoever asked.

use std::error::Error as StdError;
use std::io;

/// The result of an operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed operation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument is missing, unknown, or of the wrong kind.
    #[error("{0}")]
    Arguments(String),
    /// What was asked for is not done; the text says why and what to do instead.
    #[error("{0}")]
    Refused(String),
    /// The session failed.
    #[error(transparent)]
    Session(#[from] belay_session::Error),
    /// The journal of a run cannot be read.
    #[error(transparent)]
    Journal(#[from] belay_session::journal::Error),
    /// The connection failed.
    #[error("the connection failed")]
    Connection(#[source] io::Error),
}

impl Error {
    /// The whole story in one line: what failed, and why.
    pub(crate) fn story(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        let text = belay_session::plain(text);
        match self.hint() {
            Some(hint) => format!("{text}. {hint}"),
            None => text,
        }
    }

    fn hint(&self) -> Option<&'static str> {
        use belay_session::Error as Session;
        let Error::Session(error) = self else { return None };
        match error {
            Session::PoolFull { .. } => Some(
                "Nothing was overwritten. Delete one with snapshots_delete, or make one of several with snapshots_compact.",
            ),
            Session::UnknownSnapshot { .. } | Session::AmbiguousSnapshot { .. } => {
                Some("Nothing was changed. snapshots_list names every snapshot.")
            }
            Session::NoSnapshots => Some("snapshots_create takes one."),
            Session::NotInSnapshot { .. } => {
                Some("Nothing was changed. snapshots_history tells which snapshots hold a path.")
            }
            Session::OutsideWorkspace { .. } => Some("Paths are relative to the workspace, or absolute and inside it."),
            Session::Repository { .. } => Some(
                "No ref was written and no file was changed. With agents.named = \"store\" such states live in belay's store.",
            ),
            Session::BadRefName { .. } => Some("Nothing was written. Choose another name."),
            Session::LabelInUse { .. } | Session::RefExists(_) => Some("Nothing was overwritten. Choose another name."),
            Session::Forgotten(_) => Some("Nothing was written. Call it again."),
            Session::RollbackBusy => Some("Try again in a moment."),
            Session::NeedsConsent(_) => Some(
                "A person may allow it with `belay snapshot --yes-really`. Start the server inside a project instead.",
            ),
            _ => None,
        }
    }
}
