//! The store as a whole: how big it is, what can go, and whether it is sound.

use std::path::PathBuf;

use belay_store::{GcReport, Usage, VerifyReport};

use crate::error::Result;
use crate::home::Home;
use crate::record::Snapshot;
use crate::workspace::Work;

/// A record of a timeline that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineDamage {
    /// The file beneath belay's home.
    pub file: String,
    /// Where the damage begins.
    pub offset: u64,
    /// What was expected and not found.
    pub detail: String,
}

/// How much disk belay uses, and for what.
#[derive(Clone, Debug, Default)]
pub struct Du {
    /// The store.
    pub usage: Usage,
    /// Each workspace's share, largest first.
    pub workspaces: Vec<DuRow>,
}

/// One workspace's share of the store.
#[derive(Clone, Debug, Default)]
pub struct DuRow {
    /// The workspace.
    pub id: String,
    /// Where it is.
    pub path: PathBuf,
    /// Its snapshots with the bytes that deleting only that one would free; filled if asked for.
    pub snapshots: Vec<(Snapshot, u64)>,
    /// Bytes that deleting all of its snapshots would free.
    pub exclusive_bytes: u64,
}

/// What a collection did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Collected {
    /// What the store says.
    pub report: GcReport,
    /// How many snapshots were kept.
    pub snapshots: usize,
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// Damage in the store.
    pub store: VerifyReport,
    /// The same damage, as the workspace, snapshot and path that need what is damaged.
    pub affected: Vec<(PathBuf, Snapshot, Vec<u8>)>,
    /// Damage in timelines and in the list of workspaces.
    pub timelines: Vec<TimelineDamage>,
    /// How many snapshots were checked.
    pub snapshots: usize,
}

impl Health {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.store.damage.is_empty() && self.timelines.is_empty()
    }
}

/// What a repair did.
#[derive(Clone, Debug, Default)]
pub struct RepairReport {
    /// Objects that were found again in a workspace and stored anew.
    pub healed: u64,
    /// Snapshots that still lack something.
    pub lost: Vec<Snapshot>,
    /// Unreadable records that were set aside.
    pub records_dropped: u64,
}

impl Home {
    /// How much disk is used; `each` also weighs every snapshot.
    pub fn du(&self, _each: bool) -> Result<Du> {
        unimplemented!()
    }

    /// Frees what no snapshot needs.
    pub fn gc(&self, _dry_run: bool) -> Result<Collected> {
        unimplemented!()
    }

    /// Checks the store, and with `deep` reads every byte of it.
    pub fn verify(&self, _deep: bool, _work: Work<'_>) -> Result<Health> {
        unimplemented!()
    }

    /// Heals what can be healed from the workspaces, and sets aside what cannot be read.
    pub fn repair(&self, _health: &Health, _work: Work<'_>) -> Result<RepairReport> {
        unimplemented!()
    }
}
