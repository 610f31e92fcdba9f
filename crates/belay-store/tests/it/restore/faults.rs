//! Damage, a full disk, an interruption and somebody else's edits: the old state, the new one, or a plain word about it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use belay_store::{Algorithm, Error, Faults, LeftReason, Plan, RealDisk, Store, apply};
use belay_testkit::{Ignore, SmallDisk, TempWorkspace, assert_same_world, diff_worlds};

use super::bed::{Bed, left};
use super::laws::{build, wreck};

/// Flips a bit in the middle of every pack.
pub(crate) fn damage_packs(bed: &Bed) {
    let packs = std::fs::read_dir(bed.ws.home().join("store/packs")).unwrap();
    for pack in packs {
        let path = pack.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    }
}

/// The store as another process would open it, without what this one has in memory.
pub(crate) fn reopen(bed: &Bed) -> Store {
    Store::open(Arc::new(RealDisk::open(bed.ws.home()).unwrap()), Algorithm::Blake3).unwrap()
}

/// The workspace was changed for a while and put back: only ctimes tell.
const PUT_BACK: Ignore = Ignore { ctime: true, ..Ignore::NOTHING };

#[test]
fn a_flipped_bit_is_found_before_anything_is_changed() {
    let bed = Bed::new();
    let noise: Vec<u8> = (0..400_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    bed.ws.file("a", "a\n").file("dir/noise", &noise).file("z", "z\n");
    let target = bed.snap();
    bed.ws.file("a", "A\n").remove("dir").file("z", "Z\n").file("new", "n\n");
    let now = bed.snap();
    let plan = bed.plan(&now, &target);
    let before = bed.ws.walk();
    damage_packs(&bed);
    let error = apply(&reopen(&bed), &bed.root, &plan, &bed.options(None)).unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. } | Error::Missing(_)), "{error}");
    assert_same_world(&before, &bed.ws.walk(), PUT_BACK);
}

#[test]
fn a_stop_before_the_swap_leaves_everything() {
    let bed = Bed::new();
    build(&bed);
    let target = bed.snap();
    wreck(&bed);
    let plan = bed.plan(&bed.snap(), &target);
    let before = bed.ws.walk();
    bed.stop.store(true, Ordering::SeqCst);
    assert!(matches!(bed.apply(&plan), Err(Error::Interrupted)));
    assert_same_world(&before, &bed.ws.walk(), PUT_BACK);
}

#[test]
fn edits_made_after_the_plan_are_left_and_said() {
    let bed = Bed::new();
    for name in ["changed", "removed-later", "deleted", "retyped"] {
        bed.ws.file(name, "old\n");
    }
    bed.ws.file("dir/a", "a\n");
    let target = bed.snap();
    bed.ws.file("changed", "new\n").file("removed-later", "new\n").remove("deleted").remove("retyped").dir("retyped");
    bed.ws.file("extra", "x\n").file("extra-dir/x", "x\n").mode("dir", 0o700);
    let plan = bed.plan(&bed.snap(), &target);
    bed.ws.file("changed", "newer\n").file("deleted", "by a human\n").file("extra", "y and z\n");
    bed.ws.file("extra-dir/human", "h\n").file("retyped/human", "h\n").mode("dir", 0o711).remove("removed-later");
    let applied = bed.apply(&plan).unwrap();
    let paths = ["changed", "deleted", "dir", "extra", "extra-dir", "retyped"];
    assert_eq!(applied.left, paths.map(|path| left(path, LeftReason::ChangedSince)));
    assert_eq!(applied.changed, 2, "one came back, one in a directory went");
    assert_eq!((bed.text("changed").as_str(), bed.text("deleted").as_str()), ("newer\n", "by a human\n"));
    assert_eq!((bed.text("extra-dir/human").as_str(), bed.text("retyped/human").as_str()), ("h\n", "h\n"));
    assert_eq!(bed.text("removed-later"), "old\n");
    bed.no_leftovers();
    assert_eq!(bed.rollback(&target).left, []);
    bed.nothing_to_do(&target);
}

#[test]
fn a_full_disk_leaves_the_workspace_as_it_was() {
    for disk in [SmallDisk::ext4(64 << 20), SmallDisk::tmpfs(48 << 20)] {
        let Some(disk) = disk else { return };
        let bed = Bed::of(TempWorkspace::new());
        // The store stays on the large disk, the workspace is on the small one.
        let ws = TempWorkspace::new_in(disk.path());
        let bed = Bed { root: belay_store::Root::open(ws.path()).unwrap(), ws, ..bed };
        for at in 0..20 {
            let noise: Vec<u8> =
                (0..150_000u32).flat_map(|n| (n ^ at).wrapping_mul(2_654_435_761).to_le_bytes()).collect();
            bed.ws.file(format!("d{}/f{at}", at % 3), noise);
        }
        bed.ws.file("small", "s\n");
        let (whole, target) = (bed.ws.walk(), bed.snap());
        bed.ws.remove("d0").remove("d1").file("small", "S\n");
        let plan = bed.plan(&bed.snap(), &target);
        let before = bed.ws.walk();
        let ballast = disk.fill_leaving(3 << 20);
        let error = bed.apply(&plan).unwrap_err();
        assert!(error.is_no_space(), "{error:?}");
        assert_same_world(&before, &bed.ws.walk(), PUT_BACK);
        std::fs::remove_file(ballast).unwrap();
        assert_eq!(bed.rollback(&target).left, []);
        assert_same_world(&whole, &bed.ws.walk(), Ignore::default());
    }
}

fn faulty(after: u64, errno: u64) -> Faults {
    Faults { after: AtomicU64::new(after), errno: AtomicU64::new(errno), ..Faults::default() }
}

/// Applies a plan with one change failing, for each change in turn, and checks what a user would see.
fn fail_everywhere(errno: u64) {
    let mut at = 1;
    loop {
        let bed = Bed::new();
        build(&bed);
        let (whole, target) = (bed.ws.walk(), bed.snap());
        wreck(&bed);
        let plan: Plan = bed.plan(&bed.snap(), &target);
        let before = bed.ws.walk();
        let faults = faulty(at, errno);
        match bed.apply_with(&plan, Some(&faults)) {
            Err(_) => assert_same_world(&before, &bed.ws.walk(), PUT_BACK),
            Ok(applied) if applied.left.is_empty() => {
                let ended = faults.seen.load(Ordering::SeqCst) < at;
                let differences = diff_worlds(&whole, &bed.ws.walk(), Ignore::default());
                // A change that only tidies up may fail unseen; the next command repeats it.
                assert!(!ended || differences.is_empty(), "{differences:?}");
                if ended {
                    return;
                }
            }
            Ok(_) => {}
        }
        assert_eq!(bed.recover(&plan, &target).left, [], "change {at}");
        assert_same_world(&whole, &bed.ws.walk(), Ignore { directory_mtime: true, ..Ignore::default() });
        at += super::crash::stride();
    }
}

#[test]
fn a_full_disk_at_every_change() {
    fail_everywhere(28);
}

#[test]
fn an_input_output_error_at_every_change() {
    fail_everywhere(5);
}

#[test]
fn a_refusal_at_every_change() {
    fail_everywhere(1);
}
