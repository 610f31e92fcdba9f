//! Which directory is which workspace: by device and inode first, then by path.
//!
//! Belay writes nothing into a workspace, so the list of known ones is all it has: `workspaces/index`, a log
//! in which the last record of an id counts. Each record is also beside the history of its workspace, so that a lost
//! list can be made again, and once more apart from all of them, so that they can be lost with it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use belay_store::{Disk, Lock, LockMode};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::log::Log;
use crate::maintenance::TimelineDamage;
use crate::record::PathText;

const INDEX: &str = "workspaces/index";
const INDEX_LOCK: &str = "workspaces/index.lock";
const APART: &str = "identities";

/// What the list says of a workspace, once more beside its history.
fn copy_of(id: &str) -> String {
    format!("workspaces/{id}/identity")
}

/// The same apart from all workspaces.
fn apart(id: &str) -> String {
    format!("{APART}/{id}")
}

/// How a workspace was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is where it was.
    Known,
    /// The same directory was somewhere else before; its history is kept.
    Moved {
        /// Where it was.
        from: PathBuf,
    },
    /// Another directory is where the workspace was; the history is offered to it.
    Replaced,
    /// It was not known before.
    New,
    /// It was not known before, and holds mostly what another workspace holds; it has its own history.
    CopiedFrom {
        /// The other workspace.
        path: PathBuf,
    },
}

/// A known workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceInfo {
    /// `ws_` and ten base-36 characters.
    pub id: String,
    /// Where it was last seen.
    pub path: PathBuf,
    /// When it became known.
    pub created_at: Timestamp,
    /// The workspace that it was copied from, if that was noticed.
    pub copied_from: Option<String>,
    /// The name of the fork that it is, if it is one.
    pub fork: Option<String>,
    /// Whether the directory is still there.
    pub exists: bool,
    /// How many snapshots it has.
    pub snapshots: usize,
    /// When the newest was taken.
    pub latest_at: Option<Timestamp>,
}

/// A directory as the kernel knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// When the inode was made, where the filesystem tells: it tells a moved directory from one that got a free inode.
    pub(crate) born: Option<Timestamp>,
}

impl Place {
    /// The directory at a path, if there is one.
    pub(crate) fn look(path: &Path) -> Option<Place> {
        let meta = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_dir)?;
        let born = meta.created().ok().and_then(|born| Timestamp::try_from(born).ok());
        Some(Place { path: path.to_path_buf(), device: meta.dev(), inode: meta.ino(), born })
    }

    /// Whether both are one directory, by whatever path.
    pub(crate) fn is(&self, other: &Place) -> bool {
        self.device == other.device && self.inode == other.inode
    }
}

/// A workspace as the index has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) id: String,
    device: u64,
    inode: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    born: Option<Timestamp>,
    path: PathText,
    pub(crate) created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) copied_from: Option<String>,
    /// Directories in whose place others came; each may turn up elsewhere, and its history is this one up to then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    former: Vec<Former>,
}

/// A directory that was a workspace until another took its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Former {
    device: u64,
    inode: u64,
    born: Timestamp,
    until: Timestamp,
}

/// So many former directories of one workspace are remembered.
const FORMER_MAX: usize = 16;

impl Identity {
    pub(crate) fn new(id: String, place: &Place, created_at: Timestamp) -> Identity {
        let path = PathText::from(place.path.as_os_str().as_bytes());
        let Place { device, inode, born, .. } = *place;
        Identity { id, device, inode, born, path, created_at, copied_from: None, former: Vec::new() }
    }

    /// The same workspace at another place.
    pub(crate) fn at(&self, place: &Place) -> Identity {
        let (copied_from, former) = (self.copied_from.clone(), self.former.clone());
        Identity { copied_from, former, ..Identity::new(self.id.clone(), place, self.created_at) }
    }

    /// The same workspace as it was recognised now.
    pub(crate) fn arrived(&self, arrival: &Arrival, place: &Place, now: Timestamp) -> Identity {
        let mut identity = self.at(place);
        // Without a birth time nobody could tell it from one that got its free inode.
        if let (Arrival::Replaced, Some(born)) = (arrival, self.born) {
            identity.former.push(Former { device: self.device, inode: self.inode, born, until: now });
            identity.former.drain(..identity.former.len().saturating_sub(FORMER_MAX));
        }
        identity
    }

    /// The same workspace, known to be a copy of another.
    pub(crate) fn copied_from(&self, other: String) -> Identity {
        Identity { copied_from: Some(other), ..self.clone() }
    }

    /// A workspace of which only its path is known: whatever directory is there continues its history.
    pub(crate) fn of_path(id: String, path: PathBuf, created_at: Timestamp) -> Identity {
        let nowhere = Place { path: path.clone(), device: 0, inode: 0, born: None };
        Identity::new(id, &Place::look(&path).unwrap_or(nowhere), created_at)
    }

    fn payload(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("an identity is plain data with text keys")
    }

    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(self.path.bytes()))
    }

    fn is_inode(&self, place: &Place) -> bool {
        let same_birth = self.born.is_none() || place.born.is_none() || self.born == place.born;
        self.device == place.device && self.inode == place.inode && same_birth
    }
}

/// The known workspace that `here` is, and how it got here; `look` tells what is at another path now.
pub(crate) fn recognise<'a>(
    known: &'a [Identity],
    here: &Place,
    look: &dyn Fn(&Path) -> Option<Place>,
) -> Option<(&'a Identity, Arrival)> {
    let is_path = |identity: &&Identity| identity.path() == here.path;
    if let Some(identity) = known.iter().filter(is_path).find(|identity| identity.is_inode(here)) {
        return Some((identity, Arrival::Known));
    }
    for identity in known.iter().filter(|identity| identity.is_inode(here)) {
        match look(&identity.path()) {
            // One directory seen by two paths (a bind mount): it did not move.
            Some(there) if there.is(here) => return Some((identity, Arrival::Known)),
            // Another directory took the old path. Without a birth time this could as well be a reused inode.
            Some(_) if identity.born.is_none() || here.born.is_none() => {}
            _ => return Some((identity, Arrival::Moved { from: identity.path() })),
        }
    }
    let identity = known.iter().rfind(is_path)?;
    // Device numbers may change when the machine starts; the inode and its birth do not.
    let renumbered = identity.inode == here.inode && identity.born.is_some() && identity.born == here.born;
    Some((identity, if renumbered { Arrival::Known } else { Arrival::Replaced }))
}

/// The workspace that `here` was until another directory took its place, and when that was.
pub(crate) fn former<'a>(known: &'a [Identity], here: &Place) -> Option<(&'a Identity, Timestamp)> {
    let is_it =
        |former: &&Former| (former.device, former.inode, Some(former.born)) == (here.device, here.inode, here.born);
    known.iter().find_map(|identity| Some((identity, identity.former.iter().rfind(is_it)?.until)))
}

/// What a file says of the workspace of that id, if it can be read.
fn recorded(disk: &dyn Disk, name: &str, id: &str) -> Result<Option<Identity>> {
    let log = Log::read(disk, name)?;
    let told = log.payloads().next().and_then(|(_, payload)| serde_json::from_slice::<Identity>(payload).ok());
    Ok(told.filter(|identity| identity.id == id))
}

/// The list of known workspaces.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) known: Vec<Identity>,
    pub(crate) damage: Vec<TimelineDamage>,
    pub(crate) exists: bool,
}

impl Index {
    pub(crate) fn read(disk: &dyn Disk) -> Result<Index> {
        Ok(Index::read_with_log(disk)?.0)
    }

    fn read_with_log(disk: &dyn Disk) -> Result<(Index, Log)> {
        let log = Log::read(disk, INDEX)?;
        let damage = |broken: &crate::log::Broken| TimelineDamage {
            file: INDEX.to_owned(),
            offset: broken.offset,
            detail: broken.detail.to_owned(),
        };
        let damage = log.broken.iter().map(damage).collect();
        let mut index = Index { known: Vec::new(), damage, exists: log.exists() };
        for (_, payload) in log.payloads() {
            let identity: Identity =
                serde_json::from_slice(payload).map_err(|_| Error::TooNew { name: INDEX.to_owned() })?;
            index.known.retain(|known| known.id != identity.id);
            index.known.push(identity);
        }
        Ok((index, log))
    }

    /// Records what `decide` says about the workspaces that are known at that moment.
    pub(crate) fn update(disk: &dyn Disk, decide: impl FnOnce(&Index) -> Option<Identity>) -> Result<()> {
        let lock = disk.lock(INDEX_LOCK, LockMode::Exclusive, true).map_err(Error::disk("lock", INDEX_LOCK))?;
        let (index, log) = Index::read_with_log(disk)?;
        if let Some(identity) = decide(&index) {
            // First: a workspace in the list without its own record is one whose directory was lost.
            Index::copy_again(disk, &identity)?;
            log.append(disk, INDEX, &[identity.payload()])?;
        }
        drop(lock);
        Ok(())
    }

    /// Puts a workspace that has a history back into the list; false if nothing tells what it is. `else_told` is asked for
    /// what neither its own record nor the one apart tells.
    pub(crate) fn relist(
        disk: &dyn Disk,
        id: &str,
        else_told: impl FnOnce() -> Result<Option<Identity>>,
    ) -> Result<bool> {
        if let Some(identity) = recorded(disk, &copy_of(id), id)? {
            Index::update(disk, |index| index.known.iter().all(|known| known.id != id).then_some(identity))?;
            return Ok(true);
        }
        let told =
            recorded(disk, &apart(id), id).unwrap_or_default().map_or_else(else_told, |identity| Ok(Some(identity)))?;
        let Some(identity) = told else { return Ok(false) };
        // Only into the list: that its own record is missing tells of the loss until everything is back.
        let _lock = disk.lock(INDEX_LOCK, LockMode::Exclusive, true).map_err(Error::disk("lock", INDEX_LOCK))?;
        let (index, log) = Index::read_with_log(disk)?;
        if index.known.iter().all(|known| known.id != id) {
            log.append(disk, INDEX, &[identity.payload()])?;
        }
        Ok(true)
    }

    /// The workspaces of which something is known apart from all of them.
    pub(crate) fn known_apart(disk: &dyn Disk) -> Vec<String> {
        disk.list(APART).unwrap_or_default().into_iter().map(|(id, _)| id).collect()
    }

    /// Writes apart what is known of a workspace, where an earlier belay has not; one that cannot only knows less.
    pub(crate) fn set_apart(disk: &dyn Disk, id: &str) {
        if disk.open(&apart(id)).is_ok() {
            return;
        }
        let Ok(Some(_lock)) = disk.lock(INDEX_LOCK, LockMode::Exclusive, false) else { return };
        let known = Index::read(disk).map(|index| index.known).unwrap_or_default();
        if let Some(identity) = known.iter().find(|known| known.id == id) {
            let _ = Log::rewrite(disk, &apart(id), &[identity.payload()]);
        }
    }

    /// Begins the list, if there is none.
    pub(crate) fn begin(disk: &dyn Disk) -> Result<()> {
        let _lock = disk.lock(INDEX_LOCK, LockMode::Exclusive, true).map_err(Error::disk("lock", INDEX_LOCK))?;
        if Index::read(disk)?.exists { Ok(()) } else { Log::rewrite(disk, INDEX, &[]).map(drop) }
    }

    /// The workspaces in the list of which nothing is beside their histories.
    pub(crate) fn without_directory<'a>(&'a self, disk: &'a dyn Disk) -> impl Iterator<Item = &'a Identity> {
        self.known.iter().filter(|identity| disk.open(&copy_of(&identity.id)).is_err())
    }

    /// Writes beside the history of a workspace, and apart from it, what the list says of it.
    pub(crate) fn copy_again(disk: &dyn Disk, identity: &Identity) -> Result<()> {
        // One that cannot be written only knows less, and the next snapshot tries again.
        let _ = Log::rewrite(disk, &apart(&identity.id), &[identity.payload()]);
        Log::rewrite(disk, &copy_of(&identity.id), &[identity.payload()]).map(drop)
    }

    /// Whether a workspace is in the list.
    pub(crate) fn has(disk: &dyn Disk, id: &str) -> Result<bool> {
        // What it says once more beside its history goes with that.
        if disk.open(&copy_of(id)).is_ok() {
            return Ok(true);
        }
        Ok(Index::read(disk)?.known.iter().any(|known| known.id == id))
    }

    /// Keeps a workspace in the list for as long as the lock is held; an error if it was forgotten.
    pub(crate) fn hold(disk: &dyn Disk, id: &str) -> Result<Option<Lock>> {
        let lock = disk.lock(INDEX_LOCK, LockMode::Exclusive, true).map_err(Error::disk("lock", INDEX_LOCK))?;
        let index = Index::read(disk)?;
        match index.damage.is_empty() && index.known.iter().all(|known| known.id != id) {
            true => Err(Error::Forgotten(id.into())),
            false => Ok(lock),
        }
    }

    /// Removes the history of a workspace, but not what the list says of it beside it, and writes the list anew without
    /// it; nobody begins another one in between.
    pub(crate) fn forget(disk: &dyn Disk, id: &str, remove: impl FnOnce() -> Result<()>) -> Result<()> {
        let _lock = disk.lock(INDEX_LOCK, LockMode::Exclusive, true).map_err(Error::disk("lock", INDEX_LOCK))?;
        let index = Index::read(disk)?;
        if let Some(damage) = index.damage.first() {
            let (name, detail) = (damage.file.clone(), damage.detail.clone());
            return Err(belay_store::Error::Corrupt { name, detail }.into());
        }
        let kept = index.known.iter().filter(|known| known.id != id).map(Identity::payload).collect::<Vec<_>>();
        remove()?;
        // Or a list that is lost later would be made again with it.
        match disk.remove(&apart(id)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {}
            removed => removed.map_err(Error::disk("remove", apart(id)))?,
        }
        Log::rewrite(disk, INDEX, &kept).map(drop)
    }

    /// Writes the list anew without what cannot be read; returns how many records that were.
    pub(crate) fn set_damage_aside(disk: &dyn Disk) -> Result<u64> {
        let _lock = disk.lock(INDEX_LOCK, LockMode::Exclusive, true).map_err(Error::disk("lock", INDEX_LOCK))?;
        let index = Index::read(disk)?;
        if !index.damage.is_empty() {
            Log::rewrite(disk, INDEX, &index.known.iter().map(Identity::payload).collect::<Vec<_>>())?;
        }
        Ok(index.damage.len() as u64)
    }
}

#[cfg(test)]
mod tests;
