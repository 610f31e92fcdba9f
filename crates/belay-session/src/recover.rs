//! Finishing, or taking back, what an interruption left half done.
//!
//! Between the crash and the next command somebody may have worked on. Only a path that is still as the
//! interrupted rollback found it is changed: then the safety snapshot holds it. Every other path is left.

mod narrow;

use std::collections::HashSet;

use belay_store::{Left, Manifest, OnStop, Plan, View, apply, tidy_up};
use jiff::Timestamp;

use self::narrow::narrow;
use crate::error::{Error, Result, chain};
use crate::intent::{Intent, Pending};
use crate::record::RewindKind;
use crate::rollback::{Recovered, apply_options};
use crate::snapshot::Look;
use crate::workspace::{Work, Workspace};

/// A rollback that was interrupted and waits for the next command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// Which command it was.
    pub kind: RewindKind,
    /// When it began.
    pub at: Timestamp,
    /// The snapshot that it was to restore.
    pub target: String,
}

impl Workspace<'_> {
    /// The rollbacks that [`Workspace::recover`] would deal with now.
    pub fn interrupted(&self) -> Result<Vec<Interrupted>> {
        let intents = Pending::read(self.home.disk(), &self.id)?.intents;
        if intents.is_empty() || self.lock_rollback()?.is_none() {
            return Ok(Vec::new());
        }
        let timeline = self.timeline()?;
        let is_open = |intent: &Intent| timeline.rewinds().iter().all(|rewind| rewind.operation != intent.operation);
        let open = intents.into_iter().filter(is_open);
        Ok(open
            .map(|intent| Interrupted { kind: intent.kind, at: intent.begun_at, target: intent.target.id })
            .collect())
    }

    /// Whether a rollback is being carried out at this moment.
    pub fn is_rewinding(&self) -> Result<bool> {
        Ok(self.has_intent() && self.lock_rollback()?.is_none())
    }

    /// Whether a rollback has begun and not ended, alive or not.
    pub(crate) fn has_intent(&self) -> bool {
        Pending::read(self.home.disk(), &self.id).is_ok_and(|pending| !pending.intents.is_empty())
    }

    /// Finishes or reverses rollbacks that were interrupted; every command calls it first.
    pub fn recover(&self, work: Work<'_>) -> Result<Vec<Recovered>> {
        let pending = Pending::read(self.home.disk(), &self.id)?;
        if pending.intents.is_empty() {
            return Ok(Vec::new());
        }
        match self.lock_rollback()? {
            Some(_lock) => {
                let recovered = self.recover_locked(work);
                self.release_survivors()?;
                recovered
            }
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
            recovered.push(self.recover_one(&intent, work)?);
        }
        Ok(recovered)
    }

    /// An error means that it was told to stop, and that the next command goes on from there.
    fn recover_one(&self, intent: &Intent, work: Work<'_>) -> Result<Recovered> {
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
            intent.clear(self.home.disk(), &self.id)?;
            if changed > 0 {
                self.leave_news(intent, changed, &mut std::iter::empty());
            }
            Ok(())
        });
        match ended {
            Err(error) if is_stop(&error) => return Err(Error::Store(belay_store::Error::HalfDone)),
            ended => result.failed = ended.err().map(|error| chain(&error)),
        }
        Ok(result)
    }

    fn finish(&self, intent: &Intent, work: Work<'_>) -> Result<(u64, Vec<Left>)> {
        let store = self.home.store();
        let (target, safety) =
            (Manifest::read(store, &intent.target.manifest)?, Manifest::read(store, &intent.safety.manifest)?);
        let plan = self.plan_between(&safety, &target, &intent.paths(), &intent.guard)?;
        self.shut_opened(&plan)?;
        self.tidy(intent, &plan, work)?;
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
        let plan = self.plan_between(&captured.manifest, &safety, &intent.paths(), &intent.guard)?;
        self.name_safety(captured, &format!("before reversing {}", intent.operation))?;
        let applied = apply(self.home.store(), &self.writable()?, &plan, &apply_options(intent, OnStop::Half, work))?;
        self.tidy(intent, &plan, work)?;
        Ok((applied.changed, applied.left))
    }

    /// Goes from the present to `goal`, but changes only what is as in `other`.
    fn go_on(&self, intent: &Intent, goal: &Manifest, other: &Manifest, work: Work<'_>) -> Result<(u64, Vec<Left>)> {
        let store = self.home.store();
        let now = self.look(Look { keep: Some(goal), ..Look::default() }, work)?;
        let scope = belay_store::Scope::new(intent.paths()).sparing(intent.guard.spared());
        let (view, links) = (now.view(store), now.links(store)?);
        let mut plan = belay_store::plan(view, now.manifest(), &links, goal, &scope, belay_sys::is_root())?;
        // Whoever opened it is gone, and so it stays as it was found.
        let shut: HashSet<&[u8]> = plan.shut().collect();
        let stays: Vec<Left> = plan.left.iter().filter(|left| shut.contains(left.path.as_slice())).cloned().collect();
        let mut left = narrow(&mut plan, View::stored(store), &other.root)?;
        let applied = apply(self.home.store(), &self.writable()?, &plan, &apply_options(intent, OnStop::Half, work))?;
        self.tidy(intent, &plan, work)?;
        left.extend(stays.into_iter().chain(applied.left));
        Ok((applied.changed, left))
    }

    /// Shuts what was opened to be captured and is not gone.
    fn shut_opened(&self, plan: &Plan) -> Result<()> {
        if belay_sys::is_root() {
            return Ok(());
        }
        let root = self.writable()?;
        for (path, before, opened) in plan.opened() {
            let at = path.iter().rposition(|byte| *byte == b'/');
            let (place, name) = at.map_or((&b""[..], &path[..]), |at| (&path[..at], &path[at + 1..]));
            // What is not there, or not as it was left, is somebody else's by now.
            let Ok(dir) = root.dir_path_only(place) else { continue };
            if !name.is_empty() && dir.stat(name).is_ok_and(|found| found.mode == u32::from(opened)) {
                dir.set_mode(name, u32::from(before)).map_err(Error::run("shut what was opened"))?;
            }
        }
        Ok(())
    }

    fn tidy(&self, intent: &Intent, plan: &Plan, work: Work<'_>) -> Result<()> {
        tidy_up(&self.writable()?, plan, &apply_options(intent, OnStop::Half, work))?;
        Ok(())
    }
}

fn is_stop(error: &Error) -> bool {
    matches!(error, Error::Store(belay_store::Error::Interrupted | belay_store::Error::HalfDone))
}

fn is_damage<T>(result: &Result<T>) -> bool {
    matches!(result, Err(Error::Store(belay_store::Error::Corrupt { .. } | belay_store::Error::Missing(_))))
}
