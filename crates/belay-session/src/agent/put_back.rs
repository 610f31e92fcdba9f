//! What was put back while an agent worked, in the record of its conversation.

use belay_event::{Action, At, Event, FileChange, Raw, What};
use belay_store::Steps;

use super::memory::Memory;
use crate::blend::told;
use crate::error::Result;
use crate::rollback::Outcome;
use crate::run::Still;
use crate::workspace::Workspace;

/// Paths that are recorded; the timeline knows the rest.
const PATHS_MAX: usize = 20_000;

impl Workspace<'_> {
    /// Lets runs go on, and tells them and the conversations that are under way what was put back.
    pub(crate) fn tell_rewound(&self, still: Still, outcome: &Outcome, steps: &Steps) {
        still.release(&told(outcome));
        // It is done and in the timeline; a conversation that cannot be told is no reason to call it a failure.
        let _ = self.tell_conversations(outcome, steps);
    }

    fn tell_conversations(&self, outcome: &Outcome, steps: &Steps) -> Result<()> {
        let _held = self.turn_to_speak()?;
        let at = At::from(self.home.options.clock.now());
        let memories = Memory::all(self)?;
        // Between two turns it belongs to whoever spoke last: the next turn goes on from there.
        let last = memories.iter().max_by_key(|memory| memory.last_heard()).map(|memory| memory.name().to_owned());
        for memory in memories {
            let is_last = last.as_deref() == Some(memory.name());
            let run = memory.run.as_deref().and_then(|run| self.home.run(run).ok());
            if run.is_none_or(|run| run.supervisor.is_some() || (run.ended_at.is_some() && !is_last)) {
                continue;
            }
            let mut events = vec![Event::new(at, What::Rewound(told(outcome)))];
            events.extend(steps.paths().take(PATHS_MAX).map(|path| {
                let path = Raw::from(path);
                let change = FileChange { action: Action::Restored, path, to: None, dir: false, size: None, by: None };
                Event::new(at, What::File(change))
            }));
            self.write_down(&memory, events, false)?;
        }
        Ok(())
    }
}
