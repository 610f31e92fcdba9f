//! What a snapshot did not capture, its restore never touches.

use belay_store::{Filter, Ignored, LeftReason};
use belay_testkit::{Ignore, assert_same_world};

use super::bed::{Bed, left};

fn skipping() -> Filter {
    Filter { gitignored: Ignored::Skip, ..Filter::default() }
}

#[test]
fn an_emptied_ignore_file_does_not_make_secrets_disappear() {
    let bed = Bed::new();
    bed.ws.file(".gitignore", ".env\n").file(".env", "SECRET=1\n").file("a", "a\n");
    let target = bed.snap_with(&skipping(), None);
    bed.ws.file(".gitignore", "").file("a", "A\n").file("other/.env", "SECRET=2\n");
    // Today's filter takes it, so it is in the present tree and not in the target's.
    let applied = bed.rollback(&target);
    assert_eq!(applied.left, []);
    assert_eq!(bed.text(".gitignore"), ".env\n");
    assert_eq!((bed.text(".env").as_str(), bed.text("a").as_str()), ("SECRET=1\n", "a\n"));
    assert_eq!(bed.text("other/.env"), "SECRET=2\n");
}

#[test]
fn the_plan_says_what_is_not_claimed() {
    let bed = Bed::new();
    bed.ws.file(".gitignore", "*.log\nbuild/\n").file("a", "a\n");
    let target = bed.snap_with(&skipping(), None);
    bed.ws.file("x.log", "1").file("new/y.log", "2").file("new/z", "3").file("build/o", "4").file("plain", "5");
    let plan = bed.plan(&bed.snap(), &target);
    let expected = ["build", "new/y.log", "x.log"].map(|path| left(path, LeftReason::NotClaimed));
    assert_eq!(plan.left, expected);
    let steps: Vec<&[u8]> = plan.steps.paths().collect();
    assert_eq!(steps, [&b"new/z"[..], b"plain"]);
    assert_eq!(bed.apply(&plan).unwrap().left, []);
    assert!(bed.exists("new/y.log") && bed.exists("build/o") && bed.exists("x.log"));
    assert!(!bed.exists("new/z") && !bed.exists("plain"));
}

#[test]
fn regenerable_directories_that_came_later_stay() {
    let bed = Bed::new();
    bed.ws.file(".gitignore", "node_modules/\n").file("package.json", "{}\n");
    let target = bed.snap_with(&Filter::default(), None);
    bed.ws.file("node_modules/x/index.js", "1").file("sub/node_modules/y", "2").remove("package.json");
    bed.rollback(&target);
    assert!(bed.exists("node_modules/x/index.js") && bed.exists("sub/node_modules/y") && bed.exists("package.json"));
}

#[test]
fn what_nobody_ignored_is_removed_whatever_its_name() {
    let bed = Bed::new();
    bed.ws.file("a", "a");
    let target = bed.snap_with(&Filter::default(), None);
    bed.ws.file("node_modules/x", "1").file("path/with/target/in/it", "2");
    assert_eq!(bed.rollback(&target).left, []);
    assert!(!bed.exists("node_modules") && !bed.exists("path"));
}

#[test]
fn a_directory_with_something_unclaimed_stays_with_that_alone() {
    let bed = Bed::new();
    bed.ws.file(".gitignore", ".env\n");
    let target = bed.snap_with(&skipping(), None);
    bed.ws.file("new/deep/.env", "S").file("new/deep/f", "1").file("new/g/h", "2");
    let applied = bed.rollback(&target);
    assert_eq!(applied.left, []);
    assert!(bed.exists("new/deep/.env"));
    assert!(!bed.exists("new/deep/f") && !bed.exists("new/g"));
}

#[test]
fn something_unclaimed_in_the_way_stops_a_retype_and_nothing_else() {
    let bed = Bed::new();
    bed.ws.file(".gitignore", ".env\n").file("x", "a file\n").file("y", "y\n");
    let target = bed.snap_with(&skipping(), None);
    bed.ws.remove("x").file("x/.env", "S").file("x/other", "1").file("y", "Y\n");
    let before = bed.ws.walk();
    let plan = bed.plan(&bed.snap(), &target);
    assert_eq!(plan.left, [left("x/.env", LeftReason::NotClaimed), left("x", LeftReason::InTheWay)]);
    assert_eq!(bed.apply(&plan).unwrap().left, []);
    assert_eq!(bed.text("y"), "y\n");
    let keep = |mut world: belay_testkit::World| {
        world.retain(|path, _| path.starts_with(b"x"));
        world
    };
    assert_same_world(&keep(before), &keep(bed.ws.walk()), Ignore::NOTHING);
}

#[test]
fn what_the_target_saw_and_did_not_take_is_not_touched() {
    let bed = Bed::new();
    bed.ws.file(".gitignore", "secret\n").file("secret/a", "1").file("b", "b");
    let target = bed.snap_with(&skipping(), None);
    bed.ws.file("secret/a", "changed").file("secret/new", "2").file("b", "B");
    let now = bed.snap();
    let plan = bed.plan(&now, &target);
    assert_eq!(plan.left, [left("secret", LeftReason::NotClaimed)]);
    bed.apply(&plan).unwrap();
    assert_eq!(
        (bed.text("secret/a").as_str(), bed.text("secret/new").as_str(), bed.text("b").as_str()),
        ("changed", "2", "b")
    );
    bed.ws.remove("secret");
    let plan = bed.plan(&bed.snap(), &target);
    assert_eq!((plan.steps.len(), plan.left), (0, vec![left("secret", LeftReason::NotHeld)]));
}

#[test]
fn what_the_present_could_not_capture_is_not_replaced() {
    let bed = Bed::new();
    bed.ws.file("dir/a", "a\n").file("file", "f\n");
    let target = bed.snap();
    bed.ws.remove("file").file("file/inside", "1");
    bed.ws.file(".gitignore", "file\n");
    // A capture without `keep`, as it would be if the path could not be read.
    let now = bed.snap_with(&skipping(), None);
    let plan = bed.plan(&now, &target);
    assert_eq!(plan.left, [left("file", LeftReason::InTheWay)]);
    bed.apply(&plan).unwrap();
    assert_eq!(bed.text("file/inside"), "1");
}

#[test]
fn nested_and_negated_ignore_files_are_the_targets_own() {
    let bed = Bed::new();
    bed.ws.file(".gitignore", "*.tmp\n").file("sub/.gitignore", "!keep.tmp\n").file("sub/a", "a");
    let target = bed.snap_with(&skipping(), None);
    bed.ws.file("sub/keep.tmp", "1").file("sub/other.tmp", "2").file("sub/.gitignore", "*\n").file(".gitignore", "*\n");
    bed.rollback(&target);
    assert!(!bed.exists("sub/keep.tmp"), "the target would have taken it");
    assert!(bed.exists("sub/other.tmp"), "the target would not have taken it");
}

#[test]
fn the_exclude_file_of_a_repository_counts() {
    let bed = Bed::new();
    bed.ws.file(".git/info/exclude", "private\n").file(".git/HEAD", "ref: refs/heads/main\n").file("a", "a");
    let target = bed.snap_with(&skipping(), None);
    bed.ws.file("private", "1").file("public", "2").file(".git/info/exclude", "");
    bed.rollback(&target);
    assert!(bed.exists("private") && !bed.exists("public"));
    assert_eq!(bed.text(".git/info/exclude"), "private\n");
}
