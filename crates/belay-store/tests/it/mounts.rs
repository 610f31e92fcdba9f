//! Other filesystems inside the workspace: said and not entered, and one that never answers holds nobody up.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use belay_store::{Captured, GapKind, Limits, Root, Source, View, capture};

use crate::world::Bench;

/// A mount of a filesystem whose server reads no request; whoever asks it anything waits until this is dropped.
struct Hung {
    point: PathBuf,
    server: Option<File>,
}

impl Hung {
    fn mount(point: &Path) -> Option<Hung> {
        if !belay_testkit::is_root() {
            belay_testkit::skip("a mount needs root");
            return None;
        }
        let Ok(server) = File::options().read(true).write(true).open("/dev/fuse") else {
            belay_testkit::skip("no /dev/fuse");
            return None;
        };
        let options = "fd=0,rootmode=40000,user_id=0,group_id=0";
        let mount = Command::new("mount")
            .args(["-i", "-t", "fuse", "-o", options, "hung"])
            .arg(point)
            .stdin(Stdio::from(server.try_clone().unwrap()))
            .output();
        match mount {
            Ok(output) if output.status.success() => Some(Hung { point: point.to_path_buf(), server: Some(server) }),
            Ok(output) => {
                belay_testkit::skip(&format!("mount: {}", String::from_utf8_lossy(&output.stderr).trim()));
                None
            }
            Err(error) => {
                belay_testkit::skip(&format!("mount: {error}"));
                None
            }
        }
    }
}

impl Drop for Hung {
    fn drop(&mut self) {
        // Without its server the kernel answers every request with an error.
        drop(self.server.take());
        let _ = Command::new("umount").arg("--lazy").arg(&self.point).status();
    }
}

fn capture_crossing(bench: &Bench, source: Source<'_>) -> Captured {
    let root = Root::open(bench.path()).unwrap();
    let mut options = bench.options(&root, source);
    options.cross_mounts = true;
    let captured = capture(&bench.store, &options).unwrap();
    captured.save_cache().unwrap();
    captured
}

/// Captures in another thread, so that a capture that hangs fails the test instead of hanging it.
#[track_caller]
fn gaps_in_time(bench: &Bench, crossing: bool, hung: &mut Option<Hung>) -> Vec<(Vec<u8>, GapKind)> {
    let started = Instant::now();
    std::thread::scope(|scope| {
        let work = scope.spawn(|| {
            let captured = if crossing { capture_crossing(bench, Source::Walk) } else { bench.walk() };
            assert!(View::stored(&bench.store).lookup(&captured.manifest.root, b"z/file").unwrap().is_some());
            captured.manifest.coverage(&bench.store).unwrap().gaps
        });
        while !work.is_finished() && started.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let in_time = work.is_finished();
        if !in_time {
            drop(hung.take());
        }
        let gaps = work.join().unwrap();
        assert!(in_time, "the capture hung");
        gaps.into_iter().map(|gap| (gap.path, gap.kind)).collect()
    })
}

fn bench_with_hung(dir: &str) -> Option<(Bench, Option<Hung>)> {
    let mut bench = Bench::new();
    bench.limits = Limits { answer_seconds_max: 1, ..Limits::default() };
    bench.workspace.file("a/file", "a\n").file("z/file", "z\n").file("package.json", "{}\n").dir(dir);
    let hung = Hung::mount(&bench.path().join(dir))?;
    Some((bench, Some(hung)))
}

#[test]
fn a_mount_that_never_answers_is_not_asked() {
    for dir in ["m/inside", "node_modules", ".git"] {
        let Some((bench, mut hung)) = bench_with_hung(dir) else { return };
        for _ in 0..3 {
            assert_eq!(gaps_in_time(&bench, false, &mut hung), [(dir.as_bytes().to_vec(), GapKind::Mount)]);
        }
    }
}

#[test]
fn a_mount_that_never_answers_is_given_up_when_mounts_are_entered() {
    for dir in ["m/inside", "node_modules", ".git"] {
        let Some((bench, mut hung)) = bench_with_hung(dir) else { return };
        for _ in 0..2 {
            assert_eq!(gaps_in_time(&bench, true, &mut hung), [(dir.as_bytes().to_vec(), GapKind::Hung)]);
        }
    }
}

#[test]
fn a_mount_that_hangs_after_it_was_captured_is_given_up() {
    let mut bench = Bench::new();
    bench.limits = Limits { answer_seconds_max: 1, ..Limits::default() };
    bench.workspace.file("m/file", "m\n").file("z/file", "z\n");
    std::thread::sleep(Duration::from_millis(40));
    capture_crossing(&bench, Source::Walk);
    let Some(hung) = Hung::mount(&bench.path().join("m")) else { return };
    let mut hung = Some(hung);
    assert_eq!(gaps_in_time(&bench, true, &mut hung), [(b"m".to_vec(), GapKind::Hung)]);
    assert_eq!(gaps_in_time(&bench, false, &mut hung), [(b"m".to_vec(), GapKind::Mount)]);
    drop(hung);
    let base = bench.walk().manifest;
    assert_eq!(base, bench.full(), "after it is gone everything is seen again");
}

#[test]
fn mounts_are_entered_when_asked_and_only_then() {
    let Some(small) = belay_testkit::SmallDisk::tmpfs(4 << 20) else { return };
    std::fs::create_dir_all(small.path().join("deep")).unwrap();
    std::fs::write(small.path().join("deep/file"), "mounted\n").unwrap();
    let bench = Bench::new();
    bench.workspace.file("z/file", "z\n").dir("m");
    let point = bench.path().join("m");
    assert!(Command::new("mount").arg("--bind").args([small.path(), &point]).status().unwrap().success());
    let looks = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut hung = None;
        assert_eq!(gaps_in_time(&bench, false, &mut hung), [(b"m".to_vec(), GapKind::Mount)]);
        for _ in 0..2 {
            let captured = capture_crossing(&bench, Source::Walk);
            assert_eq!(captured.manifest.counts.gaps, 0);
            let view = View::stored(&bench.store);
            assert!(view.lookup(&captured.manifest.root, b"m/deep/file").unwrap().is_some());
        }
    }));
    assert!(Command::new("umount").arg(&point).status().unwrap().success());
    looks.unwrap();
}
