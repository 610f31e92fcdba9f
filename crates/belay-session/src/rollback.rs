//! Going back: safety snapshot, plan, intent, apply, record.
//!
//! The plan is made from the safety snapshot and not from the live tree, so that everything it changes or
//! removes is captured by construction. From the moment the intent is durable until it is cleared, whatever
//! happens, the next command finds it and finishes (see `recover`).

mod opening;

pub(crate) use opening::Shut;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use belay_store::{
    Applied, ApplyOptions, Captured, Change, Coverage, Entry, Faults, GapKind, Kind as EntryKind, Left, LeftReason,
    Links, Lock, LockMode, Manifest, MtimePolicy, Node, OnDamage, OnStop, Plan, Scope, Sides, Step, Store, View, apply,
    diff, extract, plan, tidy_up,
};
use jiff::Timestamp;

use self::opening::Opening;
use crate::budget::Spared;
use crate::error::{Error, Result};
use crate::guard::Guard;
use crate::home::Home;
use crate::intent::{Intent, Named};
use crate::present::Tree;
use crate::record::{Kind, Origin, PathText, Record, RewindKind, Rewound, Snapshot};
use crate::retention::Pruned;
use crate::snapshot::{Look, SnapshotRequest};
use crate::timeline::Timeline;
use crate::workspace::{Work, Workspace};

/// What the files are called that are not yet in their place when a snapshot is written elsewhere.
pub const EXTRACT_PREFIX: &str = ".belay-extract-";

/// Where to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// To a snapshot; without a name to the pre-run snapshot of the latest run, else to the latest snapshot.
    To(Option<String>),
    /// Some files of a snapshot, and nothing else.
    Files(String),
    /// To before the last rollback that was not undone.
    Undo,
    /// To before the last undo that was not redone.
    Redo,
}

/// What to go back to, and how much of it.
#[derive(Clone, Debug)]
pub struct RewindRequest {
    /// Where to go.
    pub goal: Goal,
    /// The paths beneath the workspace that are meant; none mean all (for undo and redo: those of the rollback).
    pub paths: Vec<Vec<u8>>,
    /// The modification times; without it, exact if build outputs were captured too.
    pub mtime: Option<MtimePolicy>,
    /// What becomes of files whose content the store holds no longer as it was.
    pub on_damage: OnDamage,
}

/// What a rollback would do.
pub struct RewindPlan {
    /// Which command it is.
    pub kind: RewindKind,
    /// The snapshot that would be restored.
    pub target: Snapshot,
    /// The paths that are meant; none mean all.
    pub paths: Vec<Vec<u8>>,
    /// The modification times.
    pub mtime: MtimePolicy,
    /// The steps.
    pub plan: Plan,
}

/// How far a rollback is.
#[derive(Clone, Debug)]
pub enum Stage<'a> {
    /// The present is being captured.
    Capturing,
    /// The present is captured.
    Captured(&'a Snapshot),
    /// The files are being swapped as planned.
    Restoring(&'a Plan),
    /// The files were swapped.
    Restored,
}

/// What a rollback did.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Which command it was.
    pub kind: RewindKind,
    /// The safety snapshot of what was there before; none if there was nothing to do.
    pub safety: Option<Snapshot>,
    /// The snapshot that was restored.
    pub target: Snapshot,
    /// The paths that were meant; none mean the whole workspace.
    pub paths: Vec<Vec<u8>>,
    /// How many paths were changed.
    pub changed: u64,
    /// What was left, and why.
    pub left: Vec<Left>,
    /// Interrupted rollbacks that were finished or reversed first.
    pub recovered: Vec<Recovered>,
}

/// An interrupted rollback that was dealt with.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// Which command it was.
    pub kind: RewindKind,
    /// When it began.
    pub at: Timestamp,
    /// The snapshot that it was to restore.
    pub target: String,
    /// The safety snapshot of what was there before.
    pub safety: String,
    /// Whether it was taken back instead of finished, because the target is damaged.
    pub reversed: bool,
    /// How many paths were changed now.
    pub changed: u64,
    /// What was left, and why.
    pub left: Vec<Left>,
    /// Why it could be neither finished nor reversed; it is tried again by the next command.
    pub failed: Option<String>,
}

/// A request of which everything is known.
pub(crate) struct Aim {
    pub(crate) kind: RewindKind,
    pub(crate) target: Snapshot,
    pub(crate) manifest: Manifest,
    pub(crate) paths: Vec<Vec<u8>>,
    pub(crate) mtime: MtimePolicy,
    pub(crate) on_damage: OnDamage,
}

impl Workspace<'_> {
    /// What the rollback would do; nothing is written.
    pub fn plan_rewind(&self, request: &RewindRequest, work: Work<'_>) -> Result<RewindPlan> {
        let store = self.home.store();
        let timeline = self.timeline()?;
        let aim = self.aim(&timeline, request)?;
        let now = self.look(Look { keep: Some(&aim.manifest), ..Look::default() }, work)?;
        self.check_paths(&aim, &now.view(store), now.manifest())?;
        let scope = Scope::new(aim.paths.clone()).sparing(self.guard().spared());
        let (view, links) = (now.view(store), now.links(store)?);
        let mut plan = plan(view, now.manifest(), &links, &aim.manifest, &scope, belay_sys::is_root())?;
        tell_hidden(&mut plan, &self.guard(), &scope, [(view, now.manifest()), (View::stored(store), &aim.manifest)])?;
        // What will be opened is not in the way then.
        let opened: HashSet<&[u8]> = plan.steps.iter().filter(Step::opens).map(|step| step.path).collect();
        plan.left.retain(|left| !opened.contains(left.path.as_slice()));
        let plan = plan.as_if_opened();
        Ok(RewindPlan { kind: aim.kind, target: aim.target, paths: aim.paths, mtime: aim.mtime, plan })
    }

    /// Carries the rollback out.
    pub fn rewind(&self, request: &RewindRequest, work: Work<'_>, tell: &mut dyn FnMut(Stage<'_>)) -> Result<Outcome> {
        self.rewind_until(request, work, tell, None)
    }

    /// Carries the rollback out, unless it meets the fault.
    #[doc(hidden)]
    pub fn rewind_until(
        &self,
        request: &RewindRequest,
        work: Work<'_>,
        tell: &mut dyn FnMut(Stage<'_>),
        faults: Option<&Faults>,
    ) -> Result<Outcome> {
        let _lock = self.lock_rollback()?.ok_or(Error::RollbackBusy)?;
        // What a run changes between the capture and the swap would be neither kept nor taken back.
        let still = self.hold_still()?;
        let recovered = self.recover_locked(work)?;
        let timeline = self.timeline()?;
        let aim = self.aim(&timeline, request)?;
        tell(Stage::Capturing);
        let look = Look { keep: Some(&aim.manifest), ..Look::default() };
        let mut thinned = Pruned::default();
        let mut capture = |room| self.capture(Look { room, ..look }, work);
        let captured =
            self.within_budget(Spared { ids: &[&aim.target.id], beginning: None }, &mut thinned, &mut capture)?;
        let view = View::stored(self.home.store());
        self.check_paths(&aim, &view, &captured.manifest)?;
        let plan = self.plan_between(&captured.manifest, &aim.manifest, &aim.paths, &self.guard())?;
        let (captured, plan, opening) = self.open_shut(&aim, (captured, plan), work, faults)?;
        // An undo counts even if somebody has put everything back by hand: the next one goes further back.
        let is_idle = plan.steps.is_empty() && opening.is_empty();
        if is_idle && matches!(aim.kind, RewindKind::Rollback | RewindKind::Restore) {
            let (kind, target, paths, left) = (aim.kind, aim.target, aim.paths, plan.left);
            return Ok(Outcome { kind, safety: None, target, paths, changed: 0, left, recovered });
        }
        let why = format!("before {} to {}", aim.kind.name(), aim.target.id);
        let safety = match opening.is_empty() {
            true => self.name_safety(captured, &why)?,
            false => self.name_shut(captured, &opening, &why)?,
        };
        tell(Stage::Captured(&safety));
        tell(Stage::Restoring(&plan));
        let applied = self.carry_out_opened(&aim, &safety, &plan, opening, (work, faults))?;
        tell(Stage::Restored);
        let left = plan.left.into_iter().chain(applied.left).collect();
        let (kind, target, paths, changed) = (aim.kind, aim.target, aim.paths, applied.changed);
        let outcome = Outcome { kind, safety: Some(safety), target, paths, changed, left, recovered };
        self.tell_rewound(still, &outcome, &plan.steps);
        self.tidy_store();
        Ok(outcome)
    }

    /// The lock that one rollback of this workspace holds at a time.
    pub(crate) fn lock_rollback(&self) -> Result<Option<Lock>> {
        self.check_unmounted()?;
        let name = self.file("rollback.lock");
        self.home.disk().lock(&name, LockMode::Exclusive, false).map_err(Error::disk("lock", &name))
    }

    /// A layer that a run has mounted must not be changed beside it: the run would see neither the old nor the new.
    fn check_unmounted(&self) -> Result<()> {
        if self.layer().is_none() {
            return Ok(());
        }
        match self.home.open_runs(&self.id)?.into_iter().find(|run| run.is_live()) {
            Some(run) => {
                let fork = self.home.fork_of(&self.id)?.map_or_else(|| self.id.clone(), |fork| fork.name);
                Err(Error::ForkBusy { fork, run: run.id })
            }
            None => Ok(()),
        }
    }

    /// The plan from one snapshot to another, both in the store.
    pub(crate) fn plan_between(
        &self,
        now: &Manifest,
        target: &Manifest,
        paths: &[Vec<u8>],
        guard: &Guard,
    ) -> Result<Plan> {
        let store = self.home.store();
        let scope = Scope::new(paths.to_vec()).sparing(guard.spared());
        let mut plan = plan(View::stored(store), now, &now.links(store)?, target, &scope, belay_sys::is_root())?;
        tell_hidden(&mut plan, guard, &scope, [now, target].map(|tree| (View::stored(store), tree)))?;
        Ok(plan)
    }

    /// Lists a capture of what is about to be changed.
    pub(crate) fn name_safety(&self, captured: Captured, why: &str) -> Result<Snapshot> {
        let description = Some(why.to_owned());
        let request =
            SnapshotRequest { kind: Kind::Safety, origin: Origin::Auto, description, ..SnapshotRequest::default() };
        let safety = self.name(&captured, &request)?;
        self.remember(&captured);
        Ok(safety)
    }

    /// Changes the workspace as planned, with an intent that lasts until it is done and recorded.
    pub(crate) fn carry_out(
        &self,
        aim: &Aim,
        safety: &Snapshot,
        plan: &Plan,
        work: Work<'_>,
        faults: Option<&Faults>,
    ) -> Result<Applied> {
        self.carry_out_opened(aim, safety, plan, Opening::default(), (work, faults))
    }

    /// Writes down, durably, what is about to be done.
    fn announce(&self, aim: &Aim, safety: &Snapshot) -> Result<Intent> {
        let operation = self.home.options.ids.next("op_", 10);
        let intent = Intent {
            prefix: format!(".belay-{operation}-"),
            operation,
            kind: aim.kind,
            target: Named::from(&aim.target),
            safety: Named::from(safety),
            paths: aim.paths.iter().map(|path| PathText::from(path.as_slice())).collect(),
            guard: self.guard(),
            exact_times: aim.mtime == MtimePolicy::Exact,
            leaves_damaged: aim.on_damage == OnDamage::Leave,
            begun_at: safety.created_at,
        };
        intent.write(self.home.disk(), &self.id)?;
        Ok(intent)
    }

    /// The same after something was opened for it.
    fn carry_out_opened(
        &self,
        aim: &Aim,
        safety: &Snapshot,
        plan: &Plan,
        opening: Opening,
        (work, faults): (Work<'_>, Option<&Faults>),
    ) -> Result<Applied> {
        let disk = self.home.disk();
        let root = self.writable()?;
        let intent = self.announce(aim, safety)?;
        opening.intents.iter().try_for_each(|earlier| earlier.clear(disk, &self.id))?;
        let options = ApplyOptions { faults, ..apply_options(&intent, OnStop::OldOrHalf, work) };
        let applied = apply(self.home.store(), &root, plan, &options).map_err(Error::Store);
        let is_half = matches!(applied, Err(Error::Store(belay_store::Error::HalfDone)));
        if is_half || applied.is_err() && faults.is_some_and(has_struck_dead) {
            return applied;
        }
        let mut applied = match applied {
            Ok(applied) => applied,
            Err(error) => {
                // What was opened is changed already; the next command finishes it.
                if opening.is_empty() {
                    self.abandon(&intent, safety, plan, work);
                }
                return Err(damaged(&aim.target.id, error));
            }
        };
        applied.changed += opening.beside(plan);
        self.record(&intent, applied.changed, false)?;
        intent.clear(disk, &self.id)?;
        if applied.changed > 0 {
            self.leave_news(&intent, applied.changed, &mut plan.steps.paths());
        }
        Ok(applied)
    }

    /// Clears the intent of a rollback that failed, if nothing was changed; else the next command finishes it.
    fn abandon(&self, intent: &Intent, safety: &Snapshot, plan: &Plan, work: Work<'_>) {
        let calm = AtomicBool::new(false);
        let is_untouched = || -> Result<bool> {
            let work = Work { stop: &calm, ..work };
            tidy_up(&self.writable()?, plan, &apply_options(intent, OnStop::OldState, work))?;
            let before = self.whole_tree(safety)?;
            let look = Look { keep: Some(before.manifest()), ..Look::default() };
            let now = self.look(look, work)?;
            let planned: HashSet<&[u8]> = plan.steps.paths().collect();
            let mut is_touched = false;
            self.each_change(&before, &now, &Scope::default(), &mut |change| {
                is_touched |= planned.contains(change.path.as_slice());
            })?;
            Ok(!is_touched)
        };
        // In doubt the intent stays: finishing what was never begun does no harm.
        if is_untouched().unwrap_or(false) {
            let _ = intent.withdraw(self.home.disk(), &self.id);
        }
    }

    /// Writes into the timeline that the rollback ended.
    pub(crate) fn record(&self, intent: &Intent, changed: u64, reversed: bool) -> Result<()> {
        let now = self.home.options.clock.now();
        self.publish(|timeline| {
            Ok(vec![Record::Rewind(Rewound {
                operation: intent.operation.clone(),
                kind: intent.kind,
                from: intent.safety.id.clone(),
                to: intent.target.id.clone(),
                paths: intent.paths.clone(),
                at: timeline.instant(now),
                changed,
                reversed,
            })])
        })
        .map(drop)
    }

    /// Works out what a request means at this moment.
    fn aim(&self, timeline: &Timeline, request: &RewindRequest) -> Result<Aim> {
        // Neither done nor told what is there; beside others it is left alone.
        let spared = self.guard().spared();
        if let Some(path) = request.paths.first().filter(|_| request.paths.iter().all(|path| spared.contains(path))) {
            return Err(Error::KeptFrom { path: printable(path) });
        }
        let mut paths = request.paths.clone();
        let mut step_of = |rewind: Option<&&Rewound>, verb| {
            let rewind = rewind.ok_or(Error::NothingTo(verb))?;
            if paths.is_empty() {
                paths = rewind.paths.iter().map(|path| path.bytes().to_vec()).collect();
            }
            let from = timeline.get(&rewind.from).cloned();
            from.ok_or_else(|| Error::SafetyGone { verb, snapshot: rewind.from.clone() })
        };
        let (kind, target) = match &request.goal {
            Goal::To(Some(name)) => (RewindKind::Rollback, self.meant(timeline, name)?),
            Goal::To(None) => (RewindKind::Rollback, default_target(timeline)?.clone()),
            Goal::Files(name) => (RewindKind::Restore, self.meant(timeline, name)?),
            Goal::Undo if timeline.rewinds().is_empty() => (RewindKind::Undo, last_safety(timeline)?.clone()),
            Goal::Undo => (RewindKind::Undo, step_of(timeline.undo_stack().last(), "undo")?),
            Goal::Redo => (RewindKind::Redo, step_of(timeline.redo_stack().last(), "redo")?),
        };
        let store = self.home.store();
        let of_target = |error| damaged(&target.id, Error::Store(error));
        let manifest = Manifest::read(store, &target.manifest).map_err(of_target)?;
        let mtime = usual_mtime(&manifest.coverage(store).map_err(of_target)?);
        let mtime = request.mtime.unwrap_or(mtime);
        Ok(Aim { kind, target, manifest, paths, mtime, on_damage: request.on_damage })
    }

    /// Refuses paths that are nowhere, and for a restore also those that the snapshot does not have.
    fn check_paths(&self, aim: &Aim, view: &View<'_>, now: &Manifest) -> Result<()> {
        // Nobody typed those of a step that is taken back; what is in a directory that nobody can read is not seen.
        if matches!(aim.kind, RewindKind::Undo | RewindKind::Redo) {
            return Ok(());
        }
        for path in &aim.paths {
            let in_target = view.lookup(&aim.manifest.root, path)?.is_some();
            let is_there = aim.kind != RewindKind::Restore && view.lookup(&now.root, path)?.is_some();
            if !in_target && !is_there {
                let target = self.veiled(Tree::stored(aim.manifest.clone()))?;
                let nearest = self.nearest_paths(&target, path)?;
                let nearest = nearest.iter().map(|path| printable(path)).collect();
                let (path, snapshot) = (printable(path), aim.target.id.clone());
                return Err(Error::NotInSnapshot { path, snapshot, nearest });
            }
        }
        Ok(())
    }

    /// The snapshot that a rollback without a name goes back to.
    pub fn default_target(&self) -> Result<Snapshot> {
        let timeline = self.timeline()?;
        default_target(&timeline).cloned()
    }

    /// Writes a snapshot, or some paths of it, into a directory that is new or empty.
    pub fn extract(&self, snapshot: &Snapshot, paths: &[Vec<u8>], to: &Path, work: Work<'_>) -> Result<Applied> {
        self.extract_all_but(OnDamage::Refuse, snapshot, paths, to, work)
    }

    /// The same, and says what becomes of files whose content the store holds no longer as it was.
    pub fn extract_all_but(
        &self,
        on_damage: OnDamage,
        snapshot: &Snapshot,
        paths: &[Vec<u8>],
        to: &Path,
        work: Work<'_>,
    ) -> Result<Applied> {
        self.home.check_outside(to)?;
        let of_snapshot = |error| damaged(&snapshot.id, Error::Store(error));
        let manifest = Manifest::read(self.home.store(), &snapshot.manifest).map_err(of_snapshot)?;
        let options = ApplyOptions {
            mtime: MtimePolicy::Exact,
            prefix: EXTRACT_PREFIX.as_bytes(),
            progress: work.progress,
            stop: work.stop,
            on_stop: OnStop::OldState,
            on_damage,
            faults: None,
        };
        extract(self.home.store(), &manifest, &Scope::new(paths.to_vec()), to, &options).map_err(of_snapshot)
    }
}

/// What is hidden is said to be left whether or not it differs: that alone would tell something of it.
fn tell_hidden(plan: &mut Plan, guard: &Guard, scope: &Scope, trees: [(View<'_>, &Manifest); 2]) -> Result<()> {
    let hidden = guard.hidden();
    if hidden.is_empty() {
        return Ok(());
    }
    let all = Scope::new(hidden.clone());
    plan.left.retain(|left| left.reason != LeftReason::Spared || !all.contains(&left.path));
    for path in hidden.into_iter().filter(|path| scope.may_contain(path)) {
        let mut is_there = false;
        for (view, tree) in &trees {
            is_there |= view.lookup(&tree.root, &path)?.is_some();
        }
        plan.left.extend(is_there.then_some(Left { path, reason: LeftReason::Spared }));
    }
    Ok(())
}

impl Home {
    /// What a rollback to the tree would do in a directory that is empty, such as one that has to be made again.
    pub fn plan_anew(&self, target: &Manifest) -> Result<Plan> {
        with_nothing(self.store(), target, |view, now| {
            let (now, scope) = (Manifest { root: now.clone(), links: None, ..target.clone() }, Scope::default());
            Ok(plan(view, &now, &Links::default(), target, &scope, belay_sys::is_root())?)
        })
    }

    /// What differs from the tree if all of it is gone.
    pub fn changes_when_gone(&self, tree: &Manifest) -> Result<Vec<Change>> {
        with_nothing(self.store(), tree, |after, after_root| {
            let before = View::stored(self.store());
            let sides = Sides { before, before_root: &tree.root, after, after_root };
            let mut changes = Vec::new();
            diff(&sides, &Scope::default(), &mut |change| {
                changes.push(change);
                Ok(())
            })?;
            Ok(changes)
        })
    }
}

/// Calls `use_it` with the directory as it would be without anything in it.
fn with_nothing<T>(store: &Store, tree: &Manifest, use_it: impl FnOnce(View<'_>, &Entry) -> Result<T>) -> Result<T> {
    let empty = Arc::new(Node::default());
    let (node, identity) = (store.algorithm().hash(&empty.encode()), empty.identity(store.algorithm()));
    let nodes = HashMap::from([(node, empty)]);
    let nothing = Entry { kind: EntryKind::Dir { node, identity, files: 0, bytes: 0 }, ..tree.root.clone() };
    use_it(View::with_unwritten(store, &nodes), &nothing)
}

fn printable(path: &[u8]) -> String {
    String::from_utf8_lossy(path).escape_debug().to_string()
}

/// How the changes that an intent announces are made.
pub(crate) fn apply_options<'a>(intent: &'a Intent, on_stop: OnStop, work: Work<'a>) -> ApplyOptions<'a> {
    ApplyOptions {
        mtime: intent.mtime(),
        prefix: intent.prefix.as_bytes(),
        progress: work.progress,
        stop: work.stop,
        on_stop,
        on_damage: if intent.leaves_damaged { OnDamage::Leave } else { OnDamage::Refuse },
        faults: None,
    }
}

/// Without the build outputs of that time, old times would tell make and cargo that theirs are up to date.
pub(crate) fn usual_mtime(coverage: &Coverage) -> MtimePolicy {
    let is_output = |kind| matches!(kind, GapKind::Regenerable | GapKind::GitIgnored);
    let lacks_outputs = coverage.gaps.iter().any(|gap| is_output(gap.kind));
    if lacks_outputs { MtimePolicy::Fresh } else { MtimePolicy::Exact }
}

/// Whether a fault stood for the death of the process, so that nothing may be put right.
fn has_struck_dead(faults: &Faults) -> bool {
    let (after, seen) = (faults.after.load(Ordering::Relaxed), faults.seen.load(Ordering::Relaxed));
    faults.errno.load(Ordering::Relaxed) == 0 && after > 0 && seen >= after
}

/// Says which snapshot cannot be restored if the store turned out to be damaged.
fn damaged(snapshot: &str, error: Error) -> Error {
    match error {
        Error::Store(source @ (belay_store::Error::Corrupt { .. } | belay_store::Error::Missing(_))) => {
            Error::Damaged { snapshot: snapshot.to_owned(), source }
        }
        other => other,
    }
}

/// The pre-run snapshot of the latest run, else the last known state; what belay saved before a rollback does not
/// count, or a second rollback would bring the wreck of the first one back.
fn default_target(timeline: &Timeline) -> Result<&Snapshot> {
    let pre_run = timeline.snapshots().iter().rev().find(|snapshot| snapshot.kind == Kind::PreRun);
    pre_run.map_or_else(|| timeline.resolve_base(), Ok)
}

fn last_safety(timeline: &Timeline) -> Result<&Snapshot> {
    let mut newest = timeline.snapshots().iter().rev();
    newest.find(|snapshot| snapshot.kind == Kind::Safety).ok_or(Error::NothingTo("undo"))
}
