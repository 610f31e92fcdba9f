//! Hard links: which paths are to be one file, and how few of them must be written or linked anew for that.
//!
//! A file that several names share is changed in place only if all its names are to share it afterwards too;
//! otherwise the names that part get a file of their own.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::plan::Draft;
use super::{Site, split};
use crate::diff::What;
use crate::error::Result;
use crate::manifest::Links;

/// Orders paths as a walk meets them: a directory, then all that is in it, then its next sibling.
pub(super) fn in_tree_order(a: &[u8], b: &[u8]) -> Ordering {
    a.split(|byte| *byte == b'/').cmp(b.split(|byte| *byte == b'/'))
}

/// The path itself and every directory above it, the root last.
pub(super) fn with_parents(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(path), |path| if path.is_empty() { None } else { Some(split(path).0) })
}

/// Adds to the draft what its hard links need.
pub(super) fn plan_links(draft: &mut Draft<'_>, now: &Links, target: &Links) -> Result<()> {
    if now.groups.is_empty() && target.groups.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(draft, now, target);
    if now == target && table.steps.is_empty() {
        return Ok(());
    }
    let owners: Vec<Option<Class>> = now.groups.iter().map(|group| table.owner(draft, group)).collect();
    for (group, owner) in now.groups.iter().zip(&owners) {
        table.part(draft, group, owner.as_ref())?;
    }
    for (at, group) in target.groups.iter().enumerate() {
        table.join(draft, at, group, &owners)?;
    }
    draft.plan.steps.sort();
    Ok(())
}

/// The file that a path is to be: one that a group shares, or its own.
#[derive(Clone, PartialEq, Eq)]
enum Class<'a> {
    Group(usize),
    Alone(&'a [u8]),
}

/// What becomes of the file that a path names now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is not touched: outside the scope, or left.
    Fixed,
    /// It stays, perhaps with other metadata.
    Stays,
    /// Another takes its place.
    Replaced,
    /// It goes.
    Gone,
}

struct Table<'a> {
    now: HashMap<&'a [u8], usize>,
    target: HashMap<&'a [u8], usize>,
    now_groups: &'a [Vec<Vec<u8>>],
    /// The steps of paths that are in a group on either side.
    steps: HashMap<Vec<u8>, usize>,
    fixed: HashSet<Vec<u8>>,
    sites: HashSet<Vec<u8>>,
}

impl<'a> Table<'a> {
    fn new(draft: &mut Draft<'_>, now: &'a Links, target: &'a Links) -> Table<'a> {
        let (now_of, target_of) = (index(now), index(target));
        let mut steps = HashMap::new();
        for at in 0..draft.plan.steps.len() {
            let path = draft.plan.steps.path(at);
            let group = now_of.get(path).copied();
            if group.is_some() || target_of.contains_key(path) {
                steps.insert(path.to_vec(), at);
            }
            if let Some(group) = group {
                draft.plan.steps.set_names(at, now.groups[group].len() as u32);
            }
        }
        let left: HashSet<&[u8]> = draft.plan.left.iter().map(|left| left.path.as_slice()).collect();
        let is_fixed = |path: &&[u8]| {
            let is_left = !left.is_empty() && with_parents(path).any(|one| left.contains(one));
            let is_spared = draft.scope.spared().contains(path);
            !steps.contains_key(*path) && (is_left || is_spared || !draft.scope.contains(path))
        };
        let all = now_of.keys().chain(target_of.keys()).copied();
        let fixed = all.filter(is_fixed).map(<[u8]>::to_vec).collect();
        let sites = draft.plan.sites.iter().map(|site| site.path.clone()).collect();
        Table { now: now_of, target: target_of, now_groups: &now.groups, steps, fixed, sites }
    }

    fn class(&self, path: &'a [u8]) -> Class<'a> {
        self.target.get(path).map_or(Class::Alone(path), |group| Class::Group(*group))
    }

    fn fate(&self, draft: &Draft<'_>, path: &[u8]) -> Fate {
        match self.steps.get(path).map(|at| draft.plan.steps.get(*at)) {
            None if self.fixed.contains(path) => Fate::Fixed,
            None => Fate::Stays,
            Some(step) if step.after.is_none() => Fate::Gone,
            Some(step) if step.is_replacement() => Fate::Replaced,
            Some(_) => Fate::Stays,
        }
    }

    /// Which of the files to be keeps the file that `group` shares now.
    fn owner(&self, draft: &Draft<'_>, group: &'a [Vec<u8>]) -> Option<Class<'a>> {
        let first = |fate| group.iter().find(|path| self.fate(draft, path) == fate);
        let stays = first(Fate::Stays);
        let owner = self.class(first(Fate::Fixed).or(stays)?);
        let changes_in_place = stays.is_some_and(|path| self.steps.contains_key(path));
        let stays_together = group.iter().all(|path| self.class(path) == owner);
        (stays_together || !changes_in_place).then_some(owner)
    }

    /// Gives those of `group` that are to be another file than its owner a file of their own.
    fn part(&mut self, draft: &mut Draft<'_>, group: &'a [Vec<u8>], owner: Option<&Class<'a>>) -> Result<()> {
        for path in group {
            if self.fate(draft, path) == Fate::Stays && Some(&self.class(path)) != owner {
                self.relink(draft, path, None)?;
            }
        }
        Ok(())
    }

    /// Makes all of `group` one file.
    fn join(
        &mut self,
        draft: &mut Draft<'_>,
        at: usize,
        group: &'a [Vec<u8>],
        owners: &[Option<Class<'a>>],
    ) -> Result<()> {
        let Some(anchor) = self.anchor(draft, at, group, owners)? else { return Ok(()) };
        if let Some(entry) = draft.present.lookup(draft.roots.0, anchor)? {
            draft.plan.anchors.insert(anchor.to_vec(), entry);
        }
        let shared = self.now.get(anchor).copied();
        for path in group.iter().filter(|path| path.as_slice() != anchor) {
            let same_file = shared.is_some() && self.now.get(path.as_slice()).copied() == shared;
            match self.fate(draft, path) {
                Fate::Fixed | Fate::Gone => {}
                Fate::Stays if same_file => {
                    if let Some(step) = self.steps.get(path.as_slice()) {
                        draft.plan.steps.set_link(*step, Some(anchor));
                    }
                }
                Fate::Stays | Fate::Replaced => self.relink(draft, path, Some(anchor))?,
            }
        }
        Ok(())
    }

    /// The path whose file the whole group is to share.
    fn anchor(
        &self,
        draft: &Draft<'_>,
        at: usize,
        group: &'a [Vec<u8>],
        owners: &[Option<Class<'a>>],
    ) -> Result<Option<&'a [u8]>> {
        let here = Class::Group(at);
        let keeps = |path: &&Vec<u8>| {
            let owned = self.now.get(path.as_slice()).is_none_or(|group| owners[*group].as_ref() == Some(&here));
            owned && self.fate(draft, path) == Fate::Stays
        };
        if let Some(path) = group.iter().find(keeps) {
            return Ok(Some(path));
        }
        let is_fixed = |path: &&Vec<u8>| self.fate(draft, path) == Fate::Fixed && !draft.scope.spared().contains(path);
        for path in group.iter().filter(is_fixed) {
            let mut sharers = self.now.get(path.as_slice()).into_iter().flat_map(|group| &self.now_groups[*group]);
            // A name that goes, or gets a file of its own, takes nothing with it.
            let keeps_it = |path: &Vec<u8>| matches!(self.fate(draft, path), Fate::Fixed | Fate::Stays);
            let parts = |path: &Vec<u8>| self.class(path) != here && keeps_it(path);
            if !sharers.any(parts) && is_as_targeted(draft, path)? {
                return Ok(Some(path));
            }
        }
        Ok(group.iter().find(|path| self.fate(draft, path) == Fate::Replaced).map(Vec::as_slice))
    }

    /// Plans that `path` becomes a new file, or a name of the file that `anchor` names.
    fn relink(&mut self, draft: &mut Draft<'_>, path: &[u8], anchor: Option<&[u8]>) -> Result<()> {
        if let Some(at) = self.steps.get(path) {
            let steps = &mut draft.plan.steps;
            let is_replacement = steps.get(*at).is_replacement();
            steps.what_mut(*at).links |= !is_replacement;
            steps.set_link(*at, anchor);
            return Ok(());
        }
        let before = draft.present.lookup(draft.roots.0, path)?;
        let after = draft.view.lookup(draft.roots.1, path)?;
        // What could not be captured whole is not replaced.
        if after.is_none() || before.as_ref().is_none_or(|before| before.meta.xattrs_unread) {
            return Ok(());
        }
        let what = What { links: true, ..What::default() };
        let at = draft.plan.steps.len();
        self.steps.insert(path.to_vec(), at);
        draft.plan.steps.push(path, before.as_ref(), after.as_ref(), what);
        draft.plan.steps.set_link(at, anchor);
        self.add_site(draft, split(path).0)
    }

    fn add_site(&mut self, draft: &mut Draft<'_>, path: &[u8]) -> Result<()> {
        if self.sites.contains(path) {
            return Ok(());
        }
        let before = draft.present.lookup(draft.roots.0, path)?;
        let after = draft.view.lookup(draft.roots.1, path)?;
        if let (Some(before), Some(after)) = (before, after) {
            self.sites.insert(path.to_vec());
            draft.plan.sites.push(Site { path: path.to_vec(), before: before.meta, after: Some(after.meta) });
        }
        Ok(())
    }
}

/// Whether a path that the plan does not touch is already what the target says.
fn is_as_targeted(draft: &Draft<'_>, path: &[u8]) -> Result<bool> {
    let before = draft.present.lookup(draft.roots.0, path)?;
    let after = draft.view.lookup(draft.roots.1, path)?;
    Ok(match (before, after) {
        (Some(before), Some(after)) => {
            !before.is_opaque() && super::difference::difference(&before, &after, draft.as_root) == What::default()
        }
        _ => false,
    })
}

fn index(links: &Links) -> HashMap<&[u8], usize> {
    let groups = links.groups.iter().enumerate();
    groups.flat_map(|(at, group)| group.iter().map(move |path| (path.as_slice(), at))).collect()
}
