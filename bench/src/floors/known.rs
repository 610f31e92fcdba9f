//! The list of paths that a floor works on, made before the clock starts.

use std::collections::HashSet;
use std::ffi::CString;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::error::{Doing, Result};

/// One path below the root.
pub(super) struct Entry {
    pub(super) path: CString,
    pub(super) is_dir: bool,
    /// Set for the first name of a regular file; further hard links carry no bytes.
    pub(super) size: Option<u64>,
    pub(super) mode: u32,
}

/// All paths below a directory, parents before children.
pub(super) struct KnownList {
    pub(super) dir: PathBuf,
    pub(super) root: OwnedFd,
    /// The directories to which the list is limited, if it is.
    pub(super) only: Vec<PathBuf>,
    pub(super) entries: Vec<Entry>,
    /// Indices of entries with bytes.
    pub(super) files: Vec<usize>,
}

impl KnownList {
    /// Lists everything below `dir`, or only what is below the given directories of it.
    pub(super) fn of(dir: &Path, only: &[PathBuf]) -> Result<Self> {
        let root = rustix::fs::open(dir, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).doing("open", dir)?;
        let mut list =
            KnownList { dir: dir.to_path_buf(), root, only: only.to_vec(), entries: Vec::new(), files: Vec::new() };
        let mut seen = HashSet::new();
        if only.is_empty() {
            list.add_below(Path::new(""), &mut seen)?;
        }
        for below in only {
            list.add(below, &mut seen)?;
            list.add_below(below, &mut seen)?;
        }
        Ok(list)
    }

    /// Bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().filter_map(|&at| self.entries[at].size).sum()
    }

    fn add_below(&mut self, below: &Path, seen: &mut HashSet<(u64, u64)>) -> Result<()> {
        let full = self.dir.join(below);
        let mut names = Vec::new();
        for entry in fs::read_dir(&full).doing("list", &full)? {
            names.push(entry.doing("list", &full)?.file_name());
        }
        names.sort();
        for name in names {
            let path = below.join(name);
            if self.add(&path, seen)? {
                self.add_below(&path, seen)?;
            }
        }
        Ok(())
    }

    /// Adds one path and says whether it is a directory.
    fn add(&mut self, path: &Path, seen: &mut HashSet<(u64, u64)>) -> Result<bool> {
        let full = self.dir.join(path);
        let meta = fs::symlink_metadata(&full).doing("stat", &full)?;
        let size = (meta.is_file() && seen.insert((meta.dev(), meta.ino()))).then_some(meta.len());
        if size.is_some() {
            self.files.push(self.entries.len());
        }
        self.entries.push(Entry {
            path: CString::new(path.as_os_str().as_bytes()).expect("a name of the system holds no NUL"),
            is_dir: meta.is_dir(),
            size,
            mode: meta.mode() & 0o7777,
        });
        Ok(meta.is_dir())
    }
}
