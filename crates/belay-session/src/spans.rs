//! When snapshots were begun and when they were done: what happened meanwhile may be in them or not.

use std::collections::{HashMap, HashSet};

use belay_event::At;
use belay_journal::Reader;

use crate::error::Result;
use crate::record::Snapshot;
use crate::timeline::Timeline;
use crate::workspace::Workspace;

/// When the snapshots of a timeline were taken, as the record of a run tells.
pub(crate) struct Spans {
    by_id: HashMap<String, [At; 2]>,
    /// When that is said to have happened which a hook found by comparing a snapshot with the one before.
    found: HashSet<At>,
}

impl Spans {
    pub(crate) fn of(timeline: &Timeline, reader: &Reader) -> Result<Spans> {
        let found = timeline.snapshots().iter().map(found_at).collect();
        let listed = timeline.snapshots().iter().map(|one| (one.id.clone(), [At::from(one.created_at); 2]));
        let mut spans: HashMap<String, [At; 2]> = listed.collect();
        for told in reader.snapshots()? {
            let Some(span) = told.taken.snapshot.as_ref().and_then(|id| spans.get_mut(id)) else { continue };
            // A hook tells of a snapshot as of when it was listed, and finds what changed by it: nothing is in doubt.
            let is_found = told.at == span[0];
            let took = if is_found { 0 } else { i128::from(told.taken.took_us) * 1000 };
            let begun = At::from_unix_nanos(told.at.unix_nanos() - took);
            *span = [span[0].min(begun), span[1].max(told.at)];
        }
        Ok(Spans { by_id: spans, found })
    }

    /// Whether what happened then was found by a snapshot, and so is surely in it.
    pub(crate) fn is_found(&self, at: At) -> bool {
        self.found.contains(&at)
    }

    /// When the snapshot was begun; without a record of that, when it was listed.
    pub(crate) fn begun(&self, snapshot: &Snapshot) -> At {
        self.by_id.get(&snapshot.id).map_or(At::from(snapshot.created_at), |span| span[0])
    }

    /// When the snapshot was done.
    pub(crate) fn done(&self, snapshot: &Snapshot) -> At {
        self.by_id.get(&snapshot.id).map_or(At::from(snapshot.created_at), |span| span[1])
    }
}

/// The time that is given to what a snapshot shows and nobody saw happen: it was before the snapshot.
pub(crate) fn found_at(snapshot: &Snapshot) -> At {
    At::from_unix_nanos(snapshot.created_at.as_nanosecond() - 1)
}

impl Workspace<'_> {
    /// When the snapshot was begun, as the record of its run tells; else when it was listed.
    pub(crate) fn begun(&self, snapshot: &Snapshot) -> Result<At> {
        let reader = snapshot.cause.run.as_ref().and_then(|run| Reader::open(&self.home.run_dir(run)).ok());
        let Some(reader) = reader else { return Ok(At::from(snapshot.created_at)) };
        let timeline = self.timeline()?;
        Ok(Spans::of(&timeline, &reader)?.begun(snapshot))
    }
}
