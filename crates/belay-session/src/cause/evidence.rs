//! Whether a snapshot holds what the record says was done before it: it is told late of what happens, so that a snapshot
//! of what is known to have changed may lack what was changed a moment before.

use belay_event::{Action, At};
use belay_journal::{Change, Command};
use belay_store::{Entry, Time};

use crate::error::Result;
use crate::present::Tree;
use crate::record::Snapshot;
use crate::workspace::Workspace;

/// How long after it happened something is surely known.
const LAG_NANOS: i128 = 250_000_000;
/// How much a file's times may be behind the clock.
const TICK_NANOS: i128 = 10_000_000;

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
            let before = self.workspace.entry(&self.before, change.change.path.bytes())?;
            let is_other = |entry: &Entry| !before.as_ref().is_some_and(|before| before.same_identity(entry));
            if !self.shows(&tree, change, &is_other)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the change is in the tree before the step.
    pub(super) fn is_before(&self, change: &Change) -> Result<bool> {
        self.shows(&self.before, change, &|_| false)
    }

    fn shows(&self, tree: &Tree, change: &Change, is_other: &dyn Fn(&Entry) -> bool) -> Result<bool> {
        let entry = |path: &[u8]| self.workspace.entry(tree, path);
        let there = entry(change.change.path.bytes())?;
        Ok(match (change.change.action, &change.change.to) {
            (Action::Renamed, Some(to)) => there.is_none() && entry(to.bytes())?.is_some(),
            (Action::Deleted | Action::Renamed, _) => there.is_none(),
            (Action::Created, _) => there.is_some(),
            _ => there.is_some_and(|entry| is_other(&entry) || self.is_since(change, entry.meta.mtime)),
        })
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
