//! Who touched which paths between two snapshots, as the record of a run tells.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use belay_event::{Action, Actor, Ended, FileChange, Raw};
use belay_journal::{Change, Command};

/// The paths of a step.
pub(super) enum Touched {
    /// Everything that differs.
    All,
    /// Everything but what only others touched.
    But {
        /// What the step touched.
        mine: Paths,
        /// What others touched.
        others: Paths,
    },
    /// Only what the step touched.
    Only {
        /// What the step touched.
        mine: Paths,
        /// What others touched.
        others: Paths,
        /// What others touched when the step was over; the kernel may tell late of what a snapshot holds already.
        later: Paths,
    },
}

/// Paths, and directories that stand for everything beneath them.
#[derive(Default)]
pub(super) struct Paths {
    exact: HashSet<Vec<u8>>,
    trees: HashSet<Vec<u8>>,
    /// Directories that were made, and so were empty.
    made: HashSet<Vec<u8>>,
}

impl Paths {
    fn add(&mut self, change: &FileChange) {
        for path in [Some(&change.path), change.to.as_ref()].into_iter().flatten().map(Raw::bytes) {
            // What lay in a directory that came, went or moved as a whole is not reported one by one.
            if change.dir && change.action != Action::Modified {
                self.trees.insert(path.to_vec());
            }
            if change.dir && change.action == Action::Created {
                self.made.insert(path.to_vec());
            }
            self.exact.insert(path.to_vec());
        }
    }

    fn has(&self, path: &[u8]) -> bool {
        self.exact.contains(path)
    }

    fn covers(&self, path: &[u8]) -> bool {
        self.has(path) || dirs_above(path).any(|dir| self.trees.contains(dir))
    }

    fn made_above(&self, path: &[u8]) -> bool {
        dirs_above(path).any(|dir| self.made.contains(dir))
    }
}

fn dirs_above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at])
}

impl Touched {
    /// Only what those touched who are meant; where it may have been somebody else as well, others touched it, too.
    pub(super) fn by<'a>(
        changes: impl Iterator<Item = &'a Change>,
        after: impl Iterator<Item = &'a Change>,
        is_meant: &dyn Fn(Option<Actor>) -> bool,
        is_unsure: &dyn Fn(Option<Actor>) -> bool,
    ) -> Touched {
        let (mut mine, mut others, mut later) = (Paths::default(), Paths::default(), Paths::default());
        after.filter(|change| !is_meant(change.change.by)).for_each(|change| later.add(&change.change));
        for change in changes {
            let meant = is_meant(change.change.by);
            if meant {
                mine.add(&change.change);
            }
            if !meant || is_unsure(change.change.by) {
                others.add(&change.change);
            }
        }
        Touched::Only { mine, others, later }
    }

    /// Everything but what only those touched who are outside.
    pub(super) fn but<'a>(
        changes: impl Iterator<Item = &'a Change>,
        is_outside: &dyn Fn(Option<Actor>) -> bool,
    ) -> Touched {
        let (others, mine) = sort(changes, is_outside);
        Touched::But { mine, others }
    }

    /// Whether the path is the step's.
    pub(super) fn is_meant(&self, path: &[u8]) -> bool {
        match self {
            Touched::All => true,
            Touched::But { mine, others } => mine.has(path) || !others.has(path),
            Touched::Only { mine, others, later } => {
                let is_later = mine.made_above(path) && later.has(path);
                mine.has(path) || (mine.covers(path) && !others.has(path) && !is_later)
            }
        }
    }

    /// Whether somebody else touched the path, too.
    pub(super) fn is_doubtful(&self, path: &[u8]) -> bool {
        match self {
            Touched::All => false,
            Touched::But { mine, others } | Touched::Only { mine, others, .. } => mine.covers(path) && others.has(path),
        }
    }
}

fn sort<'a>(changes: impl Iterator<Item = &'a Change>, first: &dyn Fn(Option<Actor>) -> bool) -> (Paths, Paths) {
    let mut paths = (Paths::default(), Paths::default());
    for change in changes {
        let side = if first(change.change.by) { &mut paths.0 } else { &mut paths.1 };
        side.add(&change.change);
    }
    paths
}

/// The files that those who are meant removed and did not make, but that others touched before: they may have come too
/// late for the snapshot before.
pub(super) fn removed<'a>(
    changes: impl Iterator<Item = &'a Change>,
    is_meant: &dyn Fn(Option<Actor>) -> bool,
) -> Vec<Vec<u8>> {
    let mut first_is_mine: BTreeMap<&[u8], bool> = BTreeMap::new();
    let mut removed = BTreeSet::new();
    for change in changes.filter(|change| !change.change.dir) {
        let (path, meant) = (change.change.path.bytes(), is_meant(change.change.by));
        let is_mine = *first_is_mine.entry(path).or_insert(meant);
        match change.change.action == Action::Deleted && meant && !is_mine {
            true => removed.insert(path.to_vec()),
            false => removed.remove(path),
        };
        if let Some(to) = &change.change.to {
            first_is_mine.entry(to.bytes()).or_insert(meant);
            removed.remove(to.bytes());
        }
    }
    removed.into_iter().collect()
}

/// The command and everything that descends from it, or that its process became.
pub(crate) fn family(commands: &[Command], number: u64) -> HashSet<u64> {
    let mut family = HashSet::from([number]);
    loop {
        let before = family.len();
        for command in commands {
            let (own, parent) = (command.exec.command, command.exec.parent);
            if own > number && parent.is_some_and(|parent| family.contains(&parent)) {
                family.insert(own);
            }
            if let Some(Ended::Replaced(next)) = command.ended.filter(|_| family.contains(&own)) {
                family.insert(next);
            }
        }
        if family.len() == before {
            return family;
        }
    }
}

#[cfg(test)]
mod tests {
    use belay_event::{At, Exec};

    use super::*;

    fn change(path: &str, dir: bool, action: Action, command: Option<u64>) -> Change {
        let by = Some(Actor { pid: Some(7), command, exact: true });
        let change = FileChange { action, path: path.into(), to: None, dir, size: None, by };
        Change { id: 1, seq: 1, at: At::from_unix_nanos(0), change }
    }

    fn command(number: u64, parent: Option<u64>, ended: Option<Ended>) -> Command {
        let exec = Exec {
            command: number,
            parent,
            pid: number as u32,
            ppid: 1,
            uid: 0,
            argv: Vec::new(),
            exe: "".into(),
            cwd: "".into(),
            cut: false,
        };
        Command { at: At::from_unix_nanos(0), seq: number, exec, ended, duration_ns: None }
    }

    #[test]
    fn a_family_is_children_grandchildren_and_successors() {
        let commands = [
            command(1, None, None),
            command(2, Some(1), Some(Ended::Replaced(4))),
            command(3, Some(1), None),
            command(4, Some(1), None),
            command(5, Some(4), None),
            command(6, Some(3), None),
        ];
        assert_eq!(family(&commands, 2), HashSet::from([2, 4, 5]));
        assert_eq!(family(&commands, 1).len(), 6);
        assert_eq!(family(&commands, 6), HashSet::from([6]));
    }

    #[test]
    fn what_two_touched_is_doubtful_and_what_others_made_is_theirs() {
        let changes = [
            change("a", false, Action::Modified, Some(2)),
            change("b", false, Action::Modified, Some(2)),
            change("b", false, Action::Modified, Some(3)),
            change("d", true, Action::Created, Some(2)),
            change("d/theirs", false, Action::Created, Some(3)),
            change("human", false, Action::Modified, None),
        ];
        let late = [change("d/late", false, Action::Created, Some(3)), change("a", false, Action::Modified, Some(3))];
        let is_meant = |by: Option<Actor>| by.and_then(|by| by.command) == Some(2);
        let unsure = Touched::by(changes.iter(), [].iter(), &is_meant, &|_| true);
        assert!(unsure.is_meant(b"a") && unsure.is_doubtful(b"a"));
        let touched = Touched::by(changes.iter(), late.iter(), &is_meant, &|_| false);
        for (path, meant, doubtful) in [
            ("a", true, false),
            ("b", true, true),
            ("d", true, false),
            ("d/inside", true, false),
            ("d/theirs", false, true),
            ("d/late", false, false),
            ("human", false, false),
            ("unknown", false, false),
        ] {
            let found = (touched.is_meant(path.as_bytes()), touched.is_doubtful(path.as_bytes()));
            assert_eq!(found, (meant, doubtful), "{path}");
        }
        let touched = Touched::but(changes.iter(), &|by| by.is_some_and(|by| by.command.is_none()));
        assert!(touched.is_meant(b"b") && touched.is_meant(b"unknown") && !touched.is_meant(b"human"));
    }
}
