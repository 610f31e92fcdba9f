//! What hides or protects single paths of a tree that others change too, laid anew when they take it away.
//!
//! Invariants: a path is looked at from outside, and only where something else is at it now is the jail entered; what is
//! still in place is left alone, so that mending twice is mending once.

use std::collections::BTreeSet;
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
        Ok(Some(Covers { recipe: entering(program, steps)?, seen }))
    }

    /// Those of a program that is held, and these files of a tree that it may write: they can only be read from now on.
    pub(crate) fn with(
        covers: Option<Covers>,
        layout: &Layout,
        program: &HeldProgram,
        files: &[PathBuf],
    ) -> Result<Covers> {
        let mut covers = match covers {
            Some(covers) => covers,
            None => Covers { recipe: entering(program, vec![Step::OpenRoot])?, seen: Vec::new() },
        };
        let mut pinned: BTreeSet<PathBuf> = layout.places.iter().map(|place| place.path.clone()).collect();
        for file in files {
            let around = |directory: &&Path| !pinned.contains(*directory);
            let mut pins: Vec<PathBuf> = file.ancestors().skip(1).take_while(around).map(Path::to_owned).collect();
            pins.reverse();
            for pin in pins {
                covers.lay(&pin, compose::writable_again(&pin)?);
                pinned.insert(pin);
            }
            covers.lay(file, compose::read_only(file)?);
        }
        covers.apply()?;
        Ok(covers)
    }

    fn lay(&mut self, path: &Path, step: Step) {
        self.recipe.steps.push(step);
        self.seen.push((path.to_owned(), known(path)));
    }

    fn apply(&self) -> Result<()> {
        let held = hold_sandboxed(&self.recipe, |_| Ok(()));
        drop(held.map_err(|failure| Error::Step { step: "cover again".to_owned(), source: failure.source })?);
        Ok(())
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
            self.apply()?;
        }
        Ok(replaced)
    }
}

fn entering(program: &HeldProgram, steps: Vec<Step>) -> Result<Recipe> {
    let door: Door = program.door().map_err(|source| Error::Program { what: "enter the jail of", source })?;
    Ok(Recipe { namespaces: Namespaces::None, steps, enter: Some(door), ..Recipe::default() })
}

fn known(path: &Path) -> Option<Known> {
    let found = fs::symlink_metadata(path).ok()?;
    Some(Known { device: found.dev(), inode: found.ino(), made: found.created().ok() })
}
