//! Three-way merge of trees: what leads from `base` to `theirs` is done to `ours`, and nothing else.
//!
//! - A path that `ours` has as `base` has it becomes as in `theirs`; text that changed on both sides is merged by lines.
//! - Where both changed and the changes meet, `ours` stays, and what `theirs` has is put beside it: nothing is guessed.
//! - A repository (`.git`) is taken over as a whole or not at all: half of its objects would break what refers to them.

mod content;
mod draft;
mod graft;

pub use content::merge_lines;
pub use graft::{Carried, graft};

use crate::diff::Change;
use crate::error::Result;
use crate::tree::{Entry, Kind, View};
use draft::Draft;
pub use draft::repository;

/// One of three trees.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// Where its nodes are.
    pub view: View<'a>,
    /// Its root.
    pub root: &'a Entry,
}

impl Side<'_> {
    fn lookup(&self, path: &[u8]) -> Result<Option<Entry>> {
        self.view.lookup(self.root, path)
    }

    fn bytes(&self, entry: &Entry) -> Result<Vec<u8>> {
        match &entry.kind {
            Kind::File { size, content } => self.view.bytes(*size, content),
            _ => Ok(Vec::new()),
        }
    }
}

/// Reads the bytes of the file at a path of `ours`.
pub type ReadOurs<'a> = dyn Fn(&[u8], &Entry) -> Result<Vec<u8>> + 'a;

/// The trees of a merge.
#[derive(Clone, Copy)]
pub struct Trees<'a> {
    /// The tree after the step that is to be reversed.
    pub base: Side<'a>,
    /// The tree that is there now.
    pub ours: Side<'a>,
    /// The tree before the step.
    pub theirs: Side<'a>,
    /// Reads a file of `ours`, which may not be in the store.
    pub read: &'a ReadOurs<'a>,
}

/// Which part of the way from `base` to `theirs` is meant.
pub struct Inverse<'a> {
    /// Every path that differs between `base` and `theirs`, parents before children.
    pub changes: &'a [Change],
    /// Whether the change of a path belongs to the step.
    pub is_meant: &'a dyn Fn(&[u8]) -> bool,
    /// Whether somebody else changed the path between the two trees as well.
    pub is_doubtful: &'a dyn Fn(&[u8]) -> bool,
    /// What of such a path only the step changed, if that is known.
    pub share: &'a dyn Fn(&[u8], &Entry) -> Option<Share>,
    /// Whether the step removed the path after somebody else changed it: an older version is all that there is.
    pub is_removed: &'a dyn Fn(&[u8]) -> bool,
    /// What others overwrote and the step had changed: it stays away, and what `theirs` had is put beside.
    pub ousted: &'a [Ousted],
    /// Ends the name under which an older version is put beside a newer one.
    pub suffix: &'a [u8],
}

/// What of a file only one of those who changed it can have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Its mode, owner and the like.
    Metadata,
    /// What is in it.
    Content,
}

/// What was at a path before something else was moved there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ousted {
    /// The path beneath the workspace.
    pub path: Vec<u8>,
    /// What was there before the step.
    pub entry: Entry,
    /// Why it does not come back.
    pub clash: Clash,
}

/// What to do to `ours`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// The paths that become something else, parents before children, in the order of names.
    pub edits: Vec<Edit>,
    /// The paths that stay although the step is to be reversed.
    pub conflicts: Vec<Conflict>,
}

/// A path that becomes something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The path beneath the workspace.
    pub path: Vec<u8>,
    /// What is there.
    pub before: Option<Entry>,
    /// What will be there.
    pub after: Option<Entry>,
    /// The bytes of a file whose lines were merged.
    pub bytes: Option<Vec<u8>>,
}

/// A path that stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The path beneath the workspace.
    pub path: Vec<u8>,
    /// Why it stays.
    pub clash: Clash,
    /// Where the version before the step is put, if there was one; at the path itself if nothing is there.
    pub beside: Option<Vec<u8>>,
}

/// Why a path stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clash {
    /// It was changed later, in the same place.
    BothChanged,
    /// It was changed later, and is no text that could be merged by lines.
    NotText,
    /// It was removed later.
    RemovedLater,
    /// The step made it, and it was changed later.
    MadeThenChanged,
    /// The step removed it, and it was made again later.
    MadeAgain,
    /// Something of another type is at its path, or above it.
    Retyped,
    /// Somebody else changed it too, before anything was captured in between.
    Doubtful,
    /// It belongs to a repository that was changed later, or by somebody else as well.
    Repository,
    /// It belongs to a database, another file of which stays.
    Database,
    /// One of the trees did not capture it.
    NotCaptured,
    /// It came after one snapshot and was removed by the step before the next, so that none holds it.
    Unseen,
    /// The step moved it, and later it was moved again, or something else got its old name.
    MovedOn,
}

/// Works out what to do to `ours`; nothing is written.
pub fn merge(trees: &Trees<'_>, step: &Inverse<'_>) -> Result<Merged> {
    let mut draft = Draft::new(trees, step);
    for change in step.changes.iter().filter(|change| !change.what().is_nothing()) {
        draft.take(change)?;
    }
    for ousted in step.ousted {
        draft.clash(&ousted.path, ousted.clash, Some(&ousted.entry))?;
    }
    draft.finish()
}

/// The directory of a path and its name in it.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    if dir.is_empty() { name.to_vec() } else { [dir, b"/", name].concat() }
}

fn is_within(path: &[u8], dir: &[u8]) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest[0] == b'/' || dir.is_empty())
}

#[cfg(test)]
mod tests;
