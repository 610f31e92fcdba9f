//! Where files can share blocks, a large one is kept and brought back without being copied.

use belay_store::{Filter, GcOptions, Hash, Quiet, VerifyOptions};
use belay_testkit::{Ignore, SmallDisk, TempWorkspace, assert_same_world};

use super::bed::Bed;

const SIZE: usize = (40 << 20) + 1234;

/// Bytes that do not compress.
fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(next).flatten().take(SIZE).collect()
}

/// Calls `test` on each kind of filesystem on which files can share blocks.
fn on_each(test: fn(&Bed, &SmallDisk)) {
    for disk in [SmallDisk::btrfs(512 << 20), SmallDisk::xfs(512 << 20)] {
        let Some(disk) = disk else { return };
        test(&Bed::of(TempWorkspace::new_in(disk.path())), &disk);
    }
}

/// Bytes that can still be written, once everything is on the disk.
fn free(disk: &SmallDisk, bed: &Bed) -> u64 {
    bed.root.sync_filesystem().unwrap();
    disk.bytes_free()
}

fn largest_pack(bed: &Bed) -> std::path::PathBuf {
    let packs = std::fs::read_dir(bed.ws.home().join("store/packs")).unwrap().map(|entry| entry.unwrap().path());
    packs.max_by_key(|path| path.metadata().unwrap().len()).unwrap()
}

#[test]
fn a_large_file_is_kept_and_brought_back_without_a_copy() {
    on_each(|bed, disk| {
        bed.ws.file("large", noise(1)).file("small", "s\n");
        let before = free(disk, bed);
        let (whole, target) = (bed.ws.walk(), bed.snap());
        let kept = before - free(disk, bed);
        assert!(kept < 8 << 20, "{kept} bytes for a copy that should share");
        bed.ws.remove("large").file("small", "S\n");
        let gone = free(disk, bed);
        assert_eq!(bed.rollback(&target).left, []);
        assert_same_world(&whole, &bed.ws.walk(), Ignore::default());
        let written = gone - free(disk, bed).min(gone);
        assert!(written < 8 << 20, "{written} bytes for a copy that should share");
    });
}

#[test]
fn what_the_store_shares_does_not_change_with_the_file() {
    on_each(|bed, _| {
        bed.ws.file("large", noise(2));
        let whole = bed.ws.walk();
        let (target, key) = bed.snap_and_key(&Filter::everything(), None);
        bed.ws.overwrite("large", 20 << 20, b"an edit in the middle");
        assert_eq!(bed.rollback(&target).left, []);
        assert_same_world(&whole, &bed.ws.walk(), Ignore::default());
        assert_sound(bed, key);
    });
}

#[test]
fn damage_in_what_is_shared_is_found_and_never_restored() {
    on_each(|bed, _| {
        bed.ws.file("large", noise(3));
        let target = bed.snap();
        bed.ws.remove("large");
        let plan = bed.plan(&bed.snap(), &target);
        let pack = std::fs::OpenOptions::new().write(true).open(largest_pack(bed)).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&pack, b"flipped", 30 << 20).unwrap();
        assert!(bed.apply(&plan).is_err());
        assert!(!bed.exists("large"));
        bed.no_leftovers();
    });
}

#[test]
fn shared_packs_are_collected_like_any_other() {
    on_each(|bed, _| {
        bed.ws.file("large", noise(4));
        let (_, first) = bed.snap_and_key(&Filter::everything(), None);
        // Most of it is known, so the rest is packed as usual.
        bed.ws.overwrite("large", 1 << 20, b"a new beginning");
        let (_, second) = bed.snap_and_key(&Filter::everything(), None);
        assert!(largest_pack(bed).metadata().unwrap().len() < (SIZE + (1 << 20)) as u64);
        assert_sound(bed, first);
        assert_sound(bed, second);
        bed.ws.remove("large");
        let (_, empty) = bed.snap_and_key(&Filter::everything(), None);
        let options = GcOptions { waste_percent_min: 1, ..GcOptions::default() };
        let report = belay_store::gc(&bed.store, &mut || Ok(vec![empty]), &options).unwrap();
        assert!(report.freed_bytes > SIZE as u64, "{report:?}");
        assert!(largest_pack(bed).metadata().unwrap().len() < 1 << 20);
        assert_sound(bed, empty);
    });
}

fn assert_sound(bed: &Bed, key: Hash) {
    let report = belay_store::verify(&bed.store, &[key], &VerifyOptions { deep: true, progress: &Quiet }).unwrap();
    assert!(report.damage.is_empty(), "{:?}", report.damage);
}
