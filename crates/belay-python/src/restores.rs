//! Which restores were made, newest last, so that the last one can be taken back in each directory that it changed and in no other.
//!
//! A restore is written down before it begins, with the newest moment in each directory's timeline: what was rewound after that
//! is the restore's doing, whether it ended or was killed.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use belay_session::store::Disk;
use belay_session::{PathText, RewindKind, Rewound, Workspace};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

const FILE: &str = "session/restores.json";
/// Older ones cannot be taken back any more.
const KEPT_MAX: usize = 100;

/// The restores of a session that were not taken back.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Restores(Vec<Restore>);

/// One restore.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Restore {
    pub(crate) roots: Vec<Mark>,
}

/// Where the timeline of a directory was before a restore.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Mark {
    path: PathText,
    since: Option<Timestamp>,
    /// The snapshot that it was to be restored to.
    to: String,
}

impl Mark {
    pub(crate) fn now(path: &Path, workspace: &Workspace<'_>, to: &str) -> Result<Mark> {
        let timeline = workspace.timeline()?;
        let snapshots = timeline.snapshots().iter().map(|snapshot| snapshot.created_at);
        let since = snapshots.chain(timeline.rewinds().iter().map(|rewind| rewind.at)).max();
        Ok(Mark { path: PathText::from(path.as_os_str().as_bytes()), since, to: to.to_owned() })
    }

    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(self.path.bytes()))
    }

    /// The snapshot of what was there before the restore, if that changed anything there.
    pub(crate) fn before(&self, workspace: &Workspace<'_>) -> Result<Option<String>> {
        let timeline = workspace.timeline()?;
        let is_its = |rewind: &&Rewound| {
            let is_later = self.since.is_none_or(|since| rewind.at > since);
            is_later && rewind.kind == RewindKind::Rollback && rewind.to == self.to
        };
        let first = timeline.rewinds().iter().find(is_its);
        Ok(first.map(|rewind| rewind.from.clone()))
    }
}

impl Restores {
    pub(crate) fn read(disk: &dyn Disk) -> Result<Restores> {
        match disk.read(FILE) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| Error::record(FILE, error.to_string())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Restores::default()),
            Err(error) => Err(Error::Path(FILE.into(), error)),
        }
    }

    pub(crate) fn write(&self, disk: &dyn Disk) -> Result<()> {
        let text = serde_json::to_vec(self).expect("it is plain data with text keys");
        crate::numbered::write_file(disk, FILE, &text)
    }

    pub(crate) fn push(&mut self, restore: Restore) {
        self.0.push(restore);
        self.0.drain(..self.0.len().saturating_sub(KEPT_MAX));
    }

    pub(crate) fn last(&self) -> Option<&Restore> {
        self.0.last()
    }

    pub(crate) fn pop(&mut self) {
        self.0.pop();
    }
}
