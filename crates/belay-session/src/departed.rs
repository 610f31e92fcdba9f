//! Forgetting a workspace for good: its history goes, the directory itself, if there is one, stays as it is.
//!
//! The order is such that an interruption at any moment leaves a workspace that is known and has less history, and that can
//! be forgotten again: first the snapshots are no longer named, then what was beside them goes, then its name.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use belay_store::LockMode;

use crate::error::{Error, Result};
use crate::home::Home;
use crate::identity::{Index, WorkspaceInfo};
use crate::record::{Snapshot, Why};
use crate::resident::lock_name;
use crate::retention::{Pruned, delete_records, needed};
use crate::spare;
use crate::timeline::Timeline;
use crate::workspace::timeline_name;

/// How often a directory is removed in which something is made meanwhile.
const REMOVE_TRIES_MAX: u32 = 100;

/// A workspace that is to be forgotten, and what goes with it.
#[derive(Clone, Debug)]
pub struct Departed {
    /// The workspace.
    pub workspace: WorkspaceInfo,
    /// Its snapshots.
    pub snapshots: Vec<Snapshot>,
    /// The runs, watches and conversations that are recorded of it.
    pub runs: Vec<String>,
    /// Bytes that are freed, in the store and beside it.
    pub freed_bytes: u64,
}

impl Home {
    /// What goes if the workspace of that id is forgotten; an error while something needs it.
    pub fn plan_departure(&self, id: &str) -> Result<Departed> {
        let workspace = self.workspaces()?.into_iter().find(|workspace| workspace.id == id);
        let workspace = workspace.ok_or_else(|| Error::NoWorkspace(id.into()))?;
        let in_use = |by: String| Error::WorkspaceInUse { path: workspace.path.clone(), by };
        if let Some(fork) = &workspace.fork {
            return Err(in_use(format!("it is the fork {fork}, which `belay forks rm {fork}` removes")));
        }
        if let Some(fork) = self.forks()?.into_iter().find(|fork| fork.origin == id) {
            return Err(in_use(format!("the fork {} was made of it", fork.name)));
        }
        let runs: Vec<_> = self.runs()?.into_iter().filter(|run| run.workspace == id).collect();
        if let Some(run) = runs.iter().find(|run| run.is_live()) {
            return Err(in_use(format!("{} goes on in it", run.id)));
        }
        if !needed(self, id)?.is_empty() {
            return Err(in_use("a rollback of it was interrupted and waits for the next command there".to_owned()));
        }
        let snapshots = Timeline::read(self.disk(), &timeline_name(id))?.snapshots().to_vec();
        let runs: Vec<String> = runs.into_iter().map(|run| run.id).collect();
        let beside = runs.iter().map(|run| self.run_dir(run)).chain([self.path().join("workspaces").join(id)]);
        let freed_bytes = self.freed_without(&snapshots)? + beside.map(|dir| bytes_beneath(&dir)).sum::<u64>();
        Ok(Departed { workspace, snapshots, runs, freed_bytes })
    }

    /// Forgets it, and frees what nothing needs any more.
    pub fn forget_workspace(&self, departed: &Departed) -> Result<Pruned> {
        let id = departed.workspace.id.as_str();
        let lock = lock_name(id);
        let held = self.disk().lock(&lock, LockMode::Exclusive, false).map_err(Error::disk("lock", &lock))?;
        if held.is_none() {
            let by = "a helper answers its hooks; `belay stop --helper` there ends it".to_owned();
            return Err(Error::WorkspaceInUse { path: departed.workspace.path.clone(), by });
        }
        // As it is now: whoever took one more snapshot meanwhile needs it.
        let ids: Vec<String> = departed.snapshots.iter().map(|snapshot| snapshot.id.clone()).collect();
        delete_records(self, id, &ids, Why::Asked)?;
        // Whoever lists a snapshot from here on finds the workspace forgotten, and does not begin its history anew.
        let lock = format!("workspaces/{id}/lock");
        let still = self.disk().lock(&lock, LockMode::Exclusive, true).map_err(Error::disk("lock", &lock))?;
        Index::forget(self.disk(), id, || {
            if !Timeline::read(self.disk(), &timeline_name(id))?.snapshots().is_empty() {
                let by = "a snapshot of it was taken just now".to_owned();
                return Err(Error::WorkspaceInUse { path: departed.workspace.path.clone(), by });
            }
            for run in &departed.runs {
                remove_all(&self.run_dir(run))?;
            }
            // A cache or a spare without a timeline would tell of a loss, so they go first.
            self.drop_cache(id)?;
            spare::remove(self.disk(), &timeline_name(id))?;
            match self.disk().remove(&timeline_name(id)) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                removed => removed.map_err(Error::disk("remove", &timeline_name(id))),
            }
        })?;
        // As long as it was in the list, its directory missing would have told of a loss.
        remove_all(&self.path().join("workspaces").join(id))?;
        // Whoever waits for it holds what a collection waits for.
        drop(still);
        Ok(self.free_after(departed.snapshots.clone()))
    }
}

fn remove_all(dir: &Path) -> Result<()> {
    for tries in 1.. {
        match fs::remove_dir_all(dir) {
            // Whoever has it open may put a lock or a cache there at the same moment.
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty && tries < REMOVE_TRIES_MAX => {}
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::path("remove", dir)(error)),
            _ => break,
        }
    }
    Ok(())
}

/// Bytes of the files beneath a directory, as far as they can be listed.
fn bytes_beneath(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => bytes_beneath(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    });
    bytes.sum()
}
