//! What is known of a run outside its journal: `runs/<run-id>/run.json`, and a mark beside its workspace while it lives.

use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;

use belay_event::{Ended, Protection, Raw};
use belay_store::Disk;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::confine::Confinement;
use super::discarded::Discarded;
use crate::error::{Error, Result};
use crate::home::Home;
use crate::resolve::is_beginning;

/// A run, or a watch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// `run_` and eight base-36 characters.
    pub id: String,
    /// How far it is.
    pub state: RunState,
    /// The workspace's identifier.
    pub workspace: String,
    /// Where the workspace was.
    pub root: Raw,
    /// The command and its arguments; empty for a watch.
    pub argv: Vec<Raw>,
    /// Where it was started.
    pub cwd: Raw,
    /// A name that somebody gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Which of standard input, output and error are a terminal of belay's own.
    #[serde(default)]
    pub terminal: [bool; 3],
    /// The size of that terminal at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<TerminalSize>,
    /// What it may use.
    #[serde(default)]
    pub limits: RunLimits,
    /// What its command was to be confined to.
    #[serde(default)]
    pub confinement: Confinement,
    /// Where the content of its snapshots is to lie, if that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When its command began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it ended, or was found to have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The process that holds tracer, journal and terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supervisor: Option<ProcessName>,
    /// The process of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<ProcessName>,
    /// The control group that holds its processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Raw>,
    /// What was in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protection: Option<Protection>,
    /// The snapshot before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_run: Option<String>,
    /// What that snapshot leaves out on purpose, so that no rollback brings it back; only the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Raw>,
    /// The snapshot after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_snapshot: Option<String>,
    /// How the command ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// Why belay ended it, if it did, or why it never began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// What was counted.
    #[serde(default)]
    pub totals: RunTotals,
    /// What its command wrote outside of the workspace, to directories that ended with its jail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discarded: Option<Discarded>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// It was asked for.
    Created,
    /// Its command runs.
    Running,
    /// It ended in order.
    Ended,
    /// It never began.
    Failed,
    /// Its supervisor died; what was recorded until then is there.
    Lost,
}

impl RunState {
    /// The state as it is printed and recorded.
    pub fn name(self) -> &'static str {
        match self {
            RunState::Created => "created",
            RunState::Running => "running",
            RunState::Ended => "ended",
            RunState::Failed => "failed",
            RunState::Lost => "lost",
        }
    }

    /// Whether the run was not over when this was written.
    pub fn is_open(self) -> bool {
        matches!(self, RunState::Created | RunState::Running)
    }
}

/// A process, named so that a number used again is not mistaken for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessName {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks after boot.
    pub start_ticks: u64,
    /// Which boot that was.
    pub boot_id: String,
}

impl ProcessName {
    /// The process of that number as it is now.
    pub(crate) fn of(pid: u32) -> Option<ProcessName> {
        let boot_id = belay_sys::boot_id().ok()?;
        Some(ProcessName { pid, start_ticks: belay_sys::start_ticks(pid)?, boot_id })
    }

    /// Whether it still runs.
    pub fn is_alive(&self) -> bool {
        belay_sys::boot_id().is_ok_and(|boot| boot == self.boot_id)
            && belay_sys::process_alive(self.pid, self.start_ticks)
    }
}

/// The size of a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    /// Lines.
    pub rows: u16,
    /// Characters in a line.
    pub columns: u16,
}

/// What a run may use; nothing set means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLimits {
    /// Seconds until it is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// Bytes of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Processes and threads at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
}

/// What happened in a run, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTotals {
    /// Commands.
    pub commands: u64,
    /// File changes.
    pub changes: u64,
    /// Different paths that changed; none in records of older versions.
    #[serde(default)]
    pub paths: Option<u64>,
    /// Snapshots that were taken.
    pub snapshots: u64,
    /// Events that were lost and counted.
    pub lost: u64,
    /// Whether commands went unseen, and nobody knows how many: whoever traced them was killed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub commands_unseen: bool,
    /// Whether changes of files went unseen, and nobody knows how many.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changes_unseen: bool,
}

impl RunRecord {
    /// Whether it watches a workspace without a command of its own.
    pub fn is_watch(&self) -> bool {
        self.argv.is_empty()
    }

    /// Whether it is going on at this moment.
    pub fn is_live(&self) -> bool {
        // Between being asked for and having a supervisor nobody can tell; that is a matter of milliseconds.
        self.state.is_open() && self.supervisor.as_ref().is_none_or(ProcessName::is_alive)
    }

    /// The exit status as shells tell it, if the command's end was seen; what was taken back is no success.
    pub fn exit_code(&self) -> Option<u8> {
        match self.ended? {
            Ended::Code(0) if self.because.as_deref() == Some(super::storm::STOPPED) => None,
            Ended::Code(code) => u8::try_from(code & 0xff).ok(),
            Ended::Signal(signal) => u8::try_from(128 + signal).ok(),
            Ended::Replaced(_) => None,
        }
    }

    pub(crate) fn read(disk: &dyn Disk, id: &str) -> Result<RunRecord> {
        let name = record_name(id);
        let bytes = disk.read(&name).map_err(Error::disk("read", &name))?;
        let record = serde_json::from_slice::<RunRecord>(&bytes).ok().filter(|record| record.id == id);
        record.ok_or(Error::NoRecord { name })
    }

    /// Makes the directory of a run that is about to begin, which need not survive a loss of power before its record does:
    /// the disk would sync it at once, and somebody waits for the command.
    pub(super) fn make_room(&self, disk: &dyn Disk) {
        let Some(home) = disk.path() else { return };
        let dir = home.join("runs").join(&self.id);
        // What is missing is made with the record.
        if std::fs::DirBuilder::new().mode(0o700).create(&dir).is_ok() {
            // Whatever the mask of modes is.
            let _ = std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700));
        }
    }

    /// Writes the record; with `durable` it survives a loss of power, too.
    pub(crate) fn save(&self, disk: &dyn Disk, durable: bool) -> Result<()> {
        let name = record_name(&self.id);
        let fresh = format!("{name}.new");
        let bytes = serde_json::to_vec_pretty(self).expect("a record is plain data with text keys");
        let write = || {
            match disk.remove(&fresh) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = disk.create(&fresh)?;
            file.write(&bytes)?;
            if durable {
                file.sync()?;
            }
            disk.rename(&fresh, &name)?;
            if durable {
                disk.sync_dir(&format!("runs/{}", self.id))?;
                disk.sync_dir("runs")?;
            }
            Ok(())
        };
        write().map_err(Error::disk("write", &name))
    }

    /// Marks it as going on, so that others find it without reading every run there ever was.
    pub(crate) fn mark(&self, disk: &dyn Disk) -> Result<()> {
        let name = self.mark_name();
        disk.append(&name, 0).map(drop).map_err(Error::disk("write", &name))
    }

    pub(crate) fn unmark(&self, disk: &dyn Disk) -> Result<()> {
        let name = self.mark_name();
        match disk.remove(&name) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::disk("remove", &name)(error)),
            _ => Ok(()),
        }
    }

    fn mark_name(&self) -> String {
        format!("{}/{}", marks(&self.workspace), self.id)
    }
}

fn record_name(id: &str) -> String {
    format!("runs/{id}/run.json")
}

fn marks(workspace: &str) -> String {
    format!("workspaces/{workspace}/active")
}

impl Home {
    /// The directory of a run.
    pub fn run_dir(&self, id: &str) -> PathBuf {
        self.path().join("runs").join(id)
    }

    /// The record of the run with this very id.
    pub fn run(&self, id: &str) -> Result<RunRecord> {
        RunRecord::read(self.disk(), id)
    }

    /// Every run that can be read, oldest first.
    pub fn runs(&self) -> Result<Vec<RunRecord>> {
        let dir = self.path().join("runs");
        let entries = match std::fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::disk("list", "runs")(error)),
        };
        let ids = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut runs: Vec<RunRecord> = ids.filter_map(|id| RunRecord::read(self.disk(), &id).ok()).collect();
        runs.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        Ok(runs)
    }

    /// Runs that are there and whose descriptions cannot be read.
    pub fn unreadable_runs(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path().join("runs")).into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let is_damaged = |id: &String| match RunRecord::read(self.disk(), id) {
            // One that is about to begin has none yet, and one that is being removed has none any more.
            Err(Error::Disk { source, .. }) => source.kind() != std::io::ErrorKind::NotFound,
            read => read.is_err(),
        };
        let mut damaged: Vec<String> = ids.filter(|id| id.starts_with("run_")).filter(is_damaged).collect();
        damaged.sort();
        damaged
    }

    /// The runs of a workspace that were not over when they last wrote, oldest first.
    pub fn open_runs(&self, workspace: &str) -> Result<Vec<RunRecord>> {
        let dir = marks(workspace);
        let names = self.disk().list(&dir).map_err(Error::disk("list", &dir))?;
        let mut runs: Vec<RunRecord> =
            names.iter().filter_map(|(id, _)| RunRecord::read(self.disk(), id).ok()).collect();
        runs.retain(|run| run.state.is_open());
        runs.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        Ok(runs)
    }

    /// The run that `name` names: an id or its beginning, a label, `@latest`, `@-2`, or nothing for the latest.
    ///
    /// `wanted` narrows down which runs are meant when none is named by its id.
    pub fn find_run(&self, name: Option<&str>, wanted: &dyn Fn(&RunRecord) -> bool) -> Result<RunRecord> {
        let mut runs = self.runs()?;
        let unknown = |name: &str| Error::UnknownRun(name.to_owned());
        let back = match name {
            None | Some("@latest") => Some(0),
            Some(name) => name.strip_prefix("@-").and_then(|text| text.parse::<usize>().ok()),
        };
        if let Some(back) = back {
            runs.retain(wanted);
            return runs.into_iter().rev().nth(back).ok_or_else(|| name.map_or(Error::NoRun, unknown));
        }
        let name = name.unwrap_or_default();
        if let Some(at) = runs.iter().rposition(|run| run.id == name || run.label.as_deref() == Some(name)) {
            return Ok(runs.swap_remove(at));
        }
        runs.retain(|run| is_beginning(name, "run_", &run.id));
        match runs.len() {
            0 if self.unreadable_runs().iter().any(|id| id == name) => {
                Err(RunRecord::read(self.disk(), name).err().unwrap_or_else(|| unknown(name)))
            }
            0 => Err(unknown(name)),
            1 => Ok(runs.remove(0)),
            _ => {
                let candidates = runs.into_iter().map(|run| run.id).collect();
                Err(Error::AmbiguousRun { name: name.to_owned(), candidates })
            }
        }
    }
}
