//! One workspace: the directory, its timeline and its settings; the commands that act on it are elsewhere.
//!
//! Its files are beneath `workspaces/<id>/`. Readers take no lock; `lock` is held for no longer than it takes
//! to append to the timeline.

use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use belay_journal::Notebook;
use belay_store::{Hash, LockMode, Manifest, Progress, Root};

use crate::config::{Settings, Sources};
use crate::error::{Error, Result};
use crate::eyes::{Eyes, Sight};
use crate::given_up;
use crate::guard::Guard;
use crate::home::Home;
use crate::identity::{Arrival, Index, Place};
use crate::log::Log;
use crate::overlay::Overlay;
use crate::record::{Record, Snapshot};
use crate::spare;
use crate::timeline::{Reading, Timeline, payloads};
use crate::trust::Trust;

/// Who watches a piece of work, and how it is told to stop.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// Who is told how far it is.
    pub progress: &'a dyn Progress,
    /// Set to stop.
    pub stop: &'a AtomicBool,
}

/// A workspace that is open.
pub struct Workspace<'h> {
    pub(crate) home: &'h Home,
    pub(crate) id: String,
    path: PathBuf,
    root: Root,
    arrival: Arrival,
    pub(crate) settings: Settings,
    pub(crate) trust: Trust,
    /// The changes above the directory, if this is a fork that has none of its own.
    layer: Option<Overlay>,
    /// The snapshot that the layer lies above, if no record of a fork says it.
    above: Option<Manifest>,
    /// The timeline as it was last read.
    memory: Mutex<Option<Reading>>,
    /// Who sees what changes in it.
    sight: Sight,
    /// What whoever asks is kept from.
    guard: Option<Arc<Guard>>,
    /// The records of conversations that were added to.
    pub(crate) notebooks: Mutex<HashMap<String, Notebook>>,
}

/// With less room than this not even a record fits.
const ROOM_BYTES_MIN: u64 = 64 << 10;

/// The name of a workspace's timeline beneath belay's home.
pub(crate) fn timeline_name(id: &str) -> String {
    format!("workspaces/{id}/timeline")
}

impl<'h> Workspace<'h> {
    pub(crate) fn open(
        home: &'h Home,
        id: String,
        place: Place,
        arrival: Arrival,
        sources: &Sources,
    ) -> Result<Workspace<'h>> {
        let root = Root::open(&place.path).map_err(Error::path("open", &place.path))?;
        let (settings, trust) = crate::trust::settle(home, &id, &root, sources)?;
        let root = root.crossing(settings.flag("snapshots.cross_mounts"));
        Ok(Workspace {
            home,
            id,
            path: place.path,
            root,
            arrival,
            settings,
            trust,
            layer: None,
            above: None,
            memory: Mutex::default(),
            sight: Sight::default(),
            guard: None,
            notebooks: Mutex::default(),
        })
    }

    /// A layer of changes above the directory of `origin`, as a workspace.
    pub(crate) fn open_layered(
        home: &'h Home,
        id: String,
        place: Place,
        layer: Overlay,
        origin: &str,
        sources: &Sources,
    ) -> Result<Workspace<'h>> {
        let root = layer.open()?;
        let (settings, trust) = crate::trust::settle(home, origin, &root, sources)?;
        Ok(Workspace {
            home,
            id,
            path: place.path,
            root,
            arrival: Arrival::Known,
            settings,
            trust,
            layer: Some(layer),
            above: None,
            memory: Mutex::default(),
            sight: Sight::default(),
            guard: None,
            notebooks: Mutex::default(),
        })
    }

    /// The same, seen by somebody, so that a look at it costs what changed.
    pub fn seen_by(self, sight: Sight) -> Workspace<'h> {
        Workspace { sight, ..self }
    }

    /// The same for somebody who is kept from some of it: that is not changed, and what is hidden is not told of.
    pub fn guarded_by(self, guard: Option<Arc<Guard>>) -> Workspace<'h> {
        Workspace { guard, ..self }
    }

    /// What whoever asks is kept from.
    pub(crate) fn guard(&self) -> Guard {
        self.guard.as_deref().cloned().unwrap_or_default()
    }

    /// Whether whoever asks must not learn of some of it.
    pub fn hides_something(&self) -> bool {
        self.guard.as_ref().is_some_and(|guard| guard.hides())
    }

    /// Who sees what changes in it.
    pub(crate) fn eyes(&self) -> Option<&Eyes> {
        self.sight.get()
    }

    /// The same, with the snapshot that its layer lies above.
    pub(crate) fn above(self, ground: Manifest) -> Workspace<'h> {
        Workspace { above: Some(ground), ..self }
    }

    /// The snapshot that its layer was said to lie above.
    pub(crate) fn said_above(&self) -> Option<&Manifest> {
        self.above.as_ref()
    }

    /// The changes above the directory, if it has none of its own.
    pub(crate) fn layer(&self) -> Option<&Overlay> {
        self.layer.as_ref()
    }

    /// Whether it is seen only by what `belay run --fork` starts.
    pub fn is_layered(&self) -> bool {
        self.layer.is_some()
    }

    /// Belay's home.
    pub fn home(&self) -> &'h Home {
        self.home
    }

    /// `ws_` and ten base-36 characters.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory as an open handle.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Whether the directory at its path is still the one that was opened.
    pub fn is_in_place(&self) -> bool {
        let opened = self.root.dir_path_only(b"").and_then(|dir| dir.stat_self());
        opened.is_ok_and(|opened| crate::eyes::number(&self.path) == Some((opened.dev, opened.ino)))
    }

    /// Refuses if nothing can be captured because belay's own home cannot be written.
    pub fn check_writable(&self) -> Result<()> {
        for name in ["store".to_owned(), format!("workspaces/{}", self.id)] {
            belay_sys::check_writable(&self.home.path().join(&name)).map_err(Error::disk("write", &name))?;
        }
        let full = || std::io::Error::from(std::io::ErrorKind::StorageFull);
        let is_full = self.home.disk().free_bytes().is_ok_and(|free| free < ROOM_BYTES_MIN);
        if is_full { Err(Error::disk("write", "store")(full())) } else { Ok(()) }
    }

    /// Whether belay still knows it: somebody may have forgotten its history since it was opened.
    pub fn is_known(&self) -> Result<bool> {
        Index::has(self.home.disk(), &self.id)
    }

    /// Whether the directory was removed; one that was moved away is still there.
    pub(crate) fn is_gone(&self) -> bool {
        self.root.dir_path_only(b"").and_then(|dir| dir.stat_self()).is_ok_and(|opened| opened.nlink == 0)
    }

    /// The directory as a handle through which it may be changed.
    pub(crate) fn writable(&self) -> Result<Root> {
        match &self.layer {
            Some(layer) => layer.open_writable(),
            None => self.root.try_clone().map_err(Error::path("open", &self.path)),
        }
    }

    /// How it was recognised.
    pub fn arrival(&self) -> &Arrival {
        &self.arrival
    }

    /// The configuration in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The timeline as it is now.
    pub fn timeline(&self) -> Result<Arc<Timeline>> {
        let mut memory = self.memory.lock().expect("no holder panics");
        let name = timeline_name(&self.id);
        let mut reading = Reading::new(self.home.disk(), &name, memory.take())?.unless_lost(&name)?;
        self.name_places(&mut reading.timeline)?;
        Ok(Arc::clone(&memory.insert(reading).timeline))
    }

    /// Refuses if its timeline is lost; for whoever has no other use for it.
    pub fn check_history(&self) -> Result<()> {
        match Log::begins(self.home.disk(), &timeline_name(&self.id)) {
            true => Ok(()),
            false => self.timeline().map(drop),
        }
    }

    /// The snapshot that `name` names at this moment.
    pub fn resolve(&self, name: &str) -> Result<Snapshot> {
        self.meant(&*self.timeline()?, name)
    }

    /// The same in a timeline that was read before.
    pub(crate) fn meant(&self, timeline: &Timeline, name: &str) -> Result<Snapshot> {
        match self.named(timeline, name).cloned() {
            // Whose it is is not known, so that it is shown to nobody who is kept from something.
            Err(error @ (Error::UnknownSnapshot { .. } | Error::NoSnapshots)) if self.guard.is_none() => {
                self.home.set_aside_snapshot(name)?.ok_or(error)
            }
            found => found,
        }
    }

    /// The snapshot of that name in the timeline; the name of a run means the state before it.
    pub(crate) fn named<'t>(&self, timeline: &'t Timeline, name: &str) -> Result<&'t Snapshot> {
        timeline.resolve(name, &self.home.now()).or_else(|error| {
            let run = match &error {
                Error::UnknownSnapshot { .. } if !name.starts_with('@') => {
                    self.home.find_run(Some(name), &|_| false).ok()
                }
                _ => None,
            };
            let before = run.filter(|run| run.workspace == self.id).and_then(|run| run.pre_run);
            before.and_then(|before| timeline.get(&before)).ok_or(error)
        })
    }

    /// The path beneath the workspace that the user, being in `cwd`, calls `path`; it need not exist.
    pub fn beneath(&self, cwd: &Path, path: &Path) -> Result<Vec<u8>> {
        let mut whole = PathBuf::new();
        for component in cwd.join(path).components() {
            match component {
                Component::ParentDir => drop(whole.pop()),
                Component::CurDir => {}
                other => whole.push(other),
            }
        }
        let outside = || Error::OutsideWorkspace { path: path.to_path_buf(), workspace: self.path.clone() };
        let relative = whole.strip_prefix(&self.path).map_err(|_| outside())?;
        Ok(relative.as_os_str().as_bytes().to_vec())
    }

    /// A file of this workspace beneath belay's home.
    pub(crate) fn file(&self, name: &str) -> String {
        format!("workspaces/{}/{name}", self.id)
    }

    /// Appends the records that `decide` makes of the timeline as it is under the lock; returns it with them.
    pub(crate) fn publish(&self, decide: impl FnOnce(&Timeline) -> Result<Vec<Record>>) -> Result<Arc<Timeline>> {
        let known = self.memory.lock().expect("no holder panics").take();
        let mut reading = publish(self.home, &self.id, known, decide)?;
        self.name_places(&mut reading.timeline)?;
        let mut memory = self.memory.lock().expect("no holder panics");
        Ok(Arc::clone(&memory.insert(reading).timeline))
    }
}

/// Appends to the timeline of the workspace of that id, whose directory may be gone.
pub(crate) fn publish(
    home: &Home,
    id: &str,
    known: Option<Reading>,
    decide: impl FnOnce(&Timeline) -> Result<Vec<Record>>,
) -> Result<Reading> {
    let disk = home.disk();
    let (name, lock) = (timeline_name(id), format!("workspaces/{id}/lock"));
    let _held = disk.lock(&lock, LockMode::Exclusive, true).map_err(Error::disk("lock", &lock))?;
    let reading = Reading::new(disk, &name, known)?.unless_lost(&name)?;
    let records = decide(&reading.timeline)?;
    if records.is_empty() {
        return Ok(reading);
    }
    // A timeline that is not there is that of a new workspace, or of one that was forgotten since it was opened.
    let _listed = if reading.log.exists() { None } else { Index::hold(disk, id)? };
    let log = reading.log.append(disk, &name, &payloads(&records))?;
    // While something is missing the spare is the proof of it.
    let spared = match reading.timeline.damage().is_empty() {
        true => spare::write(disk, &name, &log, if reading.spared == reading.log.len() { reading.spared } else { 0 }),
        false => reading.spared,
    };
    Index::set_apart(disk, id);
    let mut timeline = Arc::unwrap_or_clone(reading.timeline);
    let (mut gone, mut named) = (HashSet::new(), Vec::new());
    for record in records {
        if record.gives_up() {
            gone.extend(timeline.snapshots().iter().map(|snapshot| snapshot.manifest));
        }
        named.extend(record.names());
        timeline.apply(record);
    }
    if !gone.is_empty() {
        let still: HashSet<Hash> = timeline.snapshots().iter().map(|snapshot| snapshot.manifest).collect();
        gone.retain(|manifest| !still.contains(manifest));
    }
    given_up::note(disk, &gone.into_iter().collect::<Vec<_>>(), &named);
    if timeline.wants_rewrite(log.len()) {
        timeline.rewrite(disk, &name)?;
    }
    Ok(Reading { timeline: Arc::new(timeline), log: Arc::new(log), spared })
}
