//! What happened: the events of a run, and their one stable JSON form.
//!
//! This is a published contract. Invariants:
//! - a field may be added, and is then optional; none is renamed, removed or given another meaning;
//! - every byte survives the way into JSON and back, UTF-8 or not ([`Raw`]);
//! - an event says only what was observed; what was not is absent, never guessed.

mod at;
mod exec;
mod file;
mod guard;
mod protection;
mod raw;

use serde::{Deserialize, Serialize};

pub use at::At;
pub use exec::{Ended, Exec, Exit};
pub use file::{Action, Actor, FileChange};
pub use guard::{Decision, Denied, Storm, Wanted};
pub use protection::{Degraded, DenialSource, ExecSource, FileSource, Isolation, Person, Protection};
pub use raw::Raw;

/// Something that happened at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When.
    pub at: At,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

impl Event {
    /// An event.
    pub fn new(at: At, what: What) -> Event {
        Event { at, what }
    }
}

/// Everything that can happen in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum What {
    /// The run began; its first event.
    RunStarted(RunStarted),
    /// A process became a command.
    Exec(Exec),
    /// A command ended.
    Exit(Exit),
    /// A path of the workspace changed.
    File(FileChange),
    /// A snapshot was taken, or could not be.
    Snapshot(SnapshotTaken),
    /// The workspace was taken back while the run was active.
    Rewound(Rewound),
    /// Events were lost, and how many if that is known.
    Lost(Lost),
    /// A protection is weaker than it could be.
    Degraded(Degraded),
    /// A confined command was refused something.
    Denied(Denied),
    /// Many paths were deleted within a short time.
    Storm(Storm),
    /// An agent called a tool of a server.
    McpCall(McpCall),
    /// The run ended; its last event, but for [`What::Erased`].
    RunEnded(RunEnded),
    /// Words of events were erased from the record on purpose.
    Erased(Erased),
}

/// Which events have other words than they were recorded with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erased {
    /// The events.
    pub events: Vec<ErasedEvent>,
}

/// An event whose words were erased.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasedEvent {
    /// Its number in the record.
    pub seq: u64,
    /// What it contributes to the chain, in hexadecimal: the leaf of the event as it was written.
    pub leaf: String,
    /// The leaf of what stands in its place, in hexadecimal.
    pub now: String,
}

/// A call of a tool that an agent was offered over MCP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpCall {
    /// The server.
    pub server: String,
    /// The method of the protocol.
    pub method: String,
    /// The tool.
    pub tool: String,
    /// The beginning of what it was called with.
    pub request: String,
    /// The beginning of what it answered.
    pub response: String,
    /// Why it was not done; none if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it took.
    pub duration_ms: u64,
}

/// The beginning of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStarted {
    /// The run's identifier.
    pub run: String,
    /// The workspace's identifier.
    pub workspace: String,
    /// Where the workspace is.
    pub root: Raw,
    /// The command and its arguments; empty for a watch.
    pub argv: Vec<Raw>,
    /// Where it was started.
    pub cwd: Raw,
    /// What is in force.
    pub protection: Protection,
}

/// A snapshot in the life of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotTaken {
    /// Its identifier; none if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// `pre-run`, `git`, `build`, `idle`, `auto`, `manual`, `turn`, `tool`, `safety` or `final`.
    pub kind: String,
    /// `auto` or `manual`.
    pub origin: String,
    /// Its label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its slot, if it is in a pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u32>,
    /// Files in it.
    pub files: u64,
    /// Bytes that the store grew by.
    pub stored_bytes: u64,
    /// What it cost, in microseconds.
    pub took_us: u64,
    /// Whether only the known changes were looked at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_dirty_set: bool,
    /// The command whose end (or beginning) asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<u64>,
    /// The hash over everything captured, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Paths that it lacks although nobody asked for that.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gaps: u64,
    /// Changes that were seen while it was taken: it may hold some of them, and others not.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub meanwhile: u64,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A rollback, undo or restore in the life of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewound {
    /// `rollback`, `undo`, `redo` or `restore`.
    pub kind: String,
    /// The safety snapshot of what was there before.
    pub from: String,
    /// The snapshot that was restored.
    pub to: String,
    /// What it is called by its slot in a pool, where it has one: `cp-3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// How many paths were changed.
    pub changed: u64,
}

/// Events that nobody will see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Which stream: `exec` or `file`.
    pub source: String,
    /// How many, if the kernel tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnded {
    /// How the command ended; none if that was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// Why belay ended it, if it did: `stopped`, `time limit`, `controller lost`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The hash over the workspace at the end, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
}

#[cfg(test)]
mod tests;
