//! `belay conformance`: belay keeps everything, as root and as anybody, and what others lose is found.

use std::path::Path;

use belay_testkit::{OrdinaryUser, SmallDisk, ZfsPool, skip};
use serde_json::Value;

use crate::world::World;

/// The verdicts on one tool as (property, outcome, what differs).
fn verdicts(document: &Value) -> Vec<(String, String, String)> {
    let rows = document["tools"][0]["properties"].as_array().expect("a list of properties");
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    rows.iter().map(|row| (text(&row["property"]), text(&row["outcome"]), text(&row["differs"]))).collect()
}

fn lost(document: &Value) -> Vec<(String, String, String)> {
    verdicts(document).into_iter().filter(|(_, outcome, _)| outcome == "lost").collect()
}

/// Belay on one group of properties.
fn belay_keeps(groups: &[&str]) {
    let mut world = World::new();
    let mut words = vec!["conformance"];
    words.extend(groups.iter().flat_map(|group| ["--only", group]));
    let document = world.json(&words);
    assert_eq!(lost(&document), [], "{groups:?}");
    for (property, outcome, _) in verdicts(&document).iter().filter(|(_, outcome, _)| outcome != "kept") {
        skip(&format!("{property}: {outcome}"));
    }
    assert!(!world.workspace.home().join("store").exists(), "it used the user's store");
}

#[test]
fn belay_keeps_content_and_metadata() {
    belay_keeps(&["content", "metadata"]);
}

#[test]
fn belay_keeps_kinds_and_names() {
    belay_keeps(&["kinds", "names"]);
}

#[test]
fn belay_keeps_repositories_claims_and_calm() {
    belay_keeps(&["git", "claims", "calm"]);
}

/// What belay loses with a backend, in workspaces beneath a place.
fn lost_with(backend: &str, place: &Path) -> Vec<(String, String, String)> {
    let mut world = World::new();
    let place = place.to_str().expect("UTF-8");
    let ran = world.belay(&["conformance", "--json", "--backend", backend, "--place", place]);
    let document: Value = serde_json::from_str(&ran.raw()).unwrap_or_else(|error| panic!("{error}: {ran}"));
    assert!(document["tools"][0]["tried"].as_u64() > Some(50), "{ran}");
    lost(&document)
}

#[test]
fn belay_keeps_everything_with_copies_and_archives() {
    let world = World::new();
    for backend in ["clone", "archive"] {
        assert_eq!(lost_with(backend, world.workspace.outside()), [], "{backend}");
    }
}

#[test]
fn belay_keeps_everything_with_snapshots_and_copies_on_btrfs() {
    let Some(disk) = SmallDisk::btrfs(512 << 20) else { return };
    for backend in ["btrfs", "clone"] {
        assert_eq!(lost_with(backend, disk.path()), [], "{backend}");
    }
}

#[test]
fn belay_keeps_everything_with_copies_on_xfs() {
    let Some(disk) = SmallDisk::xfs(512 << 20) else { return };
    assert_eq!(lost_with("clone", disk.path()), []);
}

#[test]
fn belay_keeps_with_snapshots_of_zfs_whatever_it_keeps_there_with_packs() {
    let Some(pool) = ZfsPool::create() else { return };
    // zfs-fuse itself does not keep everything, so that what is lost either way is not belay's to keep.
    let without: Vec<String> = lost_with("objects", pool.path()).into_iter().map(|(property, ..)| property).collect();
    let lost = lost_with("zfs", pool.path());
    let own: Vec<_> = lost.iter().filter(|(property, ..)| !without.contains(property)).collect();
    assert!(own.is_empty(), "{own:?}");
    for property in without {
        skip(&format!("{property}: zfs-fuse does not keep it"));
    }
}

/// What belay loses for an ordinary user with a backend, in workspaces beneath a place of its own.
fn lost_for(user: OrdinaryUser, backend: &str, place: &Path) -> Vec<(String, String, String)> {
    let home = user.directory();
    let program = user.copy_of(Path::new(env!("CARGO_BIN_EXE_belay")), home.path());
    let mut command = user.command(program, home.path());
    let output = command
        .args(["conformance", "--json", "--backend", backend, "--place"])
        .arg(place)
        .output()
        .expect("belay starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert!(document["tools"][0]["tried"].as_u64() > Some(40), "{document}");
    lost(&document)
}

#[test]
fn belay_keeps_everything_for_an_ordinary_user() {
    let Some(user) = OrdinaryUser::find().filter(|_| belay_testkit::is_root()) else { return };
    let place = user.directory();
    for backend in ["objects", "clone", "archive"] {
        assert_eq!(lost_for(user, backend, place.path()), [], "{backend}");
    }
}

#[test]
fn belay_keeps_everything_for_an_ordinary_user_with_snapshots_of_btrfs() {
    let Some(user) = OrdinaryUser::find().filter(|_| belay_testkit::is_root()) else { return };
    let Some(disk) = SmallDisk::btrfs(512 << 20) else { return };
    let place = disk.path().join("own");
    std::fs::create_dir(&place).unwrap();
    user.own(&place);
    for backend in ["btrfs", "clone"] {
        assert_eq!(lost_for(user, backend, &place), [], "{backend}");
    }
}

#[test]
fn a_tool_that_brings_nothing_back_keeps_nothing() {
    let mut world = World::new();
    let ran = world.belay(&["conformance", "--json", "--snapshot", "true", "--restore", "true"]);
    assert_eq!(ran.code, 1, "{ran}");
    let document: Value = serde_json::from_str(&ran.raw()).expect("JSON");
    assert_eq!(document["tools"][0]["kept"], 0, "{ran}");
    assert!(document["tools"][0]["tried"].as_u64() > Some(50), "{ran}");
}

#[test]
fn what_a_copy_loses_is_named() {
    let mut world = World::new();
    // Plain copies: no times, no links, no attributes, and what was made later stays.
    let (snapshot, restore) = ("cp -r . {store}/copy", "cp -r {store}/copy/. {workspace}");
    let only = ["a changed file", "the time of a file", "hard links", "made later"];
    let mut words = vec!["conformance", "--snapshot", snapshot, "--restore", restore];
    words.extend(only.iter().flat_map(|text| ["--only", text]));
    let ran = world.belay(&words);
    assert_eq!(ran.code, 1, "{ran}");
    for line in [
        "a changed file  L4  kept",
        "what was made later is gone  L4  lost  new: Directory is new (and 3 more)",
        "the time of a file, to the nanosecond  L4  lost  old: mtime was (1000000000, 123456789)",
        "hard links  L4  lost",
        "the tool: 2 of 5",
    ] {
        assert!(ran.stdout.contains(line), "{line:?} is missing: {ran}");
    }
}

#[test]
fn tools_stand_beside_each_other_and_a_program_is_told_what_to_do() {
    let mut world = World::new();
    let ran = world.belay(&["conformance", "--only", "a changed file", "--", "belay", "cp"]);
    assert!(ran.code == 0 && ran.stdout.contains("PROPERTY  LAW  BELAY  CP\na changed file  L4  kept  kept"), "{ran}");
    world.workspace.file_mode(
        "tool",
        "#!/bin/sh\ncase $1 in snapshot) cp -a \"$2/.\" \"$3\" ;; *) cp -a \"$3/.\" \"$2\" ;; esac\n",
        0o755,
    );
    let ran = world.belay(&["conformance", "--only", "a changed file", "--", "./tool"]);
    assert!(ran.code == 0 && ran.stdout.contains("./tool: 1 of 1"), "{ran}");
    let ran = world.belay(&["conformance", "--", "tarr"]);
    assert!(ran.code == 3 && ran.stderr.contains("tarr is neither a known tool nor a program"), "{ran}");
    let ran = world.belay(&["conformance", "--only", "nothing of the kind"]);
    assert!(ran.code == 3 && ran.stderr.contains("the groups: content, metadata"), "{ran}");
}

#[test]
fn what_hangs_is_stopped_and_a_repository_of_mine_is_out_of_reach() {
    let mut world = World::new();
    let ran = world.belay(&[
        "conformance",
        "--timeout",
        "1",
        "--only",
        "a changed file",
        "--snapshot",
        "sleep 60",
        "--restore",
        "git status",
    ]);
    assert!(ran.code == 1 && ran.stdout.contains("the snapshot: stopped, as it had not ended"), "{ran}");
    belay_testkit::repository(world.workspace.path());
    let before = world.workspace.walk();
    let place = world.workspace.join("inside");
    std::fs::create_dir(&place).unwrap();
    let mut command =
        world.command(&["conformance", "--only", "a changed file", "--place", "inside", "--", "git-stash"]);
    command.env("GIT_DIR", world.workspace.join(".git")).env("GIT_WORK_TREE", world.workspace.path());
    let ran = world.ran(command);
    assert!(ran.stdout.contains("git-stash: 1 of 1"), "{ran}");
    std::fs::remove_dir(&place).expect("nothing is left behind");
    let ignore = belay_testkit::Ignore { top: true, ..belay_testkit::Ignore::NOTHING };
    belay_testkit::assert_same_world(&before, &world.workspace.walk(), ignore);
}
