//! Whoever writes to the workspace at the same time cannot lead a restore out of it, or borrow its rights.

use std::os::unix::fs::MetadataExt;

use belay_store::{Left, LeftReason};
use belay_testkit::{Ignore, Swapper, assert_same_world, hostile, walk};

use super::bed::Bed;

#[test]
fn a_hostile_workspace_is_restored_and_nothing_outside_is_touched() {
    let enemy = hostile();
    let root = belay_store::Root::open(enemy.path()).unwrap();
    let bed = Bed { root, ..Bed::new() };
    let before = enemy.workspace().walk();
    let target = bed.snap();
    let names: Vec<Vec<u8>> = before.keys().filter(|path| !path.is_empty() && !path.contains(&b'/')).cloned().collect();
    for name in names {
        if !before[&name].unreadable {
            enemy.workspace().remove(&name);
        }
    }
    let now = bed.snap();
    let plan = bed.plan(&now, &target);
    bed.apply(&plan).unwrap();
    enemy.canaries_untouched();
    let mut after = enemy.workspace().walk();
    let mut before = before;
    for path in plan.left.iter().map(|left| &left.path) {
        before.remove(path);
        after.remove(path);
    }
    let ignore = Ignore { hard_links: true, directory_mtime: true, top: true, ..Ignore::default() };
    assert_same_world(&before, &after, ignore);
}

#[test]
fn a_directory_swapped_for_a_symlink_leads_nowhere() {
    let bed = Bed::new();
    let outside = bed.ws.outside().join("victim");
    for name in ["a", "b", "c"] {
        bed.ws.file(format!("dir/{name}"), "theirs\n").file(format!("dir/sub/{name}"), "theirs\n");
        std::fs::create_dir_all(outside.join("sub")).unwrap();
        std::fs::write(outside.join(name), "mine\n").unwrap();
        std::fs::write(outside.join("sub").join(name), "mine\n").unwrap();
    }
    let target = bed.snap();
    let victim = walk(&outside);
    let mut swaps = 0;
    for round in 0..40 {
        bed.ws.file("dir/a", format!("{round}")).remove("dir/b").file("dir/new", "n").mode("dir/c", 0o600);
        bed.ws.file("dir/sub/a", format!("{round}")).remove("dir/sub/b").file("dir/sub/new/x", "n");
        let plan = bed.plan(&bed.snap(), &target);
        let swapper = Swapper::with_symlink(&bed.ws.join("dir"), &bed.ws.outside().join("decoy"), &outside);
        for _ in 0..5 {
            // It may fail or leave paths; what counts is what it did not do.
            let _ = bed.apply(&plan);
        }
        swaps += swapper.swaps();
        drop(swapper);
        assert_same_world(&victim, &walk(&outside), Ignore::NOTHING);
        let _ = std::fs::remove_file(bed.ws.outside().join("decoy"));
        let _ = belay_store::tidy_up(&bed.root, &plan, &bed.options(None));
        bed.rollback(&target);
    }
    assert!(swaps > 100, "only {swaps} swaps");
}

#[test]
fn a_set_id_bit_is_given_to_checked_content_only() {
    let bed = Bed::new();
    bed.ws.file_mode("tool", "good\n", 0o4755);
    let target = bed.snap();
    bed.ws.mode("tool", 0o755);
    let inode = bed.ws.join("tool").metadata().unwrap().ino();
    let plan = bed.plan(&bed.snap(), &target);
    // The same size and time: nothing but the content tells.
    let mtime = bed.ws.walk()[&b"tool"[..]].mtime;
    bed.ws.overwrite("tool", 0, b"evil\n").mtime("tool", mtime.0, mtime.1);
    assert_eq!(bed.apply(&plan).unwrap().left, [changed_since("tool")]);
    let meta = bed.ws.join("tool").metadata().unwrap();
    assert_eq!((bed.text("tool").as_str(), meta.mode() & 0o7777), ("evil\n", 0o755));
    assert_eq!(bed.rollback(&target).left, []);
    let meta = bed.ws.join("tool").metadata().unwrap();
    assert_eq!((bed.text("tool").as_str(), meta.mode() & 0o7777), ("good\n", 0o4755));
    assert_ne!(meta.ino(), inode);
}

fn changed_since(path: &str) -> Left {
    Left { path: path.into(), reason: LeftReason::ChangedSince }
}

#[test]
fn an_edit_that_hides_behind_the_old_size_and_time_is_not_lost() {
    let bed = Bed::new();
    let big = vec![7; 9 << 20];
    bed.ws.file("changed", "1\n").file("retyped", "1\n").file("big", &big).symlink("link", "one");
    bed.ws.file("dir/x", "x\n").sparse("holes", 1 << 20, &[(1 << 19, b"data")]);
    let target = bed.snap();
    let paths = ["big", "changed", "gone", "holes", "retyped"];
    bed.ws.remove("retyped").symlink("retyped", "dir").overwrite("holes", 1 << 19, b"more");
    bed.ws.file("changed", "2\n").file("gone", "2\n").overwrite("big", 5 << 20, b"2");
    let plan = bed.plan(&bed.snap(), &target);
    let before = bed.ws.walk();
    bed.ws.overwrite("changed", 0, b"3").overwrite("gone", 0, b"3").overwrite("big", 6 << 20, b"3");
    bed.ws.overwrite("holes", 0, b"3").remove("retyped").symlink("retyped", "rid");
    for path in paths {
        let (seconds, nanoseconds) = before[path.as_bytes()].mtime;
        bed.ws.mtime(path, seconds, nanoseconds);
    }
    let edited = bed.ws.walk();
    assert_eq!(bed.apply(&plan).unwrap().left, paths.map(changed_since));
    assert_same_world(&edited, &bed.ws.walk(), Ignore { directory_mtime: true, top: true, ..Ignore::default() });
    assert_eq!(bed.rollback(&target).left, []);
}

#[test]
fn a_symlink_is_replaced_itself_and_its_target_is_not() {
    let bed = Bed::new();
    let outside = bed.ws.outside().join("file");
    std::fs::write(&outside, "mine\n").unwrap();
    bed.ws.file("a", "a\n").file("b/c", "c\n").mode("a", 0o600);
    let target = bed.snap();
    bed.ws
        .remove("a")
        .symlink("a", outside.to_str().unwrap())
        .remove("b")
        .symlink("b", bed.ws.outside().to_str().unwrap());
    let before = walk(bed.ws.outside());
    assert_eq!(bed.rollback(&target).left, []);
    assert_same_world(&before, &walk(bed.ws.outside()), Ignore::NOTHING);
    assert_eq!((bed.text("a").as_str(), bed.text("b/c").as_str()), ("a\n", "c\n"));
}

/// Takes a directory away when the first path was staged.
struct Vandal<'a> {
    dir: std::path::PathBuf,
    armed: std::sync::atomic::AtomicBool,
    bed: &'a Bed,
}

impl belay_store::Progress for Vandal<'_> {
    fn advance(&self, _entries: u64, _bytes: u64) {
        if self.armed.swap(false, std::sync::atomic::Ordering::SeqCst) {
            std::fs::rename(&self.dir, self.bed.ws.outside().join("taken")).unwrap();
        }
    }

    fn expect(&self, _entries: u64, _bytes: u64) {}
}

#[test]
fn a_directory_that_goes_while_something_is_staged_in_it_costs_only_what_was_in_it() {
    let bed = Bed::new();
    // The first file is written first, because the store holds it before the others.
    for at in 0..200 {
        bed.ws
            .file(format!("going/lost/{at}"), format!("{at}\n"))
            .file(format!("staying/lost/{at}"), format!("-{at}\n"));
    }
    bed.ws.file("going/keep", "k\n").file("staying/keep", "k\n").file("going/changed", "1\n");
    let target = bed.snap();
    bed.ws.remove("going/lost").remove("staying/lost").file("going/changed", "22\n");
    let plan = bed.plan(&bed.snap(), &target);
    let vandal = Vandal { dir: bed.ws.join("going"), armed: true.into(), bed: &bed };
    let options = belay_store::ApplyOptions { progress: &vandal, ..bed.options(None) };
    let applied = belay_store::apply(&bed.store, &bed.root, &plan, &options).unwrap();
    assert_eq!(applied.left, ["going/changed", "going/lost"].map(changed_since));
    assert_eq!(bed.text("staying/lost/199"), "-199\n");
    assert!(!bed.exists("going"));
}
