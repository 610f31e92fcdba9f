//! Directories outside of the workspace that a run may write: a storm of deletions there is held as well.
//!
//! Invariants: no snapshot holds what lies there, so nothing of it can be brought back, and whoever is asked is told so;
//! only what was there before the run counts, under whatever name it is removed or buried; if a directory cannot be
//! watched, that is said when the run starts.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use belay_event::{Action, At, Decision, Degraded, Event, Raw, Storm, What};
use belay_jail::{Access, Policy};
use belay_sys::{FileType, Root};
use belay_trace::{Options, Tracer};

use super::Wake;
use super::moves::{Eyes, Lost, Moves};
use super::storm::Held;
use super::supervisor::Supervisor;
use super::wire::Answer;
use crate::config::Settings;
use crate::trigger::Ask;

/// Paths of one directory that are noted before the run begins, which waits for it.
const BEFORE_MAX: usize = 100_000;
/// Paths that the run made itself and that are remembered in one directory with more than that; it may delete them again.
const MADE_MAX: usize = 1_000_000;
/// Deletions that are remembered at most.
const RECENT_MAX: usize = 1_000_000;

/// What is watched out there, and what was deleted of late.
pub(super) struct Outskirts {
    count: usize,
    window: Duration,
    places: Vec<Place>,
    recent: VecDeque<(At, usize)>,
    /// Whether a storm was let pass, until the next command ends.
    is_passed: bool,
}

struct Place {
    directory: PathBuf,
    root: Root,
    tracer: Tracer,
    moves: Moves,
    /// What was there before the run, by a short hash of each path.
    before: HashSet<u64>,
    /// Whether there was more than that; then what the run made is remembered as well.
    is_partial: bool,
    made: HashSet<u64>,
    /// What was told to be gone; what is made anew in its place is the run's own.
    gone: HashSet<u64>,
}

impl Place {
    fn new(directory: PathBuf, tracer: Tracer) -> io::Result<Place> {
        let root = Root::open(&directory)?;
        let (mut before, mut waiting, mut buffer) = (HashSet::new(), vec![Vec::new()], Vec::new());
        while let Some(path) = waiting.pop().filter(|_| before.len() < BEFORE_MAX) {
            // What cannot be listed can only be emptied by whoever opens it first.
            let Ok(dir) = root.dir(&path) else { continue };
            let _ = dir.list(&mut buffer, &mut |name, kind, _| {
                let path = if path.is_empty() { name.to_vec() } else { [&path[..], name].join(&b'/') };
                before.insert(short(&path));
                if matches!(kind, FileType::Dir | FileType::Unknown) {
                    waiting.push(path);
                }
            });
        }
        let is_partial = before.len() >= BEFORE_MAX;
        let (moves, made, gone) = (Moves::default(), HashSet::new(), HashSet::new());
        Ok(Place { directory, root, tracer, moves, before, is_partial, made, gone })
    }

    /// Whether something was there before the run.
    fn was_there(&self, path: &[u8], is_certain: bool) -> bool {
        let path = short(path);
        self.before.contains(&path) || self.is_partial && is_certain && !self.made.contains(&path)
    }

    fn is_there(&self, path: &[u8]) -> bool {
        let at = path.iter().rposition(|byte| *byte == b'/');
        let (parent, name) = at.map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..]));
        self.root.dir_path_only(parent).and_then(|dir| dir.stat(name)).is_ok()
    }

    /// Whether what was there before the run is gone.
    fn is_lost(&self, lost: &Lost) -> bool {
        let (was_there, is_there) = (|path: &[u8]| self.was_there(path, false), |path: &[u8]| self.is_there(path));
        let eyes = Eyes { was_there: &was_there, is_there: &is_there };
        self.was_there(&lost.path, lost.is_certain) && self.moves.gone(&lost.path, &eyes).is_some()
    }
}

fn short(path: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

/// The directories that a policy lets a command write beside its workspace, each beneath no other.
pub(super) fn of(policy: &Policy, workspace: &Path) -> Vec<PathBuf> {
    let mut directories = writable(policy, workspace);
    directories.retain(|path| path.is_dir());
    directories
}

/// That no snapshot holds what the command may write beside its workspace.
pub(super) fn told(policy: &Policy, workspace: &Path) -> Option<Degraded> {
    let all: Vec<String> = writable(policy, workspace).iter().map(|path| path.display().to_string()).collect();
    let why = format!("what is changed in {}, outside of the workspace, cannot be taken back", all.join(", "));
    (!all.is_empty()).then(|| Degraded { layer: "snapshots".into(), why })
}

fn writable(policy: &Policy, workspace: &Path) -> Vec<PathBuf> {
    let grants = policy.grants.iter().filter(|grant| grant.access == Access::Write);
    // `workspace/../elsewhere` begins like the workspace and lies outside.
    let climbs = |path: &Path| path.components().any(|part| part == Component::ParentDir);
    let is_within = |path: &Path| path.starts_with(workspace) && !climbs(path);
    let outside = grants.filter(|grant| !is_within(&grant.path) && grant.path.exists());
    let all: Vec<&PathBuf> = outside.map(|grant| &grant.path).collect();
    let is_beneath = |path: &Path| all.iter().any(|other| path != other.as_path() && path.starts_with(other));
    let mut top: Vec<PathBuf> = all.iter().filter(|path| !is_beneath(path)).map(|path| path.to_path_buf()).collect();
    top.sort();
    top.dedup();
    top
}

impl Outskirts {
    pub(super) fn new(settings: &Settings) -> Outskirts {
        Outskirts {
            count: usize::try_from(settings.number("isolation.delete_storm.count")).unwrap_or(usize::MAX),
            window: Duration::from_secs(settings.number("isolation.delete_storm.window_seconds")),
            places: Vec::new(),
            recent: VecDeque::new(),
            is_passed: false,
        }
    }

    /// Hands over every event that already happened.
    pub(super) fn flush(&self) {
        self.places.iter().for_each(|place| place.tracer.flush());
    }

    /// Takes in what happened in one of the directories.
    pub(super) fn observe(&mut self, place: usize, events: &[Event]) {
        let Some(known) = self.places.get_mut(place) else { return };
        for event in events {
            let What::File(change) = &event.what else { continue };
            if known.is_partial && change.action == Action::Created && known.made.len() < MADE_MAX {
                known.made.insert(short(change.path.bytes()));
            }
            let lost = known.moves.observe(event.at, change);
            if !self.is_passed && self.recent.len() < RECENT_MAX {
                let count =
                    lost.iter().filter(|lost| known.is_lost(lost) && known.gone.insert(short(&lost.path))).count();
                self.recent.extend(std::iter::repeat_n((event.at, place), count));
            }
        }
        let Some((now, _)) = self.recent.back().copied() else { return };
        let age = |at: At| now.unix_nanos() - at.unix_nanos();
        while self.recent.front().is_some_and(|(at, _)| age(*at) > self.window.as_nanos() as i128) {
            self.recent.pop_front();
        }
    }

    /// A command ended: what it was let delete is over.
    pub(super) fn command_ended(&mut self) {
        self.is_passed = false;
    }

    /// What was let pass goes on until a command ends.
    pub(super) fn let_pass(&mut self) {
        self.is_passed = true;
        self.recent.clear();
    }

    fn is_storm(&self) -> bool {
        self.count > 0 && self.recent.len() >= self.count
    }
}

impl Supervisor<'_> {
    /// Watches the directories that the command may write beside its workspace.
    pub(super) fn watch_outskirts(&mut self, directories: Vec<PathBuf>, like: &Options, degraded: &mut Vec<Degraded>) {
        if self.outskirts.count == 0 || self.workspace.settings().flag("tracing.disable_files") {
            return;
        }
        for directory in directories {
            let (number, wakes) = (self.outskirts.places.len(), self.wakes.clone());
            // A loop that has ended needs no events.
            let sink = Box::new(move |events| drop(wakes.send(Wake::Outside(number, events))));
            let options = Options { workspace: directory.clone(), exec: false, files: true, ..like.clone() };
            let prepared = Tracer::prepare(&options, sink).map_err(|error| crate::error::chain(&error.into()));
            let name = directory.display().to_string();
            match prepared.and_then(|tracer| Place::new(directory, tracer).map_err(|error| belay_sys::plain(&error))) {
                Ok(place) => self.outskirts.places.push(place),
                Err(why) => {
                    let why = format!("many deletions in {name} would go unnoticed: {why}");
                    degraded.push(Degraded { layer: "files".into(), why });
                }
            }
        }
    }

    /// Looks whether there is a storm out there; if so, holds the run or writes it down.
    pub(super) fn watch_outside(&mut self) {
        if !self.outskirts.is_storm() || self.deletions.is_holding() {
            return;
        }
        // What was deleted until nothing moves any more counts, too.
        let is_held = self.deletions.holds() && self.hold_storm();
        let Some((first, place)) = self.outskirts.recent.front().copied() else { return };
        let deleted = self.outskirts.recent.drain(..).count() as u64;
        let outside = self.outskirts.places.get(place).map(|place| Raw::from(place.directory.as_os_str().as_bytes()));
        let decision = if is_held { Decision::Held } else { Decision::Noted };
        let snapshot = self.record.pre_run.clone().unwrap_or_default();
        let storm = Storm { deleted, snapshot, command: None, decision, outside };
        self.happened(vec![self.event(What::Storm(storm.clone()))]);
        self.control.tell_all(&Answer::Storm(storm.clone()));
        self.captures.ask(Ask::new(crate::record::Kind::Auto, None, "many paths were deleted at once"));
        if !is_held {
            return self.outskirts.let_pass();
        }
        let deleters = self.deletions.began_since(first, None);
        self.deletions.hold(Held::new(storm, Vec::new(), deleters));
        self.without_a_person();
    }
}
