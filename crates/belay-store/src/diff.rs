//! What differs between two trees, at a cost that follows the difference and not the trees.
//!
//! Subtrees with equal keys are never read. The walk keeps its own stack, so that no tree is too deep for it.

mod lines;
mod links;
mod packed;
mod renames;
mod scope;

pub use lines::{kept_lines, lines};
pub use links::relinked;
pub use packed::Changes;
pub use renames::{Rename, renames};
pub use scope::{Scope, Spared};

use std::cmp::Ordering;
use std::sync::Arc;

use crate::error::Result;
use crate::hash::Hash;
use crate::tree::{Content, Entry, Kind, Meta, Node, View};

/// Two trees to compare.
#[derive(Clone, Copy)]
pub struct Sides<'a> {
    /// Where the older tree's nodes are.
    pub before: View<'a>,
    /// The older tree.
    pub before_root: &'a Entry,
    /// Where the newer tree's nodes are.
    pub after: View<'a>,
    /// The newer tree.
    pub after_root: &'a Entry,
}

/// One path that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path beneath the workspace; empty for the root itself.
    pub path: Vec<u8>,
    /// What was there, unless nothing was, or nothing that is known.
    pub before: Option<Entry>,
    /// What is there now, unless nothing is, or nothing that is known.
    pub after: Option<Entry>,
    /// The side that is `None` was seen but not captured, or lies in a directory of which that is true.
    pub opaque: bool,
}

/// In what a path differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct What {
    /// It is new.
    pub added: bool,
    /// It is gone.
    pub removed: bool,
    /// It is of another type.
    pub retyped: bool,
    /// Its bytes, holes, link text or device number differ.
    pub content: bool,
    /// Its permission bits differ.
    pub mode: bool,
    /// Its extended attributes or ACLs differ.
    pub xattrs: bool,
    /// Its owner or group differs.
    pub owner: bool,
    /// Its inode flags differ.
    pub flags: bool,
    /// It is one file with other paths than before.
    pub links: bool,
    /// One side was not captured, so that nothing can be said.
    pub opaque: bool,
}

impl What {
    /// In what two captured entries differ; times, hard links and what is beneath a directory do not count.
    pub fn between(before: &Entry, after: &Entry) -> What {
        let retyped = before.kind.file_type() != after.kind.file_type();
        What {
            retyped,
            content: !retyped && !same_content(&before.kind, &after.kind),
            mode: before.meta.mode != after.meta.mode,
            xattrs: before.meta.xattrs != after.meta.xattrs && !before.meta.xattrs_unread && !after.meta.xattrs_unread,
            owner: (before.meta.uid, before.meta.gid) != (after.meta.uid, after.meta.gid),
            flags: flags(&before.meta) != flags(&after.meta),
            ..What::default()
        }
    }

    /// Whether nothing differs.
    pub fn is_nothing(&self) -> bool {
        *self == What::default()
    }
}

impl Change {
    /// In what the path differs.
    pub fn what(&self) -> What {
        match (&self.before, &self.after) {
            _ if self.opaque => What { opaque: true, ..What::default() },
            (Some(before), Some(after)) => What::between(before, after),
            (before, after) => What { added: before.is_none(), removed: after.is_none(), ..What::default() },
        }
    }
}

fn flags(meta: &Meta) -> (bool, bool) {
    (meta.immutable, meta.append_only)
}

fn same_content(before: &Kind, after: &Kind) -> bool {
    match (before, after) {
        (Kind::File { size: a, content: x }, Kind::File { size: b, content: y }) => {
            let holes = |content: &Content| matches!(content, Content::Sparse { .. });
            a == b && (*a == 0 || x.identity() == y.identity() && holes(x) == holes(y))
        }
        (Kind::Dir { .. }, Kind::Dir { .. }) => true,
        (before, after) => before == after,
    }
}

/// Calls `each` for every path in `scope` that differs, parents before children, in the order of names.
///
/// A directory that came or went is followed by everything beneath it. Nothing is claimed about a path that neither
/// tree captured.
pub fn diff(sides: &Sides<'_>, scope: &Scope, each: &mut dyn FnMut(Change) -> Result<()>) -> Result<()> {
    let mut walk = Walk { sides, scope, each, path: Vec::new(), stack: Vec::new() };
    walk.pair(&[], Some(sides.before_root), Some(sides.after_root), false)?;
    while let Some(level) = walk.stack.last_mut() {
        match level.next() {
            Some((name, before, after)) => {
                let opaque = level.opaque;
                walk.path.truncate(level.path_len);
                walk.pair(&name, before.as_ref(), after.as_ref(), opaque)?;
            }
            None => {
                walk.stack.pop();
            }
        }
    }
    Ok(())
}

struct Walk<'a, 'b> {
    sides: &'a Sides<'a>,
    scope: &'a Scope,
    each: &'b mut dyn FnMut(Change) -> Result<()>,
    path: Vec<u8>,
    stack: Vec<Level>,
}

/// A directory that is being compared, and how far.
struct Level {
    before: Side,
    after: Side,
    path_len: usize,
    opaque: bool,
}

#[derive(Default)]
struct Side {
    node: Option<Arc<Node>>,
    at: usize,
}

impl Side {
    fn peek(&self) -> Option<&Entry> {
        self.node.as_ref()?.entries.get(self.at)
    }

    fn take(&mut self) -> Option<Entry> {
        let entry = self.peek().cloned();
        self.at += 1;
        entry
    }
}

impl Level {
    /// The next name that is not the same on both sides, with what each has under it.
    fn next(&mut self) -> Option<(Vec<u8>, Option<Entry>, Option<Entry>)> {
        while self.before.peek().is_some_and(|before| Some(before) == self.after.peek()) {
            self.before.at += 1;
            self.after.at += 1;
        }
        let order = match (self.before.peek(), self.after.peek()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(before), Some(after)) => before.name.cmp(&after.name),
        };
        let before = if order.is_le() { self.before.take() } else { None };
        let after = if order.is_ge() { self.after.take() } else { None };
        let name = before.as_ref().or(after.as_ref()).map(|entry| entry.name.clone()).unwrap_or_default();
        Some((name, before, after))
    }
}

impl Walk<'_, '_> {
    /// Compares what both sides have under one name, and enters it if there may be more to find beneath.
    fn pair(&mut self, name: &[u8], before: Option<&Entry>, after: Option<&Entry>, opaque: bool) -> Result<()> {
        if !self.path.is_empty() {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(name);
        let opaque = opaque || [before, after].into_iter().flatten().any(Entry::is_opaque);
        let before = before.filter(|entry| !entry.is_opaque());
        let after = after.filter(|entry| !entry.is_opaque());
        let inside = self.scope.contains(&self.path);
        if !inside && !self.scope.may_contain(&self.path) {
            return Ok(());
        }
        let differs = match (before, after) {
            (None, None) => return Ok(()),
            (Some(before), Some(after)) => !What::between(before, after).is_nothing(),
            _ => true,
        };
        if inside && differs {
            let (before, after) = (before.cloned(), after.cloned());
            (self.each)(Change { path: self.path.clone(), before, after, opaque })?;
        }
        self.enter(before.and_then(node_key), after.and_then(node_key), opaque)
    }

    fn enter(&mut self, before: Option<Hash>, after: Option<Hash>, opaque: bool) -> Result<()> {
        if before == after {
            return Ok(());
        }
        let (before, after) = match (before, after) {
            (Some(before), Some(after)) => {
                let (before, after) = self.sides.before.apart(&before, self.sides.after, &after)?;
                (Some(before), Some(after))
            }
            (before, after) => (
                before.map(|key| self.sides.before.node(&key)).transpose()?,
                after.map(|key| self.sides.after.node(&key)).transpose()?,
            ),
        };
        let side = |node| Side { node, at: 0 };
        self.stack.push(Level { before: side(before), after: side(after), path_len: self.path.len(), opaque });
        Ok(())
    }
}

fn node_key(entry: &Entry) -> Option<Hash> {
    match entry.kind {
        Kind::Dir { node, .. } => Some(node),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
