//! What changed in a private directory whose changes were kept: an overlay's upper layer, read as a list.
//!
//! Invariants: nothing is followed out of the layer; a directory that was only walked through is not a change of its
//! own unless it is new; the list is sorted by path, outer before inner.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use belay_sys::{Dir, FileType, Root, Stat};

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

/// Every change that was kept; of a directory that cannot be read, that it is there.
pub fn kept_changes(kept: &Kept) -> io::Result<Vec<Change>> {
    let (upper, lower) = (Root::open(&kept.changes)?, Root::open(&kept.path).ok().map(|lower| lower.crossing(true)));
    let mut changes = Vec::new();
    // A stack of our own: a hostile tree is deeper than the thread's.
    let mut waiting = vec![Vec::new()];
    while let Some(path) = waiting.pop() {
        let found = match upper.dir(&path).and_then(|dir| entries(&dir)) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                changes.push(Change::Changed(path_of(&path)));
                continue;
            }
            found => found?,
        };
        let beneath = lower.as_ref().and_then(|lower| lower.dir_path_only(&path).ok());
        for (name, stat) in found {
            let path = if path.is_empty() { name.clone() } else { [&path[..], &name].join(&b'/') };
            let before = beneath.as_ref().and_then(|beneath| beneath.stat(&name).ok());
            let is_dir = stat.file_type == FileType::Dir;
            let hides = is_dir && upper.dir(&path).is_ok_and(|inside| is_opaque(&inside));
            changes.extend(judge(&path, &stat, before.as_ref(), hides));
            if is_dir {
                waiting.push(path);
            }
        }
    }
    changes.sort_by(|one, other| one.path().cmp(other.path()));
    changes.dedup_by(|one, other| one.path() == other.path());
    Ok(changes)
}

/// What an entry of the layer says about its path; nothing for a directory that was only walked through.
fn judge(path: &[u8], stat: &Stat, before: Option<&Stat>, hides: bool) -> Option<Change> {
    let (path, is_dir) = (path_of(path), stat.file_type == FileType::Dir);
    match before {
        _ if stat.file_type == FileType::CharDevice && stat.rdev == 0 => Some(Change::Removed(path)),
        None => Some(Change::Added(path)),
        Some(before) if is_dir && (before.file_type != FileType::Dir || hides) => Some(Change::Replaced(path)),
        Some(before) if is_dir && before.mode == stat.mode => None,
        Some(_) => Some(Change::Changed(path)),
    }
}

fn path_of(path: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(path))
}

fn entries(dir: &Dir) -> io::Result<Vec<(Vec<u8>, Stat)>> {
    let mut names = Vec::new();
    dir.list(&mut Vec::new(), &mut |name, _, _| names.push(name.to_vec()))?;
    let describe = |name: Vec<u8>| match dir.stat(&name) {
        // Whoever works in it may have removed it just now.
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        stat => Some(stat.map(|stat| (name, stat))),
    };
    names.into_iter().filter_map(describe).collect()
}

/// Whether a directory hides all of the one beneath it.
fn is_opaque(directory: &Dir) -> bool {
    let mut value = [0; 1];
    rustix::fs::fgetxattr(directory.as_fd(), c"user.overlay.opaque", &mut value)
        .is_ok_and(|length| value[..length] == *b"y")
}
