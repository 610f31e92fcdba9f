//! Everything comes back, only what differs is touched, and the way back of the way back works.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use belay_store::{LeftReason, MtimePolicy};
use belay_testkit::{Ignore, assert_same_world};

use super::bed::{Bed, left};

/// A tree with everything in it, and what a careless agent makes of it.
pub(crate) fn build(bed: &Bed) {
    bed.ws.every_kind("all");
    bed.ws.odd_names("odd");
    bed.ws.file("src/main.rs", "fn main() {}\n").file("src/lib.rs", "pub mod a;\n").file("README", "read me\n");
    bed.ws.file("docs/a/b/c/d", "deep\n").dir("docs/empty").venv(".venv");
    bed.ws.file("becomes-dir", "a file\n").file("becomes-file/x/y", "in a directory\n").symlink("becomes-fifo", "x");
    bed.ws.file("dir-with-mode/f", "f").mode("dir-with-mode", 0o750);
}

pub(crate) fn wreck(bed: &Bed) {
    let ws = &bed.ws;
    ws.mode("all/shut", 0o755).remove("all/shut/inside").file("all/shut/other", "new\n").mode("all/shut", 0o555);
    for path in ["all/empty", "all/sparse", "all/to-plain", "all/fifo", "all/empty-directory", "docs"] {
        ws.remove(path);
    }
    ws.file("all/plain", "changed\n").mode("all/program", 0o700).overwrite("all/large", 1_500_000, b"bits");
    ws.remove("all/dangling")
        .symlink("all/dangling", "elsewhere")
        .remove("all/plain-twin")
        .file("all/plain-twin", "own\n");
    ws.remove("odd").dir("odd").file("odd/new", "new\n");
    ws.file("src/main.rs", "fn main() { panic!() }\n").remove("src/lib.rs").file("src/new/deep/file", "new\n");
    ws.remove("becomes-dir").file("becomes-dir/now/inside", "x").remove("becomes-file").file("becomes-file", "flat");
    ws.remove("becomes-fifo").fifo("becomes-fifo").mode("dir-with-mode", 0o700).xattr(
        "README",
        "user.note",
        "by the agent",
    );
}

#[test]
fn everything_comes_back() {
    let bed = Bed::new();
    build(&bed);
    let before = bed.ws.walk();
    let target = bed.snap();
    wreck(&bed);
    let applied = bed.rollback(&target);
    assert_eq!(applied.left, []);
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
    bed.nothing_to_do(&target);
}

#[test]
fn an_emptied_workspace_comes_back_whole() {
    let bed = Bed::new();
    build(&bed);
    let before = bed.ws.walk();
    let target = bed.snap();
    for name in
        ["all", "odd", "src", "docs", ".venv", "README", "becomes-dir", "becomes-file", "becomes-fifo", "dir-with-mode"]
    {
        bed.ws.remove(name);
    }
    assert_eq!(bed.rollback(&target).left, []);
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
}

#[test]
fn the_way_back_has_a_way_back() {
    let bed = Bed::new();
    build(&bed);
    let target = bed.snap();
    wreck(&bed);
    let wrecked = bed.ws.walk();
    let safety = bed.snap();
    bed.rollback(&target);
    assert_eq!(bed.rollback(&safety).left, []);
    assert_same_world(&wrecked, &bed.ws.walk(), Ignore::default());
}

#[test]
fn only_what_differs_is_touched() {
    let bed = Bed::new();
    build(&bed);
    let target = bed.snap();
    bed.ws.file("src/main.rs", "other\n");
    let (mut before, applied) = (bed.ws.walk(), bed.rollback(&target));
    assert_eq!((applied.changed, applied.left), (1, vec![]));
    let mut after = bed.ws.walk();
    for world in [&mut before, &mut after] {
        world.retain(|path, _| path != b"src" && path != b"src/main.rs");
    }
    assert_same_world(&before, &after, Ignore::NOTHING);
    assert_eq!(bed.text("src/main.rs"), "fn main() {}\n");
}

#[test]
fn a_second_restore_does_nothing_at_all() {
    let bed = Bed::new();
    build(&bed);
    let target = bed.snap();
    wreck(&bed);
    bed.rollback(&target);
    let before = bed.ws.walk();
    let applied = bed.rollback(&target);
    assert_eq!((applied.changed, applied.left), (0, vec![]));
    assert_same_world(&before, &bed.ws.walk(), Ignore::NOTHING);
}

#[test]
fn a_touched_file_is_not_a_changed_file() {
    let bed = Bed::new();
    bed.ws.file("f", "same\n");
    let target = bed.snap();
    bed.ws.mtime("f", 1_234_567_890, 0).dir("d").remove("d");
    let before = bed.ws.walk();
    assert_eq!(bed.rollback(&target).changed, 0);
    assert_same_world(&before, &bed.ws.walk(), Ignore::NOTHING);
}

#[test]
fn fresh_times_for_what_is_written_and_old_ones_for_the_rest() {
    let mut bed = Bed::new();
    bed.mtime = MtimePolicy::Fresh;
    for name in ["changed", "deleted", "chmodded", "untouched"] {
        bed.ws.file(name, name).mtime(name, 1_000_000_000, 5);
    }
    let target = bed.snap();
    bed.ws.file("changed", "CHANGED").remove("deleted").mode("chmodded", 0o600).mtime("untouched", 1_100_000_000, 7);
    bed.rollback(&target);
    let world = bed.ws.walk();
    let mtime = |name: &str| world[name.as_bytes()].mtime;
    assert!(mtime("changed").0 > 1_600_000_000, "make must see that it changed");
    assert!(mtime("deleted").0 > 1_600_000_000, "make must see that it is back");
    assert_eq!(mtime("chmodded"), (1_000_000_000, 5));
    assert_eq!(mtime("untouched"), (1_100_000_000, 7));
    bed.nothing_to_do(&target);
}

#[test]
fn the_root_itself_gets_its_mode_back() {
    let bed = Bed::new();
    bed.ws.file("f", "f");
    let chmod = |mode| std::fs::set_permissions(bed.ws.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    chmod(0o750);
    let (before, target) = (bed.ws.walk(), bed.snap());
    chmod(0o700);
    assert_eq!(bed.rollback(&target).changed, 1);
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
}

#[test]
fn a_part_is_restored_and_the_rest_is_not() {
    let bed = Bed::new();
    bed.ws.file("a/b/c", "c\n").file("a/b/d", "d\n").file("a/e", "e\n").file("f", "f\n").mode("a", 0o751);
    let target = bed.snap();
    bed.ws.remove("a").file("f", "F\n").file("new", "new\n");
    let applied = bed.rollback_part(&target, &["a/b/c"]);
    assert_eq!(applied.left, []);
    assert_eq!((bed.text("a/b/c").as_str(), bed.text("f").as_str(), bed.text("new").as_str()), ("c\n", "F\n", "new\n"));
    assert!(!bed.exists("a/b/d") && !bed.exists("a/e"));
    assert_eq!(bed.ws.walk()[&b"a"[..]].mode, 0o751, "a parent that had to be made is made as it was");
}

#[test]
fn a_part_beneath_something_else_is_left() {
    let bed = Bed::new();
    bed.ws.file("a/b", "b\n");
    let target = bed.snap();
    bed.ws.remove("a").file("a", "now a file\n");
    let now = bed.snap();
    let plan = bed.plan_part(&now, &target, &["a/b"]);
    assert_eq!((plan.steps.len(), plan.left), (0, vec![left("a", LeftReason::InTheWay)]));
}

#[test]
fn what_is_new_in_a_part_is_removed_there_only() {
    let bed = Bed::new();
    bed.ws.file("keep/a", "a");
    let target = bed.snap();
    bed.ws.file("keep/new", "1").file("other/new", "2").file("gone/x/y", "3");
    bed.rollback_part(&target, &["keep", "gone/x"]);
    assert!(!bed.exists("keep/new") && !bed.exists("gone/x"));
    assert!(bed.exists("other/new") && bed.exists("gone"));
}

#[test]
fn a_tree_deeper_than_any_stack_comes_back_and_goes() {
    let bed = Bed::new();
    let empty = bed.snap();
    let path = vec!["d"; 3_000].join("/");
    bed.ws.file(format!("{path}/f"), "bottom\n");
    let full = bed.snap();
    assert!(Command::new("rm").arg("-rf").arg(bed.ws.join("d")).status().unwrap().success());
    let back = bed.apply(&bed.plan(&empty, &full)).unwrap();
    assert_eq!((back.changed, back.left), (3_001, vec![]));
    let now = bed.snap();
    assert_eq!(now.identity, full.identity);
    let gone = bed.apply(&bed.plan(&now, &empty)).unwrap();
    assert_eq!((gone.changed, gone.left), (3_001, vec![]));
    assert!(!bed.exists("d"));
}

#[test]
fn a_path_longer_than_the_kernel_takes_comes_back() {
    let bed = Bed::new();
    let path = bed.ws.deep("deep", 6_000);
    let (before, target) = (bed.ws.walk(), bed.snap());
    bed.ws.file(&path, "changed at the bottom, and longer\n");
    assert_eq!(bed.rollback(&target).left, []);
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
    bed.ws.remove("deep");
    assert_eq!(bed.rollback(&target).left, []);
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
}

#[test]
fn many_files_come_back_by_two_threads() {
    let bed = Bed::new();
    for at in 0..2_000 {
        bed.ws.file(format!("many/{}/{at}", at % 37), format!("{at}").repeat(at % 50 + 1));
    }
    bed.ws.file("big", vec![3; 20_000_000]);
    let (before, target) = (bed.ws.walk(), bed.snap());
    bed.ws.remove("many").remove("big");
    let applied = bed.rollback(&target);
    assert_eq!(applied.left, []);
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
}

#[test]
fn what_is_born_as_it_should_be_is_not_changed_once_more() {
    let bed = Bed::new();
    for at in 0..40 {
        bed.ws.file(format!("lost/in/{at}"), "the same owner and mode as any new file\n");
    }
    let target = bed.snap();
    bed.ws.remove("lost");
    let now = bed.snap();
    let faults = belay_store::Faults::default();
    bed.apply_with(&bed.plan(&now, &target), Some(&faults)).unwrap();
    let changes = faults.seen.into_inner();
    // Create, write, set the time; two directories, the rename and the time of the one above come on top.
    assert!(changes <= 3 * 40 + 2 * 2 + 2, "{changes} changes");
}
