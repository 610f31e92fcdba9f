//! What hides or protects single paths of a tree that others change too, laid anew when they take it away.
//!
//! Invariants: a path is looked at from outside, and only where something else is at it now is the jail entered; what is
//! still in place is left alone, so that mending twice is mending once.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use belay_sys::{Door, HeldProgram, Namespaces, Recipe, Step, hold_sandboxed};

use crate::compose;
use crate::error::{Error, Result};
use crate::places::{Layout, Place};
use crate::policy::Access;

/// Paths that are guarded beyond what the policy says are looked at so many at a time.
const GUARDED_AT_A_TIME: usize = 256;

/// Everything that somebody outside can uncover by replacing what lies beneath.
#[derive(Debug)]
pub struct Covers {
    recipe: Recipe,
    /// What the policy hides and protects, looked at each time.
    seen: Vec<(PathBuf, Option<Known>)>,
    /// What is guarded beyond it, and which of those is looked at next.
    guarded: Vec<(PathBuf, Option<Known>)>,
    next: usize,
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
        // The innermost first: whoever opened a directory while it was not covered looks past what is laid over it, and
        // so all that it holds is covered in there before, which the cover of the directory then takes along.
        let mut places: Vec<&Place> = layout.places.iter().collect();
        places.sort_by_key(|place| std::cmp::Reverse(place.path.components().count()));
        for place in places {
            if let Some(step) = compose::cover(place)? {
                steps.push(step);
                seen.push((place.path.clone(), known(&place.path)));
            }
        }
        if seen.is_empty() {
            return Ok(None);
        }
        Ok(Some(Covers { recipe: entering(program, steps)?, seen, guarded: Vec::new(), next: 0 }))
    }

    /// Those of a program that is held, and these files and directories of a tree that it may write: from now on they can
    /// only be read, or if they are files not at all.
    pub(crate) fn with(
        covers: Option<Covers>,
        layout: &Layout,
        program: &HeldProgram,
        paths: &[(PathBuf, Access)],
    ) -> Result<Covers> {
        let mut covers = match covers {
            Some(covers) => covers,
            None => {
                let recipe = entering(program, vec![Step::OpenRoot])?;
                Covers { recipe, seen: Vec::new(), guarded: Vec::new(), next: 0 }
            }
        };
        // A directory before what lies beneath it, which it covers as well: once something in it is mounted it would
        // seem to be covered itself.
        let mut paths: Vec<(&PathBuf, Access)> = paths.iter().map(|(path, access)| (path, *access)).collect();
        paths.sort_by_key(|(path, _)| (path.components().count(), *path));
        let (mut closed, mut pinned) = (HashSet::new(), HashSet::new());
        let places: HashMap<&Path, Access> =
            layout.places.iter().map(|place| (place.path.as_path(), place.access)).collect();
        pinned.extend(places.keys().copied());
        for (path, wanted) in paths {
            // What cannot be written anyway needs no cover, and what cannot be seen anyway no mask.
            let around = path.ancestors().find_map(|above| places.get(above));
            let is_open = match wanted {
                Access::Hidden => matches!(around, Some(Access::Write | Access::Private | Access::Read)),
                _ => around == Some(&Access::Write) && !path.ancestors().any(|above| closed.contains(above)),
            };
            if !is_open {
                continue;
            }
            // In a private copy what is mounted moves along with the directory that it lies in.
            let is_pinned = around == Some(&Access::Write);
            let free = |directory: &&Path| is_pinned && !pinned.contains(*directory);
            let mut pins: Vec<&Path> = path.ancestors().skip(1).take_while(free).collect();
            pins.reverse();
            for pin in pins {
                covers.lay(pin, compose::writable_again(pin)?);
                pinned.insert(pin);
            }
            match wanted {
                Access::Hidden => covers.lay(path, compose::hidden(path)?),
                _ => {
                    covers.lay(path, compose::read_only(path)?);
                    closed.insert(path.as_path());
                    pinned.insert(path.as_path());
                }
            }
        }
        covers.apply()?;
        Ok(covers)
    }

    fn lay(&mut self, path: &Path, step: Step) {
        self.recipe.steps.push(step);
        self.guarded.push((path.to_owned(), known(path)));
    }

    fn apply(&self) -> Result<()> {
        let held = hold_sandboxed(&self.recipe, |_| Ok(()));
        drop(held.map_err(|failure| Error::Step { step: "cover again".to_owned(), source: failure.source })?);
        Ok(())
    }

    /// Covers again whatever was replaced since the last time; the paths that were.
    ///
    /// Of what is guarded beyond the policy some are looked at, and others the next time.
    pub fn mend(&mut self) -> Result<Vec<PathBuf>> {
        let end = (self.next + GUARDED_AT_A_TIME).min(self.guarded.len());
        let turn = self.next..end;
        self.next = if end == self.guarded.len() { 0 } else { end };
        self.mend_these(turn)
    }

    /// The same, and everything is looked at.
    pub fn mend_all(&mut self) -> Result<Vec<PathBuf>> {
        self.mend_these(0..self.guarded.len())
    }

    fn mend_these(&mut self, guarded: std::ops::Range<usize>) -> Result<Vec<PathBuf>> {
        let mut replaced = Vec::new();
        for (path, before) in self.seen.iter_mut().chain(&mut self.guarded[guarded]) {
            let now = known(path);
            if now != *before {
                replaced.extend(now.is_some().then(|| path.clone()));
                *before = now;
            }
        }
        if !replaced.is_empty() {
            self.apply()?;
        }
        replaced.sort_unstable();
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
