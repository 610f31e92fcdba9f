//! What can go wrong with a jail.

use std::io;
use std::path::PathBuf;

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A path, an argument or a variable holds a zero byte.
    #[error("{what} holds a zero byte")]
    ZeroByte {
        /// Which.
        what: &'static str,
    },
    /// A grant's path is not absolute.
    #[error("{path} is not an absolute path", path = path.display())]
    Relative {
        /// The path.
        path: PathBuf,
    },
    /// Something that a grant names could not be looked at.
    #[error("cannot look at {path}", path = path.display())]
    Look {
        /// The path.
        path: PathBuf,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// A file is too large to be given as a private copy.
    #[error("{path} is too large for a private copy ({bytes} bytes)", path = path.display())]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// A standard stream is a directory.
    #[error("standard {name} is a directory, through which a confined program could reach everything")]
    DirectoryAsStream {
        /// Which stream.
        name: &'static str,
    },
    /// Neither namespaces nor Landlock can be had.
    #[error("this machine offers neither namespaces nor Landlock: {why}")]
    Unavailable {
        /// What was tried last.
        why: String,
    },
    /// The kernel refused a step.
    #[error("cannot {step}")]
    Step {
        /// Which.
        step: String,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// The program cannot be executed in the jail.
    #[error("cannot execute {program} in the jail")]
    Execute {
        /// The program's name.
        program: String,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// The filter of system calls could not be compiled.
    #[error("cannot compile the filter of system calls")]
    Filter(#[source] seccompiler::BackendError),
    /// The rules of Landlock could not be made.
    #[error("cannot make rules for Landlock")]
    Landlock(#[source] landlock::RulesetError),
    /// Waiting or signalling failed.
    #[error("cannot {what} the confined program")]
    Program {
        /// What was tried.
        what: &'static str,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
