//! What others do in a workspace, in the record of whatever goes on there: calls of belay's tools, snapshots that were asked for.

use std::time::Duration;

use belay_event::{At, Event, McpCall, What};

use super::memory::Memory;
use super::told;
use crate::error::Result;
use crate::record::Snapshot;
use crate::run::{Request, RunClient, RunRecord};
use crate::workspace::Workspace;

/// How long a run may take to write it down.
const PATIENCE: Duration = Duration::from_secs(5);

impl Workspace<'_> {
    /// Records calls with the run that goes on here, else with the conversation that was heard of last, if there is one.
    pub fn note_calls(&self, calls: Vec<McpCall>) -> Result<()> {
        let live = self.home.open_runs(&self.id)?.into_iter().rfind(|run| run.is_live() && !run.is_watch());
        if let Some(run) = live {
            self.tell_run(&run, calls.into_iter().map(|call| Request::Called(Box::new(call))));
            return Ok(());
        }
        let at = At::from(self.home.options.clock.now());
        self.tell_conversation(calls.into_iter().map(|call| Event::new(at, What::McpCall(call))).collect())
    }

    /// Records a snapshot that somebody asked for with every run and watch that goes on here, else with the conversation.
    pub(crate) fn note_snapshot(&self, snapshot: &Snapshot, took: Duration) -> Result<()> {
        let event = told(snapshot, None, took);
        let live: Vec<RunRecord> = self.home.open_runs(&self.id)?.into_iter().filter(RunRecord::is_live).collect();
        for run in &live {
            let What::Snapshot(taken) = &event.what else { continue };
            self.tell_run(run, std::iter::once(Request::Taken(event.at, Box::new(taken.clone()))));
        }
        match live.iter().all(RunRecord::is_watch) {
            true => self.tell_conversation(vec![event]),
            false => Ok(()),
        }
    }

    fn tell_run(&self, run: &RunRecord, requests: impl Iterator<Item = Request>) {
        // One that ended since has no socket, and its record is closed.
        let Ok(mut client) = RunClient::connect(&self.home.run_dir(&run.id)) else { return };
        let _ = client.set_patience(PATIENCE);
        for request in requests {
            let _ = client.ask(&request).and_then(|()| client.hear_answer());
        }
    }

    /// Adds to the record of the conversation that was heard of last, if a turn of it goes on.
    fn tell_conversation(&self, events: Vec<Event>) -> Result<()> {
        // Whoever has nobody to tell does not wait for those who are being heard.
        if self.turn_going_on()?.is_none() {
            return Ok(());
        }
        let _held = self.turn_to_speak()?;
        match self.turn_going_on()? {
            Some(memory) => self.write_down(&memory, events, false),
            None => Ok(()),
        }
    }

    fn turn_going_on(&self) -> Result<Option<Memory>> {
        let newest = Memory::all(self)?.into_iter().max_by_key(Memory::last_heard);
        let is_over = |run: RunRecord| run.supervisor.is_some() || run.ended_at.is_some();
        let is_going_on = |memory: &Memory| {
            let run = memory.run.as_deref().and_then(|run| self.home.run(run).ok());
            !run.is_none_or(is_over)
        };
        Ok(newest.filter(is_going_on))
    }
}
