//! One open directory, and every access beneath it.
//!
//! Invariants: the path given to [`Root::open`] is resolved once, as the user named it; from then on the tree is
//! reached only through the handle, so renaming or replacing the directory cannot redirect an access.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::OFlags;

use crate::dir::{Dir, LISTING};
use crate::filesystem::FileSystem;
use crate::resolve::{Mounts, PASSING, open_beneath, open_named_by_user, open_quietly};

/// An open directory as the upper end of everything that may be reached.
#[derive(Debug)]
pub struct Root {
    fd: OwnedFd,
    mounts: Mounts,
}

impl Root {
    /// Opens the directory that the user named, following symlinks in `path` this once.
    pub fn open(path: &Path) -> io::Result<Root> {
        let bytes = path.as_os_str().as_bytes();
        Ok(Root::from_fd(open_named_by_user(bytes, PASSING | OFlags::CLOEXEC)?))
    }

    /// Takes an open directory as a root.
    pub fn from_fd(fd: OwnedFd) -> Root {
        Root { fd, mounts: Mounts::Stay }
    }

    /// A second handle on the same directory.
    pub fn try_clone(&self) -> io::Result<Root> {
        Ok(Root { fd: self.fd.try_clone()?, mounts: self.mounts })
    }

    /// A root beneath this one.
    pub fn subdir(&self, rel: &[u8]) -> io::Result<Root> {
        Ok(Root { fd: self.open_passing(rel)?, mounts: self.mounts })
    }

    /// Opens a directory for listing.
    pub fn dir(&self, rel: &[u8]) -> io::Result<Dir> {
        let open = |flags| open_beneath(self.as_fd(), rel, flags, self.mounts);
        Ok(Dir::new(open_quietly(LISTING, open)?, self.mounts))
    }

    /// Opens a directory whose children can be reached but not listed; needs no read permission on it.
    pub fn dir_path_only(&self, rel: &[u8]) -> io::Result<Dir> {
        Ok(Dir::new(self.open_passing(rel)?, self.mounts))
    }

    fn open_passing(&self, rel: &[u8]) -> io::Result<OwnedFd> {
        if rel.is_empty() {
            // Opening `.` anew would ask for the search permission that a closed root does not give.
            return self.fd.try_clone();
        }
        open_beneath(self.as_fd(), rel, PASSING, self.mounts)
    }

    /// Lets accesses pass through mount points inside the tree, or stops them with EXDEV.
    pub fn crossing(self, yes: bool) -> Root {
        let mounts = if yes { Mounts::Cross } else { Mounts::Stay };
        Root { mounts, ..self }
    }

    /// The handle itself.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Writes everything that the file system holds in memory to the disk.
    pub fn sync_filesystem(&self) -> io::Result<()> {
        // syncfs does not take the O_PATH handle that we keep.
        let readable = open_beneath(self.as_fd(), b"", LISTING, self.mounts)?;
        Ok(rustix::fs::syncfs(readable)?)
    }

    /// What kind of file system the directory is on, and how much room it has.
    pub fn file_system(&self) -> io::Result<FileSystem> {
        FileSystem::of(self.as_fd())
    }
}
