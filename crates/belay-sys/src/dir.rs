//! Operations on one name inside one open directory.
//!
//! Invariants: a name is a single component (no `/`, no NUL, not `.` or `..`), a symlink is treated as itself
//! and never as what it points to, and FIFOs, sockets and devices are never waited for. Modes given at
//! creation pass through the umask; [`Dir::set_mode`] afterwards does not.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, RawDir, SeekFrom};

use crate::resolve::{Mounts, PASSING, check_name, open_name, open_quietly};
use crate::stat::{FileType, Stat, stat_at, stat_fd, stat_file};

mod create;
mod metadata;
mod xattr;

pub use metadata::InodeFlags;
pub(crate) use xattr::read_open_xattrs;

/// How a directory is opened so that it can be listed.
pub(crate) const LISTING: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// Large directories come in few calls: 256 KiB is about 8,000 entries.
const LIST_BUFFER_BYTES: usize = 256 * 1024;

/// An open directory.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    mounts: Mounts,
}

impl Dir {
    pub(crate) fn new(fd: OwnedFd, mounts: Mounts) -> Dir {
        Dir { fd, mounts }
    }

    /// The handle itself.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// A second handle on the same directory; the two share one listing position.
    pub fn try_clone(&self) -> io::Result<Dir> {
        Ok(Dir::new(self.fd.try_clone()?, self.mounts))
    }

    /// Calls `each` with name, type and inode number of every entry but `.` and `..`, in no order.
    ///
    /// `buffer` is scratch space that is worth reusing. One handle must not be listed by two threads at once.
    pub fn list(&self, buffer: &mut Vec<u8>, each: &mut dyn FnMut(&[u8], FileType, u64)) -> io::Result<()> {
        rustix::fs::seek(&self.fd, SeekFrom::Start(0))?;
        buffer.clear();
        buffer.reserve(LIST_BUFFER_BYTES);
        let mut entries = RawDir::new(&self.fd, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                each(name, entry.file_type().into(), entry.ino());
            }
        }
        Ok(())
    }

    /// Describes `name`; a symlink is described itself.
    pub fn stat(&self, name: &[u8]) -> io::Result<Stat> {
        check_name(name)?;
        stat_at(self.as_fd(), name, AtFlags::empty())
    }

    /// Describes the directory itself.
    pub fn stat_self(&self) -> io::Result<Stat> {
        stat_fd(self.as_fd())
    }

    /// Opens the regular file `name` for reading, leaving its access time alone; anything else is an error.
    ///
    /// Call it on what `stat` calls a file: a FIFO put there since then is refused without waiting, but
    /// opening it is seen by its writers.
    pub fn open_read(&self, name: &[u8]) -> io::Result<File> {
        Ok(self.open_and_stat(name)?.0)
    }

    /// The same, with a description of what was opened.
    pub fn open_and_stat(&self, name: &[u8]) -> io::Result<(File, Stat)> {
        check_name(name)?;
        let open = |flags| open_name(self.as_fd(), name, flags, self.mounts);
        let file = File::from(open_quietly(OFlags::RDONLY | OFlags::NONBLOCK, open)?);
        let stat = stat_file(&file)?;
        match stat.file_type {
            FileType::File => Ok((file, stat)),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
        }
    }

    /// Creates the file `name`, which must not exist, open for reading and writing.
    pub fn create_new(&self, name: &[u8], mode: u32) -> io::Result<File> {
        check_name(name)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(self.as_fd(), name, flags, Mode::from_raw_mode(mode))?;
        Ok(File::from(fd))
    }

    /// Opens the directory `name` for listing.
    pub fn subdir(&self, name: &[u8]) -> io::Result<Dir> {
        check_name(name)?;
        let open = |flags| open_name(self.as_fd(), name, flags, self.mounts);
        Ok(Dir::new(open_quietly(LISTING, open)?, self.mounts))
    }

    /// Opens the directory `name` so that its children can be reached but not listed.
    pub fn subdir_path_only(&self, name: &[u8]) -> io::Result<Dir> {
        check_name(name)?;
        let fd = open_name(self.as_fd(), name, PASSING, self.mounts)?;
        Ok(Dir::new(fd, self.mounts))
    }

    /// The text of the symlink `name`.
    pub fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        check_name(name)?;
        let text = rustix::fs::readlinkat(self.as_fd(), name, Vec::new())?;
        Ok(text.into_bytes())
    }

    /// Makes the directory's entries durable; needs a handle that can be listed.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(self.as_fd())?)
    }
}
