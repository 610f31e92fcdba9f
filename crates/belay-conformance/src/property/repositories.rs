//! Git repositories: they come back whole, and capturing leaves them alone.

use std::io;

use super::{Judge, Property};
use crate::compare::{Ignore, diff_worlds};
use crate::stage::{MADE, Made, Stage};
use crate::trial::Looks;
use crate::walk::World;

const NO_GIT: &str = "git is not installed";

pub(super) static ALL: &[Property] = &[
    whole("L4", ".git, deleted", repository, |stage| stage.remove(".git")),
    whole("L4", "HEAD, index, branches and stash, rewritten", repository, |stage| {
        stage.file("README", "staged\n")?;
        stage.git("", &["add", "README"])?;
        stage.git("", &["commit", "-q", "-m", "by the agent"])?;
        stage.git("", &["branch", "-D", "topic"])?;
        stage.git("", &["stash", "clear"]).map(drop)
    }),
    whole("L4", "a repository inside the repository", nested, |stage| {
        stage.remove("vendor/inner/.git")?;
        stage.file("vendor/inner/README", "wrecked\n")
    }),
    whole(
        "L4",
        "a repository without a commit",
        |stage| {
            stage.file("a.txt", "a\n")?;
            if !stage.git("", &["init", "-q"])? {
                return Ok(Some(NO_GIT));
            }
            stage.git("", &["add", "a.txt"])?;
            MADE
        },
        |stage| {
            stage.remove("a.txt")?;
            stage.remove(".git")
        },
    ),
    whole("L4", "a linked worktree", worktree, |stage| {
        stage.remove("beside/.git")?;
        stage.file("beside/README", "wrecked\n")?;
        stage.remove("main/.git/worktrees")
    }),
    Property {
        law: "L4",
        name: "capturing leaves HEAD, index, branches and stash alone",
        make: dirty,
        wreck: |stage| stage.file("README", "wrecked\n"),
        judge: Judge::Own(known_to_git),
    },
    Property {
        law: "L8",
        name: "nothing in the workspace is executed",
        make: trapped,
        wreck: |stage| stage.file("README", "wrecked\n"),
        judge: Judge::Own(sprung),
    },
];

/// A property that is kept when `.git` and everything else have the content that they had.
const fn whole(
    law: &'static str,
    name: &'static str,
    make: fn(&Stage) -> Made,
    wreck: fn(&Stage) -> io::Result<()>,
) -> Property {
    Property { name, law, make, wreck, judge: Judge::Same(Ignore::BUT_CONTENT) }
}

fn start(stage: &Stage, directory: &str) -> io::Result<bool> {
    stage.file(format!("{directory}README"), "read me\n")?;
    if !stage.git(directory, &["init", "-q"])? {
        return Ok(false);
    }
    stage.git(directory, &["add", "--all"])?;
    stage.git(directory, &["commit", "-q", "-m", "start"])
}

fn repository(stage: &Stage) -> Made {
    if !start(stage, "")? {
        return Ok(Some(NO_GIT));
    }
    stage.git("", &["branch", "topic"])?;
    stage.file("README", "stashed\n")?;
    stage.git("", &["stash", "-q"])?;
    MADE
}

fn nested(stage: &Stage) -> Made {
    stage.dir("vendor/inner")?;
    if !start(stage, "vendor/inner/")? || !start(stage, "")? {
        return Ok(Some(NO_GIT));
    }
    stage.dir("vendor/unborn")?;
    stage.git("vendor/unborn", &["init", "-q"])?;
    MADE
}

fn worktree(stage: &Stage) -> Made {
    stage.dir("main")?;
    if !start(stage, "main/")? {
        return Ok(Some(NO_GIT));
    }
    stage.git("main", &["worktree", "add", "-q", "-b", "beside", "../beside"])?;
    MADE
}

/// A repository with a stash, something staged, something changed and something new.
fn dirty(stage: &Stage) -> Made {
    let made = repository(stage)?;
    if made.is_none() {
        stage.file("staged.txt", "staged\n")?;
        stage.git("", &["add", "staged.txt"])?;
        stage.files(&[("README", "changed\n"), ("untracked.txt", "untracked\n")])?;
    }
    Ok(made)
}

/// What git knows: everything but its objects, and names that are nobody's branch, tag or stash.
fn known(world: &World) -> World {
    let is_known = |path: &[u8]| {
        path.strip_prefix(b".git/").is_some_and(|path| {
            let is_ref = path.starts_with(b"refs/") || path.starts_with(b"logs/refs/");
            let is_own = [&b"heads"[..], b"tags", b"stash", b"remotes"]
                .iter()
                .any(|own| path.windows(own.len()).any(|part| part == *own));
            !path.starts_with(b"objects") && (!is_ref || is_own)
        })
    };
    world.iter().filter(|(path, _)| is_known(path)).map(|(path, seen)| (path.clone(), seen.clone())).collect()
}

fn known_to_git(looks: &Looks<'_>) -> Vec<String> {
    diff_worlds(&known(&looks.before), &known(&looks.captured), Ignore::BUT_CONTENT)
}

/// A repository whose filters, hooks and monitor leave a mark outside when they run.
fn trapped(stage: &Stage) -> Made {
    if !start(stage, "")? {
        return Ok(Some(NO_GIT));
    }
    let mark = stage.base.join("sprung");
    let trap = format!("touch '{}'; cat", mark.display());
    for key in ["filter.trap.clean", "filter.trap.smudge", "diff.trap.textconv", "core.fsmonitor"] {
        stage.git("", &["config", key, &trap])?;
    }
    for hook in ["pre-commit", "post-checkout", "post-index-change", "reference-transaction"] {
        let path = format!(".git/hooks/{hook}");
        stage.file(&path, format!("#!/bin/sh\ntouch '{}'\n", mark.display()))?;
        stage.mode(&path, 0o755)?;
    }
    stage.files(&[(".gitattributes", "* filter=trap diff=trap\n"), ("README", "changed\n")])?;
    MADE
}

fn sprung(looks: &Looks<'_>) -> Vec<String> {
    match looks.stage.base.join("sprung").exists() {
        true => vec!["a filter, hook or monitor of the workspace's own configuration was run".to_owned()],
        false => Vec::new(),
    }
}
