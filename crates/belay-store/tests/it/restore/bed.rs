//! A workspace with a store beside it, and the whole way from a capture to a restore in one call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use belay_store::{
    Algorithm, Applied, ApplyOptions, CaptureOptions, Error, Faults, Filter, Hash, Left, LeftReason, Limits, Manifest,
    MtimePolicy, OnDamage, OnStop, Plan, Quiet, RealDisk, Root, Scope, Source, Store, Time, View, apply, capture, plan,
    tidy_up,
};
use belay_testkit::TempWorkspace;

pub(crate) const PREFIX: &[u8] = b".belay-restore-";

pub(crate) struct Bed {
    pub(crate) ws: TempWorkspace,
    pub(crate) store: Store,
    pub(crate) root: Root,
    pub(crate) stop: AtomicBool,
    pub(crate) mtime: MtimePolicy,
    pub(crate) names: AtomicU64,
}

impl Bed {
    pub(crate) fn new() -> Bed {
        Bed::of(TempWorkspace::new())
    }

    pub(crate) fn of(ws: TempWorkspace) -> Bed {
        let disk = RealDisk::open(ws.home()).unwrap();
        let store = Store::open(Arc::new(disk), Algorithm::Blake3).unwrap();
        let root = Root::open(ws.path()).unwrap();
        Bed { ws, store, root, stop: AtomicBool::new(false), mtime: MtimePolicy::Exact, names: AtomicU64::new(0) }
    }

    pub(crate) fn snap(&self) -> Manifest {
        self.snap_with(&Filter::everything(), None)
    }

    pub(crate) fn snap_with(&self, filter: &Filter, keep: Option<&Manifest>) -> Manifest {
        self.snap_and_key(filter, keep).0
    }

    pub(crate) fn snap_and_key(&self, filter: &Filter, keep: Option<&Manifest>) -> (Manifest, Hash) {
        // A cache of its own for each capture: what is tested here is not the stat cache.
        let cache = format!("cache-{}", self.names.fetch_add(1, Ordering::SeqCst));
        let options = CaptureOptions {
            root: &self.root,
            filter,
            cache: &cache,
            is_live: &|_| true,
            keep,
            source: Source::Full,
            limits: Limits::default(),
            cross_mounts: false,
            own_prefixes: &[PREFIX.to_vec()],
            clock: &now,
            progress: &Quiet,
            stop: &self.stop,
        };
        let captured = capture(&self.store, &options).unwrap();
        (captured.manifest.clone(), captured.key)
    }

    pub(crate) fn plan(&self, now: &Manifest, target: &Manifest) -> Plan {
        self.plan_part(now, target, &[])
    }

    pub(crate) fn plan_part(&self, now: &Manifest, target: &Manifest, paths: &[&str]) -> Plan {
        let links = now.links(&self.store).unwrap();
        let scope = Scope::new(paths.iter().map(|path| path.as_bytes().to_vec()).collect());
        plan(View::stored(&self.store), now, &links, target, &scope, belay_testkit::is_root()).unwrap()
    }

    pub(crate) fn apply(&self, plan: &Plan) -> Result<Applied, Error> {
        self.apply_with(plan, None)
    }

    pub(crate) fn apply_with(&self, plan: &Plan, faults: Option<&Faults>) -> Result<Applied, Error> {
        apply(&self.store, &self.root, plan, &self.options(faults))
    }

    pub(crate) fn options<'a>(&'a self, faults: Option<&'a Faults>) -> ApplyOptions<'a> {
        let on_stop = OnStop::OldState;
        ApplyOptions {
            mtime: self.mtime,
            prefix: PREFIX,
            progress: &Quiet,
            stop: &self.stop,
            on_stop,
            on_damage: OnDamage::Refuse,
            faults,
        }
    }

    /// Captures the present and restores `target`.
    pub(crate) fn rollback(&self, target: &Manifest) -> Applied {
        self.rollback_part(target, &[])
    }

    pub(crate) fn rollback_part(&self, target: &Manifest, paths: &[&str]) -> Applied {
        let now = self.snap_with(&Filter::everything(), Some(target));
        let applied = self.apply(&self.plan_part(&now, target, paths)).unwrap();
        self.no_leftovers();
        applied
    }

    /// What a next command does after a restore of `plan` was interrupted.
    pub(crate) fn recover(&self, plan: &Plan, target: &Manifest) -> Applied {
        tidy_up(&self.root, plan, &self.options(None)).unwrap();
        self.rollback(target)
    }

    #[track_caller]
    pub(crate) fn no_leftovers(&self) {
        let world = self.ws.walk();
        let left: Vec<_> = world.keys().filter(|path| path.windows(PREFIX.len()).any(|part| part == PREFIX)).collect();
        assert!(
            left.is_empty(),
            "temporary files stayed: {:?}",
            left.iter().map(|p| belay_testkit::show(p)).collect::<Vec<_>>()
        );
    }

    #[track_caller]
    pub(crate) fn nothing_to_do(&self, target: &Manifest) {
        let plan = self.plan(&self.snap(), target);
        let paths: Vec<_> = plan.steps.iter().map(|step| (belay_testkit::show(step.path), step.what)).collect();
        assert!(paths.is_empty(), "still to do: {paths:?}");
    }

    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.ws.join(path)).unwrap_or_else(|error| format!("<{error}>"))
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.ws.join(path).symlink_metadata().is_ok()
    }
}

pub(crate) fn now() -> Time {
    belay_sys::now()
}

pub(crate) fn left(path: &str, reason: LeftReason) -> Left {
    Left { path: path.as_bytes().to_vec(), reason }
}
