//! What changed in a private directory whose changes were kept: an overlay's upper layer, read as a list.
//!
//! Invariants: nothing is followed out of the layer; a directory that was only walked through is not a change of its
//! own unless it is new; the list is sorted by path, outer before inner.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::policy::Kept;

/// What became of one path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// It is there and was not.
    Added(PathBuf),
    /// It is there and was, perhaps with other content, mode or times.
    Changed(PathBuf),
    /// It was there and is not.
    Removed(PathBuf),
    /// A directory with nothing of what was in it before.
    Replaced(PathBuf),
}

impl Change {
    /// The path, in the directory.
    pub fn path(&self) -> &Path {
        match self {
            Change::Added(path) | Change::Changed(path) | Change::Removed(path) | Change::Replaced(path) => path,
        }
    }
}

/// Every change that was kept.
pub fn kept_changes(kept: &Kept) -> io::Result<Vec<Change>> {
    let mut changes = Vec::new();
    descend(kept, Path::new(""), &mut changes)?;
    changes.sort_by(|one, other| one.path().cmp(other.path()));
    Ok(changes)
}

fn descend(kept: &Kept, directory: &Path, changes: &mut Vec<Change>) -> io::Result<()> {
    for entry in fs::read_dir(kept.changes.join(directory))? {
        let path = directory.join(entry?.file_name());
        let upper = kept.changes.join(&path);
        let metadata = fs::symlink_metadata(&upper)?;
        let before = fs::symlink_metadata(kept.path.join(&path)).ok();
        if metadata.file_type().is_char_device() && metadata.rdev() == 0 {
            changes.push(Change::Removed(path));
            continue;
        }
        if !metadata.is_dir() {
            changes.push(if before.is_some() { Change::Changed(path) } else { Change::Added(path) });
            continue;
        }
        match &before {
            None => changes.push(Change::Added(path.clone())),
            Some(before) if !before.is_dir() || is_opaque(&upper)? => changes.push(Change::Replaced(path.clone())),
            Some(before) if before.mode() != metadata.mode() => changes.push(Change::Changed(path.clone())),
            Some(_) => {}
        }
        descend(kept, &path, changes)?;
    }
    Ok(())
}

/// Whether a directory hides all of the one beneath it.
fn is_opaque(directory: &Path) -> io::Result<bool> {
    let path = CString::new(directory.as_os_str().as_bytes())?;
    let mut value = [0; 1];
    match rustix::fs::lgetxattr(&path, c"user.overlay.opaque", &mut value) {
        Ok(length) => Ok(value[..length] == *b"y"),
        Err(rustix::io::Errno::NODATA | rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::RANGE) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
