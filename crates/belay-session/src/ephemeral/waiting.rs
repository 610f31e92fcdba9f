//! Which ephemeral runs still wait for somebody to apply or discard what they wrote.
//!
//! A run is done with once all of it was applied: a note beside its record names the snapshot that came of it. If that is
//! undone, the run waits again. What is discarded is not there any more.

use std::fs;
use std::io;

use crate::error::{Error, Result};
use crate::home::Home;
use crate::log::replace;
use crate::record::RewindKind;
use crate::run::RunRecord;
use crate::timeline::Timeline;
use crate::workspace::{Workspace, timeline_name};

fn note(run: &str) -> String {
    format!("runs/{run}/reviewed")
}

impl Home {
    /// Whether something of an ephemeral run that is over was neither applied nor discarded.
    pub fn is_unreviewed(&self, run: &RunRecord) -> bool {
        if !run.confinement.ephemeral || run.is_live() || !self.has_layer(&run.id) {
            return false;
        }
        let Ok(note) = self.disk().read(&note(&run.id)) else { return true };
        let Ok(timeline) = Timeline::read(self.disk(), &timeline_name(&run.workspace)) else { return true };
        let is_it = |id: &str| id.as_bytes() == note;
        let was_applied = timeline.rewinds().iter().any(|rewind| is_it(&rewind.to));
        was_applied && !timeline.undo_stack().iter().any(|rewind| is_it(&rewind.to))
    }

    /// Whether something lies in the layer of a run.
    fn has_layer(&self, run: &str) -> bool {
        fs::read_dir(self.run_dir(run).join("changes")).is_ok_and(|mut inside| inside.next().is_some())
    }
}

impl Workspace<'_> {
    /// The runs that wait for a review, oldest first.
    pub fn unreviewed(&self) -> Result<Vec<RunRecord>> {
        let entries = match fs::read_dir(self.home.path().join("runs")) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::disk("list", "runs")(error)),
        };
        let ids = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        // Most runs have no layer, and their records need not be read.
        let layered = ids.filter(|id| self.home.has_layer(id));
        let mut runs: Vec<RunRecord> = layered.filter_map(|id| self.home.run(&id).ok()).collect();
        runs.retain(|run| run.workspace == self.id() && self.home.is_unreviewed(run));
        runs.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        Ok(runs)
    }

    /// Notes that the workspace has everything that a run wrote.
    pub fn note_reviewed(&self, run: &RunRecord) -> Result<()> {
        if run.is_live() {
            return Ok(());
        }
        let timeline = self.timeline()?;
        let last = timeline.undo_stack().last().filter(|rewind| rewind.kind == RewindKind::Pick).map(|last| &last.to);
        replace(self.home.disk(), &note(&run.id), last.map_or("", String::as_str).as_bytes())
    }
}
