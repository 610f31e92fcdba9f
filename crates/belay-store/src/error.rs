//! Everything that can go wrong in the store, named by the operation and its operands.

use std::io;

use crate::hash::Hash;

/// The result of a store operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed store operation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of the store could not be read, written, renamed or removed.
    #[error("{operation} {name} in the store")]
    Disk {
        /// What was tried, as a verb.
        operation: &'static str,
        /// The file's name beneath the store.
        name: String,
        /// The operating system's answer.
        #[source]
        source: io::Error,
    },
    /// A path of the workspace could not be read or changed.
    #[error("{operation} {}", crate::error::printable(.path))]
    Workspace {
        /// What was tried, as a verb.
        operation: &'static str,
        /// The path beneath the workspace.
        path: Vec<u8>,
        /// The operating system's answer.
        #[source]
        source: io::Error,
    },
    /// An object that something refers to is not in the store.
    #[error("object {0} is missing from the store")]
    Missing(Hash),
    /// Bytes in the store are not what they were when they were written.
    #[error("{name} is damaged: {detail}")]
    Corrupt {
        /// The file or object that is damaged.
        name: String,
        /// What was expected and not found.
        detail: String,
    },
    /// The store was written by a newer belay.
    #[error("the store has format {found}, and this belay reads up to format {supported}")]
    TooNew {
        /// The format that the store names.
        found: u32,
        /// The newest format that this build understands.
        supported: u32,
    },
    /// The format file is damaged, and what is stored does not prove what it said.
    #[error("store/format cannot be read, and what is stored does not prove what it said: {detail}")]
    Unproven {
        /// What is lacking, or speaks against it.
        detail: String,
    },
    /// The store would lie inside the workspace it is to protect.
    #[error("the store lies inside the workspace")]
    StoreInWorkspace,
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The caller asked to stop, and a restore had changed some paths and not all.
    #[error("interrupted half way")]
    HalfDone,
    /// Another process holds the lock for longer than the caller would wait.
    #[error("another belay process is using the store")]
    Busy,
    /// What was to be stored is more than the caller allows.
    #[error("there is no room for it")]
    NoRoom,
    /// The argument cannot be used.
    #[error("{0}")]
    Invalid(String),
    /// A pattern of a filter cannot be understood.
    #[error("pattern {pattern:?} is not valid: {detail}")]
    Pattern {
        /// The pattern as it was given.
        pattern: String,
        /// Why it was refused.
        detail: String,
    },
}

impl Error {
    /// Whether the disk was full.
    pub fn is_no_space(&self) -> bool {
        match self {
            Error::Disk { source, .. } | Error::Workspace { source, .. } => {
                matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
            }
            _ => false,
        }
    }

    /// Whether the store does not hold any more what it held.
    pub fn is_damage(&self) -> bool {
        matches!(self, Error::Corrupt { .. } | Error::Missing(_))
    }

    pub(crate) fn disk(operation: &'static str, name: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let name = name.into();
        move |source| Error::Disk { operation, name, source }
    }

    pub(crate) fn workspace(operation: &'static str, path: &[u8]) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_vec();
        move |source| Error::Workspace { operation, path, source }
    }

    pub(crate) fn corrupt(name: impl Into<String>, detail: impl Into<String>) -> Error {
        Error::Corrupt { name: name.into(), detail: detail.into() }
    }
}

/// A path's bytes as text, with everything that could disturb a terminal escaped.
pub(crate) fn printable(path: &[u8]) -> String {
    path.utf8_chunks()
        .flat_map(|chunk| {
            let valid = chunk
                .valid()
                .chars()
                .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() });
            let invalid = chunk.invalid().iter().map(|b| format!("\\x{b:02x}"));
            valid.chain(invalid).collect::<Vec<_>>()
        })
        .collect()
}
