//! A workspace's snapshots in order, as the append-only log tells them.
//!
//! Numbers are never used twice and times never go back, not even when the log was rewritten.

use std::collections::HashSet;
use std::sync::Arc;

use belay_store::Disk;
use jiff::{SignedDuration, Timestamp};

use crate::error::{Error, Result};
use crate::log::Log;
use crate::maintenance::TimelineDamage;
use crate::record::{Backend, Kind, Record, RewindKind, Rewound, Snapshot};
use crate::spare::{self, Spared};

/// Rewinds older than the newest of these cannot be undone any more; they are dropped when the log is rewritten.
const REWINDS_KEPT: usize = 200;
const REWRITE_BYTES_MIN: u64 = 256 << 10;

/// The state of a workspace's timeline at one moment.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    snapshots: Vec<Snapshot>,
    rewinds: Vec<Rewound>,
    damage: Vec<TimelineDamage>,
    is_lost: bool,
    numbers: u64,
    latest_at: Option<Timestamp>,
    auto_slot: Option<u32>,
    records: usize,
}

impl Timeline {
    /// The snapshots that exist, oldest first.
    pub fn snapshots(&self) -> &[Snapshot] {
        &self.snapshots
    }

    /// The same, to be told what is known of them by now.
    pub(crate) fn snapshots_mut(&mut self) -> &mut [Snapshot] {
        &mut self.snapshots
    }

    /// The newest snapshot.
    pub fn latest(&self) -> Option<&Snapshot> {
        self.snapshots.last()
    }

    /// The snapshot whose state the workspace was last known to be in: the one that was last taken on purpose, or
    /// that the whole workspace was last taken back to. What belay saved before a rollback is not a state to be in.
    pub fn base(&self) -> Option<&Snapshot> {
        let taken = self.snapshots.iter().rev().find(|snapshot| snapshot.kind != Kind::Safety && !snapshot.imported);
        let whole = self.rewinds.iter().rev().find(|rewind| rewind.paths.is_empty());
        let reached = whole.and_then(|rewind| {
            let id = if rewind.reversed { &rewind.from } else { &rewind.to };
            let is_newer = taken.is_none_or(|taken| taken.created_at < rewind.at);
            self.get(id).filter(|_| is_newer)
        });
        reached.or(taken)
    }

    /// When the workspace was last taken back to the snapshot, if that was after everything else.
    pub fn reached_at(&self, base: &Snapshot) -> Option<Timestamp> {
        let last = self.rewinds.iter().rev().find(|rewind| rewind.paths.is_empty())?;
        (last.to == base.id && last.at > base.created_at).then_some(last.at)
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

    /// Whether it tells of nothing although there was a snapshot.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// The rewinds that `undo` would take back, in the order in which they happened.
    pub fn undo_stack(&self) -> Vec<&Rewound> {
        self.stacks().0
    }

    /// The undos that `redo` would take back, in the order in which they happened.
    pub fn redo_stack(&self) -> Vec<&Rewound> {
        self.stacks().1
    }

    /// The snapshots that the next `undo` and the next `redo` go to, with the verb, as far as they are still there.
    pub fn ways_back(&self) -> Vec<(&'static str, &Snapshot)> {
        let (undo, redo) = self.stacks();
        let from = |rewind: Option<&&Rewound>| rewind.and_then(|rewind| self.get(&rewind.from));
        let last_safety = || self.snapshots.iter().rev().find(|snapshot| snapshot.kind == Kind::Safety);
        let undo = if self.rewinds.is_empty() { last_safety() } else { from(undo.last()) };
        let ways = [("undo", undo), ("redo", from(redo.last()))];
        ways.into_iter().filter_map(|(verb, snapshot)| Some((verb, snapshot?))).collect()
    }

    fn stacks(&self) -> (Vec<&Rewound>, Vec<&Rewound>) {
        let (mut undo, mut redo) = (Vec::new(), Vec::new());
        for rewind in self.rewinds.iter().filter(|rewind| !rewind.reversed) {
            match rewind.kind {
                RewindKind::Rollback | RewindKind::Restore | RewindKind::Revert | RewindKind::Pick => {
                    undo.push(rewind);
                    redo.clear();
                }
                RewindKind::Undo => {
                    undo.pop();
                    redo.push(rewind);
                }
                RewindKind::Redo => {
                    redo.pop();
                    undo.push(rewind);
                }
            }
        }
        (undo, redo)
    }

    /// The slot that the newest snapshot of the ring had, even if it is gone.
    pub(crate) fn auto_slot(&self) -> Option<u32> {
        self.auto_slot
    }

    /// The number of the next snapshot.
    pub(crate) fn next_number(&self) -> u64 {
        self.numbers + 1
    }

    /// `now`, or the first instant after everything recorded if the clock was put back.
    pub(crate) fn instant(&self, now: Timestamp) -> Timestamp {
        match self.latest_at {
            Some(latest) if now <= latest => latest.checked_add(SignedDuration::from_nanos(1)).unwrap_or(latest),
            _ => now,
        }
    }

    /// Reads the timeline of that name.
    pub(crate) fn read(disk: &dyn Disk, name: &str) -> Result<Timeline> {
        Ok(Arc::unwrap_or_clone(Reading::new(disk, name, None)?.timeline))
    }

    /// Writes the log of that name anew, under its lock, with only what still counts.
    pub(crate) fn rewrite(&self, disk: &dyn Disk, name: &str) -> Result<()> {
        spare::remove(disk, name)?;
        let log = Log::rewrite(disk, name, &payloads(&self.essence()))?;
        spare::write(disk, name, &log, 0);
        Ok(())
    }

    /// The timeline of that name with what its spare still has of it, and how many records those are.
    pub(crate) fn healed(disk: &dyn Disk, name: &str) -> Result<(Timeline, u64)> {
        let Spared { log, more, .. } = Spared::read(disk, name)?;
        let Some(spare) = more else { return Ok((Timeline::of(&log, name)?, 0)) };
        let mut timeline = Timeline::of(&spare, name)?;
        // What was recorded while something was missing comes behind it, and its numbers may be taken.
        for payload in spare.behind(&log) {
            let Ok(mut record) = parse(payload) else { continue };
            if let Record::Snapshot(snapshot) = &mut record {
                snapshot.number = snapshot.number.max(timeline.next_number());
                // So may be its label: it was given while the other that has it was missing.
                snapshot.label = snapshot.label.take().map(|label| timeline.free_label(label));
            }
            timeline.apply(record);
        }
        Ok((timeline, log.behind(&spare).count() as u64))
    }

    /// The label, or the first of `label-2`, `label-3` and so on that no snapshot has.
    fn free_label(&self, label: String) -> String {
        let is_free = |label: &str| self.snapshots.iter().all(|other| other.label.as_deref() != Some(label));
        let numbered = (2u64..).map(|number| format!("{label}-{number}"));
        let mut all = std::iter::once(label.clone()).chain(numbered);
        all.find(|label| is_free(label)).expect("there are more numbers than snapshots")
    }

    /// Changes what is said of snapshots and rewinds; nothing of it counts before the log is written anew.
    pub(crate) fn edit(&mut self, mut snapshot: impl FnMut(&mut Snapshot), mut rewind: impl FnMut(&mut Rewound)) {
        self.snapshots.iter_mut().for_each(&mut snapshot);
        self.rewinds.iter_mut().for_each(&mut rewind);
    }

    /// The same as it was at a moment, but for what was deleted since.
    pub(crate) fn until(mut self, moment: Timestamp) -> Timeline {
        self.snapshots.retain(|snapshot| snapshot.created_at <= moment);
        self.rewinds.retain(|rewind| rewind.at <= moment);
        self
    }

    /// What a log tells.
    fn of(log: &Log, name: &str) -> Result<Timeline> {
        let mut timeline = Timeline::default();
        let damage = |offset, detail: &str| TimelineDamage { file: name.to_owned(), offset, detail: detail.to_owned() };
        timeline.damage = log.broken.iter().map(|broken| damage(broken.offset, broken.detail)).collect();
        for (offset, record) in read_all(log.payloads().collect()) {
            match record {
                Ok(record) => timeline.apply(record),
                // The check held, so these are the bytes that were written: by a belay that knows more than this one.
                Err(error) if error.is_data() => return Err(Error::TooNew { name: name.to_owned() }),
                Err(_) => timeline.damage.push(damage(offset, "a record is not JSON")),
            }
        }
        Ok(timeline)
    }

    /// Takes in one more record.
    pub(crate) fn apply(&mut self, record: Record) {
        self.records += 1;
        match record {
            Record::Snapshot(snapshot) => {
                self.remove(&snapshot.replaces);
                self.numbers = self.numbers.max(snapshot.number);
                self.latest_at = self.latest_at.max(Some(snapshot.created_at));
                if snapshot.pool == Some(crate::record::Pool::Auto) {
                    self.auto_slot = snapshot.slot;
                }
                self.snapshots.push(*snapshot);
            }
            Record::Delete { ids, .. } => self.remove(&ids),
            Record::Rewind(rewind) => self.rewinds.push(rewind),
            Record::Forget { rewritten, .. } => {
                for new in rewritten {
                    if let Some(old) = self.snapshots.iter_mut().find(|snapshot| snapshot.id == new.id) {
                        (old.root, old.manifest) = (new.root, new.manifest);
                        (old.files, old.bytes) = (new.files, new.bytes);
                        // What is left of it is not what its copy was.
                        (old.backend, old.native_ref) = (Backend::Objects, None);
                    }
                }
            }
            Record::Base { numbers, latest_at, auto_slot } => {
                self.numbers = self.numbers.max(numbers);
                self.latest_at = self.latest_at.max(Some(latest_at));
                self.auto_slot = auto_slot.or(self.auto_slot);
            }
        }
    }

    fn remove(&mut self, ids: &[String]) {
        if ids.is_empty() {
            return;
        }
        let ids: HashSet<&str> = ids.iter().map(String::as_str).collect();
        self.snapshots.retain(|snapshot| !ids.contains(snapshot.id.as_str()));
    }

    /// Whether most of a long log tells of what is gone.
    pub(crate) fn wants_rewrite(&self, log_bytes: u64) -> bool {
        let live = self.snapshots.len() + self.rewinds.len().min(REWINDS_KEPT);
        log_bytes > REWRITE_BYTES_MIN && self.records > 2 * live + 1 && self.damage.is_empty()
    }

    /// The records of a log that says the same in fewer words.
    pub(crate) fn essence(&self) -> Vec<Record> {
        let base = self.latest_at.map(|latest_at| Record::Base {
            numbers: self.numbers,
            latest_at,
            auto_slot: self.auto_slot,
        });
        let snapshots = self
            .snapshots
            .iter()
            .map(|snapshot| Record::Snapshot(Box::new(Snapshot { replaces: Vec::new(), ..snapshot.clone() })));
        let rewinds =
            self.rewinds[self.rewinds.len().saturating_sub(REWINDS_KEPT)..].iter().cloned().map(Record::Rewind);
        // The base comes last: it alone knows the ring's newest slot if that snapshot is gone.
        snapshots.chain(rewinds).chain(base).collect()
    }
}

/// One record. Text that is checked as a whole is not checked again string by string, which took as long as the rest of it.
fn parse(payload: &[u8]) -> serde_json::Result<Record> {
    std::str::from_utf8(payload).map_or_else(|_| serde_json::from_slice(payload), serde_json::from_str)
}

/// The records at these offsets; of many, another thread reads one half.
fn read_all(payloads: Vec<(u64, &[u8])>) -> Vec<(u64, serde_json::Result<Record>)> {
    const MANY: usize = 256;
    let read =
        |part: &[(u64, &[u8])]| -> Vec<_> { part.iter().map(|(offset, payload)| (*offset, parse(payload))).collect() };
    if payloads.len() < MANY {
        return read(&payloads);
    }
    let (older, newer) = payloads.split_at(payloads.len() / 2);
    std::thread::scope(|scope| {
        let newer = scope.spawn(|| read(newer));
        let mut all = read(older);
        all.extend(newer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        all
    })
}

/// A timeline with the log that it was read from, kept to be read only once.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) timeline: Arc<Timeline>,
    pub(crate) log: Arc<Log>,
    /// How many bytes of the log are in its spare.
    pub(crate) spared: u64,
}

impl Reading {
    /// Reads the timeline of that name, unless `known` is still what the file holds.
    pub(crate) fn new(disk: &dyn Disk, name: &str, known: Option<Reading>) -> Result<Reading> {
        match known {
            Some(known) if known.log.is_still(disk, name)? => return Ok(known),
            _ => {}
        }
        let Spared { log, len, more } = Spared::read(disk, name)?;
        let mut timeline = Timeline::of(&log, name)?;
        timeline.is_lost = log.is_empty() && (more.is_some() || !log.broken.is_empty() || had_snapshot(disk, name)?);
        let detail = match more {
            _ if timeline.is_lost => "there was a timeline, and it is missing or empty",
            Some(_) => "records are missing that it once had",
            None => "",
        };
        // Other damage is named by itself, and may be what hides the records.
        if timeline.damage.is_empty() && !detail.is_empty() {
            let (file, offset, detail) = (name.to_owned(), log.len(), detail.to_owned());
            timeline.damage.push(TimelineDamage { file, offset, detail });
        }
        Ok(Reading { timeline: Arc::new(timeline), log: Arc::new(log), spared: len })
    }

    /// The same, or an error if going on would begin a second history where the first one is lost.
    pub(crate) fn unless_lost(self, name: &str) -> Result<Reading> {
        match self.timeline.is_lost {
            true => Err(Error::LostTimeline { name: name.to_owned() }),
            false => Ok(self),
        }
    }
}

/// Whether something beside the timeline tells of a snapshot: only after one a cache is written.
fn had_snapshot(disk: &dyn Disk, name: &str) -> Result<bool> {
    let dir = name.rsplit_once('/').map_or("", |(dir, _)| dir);
    let files = disk.list(dir).map_err(Error::disk("list", dir))?;
    Ok(files.iter().any(|(name, _)| name.starts_with("cache")))
}

/// Records as payloads of a log.
pub(crate) fn payloads(records: &[Record]) -> Vec<Vec<u8>> {
    records
        .iter()
        .map(|record| serde_json::to_vec(record).expect("every record is plain data with text keys"))
        .collect()
}

#[cfg(test)]
pub(crate) mod tests;
