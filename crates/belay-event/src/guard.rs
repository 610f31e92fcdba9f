//! What was refused, and what was held for a decision.

use serde::{Deserialize, Serialize};

use crate::raw::Raw;

/// Something that a confined command was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denied {
    /// The system call.
    pub call: String,
    /// The path that it was about, if it was about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Raw>,
    /// What the command was told, as the kernel numbers it.
    pub errno: i32,
    /// Its process, as the host counts.
    pub pid: u32,
    /// The run's command, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<u64>,
    /// What was wanted of the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<Wanted>,
    /// Why no rule is proposed that would open the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<String>,
    /// Whether nothing is at the path, so that it must be made before a rule can name it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub absent: bool,
    /// How many refusals this event tells of.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: u64,
}

/// What a command wanted of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wanted {
    /// To see, read or execute it.
    Read,
    /// To make, change or remove it.
    Write,
}

fn one() -> u64 {
    1
}

fn is_one(count: &u64) -> bool {
    *count == 1
}

/// Many deletions within a short time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storm {
    /// How many paths that the snapshot holds are gone, or that were in the directory outside.
    pub deleted: u64,
    /// The snapshot that holds them; of a storm outside of the workspace, the one before the run, which does not.
    pub snapshot: String,
    /// The command that deleted the last of them, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<u64>,
    /// What became of it.
    pub decision: Decision,
    /// The directory outside of the workspace where it happened, of which no snapshot holds anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<Raw>,
}

/// What became of a storm of deletions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The run is held until somebody decides.
    Held,
    /// Nobody was asked: the run goes on.
    Noted,
    /// Somebody let it go on.
    Allowed,
    /// What was deleted is back, and the run goes on.
    Undone,
    /// What was deleted is back, and the run was stopped.
    Stopped,
}
