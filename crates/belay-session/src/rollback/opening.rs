//! What its owner cannot read is opened before it is captured, so that one rollback brings back its content, too.
//!
//! A file of mode 000 is in no capture but for its mode. Before that is changed it is in a safety snapshot and an intent
//! tells of it; then the workspace is captured again, and the safety snapshot that an undo goes back to has the content
//! with the mode that it had.

use belay_store::{Captured, Faults, Hash, Lock, Manifest, OnStop, Plan, apply, with_modes};

use super::{Aim, apply_options, has_struck_dead};
use crate::error::{Error, Result};
use crate::intent::Intent;
use crate::record::{Kind, Origin, Snapshot};
use crate::snapshot::{Look, SnapshotRequest};
use crate::workspace::{Work, Workspace};

/// A directory that was shut may hold others; so deep they are opened.
const ROUNDS_MAX: usize = 16;

/// What was opened for a rollback.
#[derive(Debug, Default)]
pub(crate) struct Opening {
    /// The paths, with the modes that they had.
    modes: Vec<(Vec<u8>, u16)>,
    /// What tells the next command of it until the rollback itself is announced.
    pub(super) intents: Vec<Intent>,
}

/// A tree in the store; gc leaves it alone for as long as this lives.
pub(crate) struct Shut {
    pub(crate) key: Hash,
    pub(crate) manifest: Manifest,
    pub(crate) stored_bytes: u64,
    _guard: Lock,
}

impl Shut {
    /// Such a tree.
    pub(crate) fn new((key, manifest): (Hash, Manifest), stored_bytes: u64, guard: Lock) -> Shut {
        Shut { key, manifest, stored_bytes, _guard: guard }
    }
}

impl Opening {
    pub(super) fn is_empty(&self) -> bool {
        self.modes.is_empty()
    }

    /// How many of the paths a plan does not change any further.
    pub(super) fn beside(&self, plan: &Plan) -> u64 {
        let planned: std::collections::HashSet<&[u8]> = plan.steps.paths().collect();
        self.modes.iter().filter(|(path, _)| !planned.contains(path.as_slice())).count() as u64
    }
}

impl Workspace<'_> {
    /// Opens what the plan finds shut and captures again, until nothing is shut that can be opened.
    pub(super) fn open_shut(
        &self,
        aim: &Aim,
        (mut captured, mut plan): (Captured, Plan),
        work: Work<'_>,
        faults: Option<&Faults>,
    ) -> Result<(Captured, Plan, Opening)> {
        let mut opening = Opening::default();
        for _ in 0..ROUNDS_MAX {
            let Some(mut part) = plan.opening() else { break };
            part.count_names(&self.writable()?);
            let safety = self.name_safety(captured, "before opening what its owner cannot read")?;
            let opened = self.open_part(aim, &safety, &part, &mut opening, (work, faults))?;
            captured = self.capture(Look { keep: Some(&aim.manifest), ..Look::default() }, work).map_err(half_done)?;
            plan = self.plan_between(&captured.manifest, &aim.manifest, &aim.paths, &self.guard())?;
            if opened == 0 {
                break;
            }
        }
        Ok((captured, plan, opening))
    }

    /// Changes the modes, and returns how many were.
    fn open_part(
        &self,
        aim: &Aim,
        safety: &Snapshot,
        part: &Plan,
        opening: &mut Opening,
        (work, faults): (Work<'_>, Option<&Faults>),
    ) -> Result<usize> {
        let intent = self.announce(aim, safety)?;
        let options = belay_store::ApplyOptions { faults, ..apply_options(&intent, OnStop::OldState, work) };
        let applied = match apply(self.home.store(), &self.writable()?, part, &options) {
            Ok(applied) => applied,
            Err(error) => {
                if !faults.is_some_and(has_struck_dead) && opening.is_empty() {
                    self.abandon(&intent, safety, part, work);
                }
                return Err(Error::Store(error));
            }
        };
        let is_left = |path: &[u8]| applied.left.iter().any(|left| left.path == path);
        let before = opening.modes.len();
        for step in part.steps.iter().filter(|step| !is_left(step.path)) {
            let mode = step.before.as_ref().expect("what is opened is there").meta.mode;
            opening.modes.push((step.path.to_vec(), mode));
        }
        opening.intents.push(intent);
        Ok(opening.modes.len() - before)
    }

    /// Lists a capture of what was opened, with the modes that it had before.
    pub(super) fn name_shut(&self, captured: Captured, opening: &Opening, why: &str) -> Result<Snapshot> {
        let shut = self.shut_again(&captured, &opening.modes)?;
        let description = Some(why.to_owned());
        let request =
            SnapshotRequest { kind: Kind::Safety, origin: Origin::Auto, description, ..SnapshotRequest::default() };
        self.name_tree(&shut.manifest, shut.key, shut.stored_bytes, &request)
    }

    /// A capture of what was opened as if it were shut again.
    pub(crate) fn shut_again(&self, captured: &Captured, modes: &[(Vec<u8>, u16)]) -> Result<Shut> {
        let store = self.home.store();
        let batch = store.begin()?;
        let mut worker = batch.worker();
        let (key, manifest) = with_modes(store, &mut worker, &captured.manifest, modes)?;
        worker.done()?;
        let (grown, guard) = batch.finish()?;
        Ok(Shut::new((key, manifest), captured.stored_bytes + grown, guard))
    }
}

/// Whoever stops here has opened something already, which the intent tells.
fn half_done(error: Error) -> Error {
    match error {
        Error::Store(belay_store::Error::Interrupted) => Error::Store(belay_store::Error::HalfDone),
        other => other,
    }
}
