//! Test worlds: workspaces of every shape, an enemy's workspace, and an observer that shares no code with belay.
//!
//! Nothing here depends on a belay crate but the observer's, which depends on none, so that a fault in belay cannot hide itself from its tests.
//! Builders panic with the path and the cause; what a machine cannot do is skipped aloud, see [`skip`].
#![allow(clippy::print_stderr)]

mod at;
mod disk;
mod fuzz;
mod git;
mod hostile;
mod look;
mod rogue;
mod shapes;
mod swap;
mod transcript;
mod user;
mod workspace;
mod zfs;

pub use belay_conformance::{Ignore, Kind, Seen, World, diff_worlds, show};
pub use disk::SmallDisk;
pub use fuzz::fuzz;
pub use git::{commit_all, git, linked_worktree, nested_repositories, repository, unborn_repository};
pub use hostile::{Hostile, hostile};
pub use look::{assert_same_tree, assert_same_world, walk};
pub use rogue::{RogueAgent, small_project};
pub use swap::Swapper;
pub use transcript::Transcript;
pub use user::{OrdinaryUser, as_user, is_root};
pub use workspace::TempWorkspace;
pub use zfs::ZfsPool;

use std::io::Write;

/// Says on stderr that a test did not run and why, and in `$BELAY_SKIP_LOG` too, which `.ci/run` prints at its end.
///
/// A test runner hides the output of tests that pass, so stderr alone would be a skip that nobody sees.
pub fn skip(why: &str) {
    let test = test_name();
    eprintln!("skipped: {test}: {why}");
    let Some(log) = std::env::var_os("BELAY_SKIP_LOG") else {
        return;
    };
    if let Ok(mut file) = std::fs::File::options().append(true).create(true).open(log) {
        // One write, so that lines of parallel tests do not mix; a lost line costs only this notice.
        let _ = file.write_all(format!("{test}: {why}\n").as_bytes());
    }
}

/// How long each fuzzed decoder is fed: one second, or what `$BELAY_FUZZ_SECONDS` says.
pub fn fuzz_seconds() -> f64 {
    std::env::var("BELAY_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1.0)
}

/// The running test: its thread's name, or under a runner with one process for each test, the one asked for.
fn test_name() -> String {
    match std::thread::current().name() {
        Some(name) if name != "main" => name.to_owned(),
        _ => std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_else(|| "?".into()),
    }
}
