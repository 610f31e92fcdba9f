//! Captures the files of a directory, and an SQLite database with its journal as a set that opens.
//!
//! With a write-ahead log the database is read first and the log after it: whatever a checkpoint moved
//! into the database meanwhile is still in the log, as long as the log was not started anew, which its
//! header shows. With a rollback journal the set must hold still as a whole.

use std::collections::{HashMap, HashSet};

use belay_sys::{Dir, Stat, Time};

use super::hand::{Hand, join};
use crate::error::Result;
use crate::manifest::GapKind;
use crate::statcache::{EntryStat, flags};
use crate::tree::Entry;

const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";
const SIDES: [&[u8]; 3] = [b"-wal", b"-journal", b"-shm"];
/// How often a set that changes under the reader is read again, and how often a large one is.
const ATTEMPTS: usize = 8;
const LARGE_ATTEMPTS: usize = 3;
const LARGE_BYTES: u64 = 32 << 20;

/// An entry to capture, and what it was if the cache vouches for it.
pub(super) struct Item {
    pub(super) name: Vec<u8>,
    pub(super) stat: Stat,
    pub(super) known: Option<(Entry, EntryStat)>,
}

/// Splits off about `count` items, never between a database and its journals.
pub(super) fn split_off(items: &mut Vec<Item>, count: usize) -> Vec<Item> {
    let mut at = items.len() - count.min(items.len());
    while at > 0 && at < items.len() && base_of(&items[at].name).is_some() {
        at -= 1;
    }
    items.split_off(at)
}

/// The name of the database that a journal of this name would belong to.
fn base_of(name: &[u8]) -> Option<&[u8]> {
    SIDES.iter().find_map(|side| name.strip_suffix(*side)).filter(|base| !base.is_empty())
}

impl Hand<'_> {
    /// Captures entries that are not directories; what the cache vouches for is not read.
    pub(super) fn take_all(
        &mut self,
        dir: &Dir,
        path: &[u8],
        items: Vec<Item>,
        since: Time,
    ) -> Result<Vec<(Entry, EntryStat)>> {
        let sets = databases(&items);
        let mut in_sets: HashMap<Vec<u8>, Vec<Item>> = HashMap::new();
        let mut taken = Vec::with_capacity(items.len());
        let mut together = Vec::new();
        for item in items {
            let base = base_of(&item.name).filter(|base| sets.contains(*base)).unwrap_or(&item.name).to_vec();
            if sets.contains(&base) {
                in_sets.entry(base).or_default().push(item);
            } else if self.is_for_together(&item) {
                together.push(item);
            } else {
                taken.extend(self.take_item(dir, path, item, since)?);
            }
        }
        taken.extend(self.take_together(dir, path, together, since)?);
        for (base, set) in in_sets {
            taken.extend(self.take_set(dir, path, &base, set, since)?);
        }
        Ok(taken)
    }

    fn take_item(&mut self, dir: &Dir, path: &[u8], item: Item, since: Time) -> Result<Option<(Entry, EntryStat)>> {
        let path = join(path, &item.name);
        if let Some(known) = item.known {
            self.note_linked(&path, &item.stat);
            return Ok(Some(known));
        }
        self.take(dir, &path, &item.name, &item.stat, since)
    }

    fn take_set(
        &mut self,
        dir: &Dir,
        path: &[u8],
        base: &[u8],
        mut set: Vec<Item>,
        since: Time,
    ) -> Result<Vec<(Entry, EntryStat)>> {
        if set.iter().all(|item| item.known.is_some()) || !is_database(dir, base) {
            return set.into_iter().filter_map(|item| self.take_item(dir, path, item, since).transpose()).collect();
        }
        set.sort_by(|a, b| a.name.cmp(&b.name));
        let (gaps, linked) = (self.findings.gaps.len(), self.findings.linked.len());
        let large = set.iter().any(|item| item.stat.size > LARGE_BYTES);
        let attempts = if large { LARGE_ATTEMPTS } else { ATTEMPTS };
        for attempt in 1.. {
            let before = seal(dir, base);
            let mut taken = Vec::new();
            // The database sorts before its journals, so it is read before them.
            for item in &set {
                // What the cache vouched for may be checkpointed into meanwhile, so it is examined again.
                let known = item.known.clone().filter(|_| dir.stat(&item.name).is_ok_and(|now| now == item.stat));
                let stat = dir.stat(&item.name).unwrap_or(item.stat);
                let again = Item { name: item.name.clone(), stat, known };
                taken.extend(self.take_item(dir, path, again, since)?);
            }
            let whole = before == seal(dir, base);
            if whole || attempt >= attempts {
                if whole {
                    // A database that grows while it is read is no gap if its log makes it whole again.
                    self.findings.gaps.retain(|gap| {
                        gap.kind != GapKind::Unstable || !set.iter().any(|item| gap.path == join(path, &item.name))
                    });
                } else {
                    self.gap(&join(path, base), GapKind::Unstable, "the database kept changing while it was read");
                }
                taken.iter_mut().for_each(|(_, proof)| proof.flags |= if whole { 0 } else { flags::RACY });
                return Ok(taken);
            }
            self.findings.gaps.truncate(gaps);
            self.findings.linked.truncate(linked);
            std::thread::yield_now();
        }
        unreachable!("the last attempt returns")
    }
}

/// Names of files that have a journal beside them.
fn databases(items: &[Item]) -> HashSet<Vec<u8>> {
    let candidates: HashSet<&[u8]> = items.iter().filter_map(|item| base_of(&item.name)).collect();
    if candidates.is_empty() {
        return HashSet::new();
    }
    items.iter().filter(|item| candidates.contains(item.name.as_slice())).map(|item| item.name.clone()).collect()
}

fn is_database(dir: &Dir, name: &[u8]) -> bool {
    head(dir, name, SQLITE_MAGIC.len()).is_some_and(|bytes| bytes == SQLITE_MAGIC)
}

fn head(dir: &Dir, name: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; len];
    let file = dir.open_read(name).ok()?;
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 0).ok()?;
    Some(bytes)
}

/// What must be the same before and after the set is read.
#[derive(PartialEq, Eq)]
enum Seal {
    /// The log's header, whose salts change whenever it is started anew.
    Log(Vec<u8>),
    /// Sizes and times of database and journal.
    Still([Option<(u64, Time, Time)>; 2]),
}

fn seal(dir: &Dir, base: &[u8]) -> Seal {
    if let Some(header) = head(dir, &[base, b"-wal"].concat(), 32) {
        return Seal::Log(header);
    }
    let state = |name: &[u8]| dir.stat(name).ok().map(|stat| (stat.size, stat.mtime, stat.ctime));
    Seal::Still([state(base), state(&[base, b"-journal"].concat())])
}
