//! Hard links are joined and parted, and names outside of the workspace or the scope never notice.

use std::os::unix::fs::MetadataExt;

use belay_testkit::{Ignore, assert_same_world};

use super::bed::Bed;

fn check(build: impl Fn(&Bed), change: impl Fn(&Bed)) {
    let bed = Bed::new();
    build(&bed);
    let (before, target) = (bed.ws.walk(), bed.snap());
    change(&bed);
    let (changed, safety) = (bed.ws.walk(), bed.snap());
    assert_eq!(bed.rollback(&target).left, []);
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
    bed.nothing_to_do(&target);
    assert_eq!(bed.rollback(&safety).left, []);
    assert_same_world(&changed, &bed.ws.walk(), Ignore::default());
    bed.nothing_to_do(&safety);
}

fn three(bed: &Bed) {
    bed.ws.file("a", "one\n").hard_link("b", "a").hard_link("d/c", "a");
}

#[test]
fn names_that_were_removed_are_linked_again() {
    check(three, |bed| {
        bed.ws.remove("b").remove("d");
    });
}

#[test]
fn a_whole_group_comes_back_as_one_file() {
    check(three, |bed| {
        bed.ws.remove("a").remove("b").remove("d");
    });
}

#[test]
fn copies_become_one_file_again() {
    check(three, |bed| {
        bed.ws.remove("b").file("b", "one\n").remove("d/c").file("d/c", "other\n");
    });
}

#[test]
fn one_file_becomes_copies_again() {
    let build = |bed: &Bed| {
        bed.ws.file("a", "one\n").file("b", "one\n").file("d/c", "one\n");
        for name in ["a", "b", "d/c"] {
            bed.ws.mtime(name, 1_000_000_000, 0);
        }
    };
    check(build, |bed| {
        bed.ws.remove("b").hard_link("b", "a").remove("d/c").hard_link("d/c", "a");
    });
}

#[test]
fn a_mode_that_all_names_share_is_changed_for_all() {
    check(three, |bed| {
        bed.ws.mode("b", 0o600);
    });
}

#[test]
fn a_mode_changes_while_names_part() {
    check(three, |bed| {
        bed.ws.mode("a", 0o600).remove("b").file("new", "x").remove("d/c").hard_link("d/new", "a");
    });
}

#[test]
fn content_changes_under_all_names_at_once() {
    check(three, |bed| {
        bed.ws.overwrite("a", 0, b"two\n");
    });
}

#[test]
fn groups_swap_members() {
    let build = |bed: &Bed| {
        bed.ws.file("a", "1\n").hard_link("b", "a").file("c", "2\n").hard_link("d", "c").file("e", "1\n");
    };
    check(build, |bed| {
        bed.ws.remove("b").hard_link("b", "c").remove("d").hard_link("d", "a").remove("e").hard_link("e", "a");
    });
}

#[test]
fn two_groups_become_one_and_the_other_way_round() {
    let build = |bed: &Bed| {
        bed.ws.file("a", "1\n").hard_link("b", "a").hard_link("c", "a").hard_link("d", "a");
    };
    check(build, |bed| {
        bed.ws.remove("c").file("c", "1\n").remove("d").hard_link("d", "c").mode("c", 0o600);
    });
}

#[test]
fn links_inside_a_directory_that_comes_back_whole() {
    let build = |bed: &Bed| {
        bed.ws.file("x/a", "1\n").hard_link("x/y/b", "x/a").file("keep", "2\n").hard_link("x/k", "keep");
    };
    check(build, |bed| {
        bed.ws.remove("x");
    });
}

#[test]
fn a_name_outside_of_the_workspace_does_not_change_with_the_one_inside() {
    let bed = Bed::new();
    bed.ws.file("f", "same\n").mode("f", 0o644);
    let target = bed.snap();
    bed.ws.mode("f", 0o600);
    let outside = bed.ws.outside().join("mine");
    std::fs::hard_link(bed.ws.join("f"), &outside).unwrap();
    assert_eq!(bed.rollback(&target).left, []);
    assert_eq!(outside.metadata().unwrap().mode() & 0o777, 0o600);
    assert_eq!(bed.ws.join("f").metadata().unwrap().mode() & 0o777, 0o644);
    bed.nothing_to_do(&target);
}

#[test]
fn a_name_outside_of_the_scope_does_not_change_with_the_one_inside() {
    let bed = Bed::new();
    bed.ws.file("a", "same\n").file("b", "same\n");
    let target = bed.snap();
    bed.ws.mode("a", 0o600).remove("b").hard_link("b", "a");
    bed.rollback_part(&target, &["a"]);
    let mode = |name: &str| bed.ws.join(name).metadata().unwrap().mode() & 0o777;
    assert_eq!((mode("a"), mode("b")), (0o644, 0o600));
}

#[test]
fn a_new_name_is_linked_to_a_member_outside_of_the_scope() {
    let bed = Bed::new();
    three(&bed);
    let (before, target) = (bed.ws.walk(), bed.snap());
    bed.ws.remove("a");
    bed.rollback_part(&target, &["a"]);
    assert_same_world(&before, &bed.ws.walk(), Ignore::default());
}
