//! A directory with a layer of changes above it, which a handle shows as one.
//!
//! Invariants: the directory beneath is never written; a handle shows what is there when it is made, so that whoever
//! looks again makes another; what the layer holds is read as a list and never followed.

mod opening;

use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use belay_jail::{Change, Kept, kept_changes, merged, merged_writable};
use belay_store::Root;

use crate::error::{Error, Result, chain_of};

pub(crate) use opening::Modes;

/// Bytes of files that are compared to see whether they differ; more are taken to.
const COMPARED_BYTES_MAX: u64 = 64 << 20;

/// A directory and the changes above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Overlay {
    kept: Kept,
}

impl Overlay {
    /// The layer that lies in `dir`, above `lower`.
    pub(crate) fn new(lower: &Path, dir: &Path) -> Overlay {
        Overlay { kept: Kept { path: lower.to_owned(), changes: dir.join("changes"), work: dir.join("work") } }
    }

    /// What a jail is told of it.
    pub(crate) fn kept(&self) -> &Kept {
        &self.kept
    }

    /// Whether the layer is there.
    pub(crate) fn exists(&self) -> bool {
        self.kept.changes.is_dir()
    }

    /// Makes an empty layer.
    pub(crate) fn prepare(&self) -> Result<()> {
        prepare(&self.kept).map_err(Error::path("make", &self.kept.changes))
    }

    /// Both as one directory to be read, as they are now; whoever works in it is not disturbed.
    pub(crate) fn open(&self) -> Result<Root> {
        let whole = merged(&self.kept).map_err(|error| Error::NoOverlay { why: chain_of(&error) })?;
        Ok(Root::from_fd(whole))
    }

    /// The same to be written; nobody may work in it, and another handle of this kind ends this one.
    pub(crate) fn open_writable(&self) -> Result<Root> {
        let whole = merged_writable(&self.kept).map_err(|error| Error::NoOverlay { why: chain_of(&error) })?;
        Ok(Root::from_fd(whole))
    }

    /// Every path of which the layer has something to say.
    pub(crate) fn changed(&self) -> Result<Vec<Vec<u8>>> {
        let changes = kept_changes(&self.kept).map_err(Error::path("read", &self.kept.changes))?;
        Ok(changes.iter().map(|change| change.path().as_os_str().as_bytes().to_vec()).collect())
    }

    /// How many paths are not as they are beneath: what was written anew as it was before is in the layer, too.
    pub(crate) fn differing(&self) -> Result<usize> {
        let failed = |error| Error::path("read", &self.kept.changes)(error);
        let changes = kept_changes(&self.kept).map_err(failed)?;
        let upper = Root::open(&self.kept.changes).map_err(failed)?;
        let Ok(lower) = Root::open(&self.kept.path) else { return Ok(changes.len()) };
        let mut budget = COMPARED_BYTES_MAX;
        let is_same = |change: &Change, budget: &mut u64| match change {
            Change::Changed(path) => same_file(&upper, &lower, path.as_os_str().as_bytes(), budget).unwrap_or(false),
            _ => false,
        };
        Ok(changes.iter().filter(|change| !is_same(change, &mut budget)).count())
    }

    /// Bytes that the layer takes on the disk.
    pub(crate) fn bytes(&self) -> u64 {
        blocks(&self.kept.changes) * 512
    }

    /// Removes the layer with everything in it.
    pub(crate) fn remove(&self) -> Result<()> {
        // The kernel leaves a directory in it that nobody may enter.
        let _ = fs::set_permissions(self.kept.work.join("work"), fs::Permissions::from_mode(0o700));
        for directory in [&self.kept.changes, &self.kept.work] {
            match remove_all(directory) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::path("remove", directory)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether a file is the same in both, but for its times; what costs more than is left to be read is not.
fn same_file(one: &Root, other: &Root, path: &[u8], budget: &mut u64) -> io::Result<bool> {
    let at = path.iter().rposition(|byte| *byte == b'/');
    let (parent, name) = at.map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..]));
    let open = |root: &Root| root.dir_path_only(parent)?.open_and_stat(name);
    let ((mut one, before), (mut other, after)) = (open(one)?, open(other)?);
    let about = |stat: &belay_sys::Stat| (stat.size, stat.mode, stat.uid, stat.gid);
    if about(&before) != about(&after) || before.size > *budget {
        return Ok(false);
    }
    *budget -= before.size;
    let (mut here, mut there) = (Vec::new(), Vec::new());
    one.read_to_end(&mut here)?;
    other.read_to_end(&mut there)?;
    Ok(here == there)
}

/// Makes the directories that the changes go to.
pub(crate) fn prepare(kept: &Kept) -> io::Result<()> {
    let found = fs::metadata(&kept.path)?;
    for directory in [&kept.changes, &kept.work] {
        fs::create_dir_all(directory)?;
    }
    // What is seen as the workspace's own owner and mode are those of the upper layer.
    if belay_sys::is_root() {
        std::os::unix::fs::chown(&kept.changes, Some(found.uid()), Some(found.gid()))?;
    }
    fs::set_permissions(&kept.changes, found.permissions())
}

/// Removes a tree of belay's own, directories that nobody may write included.
pub(crate) fn remove_all(directory: &Path) -> io::Result<()> {
    let Err(error) = fs::remove_dir_all(directory) else { return Ok(()) };
    if error.kind() != io::ErrorKind::PermissionDenied {
        return Err(error);
    }
    make_writable(directory)?;
    fs::remove_dir_all(directory)
}

fn make_writable(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}

fn blocks(path: &Path) -> u64 {
    let Ok(metadata) = path.symlink_metadata() else { return 0 };
    let inside = fs::read_dir(path).ok().filter(|_| metadata.is_dir());
    let inside = inside.into_iter().flatten().flatten().map(|entry| blocks(&entry.path())).sum::<u64>();
    metadata.blocks() + inside
}
