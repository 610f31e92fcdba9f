//! Runs whose workspace is an overlay: what they wrote lies apart, can be looked at, applied in part, or discarded.
//!
//! Invariants: an ephemeral run changes nothing in the workspace; what it wrote becomes an ordinary snapshot, so that
//! applying it is a rollback to it, with a plan, a safety snapshot and an undo; it is captured before it is discarded.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use belay_jail::{Change, Kept, kept_changes, merged};
use belay_store::{Manifest, Root, View};

use crate::error::{Error, Result, chain_of};
use crate::home::Home;
use crate::record::{Cause, Kind, Origin, Snapshot};
use crate::run::RunRecord;
use crate::snapshot::{Look, SnapshotRequest};
use crate::workspace::{Work, Workspace};

/// What an ephemeral run wrote.
#[derive(Clone, Debug)]
pub struct Written {
    /// The workspace with it.
    pub snapshot: Snapshot,
    /// What of it can be applied: every path that the run changed and that is captured or there.
    pub paths: Vec<Vec<u8>>,
}

impl Home {
    /// Where a run's changes are kept apart.
    pub(crate) fn kept_of(&self, run: &str, workspace: &Path) -> Kept {
        let dir = self.run_dir(run);
        Kept { path: workspace.to_owned(), changes: dir.join("changes"), work: dir.join("work") }
    }

    /// Forgets what an ephemeral run wrote; it stays in the snapshots that were taken of it.
    pub fn discard_written(&self, run: &RunRecord) -> Result<()> {
        let kept = self.kept_of(&run.id, Path::new(""));
        // The kernel leaves a directory in it that nobody may enter.
        let _ = fs::set_permissions(kept.work.join("work"), fs::Permissions::from_mode(0o700));
        for directory in [&kept.changes, &kept.work] {
            match fs::remove_dir_all(directory) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::path("remove", directory)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Makes the directories that the changes of a run go to.
pub(crate) fn prepare(kept: &Kept) -> io::Result<()> {
    let mode = fs::metadata(&kept.path)?.permissions();
    for directory in [&kept.changes, &kept.work] {
        fs::create_dir_all(directory)?;
    }
    // What the run sees as the workspace's own mode is that of the upper layer.
    fs::set_permissions(&kept.changes, mode)
}

impl Workspace<'_> {
    /// What an ephemeral run has written so far, as a snapshot; the same one if nothing was written since.
    pub fn written(&self, run: &RunRecord, work: Work<'_>) -> Result<Written> {
        let kept = self.home.kept_of(&run.id, self.path());
        if !run.confinement.ephemeral || !kept.changes.is_dir() {
            return Err(Error::NothingTo("review"));
        }
        let changes = kept_changes(&kept).map_err(Error::path("read", &kept.changes))?;
        if changes.is_empty() {
            return Err(Error::NothingTo("review"));
        }
        let changed: Vec<Vec<u8>> = changes.iter().map(bytes_of).collect();
        let whole = merged(&kept).map_err(|error| Error::Confinement { why: chain_of(&error) })?;
        let whole = Root::from_fd(whole);
        let timeline = self.timeline()?;
        let before = run.pre_run.as_deref().and_then(|id| timeline.get(id));
        let before = before.map(|before| Manifest::read(self.home.store(), &before.manifest)).transpose()?;
        let dirty = before.as_ref().map(|before| (before, changed.as_slice()));
        // Never by the stat cache, whose numbers are those of the workspace.
        let look = Look { full: dirty.is_none(), dirty, root: Some(&whole), ..Look::default() };
        let captured = self.capture(look, work)?;
        let description = format!("what {} wrote, not applied", run.id);
        let same = |taken: &&Snapshot| {
            taken.description.as_deref() == Some(&description) && taken.root == captured.manifest.identity
        };
        let snapshot = match timeline.snapshots().iter().rev().find(same) {
            Some(taken) => taken.clone(),
            None => self.name(&captured, &request(run, description.clone()))?,
        };
        let view = View::stored(self.home.store());
        let mut paths = Vec::new();
        for path in changed {
            if view.lookup(&captured.manifest.root, &path)?.is_some() || self.holds(&path) {
                paths.push(path);
            }
        }
        Ok(Written { snapshot, paths })
    }

    /// Whether something is at a path of the workspace now.
    fn holds(&self, path: &[u8]) -> bool {
        let split = path.iter().rposition(|byte| *byte == b'/');
        let (parent, name) = split.map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..]));
        self.root().dir_path_only(parent).and_then(|parent| parent.stat(name)).is_ok()
    }
}

fn bytes_of(change: &Change) -> Vec<u8> {
    change.path().as_os_str().as_bytes().to_vec()
}

fn request(run: &RunRecord, description: String) -> SnapshotRequest {
    SnapshotRequest {
        kind: Kind::Manual,
        origin: Origin::Auto,
        description: Some(description),
        cause: Cause { trigger: Some(format!("review of {}", run.id)), ..Cause::default() },
        ..SnapshotRequest::default()
    }
}
