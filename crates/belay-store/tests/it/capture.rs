//! Captures see every change, by whichever way they look, and agree with one another.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::{Duration, SystemTime};

use belay_store::{GapKind, Kind, Manifest, Packing, Quiet, Source, VerifyOptions, View, verify};

use crate::world::Bench;

fn settle() {
    // Past the time within which a change could leave the same timestamps.
    std::thread::sleep(Duration::from_millis(40));
}

fn populate(bench: &Bench) {
    for dir in ["src", "src/deep/er", "docs", "empty"] {
        fs::create_dir_all(bench.path().join(dir)).unwrap();
    }
    for n in 0..300 {
        fs::write(bench.path().join(format!("docs/{n}.txt")), format!("page {n}")).unwrap();
    }
    fs::write(bench.path().join("src/main.rs"), "fn main() {}").unwrap();
    fs::write(bench.path().join("src/deep/er/x"), "x").unwrap();
    fs::write(bench.path().join("big"), vec![7; 5 << 20]).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", bench.path().join("link")).unwrap();
    fs::hard_link(bench.path().join("src/main.rs"), bench.path().join("docs/main.rs")).unwrap();
}

#[test]
fn nothing_changed_reads_nothing_and_stores_nothing() {
    let bench = Bench::new();
    populate(&bench);
    settle();
    let first = bench.walk();
    assert!(first.files_read > 300);
    let second = bench.walk();
    assert_eq!((second.key, second.files_read, second.stored_bytes), (first.key, 0, 0));
    assert_eq!(bench.full(), first.manifest);
}

#[test]
fn a_same_size_edit_with_its_old_mtime_is_found() {
    let bench = Bench::new();
    populate(&bench);
    settle();
    let first = bench.walk();
    let path = bench.path().join("src/main.rs");
    let mtime = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "fn evil() {}").unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(mtime).unwrap();
    let second = bench.walk();
    assert_ne!(second.manifest.identity, first.manifest.identity);
    assert_eq!(second.files_read, 1, "it has two names and is read by one of them");
    assert_eq!(bench.full().identity, second.manifest.identity);
}

#[test]
fn an_edit_within_the_clock_tick_of_a_capture_is_found() {
    let bench = Bench::new();
    for round in 0..50 {
        fs::write(bench.path().join("file"), format!("{round:05}")).unwrap();
        let captured = bench.walk();
        assert_eq!(bench.full().identity, captured.manifest.identity, "round {round}");
    }
}

#[test]
fn every_kind_of_change_is_found_by_walk_and_by_dirty_set() {
    type Step = (&'static str, fn(&std::path::Path), &'static [&'static str]);
    let steps: &[Step] = &[
        ("append", |p| fs::write(p.join("docs/7.txt"), "longer than it was").unwrap(), &["docs/7.txt"]),
        (
            "chmod",
            |p| fs::set_permissions(p.join("docs/8.txt"), fs::Permissions::from_mode(0o600)).unwrap(),
            &["docs/8.txt"],
        ),
        ("remove", |p| fs::remove_file(p.join("docs/9.txt")).unwrap(), &["docs/9.txt"]),
        ("create", |p| fs::write(p.join("docs/new"), "new").unwrap(), &["docs/new"]),
        (
            "new tree",
            |p| {
                fs::create_dir_all(p.join("a/b/c")).unwrap();
                fs::write(p.join("a/b/c/d"), "d").unwrap();
            },
            &["a/b/c/d", "a", "a/b"],
        ),
        ("rename dir", |p| fs::rename(p.join("src/deep"), p.join("moved")).unwrap(), &["src/deep", "moved"]),
        (
            "rename file",
            |p| fs::rename(p.join("docs/1.txt"), p.join("empty/1.txt")).unwrap(),
            &["docs/1.txt", "empty/1.txt"],
        ),
        ("remove tree", |p| fs::remove_dir_all(p.join("a")).unwrap(), &["a"]),
        (
            "file to dir",
            |p| {
                fs::remove_file(p.join("docs/2.txt")).unwrap();
                fs::create_dir(p.join("docs/2.txt")).unwrap();
            },
            &["docs/2.txt"],
        ),
        (
            "dir to link",
            |p| {
                fs::remove_dir(p.join("docs/2.txt")).unwrap();
                std::os::unix::fs::symlink("3.txt", p.join("docs/2.txt")).unwrap();
            },
            &["docs/2.txt"],
        ),
        ("chmod dir", |p| fs::set_permissions(p.join("docs"), fs::Permissions::from_mode(0o700)).unwrap(), &["docs"]),
        ("link", |p| fs::hard_link(p.join("docs/5.txt"), p.join("five")).unwrap(), &["five", "docs/5.txt"]),
        ("unlink", |p| fs::remove_file(p.join("docs/main.rs")).unwrap(), &["docs/main.rs"]),
        (
            "edit big",
            |p| {
                use std::os::unix::fs::FileExt;
                fs::File::options().write(true).open(p.join("big")).unwrap().write_all_at(b"!", 3 << 20).unwrap();
            },
            &["big"],
        ),
        ("chmod root", |p| fs::set_permissions(p, fs::Permissions::from_mode(0o711)).unwrap(), &[""]),
    ];
    for by_dirty_set in [false, true] {
        let bench = Bench::new();
        populate(&bench);
        settle();
        let mut last = bench.walk();
        for (name, change, paths) in steps {
            change(bench.path());
            settle();
            let paths: Vec<Vec<u8>> = paths.iter().map(|path| path.as_bytes().to_vec()).collect();
            let base = last.manifest.clone();
            let source = if by_dirty_set { Source::Dirty { base: &base, paths: &paths } } else { Source::Walk };
            let seen = bench.preview().manifest.identity;
            let now = bench.capture(source);
            assert_ne!(now.manifest.identity, last.manifest.identity, "{name} went unseen");
            assert_eq!(now.manifest.identity, bench.full().identity, "{name}, dirty set: {by_dirty_set}");
            assert_eq!(now.manifest.identity, seen, "{name}: the preview saw something else");
            assert_eq!(now.manifest.counts, bench.full().counts, "{name}");
            assert!(now.files_read < 20, "{name} read {} files", now.files_read);
            last = now;
        }
        assert_eq!(bench.walk().key, last.key);
    }
}

#[test]
fn regenerable_directories_are_left_and_said() {
    let bench = Bench::new();
    fs::write(bench.path().join(".gitignore"), "node_modules/\n.env\n").unwrap();
    fs::write(bench.path().join("package.json"), "{}").unwrap();
    fs::write(bench.path().join(".env"), "SECRET=1").unwrap();
    fs::create_dir(bench.path().join("node_modules")).unwrap();
    fs::write(bench.path().join("node_modules/x.js"), "x").unwrap();
    settle();
    for round in 0..3 {
        let captured = bench.walk();
        let gaps = captured.manifest.coverage(&bench.store).unwrap().gaps;
        assert_eq!(gaps.len(), 1, "round {round}");
        assert_eq!((gaps[0].path.as_slice(), gaps[0].kind), (&b"node_modules"[..], GapKind::Regenerable));
        let view = View::stored(&bench.store);
        assert!(view.lookup(&captured.manifest.root, b".env").unwrap().is_some());
        assert!(view.lookup(&captured.manifest.root, b"node_modules").unwrap().unwrap().is_opaque());
        assert_eq!(captured.manifest.counts.gaps, 0);
    }
    fs::write(bench.path().join(".gitignore"), ".env\n").unwrap();
    let captured = bench.walk();
    assert!(captured.manifest.coverage(&bench.store).unwrap().gaps.is_empty(), "no longer ignored, so captured");
    assert_eq!(bench.full().identity, captured.manifest.identity);
}

#[test]
fn holes_stay_holes_and_a_terabyte_costs_nothing() {
    let bench = Bench::new();
    let file = fs::File::create(bench.path().join("sparse")).unwrap();
    file.set_len(1 << 40).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"data", 1 << 30).unwrap();
    let captured = bench.walk();
    let entry = View::stored(&bench.store).lookup(&captured.manifest.root, b"sparse").unwrap().unwrap();
    let Kind::File { size, content } = entry.kind else { panic!("{entry:?}") };
    assert_eq!(size, 1 << 40);
    let segments = View::stored(&bench.store).segments(size, &content).unwrap();
    assert_eq!(segments.len(), 3, "{segments:?}");
}

#[test]
fn special_files_are_captured_and_never_opened() {
    let bench = Bench::new();
    let status = std::process::Command::new("mkfifo").arg(bench.path().join("pipe")).status().unwrap();
    assert!(status.success());
    let _socket = std::os::unix::net::UnixListener::bind(bench.path().join("socket")).unwrap();
    let captured = bench.walk();
    let kind = |path: &[u8]| View::stored(&bench.store).lookup(&captured.manifest.root, path).unwrap().unwrap().kind;
    assert_eq!((kind(b"pipe"), kind(b"socket")), (Kind::Fifo, Kind::Socket));
}

#[test]
fn limits_leave_a_partial_snapshot_that_says_so() {
    let mut bench = Bench::new();
    populate(&bench);
    bench.limits.new_bytes_max = 1 << 20;
    let captured = bench.walk();
    let gaps = captured.manifest.coverage(&bench.store).unwrap().gaps;
    assert_eq!(
        gaps.iter().map(|gap| (gap.path.as_slice(), gap.kind)).collect::<Vec<_>>(),
        [(&b"big"[..], GapKind::OverLimit)]
    );
    assert_eq!(captured.manifest.counts.gaps, 1);
    bench.limits.new_bytes_max = 1 << 30;
    let captured = bench.walk();
    assert_eq!(captured.manifest.counts.gaps, 0, "the next one makes up for it");
    assert_eq!(bench.full().identity, captured.manifest.identity);
}

#[test]
fn of_a_top_with_more_entries_than_allowed_a_snapshot_holds_what_it_may_and_names_the_rest() {
    let mut bench = Bench::new();
    for name in 'a'..='f' {
        bench.workspace.file(name.to_string(), name.to_string());
    }
    bench.workspace.file("z/deep", "d");
    bench.limits.entries_max = 4;
    let captured = bench.walk();
    let gaps = captured.manifest.coverage(&bench.store).unwrap().gaps;
    let named: Vec<_> = gaps.iter().map(|gap| (gap.path.as_slice(), gap.kind)).collect();
    assert_eq!(named, [&b"e"[..], b"f", b"z"].map(|path| (path, GapKind::OverLimit)));
    assert_eq!((captured.manifest.counts.files, captured.manifest.counts.gaps), (4, 3));
    let captured = bench.walk();
    assert_eq!(captured.manifest.counts.gaps, 0, "the next one makes up for it");
    bench.limits.entries_max = 100;
    assert_eq!(bench.full().identity, captured.manifest.identity);
}

#[test]
fn the_store_does_not_change_what_it_captures() {
    let bench = Bench::new();
    populate(&bench);
    let before = fs::metadata(bench.path().join("src/main.rs")).unwrap();
    bench.walk();
    bench.preview();
    let after = fs::metadata(bench.path().join("src/main.rs")).unwrap();
    assert_eq!((before.ctime_nsec(), before.atime_nsec()), (after.ctime_nsec(), after.atime_nsec()));
    assert!(SystemTime::now() > before.modified().unwrap());
}

#[test]
fn a_busy_sqlite_database_is_captured_as_a_set_that_opens() {
    let bench = Bench::new();
    let database = bench.path().join("app.db");
    let sql = |text: &str| {
        let output = std::process::Command::new("sqlite3").arg(&database).arg(text).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    if sql("PRAGMA journal_mode=WAL; CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);").is_err() {
        belay_testkit::skip("no sqlite3");
        return;
    }
    sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<2000) INSERT INTO t(b) SELECT hex(randomblob(200)) FROM n").unwrap();
    let script = "UPDATE t SET b=hex(randomblob(200)) WHERE a%9=abs(random())%9; PRAGMA wal_checkpoint;\n";
    let mut writer = std::process::Command::new("sqlite3")
        .arg(&database)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut input = writer.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || {
        while std::io::Write::write_all(&mut input, script.as_bytes()).is_ok() {
            std::thread::sleep(Duration::from_millis(15));
        }
    });
    let mut checked = 0;
    for _ in 0..12 {
        std::thread::sleep(Duration::from_millis(30));
        let captured = bench.walk();
        let gaps = captured.manifest.coverage(&bench.store).unwrap().gaps;
        let out = tempfile::tempdir().unwrap();
        for name in ["app.db", "app.db-wal"] {
            let view = View::stored(&bench.store);
            if let Some(entry) = view.lookup(&captured.manifest.root, name.as_bytes()).unwrap() {
                let Kind::File { size, content } = entry.kind else { panic!("{entry:?}") };
                fs::write(out.path().join(name), view.bytes(size, &content).unwrap()).unwrap();
            }
        }
        let check = std::process::Command::new("sqlite3")
            .arg(out.path().join("app.db"))
            .arg("PRAGMA integrity_check")
            .output()
            .unwrap();
        if gaps.iter().all(|gap| gap.kind != GapKind::Unstable) {
            assert_eq!(String::from_utf8_lossy(&check.stdout).trim(), "ok", "{gaps:?}");
            checked += 1;
        }
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    feeder.join().unwrap();
    assert!(checked > 0, "no capture was whole");
}

#[test]
fn a_directory_replaced_by_another_of_its_name_is_seen_by_a_dirty_set() {
    let bench = Bench::new();
    populate(&bench);
    settle();
    let base = bench.walk().manifest;
    fs::remove_dir_all(bench.path().join("src")).unwrap();
    fs::create_dir(bench.path().join("src")).unwrap();
    let paths = [b"src".to_vec(), b"src/main.rs".to_vec()];
    let now = bench.capture(Source::Dirty { base: &base, paths: &paths });
    assert_eq!(now.manifest, bench.full());
}

/// A tree in which so much changed that several threads look at it, and that takes longest at its top.
fn much_changed(change: impl Fn(&Bench)) -> (Bench, Manifest, Vec<Vec<u8>>) {
    let bench = Bench::new();
    let files: Vec<String> = (0..400).map(|n| format!("f{n}")).chain((0..12).map(|n| format!("d{n}/file"))).collect();
    let write = |text: &str| {
        for file in &files {
            bench.workspace.file(file, text);
        }
    };
    bench.workspace.file("d5/.gitignore", "nothing\n");
    write("1\n");
    settle();
    let base = bench.walk().manifest;
    settle();
    write("2\n");
    change(&bench);
    settle();
    let paths = files.iter().map(|file| file.clone().into_bytes()).collect();
    (bench, base, paths)
}

#[test]
fn a_directory_that_is_looked_at_once_more_loses_nothing_that_was_seen_in_it() {
    // One beneath it is gone.
    let (bench, base, paths) = much_changed(|bench| {
        bench.workspace.remove("d5");
    });
    let now = bench.capture(Source::Dirty { base: &base, paths: &paths });
    assert_eq!(now.manifest, bench.full());
    // Other rules hold in one beneath it.
    let (bench, ..) = much_changed(|bench| {
        bench.workspace.file("d5/.gitignore", "another\n");
    });
    assert_eq!(bench.walk().manifest, bench.full());
}

#[test]
fn a_file_with_other_names_is_told_of_only_if_it_was_written_through_one_of_them() {
    let bench = Bench::new();
    populate(&bench);
    bench.workspace.file("near", "1\n").file("far/away/twin", "1\n");
    let outside = tempfile::tempdir_in(bench.path().parent().unwrap()).unwrap();
    fs::hard_link(bench.path().join("far/away/twin"), outside.path().join("twin")).unwrap();
    settle();
    let mut base = bench.walk().manifest;
    let told = |bench: &Bench| {
        let delta = fs::read(bench.workspace.home().join("cache.delta")).unwrap();
        delta.windows(8).any(|bytes| bytes == b"far/away")
    };
    for (text, is_written) in [("22\n", false), ("333\n", true)] {
        fs::write(bench.path().join("near"), text).unwrap();
        if is_written {
            fs::write(outside.path().join("twin"), text).unwrap();
        }
        settle();
        let now = bench.capture(Source::Dirty { base: &base, paths: &[b"near".to_vec()] });
        assert_eq!(now.manifest, bench.full());
        assert_eq!((now.files_read, told(&bench)), (1 + u64::from(is_written), is_written));
        base = now.manifest;
    }
}

#[test]
fn a_directory_that_becomes_regenerable_is_left_by_every_way_to_look() {
    let bench = Bench::new();
    bench.workspace.file(".gitignore", "target/\n").file("d/target/object", "o\n").file("d/main.rs", "\n");
    settle();
    let base = bench.walk().manifest;
    bench.workspace.file("d/target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n");
    settle();
    let full = bench.full();
    assert_ne!(base.identity, full.identity, "it is regenerable now");
    let paths = [b"d/target/CACHEDIR.TAG".to_vec()];
    let root = belay_store::Root::open(bench.path()).unwrap();
    for source in [Source::Walk, Source::Dirty { base: &base, paths: &paths }] {
        let seen = belay_store::preview(&bench.store, &bench.options(&root, source)).unwrap();
        assert_eq!(seen.manifest, full);
    }
}

#[test]
fn stores_through_a_shared_mapping_are_found() {
    let bench = Bench::new();
    let path = bench.path().join("mapped");
    fs::write(&path, vec![0; 8192]).unwrap();
    let script = "import mmap,sys\nf=open(sys.argv[1],'r+b'); m=mmap.mmap(f.fileno(),0)\nfor i,_ in enumerate(sys.stdin):\n m[100]=i%251+1; print(i,flush=True)";
    let python = std::process::Command::new("python3")
        .args(["-c", script])
        .arg(&path)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn();
    let Ok(mut python) = python else {
        belay_testkit::skip("no python3");
        return;
    };
    let mut input = python.stdin.take().unwrap();
    let mut output = std::io::BufRead::lines(std::io::BufReader::new(python.stdout.take().unwrap()));
    for round in 0..20 {
        std::io::Write::write_all(&mut input, b"\n").unwrap();
        output.next().unwrap().unwrap();
        settle();
        assert_eq!(bench.walk().manifest.identity, bench.full().identity, "round {round}");
    }
    drop(input);
    python.wait().unwrap();
}

#[test]
fn directories_that_come_and_go_while_they_are_walked_stop_nothing() {
    let bench = Bench::new();
    populate(&bench);
    bench.walk();
    let (path, stop) = (bench.path().to_path_buf(), std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)));
    let seen = std::sync::Arc::clone(&stop);
    let churn = std::thread::spawn(move || {
        while !seen.load(std::sync::atomic::Ordering::Relaxed) {
            for n in 0..20 {
                let dir = path.join(format!("build{n}"));
                let _ = fs::create_dir_all(dir.join("out")).and_then(|()| fs::write(dir.join("out/x"), "x"));
            }
            for n in 0..20 {
                let _ = fs::remove_dir_all(path.join(format!("build{n}")));
            }
        }
    });
    for _ in 0..150 {
        bench.walk();
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    churn.join().unwrap();
    settle();
    assert_eq!(bench.walk().manifest.identity, bench.full().identity);
}

#[test]
fn a_change_in_a_forced_part_of_an_excluded_directory_is_read_and_nothing_else() {
    let mut bench = Bench::new();
    bench.filter.additional = vec!["cache/".into()];
    bench.filter.force_include = vec!["cache/keep/deep/**".into()];
    populate(&bench);
    bench.workspace.file("cache/keep/deep/a", "1\n").file("cache/keep/deep/b", "1\n").file("cache/left", "1\n");
    settle();
    let base = bench.walk().manifest.clone();
    settle();
    bench.workspace.file("cache/keep/deep/a", "22\n").file("cache/keep/not", "n\n");
    let paths = ["cache/keep/deep/a", "cache/keep/not"].map(|path| path.as_bytes().to_vec());
    let identity = bench.full().identity;
    // Nobody says that this one changed, so who looks at it looks at everything.
    bench.workspace.file("docs/1.txt", "unseen");
    let captured = bench.capture(Source::Dirty { base: &base, paths: &paths });
    assert_eq!(captured.files_read, 1);
    assert_eq!(captured.manifest.identity, identity);
}

#[test]
fn what_is_packed_in_haste_is_the_same_tree_and_an_edit_of_a_large_file_costs_a_part_of_it() {
    let mut bench = Bench::new();
    populate(&bench);
    let mut large: Vec<u8> = (0..(5u32 << 20) + 77).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(bench.path().join("large"), &large).unwrap();
    let small = bench.full();
    bench.store = crate::world::open(bench.workspace.home()).packing(Packing::Swift);
    let swift = bench.walk();
    assert_eq!(swift.manifest.identity, small.identity);
    large[3 << 20] ^= 1;
    fs::write(bench.path().join("large"), &large).unwrap();
    let edited = bench.walk();
    assert!(edited.stored_bytes < 3 << 19, "{} bytes", edited.stored_bytes);
    // Whoever packs otherwise reads it, and finds nothing wrong.
    let other = crate::world::open(bench.workspace.home());
    let options = VerifyOptions { deep: true, progress: &Quiet };
    assert!(verify(&other, &[swift.key, edited.key], &options).unwrap().damage.is_empty());
    let entry = View::stored(&other).lookup(&edited.manifest.root, b"large").unwrap().unwrap();
    let Kind::File { size, content } = &entry.kind else { panic!("{entry:?}") };
    assert!(View::stored(&other).bytes(*size, content).unwrap() == large);
}

#[test]
fn a_file_with_several_names_is_read_once_and_again_when_it_changed() {
    let bench = Bench::new();
    bench.workspace.file("a/one", vec![1; 200_000]).hard_link("b/two", "a/one").hard_link("c/three", "a/one");
    settle();
    // Two hands that come to it at the same moment both read it.
    let first = bench.walk();
    assert!((1..=2).contains(&first.files_read) && first.manifest.counts.files == 3, "{}", first.files_read);
    bench.workspace.overwrite("b/two", 5, b"x");
    settle();
    let second = bench.walk();
    assert!((1..=2).contains(&second.files_read), "{}", second.files_read);
    assert_eq!(second.manifest.identity, bench.full().identity);
    assert_ne!(second.manifest.identity, first.manifest.identity);
}

#[test]
fn a_deep_directory_that_is_gone_is_looked_for_once() {
    let bench = Bench::new();
    bench.workspace.file(format!("{}/f", vec!["d"; 1_600].join("/")), "bottom\n");
    bench.walk();
    let gone = std::process::Command::new("rm").arg("-rf").arg(bench.path().join("d")).status().unwrap();
    assert!(gone.success());
    let start = ticks_used();
    assert_eq!(bench.walk().manifest.counts.files, 0);
    // A look for each pair of directories would take minutes.
    let ticks = ticks_used() - start;
    assert!(ticks < 1_000, "{ticks} ticks of ten milliseconds");
}

/// Time of the processor that this process used, which others on the machine do not change.
fn ticks_used() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
    fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}
