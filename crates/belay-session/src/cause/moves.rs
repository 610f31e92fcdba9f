//! Where what the record of a run names is by now: every move is followed that the record tells of for certain.
//!
//! A thing is known by where it is and not by its inode: whoever saves a file by writing another and renaming it over the
//! first has changed the first. So only what was there before, or what somebody else made, is taken to be moved.

use std::collections::{HashMap, HashSet};

use belay_event::Action;

use super::bounds::is_in_repository;
use super::touched::Deed;
use crate::error::Result;

/// The workspace itself.
const ROOT: usize = 0;

/// A place that the record names, and what is in it.
struct Spot {
    dir: usize,
    name: Vec<u8>,
    inside: HashMap<Vec<u8>, usize>,
    /// Where the tree before the step has it, if it has it at all.
    origin: Option<Vec<u8>>,
    maker: Option<Maker>,
    /// Something else was moved to where it was.
    is_ousted: bool,
    /// The first deed that was done to it.
    first: Option<usize>,
    is_deleted: bool,
}

/// Who made something that was not there before.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Maker {
    command: Option<u64>,
    is_mine: bool,
}

/// One move that is followed.
pub(super) struct Move {
    pub(super) deed: usize,
    pub(super) spot: usize,
    /// The directory and the name that it had before.
    pub(super) from: (usize, Vec<u8>),
    /// What was where it went.
    pub(super) ousts: usize,
}

/// Everything that the record names, where it is by now.
pub(super) struct Traced {
    spots: Vec<Spot>,
    pub(super) moves: Vec<Move>,
    /// What each deed was done to.
    sides: Vec<(usize, Option<usize>)>,
}

/// What is known of the trees around a step.
pub(super) struct Known<'a> {
    /// Whether the tree before the step has the path.
    pub(super) was_there: &'a dyn Fn(&[u8]) -> Result<bool>,
    /// Whether the path is there now.
    pub(super) is_there: &'a dyn Fn(&[u8]) -> Result<bool>,
    /// Whether the deed may be in the tree before the step already.
    pub(super) is_early: &'a dyn Fn(&Deed) -> bool,
    /// Whether the path must stay as it is.
    pub(super) is_spared: &'a dyn Fn(&[u8]) -> bool,
}

/// Follows the moves. Where one leads to nothing and something is where it began, it was taken back since, of which no
/// event tells: such deeds are added. If nothing is there either, and nobody is known to have removed it, the move is not
/// followed.
pub(super) fn trace(deeds: &mut Vec<Deed>, known: &Known<'_>) -> Result<Traced> {
    let mut plain = HashSet::new();
    loop {
        let (traced, mut doubted) = trace_but(deeds, &plain, known)?;
        let last: HashMap<usize, &Move> = traced.moves.iter().map(|one| (one.spot, one)).collect();
        let mut returned = Vec::new();
        for (spot, last) in last {
            let here = traced.path(spot);
            if traced.spots[spot].is_ousted || (known.is_there)(&here)? {
                continue;
            }
            let there = beneath(&traced.path(last.from.0), &last.from.1);
            let is_free = traced.at(&last.from).is_none_or(|other| traced.spots[other].is_unused());
            if is_free && !deeds[last.deed].is_return && (known.is_there)(&there)? {
                returned.push((last.deed, Deed::back(here, there, deeds[last.deed].change.dir)));
            } else if !traced.is_deleted(spot) {
                doubted.insert(last.deed);
            }
        }
        if doubted.is_empty() && returned.is_empty() {
            return Ok(traced);
        }
        plain.extend(doubted);
        returned.sort_by_key(|(deed, _)| std::cmp::Reverse(*deed));
        deeds.extend(returned.into_iter().map(|(_, deed)| deed));
    }
}

/// Follows the moves but for those; with the moves that turned out to be none.
fn trace_but(deeds: &[Deed], plain: &HashSet<usize>, known: &Known<'_>) -> Result<(Traced, HashSet<usize>)> {
    let mut traced =
        Traced { spots: vec![Spot::new(ROOT, b"", Some(Vec::new()))], moves: Vec::new(), sides: Vec::new() };
    let mut departed: HashMap<(usize, Vec<u8>), usize> = HashMap::new();
    let mut doubted = HashSet::new();
    for (at, deed) in deeds.iter().enumerate() {
        let spot = traced.find(deed.change.path.bytes());
        let maker = Maker { command: deed.command(), is_mine: deed.mine };
        let arrives = match (deed.change.action, &deed.change.to) {
            (Action::Created, _) => Some(spot),
            (Action::Renamed, Some(to)) => Some(traced.find(to.bytes())),
            _ => None,
        };
        traced.sides.push((spot, arrives.filter(|other| *other != spot)));
        for spot in [Some(spot), arrives].into_iter().flatten() {
            traced.spots[spot].first.get_or_insert(at);
            traced.spots[spot].is_deleted = deed.change.action == Action::Deleted;
        }
        if let Some(other) = arrives.filter(|other| *other != spot)
            && !plain.contains(&at)
            && traced.is_move(deed, spot, other, known)?
        {
            let from = traced.relocate(spot, other);
            departed.insert(from.clone(), at);
            departed.remove(&traced.spots[spot].place());
            traced.moves.push(Move { deed: at, spot, from, ousts: other });
            continue;
        }
        if let Some(other) = arrives {
            // Whoever moves a file away and puts another in its place keeps the old version of what he changed; and where
            // the step itself filled the place again, that is what it left there.
            let is_one = |moved: &Deed| {
                let is_saved = maker.command.is_some() && moved.command() == maker.command && !moved.change.dir;
                is_saved || (maker.is_mine && moved.mine)
            };
            let left = traced.above(other).filter_map(|above| departed.get(&traced.spots[above].place()));
            doubted.extend(left.filter(|moved| is_one(&deeds[**moved])).copied());
            if traced.spots[other].maker.is_none() && !traced.was_there(other, known)? {
                traced.spots[other].maker = Some(maker);
            }
        }
        if arrives != Some(spot) && matches!(deed.change.action, Action::Deleted | Action::Renamed) {
            traced.spots[spot].maker = None;
        }
    }
    Ok((traced, doubted))
}

impl Spot {
    fn new(dir: usize, name: &[u8], origin: Option<Vec<u8>>) -> Spot {
        Spot {
            dir,
            name: name.to_vec(),
            inside: HashMap::new(),
            origin,
            maker: None,
            is_ousted: false,
            first: None,
            is_deleted: false,
        }
    }

    /// Whether no deed is known to have put anything there.
    fn is_unused(&self) -> bool {
        self.maker.is_none() && self.inside.is_empty() && self.first.is_none()
    }

    fn place(&self) -> (usize, Vec<u8>) {
        (self.dir, self.name.clone())
    }
}

impl Traced {
    /// What is at the path.
    pub(super) fn find(&mut self, path: &[u8]) -> usize {
        let mut here = ROOT;
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            here = match self.spots[here].inside.get(name) {
                Some(spot) => *spot,
                None => {
                    let origin = self.spots[here].origin.as_ref().map(|above| beneath(above, name));
                    self.put(here, name, Spot::new(here, name, origin))
                }
            };
        }
        here
    }

    /// Where it is by now, or was when something else was moved there.
    pub(super) fn path(&self, spot: usize) -> Vec<u8> {
        let mut names = Vec::new();
        let mut here = spot;
        while here != ROOT {
            names.push(&self.spots[here].name[..]);
            here = self.spots[here].dir;
        }
        names.reverse();
        names.join(&b'/')
    }

    /// What each deed was done to, and what came of it.
    pub(super) fn sides(&self, deed: usize) -> (usize, Option<usize>) {
        self.sides[deed]
    }

    /// Whether it, or a directory that it lies in, is known to be removed.
    pub(super) fn is_deleted(&self, spot: usize) -> bool {
        self.above(spot).any(|here| self.spots[here].is_deleted)
    }

    /// Everything in it that something was done to before the deed.
    pub(super) fn older_inside(&self, spot: usize, deed: usize) -> Vec<usize> {
        let (mut open, mut found) = (self.inside(spot), Vec::new());
        while let Some(inner) = open.pop() {
            open.extend(self.inside(inner));
            if self.spots[inner].first.is_some_and(|first| first < deed) {
                found.push(inner);
            }
        }
        found
    }

    /// It and the directories that it lies in.
    fn above(&self, spot: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(spot), |here| Some(self.spots[*here].dir).filter(|_| *here != ROOT))
    }

    pub(super) fn is_ousted(&self, spot: usize) -> bool {
        self.spots[spot].is_ousted
    }

    /// What is by now at a place, if the record names it.
    pub(super) fn at(&self, (dir, name): &(usize, Vec<u8>)) -> Option<usize> {
        self.spots[*dir].inside.get(name).copied()
    }

    pub(super) fn was_there(&self, spot: usize, known: &Known<'_>) -> Result<bool> {
        self.spots[spot].origin.as_ref().map_or(Ok(false), |origin| (known.was_there)(origin))
    }

    /// Whether somebody else than the step is known to have made it.
    pub(super) fn is_others(&self, spot: usize) -> bool {
        self.spots[spot].maker.is_some_and(|maker| !maker.is_mine)
    }

    pub(super) fn lies_within(&self, spot: usize, dir: usize) -> bool {
        self.above(spot).any(|here| here == dir)
    }

    pub(super) fn inside(&self, spot: usize) -> Vec<usize> {
        self.spots[spot].inside.values().copied().collect()
    }

    /// Puts it elsewhere; nobody is there.
    pub(super) fn set(&mut self, spot: usize, (dir, name): (usize, Vec<u8>)) {
        let (old, called) = self.spots[spot].place();
        if self.spots[old].inside.get(&called) == Some(&spot) {
            self.spots[old].inside.remove(&called);
        }
        (self.spots[spot].dir, self.spots[spot].name) = (dir, name.clone());
        self.spots[spot].is_ousted = false;
        self.spots[dir].inside.insert(name, spot);
    }

    /// Whether the deed moved what was there before or what somebody else made, and did not save a file by way of another.
    fn is_move(&self, deed: &Deed, spot: usize, other: usize, known: &Known<'_>) -> Result<bool> {
        let paths = [Some(&deed.change.path), deed.change.to.as_ref()];
        // What git moves in a repository are locks that become what they guard; the whole of it is taken back or nothing.
        let is_kept = |path: &[u8]| (known.is_spared)(path) || is_in_repository(path);
        if self.lies_within(other, spot) || paths.into_iter().flatten().any(|path| is_kept(path.bytes())) {
            return Ok(false);
        }
        if deed.is_return {
            return Ok(true);
        }
        let is_taken = self.spots[other].maker.is_some() || self.was_there(other, known)?;
        if self.was_there(spot, known)? {
            return Ok(!(is_taken && (known.is_early)(deed)));
        }
        let maker = self.spots[spot].maker.and_then(|maker| maker.command);
        let is_by_another = maker.zip(deed.command()).is_some_and(|(maker, mover)| maker != mover);
        Ok(is_by_another && !is_taken)
    }

    /// Moves it to where the other is, and says where it was.
    fn relocate(&mut self, spot: usize, other: usize) -> (usize, Vec<u8>) {
        let (from, to) = (self.spots[spot].place(), self.spots[other].place());
        self.set(spot, to);
        self.spots[other].is_ousted = true;
        // What is made at the old name from now on is something else.
        self.put(from.0, &from.1, Spot::new(from.0, &from.1, None));
        from
    }

    fn put(&mut self, dir: usize, name: &[u8], spot: Spot) -> usize {
        let number = self.spots.len();
        self.spots.push(spot);
        self.spots[dir].inside.insert(name.to_vec(), number);
        number
    }
}

pub(super) fn beneath(dir: &[u8], name: &[u8]) -> Vec<u8> {
    if dir.is_empty() { name.to_vec() } else { [dir, b"/", name].concat() }
}
