//! Takes out of a plan what somebody changed after the interruption, and what depends on it.
//!
//! A plan may have as many steps as there are files, so nothing here compares each step with each other one.

use std::collections::HashSet;
use std::sync::Arc;

use belay_store::{Entry, FileType, Kind, Left, LeftReason, Node, Plan, Step, Steps, View};

use crate::error::Result;

/// Takes out of the plan every step at a path that is not as `other` has it, and what depends on such a step.
pub(super) fn narrow(plan: &mut Plan, view: View<'_>, other: &Entry) -> Result<Vec<Left>> {
    let mut finder = Finder { view, root: other, dir: Vec::new(), node: None, is_open: false };
    let mut foreign: Vec<Vec<u8>> = Vec::new();
    for step in &plan.steps {
        if !is_ours(&step, &mut finder)? {
            foreign.push(step.path.to_vec());
        }
    }
    if !foreign.is_empty() {
        let dropped = dependent(&plan.steps, &foreign);
        plan.steps.retain(|step| !dropped.contains(step.path));
    }
    Ok(foreign.into_iter().map(|path| Left { path, reason: LeftReason::ChangedSince }).collect())
}

/// The foreign paths, and those of all steps that cannot be carried out without them.
///
/// A directory that keeps something foreign stays, nothing is put beneath a foreign path, and a file cannot be linked
/// to one that is not made. What is to go from a directory that only has to stay goes all the same.
fn dependent(steps: &Steps, foreign: &[Vec<u8>]) -> HashSet<Vec<u8>> {
    let dirs = || steps.iter().filter(|step| is_dir(&step.before));
    // A directory that stays one: what is beneath it goes its own way.
    let shared: HashSet<&[u8]> = dirs().filter(|step| is_dir(&step.after)).map(|step| step.path).collect();
    let emptied: HashSet<&[u8]> = dirs().filter(|step| step.after.is_none()).map(|step| step.path).collect();
    let mut dropped: HashSet<Vec<u8>> = foreign.iter().cloned().collect();
    loop {
        let before = dropped.len();
        let above: HashSet<&[u8]> = dropped.iter().flat_map(|path| parents(path)).collect();
        let depends = |step: &Step<'_>| {
            let goes = step.after.is_none() || step.what.retyped;
            let holds = goes && above.contains(step.path);
            let is_free = |dir: &[u8]| shared.contains(dir) || step.after.is_none() && emptied.contains(dir);
            let lies = || parents(step.path).any(|dir| dropped.contains(dir) && !is_free(dir));
            let hangs = || step.link_to.is_some_and(|to| dropped.contains(to));
            holds || lies() || hangs()
        };
        let more: Vec<Vec<u8>> = steps.iter().filter(|step| depends(step)).map(|step| step.path.to_vec()).collect();
        dropped.extend(more);
        if dropped.len() == before {
            return dropped;
        }
    }
}

/// Whether a step may be carried out: nothing is at its path, or what the interrupted rollback knew or was making of it.
fn is_ours(step: &Step<'_>, other: &mut Finder<'_>) -> Result<bool> {
    let Some(now) = &step.before else { return Ok(true) };
    let Some(then) = other.find(step.path)? else { return Ok(false) };
    let what = &step.what;
    // What nobody could read then is in no snapshot, whatever its mode is by now.
    if then.is_opaque() && !now.is_opaque() && (step.after.is_none() || what.content || what.retyped || what.links) {
        return Ok(false);
    }
    Ok(belay_store::is_between(now, &then, step.after.as_ref().unwrap_or(&then)))
}

/// Looks paths up in a tree; neighbours, one after the other, cost one directory.
struct Finder<'a> {
    view: View<'a>,
    root: &'a Entry,
    dir: Vec<u8>,
    node: Option<Arc<Node>>,
    is_open: bool,
}

impl Finder<'_> {
    fn find(&mut self, path: &[u8]) -> Result<Option<Entry>> {
        let Some(dir) = parents(path).next() else { return Ok(Some(self.root.clone())) };
        if !self.is_open || self.dir != dir {
            let found = self.view.lookup(self.root, dir)?;
            self.node = match found.map(|entry| entry.kind) {
                Some(Kind::Dir { node, .. }) => Some(self.view.node(&node)?),
                _ => None,
            };
            (self.dir, self.is_open) = (dir.to_vec(), true);
        }
        let name = path.strip_prefix(dir).map_or(path, |rest| rest.strip_prefix(b"/").unwrap_or(rest));
        Ok(self.node.as_ref().and_then(|node| node.get(name)).cloned())
    }
}

fn is_dir(entry: &Option<Entry>) -> bool {
    entry.as_ref().is_some_and(|entry| entry.kind.file_type() == FileType::Dir)
}

/// The directories that a path lies in, the nearest first; the last is the workspace itself.
fn parents(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at]);
    slashes.chain((!path.is_empty()).then_some(&path[..0]))
}
