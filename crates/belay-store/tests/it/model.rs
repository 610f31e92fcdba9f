//! Random worlds and random deeds: every way to look agrees, and every way back ends where it began.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use belay_store::{
    Algorithm, ApplyOptions, CaptureOptions, Captured, Filter, Limits, Manifest, MtimePolicy, OnDamage, OnStop, Quiet,
    Root, Scope, Source, Store, View, apply, capture, plan, preview,
};
use belay_testkit::{Ignore, Kind, TempWorkspace, World, assert_same_world, diff_worlds};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::deeds::{Deed, deed};
use crate::twin::Twin;

struct Model {
    ws: TempWorkspace,
    store: Store,
    root: Root,
    filter: Filter,
    stop: AtomicBool,
    states: Vec<(World, Manifest)>,
}

impl Model {
    fn new(filter: Filter) -> Model {
        let ws = TempWorkspace::new();
        let store = Store::open(Arc::new(Twin::default()), Algorithm::Blake3).unwrap();
        let root = Root::open(ws.path()).unwrap();
        Model { ws, store, root, filter, stop: AtomicBool::new(false), states: Vec::new() }
    }

    fn options<'a>(&'a self, cache: &'a str, source: Source<'a>, keep: Option<&'a Manifest>) -> CaptureOptions<'a> {
        CaptureOptions {
            root: &self.root,
            filter: &self.filter,
            cache,
            is_live: &|_| true,
            keep,
            source,
            limits: Limits::default(),
            cross_mounts: false,
            own_prefixes: &[],
            clock: &belay_sys::now,
            progress: &Quiet,
            stop: &self.stop,
        }
    }

    fn capture(&self, cache: &str, source: Source<'_>) -> Captured {
        let captured = capture(&self.store, &self.options(cache, source, None)).unwrap();
        captured.save_cache().unwrap();
        captured
    }

    /// Looks in every way; all see the same, and it is new exactly if the world is.
    fn look(&mut self, touched: &[Vec<u8>]) {
        let world = self.ws.walk();
        let full = preview(&self.store, &self.options("none", Source::Full, None)).unwrap().manifest;
        let seen = preview(&self.store, &self.options("walk", Source::Walk, None)).unwrap().manifest;
        assert_eq!(seen, full, "a preview saw something else");
        assert_eq!(self.capture("walk", Source::Walk).manifest, full, "a walk saw something else");
        let dirty = match self.states.last() {
            Some((_, base)) => self.capture("dirty", Source::Dirty { base, paths: touched }),
            None => self.capture("dirty", Source::Walk),
        };
        if dirty.manifest != full {
            let apart = self.told_apart(&dirty.manifest, &full);
            panic!("a dirty set saw something else: {touched:?}\n{}", apart.join("\n"));
        }
        if self.filter == Filter::everything() {
            for (other, manifest) in &self.states {
                self.same_iff_same(other, manifest, &world, &full);
            }
        }
        self.states.push((world, full));
    }

    /// The entries in which two captures differ, both of which the store has.
    fn told_apart(&self, one: &Manifest, other: &Manifest) -> Vec<String> {
        let mut found = Vec::new();
        let mut pairs = vec![(Vec::new(), one.root.clone(), other.root.clone())];
        while let Some((path, one, other)) = pairs.pop() {
            let is_same_kind = match (&one.kind, &other.kind) {
                (belay_store::Kind::Dir { node, .. }, belay_store::Kind::Dir { node: other, .. }) if node != other => {
                    let (ours, theirs) = (self.store.node(node).unwrap(), self.store.node(other).unwrap());
                    let names = ours.entries.iter().chain(&theirs.entries).map(|entry| &entry.name);
                    for name in names.collect::<BTreeSet<_>>() {
                        let path = [path.as_slice(), b"/", name].concat();
                        match (ours.get(name), theirs.get(name)) {
                            (Some(ours), Some(theirs)) => pairs.push((path, ours.clone(), theirs.clone())),
                            (ours, theirs) => {
                                found.push(format!("{}: {ours:?} / {theirs:?}", belay_testkit::show(&path)));
                            }
                        }
                    }
                    true
                }
                (kind, other) => kind == other,
            };
            if !is_same_kind || one.meta != other.meta {
                found.push(format!("{}: {one:?} / {other:?}", belay_testkit::show(&path)));
            }
        }
        found
    }

    fn same_iff_same(&self, world: &World, manifest: &Manifest, other: &World, other_manifest: &Manifest) {
        let not_identity = Ignore { mtime: true, directory_mtime: true, owner: true, ..Ignore::default() };
        let differences = diff_worlds(world, other, not_identity);
        let same = manifest.identity == other_manifest.identity;
        if differences.is_empty() {
            assert!(same, "one world has two identities");
        } else if !diff_worlds(world, other, Ignore { holes: true, ..not_identity }).is_empty() {
            assert!(!same, "two worlds have one identity:\n{}", differences.join("\n"));
        }
    }

    /// Takes the workspace back to an earlier state and looks again.
    fn restore(&mut self, state: usize) {
        let (world, target) = self.states[state].clone();
        let safety = capture(&self.store, &self.options("walk", Source::Walk, Some(&target))).unwrap();
        let links = safety.manifest.links(&self.store).unwrap();
        let view = View::stored(&self.store);
        let is_root = belay_testkit::is_root();
        let plan = plan(view, &safety.manifest, &links, &target, &Scope::new(Vec::new()), is_root).unwrap();
        let options = ApplyOptions {
            mtime: MtimePolicy::Exact,
            prefix: b".belay-restore-",
            progress: &Quiet,
            stop: &self.stop,
            on_stop: OnStop::OldState,
            on_damage: OnDamage::Refuse,
            faults: None,
        };
        let wrecked = self.ws.walk();
        let applied = apply(&self.store, &self.root, &plan, &options).unwrap();
        assert_eq!((&plan.left[..], &applied.left[..]), (&[][..], &[][..]));
        let restored = self.ws.walk();
        assert_same_world(&world, &restored, Ignore { mtime: true, directory_mtime: true, ..Ignore::default() });
        times_came_back(&world, &wrecked, &restored);
        let after = self.capture("walk", Source::Walk).manifest;
        assert_eq!(after.identity, target.identity, "what came back is captured as something else");
        let full = preview(&self.store, &self.options("none", Source::Full, None)).unwrap().manifest;
        assert_eq!(after, full, "a walk after the way back saw something else");
    }
}

/// A file whose content the way back changed has its old time; one that it did not change has the time it had.
fn times_came_back(world: &World, wrecked: &World, restored: &World) {
    for (path, seen) in world.iter().filter(|(_, seen)| seen.kind == Kind::File) {
        let was = wrecked.get(path).filter(|was| was.kind == Kind::File);
        let is_same = was.is_some_and(|was| was.content == seen.content && was.inode == restored[path].inode);
        let time = restored[path].mtime;
        let name = belay_testkit::show(path);
        match was {
            Some(was) if is_same => assert!(time == was.mtime || time == seen.mtime, "{name}: a time of its own"),
            _ => assert_eq!(time, seen.mtime, "{name}: its time did not come back"),
        }
    }
}

fn cases(usual: u32) -> u32 {
    if std::env::var("BELAY_CRASH").is_ok_and(|value| value == "full") { usual * 50 } else { usual }
}

fn run<S: Strategy>(cases: u32, strategy: S, test: impl Fn(S::Value)) {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let seed = std::env::var("BELAY_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(7u8);
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]));
    runner
        .run(&strategy, |value| {
            test(value);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

fn rounds(count: usize) -> impl Strategy<Value = Vec<Vec<Deed>>> {
    prop::collection::vec(prop::collection::vec(deed(), 1..18), count)
}

#[test]
fn every_way_to_look_sees_the_same() {
    run(cases(30), rounds(4), |rounds| {
        let mut model = Model::new(Filter::default());
        for deeds in &rounds {
            let touched: Vec<_> = deeds.iter().flat_map(|deed| deed.perform(&model.ws)).collect();
            model.look(&touched);
        }
    });
}

#[test]
fn every_way_back_ends_where_it_began() {
    run(cases(30), (rounds(4), 0..3usize, 0..3usize), |(rounds, first, second)| {
        let mut model = Model::new(Filter::everything());
        for deeds in &rounds {
            let touched: Vec<_> = deeds.iter().flat_map(|deed| deed.perform(&model.ws)).collect();
            model.look(&touched);
        }
        for state in [first, second, 3] {
            model.restore(state);
        }
    });
}
