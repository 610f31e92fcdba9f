//! Taking back one step, a command or a turn, and keeping what came later.
//!
//! The inverse of the step is merged into the present, and the result is a tree of its own in the store; going there is a
//! rollback like any other: planned, announced, resumed after a crash, and taken back by `belay undo`. What cannot be
//! told apart is a conflict: the present stays, and the version before the step is put beside it.

mod step;
mod touched;

use belay_event as event;
use belay_store::{
    Applied, Change, Clash, Conflict, Edit, Entry, Faults, Inverse, Kind as EntryKind, Left, Manifest, Merged,
    MtimePolicy, Scope, Side, Sides, Trees, View, diff, graft, merge,
};

use crate::error::{Error, Result};
use crate::present::Tree;
use crate::record::{Cause, Kind, Origin, RewindKind, Snapshot};
use crate::rollback::{Aim, Outcome, Recovered, Stage, usual_mtime};
use crate::snapshot::{Look, SnapshotRequest};
use crate::workspace::{Work, Workspace};

use step::Step;
pub use step::{StepInfo, StepName};

/// With more paths than this the whole workspace is meant, which leads to the same plan.
const PATHS_MAX: usize = 1000;

/// What to take back, and how.
#[derive(Clone, Debug)]
pub struct RevertRequest {
    /// The step.
    pub step: StepName,
    /// The modification times; without it, exact if build outputs were captured too.
    pub mtime: Option<MtimePolicy>,
}

/// What taking back a step would do.
#[derive(Clone, Debug)]
pub struct RevertPlan {
    /// The step.
    pub step: StepInfo,
    /// The paths that would change, with what is there and what would be.
    pub changes: Vec<Change>,
    /// The paths that would stay, and why.
    pub conflicts: Vec<Conflict>,
}

/// What taking back a step did.
#[derive(Clone, Debug)]
pub struct Reverted {
    /// The step.
    pub step: StepInfo,
    /// The paths that stayed, and why.
    pub conflicts: Vec<Conflict>,
    /// What was changed; none if there was nothing to do.
    pub outcome: Option<Outcome>,
}

impl Workspace<'_> {
    /// What taking back the step would do; nothing is written.
    pub fn plan_revert(&self, request: &RevertRequest, work: Work<'_>) -> Result<RevertPlan> {
        let step = self.step(&request.step)?;
        let before = self.tree(&step.info.before)?;
        let now = self.look(Look { keep: Some(before.manifest()), ..Look::default() }, work)?;
        let merged = self.inverse(&step, &before, &now)?;
        let mut changes: Vec<Change> = merged.edits.into_iter().map(change_of).collect();
        weigh(&mut changes);
        Ok(RevertPlan { step: step.info, changes, conflicts: merged.conflicts })
    }

    /// Takes the step back.
    pub fn revert(&self, request: &RevertRequest, work: Work<'_>, tell: &mut dyn FnMut(Stage<'_>)) -> Result<Reverted> {
        self.revert_until(request, work, tell, None)
    }

    /// Takes the step back, unless it meets the fault.
    #[doc(hidden)]
    pub fn revert_until(
        &self,
        request: &RevertRequest,
        work: Work<'_>,
        tell: &mut dyn FnMut(Stage<'_>),
        faults: Option<&Faults>,
    ) -> Result<Reverted> {
        let _lock = self.lock_rollback()?.ok_or(Error::RollbackBusy)?;
        let recovered = self.recover_locked(work)?;
        let step = self.step(&request.step)?;
        let before = self.tree(&step.info.before)?;
        let still = self.hold_still()?;
        tell(Stage::Capturing);
        let captured = self.capture(Look { keep: Some(before.manifest()), ..Look::default() }, work)?;
        let now = Tree::stored(captured.manifest.clone());
        let merged = self.inverse(&step, &before, &now)?;
        if merged.edits.is_empty() {
            return Ok(Reverted { step: step.info, conflicts: merged.conflicts, outcome: None });
        }
        let safety = self.name_safety(captured, &format!("before undoing {}", step.info.what))?;
        tell(Stage::Captured(&safety));
        let (target, manifest) = self.plant(&step, &merged, now.manifest(), before.manifest())?;
        let mtime = request.mtime.unwrap_or(usual_mtime(&before.coverage(self.home.store())?));
        let aim = Aim { kind: RewindKind::Revert, target, manifest, paths: paths_of(&merged.edits), mtime };
        let plan = self.plan_between(now.manifest(), &aim.manifest, &aim.paths)?;
        tell(Stage::Restoring(&aim.target));
        let applied = self.carry_out(&aim, &safety, &plan, work, faults)?;
        tell(Stage::Restored);
        let outcome = outcome(aim, safety, plan.left, applied, recovered);
        still.release(&told(&outcome));
        self.tidy_store();
        Ok(Reverted { step: step.info, conflicts: merged.conflicts, outcome: Some(outcome) })
    }

    /// The cause of a snapshot that is taken before a turn: of the run that is going on, if there is one.
    pub fn next_turn(&self, prompt: Option<String>) -> Result<Cause> {
        let run = self.home.open_runs(&self.id)?.into_iter().rfind(|run| run.is_live()).map(|run| run.id);
        let timeline = self.timeline()?;
        let turns = timeline.snapshots().iter().filter(|snapshot| snapshot.cause.run == run);
        let turn = turns.filter_map(|snapshot| snapshot.cause.turn).max().unwrap_or_default() + 1;
        Ok(Cause { run, turn: Some(turn), trigger: prompt, command: None })
    }

    /// What is to be done to `now` so that the step was never made.
    fn inverse(&self, step: &Step, before: &Tree, now: &Tree) -> Result<Merged> {
        let store = self.home.store();
        let after = step.info.after.as_ref().map(|after| self.tree(after)).transpose()?;
        let side = |tree| side_of(tree, store);
        let base = side(after.as_ref().unwrap_or(now));
        let read = |path: &[u8], entry: &Entry| self.read(now, path, entry).map_err(into_store);
        let trees = Trees { base, ours: side(now), theirs: side(before), read: &read };
        let sides = Sides {
            before: base.view,
            before_root: base.root,
            after: trees.theirs.view,
            after_root: trees.theirs.root,
        };
        let mut changes = Vec::new();
        diff(&sides, &Scope::default(), &mut |change| {
            changes.push(change);
            Ok(())
        })?;
        let inverse = Inverse {
            changes: &changes,
            is_meant: &|path| step.touched.is_meant(path),
            is_doubtful: &|path| step.touched.is_doubtful(path),
            suffix: step.info.suffix.as_bytes(),
        };
        let mut merged = merge(&trees, &inverse)?;
        for path in &step.removed {
            if self.entry(before, path)?.is_none() && self.entry(now, path)?.is_none() {
                merged.conflicts.push(Conflict { path: path.clone(), clash: Clash::Unseen, beside: None });
            }
        }
        // What was put together just now must look newer than what was built from it.
        let time = belay_sys::now();
        let made = merged.edits.iter_mut().filter(|edit| edit.bytes.is_some());
        made.filter_map(|edit| edit.after.as_mut()).for_each(|entry| entry.meta.mtime = time);
        Ok(merged)
    }

    /// Stores the tree without the step, and lists it.
    fn plant(&self, step: &Step, merged: &Merged, now: &Manifest, before: &Manifest) -> Result<(Snapshot, Manifest)> {
        let store = self.home.store();
        let batch = store.begin()?;
        let mut worker = batch.worker();
        let (key, manifest) = graft(store, &mut worker, now, before, &merged.edits)?;
        worker.done()?;
        // Until it is listed, gc is held off.
        let (grown, _guard) = batch.finish()?;
        let request = SnapshotRequest {
            kind: Kind::Auto,
            origin: Origin::Auto,
            description: Some(format!("without {}", step.info.what)),
            cause: Cause { trigger: Some("undo".to_owned()), ..step.cause.clone() },
            ..SnapshotRequest::default()
        };
        Ok((self.name_tree(&manifest, key, grown, &request)?, manifest))
    }
}

fn outcome(aim: Aim, safety: Snapshot, left: Vec<Left>, applied: Applied, recovered: Vec<Recovered>) -> Outcome {
    let left = left.into_iter().chain(applied.left).collect();
    let (kind, target, changed) = (aim.kind, aim.target, applied.changed);
    Outcome { kind, safety: Some(safety), target, changed, left, recovered }
}

/// What the runs that held still are told.
fn told(outcome: &Outcome) -> event::Rewound {
    event::Rewound {
        kind: outcome.kind.name().to_owned(),
        from: outcome.safety.as_ref().map(|safety| safety.id.clone()).unwrap_or_default(),
        to: outcome.target.id.clone(),
        changed: outcome.changed,
    }
}

fn side_of<'a>(tree: &'a Tree, store: &'a belay_store::Store) -> Side<'a> {
    let view: View<'a> = tree.view(store);
    Side { view, root: &tree.manifest().root }
}

fn into_store(error: Error) -> belay_store::Error {
    match error {
        Error::Store(error) => error,
        other => belay_store::Error::Invalid(other.to_string()),
    }
}

fn change_of(edit: Edit) -> Change {
    Change { path: edit.path, before: edit.before, after: edit.after, opaque: false }
}

/// Has directories that come back count what comes back in them; they are made empty and filled one by one.
fn weigh(changes: &mut [Change]) {
    let sizes: Vec<(Vec<u8>, u64)> = changes
        .iter()
        .filter_map(|change| match change.after.as_ref()?.kind {
            EntryKind::File { size, .. } => Some((change.path.clone(), size)),
            _ => None,
        })
        .collect();
    for change in changes.iter_mut().filter(|change| change.before.is_none()) {
        let Some(EntryKind::Dir { files, bytes, .. }) = change.after.as_mut().map(|entry| &mut entry.kind) else {
            continue;
        };
        let is_inside = |path: &[u8]| path.strip_prefix(&*change.path).is_some_and(|rest| rest.first() == Some(&b'/'));
        let inside = || sizes.iter().filter(|(path, _)| is_inside(path));
        if *files == 0 {
            (*files, *bytes) = (inside().count() as u64, inside().map(|(_, size)| size).sum());
        }
    }
}

/// The paths that change, so that an undo brings back these and no others.
fn paths_of(edits: &[Edit]) -> Vec<Vec<u8>> {
    let is_whole = edits.len() > PATHS_MAX || edits.iter().any(|edit| edit.path.is_empty());
    if is_whole { Vec::new() } else { edits.iter().map(|edit| edit.path.clone()).collect() }
}
