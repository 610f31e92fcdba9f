//! What a run did, counted while it goes on; bounded, whatever the run does.

use std::collections::{BTreeSet, HashMap, HashSet};

use belay_event::{Action, Event, Raw, What};

use super::record::RunTotals;
use super::wire::{Beyond, Deed};

/// Commands that are remembered with their arguments.
const COMMANDS_MAX: usize = 4_096;
/// Paths that are told apart; beyond that they are counted as often as they change.
const PATHS_MAX: usize = 100_000;
/// Arguments of a command that are kept for the summary.
const ARGV_BYTES_MAX: usize = 512;
/// Odd, so that no two commands are the same after it.
const PAIR_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// Commands in the summary.
const DEEDS_MAX: usize = 10;

/// Counters of a run.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) totals: RunTotals,
    commands: HashMap<u64, Vec<Raw>>,
    changes: HashMap<Option<u64>, u64>,
    paths: HashSet<u64>,
    paths_more: u64,
    /// Who made a path that was not there when the run began.
    born: HashMap<u64, Option<u64>>,
    /// Paths that came and went: nothing of them is left to see, or to take back.
    passed: HashSet<u64>,
    /// Commands with a path each, so that a command's count is one of paths, too.
    pairs: HashSet<u64>,
    refused: BTreeSet<String>,
    /// Old and new names of what was renamed, with everything beneath it.
    moved: HashSet<u64>,
    /// What snapshots leave out.
    pub(super) left_out: Vec<Vec<u8>>,
    /// Paths that changed in there, each with the place of what it lies in.
    beyond: HashMap<u64, usize>,
}

impl Tally {
    pub(super) fn observe(&mut self, event: &Event) {
        match &event.what {
            What::Exec(exec) => {
                self.totals.commands += 1;
                if self.commands.len() < COMMANDS_MAX {
                    self.commands.insert(exec.command, cut(&exec.argv));
                }
            }
            What::Exit(exit) if exit.command > 1 && !self.changes.contains_key(&Some(exit.command)) => {
                // What changed nothing will not be in the summary; the first may be given what only the run as a whole did.
                self.commands.remove(&exit.command);
            }
            What::File(change) => {
                self.totals.changes += 1;
                let command = change.by.and_then(|by| by.command);
                let (path, to) = (short(change.path.bytes()), change.to.as_ref().map(|to| short(to.bytes())));
                let goes = matches!(change.action, Action::Deleted | Action::Renamed);
                let is_passing = goes && self.passes(path, command);
                self.come(change.action, to.unwrap_or(path), command);
                // A rename changes two paths: one comes, and one goes. What belay itself put back is nobody's deed.
                let is_deed = change.action != Action::Restored;
                for touched in (!is_passing).then_some(path).into_iter().chain(to).filter(|_| is_deed) {
                    let is_new = self.pairs.len() >= PATHS_MAX || self.pairs.insert(pair(touched, command));
                    if is_new && (self.changes.len() < COMMANDS_MAX || self.changes.contains_key(&command)) {
                        *self.changes.entry(command).or_default() += 1;
                    }
                }
                self.note_beyond(path, change.path.bytes(), !is_passing && is_deed);
                if let Some(to) = &change.to {
                    self.note_beyond(short(to.bytes()), to.bytes(), is_deed);
                }
                if let Some(to) = to.filter(|_| self.moved.len() < PATHS_MAX) {
                    self.moved.extend([path, to]);
                }
                for path in [Some(path), to].into_iter().flatten() {
                    if self.paths.len() < PATHS_MAX {
                        self.paths.insert(path);
                    } else if !self.paths.contains(&path) {
                        self.paths_more += 1;
                    }
                }
                self.totals.paths = Some(self.paths());
            }
            What::Snapshot(taken) if taken.snapshot.is_some() => self.totals.snapshots += 1,
            What::Denied(denied) if denied.path.is_none() && self.refused.len() < COMMANDS_MAX => {
                self.refused.insert(denied.call.clone());
            }
            What::Lost(lost) => match lost.count {
                Some(count) => self.totals.lost += count,
                None if lost.source == "exec" => self.totals.commands_unseen = true,
                None => self.totals.changes_unseen = true,
            },
            _ => {}
        }
    }

    /// Takes in that something is at a path now, and whether it is the first that anybody hears of it.
    fn come(&mut self, action: Action, path: u64, command: Option<u64>) {
        if action != Action::Deleted {
            self.passed.remove(&path);
        }
        if action == Action::Created && self.paths.len() < PATHS_MAX && !self.paths.contains(&path) {
            self.born.insert(path, command);
        }
    }

    /// Whether what goes from a path came there in this run, so that it counts as nobody's change.
    fn passes(&mut self, path: u64, command: Option<u64>) -> bool {
        let Some(maker) = self.born.get(&path).copied() else { return false };
        self.passed.insert(path);
        for command in BTreeSet::from([maker, command]) {
            if self.pairs.remove(&pair(path, command))
                && let Some(changes) = self.changes.get_mut(&command)
            {
                *changes -= 1;
                if *changes == 0 {
                    self.changes.remove(&command);
                }
            }
        }
        true
    }

    /// Counts a path that lies where snapshots do not reach, or no longer if it came and went.
    fn note_beyond(&mut self, path: u64, name: &[u8], counts: bool) {
        let holds =
            |left: &Vec<u8>| name.strip_prefix(&left[..]).is_some_and(|rest| rest.is_empty() || rest[0] == b'/');
        let Some(place) = self.left_out.iter().position(holds) else { return };
        if !counts {
            self.beyond.remove(&path);
        } else if self.beyond.len() < PATHS_MAX {
            self.beyond.insert(path, place);
        }
    }

    /// How many paths changed in each of those that snapshots leave out, the most first.
    pub(super) fn beyond(&self) -> Vec<Beyond> {
        let mut counts = vec![0; self.left_out.len()];
        self.beyond.values().for_each(|place| counts[*place] += 1);
        let changed = self.left_out.iter().zip(counts).filter(|(_, count)| *count > 0);
        let mut all: Vec<Beyond> =
            changed.map(|(path, changes)| Beyond { path: Raw::from(path.as_slice()), changes }).collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.changes));
        all.truncate(DEEDS_MAX);
        all
    }

    /// Whether an event told of the path, or moved a directory above it; true of all if there were too many to remember.
    pub(super) fn knows(&self, path: &[u8]) -> bool {
        if self.paths_more > 0 || self.moved.len() >= PATHS_MAX || self.paths.contains(&short(path)) {
            return true;
        }
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        ends.chain([path.len()]).any(|end| self.moved.contains(&short(&path[..end])))
    }

    /// The calls that were refused.
    pub(super) fn refused(&self) -> Vec<String> {
        self.refused.iter().cloned().collect()
    }

    /// How many different paths changed, without those that came and went.
    pub(super) fn paths(&self) -> u64 {
        (self.paths.len() - self.passed.len()) as u64 + self.paths_more
    }

    /// How many commands changed something, with those outside of the run counted as one.
    pub(super) fn doers(&self) -> u64 {
        self.changes.len() as u64
    }

    /// The commands that changed the most.
    pub(super) fn deeds(&self) -> Vec<Deed> {
        let mut deeds: Vec<Deed> = self
            .changes
            .iter()
            .map(|(command, changes)| Deed {
                command: *command,
                argv: command.and_then(|command| self.commands.get(&command).cloned()).unwrap_or_default(),
                changes: *changes,
            })
            .collect();
        deeds.sort_by_key(|deed| (std::cmp::Reverse(deed.changes), deed.command));
        deeds.truncate(DEEDS_MAX);
        deeds
    }
}

/// A command with a path.
fn pair(path: u64, command: Option<u64>) -> u64 {
    path ^ command.map_or(u64::MAX, |command| command.wrapping_mul(PAIR_FACTOR))
}

fn short(path: &[u8]) -> u64 {
    let hash = blake3::hash(path);
    u64::from_le_bytes(hash.as_bytes()[..8].try_into().expect("a hash has 32 bytes"))
}

/// The words of a command, as far as they are worth remembering.
pub(super) fn cut(argv: &[Raw]) -> Vec<Raw> {
    let mut room = ARGV_BYTES_MAX;
    let mut kept = Vec::new();
    for word in argv {
        let length = word.bytes().len().min(room);
        kept.push(Raw::from(&word.bytes()[..length]));
        room -= length;
        if room == 0 {
            break;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use belay_event::{Actor, At, Exec, FileChange};

    use super::*;

    fn event(what: What) -> Event {
        Event::new(At::from_unix_nanos(1), what)
    }

    fn change(path: &str, command: u64) -> Event {
        let by = Some(Actor { pid: None, command: Some(command), exact: true });
        event(What::File(FileChange {
            action: Action::Modified,
            path: path.into(),
            to: None,
            dir: false,
            size: None,
            by,
        }))
    }

    #[test]
    fn what_was_lost_uncounted_is_not_counted_as_one() {
        let mut tally = Tally::default();
        for (source, count) in [("exec", None), ("file", None), ("exec", Some(3))] {
            tally.observe(&event(What::Lost(belay_event::Lost { source: source.into(), count })));
        }
        let totals = tally.totals;
        assert_eq!((totals.lost, totals.commands_unseen, totals.changes_unseen), (3, true, true));
    }

    #[test]
    fn changes_are_counted_by_command_and_paths_once() {
        let mut tally = Tally::default();
        let argv = vec!["sh".into(), Raw::from(vec![b'x'; 2_000])];
        let (exe, cwd) = (Raw::default(), Raw::default());
        let exec = Exec { command: 1, parent: None, pid: 1, ppid: 0, uid: 0, argv, exe, cwd, cut: false };
        tally.observe(&event(What::Exec(exec)));
        [change("a", 1), change("a", 1), change("c", 1), change("b", 2)].iter().for_each(|event| tally.observe(event));
        assert_eq!((tally.totals.commands, tally.totals.changes, tally.paths()), (1, 4, 3));
        let deeds = tally.deeds();
        assert_eq!((deeds[0].command, deeds[0].changes, deeds[1].command), (Some(1), 2, Some(2)));
        assert_eq!(deeds[0].argv.iter().map(|word| word.bytes().len()).sum::<usize>(), ARGV_BYTES_MAX);
    }

    #[test]
    fn what_came_and_went_is_not_counted() {
        let mut tally = Tally::default();
        let mut add = |action, path: &str, to: Option<&str>, command| {
            let mut event = change(path, command);
            if let What::File(change) = &mut event.what {
                (change.action, change.to) = (action, to.map(Into::into));
            }
            tally.observe(&event);
        };
        // A lock, a file written beside another and renamed over it, and one that somebody else removes.
        add(Action::Created, "index.lock", None, 1);
        add(Action::Modified, "index.lock", None, 1);
        add(Action::Renamed, "index.lock", Some("index"), 1);
        add(Action::Created, "4913", None, 2);
        add(Action::Deleted, "4913", None, 2);
        add(Action::Created, "log", None, 3);
        add(Action::Deleted, "log", None, 1);
        // What was there before, or is there now, is a change.
        add(Action::Deleted, "old", None, 4);
        add(Action::Created, "back", None, 4);
        add(Action::Deleted, "back", None, 4);
        add(Action::Created, "back", None, 4);
        assert_eq!((tally.paths(), tally.doers()), (3, 2), "index, old and back");
        let deeds = tally.deeds();
        assert_eq!((deeds[0].command, deeds[0].changes), (Some(4), 2));
        assert_eq!((deeds[1].command, deeds[1].changes), (Some(1), 1));
        assert!(tally.knows(b"4913"));
    }

    #[test]
    fn what_is_renamed_onto_another_is_told_with_what_it_was() {
        let mut tally = Tally::default();
        for number in 0..50 {
            let mut renamed = change(&number.to_string(), 1);
            if let What::File(change) = &mut renamed.what {
                (change.action, change.to) = (Action::Renamed, Some("victim".into()));
            }
            tally.observe(&renamed);
        }
        assert_eq!((tally.paths(), tally.deeds()[0].changes), (51, 51));
    }

    #[test]
    fn what_changes_where_no_snapshot_reaches_is_counted_by_itself() {
        let mut tally = Tally { left_out: vec![b"node_modules".to_vec(), b"web/dist".to_vec()], ..Tally::default() };
        for path in ["node_modules/a", "node_modules/a", "node_modules/b/c", "web/dist", "web/distant", "src"] {
            tally.observe(&change(path, 1));
        }
        for action in [Action::Created, Action::Deleted] {
            let mut passing = change("node_modules/.lock", 1);
            if let What::File(change) = &mut passing.what {
                change.action = action;
            }
            tally.observe(&passing);
        }
        let beyond: Vec<_> = tally.beyond().into_iter().map(|one| (one.path.bytes().to_vec(), one.changes)).collect();
        assert_eq!(beyond, [(b"node_modules".to_vec(), 2), (b"web/dist".to_vec(), 1)]);
    }

    #[test]
    fn what_is_put_back_is_nobodys_deed() {
        let mut tally = Tally::default();
        tally.observe(&change("a", 1));
        let mut back = change("a", 1);
        if let What::File(change) = &mut back.what {
            (change.action, change.by) = (Action::Restored, None);
        }
        tally.observe(&back);
        assert_eq!((tally.doers(), tally.paths(), tally.totals.changes), (1, 1, 2));
    }

    #[test]
    fn a_storm_of_paths_does_not_fill_the_memory() {
        let mut tally = Tally::default();
        (0..PATHS_MAX + 500).for_each(|number| tally.observe(&change(&number.to_string(), 1)));
        assert_eq!((tally.paths(), tally.paths.len()), (PATHS_MAX as u64 + 500, PATHS_MAX));
    }
}
