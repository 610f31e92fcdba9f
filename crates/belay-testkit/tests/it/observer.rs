//! The observer sees every property, and a comparison names each one that differs.

use belay_testkit::{
    Ignore, Kind, RogueAgent, TempWorkspace, commit_all, diff_worlds, git, is_root, linked_worktree,
    nested_repositories, small_project, walk,
};
use std::path::Path;

/// What [`diff_worlds`] says after `change`, restricted to properties that a snapshot must bring back.
fn differences(change: impl FnOnce(&TempWorkspace)) -> Vec<String> {
    let workspace = TempWorkspace::new();
    workspace.every_kind("all");
    let before = workspace.walk();
    assert_eq!(diff_worlds(&before, &workspace.walk(), Ignore::NOTHING), Vec::<String>::new());
    change(&workspace);
    let ignore = Ignore { directory_mtime: true, mtime: true, ..Ignore::default() };
    diff_worlds(&before, &workspace.walk(), ignore)
}

#[test]
fn each_changed_property_is_named() {
    type Change = fn(&TempWorkspace);
    let cases: [(&str, Change); 12] = [
        ("all/large: content was", |w| {
            w.overwrite("all/large", 2_000_000, b"x");
        }),
        ("all/program: mode was 0775, is 0700", |w| {
            w.mode("all/program", 0o700);
        }),
        ("all/empty: size was 0, is 1", |w| {
            w.file("all/empty", "x");
        }),
        ("all/to-plain: link text was", |w| {
            w.remove("all/to-plain").symlink("all/to-plain", "empty");
        }),
        ("all/plain: xattrs was [user.colour=blue], is [user", |w| {
            w.xattr("all/plain", "user.colour", "red");
        }),
        ("all/sparse: data was", |w| {
            w.overwrite("all/sparse", 4 << 20, &[0; 4096]);
        }),
        ("all/plain-twin: hard link of was Some(\"all/plain\")", |w| {
            w.remove("all/plain-twin").file("all/plain-twin", "plain\n");
        }),
        ("all/fifo: Fifo became Socket", |w| {
            w.remove("all/fifo").socket("all/fifo");
        }),
        ("all/empty-directory: Directory is missing", |w| {
            w.remove("all/empty-directory");
        }),
        ("all/new\\n: File is new", |w| {
            w.file("all/new\n", "");
        }),
        ("all/sticky: mode was 1777, is 0755", |w| {
            w.mode("all/sticky", 0o755);
        }),
        ("all/program: xattrs was", |w| {
            w.remove("all/program").file_mode("all/program", "#!/bin/sh\n", 0o775);
        }),
    ];
    for (expected, change) in cases {
        let lines = differences(change);
        assert!(lines.iter().any(|line| line.starts_with(expected)), "{expected} is not in {lines:#?}");
    }
}

#[test]
fn zeroes_and_holes_have_the_same_content() {
    let lines = differences(|workspace| {
        workspace.overwrite("all/only-a-hole", 0, &[0; 8192]);
    });
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("data was [], is [(0, "), "{lines:?}");
}

#[test]
fn times_are_compared_to_the_nanosecond() {
    let workspace = TempWorkspace::new();
    workspace.file("a", "a").mtime("a", 1_000_000_000, 1);
    let before = workspace.walk();
    workspace.mtime("a", 1_000_000_000, 2);
    let after = workspace.walk();
    let lines = diff_worlds(&before, &after, Ignore::default());
    assert_eq!(lines, ["a: mtime was (1000000000, 1), is (1000000000, 2)"]);
    let touched = Ignore { mtime: true, ..Ignore::NOTHING };
    assert_eq!(diff_worlds(&before, &after, touched).len(), 1, "the ctime");
}

#[test]
fn paths_longer_than_the_kernel_allows_are_seen_and_removed() {
    let workspace = TempWorkspace::new();
    let path = workspace.deep("", 10_000);
    let world = workspace.walk();
    assert_eq!(world[&path].head, b"at the bottom\n");
    let base = workspace.base().to_owned();
    drop(workspace);
    assert!(!base.exists());
}

#[test]
fn every_odd_name_is_a_file_of_its_own() {
    let workspace = TempWorkspace::new();
    let paths = workspace.odd_names("odd");
    let world = workspace.walk();
    assert_eq!(world.len(), paths.len() + 2);
    assert!(paths.iter().all(|path| world[path].kind == Kind::File));
}

#[test]
fn as_root_devices_and_owners_are_seen() {
    if !is_root() {
        return belay_testkit::skip("devices and owners need root");
    }
    let workspace = TempWorkspace::new();
    workspace.every_kind("all");
    let world = workspace.walk();
    let null = &world[&b"all/null"[..]];
    assert_eq!((null.kind, null.device), (Kind::CharDevice, (1, 3)));
    assert_eq!(world[&b"all/old"[..]].uid, 12_345);
    assert_eq!(world[&b"all/to-plain"[..]].gid, 23_456);
}

#[test]
fn equal_calls_make_equal_commits() {
    let head = |directory: &Path| {
        let output = git(directory).args(["rev-parse", "HEAD"]).output();
        output.expect("git runs").stdout
    };
    let (one, two) = (TempWorkspace::new(), TempWorkspace::new());
    nested_repositories(one.path());
    nested_repositories(two.path());
    assert_eq!(head(one.path()).len(), 41);
    assert_eq!(head(one.path()), head(two.path()));
    linked_worktree(one.path(), &one.outside().join("tree"), "elsewhere");
    std::fs::write(one.outside().join("tree/new"), "").expect("the worktree is there");
    commit_all(&one.outside().join("tree"), "more");
    assert_eq!(head(one.path()), head(two.path()));
}

#[test]
fn the_rogue_agent_does_what_it_says() {
    let workspace = TempWorkspace::new();
    small_project(workspace.path());
    let before = workspace.walk();
    let told = RogueAgent::wreck(workspace.path());
    let ignore = Ignore { directory_mtime: true, ..Ignore::default() };
    let lines = diff_worlds(&before, &walk(workspace.path()), ignore);
    let lines: Vec<_> = lines
        .iter()
        .filter(|line| !line.starts_with(".git/") && !line.contains(": mtime was"))
        .map(String::as_str)
        .collect();
    assert_eq!(told.len(), 8);
    assert_eq!(lines.len(), 12, "{lines:#?}");
    assert!(lines.contains(&"deploy.sh: mode was 0755, is 0777"));
    assert!(lines.contains(&"tests: Directory became File"));
}
