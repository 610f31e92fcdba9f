//! Captures a directory into a store: `snapshot HOME DIR`.

#![allow(clippy::print_stdout, reason = "an example talks to whoever runs it")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use belay_store::{Algorithm, CaptureOptions, Filter, Limits, Quiet, RealDisk, Root, Source, Store, capture};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, home, dir] = arguments.as_slice() else { return Err("usage: snapshot HOME DIR".into()) };
    let started = Instant::now();
    let store = Store::open(Arc::new(RealDisk::open(Path::new(home))?), Algorithm::Blake3)?;
    let root = Root::open(Path::new(dir))?;
    let captured = capture(
        &store,
        &CaptureOptions {
            root: &root,
            filter: &Filter::everything(),
            cache: "cache",
            is_live: &|_| true,
            keep: None,
            source: Source::Walk,
            limits: Limits { new_bytes_max: u64::MAX, ..Limits::default() },
            cross_mounts: false,
            own_prefixes: &[],
            clock: &belay_sys::now,
            progress: &Quiet,
            stop: &AtomicBool::new(false),
        },
    )?;
    captured.save_cache()?;
    println!(
        "{} files, {} bytes stored, {} files read",
        captured.manifest.counts.files, captured.stored_bytes, captured.files_read
    );
    println!("root {} in {:?}", captured.manifest.identity, started.elapsed());
    Ok(())
}
