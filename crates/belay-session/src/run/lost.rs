//! Runs whose supervisor died: their journals are closed, their last state is captured, and what still lives is named.

use belay_event::{At, Degraded, Event, SnapshotTaken, What};
use belay_store::LockMode;
use jiff::Timestamp;

use super::record::{RunRecord, RunState};
use super::tree::command_of;
use super::unheld::Unheld;
use crate::error::{Error, Result, chain};
use crate::record::{Cause, Kind, Origin, Snapshot};
use crate::snapshot::SnapshotRequest;
use crate::workspace::{Work, Workspace};

/// Why a run ended whose controller died, as its journal has it, too.
pub(crate) const CONTROLLER_LOST: &str = "controller lost";

/// A run that ended without anybody seeing it.
#[derive(Clone, Debug)]
pub struct LostRun {
    /// The run as it is recorded now.
    pub run: RunRecord,
    /// Its processes that live on, unrecorded, with their commands.
    pub left: Vec<(u32, String)>,
    /// What would have led git elsewhere and was put aside.
    pub put_aside: Vec<String>,
    /// What could not be put in order.
    pub failed: Option<String>,
}

impl Workspace<'_> {
    /// Puts runs in order whose supervisor died; every command calls it first.
    pub fn recover_runs(&self, work: Work<'_>) -> Result<Vec<LostRun>> {
        let is_lost = |run: &RunRecord| !run.is_live();
        if !self.home().open_runs(self.id())?.iter().any(is_lost) {
            return Ok(Vec::new());
        }
        // Whoever comes at the same moment leaves it to the first, and finds nothing to do afterwards.
        let lock = self.file("runs.lock");
        let held = self.home().disk().lock(&lock, LockMode::Exclusive, false).map_err(Error::disk("lock", &lock))?;
        let Some(_held) = held else { return Ok(Vec::new()) };
        let open = self.home().open_runs(self.id())?;
        let lost = open.into_iter().filter(is_lost).filter(|run| self.end_as_recorded(run).is_none());
        Ok(lost.map(|run| self.recover_run(run, work)).collect())
    }

    /// Takes down how a run ended whose controller died between the end of its journal and that of its record.
    fn end_as_recorded(&self, run: &RunRecord) -> Option<()> {
        let journal = self.home().journal(run).ok()?;
        let (at, ended) = journal.ended().ok()??;
        if ended.because.as_deref() == Some(CONTROLLER_LOST) || !journal.head().ok()?.closed {
            return None;
        }
        let snapshots = journal.snapshots().ok()?;
        let last = snapshots.iter().rev().find(|one| one.taken.kind == Kind::Final.name());
        let mut run = RunRecord {
            state: if run.started_at.is_some() { RunState::Ended } else { RunState::Failed },
            ended_at: Some(at.timestamp()),
            ended: ended.ended,
            because: ended.because,
            final_snapshot: last.and_then(|one| one.taken.snapshot.clone()),
            ..run.clone()
        };
        self.count_recorded(&mut run);
        let disk = self.home().disk();
        run.save(disk, true).and_then(|()| run.unmark(disk)).ok()
    }

    fn recover_run(&self, mut run: RunRecord, work: Work<'_>) -> LostRun {
        let (home, disk) = (self.home(), self.home().disk());
        let now = home.options.clock.now();
        let (mut failed, mut known) = (None, Vec::new());
        run.state = if run.started_at.is_some() { RunState::Lost } else { RunState::Failed };
        run.ended_at = Some(now);
        run.because = Some(CONTROLLER_LOST.to_owned());
        let put_aside = self.put_aside_after(&run);
        known.extend(put_aside.iter().map(|why| {
            let degraded = Degraded { layer: "jail".into(), why: why.clone() };
            Event::new(At::from(now), What::Degraded(degraded))
        }));
        if run.state == RunState::Lost && self.settings().disabled_by().is_none() {
            let request = SnapshotRequest {
                kind: Kind::Final,
                origin: Origin::Auto,
                cause: Cause {
                    run: Some(run.id.clone()),
                    trigger: Some("found without its controller".into()),
                    ..Cause::default()
                },
                ..SnapshotRequest::default()
            };
            let began = std::time::Instant::now();
            match self.snapshot(&request, work) {
                Ok(taken) => {
                    let took_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
                    known.push(found(&taken.snapshot, took_us, At::from(now)));
                    run.final_snapshot = Some(taken.snapshot.id);
                }
                Err(error) => failed = Some(chain(&error)),
            }
        }
        failed = failed.or(self.close_journal(&run, now, known).err().map(|error| chain(&error)));
        self.count_recorded(&mut run);
        let saved = run.save(disk, true).and_then(|()| run.unmark(disk));
        failed = failed.or(saved.err().map(|error| chain(&error)));
        let left: Vec<(u32, String)> = run.living().into_iter().map(|pid| (pid, command_of(pid))).collect();
        if left.is_empty() {
            run.remove_group();
        }
        LostRun { run, left, put_aside, failed }
    }

    /// Does what the controller would have done at the end: a command that is confined ended with it.
    fn put_aside_after(&self, run: &RunRecord) -> Vec<String> {
        // What is kept apart is seen to where it is brought in from.
        if run.confinement.ephemeral && !self.is_layered() {
            return Vec::new();
        }
        let Ok(guard) = self.home().guard_of(&run.id) else { return Vec::new() };
        match self.writable() {
            Ok(root) => Unheld::put_all_right(&guard.unheld, &root, &run.id, true),
            Err(_) => Vec::new(),
        }
    }

    /// The controller would have counted at the end; what cannot be read stays uncounted.
    fn count_recorded(&self, run: &mut RunRecord) {
        let Ok(journal) = self.home().journal(run) else { return };
        let totals = &mut run.totals;
        totals.commands = journal.commands().map_or(totals.commands, |commands| commands.len() as u64);
        totals.changes = journal.change_counts().map_or(totals.changes, |counts| counts.values().sum());
        totals.paths = journal.path_counts().ok().map(|(paths, _)| paths);
        totals.snapshots = journal.snapshots().map_or(totals.snapshots, |snapshots| snapshots.len() as u64);
    }

    fn close_journal(&self, run: &RunRecord, now: Timestamp, known: Vec<Event>) -> Result<()> {
        let dir = self.home().run_dir(&run.id);
        if !dir.join("session.db").exists() {
            return Ok(());
        }
        match belay_journal::recover_with(&dir, self.home().signing_key()?, At::from(now), known) {
            // It was killed before it had begun one.
            Err(belay_journal::Error::Missing(_)) if run.state == RunState::Failed => Ok(()),
            closed => Ok(closed.map(drop)?),
        }
    }
}

/// The snapshot of what was found, as an event of the run.
fn found(snapshot: &Snapshot, took_us: u64, at: At) -> Event {
    let taken = SnapshotTaken {
        snapshot: Some(snapshot.id.clone()),
        kind: snapshot.kind.name().to_owned(),
        origin: "auto".to_owned(),
        name: None,
        slot: snapshot.slot,
        files: snapshot.files,
        stored_bytes: snapshot.size_delta,
        took_us,
        by_dirty_set: false,
        command: None,
        root: Some(snapshot.root.to_hex()),
        gaps: snapshot.gaps,
        meanwhile: 0,
        failed: None,
    };
    Event::new(at, What::Snapshot(taken))
}

/// A run that is over, and its processes that live on with their commands.
pub type Outlived = (RunRecord, Vec<(u32, String)>);

impl Workspace<'_> {
    /// Runs of the workspace that are over while processes of theirs live on, unrecorded.
    pub fn outlived_runs(&self) -> Result<Vec<Outlived>> {
        let mut found: Vec<Outlived> = Vec::new();
        let mut marked = None;
        for run in self.home().runs()? {
            if run.workspace != self.id() || run.state.is_open() {
                continue;
            }
            // A look at every process of the machine is taken once, not for each run.
            let mut left = match run.open_group() {
                Some(group) => group.pids().unwrap_or_default(),
                None => {
                    let marked = marked.get_or_insert_with(marked_processes);
                    marked.iter().filter(|(_, of)| *of == run.id).map(|(pid, _)| *pid).collect()
                }
            };
            left.sort_unstable();
            if left.is_empty() {
                run.remove_group();
            } else {
                found.push((run, left.into_iter().map(|pid| (pid, command_of(pid))).collect()));
            }
        }
        Ok(found)
    }
}

/// Every process that carries the name of a run in its environment, with that name.
fn marked_processes() -> Vec<(u32, String)> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let run_of = |pid: u32| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        let mark = environ.split(|byte| *byte == 0).find_map(|variable| variable.strip_prefix(b"BELAY_RUN="))?;
        Some((pid, String::from_utf8_lossy(mark).into_owned()))
    };
    pids.filter_map(run_of).collect()
}

impl RunRecord {
    /// Processes of the run that live, whatever became of its supervisor.
    pub fn living(&self) -> Vec<u32> {
        if let Some(group) = self.open_group() {
            return group.pids().unwrap_or_default();
        }
        marked_processes().into_iter().filter(|(_, run)| *run == self.id).map(|(pid, _)| pid).collect()
    }

    /// Kills processes of the run that outlived their supervisor; returns how many there were.
    pub fn kill_living(&self) -> std::io::Result<usize> {
        const TIME_MAX: std::time::Duration = std::time::Duration::from_secs(10);
        let living = self.living();
        if let Some(group) = self.open_group() {
            let _ = group.thaw();
            group.kill(TIME_MAX)?;
            let _ = group.remove();
            return Ok(living.len());
        }
        // Each carries the run's name in its environment, and so does whatever it starts; and perhaps who asks for this.
        let own = super::still::own_line();
        let find = || self.living().into_iter().filter(|pid| !own.contains(pid)).collect();
        super::halt::kill_all(&find, TIME_MAX)?;
        Ok(living.len())
    }

    /// Removes the group of a run that is over and of which nothing lives; one that is not empty stays.
    fn remove_group(&self) {
        let _ = self.open_group().map(|group| group.remove());
    }

    /// The group of its processes, if it is still there.
    pub(super) fn open_group(&self) -> Option<belay_sys::Cgroup> {
        use std::os::unix::ffi::OsStrExt;
        let path = std::path::Path::new(std::ffi::OsStr::from_bytes(self.group.as_ref()?.bytes()));
        belay_sys::Cgroup::open(path).ok()
    }
}
