//! What is known about a path besides its content.

use super::{Property, same};
use crate::compare::Ignore;
use crate::stage::{MADE, Made, Stage};

const MODE: Ignore = Ignore { mode: false, ..Ignore::BUT_CONTENT };
const MTIME: Ignore = Ignore { mtime: false, ..Ignore::BUT_CONTENT };
const DIRECTORY_MTIME: Ignore = Ignore { directory_mtime: false, ..Ignore::BUT_CONTENT };
const OWNER: Ignore = Ignore { owner: false, ..Ignore::BUT_CONTENT };
const XATTRS: Ignore = Ignore { xattrs: false, ..Ignore::BUT_CONTENT };
const HOLES: Ignore = Ignore { holes: false, ..Ignore::BUT_CONTENT };

/// Nobody's numbers on most machines.
const USER: u32 = 12_345;
const GROUP: u32 = 23_456;
const NOT_ROOT: &str = "only root can give files away";

pub(super) static ALL: &[Property] = &[
    same(
        "L4",
        "permission bits",
        MODE,
        |stage| {
            stage.files(&[("secret", "s\n"), ("private/f", "f\n")])?;
            stage.mode("secret", 0o640)?;
            stage.mode("private", 0o750)?;
            MADE
        },
        |stage| {
            stage.remove("secret")?;
            stage.remove("private")
        },
    ),
    same("L5", "a change of permission bits alone", MODE, script, |stage| stage.mode("run.sh", 0o600)),
    same(
        "L4",
        "set-uid, set-gid and sticky",
        MODE,
        |stage| {
            script(stage)?;
            stage.dir("drop")?;
            stage.mode("run.sh", 0o6755)?;
            stage.mode("drop", 0o1777)?;
            MADE
        },
        |stage| {
            stage.remove("run.sh")?;
            stage.remove("drop")
        },
    ),
    same(
        "L4",
        "a read-only file, changed",
        MODE,
        |stage| {
            stage.file("f", "one\n")?;
            stage.mode("f", 0o444)?;
            MADE
        },
        |stage| {
            stage.remove("f")?;
            stage.file("f", "two\n")
        },
    ),
    same(
        "L4",
        "a directory that cannot be written",
        MODE,
        |stage| {
            stage.files(&[("shut/inside", "i\n"), ("shut/deeper/inside", "d\n")])?;
            stage.mode("shut/deeper", 0o555)?;
            stage.mode("shut", 0o555)?;
            MADE
        },
        |stage| {
            stage.mode("shut", 0o755)?;
            stage.remove("shut/inside")?;
            stage.remove("shut/deeper")?;
            stage.file("shut/other", "new\n")?;
            stage.mode("shut", 0o555)
        },
    ),
    same("L4", "the time of a file, to the nanosecond", MTIME, |stage| at(stage, 1_000_000_000), gone),
    same("L4", "a time before 1970", MTIME, |stage| at(stage, -86_400), gone),
    same(
        "L4",
        "the time of a directory",
        DIRECTORY_MTIME,
        |stage| {
            stage.file("old/f", "f\n")?;
            stage.mtime("old", 1_100_000_000, 5)?;
            MADE
        },
        |stage| stage.remove("old"),
    ),
    same(
        "L4",
        "the time of a symbolic link",
        MTIME,
        |stage| {
            stage.symlink("old", "nowhere")?;
            stage.mtime("old", 1_200_000_000, 7)?;
            MADE
        },
        gone,
    ),
    same("L4", "the owner of a file and of a link", OWNER, foreign, |stage| {
        stage.remove("theirs")?;
        stage.remove("link")
    }),
    same("L5", "a change of the owner alone", OWNER, foreign, |stage| stage.owner("theirs", 0, 0)),
    same("L4", "extended attributes", XATTRS, attributes, |stage| {
        stage.remove("f")?;
        stage.remove("d")
    }),
    same("L5", "a change of an extended attribute alone", XATTRS, attributes, |stage| {
        stage.xattr("f", "user.colour", b"red").map(drop)
    }),
    same(
        "L4",
        "an access control list",
        XATTRS,
        |stage| acl(stage, "system.posix_acl_access"),
        |stage| stage.remove("d"),
    ),
    same(
        "L4",
        "the default access control list of a directory",
        XATTRS,
        |stage| acl(stage, "system.posix_acl_default"),
        |stage| stage.remove("d"),
    ),
    same(
        "L4",
        "holes",
        HOLES,
        |stage| {
            stage.sparse("sparse", 8 << 20, &[(1 << 20, b"island"), (6 << 20, b"coast")])?;
            stage.sparse("only-a-hole", 1 << 20, &[])?;
            MADE
        },
        |stage| {
            stage.remove("sparse")?;
            stage.remove("only-a-hole")
        },
    ),
];

fn script(stage: &Stage) -> Made {
    stage.file("run.sh", "#!/bin/sh\n")?;
    stage.mode("run.sh", 0o755)?;
    MADE
}

fn at(stage: &Stage, seconds: i64) -> Made {
    stage.file("old", "old\n")?;
    stage.mtime("old", seconds, 123_456_789)?;
    MADE
}

fn gone(stage: &Stage) -> std::io::Result<()> {
    stage.remove("old")
}

fn foreign(stage: &Stage) -> Made {
    stage.file("theirs", "t\n")?;
    stage.symlink("link", "theirs")?;
    if !rustix::process::geteuid().is_root() {
        return Ok(Some(NOT_ROOT));
    }
    for path in ["theirs", "link"] {
        match stage.owner(path, USER, GROUP) {
            // Root of a namespace in which nobody has these numbers.
            Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => return Ok(Some(NOT_ROOT)),
            other => other?,
        }
    }
    MADE
}

fn attributes(stage: &Stage) -> Made {
    stage.file("f", "f\n")?;
    stage.dir("d")?;
    if let Some(why) = stage.xattr("f", "user.colour", b"blue")? {
        return Ok(Some(why));
    }
    stage.xattr("f", "user.empty", b"")?;
    stage.xattr("d", "user.bytes", &[0, 255, 10])
}

/// A list in the kernel's own form, in which user 1 has an entry.
fn acl(stage: &Stage, name: &str) -> Made {
    const NO_ID: u32 = u32::MAX;
    const ENTRIES: [(u16, u16, u32); 5] =
        [(0x01, 7, NO_ID), (0x02, 7, 1), (0x04, 5, NO_ID), (0x10, 7, NO_ID), (0x20, 5, NO_ID)];
    stage.dir("d")?;
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in ENTRIES {
        list.extend(tag.to_le_bytes());
        list.extend(permissions.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    stage.xattr("d", name, &list)
}
