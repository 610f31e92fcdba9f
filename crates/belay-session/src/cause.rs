//! Taking back one step, a command or a turn, and keeping what came later.
//!
//! The inverse of the step is merged into the present, and the result is a tree of its own in the store; going there is a
//! rollback like any other: planned, announced, resumed after a crash, and taken back by `belay undo`. What cannot be
//! told apart is a conflict: the present stays, and the version before the step is put beside it.

mod step;
mod touched;

use std::collections::{HashMap, HashSet};

use belay_store::{
    Applied, Change, Clash, Conflict, Edit, Entry, Faults, Kind as EntryKind, Left, Merged, MtimePolicy, OnDamage,
    Scope, Spared,
};

use crate::blend::{Meant, change_of, paths_of, weigh};
use crate::error::{Error, Result};
use crate::present::Tree;
use crate::record::{Cause, Kind, Origin, RewindKind, Snapshot};
use crate::rollback::{Aim, Outcome, Recovered, Stage, usual_mtime};
use crate::snapshot::{Look, SnapshotRequest};
use crate::workspace::{Work, Workspace};

use step::{Step, tops};
pub use step::{StepInfo, StepName};

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
        let mut step = self.step(&request.step)?;
        let before = self.whole_tree(&step.info.before)?;
        let now = self.look(Look { keep: Some(before.manifest()), ..Look::default() }, work)?;
        let merged = self.inverse(&mut step, &before, &now)?;
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
        let mut step = self.step(&request.step)?;
        let before = self.whole_tree(&step.info.before)?;
        let still = self.hold_still()?;
        tell(Stage::Capturing);
        let captured = self.capture(Look { keep: Some(before.manifest()), ..Look::default() }, work)?;
        let now = Tree::stored(captured.manifest.clone());
        let merged = self.inverse(&mut step, &before, &now)?;
        if merged.edits.is_empty() {
            return Ok(Reverted { step: step.info, conflicts: merged.conflicts, outcome: None });
        }
        let safety = self.name_safety(captured, &format!("before undoing {}", step.info.what))?;
        tell(Stage::Captured(&safety));
        let (target, manifest) = self.plant(&merged, now.manifest(), before.manifest(), &without(&step))?;
        let mtime = request.mtime.unwrap_or(usual_mtime(&before.coverage(self.home.store())?));
        let aim = Aim {
            kind: RewindKind::Revert,
            target,
            manifest,
            paths: paths_of(&merged.edits),
            mtime,
            on_damage: OnDamage::Refuse,
        };
        let plan = self.plan_between(now.manifest(), &aim.manifest, &aim.paths, &self.guard())?;
        tell(Stage::Restoring(&plan));
        let applied = self.carry_out(&aim, &safety, &plan, work, faults)?;
        tell(Stage::Restored);
        let outcome = outcome(aim, safety, plan.left, applied, recovered);
        self.tell_rewound(still, &outcome, &plan.steps);
        self.tidy_store();
        Ok(Reverted { step: step.info, conflicts: merged.conflicts, outcome: Some(outcome) })
    }

    /// The cause of a snapshot that is taken before a turn: of the run that is going on, if there is one.
    pub fn next_turn(&self, prompt: Option<String>) -> Result<Cause> {
        let run = self.home.open_runs(&self.id)?.into_iter().rfind(|run| run.is_live()).map(|run| run.id);
        let timeline = self.timeline()?;
        let turns = timeline.snapshots().iter().filter(|snapshot| snapshot.cause.run == run);
        let turn = turns.filter_map(|snapshot| snapshot.cause.turn).max().unwrap_or_default() + 1;
        let trigger = prompt.map(|prompt| self.shown_prompt(&prompt));
        Ok(Cause { run, turn: Some(turn), trigger, command: None })
    }

    /// What is to be done to `now` so that the step was never made.
    fn inverse(&self, step: &mut Step, before: &Tree, now: &Tree) -> Result<Merged> {
        let after = step.info.after.as_ref().map(|after| self.whole_tree(after)).transpose()?;
        // Whoever asks is told nothing of what he is kept from, and no copy of it is put beside it.
        let trees = [after.as_ref().unwrap_or(now), now, before];
        let groups = trees.map(|tree| tree.links(self.home.store()).map(|links| links.groups));
        let [after_links, links, before_links] = groups;
        let (after_links, links, before_links) = (after_links?, links?, before_links?);
        let spared = self.guard().spared().with_names_of(&[&after_links, &links, &before_links]);
        for names in [&after_links, &links, &before_links].into_iter().flatten() {
            step.touched.join(names);
        }
        let step = &*step;
        let meant = Meant {
            is_meant: &|path| step.touched.is_meant(path) && !spared.contains(path),
            is_doubtful: &|path| step.touched.is_doubtful(path),
            is_removed: &|path| step.removed.iter().any(|removed| removed == path),
            suffix: &step.info.suffix,
        };
        let mut merged = self.merged(trees, &meant)?;
        self.keep_together(&mut merged, now, &links, &spared)?;
        for path in step.removed.iter().filter(|path| !spared.contains(path)) {
            if self.entry(before, path)?.is_none() && self.entry(now, path)?.is_none() {
                merged.conflicts.push(Conflict { path: path.clone(), clash: Clash::Unseen, beside: None });
            }
        }
        let unclaimed = step.unclaimed.iter().filter(|path| !spared.contains(path)).map(Vec::as_slice);
        let stays = self.still_gone(unclaimed.collect(), &merged, before, now)?;
        merged.conflicts.extend(stays.into_iter().map(|path| Conflict { path, clash: Clash::Doubtful, beside: None }));
        // A directory that is put beside another has all that was in it.
        for conflict in merged.conflicts.iter_mut().filter(|conflict| spared.lies_within(&conflict.path)) {
            if let Some(beside) = conflict.beside.take() {
                let inside = Scope::new(vec![beside]);
                merged.edits.retain(|edit| !inside.contains(&edit.path));
            }
        }
        Ok(merged)
    }

    /// A file of several names stays one file: what it becomes by one of them it becomes by all.
    fn keep_together(&self, merged: &mut Merged, now: &Tree, files: &[Vec<Vec<u8>>], spared: &Spared) -> Result<()> {
        let edited: HashMap<&[u8], &Edit> = merged.edits.iter().map(|edit| (&edit.path[..], edit)).collect();
        let staying: HashSet<&[u8]> = merged.conflicts.iter().map(|conflict| &conflict.path[..]).collect();
        let is_file = |entry: &&Entry| matches!(entry.kind, EntryKind::File { .. });
        let mut more = Vec::new();
        for names in files {
            let Some(edit) = names.iter().find_map(|name| edited.get(&name[..])) else { continue };
            let Some(after) = edit.after.as_ref().filter(is_file) else { continue };
            let is_open = |name: &&Vec<u8>| !edited.contains_key(&name[..]) && !staying.contains(&name[..]);
            for path in names.iter().filter(is_open).filter(|name| !spared.contains(name)) {
                let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default().to_vec();
                let (before, after) = (self.entry(now, path)?, Some(Entry { name, ..after.clone() }));
                more.push(Edit { path: path.clone(), before, after, bytes: edit.bytes.clone() });
            }
        }
        merged.edits.extend(more);
        merged.edits.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(())
    }

    /// Those of the paths that were there before and are neither now nor once the merge is carried out.
    fn still_gone(&self, paths: Vec<&[u8]>, merged: &Merged, before: &Tree, now: &Tree) -> Result<Vec<Vec<u8>>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let mut whole: HashSet<&[u8]> = HashSet::new();
        for edit in &merged.edits {
            // A directory that comes back as it was has everything in it; one that only has to be there is empty.
            if let (Some(after), Some(was)) = (&edit.after, self.entry(before, &edit.path)?)
                && after.same_identity(&was)
            {
                whole.insert(&edit.path);
            }
        }
        let edits = merged.edits.iter().map(|edit| &edit.path[..]);
        let known: HashSet<&[u8]> = edits.chain(merged.conflicts.iter().map(|one| &one.path[..])).collect();
        let mut gone = Vec::new();
        for path in paths.into_iter().filter(|path| !known.contains(path)) {
            let mut above = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at]);
            let comes_back = above.any(|dir| whole.contains(dir));
            if !comes_back && self.entry(before, path)?.is_some() && self.entry(now, path)?.is_none() {
                gone.push(path);
            }
        }
        Ok(tops(gone.into_iter()))
    }
}

/// The tree without the step, as it is listed.
fn without(step: &Step) -> SnapshotRequest {
    SnapshotRequest {
        kind: Kind::Auto,
        origin: Origin::Auto,
        description: Some(format!("without {}", step.info.what)),
        cause: Cause { trigger: Some("undo".to_owned()), ..step.cause.clone() },
        ..SnapshotRequest::default()
    }
}

fn outcome(aim: Aim, safety: Snapshot, left: Vec<Left>, applied: Applied, recovered: Vec<Recovered>) -> Outcome {
    let left = left.into_iter().chain(applied.left).collect();
    let (kind, target, changed) = (aim.kind, aim.target, applied.changed);
    Outcome { kind, safety: Some(safety), target, changed, left, recovered }
}
