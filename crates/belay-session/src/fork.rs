//! Forks: copies of a workspace as it is now, ignored files included, each a workspace with a history of its own.
//!
//! A fork is a layer of changes above its origin, which takes no time and no space, or a directory that shares blocks
//! with it or is a plain copy. Invariants:
//!
//! - nothing that happens in a fork changes its origin;
//! - what a fork changed is told from the snapshot that it was taken from, never from what its origin is by now;
//! - what its origin changed since is hidden from a fork whenever it is next used and nothing goes on in it.

mod copy;
mod ground;
mod shut;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use belay_event::Raw;
use belay_store::{Lock, LockMode};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::blend::Incoming;
use crate::config::Sources;
use crate::ephemeral::Written;
use crate::error::{Error, Result};
use crate::home::{Consent, Home};
use crate::identity::{Identity, Index, Place};
use crate::log::replace;
use crate::nearest::nearest;
use crate::overlay::{Modes, Overlay, remove_all};
use crate::record::{Kind, Origin, Snapshot, Why};
use crate::retention::delete_records;
use crate::snapshot::SnapshotRequest;
use crate::workspace::{Work, Workspace};

pub use ground::Pinned;

const NAME_CHARS_MAX: usize = 40;
/// How the snapshot that a fork was taken from is labelled in its history.
const BASE: &str = "base";

/// A fork of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    /// The fork's own workspace: `ws_` and ten base-36 characters.
    pub id: String,
    /// Its name, unique among the forks of its origin.
    pub name: String,
    /// The workspace that it was taken from.
    pub origin: String,
    /// Where it is.
    pub place: ForkPlace,
    /// When it was made.
    pub created_at: Timestamp,
    /// The snapshot of its origin that its layer lies above, in its own history; taken when it is first used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ground: Option<String>,
    /// The snapshot that it was taken from, in its own history; what it changed is told from this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

/// Where a fork is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForkPlace {
    /// Above its origin, seen by what `belay run --fork` starts.
    Layer,
    /// A directory of its own.
    Directory(Raw),
}

/// How a fork stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkState {
    /// How many paths it changed; none if that cannot be told.
    pub changed: Option<usize>,
    /// Bytes that it takes beside its origin, as far as that is known.
    pub bytes: Option<u64>,
    /// The run that goes on in it.
    pub run: Option<String>,
    /// Whether it is still there.
    pub exists: bool,
}

/// What a fork as a directory of its own costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyCost {
    /// Whether it shares its blocks with its origin, so that it takes space only for what changes.
    pub shares_blocks: bool,
    /// Files to make.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
}

impl Fork {
    /// The directory, if it has one of its own.
    pub fn directory(&self) -> Option<PathBuf> {
        match &self.place {
            ForkPlace::Layer => None,
            ForkPlace::Directory(path) => Some(PathBuf::from(OsStr::from_bytes(path.bytes()))),
        }
    }

    fn save(&self, home: &Home) -> Result<()> {
        let bytes = serde_json::to_vec_pretty(self).expect("a fork is plain data with text keys");
        replace(home.disk(), &record_name(&self.id), &bytes)
    }
}

fn record_name(id: &str) -> String {
    format!("forks/{id}/fork.json")
}

impl Home {
    fn fork_dir(&self, id: &str) -> PathBuf {
        self.path().join("forks").join(id)
    }

    /// The layer of a fork above `origin`.
    fn layer_of_fork(&self, id: &str, origin: &Path) -> Overlay {
        Overlay::new(origin, &self.fork_dir(id))
    }

    /// The fork that a workspace is, if it is one.
    pub fn fork_of(&self, id: &str) -> Result<Option<Fork>> {
        let name = record_name(id);
        match self.disk().read(&name) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|_| Error::TooNew { name }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::disk("read", name)(error)),
        }
    }

    /// Every fork, the oldest first.
    pub(crate) fn forks(&self) -> Result<Vec<Fork>> {
        let entries = match fs::read_dir(self.path().join("forks")) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::disk("list", "forks")(error)),
        };
        let ids = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut forks: Vec<Fork> = ids.filter_map(|id| self.fork_of(&id).ok().flatten()).collect();
        forks.sort_by(|a, b| (a.created_at, &a.name).cmp(&(b.created_at, &b.name)));
        Ok(forks)
    }

    /// Opens a fork as the workspace that it is; what its origin changed since is not hidden from it.
    pub(crate) fn open_fork(&self, fork: &Fork, sources: &Sources) -> Result<Workspace<'_>> {
        let index = Index::read(self.disk())?;
        let known = index.known.iter().find(|identity| identity.id == fork.origin);
        let origin = known.ok_or_else(|| Error::NoWorkspace(fork.origin.clone().into()))?.path();
        let place = Place::look(&origin).ok_or_else(|| Error::NoWorkspace(origin.clone()))?;
        let layer = self.layer_of_fork(&fork.id, &origin);
        Workspace::open_layered(self, fork.id.clone(), place, layer, &fork.origin, sources)
    }
}

impl<'h> Workspace<'h> {
    /// The forks of this workspace, the oldest first.
    pub fn forks(&self) -> Result<Vec<Fork>> {
        let mut forks = self.home.forks()?;
        forks.retain(|fork| fork.origin == self.id);
        Ok(forks)
    }

    /// The fork of that name.
    pub fn fork(&self, name: &str) -> Result<Fork> {
        let mut forks = self.forks()?;
        match forks.iter().position(|fork| fork.name == name) {
            Some(at) => Ok(forks.swap_remove(at)),
            None => {
                let names = forks.iter().map(|fork| fork.name.as_str());
                Err(Error::UnknownFork { name: name.to_owned(), nearest: nearest(name, names) })
            }
        }
    }

    /// Refuses a name that a fork cannot have, or that one has already.
    pub fn check_fork_name(&self, name: &str) -> Result<()> {
        if self.layer().is_some() {
            return Err(Error::ForkOfFork);
        }
        if let Some(reason) = name_fault(name) {
            return Err(Error::BadForkName { name: name.to_owned(), reason });
        }
        match self.forks()?.iter().any(|fork| fork.name == name) {
            true => Err(Error::ForkInUse(name.to_owned())),
            false => Ok(()),
        }
    }

    /// Makes a fork as a layer above this workspace; nothing is read or copied.
    pub fn fork_layered(&self, name: &str) -> Result<Fork> {
        self.check_fork_name(name)?;
        let id = self.home.options.ids.next("ws_", 10);
        let layer = self.home.layer_of_fork(&id, self.path());
        let probe = || layer.prepare().and_then(|()| layer.open().map(drop));
        let made = probe().and_then(|()| self.record_fork(&id, name, &layer.kept().changes, ForkPlace::Layer));
        if made.is_err() {
            let _ = remove_all(&self.home.fork_dir(&id));
        }
        made
    }

    /// Takes a fork that was just made to a snapshot of this workspace, which is then what it was taken from.
    pub fn fork_at(&self, fork: &mut Fork, snapshot: &Snapshot, sources: &Sources, work: Work<'_>) -> Result<()> {
        let (opened, _) = self.settle_fork(fork, sources, work)?;
        let manifest = belay_store::Manifest::read(self.home.store(), &snapshot.manifest)?;
        let request = SnapshotRequest {
            kind: Kind::PreRun,
            origin: Origin::Auto,
            description: Some(format!("{} of {}", snapshot.id, self.path().display())),
            ..SnapshotRequest::default()
        };
        let base = opened.name_tree(&manifest, snapshot.manifest, 0, &request)?;
        opened.rewind(
            &crate::rollback::RewindRequest {
                goal: crate::rollback::Goal::To(Some(base.id.clone())),
                paths: Vec::new(),
                mtime: None,
                on_damage: belay_store::OnDamage::Refuse,
            },
            work,
            &mut |_| {},
        )?;
        fork.base = Some(base.id);
        fork.save(self.home)
    }

    /// Makes a fork as a directory of its own, which must be empty or not exist.
    pub fn fork_to(
        &self,
        name: &str,
        to: &Path,
        consent: Consent<'_>,
        sources: &Sources,
        work: Work<'_>,
    ) -> Result<Fork> {
        self.check_fork_name(name)?;
        self.home.check_outside(to)?;
        let captured = self.capture(crate::snapshot::Look::default(), work)?;
        self.remember(&captured);
        copy::tree(self.path(), to, work).map_err(Error::path("copy to", to))?;
        let made = self.home.create(to, consent, sources)?;
        let base = made.name(&captured, &base_request(self))?;
        let path = made.path().as_os_str().as_bytes();
        let mut fork = self.record_fork(made.id(), name, made.path(), ForkPlace::Directory(Raw::from(path)))?;
        (fork.ground, fork.base) = (Some(base.id.clone()), Some(base.id));
        fork.save(self.home)?;
        Ok(fork)
    }

    /// What a fork at that directory would cost; its parent must exist.
    pub fn copy_cost(&self, to: &Path) -> CopyCost {
        let near = to.ancestors().find(|above| above.is_dir()).unwrap_or(Path::new("/"));
        let (files, bytes) = copy::weight(self.path());
        CopyCost { shares_blocks: copy::shares_blocks(self.path(), near), files, bytes }
    }

    /// What changed in a fork, between what it was taken from and its last state.
    pub fn incoming(
        &self,
        fork: &Fork,
        opened: &Workspace<'_>,
        paths: Vec<Vec<u8>>,
        work: Work<'_>,
    ) -> Result<Incoming> {
        let timeline = opened.timeline()?;
        let base = fork.base.as_deref().and_then(|base| timeline.get(base)).cloned();
        let base = base.ok_or_else(|| Error::ForkBaseGone(fork.name.clone()))?;
        let theirs = opened.fork_snapshot_opened(&format!("as it was picked from {}", fork.name), work)?;
        let (what, suffix) = (format!("the fork {}", fork.name), format!("fork-{}", fork.name));
        Ok(Incoming { what, suffix, fork: Some(fork.clone()), base, theirs, paths })
    }

    fn record_fork(&self, id: &str, name: &str, at: &Path, place: ForkPlace) -> Result<Fork> {
        let created_at = self.home.options.clock.now();
        let fork = Fork {
            id: id.to_owned(),
            name: name.to_owned(),
            origin: self.id.clone(),
            place,
            created_at,
            ground: None,
            base: None,
        };
        let found = Place::look(at).ok_or_else(|| Error::NoWorkspace(at.to_owned()))?;
        fork.save(self.home)?;
        Index::update(self.home.disk(), |_| {
            Some(Identity::new(id.to_owned(), &found, created_at).copied_from(self.id.clone()))
        })?;
        Ok(fork)
    }

    /// Opens a fork as the workspace that it is, with what it was taken from captured, and its origin's later changes hidden.
    pub fn open_fork(&self, name: &str, sources: &Sources, work: Work<'_>) -> Result<(Workspace<'h>, Fork, Pinned)> {
        let mut fork = self.fork(name)?;
        if let ForkPlace::Directory(_) = fork.place {
            return Ok((self.home.workspace(&fork.id, sources)?, fork, Pinned::default()));
        }
        let (opened, pinned) = self.settle_fork(&mut fork, sources, work)?;
        Ok((opened, fork, pinned))
    }

    /// How a fork stands; nothing is captured for it.
    pub fn fork_state(&self, fork: &Fork) -> Result<ForkState> {
        let run = self.home.open_runs(&fork.id)?.into_iter().find(|run| run.is_live()).map(|run| run.id);
        Ok(match fork.directory() {
            Some(path) => ForkState { changed: None, bytes: None, run, exists: path.is_dir() },
            None => {
                let layer = self.home.layer_of_fork(&fork.id, self.path());
                let changed = layer.differing().ok();
                ForkState { changed, bytes: Some(layer.bytes()), run, exists: layer.exists() }
            }
        })
    }

    /// Whoever begins to use a fork does so alone.
    fn lock_fork(&self) -> Result<Option<Lock>> {
        let name = self.file("fork.lock");
        self.home.disk().lock(&name, LockMode::Exclusive, true).map_err(Error::disk("lock", name))
    }

    /// Refuses a second run in one layer; held until the first is known to others.
    pub(crate) fn claim_layer(&self) -> Result<Option<Lock>> {
        if self.layer().is_none() {
            return Ok(None);
        }
        let lock = self.lock_fork()?;
        let live = self.home.open_runs(&self.id)?.into_iter().find(|run| run.is_live());
        match (live, self.home.fork_of(&self.id)?) {
            (Some(run), fork) => {
                let fork = fork.map_or_else(|| self.id.clone(), |fork| fork.name);
                Err(Error::ForkBusy { fork, run: run.id })
            }
            (None, _) => {
                self.close_layer()?;
                Ok(lock)
            }
        }
    }

    /// The fork's state as a snapshot of its own history: the newest one if nothing changed since.
    pub fn fork_snapshot(&self, why: &str, work: Work<'_>) -> Result<Snapshot> {
        let captured = self.capture(crate::snapshot::Look::default(), work)?;
        let timeline = self.timeline()?;
        if let Some(latest) = timeline.latest().filter(|latest| latest.root == captured.manifest.identity) {
            return Ok(latest.clone());
        }
        let request = SnapshotRequest {
            kind: Kind::Auto,
            origin: Origin::Auto,
            description: Some(why.to_owned()),
            ..SnapshotRequest::default()
        };
        let snapshot = self.name(&captured, &request)?;
        self.remember(&captured);
        Ok(snapshot)
    }

    /// Removes a fork; its last state becomes a snapshot of this workspace, and a directory of its own stays.
    pub fn remove_fork(&self, name: &str, sources: &Sources, work: Work<'_>) -> Result<Option<Written>> {
        let fork = self.fork(name)?;
        if let Some(run) = self.fork_state(&fork)?.run {
            return Err(Error::ForkBusy { fork: fork.name, run });
        }
        let last = match self.fork_state(&fork)?.exists {
            true => self.last_of(&fork, sources, work)?,
            false => None,
        };
        if fork.place == ForkPlace::Layer {
            self.home.layer_of_fork(&fork.id, self.path()).remove()?;
        }
        let own: Vec<String> = fork.ground.iter().chain(&fork.base).cloned().collect();
        if fork.place == ForkPlace::Layer {
            delete_records(self.home, &fork.id, &own, Why::Asked)?;
        }
        remove_all(&self.home.fork_dir(&fork.id)).map_err(Error::path("remove", self.home.fork_dir(&fork.id)))?;
        Ok(last)
    }

    /// The last state of a fork that changed something, listed here.
    fn last_of(&self, fork: &Fork, sources: &Sources, work: Work<'_>) -> Result<Option<Written>> {
        if fork.ground.is_none() {
            return Ok(None);
        }
        let (opened, ..) = self.open_fork(&fork.name, sources, work)?;
        // The layer is about to go, so nobody will miss how it was shut.
        let modes = opened.layer().map(|layer| layer.open_up(Modes::new(), &mut |_| Ok(()))).transpose()?;
        let changed = opened.layer().map(Overlay::changed).transpose()?.unwrap_or_default();
        let captured = opened.capture(crate::snapshot::Look::default(), work)?;
        let shut = self.shut_again(&captured, &modes.unwrap_or_default())?;
        let request = SnapshotRequest {
            kind: Kind::Auto,
            origin: Origin::Auto,
            description: Some(format!("the last state of the fork {}", fork.name)),
            // The workspace was never in it.
            imported: true,
            ..SnapshotRequest::default()
        };
        let snapshot = self.name_tree(&shut.manifest, shut.key, shut.stored_bytes, &request)?;
        self.written_in(snapshot, &shut.manifest, changed).map(Some)
    }
}

/// The snapshot that a fork was taken from, as its history lists it.
fn base_request(origin: &Workspace<'_>) -> SnapshotRequest {
    SnapshotRequest {
        // No rule deletes these, and without it nobody could tell what the fork changed.
        kind: Kind::PreRun,
        origin: Origin::Auto,
        label: Some(BASE.to_owned()),
        description: Some(format!("as {} was when it was forked", origin.path().display())),
        ..SnapshotRequest::default()
    }
}

fn name_fault(name: &str) -> Option<&'static str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.chars().count() > NAME_CHARS_MAX {
        Some("it is empty, or has more than 40 characters")
    } else if !name.chars().all(is_plain) {
        Some("letters, digits, hyphens, dots and underscores are all that it may have")
    } else if name.starts_with(['-', '.']) {
        Some("it begins with a hyphen or a dot")
    } else if name == "origin" {
        Some("that is what the workspace itself is called beside its forks")
    } else {
        None
    }
}
