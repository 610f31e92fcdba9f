//! Only what differs is touched: whoever builds, watches or stands in a workspace is not disturbed.

use super::{Judge, Property};
use crate::compare::{Ignore, diff_worlds};
use crate::stage::{MADE, Made, Stage};
use crate::trial::{Looks, beside};
use crate::walk::{Kind, World};

pub(super) static ALL: &[Property] = &[
    Property { law: "L2", name: "capturing changes nothing", make: project, wreck: edit, judge: Judge::Own(captured) },
    Property {
        law: "L2",
        name: "files that did not differ are not touched",
        make: project,
        wreck: edit,
        judge: Judge::Own(files),
    },
    Property {
        law: "L2",
        name: "directories that did not differ are not touched",
        make: project,
        wreck: edit,
        judge: Judge::Own(directories),
    },
    Property {
        law: "L2",
        name: "the workspace's directory is not replaced",
        make: project,
        wreck: edit,
        judge: Judge::Own(top),
    },
    Property { law: "L2", name: "restoring again changes nothing", make: project, wreck: edit, judge: Judge::Again },
];

fn project(stage: &Stage) -> Made {
    stage.files(&[("src/main.rs", "fn main() {}\n"), ("src/lib.rs", "\n"), ("docs/a/b", "b\n"), ("README", "r\n")])?;
    stage.symlink("link", "README")?;
    stage.dir("empty")?;
    MADE
}

fn edit(stage: &Stage) -> std::io::Result<()> {
    stage.file("src/main.rs", "fn main() { panic!() }\n")
}

fn captured(looks: &Looks<'_>) -> Vec<String> {
    diff_worlds(&looks.before, &looks.captured, Ignore::NOTHING)
}

/// What neither the wreck nor its way back has to do with.
fn aside(world: &World, wanted: fn(Kind) -> bool) -> World {
    let is_aside = |path: &[u8]| ![&b""[..], b"src", b"src/main.rs"].contains(&path);
    let mut world = beside(world);
    world.retain(|path, seen| is_aside(path) && wanted(seen.kind));
    world
}

fn files(looks: &Looks<'_>) -> Vec<String> {
    let wanted = |kind| kind != Kind::Directory;
    diff_worlds(&aside(&looks.wrecked, wanted), &aside(&looks.after, wanted), Ignore::NOTHING)
}

fn directories(looks: &Looks<'_>) -> Vec<String> {
    let wanted = |kind| kind == Kind::Directory;
    diff_worlds(&aside(&looks.wrecked, wanted), &aside(&looks.after, wanted), Ignore::NOTHING)
}

fn top(looks: &Looks<'_>) -> Vec<String> {
    let inode = |world: &World| world.get(&b""[..]).map(|seen| seen.inode);
    match inode(&looks.wrecked) == inode(&looks.after) {
        true => Vec::new(),
        false => vec!["another directory is in its place, and whoever stands in the old one is lost".to_owned()],
    }
}
