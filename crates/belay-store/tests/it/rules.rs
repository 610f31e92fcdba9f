//! An ignore file that changes is judged where it has a say, and nothing else is looked at for it.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use belay_store::{CaptureOptions, GapKind, Ignored, Manifest, Progress, Root, Source, capture, preview};

use crate::world::Bench;

/// Counts the entries that a capture deals with.
#[derive(Default)]
struct Counting(AtomicU64);

impl Progress for Counting {
    fn advance(&self, entries: u64, _bytes: u64) {
        self.0.fetch_add(entries, Ordering::Relaxed);
    }
    fn expect(&self, _entries: u64, _bytes: u64) {}
}

/// Three hundred files that no nested ignore file speaks of, and two projects with one each.
fn projects() -> Bench {
    let bench = Bench::new();
    for n in 0..300 {
        bench.workspace.file(format!("docs/{n}/page"), "page");
    }
    for project in ["a", "b/inner"] {
        bench
            .workspace
            .file(format!("{project}/.gitignore"), "node_modules/\n")
            .file(format!("{project}/.git/info/exclude"), "# nothing\n")
            .file(format!("{project}/web/package.json"), "{}")
            .file(format!("{project}/web/node_modules/x/index.js"), "x")
            .file(format!("{project}/web/build.log"), "log");
    }
    // Past the time within which a change could leave the same timestamps.
    std::thread::sleep(std::time::Duration::from_millis(40));
    bench
}

fn left(bench: &Bench, manifest: &Manifest) -> Vec<(String, GapKind)> {
    let gaps = manifest.coverage(&bench.store).unwrap().gaps;
    gaps.into_iter().map(|gap| (String::from_utf8(gap.path).unwrap(), gap.kind)).collect()
}

/// What a capture of these paths finds, and how many entries it dealt with.
fn looked(bench: &Bench, base: &Manifest, paths: &[&str]) -> (Manifest, u64) {
    let root = Root::open(bench.path()).unwrap();
    let counting = Counting::default();
    let paths: Vec<Vec<u8>> = paths.iter().map(|path| path.as_bytes().to_vec()).collect();
    let source = Source::Dirty { base, paths: &paths };
    let options = CaptureOptions { progress: &counting, ..bench.options(&root, source) };
    let captured = capture(&bench.store, &options).unwrap();
    captured.save_cache().unwrap();
    (captured.manifest.clone(), counting.0.into_inner())
}

#[test]
fn an_ignore_file_below_the_root_has_only_its_own_directory_judged_again() {
    for (ignore, text) in [("b/inner/.gitignore", "*.o\n"), ("b/inner/.git/info/exclude", "!node_modules/\n")] {
        let bench = projects();
        let base = bench.walk().manifest;
        assert_eq!(left(&bench, &base).len(), 2);
        fs::remove_file(bench.path().join("b/inner/.gitignore")).unwrap();
        bench.workspace.file(ignore, text);
        let by_walk = {
            let root = Root::open(bench.path()).unwrap();
            preview(&bench.store, &bench.options(&root, Source::Walk)).unwrap().manifest
        };
        let (now, entries) = looked(&bench, &base, &["b/inner/.gitignore", ignore]);
        assert_eq!(left(&bench, &now), [("a/web/node_modules".to_owned(), GapKind::Regenerable)], "{ignore}");
        assert_eq!((&now, &by_walk), (&bench.full(), &bench.full()), "{ignore}");
        assert!(entries < 20, "{ignore}: {entries} entries were looked at");
        // What was found is what the next captures begin with.
        assert_eq!(bench.walk().manifest, now, "{ignore}");
    }
}

#[test]
fn ignoring_more_and_less_below_the_root_is_found_by_every_way_to_look() {
    let mut bench = projects();
    bench.filter.gitignored = Ignored::Skip;
    let mut last = bench.walk().manifest;
    for text in ["*.log\n", "web/\n", "", "node_modules/\n!web/\n"] {
        bench.workspace.file("b/inner/.gitignore", text);
        let (now, entries) = looked(&bench, &last, &["b/inner/.gitignore"]);
        assert_eq!(now, bench.full(), "{text:?}");
        assert!(entries < 20, "{text:?}: {entries} entries were looked at");
        last = now;
    }
    assert_eq!(bench.walk().manifest, last);
}

#[test]
fn a_preview_under_another_filter_keeps_only_the_directories_that_the_store_lacks() {
    let mut bench = projects();
    bench.walk();
    bench.filter.exclude_globs = vec!["*.log".to_owned()];
    let seen = bench.preview();
    assert_eq!(seen.manifest, bench.full());
    // `web` and what is above it, in both projects; the two are alike down to their times only by chance.
    assert!((1..=8).contains(&seen.nodes.len()), "{} of more than 300 directories are kept", seen.nodes.len());
    let files = seen.view(&bench.store).lookup(&seen.manifest.root, b"docs/299/page").unwrap();
    assert!(files.is_some(), "what is not kept is read from the store");
}
