//! Who touched which paths between two snapshots, as the record of a run tells.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use belay_event::{Action, Actor, At, Ended, FileChange, Raw};
use belay_journal::{Change, Command};

/// Something that was done to a path while a step went on or since.
#[derive(Clone, Debug)]
pub(super) struct Deed {
    pub(super) at: At,
    pub(super) change: FileChange,
    /// Whether the step did it.
    pub(super) mine: bool,
    /// Whether somebody else did it, or may have.
    pub(super) others: bool,
    /// Whether the step may have removed it, and nobody knows.
    pub(super) vanished: bool,
    /// Whether the step was over by then.
    pub(super) late: bool,
    /// Whether a move was taken back, as what is there now shows.
    pub(super) is_return: bool,
}

impl Deed {
    /// Something that the step did and that no event tells by itself.
    pub(super) fn own(action: Action, path: Vec<u8>, dir: bool) -> Deed {
        let change = FileChange { action, path: Raw::from(path), to: None, dir, size: None, by: None };
        let at = At::from_unix_nanos(0);
        Deed { at, change, mine: true, others: false, vanished: false, late: false, is_return: false }
    }

    /// Something that a later run did, whose commands have other numbers than those of this one.
    pub(super) fn since(told: Change, nth: u64) -> Deed {
        let Change { at, mut change, .. } = told;
        if let Some(number) = change.by.as_mut().and_then(|by| by.command.as_mut()) {
            *number |= nth << 32;
        }
        Deed { at, change, mine: false, others: true, vanished: false, late: true, is_return: false }
    }

    /// Something that was moved and is where it was again.
    pub(super) fn back(from: Vec<u8>, to: Vec<u8>, dir: bool) -> Deed {
        let (path, to) = (Raw::from(from), Some(Raw::from(to)));
        let change = FileChange { action: Action::Renamed, path, to, dir, size: None, by: None };
        let at = At::from_unix_nanos(i128::from(i64::MAX));
        Deed { at, change, mine: false, others: true, vanished: false, late: true, is_return: true }
    }

    pub(super) fn command(&self) -> Option<u64> {
        self.change.by.and_then(|by| by.command)
    }
}

/// The paths of a step.
pub(super) enum Touched {
    /// Everything that differs.
    All,
    /// What the record of a run gives to it.
    Told(Box<Told>),
}

/// Who touched what.
#[derive(Default)]
pub(super) struct Told {
    /// What the step touched.
    mine: Paths,
    /// What others touched.
    others: Paths,
    /// What others touched when the step was over; the kernel may tell late of what a snapshot holds already.
    later: Paths,
    /// Whether what nobody is known to have touched is the step's as well.
    has_rest: bool,
}

/// Paths, and directories that stand for everything beneath them.
#[derive(Default)]
pub(super) struct Paths {
    exact: HashSet<Vec<u8>>,
    trees: HashSet<Vec<u8>>,
    /// What was made; a directory was empty then.
    made: HashSet<Vec<u8>>,
    /// What was moved by its new names, and by its old ones.
    came_from: HashMap<Vec<u8>, Vec<u8>>,
    went_to: HashMap<Vec<u8>, Vec<u8>>,
    /// What was not only removed.
    written: HashSet<Vec<u8>>,
    /// Files that were changed themselves, and not only their names.
    filled: HashSet<Vec<u8>>,
}

impl Paths {
    fn add(&mut self, change: &FileChange) {
        for path in [Some(&change.path), change.to.as_ref()].into_iter().flatten().map(Raw::bytes) {
            // What lay in a directory that came, went or moved as a whole is not reported one by one.
            if change.dir && change.action != Action::Modified {
                self.trees.insert(path.to_vec());
            }
            if change.action == Action::Created {
                self.made.insert(path.to_vec());
            }
            if change.action != Action::Deleted {
                self.written.insert(path.to_vec());
            }
            if !change.dir && !matches!(change.action, Action::Deleted | Action::Renamed) {
                self.filled.insert(path.to_vec());
            }
            self.exact.insert(path.to_vec());
        }
        if let Some(to) = &change.to {
            self.came_from.insert(to.bytes().to_vec(), change.path.bytes().to_vec());
            self.went_to.insert(change.path.bytes().to_vec(), to.bytes().to_vec());
        }
    }

    /// Has what was done to a file by one of its names be done by all of them.
    fn join(&mut self, names: &[Vec<u8>]) {
        if names.iter().any(|name| self.filled.contains(name)) {
            self.exact.extend(names.iter().cloned());
            self.written.extend(names.iter().cloned());
        }
    }

    fn has(&self, path: &[u8]) -> bool {
        self.exact.contains(path)
    }

    /// How many directories the path lies beneath the nearest thing that was touched with all that is in it.
    fn distance(&self, path: &[u8]) -> Option<usize> {
        self.steps_to(path, &|dir| self.trees.contains(dir))
    }

    /// The same, but for directories that were only removed: they were empty by then.
    fn distance_of_written(&self, path: &[u8]) -> Option<usize> {
        self.steps_to(path, &|dir| self.trees.contains(dir) && self.written.contains(dir))
    }

    fn steps_to(&self, path: &[u8], is_tree: &dyn Fn(&[u8]) -> bool) -> Option<usize> {
        let above: Vec<&[u8]> = dirs_above(path).collect();
        match self.has(path) {
            true => Some(0),
            false => above.into_iter().rev().position(is_tree).map(|above| above + 1),
        }
    }

    fn made_above(&self, path: &[u8]) -> bool {
        dirs_above(path).any(|dir| self.trees.contains(dir) && self.made.contains(dir))
    }

    fn moved_above(&self, path: &[u8]) -> bool {
        dirs_above(path).any(|dir| self.came_from.contains_key(dir) || self.went_to.contains_key(dir))
    }

    /// Whether the path was made, or is that of a directory that was moved there: nothing else was in its place.
    fn brought(&self, path: &[u8]) -> bool {
        self.made.contains(path) || (self.trees.contains(path) && self.came_from.contains_key(path))
    }

    /// The path, and what it was called before and after it or a directory above it was moved.
    fn names_of(&self, path: &[u8]) -> Vec<Vec<u8>> {
        let others = other_names(&self.came_from, path).chain(other_names(&self.went_to, path));
        std::iter::once(path.to_vec()).chain(others).collect()
    }
}

fn other_names<'a>(moves: &'a HashMap<Vec<u8>, Vec<u8>>, path: &'a [u8]) -> impl Iterator<Item = Vec<u8>> + 'a {
    let parts = dirs_above(path).chain([path]);
    parts.filter_map(|part| moves.get(part).map(|other| [other, &path[part.len()..]].concat()))
}

/// Whether what the first moved is what the second had moved to where it was, or moved on from where it came to be: no
/// snapshot has it there.
fn is_passed_on(mine: &Paths, others: &Paths, path: &[u8]) -> bool {
    let is_moved = |moves: &HashMap<Vec<u8>, Vec<u8>>, name: &[u8]| other_names(moves, name).next().is_some();
    other_names(&mine.came_from, path).any(|origin| is_moved(&others.came_from, &origin))
        || other_names(&mine.went_to, path).any(|end| is_moved(&others.went_to, &end))
}

/// How near others come to a path, by whatever name: what the step moved they may have met in its new place.
fn nearest(others: &Paths, mine: &Paths, path: &[u8]) -> Option<usize> {
    mine.names_of(path).iter().filter_map(|name| others.distance_of_written(name)).min()
}

fn dirs_above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at])
}

impl Touched {
    /// What the step touched and others did not; with `has_rest` also what nobody is known to have touched.
    pub(super) fn by(deeds: &[Deed], has_rest: bool) -> Touched {
        let mut told = Told { has_rest, ..Told::default() };
        for deed in deeds {
            match deed.late {
                true if !deed.mine => told.later.add(&deed.change),
                true => {}
                false => {
                    [(deed.mine, &mut told.mine), (deed.others, &mut told.others)]
                        .into_iter()
                        .filter(|(has, _)| *has)
                        .for_each(|(_, paths)| paths.add(&deed.change));
                }
            }
        }
        Touched::Told(Box::new(told))
    }

    /// Has whoever touched a file by one of its names have touched all of them.
    pub(super) fn join(&mut self, names: &[Vec<u8>]) {
        let Touched::Told(told) = self else { return };
        [&mut told.mine, &mut told.others, &mut told.later].into_iter().for_each(|paths| paths.join(names));
    }

    /// Whether the path is the step's: nobody else came nearer to it.
    pub(super) fn is_meant(&self, path: &[u8]) -> bool {
        let Touched::Told(told) = self else { return true };
        let Told { mine, others, later, has_rest } = &**told;
        let later = Some(later).filter(|_| mine.made_above(path));
        let theirs = [Some(others), later].into_iter().flatten().filter_map(|paths| nearest(paths, mine, path)).min();
        match (mine.distance(path), theirs) {
            (Some(own), Some(theirs)) => own <= theirs,
            (own, theirs) => own.is_some() || (*has_rest && theirs.is_none()),
        }
    }

    /// Whether somebody else touched the path, too.
    pub(super) fn is_doubtful(&self, path: &[u8]) -> bool {
        let Touched::Told(told) = self else { return false };
        let Told { mine, others, .. } = &**told;
        let Some(own) = mine.distance(path) else { return false };
        let is_near = nearest(others, mine, path).is_some_and(|theirs| theirs <= own);
        // What others moved here the step did not bring, whatever it did to it.
        let is_of_others = mine.has(path) && !mine.brought(path) && others.moved_above(path);
        // What everybody only removed is as it was before, whoever removed it.
        let is_written = [mine, others].iter().any(|paths| paths.written.contains(path) || paths.moved_above(path));
        is_written && (is_near || is_of_others || is_passed_on(mine, others, path))
    }
}

/// The files that the step removed and did not make, but that others touched before: they may have come too late for the
/// snapshot before.
pub(super) fn removed(deeds: &[Deed]) -> Vec<Vec<u8>> {
    let mut first_is_mine: BTreeMap<&[u8], bool> = BTreeMap::new();
    let mut removed = BTreeSet::new();
    for deed in deeds.iter().filter(|deed| !deed.change.dir && !deed.late) {
        let (path, mine) = (deed.change.path.bytes(), deed.mine);
        let is_mine = *first_is_mine.entry(path).or_insert(mine);
        match deed.change.action == Action::Deleted && mine && !is_mine {
            true => removed.insert(path.to_vec()),
            false => removed.remove(path),
        };
        if let Some(to) = &deed.change.to {
            first_is_mine.entry(to.bytes()).or_insert(mine);
            removed.remove(to.bytes());
        }
    }
    removed.into_iter().collect()
}

/// How much later than it happened a removal may be told of.
pub(super) const LATE_NANOS: i128 = 2_000_000;

/// What the kernel gave to nobody.
pub(super) fn is_unknown(by: Option<Actor>) -> bool {
    by.is_none_or(|by| by.command.is_none() && by.pid.is_none())
}

/// The time in which a command and everything that it started can have done something.
pub(super) struct Lifetime<'a> {
    family: &'a HashSet<u64>,
    /// When it began, and when the last of it ended; none if it has not.
    span: (At, Option<At>),
    /// When those were there who neither belong to it nor started it.
    strangers: Vec<(At, Option<At>)>,
    /// The directories that it removed.
    gone: HashSet<&'a [u8]>,
}

impl<'a> Lifetime<'a> {
    pub(super) fn of(commands: &[Command], number: u64, family: &'a HashSet<u64>, changes: &'a [Change]) -> Self {
        let numbered = |number: u64| commands.iter().find(|command| command.exec.command == number);
        let above = |command: &u64| numbered(*command).and_then(|command| command.exec.parent);
        let ancestors: HashSet<u64> = std::iter::successors(above(&number), above).take(commands.len()).collect();
        let others = commands
            .iter()
            .filter(|command| !family.contains(&command.exec.command) && !ancestors.contains(&command.exec.command));
        let own = || family.iter().filter_map(|number| numbered(*number)).map(span);
        let begun = own().map(|(begun, _)| begun).min().unwrap_or(At::from_unix_nanos(0));
        let ended = own().map(|(_, ended)| ended).try_fold(begun, |last, ended| ended.map(|ended| last.max(ended)));
        let gone = changes.iter().map(|change| &change.change).filter(|change| {
            let is_own = change.by.and_then(|by| by.command).is_some_and(|by| family.contains(&by));
            is_own && change.dir && change.action == Action::Deleted
        });
        let gone = gone.map(|change| change.path.bytes()).collect();
        Lifetime { family, span: (begun, ended), strangers: others.map(span).collect(), gone }
    }

    /// Whether the change is the family's: it is known to be, or it is a removal that can hardly be anybody else's. It lies
    /// in a directory that the family removed, or nobody was there but the family and those who wait for it.
    pub(super) fn has_made(&self, change: &Change) -> bool {
        if let Some(by) = change.change.by.and_then(|by| by.command) {
            return self.family.contains(&by);
        }
        let is_beneath = || dirs_above(change.change.path.bytes()).any(|dir| self.gone.contains(dir));
        let is_alone = || !self.strangers.iter().any(|span| is_within(change.at, span));
        self.may_have_removed(change) && (is_beneath() || is_alone())
    }

    /// Whether the change is a removal of which nobody knows whose it is, and that happened meanwhile.
    pub(super) fn may_have_removed(&self, change: &Change) -> bool {
        let is_removal = change.change.action == Action::Deleted && is_unknown(change.change.by);
        is_removal && is_within(change.at, &self.span)
    }
}

fn span(command: &Command) -> (At, Option<At>) {
    let ended = |nanos| At::from_unix_nanos(command.at.unix_nanos() + i128::from(nanos) + LATE_NANOS);
    (command.at, command.duration_ns.map(ended))
}

fn is_within(at: At, span: &(At, Option<At>)) -> bool {
    span.0 <= at && span.1.is_none_or(|ended: At| at <= ended)
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
    use belay_event::Exec;

    use super::*;

    fn deed(path: &str, dir: bool, action: Action, command: Option<u64>) -> Deed {
        let by = Some(Actor { pid: Some(7), command, exact: true });
        let change = FileChange { action, path: path.into(), to: None, dir, size: None, by };
        let mine = command == Some(2);
        Deed { at: At::from_unix_nanos(0), change, mine, others: !mine, vanished: false, late: false, is_return: false }
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
        let deeds = [
            deed("a", false, Action::Modified, Some(2)),
            deed("b", false, Action::Modified, Some(2)),
            deed("b", false, Action::Modified, Some(3)),
            deed("d", true, Action::Created, Some(2)),
            deed("d/theirs", false, Action::Created, Some(3)),
            deed("human", false, Action::Modified, None),
        ];
        let late = [deed("d/late", false, Action::Created, Some(3)), deed("a", false, Action::Modified, Some(3))];
        let late = late.map(|deed| Deed { late: true, ..deed });
        let unsure: Vec<Deed> = deeds.iter().cloned().map(|deed| Deed { others: true, ..deed }).collect();
        let unsure = Touched::by(&unsure, false);
        assert!(unsure.is_meant(b"a") && unsure.is_doubtful(b"a"));
        let touched = Touched::by(&[&deeds[..], &late].concat(), false);
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
        let outside = deeds.map(|deed| {
            let others = deed.command().is_none();
            Deed { mine: !others, others, ..deed }
        });
        let touched = Touched::by(&outside, true);
        assert!(touched.is_meant(b"b") && touched.is_meant(b"unknown") && !touched.is_meant(b"human"));
    }
}
