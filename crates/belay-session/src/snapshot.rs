//! Taking a snapshot: what is asked for, what is recorded, and in which order.
//!
//! The content is durable before the timeline names it, and the stat cache is written only after that: a
//! cache never describes a snapshot that nobody can find.

use std::collections::HashSet;
use std::time::Instant;

use belay_store::{
    CaptureOptions, Captured, Cloned, Filter, Hash, Limits, Manifest, NativeCopy, Root, Source, Time, View, capture,
};

use crate::backend::{BackendChoice, Kept};
use crate::budget::Spared;
use crate::error::{Error, Result};
use crate::eyes::{Eyes, Seen};
use crate::identity::{Arrival, Index};
use crate::intent::Pending;
use crate::outer::ignore_files;
use crate::overlay::Overlay;
use crate::pools::place;
use crate::record::{Backend, Cause, Kind, Origin, Pool, Record, Snapshot};
use crate::retention::Pruned;
use crate::rollback::Recovered;
use crate::timeline::Timeline;
use crate::workspace::{Work, Workspace, timeline_name};

/// What snapshot to take.
#[derive(Clone, Debug)]
pub struct SnapshotRequest {
    /// Why.
    pub kind: Kind,
    /// For whom.
    pub origin: Origin,
    /// A name for it, unique in the workspace.
    pub label: Option<String>,
    /// A text for it.
    pub description: Option<String>,
    /// Leave nothing out, regenerable directories neither.
    pub all: bool,
    /// Read every byte instead of trusting the stat cache.
    pub full: bool,
    /// What may have changed since a snapshot, from somebody who saw all changes; only that is looked at.
    pub dirty: Option<Dirty>,
    /// What caused it.
    pub cause: Cause,
    /// The pool it goes into; none for a snapshot that is only in the timeline.
    pub pool: Option<Pool>,
    /// It comes from elsewhere; the workspace was never in this state.
    pub imported: bool,
    /// Where its content is to lie; without it, where the settings say.
    pub backend: Option<BackendChoice>,
}

/// Every path that may have changed since a snapshot began to be taken.
#[derive(Clone, Debug)]
pub struct Dirty {
    /// The snapshot.
    pub since: String,
    /// The paths; a directory stands for everything beneath it.
    pub paths: Vec<Vec<u8>>,
}

impl Default for SnapshotRequest {
    fn default() -> Self {
        SnapshotRequest {
            kind: Kind::Manual,
            origin: Origin::Manual,
            label: None,
            description: None,
            all: false,
            full: false,
            dirty: None,
            cause: Cause::default(),
            pool: None,
            imported: false,
            backend: None,
        }
    }
}

/// A snapshot that was taken.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// How the workspace was recognised; a copy is noticed only now.
    pub arrival: Arrival,
    /// Files that had to be read.
    pub files_read: u64,
    /// The names of files that have several, here or elsewhere: device, number and path.
    pub linked: Vec<(u64, u64, Vec<u8>)>,
    /// How files came into the copy of the backend `clone`.
    pub cloned: Option<Cloned>,
    /// Interrupted rollbacks that were finished or reversed first.
    pub recovered: Vec<Recovered>,
    /// What went to keep the store within its budget.
    pub thinned: Pruned,
    /// Whether the store is over its budget all the same.
    pub over_budget: bool,
}

/// How to look at the workspace.
#[derive(Clone, Copy, Default)]
pub(crate) struct Look<'a> {
    /// Leave nothing out.
    pub(crate) all: bool,
    /// Read every byte.
    pub(crate) full: bool,
    /// Look as this snapshot did, and capture its paths whatever the filter says.
    pub(crate) keep: Option<&'a Manifest>,
    /// Look only at these paths; the rest is as in this snapshot.
    pub(crate) dirty: Option<(&'a Manifest, &'a [Vec<u8>])>,
    /// Look at this directory as if it were the workspace.
    pub(crate) root: Option<&'a Root>,
    /// That directory is as the workspace was no earlier than then.
    pub(crate) since: Option<Time>,
    /// Bytes that the store may grow by.
    pub(crate) room: Option<u64>,
}

impl Look<'_> {
    /// Whether it sees what every other such look sees.
    fn is_plain(&self) -> bool {
        !self.all && self.keep.is_none() && self.dirty.is_none() && self.root.is_none()
    }
}

/// A look at a workspace that somebody sees all changes of, or nobody.
pub(crate) struct Watched<'a> {
    eyes: Option<&'a Eyes>,
    seen: Option<Seen>,
    base: Option<Manifest>,
}

impl Watched<'_> {
    /// The look, at no more than what changed.
    pub(crate) fn narrow<'l>(&'l self, look: Look<'l>) -> Look<'l> {
        match (&self.base, self.seen.as_ref().and_then(|seen| seen.since.as_ref())) {
            (Some(base), Some((_, paths))) => Look { dirty: Some((base, paths)), ..look },
            _ => look,
        }
    }

    /// Passes on that the look found this state, which the store has.
    pub(crate) fn settle(&self, key: Hash, filter: Hash, has_links: bool) {
        if let (Some(eyes), Some(seen)) = (self.eyes, &self.seen) {
            eyes.captured(seen, key, filter, has_links);
        }
    }
}

/// A layer as it is now, and the snapshot that it lies above.
struct Layered {
    root: Root,
    ground: Manifest,
    paths: Vec<Vec<u8>>,
}

impl Layered {
    fn source(&self) -> Source<'_> {
        Source::Dirty { base: &self.ground, paths: &self.paths }
    }
}

impl Workspace<'_> {
    /// Takes a snapshot.
    pub fn snapshot(&self, request: &SnapshotRequest, work: Work<'_>) -> Result<Taken> {
        self.snapshot_then(request, work, |_| {})
    }

    /// Takes a snapshot; `taken` hears of it as soon as it is durable, before the store is made ready for the next one.
    pub fn snapshot_then(
        &self,
        request: &SnapshotRequest,
        work: Work<'_>,
        taken: impl FnOnce(&Snapshot),
    ) -> Result<Taken> {
        if let Some(layer) = self.settings.disabled_by() {
            return Err(Error::Disabled { origin: layer.name().to_owned() });
        }
        let recovered = self.recover(work)?;
        let begun = Instant::now();
        let before = self.timeline()?;
        self.check(&before, request)?;
        let mut thinned = Pruned::default();
        let beginning = request.cause.run.as_deref().filter(|_| request.kind == Kind::PreRun);
        let spared = Spared { ids: &[], beginning };
        let base = self.base_of(&before, request)?;
        let dirty = base.as_ref().zip(request.dirty.as_ref().map(|dirty| dirty.paths.as_slice()));
        let look = Look { all: request.all, full: request.full, dirty, ..Look::default() };
        let backend = self.backend(request.backend)?;
        let mut capture = |room| self.capture_into(backend, Look { room, ..look }, work);
        let kept = match self.within_budget(spared, &mut thinned, &mut capture) {
            Err(Error::Store(error)) if error.is_no_space() => {
                let freed = self.make_space();
                if freed.freed_bytes == 0 {
                    return Err(error.into());
                }
                thinned.add(freed);
                self.within_budget(spared, &mut thinned, &mut capture)?
            }
            other => other?,
        };
        let Kept { captured, cloned } = kept;
        let snapshot = match self.name(&captured, request) {
            Ok(snapshot) => snapshot,
            Err(error) => {
                // What nobody will ever find takes no room.
                drop(captured);
                self.home.collect_quietly();
                return Err(error);
            }
        };
        taken(&snapshot);
        if snapshot.origin == Origin::Manual {
            // It is there, whether or not somebody can write that down.
            let _ = self.note_snapshot(&snapshot, begun.elapsed());
        }
        let arrival = self.notice_copy(&before, &captured)?;
        let files_read = captured.files_read;
        let linked = captured.linked.clone();
        self.remember(&captured);
        drop(captured);
        self.tidy_store();
        if snapshot.backend == Backend::Archive {
            thinned.add(self.thin_archives(beginning)?);
        }
        let over_budget = self.make_room(spared, &mut thinned)?.is_over();
        Ok(Taken { snapshot, arrival, files_read, linked, cloned, recovered, thinned, over_budget })
    }

    /// Keeps the store's packs few; if that fails, everything is still as readable as before.
    pub(crate) fn tidy_store(&self) {
        let _ = self.home.store().maintain();
    }

    /// The snapshot that the dirty paths of a request are to be seen against.
    fn base_of(&self, timeline: &Timeline, request: &SnapshotRequest) -> Result<Option<Manifest>> {
        // A snapshot that is gone by now cannot be built upon; then everything is looked at.
        let base = request.dirty.as_ref().and_then(|dirty| timeline.get(&dirty.since));
        Ok(base.map(|base| Manifest::read(self.home.store(), &base.manifest)).transpose()?)
    }

    pub(crate) fn check(&self, timeline: &Timeline, request: &SnapshotRequest) -> Result<()> {
        if let Some(label) = &request.label {
            timeline.check_label(label)?;
        }
        place(timeline, request.pool, self.settings.pools()).map(drop)
    }

    /// Captures the workspace; gc leaves the result alone for as long as it lives.
    pub(crate) fn capture(&self, look: Look<'_>, work: Work<'_>) -> Result<Captured> {
        let watched = self.watched(&look);
        let captured = self.with_options(watched.narrow(look), work, |options| capture(self.home.store(), options))?;
        watched.settle(captured.key, captured.manifest.filter, captured.has_links);
        Ok(captured)
    }

    /// The filter of a snapshot that is taken now.
    fn filter_now(&self) -> Result<Filter> {
        let mut filter = Filter { outer: ignore_files(self.path()), ..self.settings.filter() };
        filter.additional.extend(self.copies_inside()?);
        Ok(filter)
    }

    /// Whether the files are as in the latest snapshot, if whoever sees them knows it without a look at any of them.
    pub(crate) fn is_seen_unchanged(&self) -> Result<bool> {
        let crosses = self.settings.flag("snapshots.cross_mounts");
        let Some(eyes) = self.eyes().filter(|_| !crosses && self.layer().is_none()) else { return Ok(false) };
        let timeline = self.timeline()?;
        let Some((base, paths)) = eyes.look().since else { return Ok(false) };
        let is_latest = timeline.latest().is_some_and(|latest| latest.manifest == base.key);
        // What is left out may be another by now because of a file above the workspace.
        Ok(is_latest
            && paths.is_empty()
            && !base.has_links
            && self.home.store().key_of(&self.filter_now()?) == base.filter)
    }

    /// What whoever sees the workspace knows about a look at it.
    pub(crate) fn watched(&self, look: &Look<'_>) -> Watched<'_> {
        let eyes = self.eyes().filter(|_| look.is_plain() && self.layer().is_none());
        let seen = eyes.map(Eyes::look);
        let since = seen.as_ref().filter(|_| !look.full).and_then(|seen| seen.since.as_ref());
        // A capture that is gone by now cannot be built upon; then everything is looked at.
        let base = since.and_then(|(base, _)| Manifest::read(self.home.store(), &base.key).ok());
        Watched { eyes, seen, base }
    }

    /// Lists a capture in the timeline.
    pub(crate) fn name(&self, captured: &Captured, request: &SnapshotRequest) -> Result<Snapshot> {
        let Captured { manifest, key, stored_bytes, copy, .. } = captured;
        self.name_kept(manifest, (*key, *stored_bytes), request, copy.as_ref())
    }

    /// Lists a tree in the timeline that the store holds, and that gc is kept away from.
    pub(crate) fn name_tree(
        &self,
        manifest: &Manifest,
        key: Hash,
        stored_bytes: u64,
        request: &SnapshotRequest,
    ) -> Result<Snapshot> {
        self.name_kept(manifest, (key, stored_bytes), request, None)
    }

    fn name_kept(
        &self,
        manifest: &Manifest,
        (key, stored_bytes): (Hash, u64),
        request: &SnapshotRequest,
        copy: Option<&NativeCopy>,
    ) -> Result<Snapshot> {
        let backend = copy.and_then(|copy| Backend::ALL.into_iter().find(|one| one.name() == copy.backend));
        let now = self.home.options.clock.now();
        let timeline = self.publish(|timeline| {
            self.check(timeline, request)?;
            let place = place(timeline, request.pool, self.settings.pools())?;
            let counts = manifest.counts;
            let snapshot = Snapshot {
                id: self.free_id(timeline),
                number: timeline.next_number(),
                kind: request.kind,
                origin: request.origin,
                label: request.label.clone(),
                description: request.description.clone(),
                pool: request.pool,
                slot: place.slot,
                cause: request.cause.clone(),
                parent: timeline.latest().map(|latest| latest.id.clone()),
                created_at: timeline.instant(now),
                backend: backend.unwrap_or_default(),
                native_ref: copy.map(|copy| copy.reference.clone()),
                size_delta: stored_bytes,
                files: counts.files,
                bytes: counts.bytes,
                gaps: counts.gaps,
                all: request.all,
                root: manifest.identity,
                manifest: key,
                imported: request.imported,
                replaces: place.replaces,
            };
            copy.map(|copy| self.describe(copy, &snapshot)).transpose()?;
            Ok(vec![Record::Snapshot(Box::new(snapshot))])
        })?;
        self.show_slots(&timeline);
        Ok(timeline.latest().expect("a snapshot was just published").clone())
    }

    pub(crate) fn free_id(&self, timeline: &Timeline) -> String {
        let mut ids = std::iter::repeat_with(|| self.home.options.ids.next("snap_", 6));
        ids.find(|id| timeline.get(id).is_none()).expect("there are more ids than snapshots")
    }

    /// Calls `run` with the options of a capture or preview.
    pub(crate) fn with_options<T>(
        &self,
        look: Look<'_>,
        work: Work<'_>,
        run: impl FnOnce(&CaptureOptions<'_>) -> belay_store::Result<T>,
    ) -> Result<T> {
        let live: HashSet<Hash> = self.timeline()?.snapshots().iter().map(|snapshot| snapshot.manifest).collect();
        let pending = Pending::read(self.home.disk(), &self.id)?;
        let own_prefixes: Vec<Vec<u8>> = pending.intents.into_iter().map(|intent| intent.prefix.into_bytes()).collect();
        let layered = self.layer().map(|layer| self.layered(layer, look)).transpose()?;
        let filter = match look.keep {
            // What is about to be changed is looked at as its snapshot was: by the same rules, and by the same cache.
            Some(keep) => keep.filter(self.home.store())?,
            None if look.all => Filter { additional: self.copies_inside()?, ..Filter::everything() },
            None => self.filter_now()?,
        };
        let options = CaptureOptions {
            root: layered.as_ref().map(|layered| &layered.root).or(look.root).unwrap_or_else(|| self.root()),
            filter: &filter,
            cache: &self.file("cache"),
            is_live: &|key| live.contains(key),
            keep: look.keep,
            source: match look.dirty {
                _ if layered.is_some() => layered.as_ref().map(Layered::source).expect("it was just asked for"),
                _ if look.full => Source::Full,
                Some((base, paths)) => Source::Dirty { base, paths },
                None => Source::Walk,
            },
            limits: Limits { stored_bytes_max: look.room.unwrap_or(u64::MAX), ..self.settings.limits() },
            cross_mounts: self.settings.flag("snapshots.cross_mounts"),
            own_prefixes: &own_prefixes,
            // Compared with times that the kernel gives to files, so it must be the kernel's.
            clock: &|| look.since.unwrap_or_else(belay_sys::now),
            progress: work.progress,
            stop: work.stop,
        };
        Ok(run(&options)?)
    }

    /// What a look at a layer begins from: whatever the layer says nothing of is as in the snapshot that it lies above.
    fn layered(&self, layer: &Overlay, look: Look<'_>) -> Result<Layered> {
        let ground = self.ground()?.ok_or_else(|| Error::ForkBaseGone(self.id.clone()))?;
        let mut paths = layer.changed()?;
        paths.extend(look.dirty.into_iter().flat_map(|(_, paths)| paths.iter().cloned()));
        Ok(Layered { root: layer.open()?, ground, paths })
    }

    /// Makes the next capture cheap, if what was seen will be seen so again; a layer's inodes are others every time.
    ///
    /// Not before the first snapshot is named: beside an empty timeline a cache tells of a lost one.
    pub(crate) fn remember(&self, captured: &Captured) {
        let is_named = || self.timeline().is_ok_and(|timeline| timeline.latest().is_some());
        if self.layer().is_none() && is_named() {
            // The next capture is slower without it, and no less right.
            let _ = captured.save_cache();
        }
    }

    /// Whether a workspace that was captured for the first time is a copy of another.
    fn notice_copy(&self, before: &Timeline, captured: &Captured) -> Result<Arrival> {
        if *self.arrival() != Arrival::New || !before.snapshots().is_empty() {
            return Ok(self.arrival().clone());
        }
        for other in Index::read(self.home.disk())?.known.iter().rev().filter(|other| other.id != self.id) {
            let timeline = Timeline::read(self.home.disk(), &timeline_name(&other.id))?;
            let Some(latest) = timeline.latest() else { continue };
            // A damaged snapshot elsewhere is `verify`'s business, not this snapshot's.
            if !self.resembles(&captured.manifest, &latest.manifest).unwrap_or(false) {
                continue;
            }
            let (id, path) = (other.id.clone(), other.path());
            Index::update(self.home.disk(), |index| {
                let own = index.known.iter().find(|known| known.id == self.id)?;
                Some(own.copied_from(id))
            })?;
            return Ok(Arrival::CopiedFrom { path });
        }
        Ok(Arrival::New)
    }

    /// Whether most of what lies at the top of both trees is the same.
    fn resembles(&self, own: &Manifest, other: &Hash) -> belay_store::Result<bool> {
        let store = self.home.store();
        let (view, other) = (View::stored(store), Manifest::read(store, other)?);
        let (own, other) = (view.node(&own.root_node())?, view.node(&other.root_node())?);
        let same =
            own.entries.iter().filter(|entry| other.get(&entry.name).is_some_and(|twin| twin.same_identity(entry)));
        Ok(same.count() * 2 > own.entries.len().max(other.entries.len()))
    }
}
