//! What Landlock allows: reading everywhere in the composed root, writing where a grant says so.
//!
//! Invariants: Landlock can only take away what the root already shows; a kernel with an older Landlock gets what it
//! knows, and what it does not is told.

use std::os::fd::OwnedFd;

use landlock::{ABI, Access as _, AccessFs, BitFlags, Ruleset, RulesetAttr, Scope};

use crate::error::{Error, Result};

/// The rights of Landlock on this machine, as the kernel's bits.
pub(crate) struct Rights {
    abi: ABI,
}

impl Rights {
    /// What the kernel offers; none where it has no Landlock.
    pub(crate) fn probe() -> Option<Rights> {
        let abi = match belay_sys::landlock_abi()? {
            0 => return None,
            1 => ABI::V1,
            2 => ABI::V2,
            3 => ABI::V3,
            4 => ABI::V4,
            5 => ABI::V5,
            6 => ABI::V6,
            _ => ABI::V7,
        };
        Some(Rights { abi })
    }

    /// Reading and executing.
    pub(crate) fn read(&self) -> u64 {
        AccessFs::from_read(self.abi).bits()
    }

    /// Everything beneath a directory.
    pub(crate) fn write(&self) -> u64 {
        AccessFs::from_all(self.abi).bits()
    }

    /// Everything that one can do with a file.
    pub(crate) fn write_file(&self) -> u64 {
        AccessFs::from_file(self.abi).bits()
    }

    /// Reading and executing a file.
    pub(crate) fn read_file(&self) -> u64 {
        self.read() & self.write_file()
    }

    /// Reading a file that is open for reading already.
    pub(crate) fn read_stream(&self) -> u64 {
        BitFlags::from(AccessFs::ReadFile).bits()
    }

    /// Writing a file that is open for writing already.
    pub(crate) fn write_stream(&self) -> u64 {
        let all = AccessFs::WriteFile | AccessFs::Truncate;
        (all & AccessFs::from_all(self.abi)).bits()
    }

    /// Using files that are there, making none.
    pub(crate) fn use_files(&self) -> u64 {
        let all: BitFlags<AccessFs> = AccessFs::from_file(self.abi) | AccessFs::from_read(self.abi);
        (all & AccessFs::from_all(self.abi)).bits()
    }

    /// A ruleset that forbids everything until something is allowed.
    pub(crate) fn ruleset(&self) -> Result<Option<OwnedFd>> {
        let ruleset = Ruleset::default().handle_access(AccessFs::from_all(self.abi)).map_err(Error::Landlock)?;
        let ruleset = match self.abi >= ABI::V6 {
            true => ruleset.scope(Scope::from_all(self.abi)).map_err(Error::Landlock)?,
            false => ruleset,
        };
        Ok(ruleset.create().map_err(Error::Landlock)?.into())
    }

    /// What this Landlock cannot keep in, in words.
    pub(crate) fn gaps(&self) -> Vec<&'static str> {
        let mut gaps = Vec::new();
        if self.abi < ABI::V6 {
            gaps.push("this kernel's Landlock does not know abstract sockets (Linux 6.12 does)");
        }
        gaps
    }
}
