//! What a tool may take away: nothing that it did not capture.

use super::{Judge, Property, content};
use crate::stage::{MADE, Made, Stage};
use crate::trial::Looks;

const NO_GIT: &str = "git is not installed";
const DEPENDENCY: &str = "node_modules/dep/index.js";
const LATER: &str = "node_modules/dep/later.js";
const WRECKED: &str = "changed after the snapshot\n";

pub(super) static ALL: &[Property] = &[
    content("L3", "a file that git ignores, overwritten", ignored, |stage| stage.file(".env", "TOKEN=lol\n")),
    content("L3", "a file that git ignores, deleted", ignored, |stage| stage.remove(".env")),
    content("L3", "a file that git ignores, when .gitignore was emptied since", ignored, |stage| {
        stage.file(".gitignore", "")
    }),
    content("L3", "a file that git ignores, when .git was deleted since", ignored, |stage| {
        stage.remove(".git")?;
        stage.remove(".gitignore")
    }),
    Property {
        law: "L3",
        name: "dependencies are captured, or left alone",
        make: |stage| {
            stage.files(&[("package.json", "{}\n"), (DEPENDENCY, "module.exports = 1\n")])?;
            ignored(stage)
        },
        wreck: |stage| {
            stage.files(&[(DEPENDENCY, WRECKED), (LATER, "made later\n")])?;
            // What told a tool to leave them out is gone when it restores.
            stage.remove("package.json")?;
            stage.file(".gitignore", "")
        },
        judge: Judge::Own(left_or_kept),
    },
];

fn ignored(stage: &Stage) -> Made {
    stage.files(&[(".gitignore", ".env\nnode_modules/\n"), (".env", "TOKEN=secret\n"), ("README", "r\n")])?;
    if !stage.git("", &["init", "-q"])? {
        return Ok(Some(NO_GIT));
    }
    stage.git("", &["add", "--all"])?;
    stage.git("", &["commit", "-q", "-m", "start"])?;
    MADE
}

/// Whoever brings a changed dependency back has captured the directory, and may take away what is new in it; whoever
/// leaves it changed has not, and may take away nothing.
fn left_or_kept(looks: &Looks<'_>) -> Vec<String> {
    let later = looks.after.contains_key(LATER.as_bytes());
    let lost = match looks.after.get(DEPENDENCY.as_bytes()).map(|seen| seen.head == WRECKED.as_bytes()) {
        None => Some(format!("{DEPENDENCY}: File is missing")),
        Some(true) if !later => Some(format!("{LATER}: removed, though {DEPENDENCY} was not captured")),
        Some(false) if later => Some(format!("{LATER}: File is new, though {DEPENDENCY} was brought back")),
        Some(_) => None,
    };
    let ours = |path: &str| (!looks.after.contains_key(path.as_bytes())).then(|| format!("{path}: File is missing"));
    lost.into_iter().chain(ours("package.json")).chain(ours(".env")).collect()
}
