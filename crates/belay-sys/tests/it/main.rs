//! What belay-sys promises, asked of the real kernel.
//!
//! A test that needs root says `skipped: not root` without it; one about ordinary users runs itself again as one.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

mod btrfs;
mod cgroup;
mod escape;
mod file;
mod lock;
mod metadata;
mod mounts;
mod names;
mod process;
mod race;
mod rerun;
mod spawn;
mod special;
mod without_openat2;
mod xattr;
mod zfs;

use belay_sys::{Dir, Root};
use tempfile::TempDir;

/// A temporary directory, opened as a root.
fn world() -> (TempDir, Root) {
    let temp = TempDir::new().unwrap();
    let root = Root::open(temp.path()).unwrap();
    (temp, root)
}

/// The same, opened as a directory.
fn world_dir() -> (TempDir, Dir) {
    let (temp, root) = world();
    let dir = root.dir(b"").unwrap();
    (temp, dir)
}

/// Names in `dir`, sorted.
fn names(dir: &Dir) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    dir.list(&mut Vec::new(), &mut |name, _, _| names.push(name.to_vec())).unwrap();
    names.sort();
    names
}
