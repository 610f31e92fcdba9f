//! Backends: where the content of a snapshot lies, and how a copy of each kind is made and removed.
//!
//! `objects` packs content into the store. Any other makes a copy of the workspace that keeps what is new in it; whatever is
//! in the store or in an older copy already is not kept again, so a workspace may change its backend at any time.

mod archive;
mod beside;
mod btrfs;
mod slots;
mod told;
mod zfs;

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use belay_store::{Captured, Cloned, CopyPlace, FileLock, Manifest, NativeCopy, Root, Slot, Whole, capture_copy};

use self::archive::Archive;
use crate::error::{Error, Result};
use crate::record::{Backend, Snapshot, Why};
use crate::retention::{Pruned, delete_records};
use crate::snapshot::Look;
use crate::timeline::Timeline;
use crate::workspace::{Work, Workspace};

pub(crate) use beside::{beside, place_after};

/// The file that says which snapshot a copy, or what is in a slot, is.
const METADATA: &str = "metadata.json";

/// What a user may ask for: one backend, or the best that works here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendChoice {
    /// A filesystem's own snapshots where they work, else `objects`.
    Auto,
    /// This one, or an error.
    Only(Backend),
}

impl BackendChoice {
    /// Every choice by its name.
    pub const NAMES: &[&str] = &["objects", "clone", "btrfs", "zfs", "archive", "auto"];

    /// The choice as it is printed.
    pub fn name(self) -> &'static str {
        match self {
            BackendChoice::Auto => "auto",
            BackendChoice::Only(backend) => backend.name(),
        }
    }

    /// The choice of that name.
    pub fn from_name(name: &str) -> Option<BackendChoice> {
        match name {
            "auto" => Some(BackendChoice::Auto),
            _ => Backend::ALL.into_iter().find(|backend| backend.name() == name).map(BackendChoice::Only),
        }
    }
}

/// A filesystem that makes snapshots of its own.
///
/// The copy is whole and unchanging once `make` has returned, and is what the capture reads.
pub(crate) trait Native: Sync {
    /// What it is called.
    fn backend(&self) -> Backend;
    /// Why it cannot be had for this workspace, if it cannot.
    fn refusal(&self, workspace: &Path) -> Option<String>;
    /// Where a copy of that name will hold the workspace, and what the filesystem will call it.
    fn place(&self, workspace: &Path, id: &str) -> io::Result<(CopyPlace, String)>;
    /// Makes the copy; a program that is started for it keeps `held` open.
    fn make(&self, workspace: &Path, copy: &NativeCopy, held: Option<&File>) -> io::Result<()>;
    /// Removes the copy, or what is there of it; none is no error.
    fn remove(&self, copy: &NativeCopy) -> io::Result<()>;
    /// Every path that differs between two copies, directories with an entry that came or went among them, but not what
    /// went; none if the filesystem cannot or will not tell.
    fn changed(&self, _before: &NativeCopy, _now: &NativeCopy) -> Option<Vec<Vec<u8>>> {
        None
    }
    /// The same of a copy and the workspace itself as it is now.
    fn changed_since(&self, _before: &NativeCopy, _workspace: &Root) -> Option<Vec<Vec<u8>>> {
        None
    }
}

/// The filesystems whose snapshots are used, in the order in which `auto` tries them.
const NATIVES: &[&dyn Native] = &[&zfs::Zfs, &btrfs::Btrfs];

fn native(backend: Backend) -> Option<&'static dyn Native> {
    NATIVES.iter().copied().find(|native| native.backend() == backend)
}

/// A capture, and how its copy came to be if it has one of the backend `clone`.
pub(crate) struct Kept {
    pub(crate) captured: Captured,
    pub(crate) cloned: Option<Cloned>,
}

/// Removes a copy that nobody needs.
pub(crate) fn remove(copy: &NativeCopy, path: &Path) -> io::Result<()> {
    match NATIVES.iter().find(|native| native.backend().name() == copy.backend) {
        Some(native) => native.remove(copy),
        None => belay_store::remove_copy(copy, path),
    }
}

impl Workspace<'_> {
    /// The backend that a snapshot is to have; an error if it cannot be had.
    pub(crate) fn backend(&self, asked: Option<BackendChoice>) -> Result<Backend> {
        let asked = asked.filter(|_| !self.settings.is_corporate("snapshots.backend"));
        let asked = asked.or_else(|| BackendChoice::from_name(self.settings.choice("snapshots.backend")));
        // A layer is mounted anew for every look, so that nothing of it can be shared.
        if self.layer().is_some() {
            return Ok(Backend::Objects);
        }
        match asked.unwrap_or(BackendChoice::Auto) {
            BackendChoice::Auto => {
                let works = NATIVES.iter().find(|native| native.refusal(self.path()).is_none());
                Ok(works.map_or(Backend::Objects, |native| native.backend()))
            }
            BackendChoice::Only(backend @ (Backend::Objects | Backend::Clone | Backend::Archive)) => Ok(backend),
            BackendChoice::Only(backend) => {
                let unknown = || Some("this belay does not know how to use it".to_owned());
                match native(backend).map_or_else(unknown, |native| native.refusal(self.path())) {
                    Some(why) => Err(Error::NoBackend { backend: backend.name(), why }),
                    None => Ok(backend),
                }
            }
        }
    }

    /// Captures the workspace into the backend.
    pub(crate) fn capture_into(&self, backend: Backend, look: Look<'_>, work: Work<'_>) -> Result<Kept> {
        match backend {
            Backend::Clone => self.capture_clone(look, work),
            Backend::Archive => self.capture_archive(look, work),
            _ => match native(backend) {
                Some(native) => self.capture_native(native, look, work),
                None => Ok(Kept { captured: self.capture(look, work)?, cloned: None }),
            },
        }
    }

    fn new_copy(&self, backend: Backend, id: String, place: CopyPlace, reference: String) -> NativeCopy {
        let order = self.home.options.clock.now().as_millisecond().max(0).unsigned_abs();
        let is_archive = backend == Backend::Archive;
        let backend = backend.name().to_owned();
        NativeCopy { id, backend, place, reference, manifest: None, bytes: 0, order, is_archive }
    }

    fn capture_clone(&self, look: Look<'_>, work: Work<'_>) -> Result<Kept> {
        let store = self.home.store();
        let id = self.home.options.ids.next("copy_", 10);
        let reference = format!("copies/{id}");
        let place = CopyPlace::Home(format!("{reference}/workspace"));
        let making = store.make_copy(self.new_copy(Backend::Clone, id, place, reference))?;
        let (copy, path) = (making.copy().clone(), making.path());
        let timeline = self.timeline()?;
        let before = self.last_copy(&timeline, Backend::Clone)?;
        let before = before.and_then(|(copy, manifest)| Some((store.copy_path(&copy.place)?, manifest)));
        let before = before.as_ref().map(|(path, manifest)| (path.as_path(), manifest.clone()));
        let slot = Slot::create(&path, before).map_err(Error::path("make", &path))?;
        let captured = self.with_options(look, work, |options| capture_copy(store, options, making, &slot));
        let captured = self.or_discard(captured, &copy)?;
        Ok(Kept { captured, cloned: Some(slot.cloned()) })
    }

    fn capture_archive(&self, look: Look<'_>, work: Work<'_>) -> Result<Kept> {
        let store = self.home.store();
        let id = self.home.options.ids.next("copy_", 10);
        let ending = self.settings.choice("snapshots.archive_format");
        let reference = format!("copies/{id}/workspace.{ending}");
        let place = CopyPlace::Home(reference.clone());
        let making = store.make_copy(self.new_copy(Backend::Archive, id, place, reference))?;
        let (copy, path) = (making.copy().clone(), making.path());
        let archive = Archive::create(&path, ending == "tar.gz", work).map_err(Error::path("make", &path))?;
        let captured = self.with_options(look, work, |options| capture_copy(store, options, making, &archive));
        Ok(Kept { captured: self.or_discard(captured, &copy)?, cloned: None })
    }

    /// Deletes archives beyond the number that is kept: each is a whole copy.
    ///
    /// While a run goes on, but for one that is just `beginning`, only what is younger than it goes.
    pub(crate) fn thin_archives(&self, beginning: Option<&str>) -> Result<Pruned> {
        let kept = usize::try_from(self.settings.number("snapshots.retention.max_count")).unwrap_or(usize::MAX);
        let since = self.home.running_since(beginning)?;
        let ids = self.beyond_count(Backend::Archive, kept.max(1), since)?;
        if ids.is_empty() {
            return Ok(Pruned::default());
        }
        let deleted = delete_records(self.home, &self.id, &ids, Why::Pruned)?;
        // What cannot be freed now is freed by the next that can.
        Ok(Pruned { deleted, freed_bytes: self.home.collect_quietly().unwrap_or(0), unfreed: None })
    }

    fn capture_native(&self, native: &dyn Native, look: Look<'_>, work: Work<'_>) -> Result<Kept> {
        let store = self.home.store();
        let id = self.home.options.ids.next("copy_", 10);
        let (place, reference) = native.place(self.path(), &id).map_err(Error::path("snapshot", self.path()))?;
        let making = store.make_copy(self.new_copy(native.backend(), id, place, reference))?;
        let (copy, path) = (making.copy().clone(), making.path());
        let own = self.root().dir_path_only(b"").and_then(|dir| dir.stat_self());
        let whole = Whole { device: own.map_err(Error::path("examine", self.path()))?.dev };
        // What changes from here on is in no snapshot, whenever that is read.
        let since = Some(belay_sys::now());
        let make = || {
            let held = making.lock_for_another()?;
            native.make(self.path(), &copy, held.as_ref().map(FileLock::file))
        };
        let captured = make()
            .and_then(|()| self.open_copy(&path))
            .map_err(Error::path("snapshot", self.path()))
            .and_then(|root| {
                let told = if look.dirty.is_none() { self.told(native, &copy, &root)? } else { None };
                let dirty = look.dirty.or(told.as_ref().map(|(base, paths)| (base, paths.as_slice())));
                let look = Look { root: Some(&root), since, dirty, ..look };
                self.with_options(look, work, |options| capture_copy(store, options, making, &whole))
            });
        Ok(Kept { captured: self.or_discard(captured, &copy)?, cloned: None })
    }

    /// Opens a copy that a filesystem made; an error if it hides what the workspace shows.
    fn open_copy(&self, path: &Path) -> io::Result<Root> {
        let root = Root::open(path)?;
        let tells = |root: &Root| root.dir_path_only(b"").and_then(|dir| dir.tells_xattrs());
        if tells(self.root())? && !tells(&root)? {
            // They would be missing from the tree, and a rollback would take them away.
            return Err(io::Error::other("the snapshot does not show extended attributes"));
        }
        Ok(root)
    }

    /// Gives up a copy that nothing came of, or that turned out to be the same as another.
    fn or_discard(&self, captured: Result<Captured>, copy: &NativeCopy) -> Result<Captured> {
        let is_kept = |captured: &Captured| captured.copy.as_ref().is_some_and(|kept| kept.id == copy.id);
        if !captured.as_ref().is_ok_and(is_kept) {
            // If this fails, gc does it.
            let _ = self.home.store().discard_copy(copy, &remove);
        }
        captured
    }

    /// The newest copy of a backend that a snapshot of this workspace is kept in, and that snapshot's tree.
    fn last_copy(&self, timeline: &Timeline, backend: Backend) -> Result<Option<(NativeCopy, Manifest)>> {
        let snapshots = timeline.snapshots().iter().rev();
        let Some(last) = snapshots.into_iter().find(|snapshot| snapshot.backend == backend) else { return Ok(None) };
        let copies = self.home.store().native_copies()?;
        let Some(copy) = copies.into_iter().find(|copy| copy.manifest == Some(last.manifest)) else { return Ok(None) };
        // A damaged snapshot is `verify`'s business; this one only costs more without it.
        Ok(Manifest::read(self.home.store(), &last.manifest).ok().map(|manifest| (copy, manifest)))
    }

    /// Says of copies beside the workspace where they are now: it may have been moved since they were recorded.
    pub(crate) fn name_places(&self, timeline: &mut Arc<Timeline>) -> Result<()> {
        let here = beside(self.path());
        let is_elsewhere = |snapshot: &Snapshot| {
            let place = snapshot.native_ref.as_deref().filter(|_| snapshot.backend == Backend::Btrfs);
            place.is_some_and(|place| Path::new(place).parent() != here.as_deref())
        };
        if !timeline.snapshots().iter().any(is_elsewhere) {
            return Ok(());
        }
        let copies = self.home.store().native_copies()?;
        for snapshot in Arc::make_mut(timeline).snapshots_mut().iter_mut().filter(|snapshot| is_elsewhere(snapshot)) {
            let is_its = |copy: &&NativeCopy| {
                copy.manifest == Some(snapshot.manifest) && copy.backend == snapshot.backend.name()
            };
            if let Some(copy) = copies.iter().find(is_its) {
                snapshot.native_ref = Some(copy.reference.clone());
            }
        }
        Ok(())
    }

    /// Patterns of where filesystems show their own snapshots inside this workspace; what lies beside one inside is never taken.
    pub(crate) fn copies_inside(&self) -> Result<Vec<String>> {
        let mut patterns: Vec<String> = Vec::new();
        for copy in self.home.store().native_copies()? {
            let CopyPlace::Outside(path) = &copy.place else { continue };
            let holder = path.parent().filter(|dir| !beside::is_beside(dir));
            let beneath = holder.and_then(|dir| dir.strip_prefix(self.path()).ok()).and_then(Path::to_str);
            let Some(beneath) = beneath.filter(|beneath| !beneath.is_empty()) else { continue };
            let literal = |c: char| if c.is_alphanumeric() || "/._-".contains(c) { vec![c] } else { vec!['\\', c] };
            let pattern = format!("/{}/", beneath.chars().flat_map(literal).collect::<String>());
            if !patterns.contains(&pattern) {
                patterns.push(pattern);
            }
        }
        Ok(patterns)
    }

    /// Writes beside a copy which snapshot it is, for whoever walks it with other tools.
    pub(crate) fn describe(&self, copy: &NativeCopy, snapshot: &Snapshot) -> Result<()> {
        if copy.backend != Backend::Clone.name() {
            return Ok(());
        }
        let Some(path) = self.home.store().copy_path(&copy.place) else { return Ok(()) };
        let path = path.with_file_name(METADATA);
        // A copy that several snapshots share is described as the first of them; a slot says which one is in it.
        if path.exists() {
            return Ok(());
        }
        let written = write_metadata(&path, &self.metadata_of(snapshot)).and_then(|file| file.sync_all());
        written.map_err(Error::path("write", &path))
    }

    fn metadata_of(&self, snapshot: &Snapshot) -> String {
        let text = serde_json::json!({
            "slot": snapshot.slot,
            "timestamp": snapshot.created_at,
            "epoch_secs": snapshot.created_at.as_second(),
            "epoch_millis": snapshot.created_at.as_millisecond(),
            "origin": snapshot.origin,
            "name": snapshot.label,
            "hash": snapshot.root.to_hex(),
            "id": snapshot.id,
            "number": snapshot.number,
            "type": snapshot.kind,
            "workspace": crate::record::PathText::from(std::os::unix::ffi::OsStrExt::as_bytes(self.path().as_os_str())),
        });
        format!("{text:#}\n")
    }
}

fn write_metadata(path: &Path, text: &str) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}
