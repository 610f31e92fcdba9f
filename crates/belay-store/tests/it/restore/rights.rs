//! What needs rights: directories that cannot be written, flags that forbid changes, owners and devices.

use std::process::Command;

use belay_store::LeftReason;
use belay_testkit::{Ignore, assert_same_world, is_root, skip};

use super::bed::{Bed, left};

#[test]
fn read_only_directories_are_no_obstacle() {
    let bed = Bed::new();
    bed.ws.file("shut/a", "a\n").file("shut/b/c", "c\n").file("shut/gone/x", "x\n").mode("shut/b", 0o500);
    bed.ws.mode("shut", 0o555);
    let (before, target) = (bed.ws.walk(), bed.snap());
    bed.ws.mode("shut", 0o755).mode("shut/b", 0o700).file("shut/a", "A\n").file("shut/b/c", "C\n");
    bed.ws.remove("shut/gone").file("shut/b/new", "n\n").file("shut/new/n", "n\n").mode("shut/new", 0o500);
    bed.ws.mode("shut/b", 0o500).mode("shut", 0o555);
    let (wrecked, safety) = (bed.ws.walk(), bed.snap());
    assert_eq!(bed.rollback(&target).left, []);
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
    assert_eq!(bed.rollback(&safety).left, []);
    assert_same_world(&wrecked, &bed.ws.walk(), Ignore::default());
}

#[test]
fn attributes_of_a_read_only_file_are_changed() {
    let bed = Bed::new();
    bed.ws.file("f", "f\n");
    if !bed.ws.xattr("f", "user.a", "1") {
        return skip("extended attributes: the filesystem has none");
    }
    bed.ws.mode("f", 0o444);
    let (before, target) = (bed.ws.walk(), bed.snap());
    bed.ws.mode("f", 0o644).xattr("f", "user.a", "2");
    bed.ws.xattr("f", "user.b", "3");
    bed.ws.mode("f", 0o444);
    let inode = bed.ws.walk()[&b"f"[..]].inode;
    assert_eq!(bed.rollback(&target).left, []);
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
    assert_eq!(bed.ws.walk()[&b"f"[..]].inode, inode, "the file itself was not replaced");
}

#[test]
fn an_inherited_access_list_does_not_stay_on_what_had_none() {
    let bed = Bed::new();
    bed.ws.file("d/a", "a\n").file("d/sub/b", "b\n").symlink("d/l", "a");
    let (before, target) = (bed.ws.walk(), bed.snap());
    bed.ws.remove("d/a").remove("d/sub").remove("d/l");
    let set = Command::new("setfacl").args(["-d", "-m", "u:1:rwx"]).arg(bed.ws.join("d")).status();
    if !set.is_ok_and(|status| status.success()) {
        return skip("default access lists: setfacl does not work here");
    }
    let with_default = bed.snap();
    assert_eq!(bed.rollback(&target).left, []);
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
    bed.ws.file("d/other", "o");
    assert_eq!(bed.rollback(&with_default).left, []);
    bed.nothing_to_do(&with_default);
}

#[test]
fn immutable_files_and_directories_are_no_obstacle_for_root() {
    if !is_root() {
        return skip("inode flags: not root");
    }
    let bed = Bed::new();
    let chattr = |flags: &str, path: &str| {
        Command::new("chattr").arg(flags).arg(bed.ws.join(path)).status().is_ok_and(|status| status.success())
    };
    bed.ws.file("f", "f\n").file("d/a", "a\n").file("log", "l\n").file("lost", "x\n").file("whole/in", "i\n");
    if !["f", "d", "lost", "whole/in", "whole"].iter().all(|path| chattr("+i", path)) || !chattr("+a", "log") {
        return skip("inode flags: the filesystem has none");
    }
    let (before, target) = (bed.ws.walk(), bed.snap());
    for path in ["f", "d", "lost", "whole/in", "whole"] {
        assert!(chattr("-i", path));
    }
    assert!(chattr("-a", "log"));
    bed.ws.file("f", "F\n").remove("d/a").file("d/b", "b\n").file("log", "changed\n").remove("lost").remove("whole");
    assert!(chattr("+i", "f") && chattr("+i", "d/b") && chattr("+i", "d") && chattr("+a", "log"));
    let (wrecked, safety) = (bed.ws.walk(), bed.snap());
    assert_eq!(bed.rollback(&target).left, []);
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
    assert_eq!(bed.rollback(&safety).left, []);
    assert_same_world(&wrecked, &bed.ws.walk(), Ignore::default());
    for path in ["f", "d", "d/b"] {
        chattr("-i", path);
    }
    chattr("-a", "log");
}

#[test]
fn owners_come_back_for_root() {
    if !is_root() {
        return skip("owners: not root");
    }
    let bed = Bed::new();
    bed.ws.file("f", "f\n").file("d/x", "x\n").symlink("l", "f").file_mode("s", "s\n", 0o4755);
    for path in ["f", "d", "l", "s"] {
        bed.ws.owner(path, 1_234, 2_345);
    }
    bed.ws.mode("s", 0o4755);
    let (before, target) = (bed.ws.walk(), bed.snap());
    for path in ["f", "d", "l", "s"] {
        bed.ws.owner(path, 0, 0);
    }
    assert_eq!(bed.rollback(&target).left, []);
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
}

#[test]
fn a_device_comes_back_for_root() {
    if !is_root() {
        return skip("devices: not root");
    }
    let bed = Bed::new();
    bed.ws.null_device("null").null_device("d/null").mode("null", 0o666);
    let (before, target) = (bed.ws.walk(), bed.snap());
    bed.ws.remove("null").file("null", "a file\n").remove("d");
    assert_eq!(bed.rollback(&target).left, []);
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
}

#[test]
fn what_an_ordinary_user_may_not_make_is_left_and_said() {
    if !is_root() {
        return skip("devices: not root");
    }
    let bed = Bed::new();
    bed.ws.null_device("null").null_device("d/null").file("d/f", "f\n");
    let target = bed.snap();
    bed.ws.remove("null").file("null", "a file\n").remove("d");
    let now = bed.snap();
    let links = now.links(&bed.store).unwrap();
    let view = belay_store::View::stored(&bed.store);
    let plan = belay_store::plan(view, &now, &links, &target, &belay_store::Scope::default(), false).unwrap();
    assert_eq!(plan.left, ["d/null", "null"].map(|path| left(path, LeftReason::NotPermitted)));
    bed.apply(&plan).unwrap();
    assert_eq!((bed.text("null").as_str(), bed.text("d/f").as_str()), ("a file\n", "f\n"));
}

#[test]
fn what_its_owner_was_shut_out_of_is_opened_again_and_never_replaced_unseen() {
    if is_root() {
        return skip("unreadable files: root reads everything");
    }
    let bed = Bed::new();
    bed.ws.file("f", "f\n").file("changed", "old\n");
    let (before, target) = (bed.ws.walk(), bed.snap());
    bed.ws.file("changed", "new\n").mode("changed", 0).mode("f", 0).file("new/secret", "s").mode("new/secret", 0);
    let safety = bed.snap();
    let plan = bed.plan(&safety, &target);
    let reasons =
        [("changed", LeftReason::InTheWay), ("f", LeftReason::InTheWay), ("new/secret", LeftReason::NotClaimed)];
    assert_eq!(plan.left, reasons.map(|(path, reason)| left(path, reason)));
    assert_eq!(bed.apply(&plan).unwrap().left, []);
    assert_eq!((bed.text("f").as_str(), bed.text("changed").as_str()), ("f\n", "new\n"));
    assert!(bed.exists("new/secret"), "what could not be captured is never removed");
    let opened = bed.snap();
    bed.rollback(&target);
    let without_new = |world: belay_testkit::World| -> belay_testkit::World {
        world.into_iter().filter(|(path, _)| !path.starts_with(b"new") && !path.is_empty()).collect()
    };
    assert_same_world(&without_new(before), &without_new(bed.ws.walk()), Ignore::default());
    bed.rollback(&opened);
    bed.rollback(&safety);
    let world = bed.ws.walk();
    assert_eq!((world[&b"f"[..]].mode, world[&b"changed"[..]].mode), (0, 0));
    bed.ws.mode("changed", 0o600);
    assert_eq!(bed.text("changed"), "new\n");
}
