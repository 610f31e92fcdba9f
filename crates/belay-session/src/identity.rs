//! Which directory is which workspace: by device and inode first, then by path.

use std::path::PathBuf;

use jiff::Timestamp;

/// How a workspace was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is where it was.
    Known,
    /// The same directory was somewhere else before; its history is kept.
    Moved {
        /// Where it was.
        from: PathBuf,
    },
    /// Another directory is where the workspace was; the history is offered to it.
    Replaced,
    /// It was not known before.
    New,
    /// It was not known before, and holds mostly what another workspace holds; it has its own history.
    CopiedFrom {
        /// The other workspace.
        path: PathBuf,
    },
}

/// A known workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceInfo {
    /// `ws_` and ten base-36 characters.
    pub id: String,
    /// Where it was last seen.
    pub path: PathBuf,
    /// When it became known.
    pub created_at: Timestamp,
    /// The workspace that it was copied from, if that was noticed.
    pub copied_from: Option<String>,
    /// Whether the directory is still there.
    pub exists: bool,
    /// How many snapshots it has.
    pub snapshots: usize,
    /// When the newest was taken.
    pub latest_at: Option<Timestamp>,
}
