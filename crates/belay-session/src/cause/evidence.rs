//! Whether a snapshot holds what the record says was done before it: it is told late of what happens, so that a snapshot
//! of what is known to have changed may lack what was changed a moment before.

use belay_event::{Action, At, Raw};
use belay_journal::{Change, Command};
use belay_store::Time;

use crate::error::{Error, Result};
use crate::present::Tree;
use crate::record::Snapshot;
use crate::workspace::Workspace;

/// How long after it happened something is surely known.
const LAG_NANOS: i128 = 250_000_000;
/// How much a file's times may be behind the clock.
pub(super) const TICK_NANOS: i128 = 10_000_000;

/// Whether what happened at the first time was known at the second.
pub(super) fn is_long_before(happened: At, known: At) -> bool {
    happened.unix_nanos() + LAG_NANOS <= known.unix_nanos()
}

/// What tells whether a change is in a tree.
pub(super) struct Evidence<'a> {
    workspace: &'a Workspace<'a>,
    commands: &'a [Command],
    before: Tree,
}

impl<'a> Evidence<'a> {
    pub(super) fn of(workspace: &'a Workspace<'a>, commands: &'a [Command], before: Tree) -> Evidence<'a> {
        Evidence { workspace, commands, before }
    }

    /// Whether the changes are in the snapshot, as far as that can be seen.
    pub(super) fn is_in<'c>(&self, changes: impl Iterator<Item = &'c &'c Change>, snapshot: &Snapshot) -> Result<bool> {
        let tree = self.workspace.whole_tree(snapshot)?;
        for change in changes {
            if !self.shows(&tree, change, true)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the change is in the tree before the step.
    pub(super) fn is_before(&self, change: &Change) -> Result<bool> {
        self.shows(&self.before, change, false)
    }

    /// Whether the tree is as the change left it: what is gone is not there, and what came or was changed is of that time,
    /// or another than before the step.
    fn shows(&self, tree: &Tree, change: &Change, is_after: bool) -> Result<bool> {
        let (path, to) = (change.change.path.bytes(), change.change.to.as_ref().map(Raw::bytes));
        let is_gone = |path: &[u8]| Ok::<bool, Error>(self.workspace.entry(tree, path)?.is_none());
        let arrived = match (change.change.action, to) {
            (Action::Renamed, Some(to)) if is_gone(path)? => to,
            (Action::Renamed, Some(_)) => return Ok(false),
            (Action::Deleted | Action::Renamed, _) => return is_gone(path),
            _ => path,
        };
        let Some(there) = self.workspace.entry(tree, arrived)? else { return Ok(false) };
        let before = if is_after { self.workspace.entry(&self.before, arrived)? } else { None };
        let is_other = is_after && !before.is_some_and(|before| before.same_identity(&there));
        Ok(is_other || self.is_since(change, there.meta.mtime))
    }

    /// Whether the time is one at which whoever made the change was there already.
    fn is_since(&self, change: &Change, time: Time) -> bool {
        let number = change.change.by.and_then(|by| by.command);
        let command = number.and_then(|number| self.commands.iter().find(|one| one.exec.command == number));
        let begun = command.map_or(change.at.unix_nanos(), |command| command.at.unix_nanos());
        let nanos = i128::from(time.sec) * 1_000_000_000 + i128::from(time.nsec);
        nanos + TICK_NANOS >= begun
    }
}
