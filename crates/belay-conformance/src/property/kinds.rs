//! What a path can be besides a file, and what becomes of one that turned into something else.

use rustix::fs::FileType;

use super::{Property, content, same};
use crate::compare::Ignore;
use crate::stage::{MADE, Made, Stage};

const LINKS: Ignore = Ignore { hard_links: false, ..Ignore::BUT_CONTENT };

pub(super) static ALL: &[Property] = &[
    content(
        "L4",
        "symbolic links, dangling and absolute ones too",
        |stage| {
            stage.file("plain", "p\n")?;
            let links = [("to", "plain"), ("dangling", "no/where"), ("absolute", "/usr/bin/env"), ("loop", "loop")];
            links.iter().try_for_each(|(path, text)| stage.symlink(path, text))?;
            MADE
        },
        |stage| {
            ["to", "dangling", "absolute", "loop"].iter().try_for_each(|path| stage.remove(path))?;
            stage.symlink("to", "elsewhere")
        },
    ),
    same("L4", "hard links", LINKS, linked, |stage| {
        stage.remove("twin")?;
        stage.file("twin", "on its own\n")
    }),
    same("L4", "hard links, written through one of their names", LINKS, linked, |stage| {
        stage.overwrite("sub/triplet", 0, b"ALL")
    }),
    content(
        "L4",
        "empty directories",
        |stage| {
            stage.dir("empty")?;
            stage.dir("nested/empty")?;
            MADE
        },
        |stage| {
            stage.remove("empty")?;
            stage.remove("nested")
        },
    ),
    content("L4", "a pipe", |stage| node(stage, FileType::Fifo, 0), |stage| stage.remove("node")),
    content("L4", "a socket", |stage| node(stage, FileType::Socket, 0), |stage| stage.remove("node")),
    content(
        "L4",
        "a device",
        |stage| node(stage, FileType::CharacterDevice, rustix::fs::makedev(1, 3)),
        |stage| stage.remove("node"),
    ),
    content("L4", "a file that became a directory", changeable, |stage| {
        stage.remove("file")?;
        stage.file("file/now/inside", "x\n")
    }),
    content("L4", "a directory that became a file", changeable, |stage| {
        stage.remove("directory")?;
        stage.file("directory", "flat\n")
    }),
    content("L4", "a directory that became a link to another place", changeable, |stage| {
        stage.remove("directory")?;
        stage.symlink("directory", &stage.outside)
    }),
    content("L4", "a link that became a directory", changeable, |stage| {
        stage.remove("link")?;
        stage.file("link/x", "x\n")
    }),
    content("L4", "a file that became a pipe", changeable, |stage| {
        stage.remove("file")?;
        stage.node("file", FileType::Fifo, 0)
    }),
];

fn linked(stage: &Stage) -> Made {
    stage.file("plain", "all\n")?;
    stage.dir("sub")?;
    stage.hard_link("twin", "plain")?;
    stage.hard_link("sub/triplet", "plain")?;
    MADE
}

fn node(stage: &Stage, kind: FileType, device: u64) -> Made {
    match stage.node("node", kind, device) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Ok(Some("only root can make one")),
        other => other.map(|()| None),
    }
}

fn changeable(stage: &Stage) -> Made {
    std::fs::write(stage.outside.join("canary"), "canary\n")?;
    stage.files(&[("file", "a file\n"), ("directory/x/y", "in a directory\n")])?;
    stage.symlink("link", &stage.outside)?;
    MADE
}
