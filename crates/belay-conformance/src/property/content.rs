//! What is in files, and which files there are.

use std::os::unix::fs::MetadataExt;

use super::{Property, content};
use crate::stage::{MADE, Made, Stage};

pub(super) static ALL: &[Property] = &[
    content("L4", "a changed file", one_file, |stage| stage.file("a.txt", "two, and longer\n")),
    content("L4", "a deleted file", one_file, |stage| stage.remove("a.txt")),
    content(
        "L4",
        "an empty file",
        |stage| {
            stage.file("empty", "")?;
            MADE
        },
        |stage| stage.remove("empty"),
    ),
    content(
        "L4",
        "a large file, edited in its middle",
        |stage| {
            stage.file("large", noise(3 << 20))?;
            MADE
        },
        |stage| stage.overwrite("large", 1_500_000, b"bits"),
    ),
    content("L4", "what was made later is gone", one_file, |stage| {
        stage.files(&[("new.txt", "new\n"), ("new/deep/file", "new\n")])
    }),
    content(
        "L4",
        "a renamed directory",
        |stage| {
            stage.files(&[("src/main.rs", "fn main() {}\n"), ("src/sub/lib.rs", "pub mod a;\n")])?;
            MADE
        },
        |stage| stage.rename("src", "lib"),
    ),
    content(
        "L4",
        "an emptied workspace",
        |stage| {
            stage.files(&[("a", "a\n"), ("b/c", "c\n"), (".hidden/d", "d\n")])?;
            stage.symlink("link", "b/c")?;
            MADE
        },
        Stage::clear,
    ),
    content("L5", "an edit of the same size under a forged time", one_file, |stage| {
        let path = stage.join("a.txt");
        let time = std::fs::metadata(&path)?;
        stage.overwrite("a.txt", 0, b"two")?;
        let nanoseconds = u32::try_from(time.mtime_nsec()).unwrap_or_default();
        stage.mtime("a.txt", time.mtime(), nanoseconds)
    }),
];

fn one_file(stage: &Stage) -> Made {
    stage.files(&[("a.txt", "one\n"), ("b.txt", "b\n")])?;
    MADE
}

/// Bytes that do not compress, the same every time.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
}
