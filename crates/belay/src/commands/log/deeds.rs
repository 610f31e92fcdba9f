//! What a command did to the workspace in the end: one line for each path, whatever happened in between.

use std::collections::{BTreeMap, BTreeSet};

use belay_session::event::{Action, FileChange};

use crate::view;

/// What became of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Deed {
    New,
    Changed,
    Gone,
    Moved(Option<Vec<u8>>),
    Restored,
    /// It came and went.
    Passing,
}

/// What became of the paths that a command touched.
#[derive(Clone, Debug, Default)]
pub(super) struct Deeds {
    paths: BTreeMap<Vec<u8>, Deed>,
    unsure: BTreeSet<Vec<u8>>,
}

impl Deeds {
    /// Takes the next change in; `is_unsure` says that it may have been another command of the same process.
    pub(super) fn add(&mut self, change: &FileChange, is_unsure: bool) {
        let path = change.path.bytes().to_vec();
        if is_unsure {
            self.unsure.insert(path.clone());
        }
        let before = self.paths.get(&path);
        let deed = match (change.action, before) {
            (Action::Created, Some(Deed::Gone)) => Deed::Changed,
            (Action::Created, _) => Deed::New,
            (Action::Modified, Some(Deed::New)) => Deed::New,
            (Action::Modified, _) => Deed::Changed,
            (Action::Deleted, Some(Deed::New | Deed::Passing)) => Deed::Passing,
            (Action::Deleted, _) => Deed::Gone,
            (Action::Restored, _) => Deed::Restored,
            (Action::Renamed, Some(Deed::New)) => {
                // Written beside it and renamed over it: that is how a careful program changes a file.
                if let Some(to) = &change.to {
                    self.paths.insert(to.bytes().to_vec(), Deed::Changed);
                }
                Deed::Passing
            }
            (Action::Renamed, _) => Deed::Moved(change.to.as_ref().map(|to| to.bytes().to_vec())),
        };
        self.paths.insert(path, deed);
    }

    /// The paths that are different now, as lines with a letter in front.
    pub(super) fn lines(&self) -> impl Iterator<Item = (char, String)> {
        self.paths.iter().filter_map(|(path, deed)| {
            let doubt = if self.unsure.contains(path) { " ?" } else { "" };
            let name = format!("{}{doubt}", view::relative(path));
            match deed {
                Deed::New => Some(('A', name)),
                Deed::Changed => Some(('M', name)),
                Deed::Gone => Some(('D', name)),
                Deed::Moved(Some(to)) => Some(('R', format!("{name} -> {}", view::relative(to)))),
                Deed::Moved(None) => Some(('D', format!("{name} (moved out of the workspace)"))),
                Deed::Restored => Some(('B', name)),
                Deed::Passing => None,
            }
        })
    }

    /// How many paths are different now.
    pub(super) fn count(&self) -> usize {
        self.paths.values().filter(|deed| **deed != Deed::Passing).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_is_the_end() {
        let mut deeds = Deeds::default();
        let mut add = |action, path: &str, to: Option<&str>| {
            let to = to.map(Into::into);
            deeds.add(&FileChange { action, path: path.into(), to, dir: false, size: None, by: None }, path == "again");
        };
        add(Action::Created, "new", None);
        add(Action::Modified, "new", None);
        add(Action::Created, "temporary", None);
        add(Action::Deleted, "temporary", None);
        add(Action::Created, ".tmp", None);
        add(Action::Renamed, ".tmp", Some("careful"));
        add(Action::Deleted, "again", None);
        add(Action::Created, "again", None);
        add(Action::Renamed, "old", Some("name"));
        let lines: Vec<String> = deeds.lines().map(|(letter, name)| format!("{letter} {name}")).collect();
        assert_eq!(lines, ["M again ?", "M careful", "A new", "R old -> name"]);
        assert_eq!(deeds.count(), 4);
    }
}
