//! Puts a snapshot together from memory, checks the store, and writes the snapshot into a directory.

use std::fs;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use belay_store::{
    Algorithm, ApplyOptions, Assembled, Assembly, Coverage, Filter, Limits, Meta, MtimePolicy, OnDamage, OnStop, Quiet,
    RealDisk, Scope, Store, VerifyOptions, extract, verify,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    let store = Store::open(Arc::new(RealDisk::open(&place.path().join("home"))?), Algorithm::Sha256)?;

    let batch = store.begin()?;
    let mut tree = Assembly::new(&store, &batch, Limits::default());
    let text = b"#!/bin/sh\necho hello\n";
    let program = tree.file(text.len() as u64, &[(0, text.len() as u64)], &mut text.as_slice())?;
    tree.put(b"bin/hello", Meta { mode: 0o755, ..Meta::default() }, program)?;
    let Assembled { key, manifest, .. } = tree.finish(&Filter::everything(), &Coverage::default())?;
    // As long as the lock is held no collection takes away what nobody refers to yet.
    let (_, _lock) = batch.finish()?;

    let report = verify(&store, &[key], &VerifyOptions { deep: true, progress: &Quiet })?;
    assert!(report.damage.is_empty());

    let to = place.path().join("out");
    let stop = AtomicBool::new(false);
    let how = ApplyOptions {
        mtime: MtimePolicy::Exact,
        prefix: b".tmp-",
        progress: &Quiet,
        stop: &stop,
        on_stop: OnStop::OldState,
        on_damage: OnDamage::Refuse,
        faults: None,
    };
    extract(&store, &manifest, &Scope::default(), &to, &how)?;
    assert_eq!(fs::read(to.join("bin/hello"))?, text);
    writeln!(std::io::stdout(), "{} objects are sound, and {} is written", report.objects, to.display())?;
    Ok(())
}
