//! Reaching a path of any length, as the observer does; whatever fails ends the test.

use std::path::Path;

pub(crate) use belay_conformance::at::{join, remove_all, short_path};
use rustix::fd::OwnedFd;

/// Opens the directory that a test named; links in `path` itself are followed.
#[track_caller]
pub(crate) fn open_top(path: &Path) -> OwnedFd {
    belay_conformance::at::open_top(path).unwrap_or_else(|error| panic!("{error}"))
}

/// Opens the parent of `path` beneath `top`, making missing directories, and returns it with the last name.
#[track_caller]
pub(crate) fn parent_of(top: &Path, path: &[u8]) -> (OwnedFd, Vec<u8>) {
    belay_conformance::at::parent_of(top, path).unwrap_or_else(|error| panic!("{error}"))
}
