//! Runs whose workspace is an overlay: what they wrote lies apart, can be looked at, applied in part, or discarded.
//!
//! Invariants: an ephemeral run changes nothing in the workspace; what it wrote becomes an ordinary snapshot, so that
//! applying it is a merge of it, with a plan, a safety snapshot and an undo; it is captured before it is discarded.

mod waiting;

use std::io;
use std::path::Path;

use belay_event::Raw;
use belay_store::{Edit, Kind as EntryKind, Manifest, Opaque, Root, View, graft};

use crate::blend::Incoming;
use crate::error::{Error, Result};
use crate::home::Home;
use crate::log::replace;
use crate::overlay::{Modes, Overlay};
use crate::record::{Cause, Kind, Origin, Snapshot};
use crate::rollback::Shut;
use crate::run::RunRecord;
use crate::snapshot::{Look, SnapshotRequest};
use crate::workspace::{Work, Workspace};

/// What an ephemeral run wrote, or what was changed in a fork.
#[derive(Clone, Debug)]
pub struct Written {
    /// The workspace with it.
    pub snapshot: Snapshot,
    /// What of it can be applied: every path that the run changed and that is captured or there.
    pub paths: Vec<Vec<u8>>,
    /// What of it the snapshot lacks, and why.
    pub lacking: Vec<(Vec<u8>, Opaque)>,
}

impl Home {
    /// Where a run's changes are kept apart.
    pub(crate) fn layer_of(&self, run: &str, workspace: &Path) -> Overlay {
        Overlay::new(workspace, &self.run_dir(run))
    }

    /// Opens what an ephemeral run wrote and shut, and returns it with the modes that it gave it.
    fn open_written(&self, run: &RunRecord, layer: &Overlay) -> Result<Modes> {
        let name = format!("runs/{}/shut.json", run.id);
        let before: Vec<(Raw, u16)> = match self.disk().read(&name) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|_| Error::TooNew { name: name.clone() })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::disk("read", name)(error)),
        };
        let before = before.into_iter().map(|(path, mode)| (path.bytes().to_vec(), mode)).collect();
        layer.open_up(before, &mut |modes| {
            let modes: Vec<(Raw, u16)> = modes.iter().map(|(path, mode)| (Raw::from(path.as_slice()), *mode)).collect();
            replace(self.disk(), &name, &serde_json::to_vec(&modes).expect("paths and numbers are plain data"))
        })
    }

    /// Forgets what an ephemeral run wrote; it stays in the snapshots that were taken of it.
    pub fn discard_written(&self, run: &RunRecord) -> Result<()> {
        self.layer_of(&run.id, Path::new("")).remove()
    }
}

impl Workspace<'_> {
    /// What an ephemeral run has written so far, as a snapshot; the same one if nothing was written since.
    pub fn written(&self, run: &RunRecord, work: Work<'_>) -> Result<Written> {
        let layer = self.home.layer_of(&run.id, self.path());
        if !run.confinement.ephemeral || !layer.exists() {
            return Err(Error::NothingTo("review"));
        }
        // A run that goes on would see what is opened.
        let modes = if run.is_live() { Modes::new() } else { self.home.open_written(run, &layer)? };
        let mut changed = layer.changed()?;
        if changed.is_empty() {
            return Err(Error::NothingTo("review"));
        }
        let whole = layer.open()?;
        let timeline = self.timeline()?;
        let before = run.pre_run.as_deref().and_then(|id| timeline.get(id));
        let before = before.map(|before| Manifest::read(self.home.store(), &before.manifest)).transpose()?;
        let dirty = before.as_ref().map(|before| (before, changed.as_slice()));
        // Never by the stat cache, whose numbers are those of the workspace.
        let look = Look { full: dirty.is_none(), dirty, root: Some(&whole), ..Look::default() };
        let captured = self.capture(look, work)?;
        let (shut, aside) = self.led_nowhere(run, (before.as_ref(), &whole), self.shut_again(&captured, &modes)?)?;
        changed.extend(aside);
        let description = described(run);
        let same = |taken: &&Snapshot| {
            taken.description.as_deref() == Some(&description) && taken.root == shut.manifest.identity
        };
        let snapshot = match timeline.snapshots().iter().rev().find(same) {
            Some(taken) => taken.clone(),
            None => self.name_tree(&shut.manifest, shut.key, shut.stored_bytes, &request(run, description.clone()))?,
        };
        self.written_in(snapshot, &shut.manifest, changed)
    }

    /// The newest snapshot of what an ephemeral run wrote, if one was taken and is still there.
    pub fn written_before(&self, run: &RunRecord) -> Result<Option<Snapshot>> {
        let description = described(run);
        let is_it = |taken: &&Snapshot| taken.description.as_deref() == Some(&description);
        Ok(self.timeline()?.snapshots().iter().rev().find(is_it).cloned())
    }

    /// What was written, with what leads git elsewhere under other names, as after any run; and those names.
    ///
    /// What a run must not make it can make in a layer all the same, and whoever takes that over would have it.
    fn led_nowhere(
        &self,
        run: &RunRecord,
        (before, whole): (Option<&Manifest>, &Root),
        shut: Shut,
    ) -> Result<(Shut, Vec<Vec<u8>>)> {
        // Without a tree from before nothing can be brought in.
        let (Some(before), Ok(guard)) = (before, self.home.guard_of(&run.id)) else { return Ok((shut, Vec::new())) };
        let store = self.home.store();
        let mut edits = Vec::new();
        let entered = guard.unheld.iter().flat_map(|unheld| unheld.entered_since(whole));
        for unheld in entered.collect::<Vec<_>>().iter().chain(&guard.unheld) {
            edits.extend(unheld.edits(View::stored(store), &shut.manifest, before, &run.id)?);
        }
        edits.sort_by(|one: &Edit, other| one.path.cmp(&other.path));
        edits.dedup_by(|one, other| one.path == other.path);
        if edits.is_empty() {
            return Ok((shut, Vec::new()));
        }
        let batch = store.begin()?;
        let mut worker = batch.worker();
        let tree = graft(store, &mut worker, &shut.manifest, &shut.manifest, &edits, &belay_store::Carried::new())?;
        worker.done()?;
        let (grown, guard) = batch.finish()?;
        let paths = edits.into_iter().map(|edit| edit.path).collect();
        Ok((Shut::new(tree, shut.stored_bytes + grown, guard), paths))
    }

    /// What was written, if it is these paths and this is the snapshot of it.
    pub(crate) fn written_in(&self, snapshot: Snapshot, tree: &Manifest, changed: Vec<Vec<u8>>) -> Result<Written> {
        let view = View::stored(self.home.store());
        let (mut paths, mut lacking) = (Vec::new(), Vec::new());
        for path in changed {
            let entry = view.lookup(&tree.root, &path)?;
            if let Some(EntryKind::Opaque { reason, .. }) = entry.as_ref().map(|entry| &entry.kind) {
                lacking.push((path.clone(), *reason));
            }
            if entry.is_some() || self.holds(&path) {
                paths.push(path);
            }
        }
        Ok(Written { snapshot, paths, lacking })
    }

    /// What an ephemeral run wrote, to be brought into the workspace; only these paths, or all of it.
    pub fn incoming_of(&self, run: &RunRecord, written: &Written, paths: Vec<Vec<u8>>) -> Result<Incoming> {
        let timeline = self.timeline()?;
        let base = run.pre_run.as_deref().and_then(|id| timeline.get(id)).cloned();
        let base = base.ok_or_else(|| Error::NoneBefore { step: run.id.clone() })?;
        let paths = if paths.is_empty() { written.paths.clone() } else { paths };
        let (what, suffix) = (format!("what {} wrote", run.id), run.id.replace('_', "-"));
        Ok(Incoming { what, suffix, fork: None, base, theirs: written.snapshot.clone(), paths })
    }

    /// Whether something is at a path of the workspace now.
    pub(crate) fn holds(&self, path: &[u8]) -> bool {
        let split = path.iter().rposition(|byte| *byte == b'/');
        let (parent, name) = split.map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..]));
        self.root().dir_path_only(parent).and_then(|parent| parent.stat(name)).is_ok()
    }
}

/// What the snapshots of what a run wrote are described as.
fn described(run: &RunRecord) -> String {
    format!("what {} wrote, not applied", run.id)
}

fn request(run: &RunRecord, description: String) -> SnapshotRequest {
    SnapshotRequest {
        kind: Kind::Manual,
        origin: Origin::Auto,
        description: Some(description),
        cause: Cause { trigger: Some(format!("review of {}", run.id)), ..Cause::default() },
        // The workspace was never in it.
        imported: true,
        ..SnapshotRequest::default()
    }
}
