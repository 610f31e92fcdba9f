//! Belay's home: the store that all workspaces share, and the workspaces that are known.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use belay_store::{Algorithm, Disk, LockMode, Packing, RealDisk, Store};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::clock::{Clock, Ids};
use crate::config::Sources;
use crate::error::{Error, Result};
use crate::fork::ForkPlace;
use crate::identity::{Arrival, Identity, Index, Place, WorkspaceInfo, former, recognise};
use crate::record::Snapshot;
use crate::timeline::Timeline;
use crate::workspace::{Workspace, timeline_name};

/// How to open belay's home.
#[derive(Clone, Debug)]
pub struct HomeOptions {
    /// The hash of a store that does not exist yet.
    pub algorithm: Algorithm,
    /// What new content is packed for.
    pub packing: Packing,
    /// The time.
    pub clock: Clock,
    /// The identifiers.
    pub ids: Ids,
    /// The time zone in which the user says `14:30`.
    pub zone: TimeZone,
    /// The user's own ignore rules for git.
    pub git_ignore: Option<String>,
}

impl Default for HomeOptions {
    fn default() -> Self {
        HomeOptions {
            algorithm: Algorithm::default(),
            packing: Packing::default(),
            clock: Clock::system(),
            ids: Ids::random(),
            zone: TimeZone::UTC,
            git_ignore: None,
        }
    }
}

/// Belay's home directory.
pub struct Home {
    path: PathBuf,
    store: Store,
    pub(crate) options: HomeOptions,
}

/// What the user agreed to when a directory becomes a workspace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Consent<'a> {
    /// That it may be a home directory or `/`.
    pub yes_really: bool,
    /// The user's home directory.
    pub home: Option<&'a Path>,
}

impl Home {
    /// Opens the directory, creating it with mode 0700 if it is missing; a newer format is refused.
    pub fn open(path: &Path, options: HomeOptions) -> Result<Home> {
        let disk = RealDisk::open(path).map_err(Error::path("open", path))?;
        Home::on(Arc::new(disk), path, options)
    }

    /// Opens a home on another disk than the directory's own, such as one that crashes.
    pub fn on(disk: Arc<dyn Disk>, path: &Path, options: HomeOptions) -> Result<Home> {
        let path = path.canonicalize().map_err(Error::path("open", path))?;
        let store = Store::open(disk, options.algorithm)?.packing(options.packing);
        crate::mend::check_packs(store.disk().as_ref(), &path)?;
        Ok(Home { path, store, options })
    }

    /// The same by a clock that goes on evenly from now on, whatever the machine's is set to.
    pub fn steady(mut self) -> Home {
        self.options.clock = self.options.clock.steady();
        self
    }

    /// Where belay's home is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The time, in the user's zone.
    pub fn now(&self) -> jiff::Zoned {
        self.options.clock.now().to_zoned(self.options.zone.clone())
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn disk(&self) -> &dyn Disk {
        self.store.disk().as_ref()
    }

    /// Every known workspace, in the order in which they were last recorded.
    pub fn workspaces(&self) -> Result<Vec<WorkspaceInfo>> {
        let info = |identity: &Identity| {
            let timeline = Timeline::read(self.disk(), &timeline_name(&identity.id))?;
            let path = identity.path();
            Ok(WorkspaceInfo {
                id: identity.id.clone(),
                created_at: identity.created_at,
                copied_from: identity.copied_from.clone(),
                fork: self.fork_of(&identity.id)?.map(|fork| fork.name),
                exists: path.is_dir(),
                path,
                snapshots: timeline.snapshots().len(),
                latest_at: timeline.latest().map(|snapshot| snapshot.created_at),
            })
        };
        Index::read(self.disk())?.known.iter().map(info).collect()
    }

    /// The nearest known workspace at or above `dir`.
    pub fn find(&self, dir: &Path, sources: &Sources) -> Result<Option<Workspace<'_>>> {
        let dir = dir.canonicalize().map_err(Error::path("open", dir))?;
        let index = Index::read(self.disk())?;
        for place in dir.ancestors().filter_map(Place::look) {
            let Some((identity, arrival)) = recognise(&index.known, &place, &Place::look) else {
                match former(&index.known, &place) {
                    Some((identity, until)) => return self.come_back(identity, until, place, sources).map(Some),
                    None => continue,
                }
            };
            self.check_apart(&place)?;
            // Before it is recorded, so that whoever is interrupted here finds it moved once more.
            self.follow(&arrival, &place)?;
            let place = match arrival {
                Arrival::Known => self.settle(identity, place)?,
                _ => self.adopt(identity, &arrival, place)?,
            };
            return Workspace::open(self, identity.id.clone(), place, arrival, sources).map(Some);
        }
        self.check_list()?;
        Ok(None)
    }

    /// The identifier of the nearest known workspace at or above `dir`, if that is where it was.
    pub(crate) fn holder(&self, dir: &Path) -> Result<Option<String>> {
        let dir = dir.canonicalize().map_err(Error::path("open", dir))?;
        let index = Index::read(self.disk())?;
        let found = dir.ancestors().filter_map(Place::look).find_map(|place| {
            let (identity, arrival) = recognise(&index.known, &place, &Place::look)?;
            Some((arrival == Arrival::Known).then(|| identity.id.clone()))
        });
        Ok(found.flatten())
    }

    /// Keeps the recorded path of a workspace that is seen by another one, and refreshes a changed device number.
    fn settle(&self, identity: &Identity, place: Place) -> Result<Place> {
        if identity.path() == place.path && *identity != identity.at(&place) {
            return self.adopt(identity, &Arrival::Known, place);
        }
        Ok(place)
    }

    fn adopt(&self, identity: &Identity, arrival: &Arrival, place: Place) -> Result<Place> {
        Index::update(self.disk(), |_| Some(identity.arrived(arrival, &place, self.options.clock.now())))?;
        Ok(place)
    }

    /// A directory that turns up after another took its place: it gets a history of its own, which begins with what it had.
    fn come_back(&self, was: &Identity, until: Timestamp, place: Place, sources: &Sources) -> Result<Workspace<'_>> {
        self.check_apart(&place)?;
        let arrival = Arrival::Moved { from: was.path() };
        let mut id = self.options.ids.next("ws_", 10);
        // While the other's is held, nothing that is copied here goes.
        let lock = format!("workspaces/{}/lock", was.id);
        let held = self.disk().lock(&lock, LockMode::Exclusive, true).map_err(Error::disk("lock", &lock))?;
        let timeline = Timeline::read(self.disk(), &timeline_name(&was.id))?.until(until);
        let mut copied = Ok(());
        Index::update(self.disk(), |index| match recognise(&index.known, &place, &Place::look) {
            // Another process was faster.
            Some((identity, _)) => {
                id = identity.id.clone();
                None
            }
            None => {
                copied = timeline.rewrite(self.disk(), &timeline_name(&id));
                copied.is_ok().then(|| Identity::new(id.clone(), &place, was.created_at))
            }
        })?;
        copied?;
        drop(held);
        self.follow(&arrival, &place)?;
        Workspace::open(self, id, place, arrival, sources)
    }

    /// The nearest known workspace at or above `dir`, else `dir` itself as a new one.
    pub fn find_or_create(&self, dir: &Path, consent: Consent<'_>, sources: &Sources) -> Result<Workspace<'_>> {
        if let Some(workspace) = self.find(dir, sources)? {
            return Ok(workspace);
        }
        self.create(dir, consent, sources)
    }

    /// The directory `dir` itself as a workspace, even if one above it is known.
    pub fn create(&self, dir: &Path, consent: Consent<'_>, sources: &Sources) -> Result<Workspace<'_>> {
        let dir = dir.canonicalize().map_err(Error::path("open", dir))?;
        let not_dir = || std::io::Error::from(std::io::ErrorKind::NotADirectory);
        let place = Place::look(&dir).ok_or_else(not_dir).map_err(Error::path("open", &dir))?;
        let holds_home = consent.home.is_some_and(|home| holds(&place, home));
        if !consent.yes_really && (dir.parent().is_none() || holds_home) {
            return Err(Error::NeedsConsent(dir));
        }
        self.check_apart(&place)?;
        self.check_list()?;
        let index = Index::read(self.disk())?;
        if let (None, Some((was, until))) =
            (recognise(&index.known, &place, &Place::look), former(&index.known, &place))
        {
            return self.come_back(was, until, place, sources);
        }
        let created_at = self.options.clock.now();
        let mut result = (self.options.ids.next("ws_", 10), Arrival::New);
        // Two processes may meet the directory at the same moment: under the lock one of them finds it known.
        Index::update(self.disk(), |index| match recognise(&index.known, &place, &Place::look) {
            Some((identity, arrival)) => {
                result = (identity.id.clone(), arrival);
                (result.1 != Arrival::Known).then(|| identity.arrived(&result.1, &place, created_at))
            }
            None => Some(Identity::new(result.0.clone(), &place, created_at)),
        })?;
        self.follow(&result.1, &place)?;
        Workspace::open(self, result.0, place, result.1, sources)
    }

    /// Finds what filesystems keep of a workspace again after it was moved.
    fn follow(&self, arrival: &Arrival, place: &Place) -> Result<()> {
        if let Arrival::Moved { from } = arrival {
            self.store.relocate_copies(&|path| crate::backend::place_after(path, from, &place.path))?;
        }
        Ok(())
    }

    /// The known workspace of that id, if its directory is still there.
    pub fn workspace(&self, id: &str, sources: &Sources) -> Result<Workspace<'_>> {
        if let Some(fork) = self.fork_of(id)?.filter(|fork| fork.place == ForkPlace::Layer) {
            return self.open_fork(&fork, sources);
        }
        let index = Index::read(self.disk())?;
        let identity = index.known.iter().find(|identity| identity.id == id);
        let path = identity.ok_or_else(|| Error::NoWorkspace(id.into()))?.path();
        let place = Place::look(&path).ok_or_else(|| Error::NoWorkspace(path.clone()))?;
        match recognise(&index.known, &place, &Place::look) {
            Some((identity, arrival)) if identity.id == id => {
                Workspace::open(self, id.to_owned(), place, arrival, sources)
            }
            _ => Err(Error::NoWorkspace(path)),
        }
    }

    /// The snapshot of that name of the workspace that was last seen at a path, also if the directory is gone.
    pub fn resolve_at(&self, path: &Path, name: &str) -> Result<Snapshot> {
        let index = Index::read(self.disk())?;
        let identity = index.known.iter().rfind(|identity| identity.path() == path);
        let id = &identity.ok_or_else(|| Error::NoWorkspace(path.to_path_buf()))?.id;
        Timeline::read(self.disk(), &timeline_name(id))?.resolve(name, &self.now()).cloned()
    }

    /// Refuses to write anything of the user's into belay's home, by whatever path.
    pub(crate) fn check_outside(&self, path: &Path) -> Result<()> {
        // The last of the directories above it that exists says where it will be, whatever links are in between.
        let existing = path.ancestors().find_map(|above| above.canonicalize().ok());
        match (Place::look(&self.path), existing) {
            (Some(own), Some(existing)) if holds(&own, &existing) => {
                Err(Error::InsideHome { home: self.path.clone(), path: path.to_path_buf() })
            }
            _ => Ok(()),
        }
    }

    /// Refuses a workspace that holds belay's home or lies in it, by whatever paths.
    fn check_apart(&self, place: &Place) -> Result<()> {
        let (home, workspace) = (self.path.clone(), place.path.clone());
        if holds(place, &self.path) {
            return Err(Error::HomeInWorkspace { home, workspace });
        }
        let Some(own) = Place::look(&self.path) else { return Ok(()) };
        if holds(&own, &place.path) {
            return Err(Error::WorkspaceInHome { home, workspace });
        }
        Ok(())
    }
}

/// Whether the directory is `path` or above it, by whatever paths.
fn holds(place: &Place, path: &Path) -> bool {
    path.ancestors().filter_map(Place::look).any(|above| above.is(place))
}
