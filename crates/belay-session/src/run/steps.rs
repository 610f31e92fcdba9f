//! The steps of an agent inside the run, as its hooks tell of them: what changed is captured by what the run saw, and whoever
//! told of it waits for no more than that.

use super::captures::Done;
use super::supervisor::Supervisor;
use crate::record::Kind;
use crate::trigger::Ask;

/// Hears what came of a step: nothing, if what changed is captured, or why it is not.
pub(super) type Told = Box<dyn FnOnce(Result<(), String>) + Send>;

/// Characters of a step that are kept.
const WHY_CHARS_MAX: usize = 160;

/// Those who wait.
#[derive(Default)]
pub(super) struct Steps {
    /// For a snapshot that is yet to begin.
    waiting: Vec<Told>,
    /// For the one that is being taken.
    taking: Vec<Told>,
}

impl Steps {
    /// A snapshot for those who wait begins.
    pub(super) fn begun(&mut self) {
        self.taking.append(&mut self.waiting);
    }

    /// Nothing had changed for those who wait.
    pub(super) fn unchanged(&mut self) {
        self.waiting.drain(..).for_each(|told| told(Ok(())));
    }

    /// What became of the snapshot.
    pub(super) fn taken(&mut self, done: &Done) {
        if done.kind() != Kind::Tool {
            return;
        }
        let failed = done.failure();
        self.taking.drain(..).for_each(|told| told(failed.map_or(Ok(()), |why| Err(why.to_owned()))));
    }
}

impl Supervisor<'_> {
    /// An agent told of a step.
    pub(super) fn step(&mut self, why: &str, told: Told) {
        // What it writes is kept apart, and what it is kept apart from does not change.
        if self.record.confinement.ephemeral {
            return told(Ok(()));
        }
        if let Some(layer) = self.workspace.settings().disabled_by() {
            return told(Err(format!("snapshots are switched off by {}", layer.name())));
        }
        self.steps.waiting.push(told);
        let why: String = why.chars().take(WHY_CHARS_MAX).collect();
        self.captures.ask(Ask::new(Kind::Tool, None, why));
    }
}
