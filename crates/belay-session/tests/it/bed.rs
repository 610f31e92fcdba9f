//! A workspace, belay's home beside it, a clock that ticks once a second when asked, and ids that repeat.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use belay_session::store::{Disk, Faults, OnDamage, Quiet};
use belay_session::{
    Clock, Consent, Error, Goal, Home, HomeOptions, Ids, Outcome, Override, RewindRequest, Snapshot, SnapshotRequest,
    Sources, Taken, Work, Workspace,
};
use belay_testkit::TempWorkspace;
use jiff::Timestamp;

pub(crate) static CALM: AtomicBool = AtomicBool::new(false);

pub(crate) fn work() -> Work<'static> {
    Work { progress: &Quiet, stop: &CALM }
}

pub(crate) struct Bed {
    pub(crate) ws: TempWorkspace,
    pub(crate) home: Home,
    pub(crate) sources: Sources,
    pub(crate) seconds: Arc<AtomicI64>,
}

impl Bed {
    pub(crate) fn new() -> Bed {
        Bed::of(TempWorkspace::new())
    }

    pub(crate) fn of(ws: TempWorkspace) -> Bed {
        let seconds = Arc::new(AtomicI64::new(1_768_900_000));
        let home = Home::open(ws.home(), options(&seconds, 1)).unwrap();
        Bed { ws, home, sources: Sources::default(), seconds }
    }

    /// On another disk than belay's home itself.
    pub(crate) fn on(self, disk: Arc<dyn Disk>) -> Bed {
        let home = Home::on(disk, self.ws.home(), options(&self.seconds, 5)).unwrap();
        Bed { home, ..self }
    }

    /// With these settings, as flags would set them.
    pub(crate) fn with(mut self, settings: &[(&str, &str)]) -> Bed {
        self.sources.flags.extend(settings.iter().map(|(key, value)| Override {
            name: "--test".into(),
            key: (*key).into(),
            value: (*value).into(),
        }));
        self
    }

    /// Another process on the same home.
    pub(crate) fn other_process(&self, seed: u64) -> Home {
        Home::open(self.ws.home(), options(&self.seconds, seed)).unwrap()
    }

    /// The same as a later process sees it, with nothing in memory.
    pub(crate) fn reopened(self) -> Bed {
        let home = self.other_process(2);
        Bed { home, ..self }
    }

    pub(crate) fn open(&self) -> Workspace<'_> {
        self.open_at(self.ws.path())
    }

    pub(crate) fn open_at(&self, dir: &Path) -> Workspace<'_> {
        self.home.find_or_create(dir, Consent::default(), &self.sources).unwrap()
    }

    pub(crate) fn snap(&self) -> Snapshot {
        self.take(&SnapshotRequest::default()).unwrap().snapshot
    }

    pub(crate) fn snap_all(&self) -> Snapshot {
        self.take(&SnapshotRequest { all: true, ..SnapshotRequest::default() }).unwrap().snapshot
    }

    pub(crate) fn label(&self, label: &str) -> Snapshot {
        self.take(&SnapshotRequest { label: Some(label.into()), ..SnapshotRequest::default() }).unwrap().snapshot
    }

    pub(crate) fn take(&self, request: &SnapshotRequest) -> Result<Taken, Error> {
        self.open().snapshot(request, work())
    }

    pub(crate) fn rewind(&self, goal: Goal) -> Result<Outcome, Error> {
        self.rewind_part(goal, &[])
    }

    pub(crate) fn rewind_part(&self, goal: Goal, paths: &[&str]) -> Result<Outcome, Error> {
        self.open().rewind(&request(goal, paths), work(), &mut |_| {})
    }

    pub(crate) fn rollback(&self, to: &Snapshot) -> Outcome {
        self.rewind(Goal::To(Some(to.id.clone()))).unwrap()
    }

    /// Rolls back until the n-th change of the workspace, and dies there.
    pub(crate) fn die_rolling_back(&self, to: &Snapshot, n: u64) -> Result<Outcome, Error> {
        let faults = Faults::default();
        faults.after.store(n, Ordering::Relaxed);
        let request = request(Goal::To(Some(to.id.clone())), &[]);
        self.open().rewind_until(&request, work(), &mut |_| {}, Some(&faults))
    }

    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.ws.join(path)).unwrap_or_else(|error| format!("<{}>", error.kind()))
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        self.open().timeline().unwrap().snapshots().iter().map(|snapshot| snapshot.id.clone()).collect()
    }
}

pub(crate) fn request(goal: Goal, paths: &[&str]) -> RewindRequest {
    let paths = paths.iter().map(|path| path.as_bytes().to_vec()).collect();
    RewindRequest { goal, paths, mtime: None, on_damage: OnDamage::Refuse }
}

pub(crate) fn options(seconds: &Arc<AtomicI64>, seed: u64) -> HomeOptions {
    let seconds = Arc::clone(seconds);
    let now = move || Timestamp::from_second(seconds.fetch_add(1, Ordering::Relaxed)).unwrap();
    HomeOptions { clock: Clock::new(now), ids: Ids::seeded(seed), ..HomeOptions::default() }
}
