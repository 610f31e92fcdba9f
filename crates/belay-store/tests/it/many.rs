//! Many processes on one store and one workspace, beside collections and merges: no snapshot is lost, no read is torn.
//!
//! The test starts itself again as each of the processes. Each appends the keys of its snapshots to a file of its own,
//! which stands for the timeline that a session keeps.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use belay_store::{CaptureOptions, Captured, Filter, GcOptions, Hash, Limits, Quiet, Root, Source, Store, capture, gc};
use belay_testkit::TempWorkspace;

use crate::proof::{Held, leftovers, read_all};
use crate::world::open;

const PROCESSES: usize = 4;
const HOME: &str = "BELAY_TEST_MANY_HOME";
const WORKSPACE: &str = "BELAY_TEST_MANY_WORKSPACE";
const NUMBER: &str = "BELAY_TEST_MANY_NUMBER";

fn snapshots() -> usize {
    if std::env::var("BELAY_CRASH").is_ok_and(|value| value == "full") { 200 } else { 12 }
}

/// The snapshots that all processes have recorded and nobody has dropped.
fn recorded(home: &Path) -> Vec<Hash> {
    let keys = |prefix: &str| -> Vec<Hash> {
        let entries = fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(prefix));
        let texts = files.map(|path| fs::read_to_string(path).unwrap());
        texts.flat_map(|text| text.lines().filter_map(Hash::from_hex).collect::<Vec<_>>()).collect()
    };
    let dropped = keys("dropped");
    keys("roots-").into_iter().filter(|key| !dropped.contains(key)).collect()
}

fn record(path: PathBuf, key: &Hash) {
    let mut file = File::options().append(true).create(true).open(path).unwrap();
    file.write_all(format!("{}\n", key.to_hex()).as_bytes()).unwrap();
}

fn snapshot(store: &Store, home: &Path, workspace: &Path) -> belay_store::Result<Captured> {
    static STOP: AtomicBool = AtomicBool::new(false);
    let (root, filter) = (Root::open(workspace).unwrap(), Filter::everything());
    let options = CaptureOptions {
        root: &root,
        filter: &filter,
        cache: "cache",
        is_live: &|key: &Hash| recorded(home).contains(key),
        keep: None,
        source: Source::Walk,
        limits: Limits::default(),
        cross_mounts: false,
        own_prefixes: &[],
        clock: &belay_sys::now,
        progress: &Quiet,
        stop: &STOP,
    };
    capture(store, &options)
}

/// What each of the processes does; in an ordinary run there is nothing to do.
#[test]
fn one_of_many() {
    let Some(home) = std::env::var_os(HOME).map(PathBuf::from) else { return };
    let workspace = PathBuf::from(std::env::var_os(WORKSPACE).unwrap());
    let number: usize = std::env::var(NUMBER).unwrap().parse().unwrap();
    let store = open(&home);
    for round in 0..snapshots() {
        let mine = format!("process {number}, round {round}\n");
        fs::write(workspace.join(format!("of-{number}")), &mine).unwrap();
        // The same bytes by all, at about the same time.
        fs::write(workspace.join(format!("shared/{number}")), format!("round {round}\n")).unwrap();
        let captured = snapshot(&store, &home, &workspace).unwrap();
        record(home.join(format!("roots-{number}")), &captured.key);
        captured.save_cache().unwrap();
        drop(captured);
        if round % 3 == 2 {
            store.maintain().unwrap();
        }
        let last = recorded(&home).pop().unwrap();
        let held = read_all(&store, &last).unwrap();
        assert!(held.contains_key(&b"/shared"[..]), "{held:?}");
    }
}

fn start(number: usize, ws: &TempWorkspace) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "many::one_of_many", "--nocapture"])
        .env(HOME, ws.home())
        .env(WORKSPACE, ws.path())
        .env(NUMBER, number.to_string())
        .stdout(File::create(ws.outside().join(format!("out-{number}"))).unwrap())
        .stderr(File::create(ws.outside().join(format!("err-{number}"))).unwrap())
        .spawn()
        .unwrap()
}

#[test]
fn many_processes_lose_nothing() {
    let ws = TempWorkspace::new();
    ws.dir("shared");
    for number in 0..40 {
        ws.file(format!("tree/{}/{number}", number % 5), format!("{number}\n").repeat(200));
    }
    let store = open(ws.home());
    let mut children: Vec<Child> = (0..PROCESSES).map(|number| start(number, &ws)).collect();
    let deadline = Instant::now() + Duration::from_secs(60 + 2 * snapshots() as u64);
    let mut seen: BTreeMap<Hash, Held> = BTreeMap::new();
    let options = GcOptions { waste_percent_min: 1, ..GcOptions::default() };
    while children.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
        if Instant::now() > deadline {
            children.iter_mut().for_each(|child| drop(child.kill()));
            panic!("the processes wait for each other");
        }
        for key in recorded(ws.home()) {
            let held = read_all(&store, &key).unwrap_or_else(|error| panic!("{key:?}: {error}"));
            let first = seen.entry(key).or_insert_with(|| held.clone());
            assert!(*first == held, "{key:?} changed");
        }
        let roots = recorded(ws.home());
        if let Some(old) = roots.first().filter(|_| roots.len() > PROCESSES * 3) {
            record(ws.home().join("dropped"), old);
        }
        gc(&store, &mut || Ok(recorded(ws.home())), &options).unwrap();
    }
    for (number, child) in children.iter_mut().enumerate() {
        let said = fs::read_to_string(ws.outside().join(format!("err-{number}"))).unwrap();
        assert!(child.wait().unwrap().success(), "process {number}: {said}");
    }
    let kept = recorded(ws.home());
    assert!(kept.len() > PROCESSES, "only {} snapshots were kept", kept.len());
    let fresh = open(ws.home());
    for key in &kept {
        read_all(&fresh, key).unwrap_or_else(|error| panic!("{key:?}: {error}"));
    }
    gc(&fresh, &mut || Ok(kept.clone()), &options).unwrap();
    assert_eq!(leftovers(fresh.disk().as_ref()), Vec::<String>::new());
    let now = snapshot(&fresh, ws.home(), ws.path()).unwrap().manifest;
    assert_eq!(now.counts.files, 40 + 2 * PROCESSES as u64);
}

#[test]
fn a_wait_is_no_longer_than_the_publishing_of_another() {
    let ws = TempWorkspace::new();
    ws.file("a", "a\n");
    let (one, other) = (open(ws.home()), open(ws.home()));
    let held = snapshot(&one, ws.home(), ws.path()).unwrap();
    let started = Instant::now();
    let second = snapshot(&other, ws.home(), ws.path()).unwrap();
    assert_eq!(held.key, second.key, "writers do not wait for each other");
    let patient = GcOptions { wait: false, waste_percent_min: 0, ..GcOptions::default() };
    let busy = gc(&other, &mut || Ok(Vec::new()), &patient);
    assert!(matches!(busy, Err(belay_store::Error::Busy)), "{busy:?}");
    assert!(started.elapsed() < Duration::from_secs(5), "somebody waited");
    read_all(&open(ws.home()), &held.key).unwrap();
}
