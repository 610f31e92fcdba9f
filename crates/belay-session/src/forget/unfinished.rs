//! The record of a forgetting under way, durable before the first snapshot is listed without the paths.
//!
//! While it is there, the next command has something to finish: what the snapshots lost may still be in the store, and
//! no snapshot tells of it any more.

use belay_store::{Disk, Hash, Lock, LockMode};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::log::Log;
use crate::maintenance::TimelineDamage;
use crate::record::{PathText, hex};

const DIRECTORY: &str = "forgets";
const LOCK: &str = "forgets.lock";
/// So many keys are one record, which must stay below the limit of a log.
const KEYS_MAX: usize = 10_000;

/// What is being forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Unfinished {
    pub(super) operation: String,
    pub(super) begun_at: Timestamp,
    /// The workspaces with their paths, the one that it began in first.
    pub(super) scopes: Vec<Meant>,
    /// Whether what the terminals of runs showed goes, too.
    pub(super) consoles: bool,
    /// The objects that the paths had.
    #[serde(skip)]
    pub(super) objects: Vec<Hash>,
}

/// A workspace, and the paths beneath it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Meant {
    pub(super) workspace: String,
    paths: Vec<PathText>,
}

#[derive(Serialize, Deserialize)]
struct Key(#[serde(with = "hex")] Hash);

impl Meant {
    pub(super) fn new((workspace, paths): (&str, &[Vec<u8>])) -> Meant {
        let paths = paths.iter().map(|path| PathText::from(path.as_slice())).collect();
        Meant { workspace: workspace.to_owned(), paths }
    }

    pub(super) fn paths(&self) -> Vec<Vec<u8>> {
        self.paths.iter().map(|path| path.bytes().to_vec()).collect()
    }
}

/// Keeps others from forgetting, and from finishing what is being forgotten; `None` if somebody does and `wait` is false.
pub(super) fn lock(disk: &dyn Disk, wait: bool) -> Result<Option<Lock>> {
    disk.lock(LOCK, LockMode::Exclusive, wait).map_err(Error::disk("lock", LOCK))
}

/// The names of the records.
fn names(disk: &dyn Disk) -> Result<Vec<String>> {
    let files = disk.list(DIRECTORY).map_err(Error::disk("list", DIRECTORY))?;
    Ok(files.into_iter().map(|(name, _)| format!("{DIRECTORY}/{name}")).collect())
}

/// Whether anything is recorded at all.
pub(super) fn is_any(disk: &dyn Disk) -> Result<bool> {
    Ok(!names(disk)?.is_empty())
}

/// What is recorded, oldest first, and what of it cannot be read; the caller need not hold the lock.
pub(crate) fn damage(disk: &dyn Disk) -> Result<Vec<TimelineDamage>> {
    Ok(read(disk)?.1)
}

/// Removes what dead processes left of records that they were still writing; the caller holds the lock.
pub(super) fn sweep(disk: &dyn Disk) -> Result<()> {
    for name in names(disk)?.iter().filter(|name| name.ends_with(".new")) {
        disk.remove(name).map_err(Error::disk("remove", name))?;
    }
    Ok(())
}

/// The same, and what can be read, oldest first.
pub(super) fn read(disk: &dyn Disk) -> Result<(Vec<Unfinished>, Vec<TimelineDamage>)> {
    let (mut found, mut damage) = (Vec::new(), Vec::new());
    // One that was still being written announced nothing yet.
    for name in names(disk)?.into_iter().filter(|name| !name.ends_with(".new")) {
        let log = Log::read(disk, &name)?;
        match Unfinished::of(&log).filter(|_| log.broken.is_empty()) {
            Some(unfinished) => found.push(unfinished),
            // It ended between being listed and being read.
            None if !log.exists() => {}
            None => {
                let detail = "the record of an interrupted forgetting cannot be read".to_owned();
                damage.push(TimelineDamage { file: name, offset: 0, detail });
            }
        }
    }
    found.sort_by_key(|one: &Unfinished| one.begun_at);
    Ok((found, damage))
}

impl Unfinished {
    fn of(log: &Log) -> Option<Unfinished> {
        let mut payloads = log.payloads().map(|(_, payload)| payload);
        let mut unfinished: Unfinished = serde_json::from_slice(payloads.next()?).ok()?;
        for payload in payloads {
            let keys: Vec<Key> = serde_json::from_slice(payload).ok()?;
            unfinished.objects.extend(keys.into_iter().map(|key| key.0));
        }
        Some(unfinished)
    }

    /// Makes the record durable.
    pub(super) fn write(&self, disk: &dyn Disk) -> Result<()> {
        let plain = "it is plain data with text keys";
        let mut payloads = vec![serde_json::to_vec(self).expect(plain)];
        for keys in self.objects.chunks(KEYS_MAX) {
            let keys: Vec<Key> = keys.iter().copied().map(Key).collect();
            payloads.push(serde_json::to_vec(&keys).expect(plain));
        }
        Log::rewrite(disk, &self.name(), &payloads)?;
        // The directory may be as new as the record.
        disk.sync_dir("").map_err(Error::disk("sync", DIRECTORY))
    }

    /// Forgets the record, durably: it names the paths.
    pub(super) fn clear(&self, disk: &dyn Disk) -> Result<()> {
        let name = self.name();
        disk.remove(&name).map_err(Error::disk("remove", &name))?;
        disk.sync_dir(DIRECTORY).map_err(Error::disk("sync", DIRECTORY))
    }

    fn name(&self) -> String {
        format!("{DIRECTORY}/{}", self.operation)
    }
}
