//! A storm of deletions: noticed by what a snapshot holds and is gone, held, and decided.
//!
//! Invariants: only paths count that a snapshot from before holds, so that build tools that clean up after themselves
//! are no storm and everything that counts can be brought back; what was moved first counts when it is removed, and what
//! another file of the snapshot was moved onto counts at once; an undo also takes back what the storm moved and had not
//! deleted yet, and leaves alone what the run made; while somebody decides, nothing of the run moves.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use belay_event::{At, Decision, Event, Raw, Storm, What};
use belay_store::{Entry, Kind as EntryKind};
use belay_sys::Stat;

use super::Wake;
use super::agent::{self, AgentAnswer, AgentCall};
use super::moves::{Eyes, Moves};
use super::supervisor::{Supervisor, TICK};
use super::wire::Answer;
use crate::config::Settings;
use crate::error::Result;
use crate::present::Tree;
use crate::record::{Kind, Snapshot};
use crate::trigger::Ask;

/// Why a run was stopped.
pub(super) const STOPPED: &str = "delete storm";
/// Stands for us among those who hold the run still; clients are counted from 1.
const HOLDER: u64 = 0;
/// Paths of one call; more are brought back by several.
const PATHS_MAX: usize = 2_000;
/// Directories that are remembered because something was deleted there.
const EMPTIED_MAX: usize = 10_000;
/// Deletions that are remembered at most.
const RECENT_MAX: usize = 1_000_000;

/// Deletions of the last seconds.
pub(super) struct Deletions {
    count: usize,
    window: Duration,
    answer: Unattended,
    recent: VecDeque<Deletion>,
    /// Directories from which something was deleted lately that no snapshot holds, under the name that it had by then.
    emptied: HashSet<Vec<u8>>,
    moves: Moves,
    /// How many of the recent ones were not yet looked at.
    unknown: usize,
    /// The command that deleted the last of them.
    by: Option<u64>,
    /// Commands whose deletions were let pass; `None` stands for any, until the next command ends.
    passed: HashSet<Option<u64>>,
    /// The processes of commands that live, and since when.
    pids: HashMap<u64, (u32, At)>,
    /// The storm that is held.
    held: Option<Held>,
}

/// What to do about a storm.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unattended {
    Note,
    Ask,
    Undo,
}

struct Deletion {
    at: At,
    path: Vec<u8>,
    /// Where it was by then.
    place: Vec<u8>,
    command: Option<u64>,
}

pub(super) struct Held {
    storm: Storm,
    paths: Vec<Vec<u8>>,
    /// The processes that may delete.
    deleters: Vec<u32>,
    /// What is being done about it.
    decided: Option<Decision>,
}

impl Held {
    pub(super) fn new(storm: Storm, paths: Vec<Vec<u8>>, deleters: Vec<u32>) -> Held {
        Held { storm, paths, deleters, decided: None }
    }
}

impl Deletions {
    pub(super) fn new(settings: &Settings) -> Deletions {
        let answer = match settings.choice("isolation.delete_storm.action") {
            "undo" => Unattended::Undo,
            "note" => Unattended::Note,
            _ => Unattended::Ask,
        };
        Deletions {
            count: usize::try_from(settings.number("isolation.delete_storm.count")).unwrap_or(usize::MAX),
            window: Duration::from_secs(settings.number("isolation.delete_storm.window_seconds")),
            answer,
            recent: VecDeque::new(),
            emptied: HashSet::new(),
            moves: Moves::default(),
            unknown: 0,
            by: None,
            passed: HashSet::new(),
            pids: HashMap::new(),
            held: None,
        }
    }

    /// Takes an event in.
    pub(super) fn observe(&mut self, event: &Event) {
        let change = match &event.what {
            What::File(change) => change,
            What::Exec(exec) => {
                self.pids.insert(exec.command, (exec.pid, event.at));
                return;
            }
            What::Exit(exit) => {
                self.passed.remove(&None);
                self.pids.remove(&exit.command);
                return;
            }
            _ => return,
        };
        if self.count == 0 {
            return;
        }
        let lost = self.moves.observe(event.at, change);
        let command = change.by.and_then(|by| by.command);
        if lost.is_empty() || self.recent.len() >= RECENT_MAX || self.passed.contains(&command) {
            return;
        }
        self.unknown += lost.len();
        let place = change.path.bytes();
        let deletion = |path| Deletion { at: event.at, path, place: place.to_vec(), command };
        self.recent.extend(lost.into_iter().map(|lost| deletion(lost.path)));
        let age = |one: &Deletion| event.at.unix_nanos() - one.at.unix_nanos();
        while self.held.is_none() && self.recent.front().is_some_and(|one| age(one) > self.window.as_nanos() as i128) {
            self.recent.pop_front();
        }
        self.unknown = self.unknown.min(self.recent.len());
    }

    /// The process that deletes; where nobody can tell, those that began when it did.
    fn deleters(&self) -> Vec<u32> {
        self.recent.front().map_or_else(Vec::new, |first| self.began_since(first.at, self.by))
    }

    /// The process of a command, or those that began about then.
    pub(super) fn began_since(&self, first: At, by: Option<u64>) -> Vec<u32> {
        let since = first.unix_nanos().saturating_sub(self.window.as_nanos() as i128);
        let is_suspect = |command: u64, began: At| match by {
            Some(by) => command == by,
            None => began.unix_nanos() >= since,
        };
        self.pids
            .iter()
            .filter(|(command, (_, began))| is_suspect(**command, *began))
            .map(|(_, (pid, _))| *pid)
            .collect()
    }

    /// Whether a storm is held.
    pub(super) fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    /// Whether storms are held at all.
    pub(super) fn holds(&self) -> bool {
        self.answer != Unattended::Note
    }

    /// Holds one.
    pub(super) fn hold(&mut self, held: Held) {
        self.held = Some(held);
    }

    /// Whether there are so many that it is worth a look what they are.
    fn is_ripe(&self) -> bool {
        self.count > 0
            && self.held.is_none()
            && self.unknown >= self.count.div_ceil(4)
            && self.recent.len() >= self.count
    }

    /// Forgets what nobody would miss, and what is there twice.
    fn keep(&mut self, is_missed: impl Fn(&[u8]) -> bool) {
        let mut seen = HashSet::new();
        if self.emptied.len() >= EMPTIED_MAX {
            self.emptied.clear();
        }
        let emptied = self.recent.iter().filter(|one| !is_missed(&one.path)).map(|one| split(&one.place).0);
        self.emptied.extend(emptied.filter(|above| !above.is_empty()).take(EMPTIED_MAX).map(<[u8]>::to_vec));
        self.recent.retain(|one| is_missed(&one.path) && seen.insert(one.path.clone()));
        self.unknown = 0;
    }
}

impl Supervisor<'_> {
    /// Looks whether there is a storm; if so, holds the run or writes it down.
    pub(super) fn watch_deletions(&mut self) {
        if !self.deletions.is_ripe() || self.record.confinement.ephemeral {
            return;
        }
        let Some((snapshot, _)) = self.look_at_deletions() else { return };
        if self.deletions.recent.len() < self.deletions.count {
            return;
        }
        // What was deleted until nothing moves any more counts, too.
        let is_held = self.deletions.answer != Unattended::Note && self.hold_storm();
        let mut misplaced = self.look_at_deletions().map(|(_, misplaced)| misplaced).unwrap_or_default();
        if self.deletions.recent.len() < self.deletions.count {
            // Without root a file may be seen to leave before it is seen to arrive: these were moved.
            return self.go_on();
        }
        misplaced.extend(self.moved_in_storm(&snapshot).unwrap_or_default());
        let deleters = self.deletions.deleters();
        let mut paths: Vec<Vec<u8>> = self.deletions.recent.drain(..).map(|one| one.path).collect();
        let deleted = paths.len() as u64;
        // What lies where something comes back goes back to its own place.
        paths.extend(misplaced);
        let decision = if is_held { Decision::Held } else { Decision::Noted };
        let command = self.deletions.by;
        let storm = Storm { deleted, snapshot: snapshot.id, command, decision, outside: None };
        self.happened(vec![self.event(What::Storm(storm.clone()))]);
        self.control.tell_all(&Answer::Storm(storm.clone()));
        // Whatever is decided, what is left at this moment can be come back to.
        self.captures.ask(Ask::new(Kind::Auto, command, "many paths were deleted at once"));
        if !is_held {
            self.deletions.passed.insert(command);
            return;
        }
        self.deletions.hold(Held::new(storm, paths, deleters));
        self.without_a_person();
    }

    /// Somebody who comes while a storm is held is asked, too.
    pub(super) fn tell_of_storm(&self, client: u64) {
        if let Some(held) = self.deletions.held.as_ref().filter(|held| held.decided.is_none()) {
            self.control.answer(client, &Answer::Storm(held.storm.clone()));
        }
    }

    /// If nobody is there to be asked, the settings decide.
    pub(super) fn without_a_person(&mut self) {
        let is_open = self.deletions.held.as_ref().is_some_and(|held| held.decided.is_none());
        if is_open && (self.deletions.answer == Unattended::Undo || !self.control.is_watched()) {
            self.decide_by_settings();
        }
    }

    fn decide_by_settings(&mut self) {
        let undo = self.deletions.answer == Unattended::Undo;
        self.decide(if undo { Decision::Stopped } else { Decision::Noted });
    }

    /// Decides a storm that ended with its command: what was deleted last is known only now, and whoever started the run
    /// finds it back when it has ended.
    pub(super) fn settle_storms(&mut self) {
        self.catch_up();
        self.watch_deletions();
        self.watch_outside();
        while self.deletions.is_holding() {
            // Whoever stops a run is not asked.
            if self.record.because.is_some() || self.stop.swap(false, Ordering::SeqCst) {
                self.decide_by_settings();
            }
            match self.inbox.recv_timeout(TICK) {
                Ok(wake) => self.wake(wake),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Keeps of the deletions those that a snapshot from before them holds; none if there is no such snapshot. With it comes
    /// what of the snapshot lies in the place of something that is gone.
    fn look_at_deletions(&mut self) -> Option<(Snapshot, Vec<Vec<u8>>)> {
        let first = self.deletions.recent.front()?.at;
        let snapshot = self.snapshot_before(first).ok().flatten();
        let Some(snapshot) = snapshot else {
            self.deletions.keep(|_| false);
            return None;
        };
        let missed = self.missed(&snapshot).unwrap_or_default();
        self.deletions.keep(|path| missed.contains_key(path));
        self.deletions.by = self.deletions.recent.back().and_then(|last| last.command);
        Some((snapshot, missed.into_values().flatten().collect()))
    }

    fn snapshot_before(&self, at: At) -> Result<Option<Snapshot>> {
        let timeline = self.workspace.timeline()?;
        let is_before = |snapshot: &&Snapshot| At::from(snapshot.created_at) <= at;
        Ok(timeline.snapshots().iter().rev().find(is_before).cloned())
    }

    /// What the storm moved and did not delete: what it was before, and where it is, with directories that were made for it.
    fn moved_in_storm(&self, snapshot: &Snapshot) -> Result<Vec<Vec<u8>>> {
        let tree = self.workspace.tree(snapshot)?;
        let (was_there, is_there) = (|path: &[u8]| self.was_there(&tree, path), |path: &[u8]| self.is_there(path));
        let eyes = Eyes { was_there: &was_there, is_there: &is_there };
        let deletions = &self.deletions;
        let Some(first) = deletions.recent.front() else { return Ok(Vec::new()) };
        let since = first.at.unix_nanos().saturating_sub(deletions.window.as_nanos() as i128);
        let commands: HashSet<u64> = deletions.recent.iter().filter_map(|one| one.command).collect();
        let is_meant = |at: At, command: Option<u64>| {
            at.unix_nanos() >= since || command.is_some_and(|command| commands.contains(&command))
        };
        let moved = deletions.moves.elsewhere(&eyes, is_meant);
        let places = moved.iter().map(|(place, _)| place).chain(deletions.recent.iter().map(|one| &one.place));
        let places: HashSet<&Vec<u8>> = places.chain(&deletions.emptied).collect();
        let tops: HashSet<&[u8]> = places.iter().filter_map(|place| topmost_new(place, &was_there)).collect();
        // Without root the first moves into a new directory may go unseen; what lies there is as old as what is lost.
        let lost = deletions.recent.iter().filter_map(|one| self.workspace.entry(&tree, &one.path).ok().flatten());
        let lost: HashSet<Look> = lost.filter_map(|entry| look_of_entry(&entry)).collect();
        let mut paths = Vec::new();
        let emptied = places.iter().flat_map(|place| directories_to(place)).collect();
        let signs = Signs { eyes: &eyes, lost: &lost, emptied: &emptied };
        for top in tops {
            self.strays(top, &signs, &mut paths);
        }
        for (place, name) in moved {
            paths.extend(was_there(&place).then_some(place));
            paths.push(name);
        }
        Ok(paths)
    }

    /// The topmost paths in which everything was moved there, with where it was before; whether that is all of it.
    fn strays(&self, path: &[u8], signs: &Signs<'_>, strays: &mut Vec<Vec<u8>>) -> bool {
        let mut inside = Vec::new();
        let listed = self
            .workspace
            .root()
            .dir(path)
            .and_then(|dir| dir.list(&mut Vec::new(), &mut |name, _, _| inside.push([path, b"/", name].concat())));
        let is_stray = match listed {
            Ok(()) => {
                // An empty directory is one only if it was moved itself, or something was moved or deleted from there.
                let is_moved = || self.deletions.moves.moved_from(path, signs.eyes).is_some();
                let mut is_all = !inside.is_empty() || signs.emptied.contains(path) || is_moved();
                for path in &inside {
                    is_all &= self.strays(path, signs, strays);
                }
                is_all
            }
            Err(_) => {
                let name = self.deletions.moves.moved_from(path, signs.eyes);
                let found = self.stat(path);
                let is_stray = found.is_some_and(|found| name.is_some() || signs.lost.contains(&look_of(&found)));
                strays.extend(name);
                is_stray
            }
        };
        strays.extend(is_stray.then(|| path.to_vec()));
        is_stray
    }

    fn is_there(&self, path: &[u8]) -> bool {
        self.stat(path).is_some()
    }

    fn stat(&self, path: &[u8]) -> Option<Stat> {
        let (parent, name) = split(path);
        self.workspace.root().dir_path_only(parent).and_then(|dir| dir.stat(name)).ok()
    }

    /// What the store cannot tell is not counted; `belay verify` says why.
    fn was_there(&self, tree: &Tree, path: &[u8]) -> bool {
        self.workspace.entry(tree, path).is_ok_and(|entry| entry.is_some())
    }

    /// The paths that the snapshot holds and that are gone, with what of it is there instead.
    fn missed(&self, snapshot: &Snapshot) -> Result<HashMap<Vec<u8>, Option<Vec<u8>>>> {
        let tree = self.workspace.tree(snapshot)?;
        let (was_there, is_there) = (|path: &[u8]| self.was_there(&tree, path), |path: &[u8]| self.is_there(path));
        let eyes = Eyes { was_there: &was_there, is_there: &is_there };
        let mut parents: HashMap<&[u8], bool> = HashMap::new();
        let mut missed = HashMap::new();
        for one in &self.deletions.recent {
            let (parent, _) = split(&one.path);
            let is_known = *parents.entry(parent).or_insert_with(|| parent.is_empty() || was_there(parent));
            if is_known
                && !missed.contains_key(&one.path)
                && was_there(&one.path)
                && let Some(instead) = self.deletions.moves.gone(&one.path, &eyes)
            {
                missed.insert(one.path.clone(), instead);
            }
        }
        Ok(missed)
    }

    /// Carries out what was decided about the storm that is held.
    pub(super) fn decide(&mut self, decision: Decision) {
        let Some(held) = self.deletions.held.as_mut().filter(|held| held.decided.is_none()) else { return };
        match (decision, self.answerer) {
            (Decision::Undone | Decision::Stopped, Some(answerer)) => {
                held.decided = Some(decision);
                let paths = topmost(std::mem::take(&mut held.paths));
                let snapshot = held.storm.snapshot.clone();
                let (run, root) = (self.record.id.clone(), self.record.root.clone());
                let (helpers, wakes) = (self.helpers.clone(), self.wakes.clone());
                let undo = move || {
                    let calls = paths.chunks(PATHS_MAX).map(|paths| take_back(&snapshot, &root, paths));
                    let failed = calls
                        .map(|call| agent::carry_out(answerer(&run, &call), &helpers))
                        .find_map(|done| failure(done.as_ref()));
                    let _ = wakes.send(Wake::Undone(failed));
                };
                // Without a thread there is nobody to undo it; the run is let go, and that is said.
                if std::thread::Builder::new().name("undo".into()).spawn(undo).is_err() {
                    self.undone(Some("no thread can be started".into()));
                }
            }
            _ => self.let_go(decision),
        }
    }

    /// What was deleted is back, or not.
    pub(super) fn undone(&mut self, failed: Option<String>) {
        let Some(decision) = self.deletions.held.as_ref().and_then(|held| held.decided) else { return };
        if let Some(why) = failed {
            let degraded = belay_event::Degraded { layer: "snapshots".into(), why: format!("not all is back: {why}") };
            self.happened(vec![self.event(What::Degraded(degraded))]);
        }
        self.let_go(decision);
    }

    fn let_go(&mut self, decision: Decision) {
        let Some(held) = self.deletions.held.take() else { return };
        let storm = Storm { decision, ..held.storm };
        let (command, is_outside) = (storm.command, storm.outside.is_some());
        self.happened(vec![self.event(What::Storm(storm.clone()))]);
        self.control.tell_all(&Answer::Storm(storm));
        match decision {
            Decision::Noted | Decision::Allowed if is_outside => self.outskirts.let_pass(),
            Decision::Noted | Decision::Allowed => drop(self.deletions.passed.insert(command)),
            _ => {}
        }
        match decision {
            Decision::Stopped => self.kill_still(STOPPED),
            Decision::Undone => self.end_deleters(&held.deleters),
            _ => {}
        }
        self.go_on();
    }

    /// Holds the run still for a storm. Where it does not stop, as somebody who is about to end may not, and is to be
    /// stopped anyway, it is ended: who has ended deletes nothing more, either.
    pub(super) fn hold_storm(&mut self) -> bool {
        if self.hold_still() {
            return true;
        }
        if self.deletions.answer != Unattended::Undo {
            return false;
        }
        self.kill();
        self.hold_still()
    }

    /// Holds the run still on our own account; false if it does not stop.
    pub(super) fn hold_still(&mut self) -> bool {
        let is_still = match &mut self.tree {
            // Whoever has ended moves no more.
            Some(tree) if tree.pids().is_empty() => true,
            Some(tree) if self.frozen_by.is_empty() => tree.freeze(None).is_ok(),
            tree => tree.is_some(),
        };
        if is_still {
            self.catch_up();
            self.frozen_by.push(HOLDER);
        } else {
            self.thawed_at = Some(Instant::now());
        }
        is_still
    }

    /// Ends the hold on our own account.
    fn go_on(&mut self) {
        self.thaw(HOLDER, None);
    }

    /// Ends everything that is held still, before it moves again.
    fn kill_still(&mut self, because: &str) {
        self.record.because.get_or_insert_with(|| because.to_owned());
        if let Some(tree) = &self.tree {
            tree.signal(rustix::process::Signal::KILL.as_raw());
        }
        self.kill_at = Some(Instant::now());
    }

    /// Ends the commands that delete, unless it is the run's own: they would go on where they were stopped.
    fn end_deleters(&self, deleters: &[u32]) {
        let own = self.record.child.as_ref().map(|child| child.pid);
        for pid in deleters.iter().filter(|pid| Some(**pid) != own) {
            // One that has ended deletes nothing more.
            let _ = belay_sys::signal_process(*pid, rustix::process::Signal::KILL.as_raw());
        }
    }
}

/// A rollback and not a restore: what was moved is taken away from where the snapshot has nothing.
fn take_back(snapshot: &str, root: &Raw, paths: &[Vec<u8>]) -> AgentCall {
    let mut argv: Vec<Raw> =
        ["rollback", "-y", "-q", "--mtime", "exact", snapshot, "--"].into_iter().map(Raw::from).collect();
    argv.extend(paths.iter().map(|path| Raw::from(path.as_slice())));
    AgentCall { argv, cwd: root.clone(), ..AgentCall::default() }
}

fn failure(done: std::result::Result<&AgentAnswer, &std::io::Error>) -> Option<String> {
    match done {
        Ok(AgentAnswer::Done { code: 0, .. }) => None,
        Ok(AgentAnswer::Done { err, .. }) => {
            let err = err.lossy();
            let error = err.lines().find_map(|line| line.strip_prefix("error: ")).or(err.lines().next());
            Some(error.unwrap_or("it failed").to_owned())
        }
        Ok(AgentAnswer::Refused(why)) => Some(why.clone()),
        Ok(AgentAnswer::Piped) => Some("it answers what nobody asked".to_owned()),
        Err(error) => Some(belay_sys::plain(error)),
    }
}

/// A path as the directory that it is in and its name there.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    path.iter().rposition(|byte| *byte == b'/').map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..]))
}

/// What tells that something was moved to where it is.
struct Signs<'a> {
    eyes: &'a Eyes<'a>,
    /// How the files look that are lost.
    lost: &'a HashSet<Look>,
    /// Directories that something was moved or deleted from.
    emptied: &'a HashSet<&'a [u8]>,
}

/// A path and every directory on the way to it.
fn directories_to(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at).chain([path.len()]);
    ends.map(|end| &path[..end])
}

/// What a file keeps wherever it is moved: its size, and when it was written.
type Look = (u64, i64, u32);

fn look_of(found: &Stat) -> Look {
    (found.size, found.mtime.sec, found.mtime.nsec)
}

fn look_of_entry(entry: &Entry) -> Option<Look> {
    match entry.kind {
        EntryKind::File { size, .. } => Some((size, entry.meta.mtime.sec, entry.meta.mtime.nsec)),
        _ => None,
    }
}

/// The path, or the first directory on the way to it, that was not there before.
fn topmost_new<'p>(path: &'p [u8], was_there: &dyn Fn(&[u8]) -> bool) -> Option<&'p [u8]> {
    directories_to(path).find(|above| !was_there(above))
}

/// The paths without those that lie beneath another.
fn topmost(mut paths: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    paths.sort_by(|a, b| a.split(|byte| *byte == b'/').cmp(b.split(|byte| *byte == b'/')));
    let mut top: Vec<Vec<u8>> = Vec::new();
    for path in paths {
        let is_beneath = |over: &Vec<u8>| path == *over || path.starts_with(&[over.as_slice(), b"/"].concat());
        if !top.last().is_some_and(is_beneath) {
            top.push(path);
        }
    }
    top
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beneath_something_comes_back_with_it() {
        let paths = ["src/a", "src", "src/a/b", "src-old/x", "lib/c", "src"].map(|path| path.as_bytes().to_vec());
        let expected = ["lib/c", "src", "src-old/x"].map(|path| path.as_bytes().to_vec());
        assert_eq!(topmost(paths.to_vec()), expected);
    }
}
