//! Whether the workspace's own configuration counts: trusted by the hash of its text, as direnv does.

use crate::error::Result;
use crate::workspace::Workspace;

/// What is known of a workspace's own configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It has none.
    Absent,
    /// It has one that is trusted.
    Trusted {
        /// The file's name.
        file: String,
    },
    /// It has one that is not trusted, so that only what strengthens protection counts.
    Untrusted {
        /// The file's name.
        file: String,
        /// The keys that do not count.
        ignored: Vec<String>,
    },
}

impl Workspace<'_> {
    /// Whether the workspace's configuration is trusted.
    pub fn trust(&self) -> &Trust {
        unimplemented!()
    }

    /// Trusts the workspace's configuration as it is now; returns its name and text for the user to read, or
    /// nothing if it has none.
    pub fn grant_trust(&self) -> Result<Option<(String, String)>> {
        unimplemented!()
    }

    /// Withdraws the trust.
    pub fn revoke_trust(&self) -> Result<bool> {
        unimplemented!()
    }
}
