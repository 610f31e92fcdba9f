//! A workspace's snapshots in order, as the append-only log tells them.

use crate::error::Result;
use crate::maintenance::TimelineDamage;
use crate::record::{Rewound, Snapshot};

/// The state of a workspace's timeline at one moment.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    snapshots: Vec<Snapshot>,
    rewinds: Vec<Rewound>,
    damage: Vec<TimelineDamage>,
}

impl Timeline {
    /// The snapshots that exist, oldest first.
    pub fn snapshots(&self) -> &[Snapshot] {
        &self.snapshots
    }

    /// The newest snapshot.
    pub fn latest(&self) -> Option<&Snapshot> {
        self.snapshots.last()
    }

    /// The snapshot of that exact id.
    pub fn get(&self, id: &str) -> Option<&Snapshot> {
        self.snapshots.iter().find(|snapshot| snapshot.id == id)
    }

    /// Rollbacks, undos, redos and restores, oldest first.
    pub fn rewinds(&self) -> &[Rewound] {
        &self.rewinds
    }

    /// Records that cannot be read.
    pub fn damage(&self) -> &[TimelineDamage] {
        &self.damage
    }

    /// The snapshot that `name` names: an id or its unique beginning, a label, `cp-3`, a number, `@latest`,
    /// `@pre-run`, `@-2`, `@turn-7`, `@safety`, or a time.
    pub fn resolve(&self, _name: &str, _now: &jiff::Zoned) -> Result<&Snapshot> {
        unimplemented!()
    }
}
