//! The trees around a step with everything where it is to be: what others moved is where they moved it to, and what the
//! step moved is where it was, as far as nobody moved it since or took its place.

use std::collections::{HashMap, HashSet};

use belay_event::{Action, FileChange, Raw};
use belay_store::{Carried, Clash, Conflict, Entry, Moved, Moving, Ousted, Spared, Store};

use super::bounds::is_in_repository;
use super::moves::{Known, Move, Traced, beneath, trace};
use super::touched::Deed;
use crate::cause::step::Account;
use crate::error::Result;
use crate::present::Tree;
use crate::workspace::Workspace;

/// The trees around a step.
pub(super) struct Around<'a> {
    pub(super) before: &'a Tree,
    /// None if the step lasts until now.
    pub(super) after: Option<&'a Tree>,
    pub(super) now: &'a Tree,
}

/// The same with everything where it is to be.
pub(super) struct Placed {
    pub(super) before: Tree,
    pub(super) after: Option<Tree>,
    pub(super) now: Tree,
    /// What was done, by the names that it has then.
    pub(super) deeds: Vec<Deed>,
    pub(super) ousted: Vec<Ousted>,
    pub(super) conflicts: Vec<Conflict>,
    /// The moves that were followed, in order.
    followed: Vec<(Vec<u8>, Vec<u8>)>,
    /// What goes back, by the names of now.
    pub(super) carried: Carried,
}

impl Placed {
    /// Groups of names, as they are to be; `is_now` if they are those of now.
    pub(super) fn names(&self, groups: Vec<Vec<Vec<u8>>>, is_now: bool) -> Vec<Vec<Vec<u8>>> {
        let followed: &[_] = if is_now { &[] } else { &self.followed };
        let name = |mut path: Vec<u8>| {
            for (from, to) in followed {
                if let Some(rest) = path.strip_prefix(&from[..]).filter(|rest| rest.is_empty() || rest[0] == b'/') {
                    path = [&to[..], rest].concat();
                }
            }
            self.carried.get(&path).cloned().unwrap_or(path)
        };
        groups.into_iter().map(|group| group.into_iter().map(name).collect()).collect()
    }
}

/// The three trees while things are moved in them.
struct Trees<'a> {
    theirs: Moving<'a>,
    base: Option<Moving<'a>>,
    ours: Moving<'a>,
}

/// A thing that a move came down upon, as the tree before the step has it.
struct Covered {
    by: usize,
    entry: Entry,
}

impl Workspace<'_> {
    /// Follows what was moved; none if nothing was, and everything is where the record names it.
    pub(super) fn place(&self, account: &Account, around: &Around<'_>, spared: &Spared) -> Result<Option<Placed>> {
        let known = Known {
            was_there: &|path| Ok(self.entry(around.before, path)?.is_some()),
            is_there: &|path| Ok(self.entry(around.now, path)?.is_some()),
            is_early: &|deed| deed.at <= account.settled,
            is_spared: &|path| spared.lies_within(path),
        };
        if !account.deeds.iter().any(|deed| deed.change.to.is_some()) {
            return Ok(None);
        }
        // Where the step is all that happened and nothing changed since, it is undone by having everything as it was before.
        let is_all = account.deeds.iter().all(|deed| deed.mine && !deed.others);
        let is_last = |after: &Tree| after.manifest().identity == around.now.manifest().identity;
        if is_all && around.after.is_some_and(is_last) {
            return Ok(None);
        }
        let mut deeds = account.deeds.clone();
        let mut traced = trace(&mut deeds, &known)?;
        if traced.moves.is_empty() {
            return Ok(None);
        }
        let store = self.home.store();
        let mut trees = Trees {
            theirs: moving(around.before, store),
            base: around.after.map(|after| moving(after, store)),
            ours: moving(around.now, store),
        };
        let covered = trees.follow(account, &deeds, &traced)?;
        let (mut carried, mut conflicts, mut more) = (HashMap::new(), Vec::new(), Vec::new());
        let back = going_back(&deeds, &traced, &known, &mut conflicts)?;
        if !trees.carry(&back, &mut traced, &mut carried, &mut more)? {
            return Ok(None);
        }
        // What others made and the step then moved something upon is in no tree.
        let is_unseen = |(by, one): (usize, &Move)| {
            let is_back = back.iter().any(|back| back.spot == one.spot) && deeds[one.deed].mine;
            is_back && traced.is_others(one.ousts) && !covered.iter().any(|covered| covered.by == by)
        };
        let unseen =
            traced.moves.iter().enumerate().filter(|one| is_unseen(*one)).map(|(_, one)| traced.path(one.ousts));
        conflicts.extend(unseen.map(|path| Conflict { path, clash: Clash::Unseen, beside: None }));
        let ousted = bring_up(&deeds, &mut trees.theirs, &mut traced, covered, &back, &mut more)?;
        let moves: Vec<FileChange> = traced.moves.iter().map(|one| deeds[one.deed].change.clone()).collect();
        let mut deeds = renamed(&deeds, &traced);
        deeds.extend(more.into_iter().map(|(spot, action, dir)| Deed::own(action, traced.path(spot), dir)));
        let pair = |change: &FileChange| Some((change.path.bytes().to_vec(), change.to.as_ref()?.bytes().to_vec()));
        let followed = moves.iter().filter_map(pair).collect();
        let of_now = |path: &[u8]| Ok(self.entry(around.now, path).ok().flatten().map(|entry| entry.meta));
        let of_either = |path: &[u8]| match of_now(path)? {
            None => Ok(self.entry(around.before, path).ok().flatten().map(|entry| entry.meta)),
            found => Ok(found),
        };
        let Trees { theirs, base, ours } = trees;
        let before = around.before.moved(theirs.finish(around.before.manifest(), &of_now)?, HashMap::new());
        let after = match base.zip(around.after) {
            Some((base, after)) => Some(after.moved(base.finish(after.manifest(), &of_now)?, HashMap::new())),
            None => None,
        };
        let ours: Moved = ours.finish(around.now.manifest(), &of_either)?;
        let lies_at = carried.iter().map(|(now, then): (&Vec<u8>, &Vec<u8>)| (then.clone(), now.clone())).collect();
        let now = around.now.moved(ours, lies_at);
        Ok(Some(Placed { before, after, now, deeds, ousted, conflicts, followed, carried }))
    }
}

impl<'a> Trees<'a> {
    /// Does to the trees before and after the step what was moved since.
    fn follow(&mut self, account: &Account, deeds: &[Deed], traced: &Traced) -> Result<Vec<Covered>> {
        let mut covered = Vec::new();
        for (by, one) in traced.moves.iter().enumerate() {
            let deed = &deeds[one.deed];
            let Some(to) = &deed.change.to else { continue };
            let (from, to) = (deed.change.path.bytes(), to.bytes());
            if let Some(Some(entry)) = self.theirs.rename(from, to)? {
                covered.push(Covered { by, entry });
            }
            let Some(base) = self.base.as_mut() else { continue };
            // What was moved while the tree after the step was captured may be in its new place already.
            let is_since = account.until.is_some_and(|(begun, _)| deed.at > begun);
            let is_clear = account.until.is_some_and(|(_, settled)| deed.at > settled);
            if is_since && (is_clear || base.entry(to)?.is_none()) {
                base.rename(from, to)?;
            }
        }
        Ok(covered)
    }

    /// Takes what the step moved out of the way, the last first, and puts it back, the first first; `false` if something
    /// is in the way.
    fn carry(
        &mut self,
        back: &[Back],
        traced: &mut Traced,
        carried: &mut Carried,
        more: &mut Vec<(usize, Action, bool)>,
    ) -> Result<bool> {
        let going: HashSet<usize> = back.iter().map(|one| one.spot).collect();
        let mut last_first: Vec<usize> = (0..back.len()).collect();
        last_first.sort_by_key(|at| std::cmp::Reverse(back[*at].last));
        // No file has such a name, so that none can be in the way.
        let parked = |at: usize| format!("\0{at}").into_bytes();
        let mut lay_at: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
        for at in last_first {
            let (spot, from, to) = (back[at].spot, traced.path(back[at].spot), parked(at));
            let aside = self.set_aside(traced, &back[at], &going)?;
            let older = traced.older_inside(spot, traced.moves[back[at].first].deed);
            let older: HashSet<Vec<u8>> = older.into_iter().map(|inner| traced.path(inner)).collect();
            let also = |path: &[u8]| older.contains(path);
            if let Some(base) = &mut self.base {
                base.part(&from, &to, &mut self.theirs, &also, &mut |_, _| {})?;
            }
            self.ours.part(&from, &to, &mut self.theirs, &also, &mut |from, to| {
                // What is taken out of a directory that was taken away before lay there only in between.
                let lay = lay_at.remove(&from).unwrap_or(from);
                lay_at.insert(to, lay);
            })?;
            self.leave(traced, spot, &also)?;
            self.theirs.rename(&from, &to)?;
            let root = traced.find(b"");
            traced.set(spot, (root, to));
            for Aside { spot: inner, parked, path } in aside {
                for tree in self.each() {
                    tree.rename(&parked, &path)?;
                }
                let (dir, name) = split(&path);
                let dir = traced.find(dir);
                traced.set(inner, (dir, name.to_vec()));
            }
            let stays = |tree: &mut Moving<'_>| -> Result<bool> { Ok(tree.entry(&from)?.is_some()) };
            let is_left = stays(&mut self.ours)? || self.base.as_mut().map_or(Ok(false), stays)?;
            if is_left {
                more.push((traced.find(&from), Action::Created, true));
            }
        }
        for (at, one) in back.iter().enumerate() {
            let (from, to) = (parked(at), beneath(&traced.path(one.to.0), &one.to.1));
            for tree in self.each() {
                let is_free = tree.entry(&to)?.is_none();
                if !is_free || (tree.entry(&from)?.is_some() && tree.rename(&from, &to)?.is_none()) {
                    return Ok(false);
                }
            }
            traced.set(one.spot, one.to.clone());
        }
        for (at, one) in back.iter().enumerate() {
            let (parked, to) = (parked(at), traced.path(one.spot));
            for (lies, lay) in &lay_at {
                let Some(rest) = lies.strip_prefix(&parked[..]).filter(|rest| rest.is_empty() || rest[0] == b'/')
                else {
                    continue;
                };
                carried.insert(lay.clone(), [&to[..], rest].concat());
            }
        }
        Ok(true)
    }

    fn each(&mut self) -> impl Iterator<Item = &mut Moving<'a>> {
        [Some(&mut self.theirs), self.base.as_mut(), Some(&mut self.ours)].into_iter().flatten()
    }

    /// Takes what others moved into a directory since the step moved that out of it, so that it does not go with the directory.
    fn set_aside(&mut self, traced: &mut Traced, back: &Back, going: &HashSet<usize>) -> Result<Vec<Aside>> {
        let (spot, since) = (back.spot, &traced.moves[back.first..]);
        let last: HashMap<usize, &Move> = since.iter().map(|one| (one.spot, one)).collect();
        let came = |one: &&Move| !going.contains(&one.spot) && !traced.is_ousted(one.spot);
        let is_inside = |one: &Move| {
            let (is_in, was_in) = (traced.lies_within(one.spot, spot), traced.lies_within(one.from.0, spot));
            is_in && !was_in
        };
        let mut found: Vec<(usize, Vec<u8>)> = last
            .into_values()
            .filter(came)
            .filter(|one| is_inside(one))
            .map(|one| (one.spot, traced.path(one.spot)))
            .collect();
        found.sort_by(|one, other| other.1.cmp(&one.1));
        let mut aside = Vec::new();
        for (nth, (inner, path)) in found.into_iter().enumerate() {
            let parked = format!("\0s{nth}").into_bytes();
            for tree in self.each() {
                tree.rename(&path, &parked)?;
            }
            let root = traced.find(b"");
            traced.set(inner, (root, parked.clone()));
            aside.push(Aside { spot: inner, parked, path });
        }
        aside.reverse();
        Ok(aside)
    }

    /// Has what others put into a directory stay where it is when the directory goes.
    fn leave(&mut self, traced: &mut Traced, spot: usize, also: &dyn Fn(&[u8]) -> bool) -> Result<()> {
        let mut open: Vec<usize> = traced.inside(spot);
        let mut left = Vec::new();
        while let Some(inner) = open.pop() {
            let path = traced.path(inner);
            match also(&path) || is_in_repository(&path) || self.theirs.entry(&path)?.is_some() {
                true => open.extend(traced.inside(inner)),
                false => left.push((inner, path)),
            }
        }
        if left.is_empty() {
            return Ok(());
        }
        // The directory gives its name to another that stays, with the same names on the way.
        let root = traced.find(b"");
        traced.set(spot, (root, b"\0".to_vec()));
        for (inner, old) in left {
            let (dir, name) = split(&old);
            let dir = traced.find(dir);
            traced.set(inner, (dir, name.to_vec()));
        }
        Ok(())
    }
}

/// Something that lies elsewhere while the directory around it goes.
struct Aside {
    spot: usize,
    parked: Vec<u8>,
    path: Vec<u8>,
}

/// Something that the step moved and that goes back.
struct Back {
    spot: usize,
    to: (usize, Vec<u8>),
    /// The first and the last of the step's moves of it.
    first: usize,
    last: usize,
}

/// What the step moved and can go back, in the order of its first moves; the rest is listed.
fn going_back(deeds: &[Deed], traced: &Traced, known: &Known<'_>, conflicts: &mut Vec<Conflict>) -> Result<Vec<Back>> {
    let is_mine = |one: &Move| deeds[one.deed].mine;
    let mut by_spot: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, one) in traced.moves.iter().enumerate() {
        by_spot.entry(one.spot).or_default().push(at);
    }
    let (mut back, mut stays) = (Vec::new(), Vec::new());
    for (spot, moves) in by_spot {
        let Some(first) = moves.iter().position(|at| is_mine(&traced.moves[*at])) else { continue };
        if traced.is_ousted(spot) {
            continue;
        }
        let was_there = traced.was_there(spot, known)?;
        let is_moved_on = !moves[first..].iter().all(|at| is_mine(&traced.moves[*at]));
        let to = traced.moves[moves[first]].from.clone();
        let target = beneath(&traced.path(to.0), &to.1);
        match () {
            () if !was_there && !traced.is_others(spot) => {}
            () if was_there && target == traced.path(spot) => {}
            () if !was_there || is_moved_on || traced.is_ousted(to.0) || traced.lies_within(to.0, spot) => {
                stays.push(spot)
            }
            () => back.push(Back { spot, to, first: moves[first], last: moves[moves.len() - 1] }),
        }
    }
    // Its old name must be free, or become so.
    loop {
        let going: HashSet<usize> = back.iter().map(|one| one.spot).collect();
        let mut blocked = None;
        for (at, one) in back.iter().enumerate() {
            let goes = traced.at(&one.to).is_some_and(|there| going.contains(&there));
            let target = beneath(&traced.path(one.to.0), &one.to.1);
            let is_taken = !goes && (known.is_there)(&target)?;
            if is_taken || (known.is_spared)(&target) {
                blocked = Some(at);
                break;
            }
        }
        match blocked {
            Some(at) => stays.push(back.swap_remove(at).spot),
            None => break,
        }
    }
    let mut paths = Vec::new();
    for path in stays.into_iter().map(|spot| traced.path(spot)) {
        if (known.is_there)(&path)? {
            paths.push(path);
        }
    }
    paths.sort();
    conflicts.extend(paths.into_iter().map(|path| Conflict { path, clash: Clash::MovedOn, beside: None }));
    back.sort_by_key(|one| one.first);
    Ok(back)
}

/// What was overwritten by a move: it comes back if the step's move goes back; what the step had touched is listed.
fn bring_up(
    deeds: &[Deed],
    theirs: &mut Moving<'_>,
    traced: &mut Traced,
    covered: Vec<Covered>,
    back: &[Back],
    more: &mut Vec<(usize, Action, bool)>,
) -> Result<Vec<Ousted>> {
    let mut ousted = Vec::new();
    for Covered { by, entry } in covered {
        let (spot, under) = (traced.moves[by].spot, traced.moves[by].ousts);
        let is_mine = deeds[traced.moves[by].deed].mine;
        let path = traced.path(under);
        if is_mine && back.iter().any(|one| one.spot == spot) {
            if theirs.entry(&path)?.is_none() {
                let dir = matches!(entry.kind, belay_store::Kind::Dir { .. });
                theirs.add(&path, entry)?;
                let place = split(&path);
                let dir_spot = traced.find(place.0);
                traced.set(under, (dir_spot, place.1.to_vec()));
                more.push((under, Action::Deleted, dir));
            }
            continue;
        }
        let touched = |at: &usize| {
            let (one, other) = traced.sides(*at);
            deeds[*at].mine && !deeds[*at].late && (one == under || other == Some(under))
        };
        let last = (0..deeds.len()).rev().find(touched);
        let clash = match last {
            _ if is_mine => Clash::MovedOn,
            Some(last) if deeds[last].change.action == Action::Deleted => Clash::MadeAgain,
            Some(_) => Clash::RemovedLater,
            None => continue,
        };
        ousted.push(Ousted { path, entry, clash });
    }
    Ok(ousted)
}

/// The deeds by the names that things are to have; a move is none any more, and what was overwritten is nowhere.
fn renamed(deeds: &[Deed], traced: &Traced) -> Vec<Deed> {
    let moves: HashSet<usize> = traced.moves.iter().map(|one| one.deed).collect();
    let there = |spot: usize| (!traced.is_ousted(spot)).then(|| Raw::from(traced.path(spot)));
    let name = |(at, deed): (usize, &Deed)| {
        let (one, other) = traced.sides(at);
        let change = match (there(one), other.map(there)) {
            (Some(path), None) => FileChange { path, ..deed.change.clone() },
            (Some(path), Some(Some(to))) => FileChange { path, to: Some(to), ..deed.change.clone() },
            (Some(path), Some(None)) => FileChange { path, to: None, action: Action::Deleted, ..deed.change.clone() },
            (None, Some(Some(path))) => FileChange { path, to: None, action: Action::Modified, ..deed.change.clone() },
            _ => return None,
        };
        Some(Deed { change, ..deed.clone() })
    };
    deeds.iter().enumerate().filter(|(at, _)| !moves.contains(at)).filter_map(name).collect()
}

fn moving<'a>(tree: &'a Tree, store: &'a Store) -> Moving<'a> {
    Moving::new(tree.view(store), &tree.manifest().root)
}

fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}
