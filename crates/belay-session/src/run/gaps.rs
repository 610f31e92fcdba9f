//! What the snapshots of a run lack: told when it begins, and again whenever it is something else.

use belay_event::{Degraded, Raw};
use belay_store::{Gap, GapKind};

use super::supervisor::Supervisor;
use crate::error::Result;
use crate::record::Snapshot;
use crate::workspace::Workspace;

/// Paths that are named; `belay ls` names all.
const NAMED_MAX: usize = 5;
/// Paths that are remembered as left out.
const LEFT_OUT_MAX: usize = 64;

impl Supervisor<'_> {
    /// What a snapshot of the run lacks, unless everybody knows that already.
    pub(super) fn news_of_gaps(&mut self, snapshot: Option<&Snapshot>) -> Option<Degraded> {
        let snapshot = snapshot?;
        let lacking = match snapshot.is_partial() {
            // A coverage that cannot be read is no reason to keep silent about it.
            true => self.workspace.lacking(snapshot).unwrap_or_else(|_| "nobody can tell which".to_owned()),
            false => String::new(),
        };
        if lacking == self.lacking {
            return None;
        }
        self.lacking = lacking;
        if self.lacking.is_empty() {
            return None;
        }
        let paths = if snapshot.gaps == 1 { "path" } else { "paths" };
        let why =
            format!("{} lacks {} {paths}, which no rollback brings back: {}", snapshot.id, snapshot.gaps, self.lacking);
        Some(Degraded { layer: "snapshots".into(), why })
    }

    /// Tells of a repository that lies beside the workspace, where neither a snapshot nor, in a jail, the command reaches it.
    pub(super) fn repository_elsewhere(&self) -> Option<Degraded> {
        let place = crate::git::said_to_be_outside(self.workspace.root(), self.workspace.path())?;
        let why = format!(
            "the repository of this worktree lies in {0}, where no snapshot holds it and a jail hides it (--rw {0} opens it)",
            place.display()
        );
        Some(Degraded { layer: "snapshots".into(), why })
    }

    /// Remembers what the snapshot before the run leaves out: what the run changes there, no rollback takes back.
    pub(super) fn note_left_out(&mut self, snapshot: Option<&Snapshot>) {
        // What cannot be read now is told by whoever needs it.
        let mut left_out = snapshot.and_then(|snapshot| self.workspace.left_out(snapshot).ok()).unwrap_or_default();
        left_out.truncate(LEFT_OUT_MAX);
        self.record.left_out = left_out.iter().map(|path| Raw::from(path.as_slice())).collect();
        self.tally.left_out = left_out;
    }

    /// How many paths a snapshot of the run lacks.
    pub(super) fn gaps_of(&self, id: Option<&String>) -> u64 {
        let timeline = self.workspace.timeline().ok();
        timeline.zip(id).and_then(|(timeline, id)| Some(timeline.get(id)?.gaps)).unwrap_or(0)
    }
}

impl Workspace<'_> {
    /// What a snapshot leaves out because the settings, or git's, say so.
    pub fn left_out(&self, snapshot: &Snapshot) -> Result<Vec<Vec<u8>>> {
        let gaps = self.tree(snapshot)?.coverage(self.home().store())?.gaps;
        Ok(gaps.into_iter().filter(|gap| gap.kind.is_wanted()).map(|gap| gap.path).collect())
    }

    /// The paths that a snapshot should hold and does not, with the reasons; not all of them if there are many.
    pub fn lacking(&self, snapshot: &Snapshot) -> Result<String> {
        let gaps = self.tree(snapshot)?.coverage(self.home().store())?.gaps;
        let suffered: Vec<&Gap> = gaps.iter().filter(|gap| !gap.kind.is_wanted()).collect();
        let mut words: Vec<String> = suffered.iter().take(NAMED_MAX).map(|gap| word(gap)).collect();
        if suffered.len() > NAMED_MAX {
            words.push(format!("and {} more", suffered.len() - NAMED_MAX));
        }
        let mut text = words.join(", ");
        if suffered.iter().any(|gap| gap.kind == GapKind::OverLimit) {
            text.push_str("; snapshots.max_bytes and snapshots.max_entries are the limits");
        }
        Ok(text)
    }
}

fn word(gap: &Gap) -> String {
    let why = match gap.kind {
        GapKind::Unreadable => "unreadable",
        GapKind::Hung => "does not answer",
        GapKind::Mount => "another filesystem",
        GapKind::OverLimit => "over a limit",
        GapKind::Vanished => "vanished",
        GapKind::Unstable => "would not hold still",
        GapKind::Attributes => "its attributes cannot be read",
        GapKind::Regenerable | GapKind::GitIgnored | GapKind::Excluded => "left out",
    };
    let path = String::from_utf8_lossy(&gap.path);
    match gap.detail.as_str() {
        "" => format!("{path} ({why})"),
        detail => format!("{path} ({why}: {detail})"),
    }
}
