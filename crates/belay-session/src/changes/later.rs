//! What belay itself did to paths after a run: it is neither the run's nor somebody else's.

use belay_event::At;
use belay_store::{Entry, What};

use crate::blame::Span;
use crate::error::Result;
use crate::present::Tree;
use crate::record::RewindKind;
use crate::workspace::Workspace;

/// The rewinds of a stretch of time, the newest first, with the trees before and after each.
pub(super) struct Rewinds(Vec<(RewindKind, Tree, Tree)>);

impl Workspace<'_> {
    /// The rewinds in that time whose snapshots are still there.
    pub(super) fn rewinds_in(&self, span: Span) -> Result<Rewinds> {
        let timeline = self.timeline()?;
        let mut rewinds = Vec::new();
        for rewind in timeline.rewinds().iter().rev().filter(|rewind| span.has(At::from(rewind.at))) {
            if let (Some(from), Some(to)) = (timeline.get(&rewind.from), timeline.get(&rewind.to)) {
                rewinds.push((rewind.kind, self.tree(from)?, self.tree(to)?));
            }
        }
        Ok(Rewinds(rewinds))
    }

    /// What was at the path before belay put there what is there now, and the last rewind that did so.
    pub(super) fn unwound(
        &self,
        rewinds: &Rewinds,
        path: &[u8],
        now: Option<Entry>,
    ) -> Result<(Option<Entry>, Option<RewindKind>)> {
        let (mut entry, mut by) = (now, None);
        for (kind, from, to) in &rewinds.0 {
            let earlier = self.entry(from, path)?;
            if is_same(entry.as_ref(), self.entry(to, path)?.as_ref()) && !is_same(entry.as_ref(), earlier.as_ref()) {
                by = by.or(Some(*kind));
                entry = earlier;
            }
        }
        Ok((entry, by))
    }
}

pub(crate) fn is_same(one: Option<&Entry>, other: Option<&Entry>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => What::between(one, other).is_nothing(),
        (one, other) => one.is_none() && other.is_none(),
    }
}
