//! Changes that the tracer's events do not tell, or tell of the wrong one.
//!
//! While a run is held still its files change by belay's own hand: those changes are restorations and nobody's command.
//! And what the snapshots around a run differ in without an event (a store through a mapping, a change that no watch
//! reports) is recorded at the end, by nobody: a record may not know who, but it knows what. A layer is written by nobody but
//! the run, so what changed in there is ascribed to the command that was run, whichever of those that it started did it.

use std::collections::HashSet;

use belay_event::{Action, Actor, At, Event, FileChange, What};
use belay_store::{Change, Scope};

use super::supervisor::Supervisor;
use crate::error::Result;

/// How the names begin under which a rollback puts files in place.
const OWN: &[u8] = b".belay-op_";

/// The events of a time in which only the processes `holders` and strangers could change anything: what was put back,
/// each path once, and the rest.
pub(super) fn while_held(events: Vec<Event>, holders: &[u32]) -> (Vec<Event>, Vec<Event>) {
    let events = events.into_iter().filter_map(|event| restored(event, holders));
    let is_put_back = |event: &Event| matches!(&event.what, What::File(change) if change.action == Action::Restored);
    let (mut put_back, rest): (Vec<Event>, Vec<Event>) = events.partition(is_put_back);
    let mut seen = HashSet::new();
    put_back.retain(|event| match &event.what {
        // The top is touched whenever something in it is put back.
        What::File(change) => !change.path.bytes().is_empty() && seen.insert(change.path.clone()),
        _ => true,
    });
    (put_back, rest)
}

fn restored(mut event: Event, holders: &[u32]) -> Option<Event> {
    let What::File(change) = &mut event.what else { return Some(event) };
    let pid = change.by.and_then(|by| by.pid);
    if pid.is_some_and(|pid| !holders.contains(&pid)) {
        return Some(event);
    }
    // A file comes into its place by a rename from belay's own name.
    let to = change.to.take().filter(|to| !is_own(to.bytes()));
    match to {
        Some(to) => change.path = to,
        None if is_own(change.path.bytes()) => return None,
        None => {}
    }
    change.action = Action::Restored;
    change.by = None;
    Some(event)
}

fn is_own(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|name| name.starts_with(OWN))
}

impl Supervisor<'_> {
    /// Records what the last snapshot of the run has and no event told.
    pub(super) fn record_unseen(&mut self) {
        // What cannot be compared was told when its snapshot failed.
        let Ok((at, changes)) = self.changes_of_run() else { return };
        let own = self.record.child.as_ref().filter(|_| self.workspace.is_layered());
        let command = own.and_then(|child| self.commands.first_of(child.pid));
        let by = command.map(|command| Actor { pid: None, command: Some(command), exact: false });
        let unseen =
            changes.into_iter().filter(|change| !change.what().is_nothing() && !self.tally.knows(&change.path));
        let told = |change: Change| Event::new(at, What::File(FileChange { by, ..unattributed(&change) }));
        let events: Vec<Event> = unseen.map(told).collect();
        if !events.is_empty() {
            self.happened(events);
        }
    }

    /// What the run changed, as of its last snapshot.
    fn changes_of_run(&self) -> Result<(At, Vec<Change>)> {
        let timeline = self.workspace.timeline()?;
        let named = |id: &Option<String>| id.as_ref().and_then(|id| timeline.get(id));
        match (named(&self.record.pre_run), named(&self.record.final_snapshot)) {
            (Some(before), Some(after)) => {
                let at = At::from(after.created_at);
                let (before, after) = (self.workspace.tree(before)?, self.workspace.tree(after)?);
                Ok((at, self.workspace.changes(&before, &after, &Scope::default())?))
            }
            _ => Ok((self.now(), Vec::new())),
        }
    }
}

fn unattributed(change: &Change) -> FileChange {
    let what = change.what();
    let action = match (what.added, what.removed) {
        (true, _) => Action::Created,
        (_, true) => Action::Deleted,
        _ => Action::Modified,
    };
    let kind = change.after.as_ref().or(change.before.as_ref()).map(|entry| &entry.kind);
    let dir = matches!(kind, Some(belay_store::Kind::Dir { .. }));
    let size = match change.after.as_ref().map(|entry| &entry.kind) {
        Some(belay_store::Kind::File { size, .. }) => Some(*size),
        _ => None,
    };
    FileChange { action, path: change.path.as_slice().into(), to: None, dir, size, by: None }
}

#[cfg(test)]
mod tests {
    use belay_event::{Actor, At};

    use super::*;

    fn change(action: Action, path: &str, to: Option<&str>, pid: Option<u32>) -> Event {
        let by = Some(Actor { pid, command: Some(1), exact: pid.is_some() });
        let what = FileChange { action, path: path.into(), to: to.map(Into::into), dir: false, size: None, by };
        Event::new(At::from_unix_nanos(0), What::File(what))
    }

    fn seen(events: Vec<Event>) -> Vec<(Action, String, bool)> {
        let of = |event: Event| match event.what {
            What::File(change) => (change.action, change.path.lossy().into_owned(), change.by.is_some()),
            other => panic!("{other:?}"),
        };
        events.into_iter().map(of).collect()
    }

    #[test]
    fn what_belay_puts_back_is_restored_and_its_own_names_are_nobodys_business() {
        let events = vec![
            change(Action::Created, ".belay-op_x-1", None, Some(7)),
            change(Action::Renamed, ".belay-op_x-1", Some("d/a"), Some(7)),
            change(Action::Modified, "d/a", None, Some(7)),
            change(Action::Modified, "", None, Some(7)),
            change(Action::Deleted, "b", None, None),
            change(Action::Renamed, "c", Some("d/.belay-op_x-2"), Some(7)),
            change(Action::Modified, "mine", None, Some(9)),
        ];
        let expected = [
            (Action::Restored, "d/a".to_owned(), false),
            (Action::Restored, "b".to_owned(), false),
            (Action::Restored, "c".to_owned(), false),
        ];
        let (put_back, rest) = while_held(events, &[7]);
        assert_eq!(seen(put_back), expected);
        assert_eq!(seen(rest), [(Action::Modified, "mine".to_owned(), true)]);
    }
}
