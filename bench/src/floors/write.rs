//! The floor of a restore: creating the same directories and files from memory.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::known::KnownList;
use super::{Clock, Figure, threads};
use crate::error::{Doing, Result};

/// Writes the listed files into a fresh directory of `scratch`, then waits for the filesystem.
pub(super) fn write(list: &KnownList, scratch: &Path) -> Result<Figure> {
    let contents = load(list)?;
    let target = tempfile::tempdir_in(scratch).doing("create a directory in", scratch)?;
    let root = rustix::fs::open(target.path(), OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .doing("open", target.path())?;
    // What lies above a removed directory is there before a restore too, so making it is not timed.
    for parent in list.only.iter().filter_map(|below| below.parent()) {
        std::fs::create_dir_all(target.path().join(parent)).doing("create directories in", target.path())?;
    }
    rustix::fs::syncfs(&root).doing("sync", target.path())?;

    let start = Clock::start();
    for entry in list.entries.iter().filter(|entry| entry.is_dir) {
        rustix::fs::mkdirat(&root, &entry.path, Mode::RWXU).doing("mkdir in", target.path())?;
    }
    threads::in_two(
        list.files.len(),
        |_| Ok(()),
        |(), at| {
            let entry = &list.entries[list.files[at]];
            create(&root, &entry.path, entry.mode, &contents[at])
        },
    )
    .doing("write files in", target.path())?;
    let figure = start.figure(list.entries.len(), list.bytes());
    rustix::fs::syncfs(&root).doing("sync", target.path())?;
    Ok(Figure { synced: Some(start.wall.elapsed()), ..figure })
}

fn load(list: &KnownList) -> Result<Vec<Vec<u8>>> {
    let read = |&at: &usize| {
        let path = list.dir.join(known_path(&list.entries[at].path));
        std::fs::read(&path).doing("read", &path)
    };
    list.files.iter().map(read).collect()
}

fn known_path(path: &CStr) -> &Path {
    Path::new(OsStr::from_bytes(path.to_bytes()))
}

fn create(root: &OwnedFd, path: &CStr, mode: u32, content: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = rustix::fs::openat(root, path, flags, Mode::from_raw_mode(mode))?;
    let mut left = content;
    while !left.is_empty() {
        let written = rustix::io::write(&file, left)?;
        left = &left[written..];
    }
    Ok(())
}
