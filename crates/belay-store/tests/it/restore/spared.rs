//! What whoever asks may not have changed stays as it is, under every name that it has or had.

use std::os::unix::fs::MetadataExt;

use belay_store::{Applied, Filter, LeftReason, Manifest, Scope, Spared, View, plan};

use super::bed::{Bed, left};

/// Goes to `target`, or to some paths of it, but for what is spared.
fn rollback(bed: &Bed, target: &Manifest, paths: &[&str], spared: &[(&str, bool)]) -> Applied {
    let now = bed.snap_with(&Filter::everything(), Some(target));
    let links = now.links(&bed.store).unwrap();
    let spared = Spared::new(spared.iter().map(|(path, is_spared)| (path.as_bytes().to_vec(), *is_spared)));
    let scope = Scope::new(paths.iter().map(|path| path.as_bytes().to_vec()).collect()).sparing(spared);
    let plan = plan(View::stored(&bed.store), &now, &links, target, &scope, belay_testkit::is_root()).unwrap();
    let mut applied = bed.apply(&plan).unwrap();
    bed.no_leftovers();
    applied.left.splice(0..0, plan.left);
    applied
}

fn inode(bed: &Bed, path: &str) -> u64 {
    bed.ws.join(path).metadata().unwrap().ino()
}

const GIT: [(&str, bool); 2] = [(".git/config", true), (".git/hooks", true)];

#[test]
fn what_is_spared_is_neither_changed_nor_removed_and_holds_what_is_around_it() {
    let bed = Bed::new();
    bed.ws.file("a", "1");
    let before = bed.snap();
    bed.ws.file(".git/config", "good").file(".git/hooks/pre-commit", "good").file(".git/HEAD", "x").file("a", "2");
    let numbers = [inode(&bed, ".git"), inode(&bed, ".git/config"), inode(&bed, ".git/hooks")];
    let applied = rollback(&bed, &before, &[], &GIT);
    assert_eq!(applied.left, [".git/config", ".git/hooks"].map(|path| left(path, LeftReason::Spared)));
    assert_eq!([inode(&bed, ".git"), inode(&bed, ".git/config"), inode(&bed, ".git/hooks")], numbers);
    assert_eq!(bed.text(".git/hooks/pre-commit"), "good");
    assert!(bed.text("a") == "1" && !bed.exists(".git/HEAD"), "what is not spared is as it was");

    let bed = Bed::new();
    bed.ws.file(".git", "gitdir: elsewhere");
    let before = bed.snap();
    bed.ws.remove(".git").file(".git/config", "good").file(".git/hooks/pre-commit", "good");
    rollback(&bed, &before, &[], &GIT);
    assert_eq!(bed.text(".git/config"), "good", "no other type of file takes its place");
}

#[test]
fn what_is_spared_does_not_come_back_either() {
    let bed = Bed::new();
    bed.ws.file(".git/config", "evil").file(".git/HEAD", "x").file("b", "b");
    let before = bed.snap();
    bed.ws.file(".git/config", "good").remove("b");
    let applied = rollback(&bed, &before, &[".git/config", "b"], &GIT);
    assert_eq!(applied.left, [left(".git/config", LeftReason::Spared)]);
    assert_eq!((bed.text(".git/config").as_str(), bed.text("b").as_str()), ("good", "b"));
    bed.ws.remove(".git");
    assert_eq!(rollback(&bed, &before, &[], &GIT).left, [left(".git/config", LeftReason::Spared)]);
    assert!(bed.exists(".git/HEAD") && !bed.exists(".git/config"));
}

#[test]
fn no_name_is_made_of_a_file_that_is_spared() {
    let bed = Bed::new();
    bed.ws.file(".env", "secret").hard_link("x", ".env").file("y", "y").hard_link("z", "y");
    let before = bed.snap();
    // It is as it was, so that nothing but the link would have to be made.
    bed.ws.remove("x").remove("z");
    let applied = rollback(&bed, &before, &["x"], &[(".env", true)]);
    assert_eq!(applied.left, [left("x", LeftReason::Spared)]);
    assert!(!bed.exists("x"));
    bed.ws.file("x", "mine");
    rollback(&bed, &before, &[], &[(".env", true)]);
    assert_eq!((bed.text("x").as_str(), bed.ws.join(".env").metadata().unwrap().nlink()), ("mine", 1));
    assert_eq!(inode(&bed, "y"), inode(&bed, "z"), "other links are made again");
}

#[test]
fn a_file_is_spared_under_all_names_that_it_has_now() {
    let bed = Bed::new();
    bed.ws.file(".env", "old").file("x", "old");
    let before = bed.snap();
    bed.ws.file(".env", "secret").remove("x").hard_link("x", ".env").mode("x", 0o600);
    rollback(&bed, &before, &["x"], &[(".env", true)]);
    assert_eq!((bed.text(".env").as_str(), bed.text("x").as_str()), ("secret", "secret"));
    assert_eq!(bed.ws.join(".env").metadata().unwrap().mode() & 0o777, 0o600);
}

#[test]
fn what_is_open_in_a_spared_directory_is_restored() {
    let bed = Bed::new();
    bed.ws.file("src/a", "1").file("src/gone", "1").file("top", "1").file("other/deep/b", "1");
    let before = bed.snap();
    bed.ws.file("src/a", "2").remove("src/gone").file("src/new", "2").file("top", "2").file("other/deep/b", "2");
    let applied = rollback(&bed, &before, &[], &[("", true), ("src", false), ("other/deep", false)]);
    assert_eq!(applied.left, [left("top", LeftReason::Spared)]);
    assert!(bed.text("src/a") == "1" && bed.text("src/gone") == "1" && !bed.exists("src/new"));
    assert_eq!((bed.text("top").as_str(), bed.text("other/deep/b").as_str()), ("2", "1"));
}
