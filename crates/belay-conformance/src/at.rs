//! Reaching a path of any length: from an open directory, one name at a time, following no link.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FileType, IFlags, Mode, OFlags};
use rustix::io::Errno;

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// An error with the path that it is about.
pub(crate) fn about(what: &str, path: &[u8]) -> impl FnOnce(Errno) -> io::Error {
    let what = format!("{what} {}", crate::show(path));
    move |error| {
        let error = io::Error::from(error);
        io::Error::new(error.kind(), format!("{what}: {error}"))
    }
}

/// Opens a directory by its path; links in `path` itself are followed.
pub fn open_top(path: &Path) -> io::Result<OwnedFd> {
    rustix::fs::openat(CWD, path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(about("open", path.as_os_str().as_bytes()))
}

/// Opens the directory `name` inside `parent` for reading.
pub fn open_dir(parent: &OwnedFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(parent, name, OFlags::RDONLY | DIRECTORY, Mode::empty())
}

/// Opens the parent of `path` beneath `top`, making missing directories, and returns it with the last name.
pub fn parent_of(top: &Path, path: &[u8]) -> io::Result<(OwnedFd, Vec<u8>)> {
    let (parents, name) = match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&path[..0], path),
    };
    if name.is_empty() {
        let what = format!("a relative path without a trailing slash, not {}", crate::show(path));
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    let mut directory = open_top(top)?;
    for part in parents.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
        match rustix::fs::mkdirat(&directory, part, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(about("make directory of", path)(error)),
        }
        directory = rustix::fs::openat(&directory, part, OFlags::PATH | DIRECTORY, Mode::empty())
            .map_err(about("open directory of", path))?;
    }
    Ok((directory, name.to_vec()))
}

/// A short path to `name` inside an open directory, for interfaces that take only paths.
pub fn short_path(directory: &OwnedFd, name: &[u8]) -> PathBuf {
    let mut path = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    path.push(OsStr::from_bytes(name));
    path
}

/// The names in an open directory, in byte order.
pub fn names(directory: &OwnedFd) -> Result<Vec<Vec<u8>>, Errno> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(directory)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Removes `name` and everything beneath it, read-only and immutable things too.
pub fn remove_all(parent: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Err(Errno::ISDIR) => {}
        Err(Errno::PERM) => make_mutable(parent, name),
        other => return other,
    }
    let stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return rustix::fs::unlinkat(parent, name, AtFlags::empty());
    }
    let all = Mode::from_raw_mode(0o700);
    rustix::fs::chmodat(parent, name, all, AtFlags::empty())?;
    let directory = open_dir(parent, name)?;
    for inside in names(&directory)? {
        remove_all(&directory, &inside)?;
    }
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
}

fn make_mutable(parent: &OwnedFd, name: &[u8]) {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::openat(parent, name, flags, Mode::empty()) else {
        return;
    };
    if let Ok(flags) = rustix::fs::ioctl_getflags(&file) {
        let mutable = flags - IFlags::IMMUTABLE - IFlags::APPEND;
        // Without the privilege to clear the flag, the removal that follows reports it.
        let _ = rustix::fs::ioctl_setflags(&file, mutable);
    }
}

/// A path of bytes with one more name.
pub fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = directory.to_vec();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}
