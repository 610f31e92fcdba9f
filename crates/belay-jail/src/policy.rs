//! What a confined program may reach: plain data, and the one rule that decides about a path.
//!
//! Invariants: the grant whose path is the longest prefix decides; of two grants for the same path the later one does;
//! what no grant covers is hidden.

use std::path::{Path, PathBuf};

/// Everything that a jail applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// What is visible and how; `/proc` and `/dev` are always there, and always the jail's own.
    pub grants: Vec<Grant>,
    /// What nothing shows, whatever is granted and wherever a link leads.
    pub sealed: Vec<PathBuf>,
    /// Private directories whose changes are kept; those of the others end with the program.
    pub kept: Vec<Kept>,
    /// Files that are shown at another path than their own.
    pub shown: Vec<Shown>,
    /// Files that hold something else inside; where the root is the machine's own, they do not.
    pub replaced: Vec<Replaced>,
    /// What of the network is there.
    pub network: Network,
    /// Who the program is.
    pub identity: Identity,
    /// What it may use up.
    pub limits: Limits,
    /// The name of the machine, as the program sees it.
    pub host_name: String,
    /// Whether refused calls are told by [`crate::Held::take_refusals`], which must then be attended to.
    pub tells_refusals: bool,
    /// Whether calls that name paths are told there too; each then waits for an answer, which takes its time.
    pub tells_paths: bool,
    /// Whether the jail may do without namespaces where they are forbidden.
    pub without_namespaces: bool,
}

/// How one path and everything beneath it can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The path, absolute.
    pub path: PathBuf,
    /// How.
    pub access: Access,
}

/// Where the changes of a private directory are kept; both directories are empty, on one filesystem, and belay's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The directory, granted as [`Access::Private`], without links.
    pub path: PathBuf,
    /// What changed, as an overlay's upper layer; [`crate::kept_changes`] reads it.
    pub changes: PathBuf,
    /// The kernel's scratch space.
    pub work: PathBuf,
}

/// A file that is shown at a path where the jail's root is bare; it can be read, executed and connected to.
///
/// Where the root is the machine's own, it can be used at its own path alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Where it is.
    pub from: PathBuf,
    /// Where it is shown, absolute.
    pub at: PathBuf,
    /// A variable that tells the program the path at which it can use it.
    pub variable: Option<String>,
}

/// A file that can be read and holds something else inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The file, without links; one that is not there, or is not granted, is left out.
    pub path: PathBuf,
    /// What it holds inside.
    pub bytes: Vec<u8>,
}

/// How something can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Not at all.
    Hidden,
    /// Read and executed.
    Read,
    /// Read, executed, changed.
    Write,
    /// Read; changes go to a private copy that ends with the program.
    Private,
    /// An empty directory that can be written and ends with the program.
    Empty,
}

/// What of the network is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// The machine's.
    Shared,
    /// A loopback interface of the jail's own.
    None,
}

/// Who a program is; without any privilege in either case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Outside it stays whoever started it, and inside it believes to have these numbers.
    Own {
        /// The user's number.
        uid: u32,
        /// The group's number.
        gid: u32,
    },
    /// Somebody else than root, who starts it: nothing of root's is its own, and what it makes is that user's.
    Other {
        /// The user's number.
        uid: u32,
        /// The group's number.
        gid: u32,
        /// The numbers of all further groups.
        groups: Vec<u32>,
    },
}

impl Identity {
    /// The numbers of user and group that a program sees of itself.
    pub fn numbers(&self) -> (u32, u32) {
        match self {
            Identity::Own { uid, gid } | Identity::Other { uid, gid, .. } => (*uid, *gid),
        }
    }
}

/// What a program may use up; what is not said is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Processes of this user.
    pub processes: Option<u64>,
    /// Open files of one process.
    pub open_files: Option<u64>,
    /// Bytes of one file.
    pub file_bytes: Option<u64>,
    /// Bytes of address space of one process.
    pub address_bytes: Option<u64>,
    /// Seconds of processor time of one process.
    pub cpu_seconds: Option<u64>,
    /// Bytes of all private directories and copies together, which are held in memory.
    pub private_bytes: Option<u64>,
}

impl Grant {
    /// A grant.
    pub fn new(path: impl Into<PathBuf>, access: Access) -> Grant {
        Grant { path: path.into(), access }
    }
}

impl Policy {
    /// The grant that decides about a path; none means that it is hidden.
    pub fn decides(&self, path: &Path) -> Option<&Grant> {
        let covers = self.grants.iter().filter(|grant| path.starts_with(&grant.path));
        covers.max_by_key(|grant| grant.path.components().count())
    }

    /// The grants in the order in which they are laid over each other, one for each path.
    pub(crate) fn in_order(&self) -> Vec<&Grant> {
        let mut ordered: Vec<&Grant> = Vec::new();
        for grant in &self.grants {
            ordered.retain(|other| other.path != grant.path);
            ordered.push(grant);
        }
        ordered.sort_by_key(|grant| grant.path.components().count());
        ordered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(grants: &[(&str, Access)]) -> Policy {
        Policy {
            grants: grants.iter().map(|(path, access)| Grant::new(path, *access)).collect(),
            sealed: Vec::new(),
            kept: Vec::new(),
            shown: Vec::new(),
            replaced: Vec::new(),
            network: Network::None,
            identity: Identity::Own { uid: 1000, gid: 1000 },
            limits: Limits::default(),
            host_name: "jail".into(),
            tells_refusals: false,
            tells_paths: false,
            without_namespaces: false,
        }
    }

    #[test]
    fn the_longest_prefix_decides_and_the_later_of_two_equals() {
        let policy = policy(&[
            ("/usr", Access::Read),
            ("/usr/local/secret", Access::Hidden),
            ("/usr", Access::Write),
            ("/usr/local", Access::Read),
        ]);
        let access = |path: &str| policy.decides(Path::new(path)).map(|grant| grant.access);
        assert_eq!(access("/usr/bin/env"), Some(Access::Write));
        assert_eq!(access("/usr/local/bin"), Some(Access::Read));
        assert_eq!(access("/usr/local/secret/key"), Some(Access::Hidden));
        assert_eq!(access("/usrlocal"), None, "a name that only begins alike is another path");
        assert_eq!(policy.in_order().len(), 3);
    }
}
