//! Finds the directories that changed since the cache was written, by examining every entry it knows.
//!
//! The list is known, so nothing is listed, read or allocated for a directory that is as it was: one
//! open and one `statx` an entry. Whatever is not proven unchanged is looked at again.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use belay_sys::{Dir, FileType};

use super::hand::{EXDEV, Job, join, name_of, parent_of};
use super::judge::Decision;
use crate::error::{Error, Result};
use crate::statcache::{Cache, EntryView, Record, flags};
use crate::tree::Opaque;

/// Records that a thread takes at a time.
const RECORDS_PER_TURN: usize = 32;

/// What to look at again, by directory.
pub(super) type Work = BTreeMap<Vec<u8>, DirWork>;

/// What to look at again in one directory.
#[derive(Clone, Debug, Default)]
pub(super) struct DirWork {
    /// Its names may have changed.
    pub(super) relist: bool,
    /// These entries may have changed.
    pub(super) names: BTreeSet<Vec<u8>>,
    /// Those of them that, if they are directories, are captured with all that is in them, whatever is known of it.
    pub(super) anew: BTreeSet<Vec<u8>>,
}

impl DirWork {
    /// Has an entry captured with all that is in it.
    pub(super) fn take_anew(&mut self, name: &[u8]) {
        self.names.insert(name.to_vec());
        self.anew.insert(name.to_vec());
    }

    pub(super) fn absorb(&mut self, other: DirWork) {
        self.relist |= other.relist;
        self.names.extend(other.names);
        self.anew.extend(other.anew);
    }
}

/// What changed; `None` if the cache cannot tell and everything has to be walked.
pub(super) fn changed_since(job: &Job<'_>, cache: &Cache) -> Result<Option<Work>> {
    let Some(records) = cache.records() else { return Ok(None) };
    let root = cache.find(b"");
    let Some(root) = root.as_deref().and_then(Record::parse) else { return Ok(None) };
    if root.rules() != job.rules_at(b"").fingerprint() {
        return Ok(None);
    }
    job.options.progress.expect(root.totals().0, 0);
    let (next, broken, dirs) = (AtomicUsize::new(0), AtomicBool::new(false), AtomicUsize::new(0));
    let scan = || {
        let mut found = Changes::default();
        loop {
            let from = next.fetch_add(RECORDS_PER_TURN, Ordering::Relaxed);
            if from >= records.len() || broken.load(Ordering::Relaxed) {
                return Ok(found);
            }
            job.check_stop()?;
            let mut entries = 0;
            for bytes in &records[from..records.len().min(from + RECORDS_PER_TURN)] {
                match Record::parse(bytes) {
                    Some(record) => {
                        let (subdirs, seen) = examine(job, &record, &mut found)?;
                        dirs.fetch_add(subdirs, Ordering::Relaxed);
                        entries += seen;
                    }
                    None => broken.store(true, Ordering::Relaxed),
                }
            }
            job.options.progress.advance(entries, 0);
        }
    };
    let found: Vec<Result<Changes<'_>>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..job.threads).map(|_| scope.spawn(scan)).collect();
        let mine = scan();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().expect("a scan does not panic");
        std::iter::once(mine).chain(others.into_iter().map(join)).collect()
    });
    // Every directory but the root is an entry of another; a missing record would go unexamined.
    if broken.into_inner() || dirs.into_inner() + 1 != records.len() {
        return Ok(None);
    }
    let mut all = Changes::default();
    for part in found {
        let part = part?;
        all.lost.extend(part.lost);
        for (path, dir) in part.work {
            all.work.entry(path).or_default().absorb(dir);
        }
    }
    Ok(Some(all.into_work()))
}

/// What one thread found.
#[derive(Default)]
struct Changes<'a> {
    work: Work,
    /// Directories that cannot be opened any more.
    lost: HashSet<&'a [u8]>,
}

impl Changes<'_> {
    /// Of a tree that is gone only its top is looked for in the directory above it; what is there by then is new.
    fn into_work(mut self) -> Work {
        for path in self.lost.iter().filter(|path| !self.lost.contains(parent_of(path))) {
            self.work.entry(parent_of(path).to_vec()).or_default().take_anew(name_of(path));
        }
        self.work
    }
}

/// Examines one directory; returns how many subdirectories and other entries it has.
fn examine<'a>(job: &Job<'_>, record: &Record<'a>, found: &mut Changes<'a>) -> Result<(usize, u64)> {
    let work = &mut found.work;
    let mut counts = (0, 0);
    let Ok(dir) = job.root.dir_path_only(record.path) else {
        if record.path.is_empty() {
            let gone = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(Error::workspace("open", b".")(gone));
        }
        found.lost.insert(record.path);
        counts.0 = record.entries().filter(is_subdir).count();
        return Ok(counts);
    };
    let stat = dir.stat_self().map_err(Error::workspace("examine", record.path))?;
    if record.flags() & (flags::RACY | flags::FORCED) != 0 || job.proof(&stat) != record.dir() {
        work.entry(record.path.to_vec()).or_default().relist = true;
        counts.0 = record.entries().filter(is_subdir).count();
        return Ok(counts);
    }
    for entry in record.entries() {
        if is_subdir(&entry) {
            counts.0 += 1;
            continue;
        }
        counts.1 += 1;
        let is_same = if entry.flags & flags::OPAQUE != 0 {
            is_still_left(job, &dir, record.path, &entry)?
        } else {
            dir.stat(entry.name).is_ok_and(|stat| entry.proves(&stat))
        };
        if !is_same {
            work.entry(record.path.to_vec()).or_default().names.insert(entry.name.to_vec());
        }
    }
    Ok(counts)
}

fn is_subdir(entry: &EntryView<'_>) -> bool {
    entry.file_type == FileType::Dir && entry.flags & flags::OPAQUE == 0
}

/// Whether what was left out would be left out again, for the same reason.
fn is_still_left(job: &Job<'_>, dir: &Dir, path: &[u8], entry: &EntryView<'_>) -> Result<bool> {
    match entry.reason() {
        // The names and the rules are as they were, and nothing else decided.
        Some(Opaque::Excluded | Opaque::GitIgnored) => Ok(job.options.keep.is_none()),
        Some(Opaque::Regenerable) => {
            let is_dir = entry.file_type == FileType::Dir;
            let decision = job.decide(&job.rules_at(path), dir, &join(path, entry.name), entry.name, is_dir)?;
            Ok(matches!(decision, Decision::Leave(Opaque::Regenerable)))
        }
        Some(Opaque::Mount) => {
            let opened = job.root.dir_path_only(&join(path, entry.name));
            Ok(opened.err().and_then(|error| error.raw_os_error()) == Some(EXDEV))
        }
        _ => Ok(false),
    }
}
