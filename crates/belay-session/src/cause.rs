//! Taking back one step, a command or a turn, and keeping what came later.
//!
//! The inverse of the step is merged into the present, and the result is a tree of its own in the store; going there is a
//! rollback like any other: planned, announced, resumed after a crash, and taken back by `belay undo`. What cannot be
//! told apart is a conflict: the present stays, and the version before the step is put beside it.

mod bounds;
mod doers;
mod evidence;
mod moves;
mod places;
mod step;
mod touched;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use belay_event::Action;
use belay_store::{
    Applied, Carried, Change, Clash, Conflict, Edit, Entry, Faults, Hash, Kind as EntryKind, Left, Merged, MtimePolicy,
    Node, OnDamage, Ousted, Scope, Spared,
};

use crate::blend::{Meant, change_of, paths_of, weigh};
use crate::error::{Error, Result};
use crate::present::Tree;
use crate::record::{Cause, Kind, Origin, RewindKind, Snapshot};
use crate::rollback::{Aim, Outcome, Recovered, Stage, usual_mtime};
use crate::snapshot::{Look, SnapshotRequest};
use crate::workspace::{Work, Workspace};

use places::{Around, Placed};
use step::{Account, Step, tops};
pub use step::{StepInfo, StepName};
use touched::{Deed, Touched, removed};

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
    /// What else is known of the step.
    pub known: Circumstances,
}

/// What is known of a step beside what is to be done.
#[derive(Clone, Debug, Default)]
pub struct Circumstances {
    /// Which commands had a hand in paths that therefore stay.
    pub rivals: BTreeMap<Vec<u8>, String>,
    /// What the step changed and snapshots leave out.
    pub left_out: Vec<Vec<u8>>,
    /// What stays because it is as it was before the step began, although a later snapshot does not have it.
    pub kept: Vec<Vec<u8>>,
}

/// What taking back a step did.
#[derive(Clone, Debug)]
pub struct Reverted {
    /// The step.
    pub step: StepInfo,
    /// The paths that stayed, and why.
    pub conflicts: Vec<Conflict>,
    /// What else is known of the step.
    pub known: Circumstances,
    /// What was changed; none if there was nothing to do.
    pub outcome: Option<Outcome>,
}

/// What is to be done, and what the tree that it leads to is made of beside what the store holds.
struct Inverted {
    merged: Merged,
    /// Directories of the tree before the step that only memory has.
    unwritten: HashMap<Hash, Arc<Node>>,
    /// What is only moved.
    carried: Carried,
    known: Circumstances,
}

impl Workspace<'_> {
    /// What taking back the step would do; nothing is written.
    pub fn plan_revert(&self, request: &RevertRequest, work: Work<'_>) -> Result<RevertPlan> {
        let step = self.step(&request.step)?;
        let before = self.whole_tree(&step.info.before)?;
        let now = self.look(Look { keep: Some(before.manifest()), ..Look::default() }, work)?;
        let Inverted { merged, known, .. } = self.inverse(&step, &before, &now)?;
        let mut changes: Vec<Change> = merged.edits.into_iter().map(change_of).collect();
        weigh(&mut changes);
        Ok(RevertPlan { step: step.info, changes, conflicts: merged.conflicts, known })
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
        let before = self.whole_tree(&step.info.before)?;
        let still = self.hold_still()?;
        tell(Stage::Capturing);
        let captured = self.capture(Look { keep: Some(before.manifest()), ..Look::default() }, work)?;
        let now = Tree::stored(captured.manifest.clone());
        let Inverted { merged, unwritten, carried, known } = self.inverse(&step, &before, &now)?;
        if merged.edits.is_empty() {
            return Ok(Reverted { step: step.info, conflicts: merged.conflicts, known, outcome: None });
        }
        let safety = self.name_safety(captured, &format!("before undoing {}", step.info.what))?;
        tell(Stage::Captured(&safety));
        let (ours, theirs) = (now.manifest(), before.manifest());
        let (target, manifest) = self.plant_moved(&merged, ours, theirs, &without(&step), &unwritten, &carried)?;
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
        Ok(Reverted { step: step.info, conflicts: merged.conflicts, known, outcome: Some(outcome) })
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
    fn inverse(&self, step: &Step, before: &Tree, now: &Tree) -> Result<Inverted> {
        let deeds = step.account.as_ref().map_or(&[][..], |account| &account.deeds);
        let after = step.info.after.as_ref().map(|after| self.whole_tree(after)).transpose()?;
        let unlocked = match &after {
            Some(after) => self.without_locks(after, now, deeds)?,
            None => None,
        };
        let (after, unlocked_before) = (unlocked.or(after), self.without_locks(before, now, deeds)?);
        let before = unlocked_before.as_ref().unwrap_or(before);
        let groups = [after.as_ref().unwrap_or(now), now, before]
            .map(|tree| tree.links(self.home.store()).map(|links| links.groups));
        let [after_links, links, before_links] = groups;
        let groups = [after_links?, links?, before_links?];
        // Whoever asks is told nothing of what he is kept from, and no copy of it is put beside it.
        let spared = self.guard().spared().with_names_of(&[&groups[0], &groups[1], &groups[2]]);
        let around = Around { before, after: after.as_ref(), now };
        let placed = match &step.account {
            Some(account) => self.place(account, &around, &spared)?,
            None => None,
        };
        if let Some(placed) = placed {
            let mut merged = self.merged_in_place(step, &placed, &groups, now, &spared)?;
            // Moves that lead to a loss were misread: names alone decide then.
            let early = step.early.as_ref().map(|early| self.whole_tree(early)).transpose()?;
            let mut is_lossy = self.takes_away(&merged, before, now)?;
            if let Some(early) = &early {
                is_lossy = is_lossy || self.takes_away(&merged, early, now)?;
            }
            if !is_lossy {
                self.keep_repositories_whole(&mut merged, now)?;
                let known = self.known(step, &placed.deeds, &mut merged, &around)?;
                let unwritten = placed.before.unwritten().clone();
                return Ok(Inverted { merged, unwritten, carried: placed.carried, known });
            }
        }
        let mut merged = self.merged_around(step, deeds, &[], &around, &groups, &spared)?;
        // Who did what to a path before the step is in doubt where a snapshot from after its beginning is gone by.
        let kept = match &step.early {
            Some(early) => self.keep_untouched(&mut merged, &self.whole_tree(early)?, now)?,
            None => Vec::new(),
        };
        self.keep_repositories_whole(&mut merged, now)?;
        let known = Circumstances { kept, ..self.known(step, deeds, &mut merged, &around)? };
        Ok(Inverted { merged, unwritten: before.unwritten().clone(), carried: Carried::new(), known })
    }

    /// Who else had a hand in what stays, and what the step did that no snapshot shows: what it removed of that is lost.
    fn known(&self, step: &Step, deeds: &[Deed], merged: &mut Merged, around: &Around<'_>) -> Result<Circumstances> {
        let Some(account) = &step.account else {
            let left_out = self.left_out(&step.info.before)?;
            return Ok(Circumstances { left_out, ..Circumstances::default() });
        };
        let rivals = account.doers.rivals(&merged.conflicts, deeds);
        let mut left_out = self.left_out(&step.info.before)?;
        left_out.extend(step.info.after.as_ref().map(|after| self.left_out(after)).transpose()?.unwrap_or_default());
        left_out.sort();
        left_out.dedup();
        let own = || account.deeds.iter().filter(|deed| deed.mine && !deed.late);
        let is_at = |deed: &Deed, gap: &Vec<u8>| {
            let path = deed.change.path.bytes();
            path.strip_prefix(&gap[..]).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        };
        left_out.retain(|gap| own().any(|deed| is_at(deed, gap)));
        let was_there = self.left_out(&step.info.before)?;
        for gap in left_out.iter().filter(|gap| was_there.contains(gap)) {
            let is_removed = own().any(|deed| deed.change.action == Action::Deleted && is_at(deed, gap));
            let is_told = merged.conflicts.iter().any(|conflict| conflict.path == *gap);
            if is_removed && !is_told && !self.holds(gap) && self.entry(around.now, gap)?.is_none() {
                let path = gap.clone();
                merged.conflicts.push(Conflict { path, clash: Clash::NotCaptured, beside: None });
            }
        }
        Ok(Circumstances { rivals, left_out, kept: Vec::new() })
    }

    /// Merges the way back with everything where it is to be.
    fn merged_in_place(
        &self,
        step: &Step,
        placed: &Placed,
        groups: &[Vec<Vec<Vec<u8>>>; 3],
        now: &Tree,
        spared: &Spared,
    ) -> Result<Merged> {
        let groups = [
            placed.names(groups[0].clone(), placed.after.is_none()),
            placed.names(groups[1].clone(), true),
            placed.names(groups[2].clone(), false),
        ];
        let around = Around { before: &placed.before, after: placed.after.as_ref(), now: &placed.now };
        let mut merged = self.merged_around(step, &placed.deeds, &placed.ousted, &around, &groups, spared)?;
        self.as_of(&mut merged, now, &placed.now)?;
        let told = placed.conflicts.iter().filter(|conflict| !spared.lies_within(&conflict.path));
        merged.conflicts.extend(told.cloned());
        Ok(merged)
    }

    /// Merges the way back from after the step to before it into what is there.
    fn merged_around(
        &self,
        step: &Step,
        deeds: &[Deed],
        ousted: &[Ousted],
        around: &Around<'_>,
        groups: &[Vec<Vec<Vec<u8>>>; 3],
        spared: &Spared,
    ) -> Result<Merged> {
        let Around { before, after, now } = *around;
        let account = step.account.as_ref();
        let mut touched = account.map_or(Touched::All, |account| Touched::by(deeds, account.has_rest));
        groups.iter().flatten().for_each(|names| touched.join(names));
        let is_command = account.is_some_and(|account: &Account| !account.has_rest);
        let removed = if is_command { removed(deeds) } else { Vec::new() };
        let ousted: Vec<Ousted> = ousted.iter().filter(|one| !spared.lies_within(&one.path)).cloned().collect();
        let meant = Meant {
            is_meant: &|path| touched.is_meant(path) && !spared.contains(path),
            is_doubtful: &|path| touched.is_doubtful(path),
            share: &|path, left| account.and_then(|account| account.doers.share(deeds, path, left)),
            is_removed: &|path| removed.iter().any(|removed| removed == path),
            ousted: &ousted,
            suffix: &step.info.suffix,
        };
        let mut merged = self.merged([after.unwrap_or(now), now, before], &meant)?;
        self.keep_together(&mut merged, now, &groups[1], spared)?;
        for path in removed.iter().filter(|path| !spared.contains(path)) {
            if self.entry(before, path)?.is_none() && self.entry(now, path)?.is_none() {
                merged.conflicts.push(Conflict { path: path.clone(), clash: Clash::Unseen, beside: None });
            }
        }
        let unclaimed = deeds.iter().filter(|deed| deed.vanished).map(|deed| deed.change.path.bytes());
        let unclaimed = unclaimed.filter(|path| !spared.contains(path));
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

    /// Has the edits begin with what is there, and not with what would be there once everything is in its place.
    fn as_of(&self, merged: &mut Merged, now: &Tree, placed: &Tree) -> Result<()> {
        let mut edits: BTreeMap<Vec<u8>, Edit> = BTreeMap::new();
        let algorithm = self.home.store().algorithm();
        for change in self.changes(now, placed, &Scope::default())? {
            if change.what().is_nothing() || change.opaque {
                continue;
            }
            let Change { path, before, mut after, .. } = change;
            if let Some(Entry { kind: kind @ EntryKind::Dir { .. }, .. }) = &mut after {
                *kind = EntryKind::empty_dir(algorithm);
            }
            edits.insert(path.clone(), Edit { path, before, after, bytes: None });
        }
        for mut edit in std::mem::take(&mut merged.edits) {
            edit.before = self.entry(now, &edit.path)?;
            let there = self.entry(placed, &edit.path)?.map(|entry| entry.kind);
            if let Some(after) = edit.after.as_mut().filter(|after| Some(&after.kind) == there.as_ref())
                && matches!(after.kind, EntryKind::Dir { .. })
            {
                after.kind = match &edit.before {
                    Some(Entry { kind: kind @ EntryKind::Dir { .. }, .. }) => kind.clone(),
                    _ => EntryKind::empty_dir(algorithm),
                };
            }
            edits.insert(edit.path.clone(), edit);
        }
        merged.edits = edits.into_values().filter(|edit| edit.before != edit.after).collect();
        Ok(())
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
    let (kind, target, paths, changed) = (aim.kind, aim.target, aim.paths, applied.changed);
    Outcome { kind, safety: Some(safety), target, paths, changed, left, recovered }
}
