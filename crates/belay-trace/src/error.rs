//! What can go wrong with a tracer.

use std::io;

/// Why nothing, or less than asked for, can be traced.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused something.
    #[error("cannot {what}")]
    Kernel {
        /// What was tried.
        what: &'static str,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// The engine that was asked for does not work here.
    #[error("{engine} cannot be used here: {why}")]
    Unavailable {
        /// Which.
        engine: &'static str,
        /// Why not.
        why: String,
    },
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
