//! What hides or protects single paths of a tree that others change too, laid anew when they take it away.
//!
//! Invariants: a path is looked at from outside, and only where something else is at it now is the jail entered; what is
//! still in place is left alone, so that mending twice is mending once.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use belay_sys::{Door, HeldProgram, Namespaces, Recipe, Step, hold_sandboxed};

use crate::compose;
use crate::error::{Error, Result};
use crate::places::Layout;

/// Everything that somebody outside can uncover by replacing what lies beneath.
#[derive(Debug)]
pub struct Covers {
    recipe: Recipe,
    seen: Vec<(PathBuf, Option<Known>)>,
}

/// Which file is at a path: a number is given again, but not at the same time.
#[derive(Debug, PartialEq, Eq)]
struct Known {
    device: u64,
    inode: u64,
    made: Option<SystemTime>,
}

impl Covers {
    /// Those of a program that is held; none if nothing can be taken away.
    pub(crate) fn of(layout: &Layout, program: &HeldProgram) -> Result<Option<Covers>> {
        let (mut steps, mut seen) = (vec![Step::OpenRoot], Vec::new());
        for place in &layout.places {
            if let Some(step) = compose::cover(place)? {
                steps.push(step);
                seen.push((place.path.clone(), known(&place.path)));
            }
        }
        if seen.is_empty() {
            return Ok(None);
        }
        let door: Door = program.door().map_err(|source| Error::Program { what: "enter the jail of", source })?;
        let recipe = Recipe { namespaces: Namespaces::None, steps, enter: Some(door), ..Recipe::default() };
        Ok(Some(Covers { recipe, seen }))
    }

    /// Covers again whatever was replaced since the last time; the paths that were.
    pub fn mend(&mut self) -> Result<Vec<PathBuf>> {
        let mut replaced = Vec::new();
        for (path, before) in &mut self.seen {
            let now = known(path);
            if now != *before {
                replaced.extend(now.is_some().then(|| path.clone()));
                *before = now;
            }
        }
        if !replaced.is_empty() {
            let held = hold_sandboxed(&self.recipe, |_| Ok(()));
            drop(held.map_err(|failure| Error::Step { step: "cover again".to_owned(), source: failure.source })?);
        }
        Ok(replaced)
    }
}

fn known(path: &Path) -> Option<Known> {
    let found = fs::symlink_metadata(path).ok()?;
    Some(Known { device: found.dev(), inode: found.ino(), made: found.created().ok() })
}
