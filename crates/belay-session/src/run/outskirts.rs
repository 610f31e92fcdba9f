//! Directories outside of the workspace that a run may write: a storm of deletions there is held as well.
//!
//! Invariants: no snapshot holds what lies there, so nothing of it can be brought back, and whoever is asked is told so;
//! only what was there before the run counts; if a directory cannot be watched, that is said when the run starts.

use std::collections::{HashSet, VecDeque};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use belay_event::{Action, At, Decision, Degraded, Event, Raw, Storm, What};
use belay_jail::{Access, Policy};
use belay_trace::{Options, Tracer};

use super::Wake;
use super::storm::Held;
use super::supervisor::Supervisor;
use super::wire::Answer;
use crate::config::Settings;
use crate::trigger::Ask;

/// Paths that the run made itself and that are remembered in one directory; it may delete them again.
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
    tracer: Tracer,
    made: HashSet<Vec<u8>>,
}

/// The directories that a policy lets a command write beside its workspace, each beneath no other.
pub(super) fn of(policy: &Policy, workspace: &Path) -> Vec<PathBuf> {
    let grants = policy.grants.iter().filter(|grant| grant.access == Access::Write);
    let outside = grants.filter(|grant| !grant.path.starts_with(workspace) && grant.path.is_dir());
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
            let path = change.path.bytes();
            match change.action {
                Action::Created if known.made.len() < MADE_MAX => drop(known.made.insert(path.to_vec())),
                Action::Renamed => {
                    if let Some(to) = change.to.as_ref().filter(|_| known.made.remove(path)) {
                        known.made.insert(to.bytes().to_vec());
                    }
                }
                Action::Deleted if !known.made.remove(path) && !self.is_passed && self.recent.len() < RECENT_MAX => {
                    self.recent.push_back((event.at, place));
                }
                _ => {}
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
            match Tracer::prepare(&options, sink) {
                Ok(tracer) => self.outskirts.places.push(Place { directory, tracer, made: HashSet::new() }),
                Err(error) => {
                    let why = crate::error::chain(&error.into());
                    let why = format!("many deletions in {} would go unnoticed: {why}", directory.display());
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
        let is_held = self.deletions.holds() && self.hold_still();
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
