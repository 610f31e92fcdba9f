//! What differs between two trees, at a cost that follows the difference and not the trees.

use crate::error::Result;
use crate::tree::{Entry, View};

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

/// Which paths are meant; no paths mean all.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    paths: Vec<Vec<u8>>,
}

impl Scope {
    /// These paths and everything beneath them; an empty list means everything.
    pub fn new(paths: Vec<Vec<u8>>) -> Scope {
        Scope { paths }
    }

    pub(crate) fn contains(&self, path: &[u8]) -> bool {
        self.paths.is_empty()
            || self.paths.iter().any(|one| {
                one.is_empty()
                    || path.strip_prefix(one.as_slice()).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
            })
    }

    pub(crate) fn may_contain(&self, dir: &[u8]) -> bool {
        self.contains(dir)
            || dir.is_empty()
            || self.paths.iter().any(|one| one.strip_prefix(dir).is_some_and(|rest| rest.first() == Some(&b'/')))
    }
}

/// One path that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path beneath the workspace; empty for the root itself.
    pub path: Vec<u8>,
    /// What was there, unless nothing was.
    pub before: Option<Entry>,
    /// What is there now, unless nothing is.
    pub after: Option<Entry>,
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
    /// It is one file with other paths than before.
    pub links: bool,
    /// It can no longer, or can again, be changed or cut (inode flags).
    pub flags: bool,
}

/// Calls `each` for every path in `scope` that differs, parents before children, in the order of names.
pub fn diff(_sides: &Sides<'_>, _scope: &Scope, _each: &mut dyn FnMut(Change) -> Result<()>) -> Result<()> {
    unimplemented!()
}
