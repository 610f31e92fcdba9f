//! An agent's conversation as a run: its record, and a journal that no process keeps open.

use std::collections::hash_map::Entry;
use std::time::Duration;

use belay_event::{At, Event, ExecSource, FileSource, Isolation, Protection, Raw, RunStarted, What};
use belay_journal::Notebook;
use jiff::Timestamp;

use super::memory::Memory;
use super::{AgentWord, raw};
use crate::error::Result;
use crate::record::Snapshot;
use crate::run::{Answer, Confinement, Request, RunClient, RunLimits, RunRecord, RunState, RunTotals};
use crate::workspace::Workspace;

/// How long a run may take to capture what changed; whoever told then does it by a walk.
const STEP_TIME_MAX: Duration = Duration::from_secs(4);
/// Conversations whose records are kept open; few go on at a time.
const NOTEBOOKS_MAX: usize = 8;

impl Workspace<'_> {
    /// Begins the record of a conversation; one that goes on inside a run is that run's.
    pub(super) fn begin_session(&self, memory: &mut Memory, word: &AgentWord) -> Result<()> {
        let known = memory.run.as_ref().and_then(|run| self.home.run(run).ok());
        // A conversation goes on after the run that it was in, and has a record of its own from there.
        if let Some(mut run) = known.filter(|run| run.supervisor.is_none() || run.is_live()) {
            // Whoever asks what was touched since skips runs that had ended by then.
            if run.supervisor.is_none() && run.ended_at.take().is_some() {
                run.save(self.home.disk(), false)?;
            }
            return Ok(());
        }
        let live = self.home.open_runs(&self.id)?.into_iter().rfind(|run| run.is_live() && !run.is_watch());
        (memory.commands, memory.is_guest) = (0, live.is_some());
        memory.open.clear();
        if let Some(live) = live {
            memory.run = Some(live.id);
            return Ok(());
        }
        let now = self.home.options.clock.now();
        let argv = vec![Raw::from(word.agent.as_str())];
        let record = RunRecord {
            id: self.home.options.ids.next("run_", 8),
            // No process of ours goes on with it, so it is at rest between two words.
            state: RunState::Ended,
            workspace: self.id.clone(),
            root: raw(self.path()),
            argv: argv.clone(),
            cwd: raw(self.path()),
            label: None,
            terminal: [false; 3],
            size: None,
            limits: RunLimits::default(),
            confinement: Confinement::default(),
            backend: None,
            created_at: now,
            started_at: Some(now),
            ended_at: None,
            supervisor: None,
            child: None,
            group: None,
            protection: None,
            pre_run: None,
            left_out: Vec::new(),
            final_snapshot: None,
            ended: None,
            because: Some("told by hooks".to_owned()),
            totals: RunTotals::default(),
            discarded: None,
        };
        record.save(self.home.disk(), false)?;
        memory.run = Some(record.id.clone());
        let protection = Protection {
            isolation: Isolation::None,
            exec: ExecSource::None,
            files: FileSource::None,
            denials: None,
            person: None,
            snapshots: true,
            freeze: false,
            degraded: Vec::new(),
        };
        let started = RunStarted {
            run: record.id,
            workspace: record.workspace,
            root: record.root,
            argv,
            cwd: record.cwd,
            protection,
        };
        self.write_down(memory, vec![Event::new(At::from(now), What::RunStarted(started))], false)
    }

    /// Adds to the journal of the conversation; that of a run is written by its supervisor alone.
    pub(super) fn write_down(&self, memory: &Memory, events: Vec<Event>, seal: bool) -> Result<()> {
        let Some(run) = memory.run.as_deref().and_then(|run| self.home.run(run).ok()) else { return Ok(()) };
        if run.supervisor.is_some() || events.is_empty() {
            return Ok(());
        }
        let mut notebooks = self.notebooks.lock().expect("no holder panics");
        if notebooks.len() >= NOTEBOOKS_MAX && !notebooks.contains_key(&run.id) {
            notebooks.clear();
        }
        let notebook = match notebooks.entry(run.id.clone()) {
            Entry::Occupied(open) => open.into_mut(),
            Entry::Vacant(place) => {
                place.insert(Notebook::open(&self.home.run_dir(&run.id), &run.id, self.home.signing_key()?)?)
            }
        };
        Ok(notebook.append(&events, seal)?)
    }

    /// Has the run that the conversation is in capture what changed, by what it saw; false if it does not.
    pub(super) fn is_captured_by_run(&self, memory: &Memory, why: &str) -> bool {
        let Some(run) = memory.run.as_deref() else { return false };
        let Ok(mut client) = RunClient::connect(&self.home.run_dir(run)) else { return false };
        let asked = client.set_patience(STEP_TIME_MAX).and_then(|()| client.ask(&Request::Step(why.to_owned())));
        asked.is_ok() && matches!(client.hear_answer(), Ok(Some(Answer::Captured)))
    }

    /// The last call in the journal, if the conversation does not remember it.
    pub(super) fn last_written(&self, memory: &Memory) -> Result<Option<(u64, Vec<Raw>)>> {
        let Some(run) = memory.run.as_deref().and_then(|run| self.home.run(run).ok()) else { return Ok(None) };
        if memory.is_guest {
            return Ok(None);
        }
        let last = self.home.journal(&run)?.commands()?.pop().map(|command| command.exec);
        Ok(last.filter(|exec| exec.command > memory.commands).map(|exec| (exec.command, exec.argv)))
    }

    /// Brings the record of the conversation up to date.
    pub(super) fn update_session(&self, memory: &Memory, last: &Snapshot, ended_at: Timestamp) -> Result<()> {
        let Some(mut run) = memory.run.as_deref().and_then(|run| self.home.run(run).ok()) else { return Ok(()) };
        if run.supervisor.is_some() {
            return Ok(());
        }
        let journal = self.home.journal(&run)?;
        run.totals.commands = memory.commands;
        run.totals.changes = journal.change_counts()?.values().sum();
        run.totals.paths = Some(journal.path_counts()?.0);
        run.totals.snapshots = journal.snapshots()?.len() as u64;
        run.final_snapshot = Some(last.id.clone());
        run.ended_at = Some(ended_at);
        run.save(self.home.disk(), false)
    }
}
