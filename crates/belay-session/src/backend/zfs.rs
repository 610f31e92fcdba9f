//! The backend `zfs`: a snapshot is a snapshot of the data set that the workspace is, and is never rolled back to.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use belay_store::{CopyPlace, NativeCopy, Root};
use belay_sys::zfs::{self, Seen};

use super::{Native, beside};
use crate::record::Backend;

pub(super) struct Zfs;

impl Native for Zfs {
    fn backend(&self) -> Backend {
        Backend::Zfs
    }

    fn refusal(&self, workspace: &Path) -> Option<String> {
        match obstacle(workspace) {
            Ok(obstacle) => obstacle,
            Err(error) => Some(belay_sys::plain(error)),
        }
    }

    fn place(&self, workspace: &Path, id: &str) -> io::Result<(CopyPlace, String)> {
        let dataset = dataset(workspace)?;
        let name = name_of(id);
        let path = match zfs::shows_snapshots(&dataset) {
            true => zfs::shown_at(&dataset, &name),
            // A clone that shows it is mounted there.
            false => beside::beside(workspace).ok_or(io::ErrorKind::NotADirectory)?.join(id),
        };
        Ok((CopyPlace::Outside(path), format!("{}@{name}", dataset.name)))
    }

    fn make(&self, workspace: &Path, copy: &NativeCopy, held: Option<&File>) -> io::Result<()> {
        let (dataset, path) = (dataset(workspace)?, path_of(copy)?);
        let name = name_of(&copy.id);
        zfs::snapshot(&dataset, &name, held)?;
        if !zfs::shows_snapshots(&dataset) {
            beside::open(workspace)?;
        }
        let seen: Seen = zfs::show(&dataset, &name, path, held)?;
        match seen.path() == path {
            true => Ok(()),
            false => Err(io::Error::other(format!("the snapshot is at {} instead", seen.path().display()))),
        }
    }

    fn remove(&self, copy: &NativeCopy) -> io::Result<()> {
        let Some((dataset, name)) = copy.reference.split_once('@') else { return Ok(()) };
        if name != name_of(&copy.id) {
            return Err(io::Error::other(format!("{} is not a snapshot of belay's", copy.reference)));
        }
        zfs::remove(dataset, name)?;
        let path = path_of(copy)?;
        // The directory that a clone was mounted at, where there was one.
        let _ = std::fs::remove_dir(path);
        beside::tidy(path);
        Ok(())
    }
}

fn name_of(id: &str) -> String {
    format!("belay-{id}")
}

fn path_of(copy: &NativeCopy) -> io::Result<&Path> {
    match &copy.place {
        CopyPlace::Outside(path) => Ok(path),
        CopyPlace::Home(_) => Err(io::ErrorKind::Unsupported.into()),
    }
}

fn dataset(workspace: &Path) -> io::Result<zfs::Dataset> {
    let gone = || io::Error::other("it is not the topmost directory of a ZFS data set");
    zfs::dataset_at(&Root::open(workspace)?)?.ok_or_else(gone)
}

/// Why a snapshot cannot be had, or would not be the whole workspace.
fn obstacle(workspace: &Path) -> io::Result<Option<String>> {
    let dataset = dataset(workspace)?;
    let mounts: Vec<PathBuf> = belay_sys::mounts_beneath(workspace)?;
    // Snapshots that were looked at are mounted inside the data set's own control directory.
    let control = workspace.join(".zfs");
    if let Some(mount) = mounts.iter().find(|mount| !mount.starts_with(&control)) {
        return Ok(Some(format!("a snapshot of it would lack what is mounted at {}", mount.display())));
    }
    zfs::exists(&dataset.name, "belay").map(|_| None)
}
