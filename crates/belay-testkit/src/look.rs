//! The observer of `belay-conformance`, for tests: whatever it cannot see or finds different ends the test.

use std::path::Path;

use belay_conformance::{Ignore, World, diff_worlds};

/// Observes `top` and everything beneath it.
#[track_caller]
pub fn walk(top: &Path) -> World {
    belay_conformance::walk(top).unwrap_or_else(|error| panic!("{error}"))
}

/// Panics with every difference when `after` is not the same as `before`.
#[track_caller]
pub fn assert_same_world(before: &World, after: &World, ignore: Ignore) {
    let lines = diff_worlds(before, after, ignore);
    assert!(lines.is_empty(), "{} differences:\n{}", lines.len(), lines[..lines.len().min(50)].join("\n"));
}

/// Panics unless both directories look the same to [`walk`].
#[track_caller]
pub fn assert_same_tree(before: &Path, after: &Path, ignore: Ignore) {
    assert_same_world(&walk(before), &walk(after), ignore);
}
