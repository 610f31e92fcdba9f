//! Extended attributes, access control lists and file capabilities.
//!
//! Invariants: only attributes that mean the same on another day are reported (see [`is_kept`]); one that is
//! listed but may not be read is an error, because a restore would take its absence for the truth.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::XattrFlags;
use rustix::io::Errno;

use super::Dir;
use super::metadata::handle_path;
use crate::resolve::check_name;
use crate::stat::FileType;

/// Enough for nearly every list and value, so that the heap is used only where there is something to keep.
const STACK_BYTES: usize = 1024;

/// What the kernel allows a list of names, or one value, to take.
const KERNEL_BYTES_MAX: usize = 65_536;

/// Names and values, sorted by name.
type Xattrs = Vec<(Vec<u8>, Vec<u8>)>;

impl Dir {
    /// The extended attributes of `name`, sorted; `kind` is what `stat` said of it.
    pub fn xattrs(&self, name: &[u8], kind: FileType) -> io::Result<Xattrs> {
        check_name(name)?;
        // All that a symlink can carry is `trusted.*`, which only root can see.
        if kind == FileType::Symlink && !crate::is_root() {
            return Ok(Vec::new());
        }
        let path = self.path_of(name)?;
        read_all(&|buffer| rustix::fs::llistxattr(&path, buffer), &|key, buffer| {
            rustix::fs::lgetxattr(&path, key, buffer)
        })
    }

    /// The extended attributes of the directory itself, sorted.
    pub fn self_xattrs(&self) -> io::Result<Xattrs> {
        match read_open_xattrs(self.as_fd()) {
            // The answer to an O_PATH handle, which only a path can stand for here.
            Err(error) if error.raw_os_error() == Some(Errno::BADF.raw_os_error()) => {}
            result => return result,
        }
        let path = handle_path(self.as_fd());
        read_all(&|buffer| rustix::fs::listxattr(&path, buffer), &|key, buffer| {
            rustix::fs::getxattr(&path, key, buffer)
        })
    }

    /// Whether the filesystem says which attributes there are; where it does not, there seem to be none.
    pub fn tells_xattrs(&self) -> io::Result<bool> {
        match rustix::fs::listxattr(handle_path(self.as_fd()), &mut [0; STACK_BYTES]) {
            Ok(_) | Err(Errno::RANGE) => Ok(true),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Sets one attribute of `name`, a symlink's own.
    pub fn set_xattr(&self, name: &[u8], key: &[u8], value: &[u8]) -> io::Result<()> {
        let path = self.path_of(name)?;
        Ok(rustix::fs::lsetxattr(&path, key, value, XattrFlags::empty())?)
    }

    /// Sets one attribute of the directory itself.
    pub fn set_self_xattr(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        let path = handle_path(self.as_fd());
        Ok(rustix::fs::setxattr(&path, key, value, XattrFlags::empty())?)
    }

    /// Removes one attribute of `name`; one that is not there is not an error.
    pub fn remove_xattr(&self, name: &[u8], key: &[u8]) -> io::Result<()> {
        let path = self.path_of(name)?;
        absent_is_fine(rustix::fs::lremovexattr(&path, key))
    }

    /// Removes one attribute of the directory itself; one that is not there is not an error.
    pub fn remove_self_xattr(&self, key: &[u8]) -> io::Result<()> {
        absent_is_fine(rustix::fs::removexattr(handle_path(self.as_fd()), key))
    }

    /// A path through our own handle: the calls that take a directory handle came only with Linux 6.13.
    fn path_of(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        check_name(name)?;
        let mut path = handle_path(self.as_fd()).into_bytes();
        path.push(b'/');
        path.extend_from_slice(name);
        Ok(path)
    }
}

pub(crate) fn read_open_xattrs(fd: BorrowedFd<'_>) -> io::Result<Xattrs> {
    read_all(&|buffer| rustix::fs::flistxattr(fd, buffer), &|key, buffer| rustix::fs::fgetxattr(fd, key, buffer))
}

type ListInto<'a> = dyn Fn(&mut [u8]) -> Result<usize, Errno> + 'a;
type GetInto<'a> = dyn Fn(&[u8], &mut [u8]) -> Result<usize, Errno> + 'a;

fn read_all(list: &ListInto<'_>, get: &GetInto<'_>) -> io::Result<Xattrs> {
    let keys = match read_whole(list) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Vec::new()),
        result => result?,
    };
    let mut all = Vec::new();
    for key in keys.split(|byte| *byte == 0).filter(|key| is_kept(key)) {
        match read_whole(&|buffer| get(key, buffer)) {
            // Removed since it was listed, or listed by a file system that then refuses it.
            Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
            value => all.push((key.to_vec(), value?)),
        }
    }
    all.sort_unstable();
    Ok(all)
}

fn read_whole(read: &ListInto<'_>) -> Result<Vec<u8>, Errno> {
    let mut small = [0; STACK_BYTES];
    match read(&mut small) {
        Err(Errno::RANGE) => {
            let mut large = vec![0; KERNEL_BYTES_MAX];
            let length = read(&mut large)?;
            Ok(large[..length].to_vec())
        }
        result => Ok(small[..result?].to_vec()),
    }
}

/// Labels of security modules and of a lower layer belong to the machine, not to the workspace.
fn is_kept(key: &[u8]) -> bool {
    // XFS shows root its own encoding of an access control list beside the list itself.
    let machinery = key.starts_with(b"trusted.overlay.") || key.starts_with(b"trusted.SGI_ACL_");
    let trusted = key.starts_with(b"trusted.") && !machinery;
    trusted || key.starts_with(b"user.") || key.starts_with(b"system.posix_acl_") || key == b"security.capability"
}

fn absent_is_fine(result: Result<(), Errno>) -> io::Result<()> {
    match result {
        Err(Errno::NODATA) => Ok(()),
        result => Ok(result?),
    }
}
