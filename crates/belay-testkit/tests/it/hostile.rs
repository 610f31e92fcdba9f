//! The enemy's traps are alive: a program that trusts the workspace springs them.

use belay_testkit::{Swapper, TempWorkspace, git, hostile};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn looking_touches_no_canary() {
    let hostile = hostile();
    let world = hostile.workspace().walk();
    assert!(world.len() > 5_000);
    hostile.canaries_untouched();
}

#[test]
fn git_springs_the_traps() {
    let hostile = hostile();
    let ran = |name: &str| hostile.workspace().outside().join(name).exists();
    for arguments in [&["add", "notes.txt"][..], &["diff", "--", "README.md"], &["branch", "fresh"], &["st"]] {
        // These fail in their various ways; what counts is what they started.
        let _ = git(hostile.path()).args(arguments).output().expect("git runs");
    }
    for trap in ["ran-fsmonitor", "ran-process", "ran-hook", "ran-alias"] {
        assert!(ran(trap), "{trap}");
    }
    let caught = catch_unwind(AssertUnwindSafe(|| hostile.canaries_untouched()));
    assert!(caught.is_err());
}

#[test]
fn writing_through_a_link_is_noticed() {
    let hostile = hostile();
    std::fs::write(hostile.path().join("links/secret"), "CANARY\n").expect("the link leads outside");
    let caught = catch_unwind(AssertUnwindSafe(|| hostile.canaries_untouched()));
    assert!(caught.is_err());
}

#[test]
fn the_swapper_swaps_and_puts_back() {
    let workspace = TempWorkspace::new();
    workspace.file("victim/file", "inside\n");
    std::fs::write(workspace.outside().join("file"), "outside\n").expect("outside is there");
    let (victim, file) = (workspace.join("victim"), workspace.join("victim/file"));
    let decoy = workspace.base().join("decoy");
    let swapper = Swapper::with_symlink(&victim, &decoy, workspace.outside());
    let mut seen = [0_u32; 2];
    while swapper.swaps() < 2_000 || seen.contains(&0) {
        match std::fs::read(&file).as_deref() {
            Ok(b"inside\n") => seen[0] += 1,
            Ok(b"outside\n") => seen[1] += 1,
            other => panic!("{other:?}"),
        }
    }
    drop(swapper);
    assert!(!victim.is_symlink());
    assert!(decoy.is_symlink());
}
