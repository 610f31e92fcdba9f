//! What can go wrong with a record.

use std::io;
use std::path::PathBuf;

/// The outcome of an operation on a record.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation on a record failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file beside the database could not be used.
    #[error("{operation} {}", .path.display())]
    File {
        /// What was tried.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The database refused.
    #[error("{operation} the record")]
    Database {
        /// What was tried.
        operation: &'static str,
        /// What SQLite said.
        #[source]
        source: rusqlite::Error,
    },
    /// The record was written by a newer belay, or its tables cannot be made.
    #[error("the record has tables that this belay does not know")]
    Schema(#[source] Box<rusqlite_migration::Error>),
    /// A row does not mean anything.
    #[error("event {seq} cannot be read: {detail}")]
    Row {
        /// The event's number, 0 if even that is unknown.
        seq: u64,
        /// What is wrong with it.
        detail: String,
    },
    /// Somebody else is writing this record.
    #[error("the record is being written by another process")]
    Busy,
    /// The record is not what was written, so nothing in it may be signed anew.
    #[error("the record is not what was written: {0}")]
    NotAsWritten(String),
    /// The run has no record.
    #[error("there is no record in {}", .0.display())]
    Missing(PathBuf),
    /// A key or signature is not of the right form.
    #[error("{0} is not of the right form")]
    Form(&'static str),
    /// A question in SQL was refused or makes no sense.
    #[error("the record cannot answer that")]
    Query(#[source] rusqlite::Error),
    /// A bundle could not be written or read.
    #[error("a bundle cannot be written or read")]
    Output(#[source] io::Error),
    /// The writer ended before it could answer.
    #[error("the record was closed")]
    Closed,
    /// The writer could not do its work.
    #[error("the record could not be written: {0}")]
    Writer(String),
}

impl Error {
    /// Whether the record itself is gone or is none, and not something in the way to it.
    pub fn is_damage(&self) -> bool {
        use rusqlite::ErrorCode;
        match self {
            Error::Missing(_) | Error::Schema(_) | Error::Row { .. } | Error::Form(_) => true,
            Error::Database { source: rusqlite::Error::QueryReturnedNoRows, .. } => true,
            Error::Database { source, .. } => matches!(
                source.sqlite_error_code(),
                // A table that is missing is an error of no particular kind.
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown)
            ),
            _ => false,
        }
    }

    pub(crate) fn file(operation: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::File { operation, path, source }
    }

    pub(crate) fn database(operation: &'static str) -> impl FnOnce(rusqlite::Error) -> Error {
        move |source| Error::Database { operation, source }
    }

    pub(crate) fn row(seq: u64, detail: impl ToString) -> Error {
        Error::Row { seq, detail: detail.to_string() }
    }
}
