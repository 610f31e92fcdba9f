//! The machine ends before every single change of the disk: what was published stays whole, and the store goes on.

use belay_store::{Error, GcOptions, Hash, ObjectKind, Source, Store, gc};
use belay_testkit::TempWorkspace;

use crate::proof::{Held, capture_everything, leftovers, open, read_all};
use crate::twin::{Dice, End, Twin};

/// How many ways to lose power are tried at each change.
fn seeds() -> u64 {
    if std::env::var("BELAY_CRASH").is_ok_and(|value| value == "full") { 40 } else { 3 }
}

fn ends() -> impl Iterator<Item = End> {
    std::iter::once(End::Death).chain((0..seeds()).map(End::PowerLoss))
}

struct Bed {
    workspace: TempWorkspace,
    disk: Twin,
    published: Vec<(Hash, Held)>,
}

impl Bed {
    fn new() -> Bed {
        let workspace = TempWorkspace::new();
        workspace.file("a", "first\n").file("dir/b", noise(1, 120_000)).file("dir/deep/c", noise(2, 40_000));
        workspace.symlink("link", "a").hard_link("twin", "a").sparse("sparse", 1 << 18, &[(1 << 17, b"island")]);
        Bed { workspace, disk: Twin::default(), published: Vec::new() }
    }

    /// A workspace of one file, for tests that read many snapshots many times.
    fn tiny() -> Bed {
        let workspace = TempWorkspace::new();
        workspace.file("dir/b", "b\n");
        Bed { workspace, disk: Twin::default(), published: Vec::new() }
    }

    fn publish(&mut self) {
        let store = open(&self.disk).unwrap();
        let captured = capture_everything(&store, self.workspace.path(), Source::Walk).unwrap();
        captured.save_cache().unwrap();
        self.published.push((captured.key, read_all(&store, &captured.key).unwrap()));
    }

    /// Runs `work` on the disk until it ends at its n-th change, for every n, and looks at what is left each time.
    fn end_everywhere(&self, work: impl Fn(&Store) -> Option<Hash>, then: impl Fn(&Twin, Option<Hash>, &str)) {
        for operation in 1.. {
            let mut done = false;
            for end in ends() {
                let disk = self.disk.after(End::Death);
                let store = open(&disk).unwrap();
                disk.end_at(operation);
                let made = work(&store);
                done = disk.operations() < operation;
                drop(store);
                let what = format!("{end:?} at change {operation}");
                then(&disk.after(end), made, &what);
            }
            if done {
                assert!(operation > 3, "nothing was changed, so nothing was tested");
                return;
            }
        }
    }

    /// Everything published is whole, a capture works, and nothing unfinished stays.
    fn is_sound(&self, disk: &Twin, roots: &[(Hash, Held)], what: &str) {
        let store = open(disk).unwrap_or_else(|error| panic!("{what}: {error}"));
        for (key, held) in roots {
            let found = read_all(&store, key).unwrap_or_else(|error| panic!("{what}: {key:?}: {error}"));
            assert!(found == *held, "{what}: {key:?} is another");
        }
        let captured = capture_everything(&store, self.workspace.path(), Source::Walk)
            .unwrap_or_else(|error| panic!("{what}: capture: {error}"));
        captured.save_cache().unwrap();
        let again = open(disk).unwrap();
        let full = capture_everything(&again, self.workspace.path(), Source::Full).unwrap();
        assert_eq!(captured.key, full.key, "{what}: the capture after it saw something else");
        read_all(&again, &captured.key).unwrap_or_else(|error| panic!("{what}: the capture after it: {error}"));
        drop(full);
        drop(captured);
        let keys: Vec<Hash> = roots.iter().map(|(key, _)| *key).collect();
        collect(&again, &keys).unwrap_or_else(|error| panic!("{what}: gc: {error}"));
        assert_eq!(leftovers(disk), Vec::<String>::new(), "{what}");
        let store = open(disk).unwrap();
        for (key, held) in roots {
            assert!(read_all(&store, key).unwrap() == *held, "{what}: after gc {key:?} is another");
        }
    }
}

fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut dice = Dice(seed);
    (0..len).map(|_| dice.roll(256) as u8).collect()
}

fn collect(store: &Store, roots: &[Hash]) -> Result<(), Error> {
    let options = GcOptions { waste_percent_min: 0, ..GcOptions::default() };
    gc(store, &mut || Ok(roots.to_vec()), &options).map(drop)
}

#[test]
fn a_snapshot_is_there_or_not_and_the_others_stay() {
    let mut bed = Bed::new();
    bed.publish();
    bed.workspace.file("a", "second\n").file("dir/new", noise(3, 100_000)).remove("dir/deep").hard_link("third", "a");
    let work = |store: &Store| {
        let captured = capture_everything(store, bed.workspace.path(), Source::Walk).ok()?;
        let _ = captured.save_cache();
        Some(captured.key)
    };
    bed.end_everywhere(work, |disk, made, what| {
        let mut roots = bed.published.clone();
        if let Some(key) = made {
            // The caller may have recorded it by now, so it must have survived.
            let store = open(disk).unwrap();
            let held = read_all(&store, &key).unwrap_or_else(|error| panic!("{what}: the new one: {error}"));
            roots.push((key, held));
        }
        bed.is_sound(disk, &roots, what);
    });
}

#[test]
fn the_first_snapshot_ever_is_there_or_not() {
    let bed = Bed::new();
    for operation in 1.. {
        let mut done = false;
        for end in ends() {
            let disk = Twin::default();
            disk.end_at(operation);
            let made = open(&disk).ok().and_then(|store| {
                capture_everything(&store, bed.workspace.path(), Source::Walk).ok().map(|captured| captured.key)
            });
            done = disk.operations() < operation;
            let (disk, what) = (disk.after(end), format!("{end:?} at change {operation}"));
            let roots: Vec<_> =
                made.iter().map(|key| (*key, read_all(&open(&disk).unwrap(), key).expect(&what))).collect();
            bed.is_sound(&disk, &roots, &what);
        }
        if done {
            break;
        }
    }
}

#[test]
fn a_collection_loses_nothing_wherever_it_ends() {
    let mut bed = Bed::new();
    bed.publish();
    bed.workspace.file("a", "second\n").remove("dir/deep").file("dir/b2", noise(4, 100_000));
    bed.publish();
    bed.workspace.file("dir/b2", "small now\n").file("e", "e\n");
    bed.publish();
    let first = bed.published.remove(0);
    let roots: Vec<Hash> = bed.published.iter().map(|(key, _)| *key).collect();
    let work = |store: &Store| {
        let _ = collect(store, &roots);
        None
    };
    bed.end_everywhere(work, |disk, _, what| {
        bed.is_sound(disk, &bed.published, what);
        assert!(read_all(&open(disk).unwrap(), &first.0).is_err(), "{what}: what was dropped is collected at last");
    });
}

#[test]
fn a_merge_of_packs_loses_nothing_wherever_it_ends() {
    let mut bed = Bed::tiny();
    for round in 0..18 {
        bed.workspace.file("a", format!("round {round}\n"));
        bed.publish();
    }
    let work = |store: &Store| {
        let _ = store.maintain();
        None
    };
    bed.end_everywhere(work, |disk, _, what| bed.is_sound(disk, &bed.published, what));
    let disk = bed.disk.after(End::Death);
    open(&disk).unwrap().maintain().unwrap();
    assert!(belay_store::Disk::list(&disk, "store/packs").unwrap().len() < 5, "it merged nothing");
}

/// Writers that begin together do not see each other's objects, so several packs may hold the same.
#[test]
fn a_merge_of_packs_that_hold_the_same_keeps_them() {
    let disk = Twin::default();
    let stores: Vec<Store> = (0..20).map(|_| open(&disk).unwrap()).collect();
    let batches: Vec<_> = stores.iter().map(|store| store.begin().unwrap()).collect();
    let mut keys = Vec::new();
    for (number, batch) in batches.into_iter().enumerate() {
        let mut worker = batch.worker();
        for object in (0..20).filter(|object| number == 0 || *object < number) {
            keys.push(worker.put(ObjectKind::Tree, format!("object {object}").as_bytes()).unwrap().0);
        }
        worker.done().unwrap();
        batch.finish().unwrap();
    }
    open(&disk).unwrap().maintain().unwrap();
    let store = open(&disk).unwrap();
    for key in keys {
        assert!(store.contains(&key).unwrap(), "{key:?} is lost");
    }
}

/// A writer died after its packs got their names and before those were durable; the next one builds on them.
#[test]
fn a_snapshot_that_builds_on_names_nobody_synced_survives_a_power_loss() {
    let bed = Bed::new();
    for operation in 1.. {
        let disk = Twin::default();
        let store = open(&disk).unwrap();
        disk.end_at(operation);
        let died = capture_everything(&store, bed.workspace.path(), Source::Walk).is_err();
        let next = disk.without_the_process();
        let store = open(&next).unwrap();
        let key = capture_everything(&store, bed.workspace.path(), Source::Walk).unwrap().key;
        for seed in 0..seeds() * 4 {
            let after = next.after(End::PowerLoss(seed));
            let what = format!("change {operation}, seed {seed}");
            read_all(&open(&after).unwrap(), &key).unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        if !died {
            return;
        }
    }
}
