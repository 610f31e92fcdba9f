//! Somebody swaps a directory for a symlink to the outside while it is captured: nothing from there is ever seen.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use belay_store::{CaptureOptions, Root, Source, View, capture};
use belay_testkit::{Ignore, Swapper, assert_same_world, walk};

use crate::proof::read_all;
use crate::world::Bench;

const SECRET: &[u8] = b"nobody may see this";

fn seconds() -> u64 {
    if std::env::var("BELAY_CRASH").is_ok_and(|value| value == "full") { 60 } else { 2 }
}

/// Captures again and again, by `source`, while the swapping goes on.
fn capture_while_swapped(by_dirty_set: bool) {
    let bench = Bench::new();
    let outside = bench.workspace.outside().join("canary");
    for dir in ["", "sub", "sub/deep"] {
        std::fs::create_dir_all(outside.join(dir)).unwrap();
        for name in ["a", "b", "secret"] {
            std::fs::write(outside.join(dir).join(name), SECRET).unwrap();
            bench.workspace.file(format!("dir/{dir}/{name}").replace("//", "/"), "inside\n");
        }
    }
    let before = walk(&outside);
    let mut last = bench.walk();
    let swapper = Swapper::with_symlink(&bench.path().join("dir"), &bench.workspace.outside().join("decoy"), &outside);
    let end = Instant::now() + Duration::from_secs(seconds());
    let mut captures = 0;
    while Instant::now() < end {
        bench.workspace.file("beside", format!("{captures}"));
        let paths = [b"dir".to_vec(), b"dir/sub/a".to_vec(), b"dir/b".to_vec(), b"beside".to_vec()];
        let base = last.manifest.clone();
        let source = if by_dirty_set { Source::Dirty { base: &base, paths: &paths } } else { Source::Walk };
        last = bench.capture(source);
        captures += 1;
        for (path, (kind, bytes)) in read_all(&bench.store, &last.key).unwrap() {
            assert!(bytes != SECRET, "{} was captured from outside: {kind}", belay_testkit::show(&path));
        }
        let dir = View::stored(&bench.store).lookup(&last.manifest.root, b"dir/sub/deep/secret").unwrap();
        assert!(dir.is_none_or(|entry| !entry.is_opaque()));
    }
    let swaps = swapper.swaps();
    drop(swapper);
    assert_same_world(&before, &walk(&outside), Ignore::NOTHING);
    assert!(swaps > 100 && captures > 5, "{swaps} swaps in {captures} captures prove nothing");
    assert_eq!(bench.walk().manifest, bench.full(), "the swapping left the cache wrong");
}

#[test]
fn a_walk_is_not_led_outside() {
    capture_while_swapped(false);
}

#[test]
fn a_dirty_set_is_not_led_outside() {
    capture_while_swapped(true);
}

/// A directory is away at each single moment of a capture and then back, with no time of its own changed.
#[test]
fn a_directory_that_was_away_for_a_moment_is_in_the_next_snapshot() {
    for by_dirty_set in [false, true] {
        for away in 0..12 {
            let bench = Bench::new();
            for path in ["dir/a", "dir/sub/a", "dir/sub/deep/a"] {
                bench.workspace.file(path, "1\n");
            }
            let settle = || std::thread::sleep(Duration::from_millis(15));
            settle();
            let base = by_dirty_set.then(|| bench.walk().manifest);
            let (here, there) = (bench.path().join("dir"), bench.workspace.outside().join("dir"));
            let moments = AtomicUsize::new(0);
            let clock = || {
                match moments.fetch_add(1, Ordering::SeqCst) {
                    now if now == away => std::fs::rename(&here, &there).unwrap(),
                    now if now == away + 1 => std::fs::rename(&there, &here).unwrap(),
                    _ => {}
                }
                belay_sys::now()
            };
            let paths = [b"dir".to_vec(), b"dir/sub/deep".to_vec()];
            let source = base.as_ref().map_or(Source::Walk, |base| Source::Dirty { base, paths: &paths });
            let root = Root::open(bench.path()).unwrap();
            let options = CaptureOptions { clock: &clock, ..bench.options(&root, source) };
            capture(&bench.store, &options).unwrap().save_cache().unwrap();
            if there.exists() {
                std::fs::rename(&there, &here).unwrap();
            }
            settle();
            assert_eq!(bench.walk().manifest, bench.full(), "away at moment {away}, by a dirty set: {by_dirty_set}");
        }
    }
}

#[test]
fn a_directory_that_goes_away_while_it_is_looked_at_fails_no_capture() {
    let bench = Bench::new();
    let dirs: Vec<_> = (0..40).map(|n| bench.path().join(format!("d{n}"))).collect();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                for dir in &dirs {
                    let _ = std::fs::create_dir(dir);
                    let _ = std::fs::write(dir.join("file"), "1");
                }
                for dir in &dirs {
                    let _ = std::fs::write(dir.join("other"), "1");
                    let _ = std::fs::remove_dir_all(dir);
                }
            }
        });
        let end = Instant::now() + Duration::from_secs(seconds());
        while Instant::now() < end {
            let taken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| bench.walk()));
            ended.store(taken.is_err(), Ordering::Relaxed);
            taken.unwrap();
        }
        ended.store(true, Ordering::Relaxed);
    });
    assert_eq!(bench.walk().manifest, bench.full());
}
