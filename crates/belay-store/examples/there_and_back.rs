//! Captures a directory, lets something go wrong in it, and takes it back.

use std::fs;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use belay_store::{
    Algorithm, ApplyOptions, CaptureOptions, Filter, Limits, MtimePolicy, OnDamage, OnStop, Quiet, RealDisk, Root,
    Scope, Source, Store, Time, View, apply, capture, plan,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    let (project, home) = (place.path().join("project"), place.path().join("home"));
    fs::create_dir(&project)?;
    fs::write(project.join("notes.txt"), "three weeks of work\n")?;

    let store = Store::open(Arc::new(RealDisk::open(&home)?), Algorithm::Blake3)?;
    let (root, filter, stop) = (Root::open(&project)?, Filter::default(), AtomicBool::new(false));
    // The store has no clock; times are compared with those of files, so an older one is always safe.
    let clock = || Time { sec: 0, nsec: 0 };
    let options = CaptureOptions {
        root: &root,
        filter: &filter,
        cache: "cache",
        is_live: &|_| false,
        keep: None,
        source: Source::Walk,
        limits: Limits::default(),
        cross_mounts: false,
        own_prefixes: &[],
        clock: &clock,
        progress: &Quiet,
        stop: &stop,
    };
    let good = capture(&store, &options)?;

    fs::remove_file(project.join("notes.txt"))?;
    fs::write(project.join("junk"), "?")?;

    // A restore is a plan between two snapshots, so that whatever it removes is in the store.
    let now = capture(&store, &CaptureOptions { keep: Some(&good.manifest), ..options })?;
    let links = now.manifest.links(&store)?;
    let steps = plan(View::stored(&store), &now.manifest, &links, &good.manifest, &Scope::default(), false)?;
    let how = ApplyOptions {
        mtime: MtimePolicy::Exact,
        prefix: b".tmp-",
        progress: &Quiet,
        stop: &stop,
        on_stop: OnStop::OldState,
        on_damage: OnDamage::Refuse,
        faults: None,
    };
    let applied = apply(&store, &root, &steps, &how)?;

    assert_eq!(fs::read_to_string(project.join("notes.txt"))?, "three weeks of work\n");
    assert!(!project.join("junk").exists());
    writeln!(std::io::stdout(), "{} paths were changed; the root is {}", applied.changed, good.manifest.identity)?;
    Ok(())
}
