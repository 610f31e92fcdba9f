//! The stat cache: what each directory of a workspace looked like when its node was written.
//!
//! It only ever saves work. Every record carries its own check and the proof (inode, size, times) that
//! its directory has not changed; a record that is missing, damaged or out of date means reading again.
//! A *base* holds all records of one snapshot. A *delta* of frames follows it, each with the records of
//! the directories that one later snapshot found changed: of a large directory, only the entries that did. A frame is only appended to the very state it
//! was made from, so that base and delta together always describe one snapshot.

mod record;
mod save;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

pub(crate) use record::{DirStat, EntryStat, EntryView, Record, RecordBuilder, flags};
pub(crate) use save::{Update, save};

use crate::disk::{Disk, DiskFile};
use crate::hash::Hash;
use crate::pack::u64_at;

pub(super) const BASE_MAGIC: &[u8; 8] = b"BELAYSC1";
pub(super) const DELTA_MAGIC: &[u8; 8] = b"BELAYSD2";
pub(super) const HEADER_LEN: usize = 88;
pub(super) const INDEX_ROW: usize = 16;
/// Rows of the index that are read on either side of where one is expected.
const ROWS_AROUND: u64 = 192;
/// As much is read of a record at first: all of most.
const START_BYTES_MIN: usize = 1500;
/// Record and frame headers: length and check.
pub(super) const FRAME_HEADER: usize = 12;

/// An inode with several names, and one of those names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Linked {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) path: Vec<u8>,
}

/// A loaded stat cache.
pub(crate) struct Cache {
    /// The snapshot that base and delta together describe.
    pub(crate) describes: Hash,
    pub(crate) end: End,
    pub(crate) base_len: u64,
    base: Base,
    records_end: u64,
    index_rows: u64,
    /// Records of the delta by path: those that change an older record, behind it unless that is in the base.
    newer: HashMap<Vec<u8>, Vec<Vec<u8>>>,
    /// Directories that the delta says are gone; base records at and beneath them do not count.
    gone: HashSet<Vec<u8>>,
    /// Every path that shares its inode with another.
    pub(crate) linked: Vec<Linked>,
}

/// Where the next frame goes, which tells every state of a cache from every other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) base_id: [u8; 16],
    pub(crate) delta_len: u64,
}

impl End {
    /// The end of the cache on disk, unless something that is no frame follows it.
    pub(super) fn read(disk: &dyn Disk, name: &str) -> Option<End> {
        let mut header = [0; HEADER_LEN];
        disk.open(&format!("{name}.base")).ok()?.read_at(&mut header, 0).ok()?;
        let base_id: [u8; 16] = header[40..56].try_into().ok()?;
        let delta_len = match disk.open(&format!("{name}.delta")) {
            Ok(delta) => delta.len().ok()?,
            Err(_) => 0,
        };
        Some(End { base_id, delta_len })
    }
}

enum Base {
    Loaded(Vec<u8>),
    OnDisk(Box<dyn DiskFile>),
}

impl Cache {
    /// Opens the cache; `whole` reads it at once, for a walk that will ask for every record.
    pub(crate) fn open(disk: &dyn Disk, name: &str, whole: bool) -> Option<Cache> {
        let base_name = format!("{name}.base");
        let file = disk.open(&base_name).ok()?;
        let base_len = file.len().ok()?;
        let base = if whole {
            let mut bytes = vec![0; base_len as usize];
            file.read_at(&mut bytes, 0).ok()?;
            Base::Loaded(bytes)
        } else {
            Base::OnDisk(file)
        };
        let header = base.bytes(0, HEADER_LEN)?;
        if &header[..8] != BASE_MAGIC || check(&header[..80]) != u64_at(&header, 80) {
            return None;
        }
        let describes = Hash(header[8..40].try_into().ok()?);
        let base_id: [u8; 16] = header[40..56].try_into().ok()?;
        let (records_end, index_rows) = (u64_at(&header, 56), u64_at(&header, 64));
        let linked_at = index_rows.checked_mul(INDEX_ROW as u64).and_then(|len| len.checked_add(records_end))?;
        if linked_at > base_len {
            return None;
        }
        let linked_bytes = base.bytes(linked_at, (base_len - linked_at) as usize)?;
        let (linked_bytes, linked_check) = linked_bytes.split_last_chunk::<8>()?;
        if check(linked_bytes) != u64::from_le_bytes(*linked_check) {
            return None;
        }
        let linked = record::decode_linked(linked_bytes, u64_at(&header, 72))?;
        let (newer, gone) = (HashMap::new(), HashSet::new());
        let end = End { base_id, delta_len: 0 };
        let mut cache = Cache { describes, end, base_len, base, records_end, index_rows, newer, gone, linked };
        if let Ok(delta) = disk.read(&format!("{name}.delta")) {
            cache.read_delta(&delta);
        }
        if whole { cache.settled() } else { Some(cache) }
    }

    /// The cache with one record for each path of the delta.
    fn settled(mut self) -> Option<Cache> {
        let is_settled = |records: &[Vec<u8>]| matches!(records, [one] if !Record::is_partial(one));
        let unsettled = self.newer.iter().filter(|(_, records)| !is_settled(records)).map(|(path, _)| path);
        let unsettled: Vec<Vec<u8>> = unsettled.cloned().collect();
        for path in unsettled {
            let whole = self.find(&path)?.into_owned();
            self.newer.insert(path, vec![whole]);
        }
        Some(self)
    }

    fn read_delta(&mut self, delta: &[u8]) {
        let head = DELTA_MAGIC.len() + 16;
        if delta.len() < head || &delta[..8] != DELTA_MAGIC || delta[8..head] != self.end.base_id {
            return;
        }
        let mut rest = &delta[head..];
        let mut good = head;
        while let Some((frame, after)) = split_frame(rest) {
            let Some(frame) = record::decode_frame(frame) else { break };
            for path in frame.gone {
                let beneath = [path.as_slice(), b"/"].concat();
                self.newer.retain(|known, _| *known != path && !known.starts_with(&beneath));
                self.gone.insert(path);
            }
            for (path, bytes) in frame.records {
                let newer = self.newer.entry(path).or_default();
                if !Record::is_partial(&bytes) {
                    newer.clear();
                }
                newer.push(bytes);
            }
            if let Some(linked) = frame.linked {
                self.linked = linked;
            }
            self.describes = frame.describes;
            good += rest.len() - after.len();
            rest = after;
        }
        self.end.delta_len = good as u64;
    }

    /// Every record that counts, as bytes for [`Record::parse`]; `None` if the cache is not loaded whole or one is missing.
    pub(crate) fn records(&self) -> Option<Vec<&[u8]>> {
        let Base::Loaded(base) = &self.base else { return None };
        let mut found = Vec::with_capacity(self.index_rows as usize);
        let mut rest = base.get(HEADER_LEN..self.records_end as usize)?;
        for _ in 0..self.index_rows {
            let (bytes, after) = split_unchecked(rest)?;
            if !self.is_superseded(Record::path_of(bytes)) {
                found.push(&rest[..FRAME_HEADER + bytes.len()]);
            }
            rest = after;
        }
        found.extend(self.newer.values().flatten().map(Vec::as_slice));
        rest.is_empty().then_some(found)
    }

    /// How many directories it knows, or a few more.
    pub(crate) fn dirs(&self) -> usize {
        self.index_rows as usize + self.newer.len()
    }

    fn is_superseded(&self, path: &[u8]) -> bool {
        if self.newer.is_empty() && self.gone.is_empty() {
            return false;
        }
        self.newer.contains_key(path) || self.is_gone(path)
    }

    fn is_gone(&self, path: &[u8]) -> bool {
        if self.gone.is_empty() {
            return false;
        }
        let above = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at]);
        above.chain([path]).any(|dir| self.gone.contains(dir))
    }

    /// The record of one directory, as bytes for [`Record::parse`].
    pub(crate) fn find(&self, path: &[u8]) -> Option<Cow<'_, [u8]>> {
        let Some(newer) = self.newer.get(path) else { return self.in_base(path) };
        match newer.as_slice() {
            [one] if !Record::is_partial(one) => Some(Cow::Borrowed(one)),
            [first, later @ ..] if !Record::is_partial(first) => record::merged(first, later).map(Cow::Owned),
            later => record::merged(&self.in_base(path)?, later).map(Cow::Owned),
        }
    }

    /// The same, checked already, for [`Record::checked`]: `None` if it is damaged.
    pub(crate) fn find_checked(&self, path: &[u8]) -> Option<Cow<'_, [u8]>> {
        let newer = self.newer.get(path).map_or(&[][..], Vec::as_slice);
        let (whole, later) = match newer.split_first() {
            Some((first, later)) if !Record::is_partial(first) => (Cow::Borrowed(first.as_slice()), later),
            _ => (self.in_base(path)?, newer),
        };
        let record = Record::parse(&whole)?;
        if later.is_empty() {
            return Some(whole);
        }
        let later = later.iter().map(|bytes| Record::parse(bytes)).collect::<Option<Vec<_>>>()?;
        record::joined(&record, &later).map(Cow::Owned)
    }

    /// What is known of one directory itself, checked already: a record that may lack entries.
    pub(crate) fn find_head(&self, path: &[u8]) -> Option<Cow<'_, [u8]>> {
        match self.newer.get(path).and_then(|newer| newer.last()) {
            Some(last) => Record::parse(last).map(|_| Cow::Borrowed(last.as_slice())),
            None => self.in_base(path).filter(|bytes| Record::parse(bytes).is_some()),
        }
    }

    /// Whether there is a record of that directory, be it good or damaged.
    pub(crate) fn contains(&self, path: &[u8]) -> bool {
        self.newer.contains_key(path) || self.place_in_base(path).is_some()
    }

    fn in_base(&self, path: &[u8]) -> Option<Cow<'_, [u8]>> {
        let (offset, start) = self.place_in_base(path)?;
        let len = FRAME_HEADER + u32::from_le_bytes(start.get(..4)?.try_into().ok()?) as usize;
        if len > start.len() {
            return self.base.bytes(offset, len);
        }
        Some(match start {
            Cow::Borrowed(start) => Cow::Borrowed(&start[..len]),
            Cow::Owned(mut start) => {
                start.truncate(len);
                Cow::Owned(start)
            }
        })
    }

    /// Where the base's record of a directory is, with its header, and how it begins; what follows it may be read with it.
    fn place_in_base(&self, path: &[u8]) -> Option<(u64, Cow<'_, [u8]>)> {
        if self.is_gone(path) {
            return None;
        }
        let wanted = path_hash(path);
        let (mut at, rows) = self.first_row(wanted)?;
        let mut rows = rows.chunks_exact(INDEX_ROW).skip_while(|row| u64_at(row, 0) < wanted);
        while at < self.index_rows {
            let row = match rows.next() {
                Some(row) => Cow::Borrowed(row),
                None => self.base.bytes(self.row_at(at), INDEX_ROW)?,
            };
            if u64_at(&row, 0) != wanted {
                return None;
            }
            let offset = u64_at(&row, 8);
            let start = FRAME_HEADER + Record::start_len(path).max(START_BYTES_MIN);
            let start = self.base.bytes(offset, start.min(self.base_len.saturating_sub(offset) as usize))?;
            if Record::path_of(start.get(FRAME_HEADER..)?) == path {
                return Some((offset, start));
            }
            at += 1;
        }
        None
    }

    /// Where the first row of the index is whose hash is not below `wanted`, and rows around it.
    fn first_row(&self, wanted: u64) -> Option<(u64, Cow<'_, [u8]>)> {
        // Hashes are spread evenly, so that a guess lands close, and one read around it is nearly always enough.
        let guess = ((u128::from(wanted) * u128::from(self.index_rows)) >> 64) as u64;
        let (mut low, mut high) = (guess.saturating_sub(ROWS_AROUND), (guess + ROWS_AROUND).min(self.index_rows));
        let rows = self.base.bytes(self.row_at(low), (high - low) as usize * INDEX_ROW)?;
        let below = rows.chunks_exact(INDEX_ROW).take_while(|row| u64_at(row, 0) < wanted).count() as u64;
        if (below > 0 || low == 0) && (low + below < high || high == self.index_rows) {
            return Some((low + below, rows));
        }
        (low, high) = (0, self.index_rows);
        while low < high {
            let middle = (low + high) / 2;
            let row = self.base.bytes(self.row_at(middle), INDEX_ROW)?;
            if u64_at(&row, 0) < wanted { low = middle + 1 } else { high = middle }
        }
        Some((low, Cow::Borrowed(&[])))
    }

    fn row_at(&self, number: u64) -> u64 {
        self.records_end + number * INDEX_ROW as u64
    }
}

impl Base {
    fn bytes(&self, offset: u64, len: usize) -> Option<Cow<'_, [u8]>> {
        match self {
            Base::Loaded(bytes) => {
                let from = usize::try_from(offset).ok()?;
                bytes.get(from..from.checked_add(len)?).map(Cow::Borrowed)
            }
            Base::OnDisk(file) => {
                let mut bytes = vec![0; len];
                file.read_at(&mut bytes, offset).ok()?;
                Some(Cow::Owned(bytes))
            }
        }
    }
}

/// Splits a frame off, if it is whole and its check holds.
fn split_frame(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (body, rest) = split_unchecked(bytes)?;
    (check(body) == u64_at(bytes, 4)).then_some((body, rest))
}

fn split_unchecked(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let header = bytes.get(..FRAME_HEADER)?;
    let len = u32::from_le_bytes(header[..4].try_into().expect("four bytes")) as usize;
    bytes[FRAME_HEADER..].split_at_checked(len)
}

pub(super) fn check(bytes: &[u8]) -> u64 {
    u64_at(blake3::hash(bytes).as_bytes(), 0)
}

pub(super) fn path_hash(path: &[u8]) -> u64 {
    check(path)
}

/// Puts length and check in front of a body.
pub(crate) fn framed(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(FRAME_HEADER + body.len());
    out.extend_from_slice(&(body.len() as u32).to_le_bytes());
    out.extend_from_slice(&check(body).to_le_bytes());
    out.extend_from_slice(body);
    out
}

#[cfg(test)]
mod tests;
