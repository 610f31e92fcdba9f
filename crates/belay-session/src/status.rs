//! What is protected, since when, what is not, and what it costs.

use std::time::{Duration, Instant};

use belay_store::{Changes, FileType, GapKind, Scope};
use jiff::Timestamp;

use crate::budget::Budget;
use crate::error::Result;
use crate::identity::Arrival;
use crate::maintenance::TimelineDamage;
use crate::record::Snapshot;
use crate::rollback::Recovered;
use crate::workspace::{Work, Workspace};

/// Counting what is not protected must not make `status` slow.
const COUNTING_TIME_MAX: Duration = Duration::from_millis(300);

/// The state of a workspace's protection.
#[derive(Clone, Debug)]
pub struct Status {
    /// How the workspace was recognised.
    pub arrival: Arrival,
    /// How many snapshots there are.
    pub snapshots: usize,
    /// The snapshot that the workspace was last known to be like.
    pub base: Option<Snapshot>,
    /// When it was taken back to that, unless the snapshot was simply taken.
    pub rewound_at: Option<Timestamp>,
    /// What changed since then; without a snapshot, nothing.
    pub changes: Changes,
    /// What is there, and would be captured now, though that snapshot does not hold it.
    pub uncaptured: Changes,
    /// What a snapshot taken now would lack.
    pub unprotected: Vec<Unprotected>,
    /// Who switched snapshots off, if somebody did.
    pub disabled: Option<String>,
    /// The store's size and limit.
    pub budget: Budget,
    /// Interrupted rollbacks that were dealt with just now.
    pub recovered: Vec<Recovered>,
    /// Damage in the timeline.
    pub damage: Vec<TimelineDamage>,
}

/// A path that is not captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unprotected {
    /// The path beneath the workspace.
    pub path: Vec<u8>,
    /// Why.
    pub reason: GapKind,
    /// What the operating system said, or another detail.
    pub detail: String,
    /// How many bytes are in it, as far as could be seen.
    pub bytes: Option<u64>,
    /// Whether counting was given up, so that there are more.
    pub at_least: bool,
}

impl Workspace<'_> {
    /// Looks at everything; nothing is written but the end of an interrupted rollback.
    pub fn status(&self, work: Work<'_>) -> Result<Status> {
        let recovered = self.recover(work)?;
        let timeline = self.timeline()?;
        let present = self.present(work)?;
        let base = timeline.base();
        let (mut changes, mut uncaptured) = (Changes::default(), Changes::default());
        if let Some(base) = base {
            self.each_change(&self.tree(base)?, &present, &Scope::default(), &mut |change| match change.opaque {
                false => changes.push(&change),
                true if change.after.is_some() => uncaptured.push(&change),
                // What only the snapshot captured is among the unprotected.
                true => {}
            })?;
        }
        let until = Instant::now() + COUNTING_TIME_MAX;
        let gaps = present.coverage(self.home.store())?.gaps;
        let unprotected = gaps.into_iter().map(|gap| {
            let size = self.size_of(&gap.path, gap.kind, until);
            let (bytes, at_least) = size.map_or((None, false), |(bytes, whole)| (Some(bytes), !whole));
            Unprotected { path: gap.path, reason: gap.kind, detail: gap.detail, bytes, at_least }
        });
        Ok(Status {
            arrival: self.arrival().clone(),
            snapshots: timeline.snapshots().len(),
            base: base.cloned(),
            rewound_at: base.and_then(|base| timeline.reached_at(base)),
            changes,
            uncaptured,
            unprotected: unprotected.collect(),
            disabled: self.settings.disabled_by().map(|layer| layer.name().to_owned()),
            budget: self.budget()?,
            recovered,
            damage: timeline.damage().to_vec(),
        })
    }

    /// The bytes in files at and beneath a path, and whether all were counted before time was up.
    fn size_of(&self, path: &[u8], kind: GapKind, until: Instant) -> Option<(u64, bool)> {
        // What hangs must not be touched again, and another filesystem is not ours to measure.
        if matches!(kind, GapKind::Hung | GapKind::Mount | GapKind::Vanished) {
            return None;
        }
        let (dir, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (&b""[..], path),
        };
        let stat = self.root().dir_path_only(dir).ok()?.stat(name).ok()?;
        if stat.file_type != FileType::Dir {
            return Some((stat.size, true));
        }
        let mut total = 0;
        let mut pending = vec![path.to_vec()];
        let mut buffer = Vec::new();
        while let Some(dir) = pending.pop() {
            if Instant::now() > until {
                return Some((total, false));
            }
            let Ok(handle) = self.root().dir(&dir) else { continue };
            let mut files = Vec::new();
            let _ = handle.list(&mut buffer, &mut |name, kind, _| match kind {
                FileType::Dir => pending.push([dir.as_slice(), b"/", name].concat()),
                _ => files.push(name.to_vec()),
            });
            total += files.iter().filter_map(|name| handle.stat(name).ok()).map(|stat| stat.size).sum::<u64>();
        }
        Some((total, true))
    }
}
