//! One bit is flipped at each byte of a small store: it is found, it is never restored from, and no cache misleads.

use std::fs;
use std::path::{Path, PathBuf};

use belay_store::{Algorithm, Hash, Quiet, RealDisk, Root, Source, Store, VerifyOptions, apply, preview, verify};
use belay_testkit::{Ignore, assert_same_world};

use crate::proof::capture_everything;
use crate::restore::bed::Bed;
use crate::world::Bench;

fn stride() -> usize {
    if std::env::var("BELAY_CRASH").is_ok_and(|value| value == "full") { 1 } else { 13 }
}

/// Calls `look` with each `stride`-th byte of the file flipped, and puts the file back.
fn flip_everywhere(path: &Path, stride: usize, mut look: impl FnMut(usize)) {
    let good = fs::read(path).unwrap();
    for at in (0..good.len()).step_by(stride) {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        fs::write(path, &bad).unwrap();
        look(at);
    }
    fs::write(path, &good).unwrap();
}

fn files_of(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files
}

/// A workspace with two snapshots, the second of which shares most with the first.
fn bed() -> (Bed, Vec<Hash>) {
    let bed = Bed::new();
    let noise: Vec<u8> = (0..700u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    bed.ws.file("a", "a\n".repeat(100)).file("dir/noise", &noise).symlink("link", "a").hard_link("twin", "a");
    let first = capture_everything(&bed.store, bed.ws.path(), Source::Full).unwrap().key;
    bed.ws.file("dir/b", "b\n");
    let second = capture_everything(&bed.store, bed.ws.path(), Source::Full).unwrap().key;
    (bed, vec![first, second])
}

fn open(home: &Path) -> belay_store::Result<Store> {
    Store::open(std::sync::Arc::new(RealDisk::open(home).unwrap()), Algorithm::Blake3)
}

#[test]
fn every_flipped_bit_is_found() {
    let (bed, keys) = bed();
    let check = |name: &str, at: usize| {
        let options = VerifyOptions { deep: true, progress: &Quiet };
        let report = open(bed.ws.home()).and_then(|store| verify(&store, &keys, &options));
        assert!(
            report.is_err() || report.is_ok_and(|report| !report.damage.is_empty()),
            "byte {at} of {name} was flipped and nothing was found"
        );
    };
    for path in files_of(&bed.ws.home().join("store/packs")) {
        flip_everywhere(&path, 1, |at| check(&path.display().to_string(), at));
    }
    flip_everywhere(&bed.ws.home().join("store/format"), 1, |at| check("the format", at));
    let options = VerifyOptions { deep: true, progress: &Quiet };
    let report = verify(&open(bed.ws.home()).unwrap(), &keys, &options).unwrap();
    assert_eq!(report.damage, [], "and what was put back is whole");
}

#[test]
fn no_restore_writes_from_a_flipped_bit() {
    let (bed, _) = bed();
    let (whole, target) = (bed.ws.walk(), bed.snap());
    bed.ws.file("a", "other\n").remove("dir").file("new", "n\n");
    let safety = bed.snap();
    let mut refused = 0;
    for path in files_of(&bed.ws.home().join("store/packs")) {
        let good = fs::read(&path).unwrap();
        for at in (0..good.len()).step_by(stride()) {
            let (plan, wrecked) = (bed.plan(&bed.snap(), &target), bed.ws.walk());
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            fs::write(&path, &bad).unwrap();
            let outcome = open(bed.ws.home()).and_then(|store| apply(&store, &bed.root, &plan, &bed.options(None)));
            fs::write(&path, &good).unwrap();
            if outcome.is_err() {
                refused += 1;
                assert_same_world(&wrecked, &bed.ws.walk(), Ignore::default());
                continue;
            }
            assert_eq!(outcome.unwrap().left, [], "byte {at}");
            assert_same_world(&whole, &bed.ws.walk(), Ignore { directory_mtime: true, ..Ignore::default() });
            bed.rollback(&safety);
        }
    }
    assert!(refused > 5, "only {refused} flips hit what the restore needs");
}

#[test]
fn a_damaged_cache_costs_time_and_never_misleads() {
    damage_cache(|bench| _ = bench.workspace.file("dir/c", "c\n").file("e/f", "f\n"));
    damage_cache(|bench| _ = bench.workspace.file("dir/c", "c\n").hard_link("dir/other", "dir/c"));
}

/// Flips bits in a base and in the delta that `change` leads to.
fn damage_cache(change: impl Fn(&Bench)) {
    let bench = Bench::new();
    bench.workspace.file("a", "a\n").file("dir/b", "b\n").hard_link("dir/twin", "a").symlink("link", "a");
    std::thread::sleep(std::time::Duration::from_millis(40));
    bench.walk();
    change(&bench);
    std::thread::sleep(std::time::Duration::from_millis(40));
    let base = bench.walk().manifest;
    let full = bench.full();
    let root = Root::open(bench.path()).unwrap();
    for name in ["cache.base", "cache.delta"] {
        let path = bench.workspace.home().join(name);
        assert!(path.exists(), "{name} was not written, so it is not tested");
        flip_everywhere(&path, 1, |at| {
            for source in [Source::Walk, Source::Dirty { base: &base, paths: &[b"dir/b".to_vec()] }] {
                let seen = preview(&bench.store, &bench.options(&root, source));
                let seen = seen.unwrap_or_else(|error| panic!("byte {at} of {name}: {error}"));
                assert_eq!(seen.manifest, full, "byte {at} of {name}");
            }
        });
    }
}
