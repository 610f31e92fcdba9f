//! Reaching a path of any length: from an open directory, one name at a time, following no link.

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FileType, IFlags, Mode, OFlags};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// Opens the directory that a test named; links in `path` itself are followed.
#[track_caller]
pub(crate) fn open_top(path: &Path) -> OwnedFd {
    rustix::fs::openat(CWD, path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .unwrap_or_else(|error| panic!("open {}: {error}", path.display()))
}

/// Opens the directory `name` inside `parent` for reading.
pub(crate) fn open_dir(parent: &OwnedFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(parent, name, OFlags::RDONLY | DIRECTORY, Mode::empty())
}

/// Opens the parent of `path` beneath `top`, making missing directories, and returns it with the last name.
#[track_caller]
pub(crate) fn parent_of(top: &Path, path: &[u8]) -> (OwnedFd, Vec<u8>) {
    let (parents, name) = match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&path[..0], path),
    };
    assert!(!name.is_empty(), "a relative path without a trailing slash, not {}", crate::show(path));
    let mut directory = open_top(top);
    for part in parents.split(|byte| *byte == b'/') {
        if part.is_empty() {
            continue;
        }
        match rustix::fs::mkdirat(&directory, part, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => panic!("make directory of {}: {error}", crate::show(path)),
        }
        directory = rustix::fs::openat(&directory, part, OFlags::PATH | DIRECTORY, Mode::empty())
            .unwrap_or_else(|error| panic!("open directory of {}: {error}", crate::show(path)));
    }
    (directory, name.to_vec())
}

/// A short path to `name` inside an open directory, for interfaces that take only paths.
pub(crate) fn short_path(directory: &OwnedFd, name: &[u8]) -> PathBuf {
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    let mut path = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    path.push(std::ffi::OsStr::from_bytes(name));
    path
}

/// The names in an open directory, in byte order.
pub(crate) fn names(directory: &OwnedFd) -> Result<Vec<Vec<u8>>, Errno> {
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
pub(crate) fn remove_all(parent: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
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
pub(crate) fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = directory.to_vec();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}
