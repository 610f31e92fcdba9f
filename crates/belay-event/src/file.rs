//! Changes of paths in the workspace.

use serde::{Deserialize, Serialize};

use crate::raw::Raw;

/// A path of the workspace changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// What was done.
    pub action: Action,
    /// The path beneath the workspace; for a rename, the old one. Empty for the workspace itself.
    pub path: Raw,
    /// The new path of a rename; none if it went out of the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Raw>,
    /// Whether it is a directory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dir: bool,
    /// Its size afterwards, if somebody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Who did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
}

/// Who changed a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The process; none where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The run's command; none for somebody outside the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<u64>,
    /// Whether the kernel named the process; otherwise the command was the only one that could have done it.
    pub exact: bool,
}

/// What was done to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// It is new.
    Created,
    /// Its content or its metadata changed.
    Modified,
    /// It is gone.
    Deleted,
    /// It has another name.
    Renamed,
    /// belay brought it back.
    Restored,
}

impl Action {
    /// The action as it is recorded.
    pub fn name(self) -> &'static str {
        match self {
            Action::Created => "created",
            Action::Modified => "modified",
            Action::Deleted => "deleted",
            Action::Renamed => "renamed",
            Action::Restored => "restored",
        }
    }
}
