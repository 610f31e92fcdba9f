//! A full or failing disk at every change of the store: a plain error, the old state, and the room given back.

use belay_store::{Disk, Error, GcOptions, GcReport, Hash, Source, Store, gc};
use belay_testkit::{SmallDisk, TempWorkspace};

use crate::faulty::{EIO, ENOSPC, Faulty};
use crate::proof::{Held, capture_everything, leftovers, open, read_all};

struct Bed {
    workspace: TempWorkspace,
    disk: Faulty,
    published: Vec<(Hash, Held)>,
}

impl Bed {
    /// A store with `count` snapshots of a workspace that has changed since.
    fn new(count: usize) -> Bed {
        let workspace = TempWorkspace::new();
        let disk = Faulty::open(workspace.home());
        let mut bed = Bed { workspace, disk, published: Vec::new() };
        for round in 0..count {
            bed.workspace.file("a", format!("round {round}\n")).file(format!("d{round}/b"), vec![round as u8; 3000]);
            let store = open(&bed.disk).unwrap();
            let captured = capture_everything(&store, bed.workspace.path(), Source::Walk).unwrap();
            captured.save_cache().unwrap();
            bed.published.push((captured.key, read_all(&store, &captured.key).unwrap()));
        }
        bed.workspace.file("a", "changed\n").file("new/c", "c\n").hard_link("new/twin", "a");
        bed
    }

    fn keys(&self) -> Vec<Hash> {
        self.published.iter().map(|(key, _)| *key).collect()
    }

    fn collect(&self) -> Result<GcReport, Error> {
        let options = GcOptions { waste_percent_min: 0, ..GcOptions::default() };
        gc(&open(&self.disk)?, &mut || Ok(self.keys()), &options)
    }

    fn is_whole(&self, what: &str) {
        let store = open(&self.disk).unwrap();
        for (key, held) in &self.published {
            let found = read_all(&store, key).unwrap_or_else(|error| panic!("{what}: {key:?}: {error}"));
            assert!(found == *held, "{what}: {key:?} is another");
        }
    }
}

/// Runs `work` with its n-th change failing, for every n, on a new store each time.
fn fail_everywhere(count: usize, prepare: impl Fn(&mut Bed), work: impl Fn(&Bed, &Store) -> Result<(), Error>) {
    for errno in [ENOSPC, EIO] {
        for at in 1.. {
            let mut bed = Bed::new(count);
            prepare(&mut bed);
            let what = format!("errno {errno} at change {at}");
            let store = open(&bed.disk).unwrap();
            bed.disk.fail_at(at, errno);
            let outcome = work(&bed, &store);
            let ended = bed.disk.changes() < at;
            bed.disk.fail_at(0, 0);
            drop(store);
            if let Err(error) = outcome {
                assert!(matches!(error, Error::Disk { .. }), "{what}: {error:?}");
                assert_eq!(error.is_no_space(), errno == ENOSPC, "{what}: {error:?}");
            }
            if errno == ENOSPC {
                assert_eq!(leftovers(&bed.disk), Vec::<String>::new(), "{what}");
            }
            bed.is_whole(&what);
            let next = capture_everything(&open(&bed.disk).unwrap(), bed.workspace.path(), Source::Walk);
            next.unwrap_or_else(|error| panic!("{what}: capture: {error}")).save_cache().unwrap();
            bed.collect().unwrap_or_else(|error| panic!("{what}: gc: {error}"));
            assert_eq!(leftovers(&bed.disk), Vec::<String>::new(), "{what}");
            bed.is_whole(&what);
            if ended {
                assert!(at > 3, "nothing was changed, so nothing was tested");
                break;
            }
        }
    }
}

#[test]
fn a_capture_fails_plainly_at_every_change() {
    fail_everywhere(
        2,
        |_| {},
        |bed, store| capture_everything(store, bed.workspace.path(), Source::Walk)?.save_cache(),
    );
}

#[test]
fn a_cache_written_anew_fails_plainly_at_every_change() {
    let forget_cache = |bed: &mut Bed| bed.disk.remove("cache.base").unwrap();
    fail_everywhere(1, forget_cache, |bed, store| {
        capture_everything(store, bed.workspace.path(), Source::Walk)?.save_cache()
    });
}

#[test]
fn a_collection_fails_plainly_at_every_change() {
    let forget = |bed: &mut Bed| drop(bed.published.drain(..2));
    fail_everywhere(4, forget, |bed, _| bed.collect().map(drop));
}

#[test]
fn a_merge_fails_plainly_at_every_change() {
    fail_everywhere(17, |_| {}, |_, store| store.maintain());
}

#[test]
fn a_store_that_cannot_be_made_leaves_nothing() {
    for at in 1.. {
        let home = tempfile::tempdir().unwrap();
        let disk = Faulty::open(home.path());
        disk.fail_at(at, ENOSPC);
        let outcome = open(&disk).map(drop);
        if disk.changes() < at {
            return outcome.unwrap();
        }
        if let Err(error) = outcome {
            assert!(error.is_no_space(), "{error:?}");
        }
        disk.fail_at(0, 0);
        assert_eq!(leftovers(&disk), Vec::<String>::new(), "change {at}");
        open(&disk).unwrap();
    }
}

#[test]
fn a_disk_that_is_really_full_gets_its_room_back() {
    for small in [SmallDisk::ext4(32 << 20), SmallDisk::tmpfs(24 << 20)] {
        let Some(small) = small else { return };
        let workspace = TempWorkspace::new();
        let disk = Faulty::open(&small.path().join("home"));
        let noise =
            |seed: u32| (0..1_000_000u32).flat_map(move |n| (n ^ seed).wrapping_mul(2_654_435_761).to_le_bytes());
        workspace.file("old", noise(1).take(2 << 20).collect::<Vec<u8>>());
        let store = open(&disk).unwrap();
        let old = capture_everything(&store, workspace.path(), Source::Walk).unwrap();
        let held = read_all(&store, &old.key).unwrap();
        workspace.file("new", noise(2).collect::<Vec<u8>>()).file("newer", noise(3).collect::<Vec<u8>>());
        let ballast = small.fill_leaving(3 << 20);
        let free = small.bytes_free();
        let error = capture_everything(&store, workspace.path(), Source::Walk).err().expect("there is no room for it");
        assert!(error.is_no_space(), "{error:?}");
        assert!(small.bytes_free() + (64 << 10) >= free, "{} of {free} bytes came back", small.bytes_free());
        assert_eq!(leftovers(&disk), Vec::<String>::new());
        assert!(read_all(&open(&disk).unwrap(), &old.key).unwrap() == held);
        std::fs::remove_file(ballast).unwrap();
        capture_everything(&store, workspace.path(), Source::Walk).unwrap();
    }
}
