//! The backend `btrfs`: a snapshot is a read-only snapshot of the workspace's subvolume, beside it.

use std::fs::File;
use std::io;
use std::path::Path;

use belay_store::{CopyPlace, NativeCopy, Root};
use belay_sys::{Dir, FileSystemKind, btrfs};

use super::{Native, beside};
use crate::record::Backend;

pub(super) struct Btrfs;

impl Native for Btrfs {
    fn backend(&self) -> Backend {
        Backend::Btrfs
    }

    fn refusal(&self, workspace: &Path) -> Option<String> {
        match obstacle(workspace) {
            Ok(obstacle) => obstacle,
            Err(error) => Some(belay_sys::plain(error)),
        }
    }

    fn place(&self, workspace: &Path, id: &str) -> io::Result<(CopyPlace, String)> {
        let path = beside::beside(workspace).ok_or(io::ErrorKind::NotADirectory)?.join(id);
        let reference = path.display().to_string();
        Ok((CopyPlace::Outside(path), reference))
    }

    fn make(&self, workspace: &Path, copy: &NativeCopy, _held: Option<&File>) -> io::Result<()> {
        let source = Root::open(workspace)?.dir(b"")?;
        btrfs::snapshot(source.as_fd(), &beside::open(workspace)?, copy.id.as_bytes())?;
        // One that was made since nobody was in the way would be an empty directory in the snapshot.
        match btrfs::has_subvolumes_inside(source.as_fd())? {
            true => Err(io::Error::other(INSIDE)),
            false => Ok(()),
        }
    }

    fn remove(&self, copy: &NativeCopy) -> io::Result<()> {
        let CopyPlace::Outside(path) = &copy.place else { return Ok(()) };
        let Some((holder, name)) = beside::holder(path)? else { return absent(path) };
        match btrfs::remove(&holder, &name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => absent(path)?,
            other => drop(other?),
        }
        beside::tidy(path);
        Ok(())
    }

    fn changed(&self, before: &NativeCopy, now: &NativeCopy) -> Option<Vec<Vec<u8>>> {
        let (before, now) = (open(before)?, open(now)?);
        let (old, new) = (btrfs::subvolume(before.as_fd()).ok()?, btrfs::subvolume(now.as_fd()).ok()?);
        // Numbers of transactions compare only within the history of one subvolume.
        let is_one_history = old.parent_uuid.is_some() && old.parent_uuid == new.parent_uuid && old.is_readonly;
        if !is_one_history || old.created_generation > new.created_generation {
            return None;
        }
        btrfs::changed_since(now.as_fd(), old.created_generation).ok()
    }

    fn changed_since(&self, before: &NativeCopy, workspace: &Root) -> Option<Vec<Vec<u8>>> {
        if !belay_sys::is_root() {
            return None;
        }
        let (before, now) = (open(before)?, workspace.dir(b"").ok()?);
        let (old, own) = (btrfs::subvolume(before.as_fd()).ok()?, btrfs::subvolume(now.as_fd()).ok()?);
        if !old.is_readonly || old.parent_uuid != Some(own.uuid) {
            return None;
        }
        // What is in memory only is in no tree yet. A snapshot would have it written, too.
        workspace.sync_filesystem().ok()?;
        btrfs::changed_since(now.as_fd(), old.created_generation).ok()
    }
}

fn open(copy: &NativeCopy) -> Option<Dir> {
    match &copy.place {
        CopyPlace::Outside(path) => Root::open(path).and_then(|root| root.dir(b"")).ok(),
        CopyPlace::Home(_) => None,
    }
}

/// Whether nothing is left of a snapshot that is not where it was; an error if it may only be out of sight.
fn absent(path: &Path) -> io::Result<()> {
    let is_btrfs = |dir: &Root| dir.file_system().is_ok_and(|system| system.kind == FileSystemKind::Btrfs);
    let hidden = || io::Error::other("its filesystem is not mounted, or it was moved with the directory around it");
    let above = path.ancestors().skip(1).find_map(|above| Root::open(above).ok());
    let Some((above, name)) = above.filter(is_btrfs).zip(path.file_name()) else { return Err(hidden()) };
    match btrfs::has_subvolume_named(above.dir(b"")?.as_fd(), std::os::unix::ffi::OsStrExt::as_bytes(name)) {
        Ok(false) => Ok(()),
        Ok(true) => Err(hidden()),
        // Only root may ask; for others the directory around the workspace answers.
        Err(_) if path.ancestors().nth(2).is_some_and(Path::exists) => Ok(()),
        Err(_) => Err(hidden()),
    }
}

const INSIDE: &str = "a snapshot of it would lack the subvolumes inside it";

/// Why a snapshot cannot be had, or would not be the whole workspace.
fn obstacle(workspace: &Path) -> io::Result<Option<String>> {
    let root = Root::open(workspace)?;
    let own = root.dir(b"")?;
    if !btrfs::is_subvolume(own.as_fd())? {
        return Ok(Some("it is not the topmost directory of a btrfs subvolume".into()));
    }
    if btrfs::has_subvolumes_inside(own.as_fd())? {
        return Ok(Some(INSIDE.into()));
    }
    if let Some(mount) = belay_sys::mounts_beneath(workspace)?.first() {
        return Ok(Some(format!("a snapshot of it would lack what is mounted at {}", mount.display())));
    }
    if !belay_sys::is_root() && own.stat_self()?.uid != belay_sys::user_id() {
        return Ok(Some("only its owner and root may take snapshots of the subvolume".into()));
    }
    let Some(parent) = workspace.parent() else { return Ok(Some("there is nothing beside it".into())) };
    let around = Root::open(parent)?;
    if around.file_system()?.kind != FileSystemKind::Btrfs
        || btrfs::file_system_id(around.dir(b"")?.as_fd())? != btrfs::file_system_id(own.as_fd())?
    {
        return Ok(Some(format!("{} lies on another filesystem", parent.display())));
    }
    beside::open(workspace).map(|_| None)
}
