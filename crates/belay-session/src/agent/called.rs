//! Calls of belay's own tools, in the record of whoever made them.

use std::time::Duration;

use belay_event::{At, Event, McpCall, What};

use super::memory::Memory;
use crate::error::Result;
use crate::run::{Request, RunClient};
use crate::workspace::Workspace;

/// How long a run may take to write it down.
const PATIENCE: Duration = Duration::from_secs(5);

impl Workspace<'_> {
    /// Records calls with the run that goes on here, else with the conversation that was heard of last, if there is one.
    pub fn note_calls(&self, calls: Vec<McpCall>) -> Result<()> {
        let live = self.home.open_runs(&self.id)?.into_iter().rfind(|run| run.is_live() && !run.is_watch());
        if let Some(run) = live {
            // One that ended since has no socket, and its record is closed.
            if let Ok(mut client) = RunClient::connect(&self.home.run_dir(&run.id)) {
                let _ = client.set_patience(PATIENCE);
                for call in calls {
                    let told = client.ask(&Request::Called(Box::new(call)));
                    let _ = told.and_then(|()| client.hear_answer());
                }
            }
            return Ok(());
        }
        let _held = self.turn_to_speak()?;
        let newest = Memory::all(self)?.into_iter().max_by_key(Memory::last_heard);
        let Some(memory) = newest else { return Ok(()) };
        let is_over = |run: crate::run::RunRecord| run.supervisor.is_some() || run.ended_at.is_some();
        if memory.run.as_deref().and_then(|run| self.home.run(run).ok()).is_none_or(is_over) {
            return Ok(());
        }
        let at = At::from(self.home.options.clock.now());
        let events = calls.into_iter().map(|call| Event::new(at, What::McpCall(call)));
        self.write_down(&memory, events.collect(), false)
    }
}
