//! A workspace, a store beside it, and short ways to capture and look.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use belay_store::{
    Algorithm, CaptureOptions, Captured, Filter, Hash, Limits, Manifest, Preview, Quiet, RealDisk, Root, Source, Store,
    capture, preview,
};
use belay_testkit::TempWorkspace;

pub(crate) struct Bench {
    pub(crate) workspace: TempWorkspace,
    pub(crate) store: Store,
    pub(crate) filter: Filter,
    pub(crate) limits: Limits,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        let workspace = TempWorkspace::new();
        let store = open(workspace.home());
        Bench { workspace, store, filter: Filter::default(), limits: Limits::default() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.workspace.path()
    }

    pub(crate) fn options<'a>(&'a self, root: &'a Root, source: Source<'a>) -> CaptureOptions<'a> {
        static STOP: AtomicBool = AtomicBool::new(false);
        CaptureOptions {
            root,
            filter: &self.filter,
            cache: "cache",
            is_live: &|_: &Hash| true,
            keep: None,
            source,
            limits: self.limits,
            cross_mounts: false,
            own_prefixes: &[],
            clock: &belay_sys::now,
            progress: &Quiet,
            stop: &STOP,
        }
    }

    pub(crate) fn capture(&self, source: Source<'_>) -> Captured {
        let root = Root::open(self.path()).unwrap();
        let captured = capture(&self.store, &self.options(&root, source)).unwrap();
        captured.save_cache().unwrap();
        captured
    }

    pub(crate) fn walk(&self) -> Captured {
        self.capture(Source::Walk)
    }

    pub(crate) fn preview(&self) -> Preview {
        let root = Root::open(self.path()).unwrap();
        preview(&self.store, &self.options(&root, Source::Walk)).unwrap()
    }

    /// The manifest of a capture that trusts nothing.
    pub(crate) fn full(&self) -> Manifest {
        let root = Root::open(self.path()).unwrap();
        preview(&self.store, &self.options(&root, Source::Full)).unwrap().manifest
    }
}

pub(crate) fn open(home: &Path) -> Store {
    Store::open(Arc::new(RealDisk::open(home).unwrap()), Algorithm::Blake3).unwrap()
}
