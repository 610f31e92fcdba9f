//! Finishing, or taking back, what an interruption left half done.
//!
//! Between the crash and the next command somebody may have worked on. Only a path that is still as the
//! interrupted rollback found it is changed: then the safety snapshot holds it. Every other path is left.

use std::collections::HashSet;

use belay_store::{Entry, Left, LeftReason, Manifest, Plan, Step, View, tidy_up};

use crate::error::{Error, Result, chain};
use crate::intent::{Intent, Pending};
use crate::rollback::Recovered;
use crate::snapshot::Look;
use crate::workspace::{Work, Workspace};

impl Workspace<'_> {
    /// Finishes or reverses rollbacks that were interrupted; every command calls it first.
    pub fn recover(&self, work: Work<'_>) -> Result<Vec<Recovered>> {
        let pending = Pending::read(self.home.disk(), &self.id)?;
        if pending.intents.is_empty() {
            return Ok(Vec::new());
        }
        match self.lock_rollback()? {
            Some(_lock) => self.recover_locked(work),
            // Nobody died: another process is in the middle of it.
            None => Ok(Vec::new()),
        }
    }

    /// The same for whoever holds the rollback lock.
    pub(crate) fn recover_locked(&self, work: Work<'_>) -> Result<Vec<Recovered>> {
        let mut recovered = Vec::new();
        Pending::sweep(self.home.disk(), &self.id)?;
        for intent in Pending::read(self.home.disk(), &self.id)?.intents {
            let is_recorded = self.timeline()?.rewinds().iter().any(|rewind| rewind.operation == intent.operation);
            if is_recorded {
                intent.clear(self.home.disk(), &self.id)?;
                continue;
            }
            recovered.push(self.recover_one(&intent, work));
        }
        Ok(recovered)
    }

    fn recover_one(&self, intent: &Intent, work: Work<'_>) -> Recovered {
        let mut result = Recovered {
            kind: intent.kind,
            at: intent.begun_at,
            target: intent.target.id.clone(),
            safety: intent.safety.id.clone(),
            reversed: false,
            changed: 0,
            left: Vec::new(),
            failed: None,
        };
        let mut outcome = self.finish(intent, work);
        if is_damage(&outcome) {
            result.reversed = true;
            outcome = self.reverse(intent, work);
        }
        let ended = outcome.and_then(|(changed, left)| {
            (result.changed, result.left) = (changed, left);
            self.record(intent, changed, result.reversed)?;
            intent.clear(self.home.disk(), &self.id)
        });
        result.failed = ended.err().map(|error| chain(&error));
        result
    }

    fn finish(&self, intent: &Intent, work: Work<'_>) -> Result<(u64, Vec<Left>)> {
        let store = self.home.store();
        let (target, safety) =
            (Manifest::read(store, &intent.target.manifest)?, Manifest::read(store, &intent.safety.manifest)?);
        let planned = self.plan_between(&safety, &target, &intent.paths())?;
        tidy_up(&self.writable()?, &planned, intent.prefix.as_bytes())?;
        self.go_on(intent, &target, &safety, work)
    }

    fn reverse(&self, intent: &Intent, work: Work<'_>) -> Result<(u64, Vec<Left>)> {
        let safety = Manifest::read(self.home.store(), &intent.safety.manifest)?;
        let target = Manifest::read(self.home.store(), &intent.target.manifest);
        let reversed = target.map_err(Error::Store).and_then(|target| self.go_on(intent, &safety, &target, work));
        if !is_damage(&reversed) {
            return reversed;
        }
        // What the target held cannot be told any more, so neither what is newer than the crash. With another
        // capture of everything that is there, nothing can be lost.
        let captured = self.capture(Look { keep: Some(&safety), ..Look::default() }, work)?;
        let plan = self.plan_between(&captured.manifest, &safety, &intent.paths())?;
        self.name_safety(captured, &format!("before reversing {}", intent.operation))?;
        let applied = self.apply(intent, &plan, work, None)?;
        tidy_up(&self.writable()?, &plan, intent.prefix.as_bytes())?;
        Ok((applied.changed, applied.left))
    }

    /// Goes from the present to `goal`, but changes only what is as in `other`.
    fn go_on(&self, intent: &Intent, goal: &Manifest, other: &Manifest, work: Work<'_>) -> Result<(u64, Vec<Left>)> {
        let store = self.home.store();
        let now = self.look(Look { keep: Some(goal), ..Look::default() }, work)?;
        let scope = belay_store::Scope::new(intent.paths());
        let (view, links) = (now.view(store), now.links(store)?);
        let mut plan = belay_store::plan(view, now.manifest(), &links, goal, &scope, belay_sys::is_root())?;
        let mut left = narrow(&mut plan, View::stored(store), &other.root)?;
        let applied = self.apply(intent, &plan, work, None)?;
        tidy_up(&self.writable()?, &plan, intent.prefix.as_bytes())?;
        left.extend(applied.left);
        Ok((applied.changed, left))
    }
}

fn is_damage<T>(result: &Result<T>) -> bool {
    matches!(result, Err(Error::Store(belay_store::Error::Corrupt { .. } | belay_store::Error::Missing(_))))
}

/// Takes out of the plan every step at a path that is not as `other` has it, and what depends on such a step.
fn narrow(plan: &mut Plan, view: View<'_>, other: &Entry) -> Result<Vec<Left>> {
    let mut foreign: Vec<Vec<u8>> = Vec::new();
    for step in &plan.steps {
        if !is_ours(step, view, other)? {
            foreign.push(step.path.clone());
        }
    }
    if foreign.is_empty() {
        return Ok(Vec::new());
    }
    let mut dropped: HashSet<Vec<u8>> = foreign.iter().cloned().collect();
    // A directory that keeps something foreign stays, nothing is put beneath a foreign path, and a file
    // cannot be linked to one that is not made.
    loop {
        let before = dropped.len();
        for step in &plan.steps {
            let goes = step.after.is_none() || step.what.retyped;
            let holds = goes && dropped.iter().any(|path| is_beneath(path, &step.path));
            let lies = dropped.iter().any(|path| is_beneath(&step.path, path) && !is_shared_dir(plan, path));
            let hangs = step.link_to.as_ref().is_some_and(|to| dropped.contains(to));
            if holds || lies || hangs {
                dropped.insert(step.path.clone());
            }
        }
        if dropped.len() == before {
            break;
        }
    }
    plan.steps.retain(|step| !dropped.contains(&step.path));
    Ok(foreign.into_iter().map(|path| Left { path, reason: LeftReason::ChangedSince }).collect())
}

/// Whether a step may be carried out: nothing is at its path, or what the interrupted rollback knew or was making of it.
fn is_ours(step: &Step, view: View<'_>, other: &Entry) -> Result<bool> {
    let Some(now) = &step.before else { return Ok(true) };
    let Some(then) = view.lookup(other, &step.path)? else { return Ok(false) };
    Ok(belay_store::is_between(now, &then, step.after.as_deref().unwrap_or(&then)))
}

/// Whether the step at `path` only changes a directory that stays one, so that what is beneath goes its own way.
fn is_shared_dir(plan: &Plan, path: &[u8]) -> bool {
    let dir = |entry: &Option<Box<Entry>>| {
        entry.as_ref().is_some_and(|entry| entry.kind.file_type() == belay_store::FileType::Dir)
    };
    plan.steps.iter().any(|step| step.path == path && dir(&step.before) && dir(&step.after))
}

fn is_beneath(path: &[u8], dir: &[u8]) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.starts_with(b"/") || (dir.is_empty() && !rest.is_empty()))
}
