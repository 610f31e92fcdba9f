//! One directory's record: its own proof, its node, and the proof of each of its entries.

use std::collections::BTreeMap;

use belay_sys::{FileType, Stat, Time};

use super::{FRAME_HEADER, Linked, check, framed};
use crate::hash::Hash;
use crate::pack::{u32_at, u64_at};
use crate::tree::Opaque;

/// Length of a record before its path: own stat, node, identity, totals, rules, flags, counts.
const FIXED: usize = 8 + 8 + 12 + 12 + 32 + 32 + 8 + 8 + 8 + 1 + 4 + 4;
const FLAGS_AT: usize = 128;
const COUNT_AT: usize = 129;
const ENTRY_FIXED: usize = 8 + 8 + 12 + 12 + 1 + 1 + 2;

/// Bits of a record and of an entry.
pub(crate) mod flags {
    /// It was changed so shortly before it was captured that a later change could leave the same times.
    pub(crate) const RACY: u8 = 1;
    /// The entry was seen and not captured: look again.
    pub(crate) const OPAQUE: u8 = 2;
    /// The inode has several names.
    pub(crate) const LINKED: u8 = 4;
    /// The record: something in it was captured only because a restore was about to change it: judge again.
    pub(crate) const FORCED: u8 = 8;
    /// The record: the directory holds ignore rules.
    pub(crate) const RULES: u8 = 16;
    /// The record: it has only those entries that changed since the record before it.
    pub(crate) const PARTIAL: u8 = 32;
    /// The entry, in such a record: it is gone.
    pub(crate) const GONE: u8 = 64;
}

/// What proves that a directory is the one that was captured, with the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirStat {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) mtime: Time,
    pub(crate) ctime: Time,
}

impl From<&Stat> for DirStat {
    fn from(stat: &Stat) -> Self {
        DirStat { dev: stat.dev, ino: stat.ino, mtime: stat.mtime, ctime: stat.ctime }
    }
}

/// What proves that an entry is the one that was captured, with the same bytes and properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryStat {
    pub(crate) name: Vec<u8>,
    pub(crate) file_type: FileType,
    pub(crate) ino: u64,
    pub(crate) size: u64,
    pub(crate) mtime: Time,
    pub(crate) ctime: Time,
    pub(crate) flags: u8,
}

impl EntryStat {
    pub(crate) fn new(name: Vec<u8>, stat: &Stat, flags: u8) -> EntryStat {
        let linked = if stat.nlink > 1 && stat.file_type != FileType::Dir { flags::LINKED } else { 0 };
        let Stat { file_type, ino, size, mtime, ctime, .. } = *stat;
        EntryStat { name, file_type, ino, size, mtime, ctime, flags: flags | linked }
    }

    /// Says of a name that it is gone.
    pub(crate) fn gone(name: Vec<u8>) -> EntryStat {
        let zero = Time { sec: 0, nsec: 0 };
        EntryStat { name, file_type: FileType::Unknown, ino: 0, size: 0, mtime: zero, ctime: zero, flags: flags::GONE }
    }

    /// Adds the entry's bytes in a record.
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.ino.to_le_bytes());
        out.extend_from_slice(&self.size.to_le_bytes());
        put_time(out, self.mtime);
        put_time(out, self.ctime);
        out.push(type_code(self.file_type));
        out.push(self.flags);
        out.extend_from_slice(&(self.name.len() as u16).to_le_bytes());
        out.extend_from_slice(&self.name);
    }

    /// Whether the inode is still the one that was captured, unchanged.
    pub(crate) fn proves(&self, stat: &Stat) -> bool {
        self.flags & (flags::RACY | flags::OPAQUE) == 0
            && self.file_type == stat.file_type
            && self.ino == stat.ino
            && self.size == stat.size
            && self.mtime == stat.mtime
            && self.ctime == stat.ctime
    }
}

/// A parsed record that borrows its bytes.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    bytes: &'a [u8],
    pub(crate) path: &'a [u8],
    entries_at: usize,
}

/// An entry of a record.
#[derive(Clone, Copy)]
pub(crate) struct EntryView<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) file_type: FileType,
    pub(crate) flags: u8,
    proof: &'a [u8],
    bytes: &'a [u8],
}

impl EntryView<'_> {
    /// Whether the inode is still the one that was captured, unchanged.
    pub(crate) fn proves(&self, stat: &Stat) -> bool {
        self.flags & (flags::RACY | flags::OPAQUE) == 0
            && self.file_type == stat.file_type
            && u64_at(self.proof, 0) == stat.ino
            && u64_at(self.proof, 8) == stat.size
            && time_at(self.proof, 16) == stat.mtime
            && time_at(self.proof, 28) == stat.ctime
    }

    /// Whether it says the same.
    pub(crate) fn is(&self, stat: &EntryStat) -> bool {
        let mut bytes = Vec::with_capacity(self.bytes.len());
        stat.encode(&mut bytes);
        self.bytes == bytes
    }

    /// Why an opaque entry was not captured.
    pub(crate) fn reason(&self) -> Option<Opaque> {
        Opaque::ALL.get(u64_at(self.proof, 0) as usize).copied()
    }

    pub(crate) fn to_stat(self) -> EntryStat {
        EntryStat {
            name: self.name.to_vec(),
            file_type: self.file_type,
            ino: u64_at(self.proof, 0),
            size: u64_at(self.proof, 8),
            mtime: time_at(self.proof, 16),
            ctime: time_at(self.proof, 28),
            flags: self.flags,
        }
    }
}

impl<'a> Record<'a> {
    /// Reads a framed record; `None` if its check does not hold.
    pub(crate) fn parse(framed: &'a [u8]) -> Option<Record<'a>> {
        let bytes = framed.get(FRAME_HEADER..)?;
        if bytes.len() < FIXED || check(bytes) != u64_at(framed, 4) {
            return None;
        }
        Record::checked(framed)
    }

    /// Reads a framed record whose check was made before.
    pub(crate) fn checked(framed: &'a [u8]) -> Option<Record<'a>> {
        let bytes = framed.get(FRAME_HEADER..).filter(|bytes| bytes.len() >= FIXED)?;
        let path_len = u32_at(bytes, FIXED - 4) as usize;
        let path = bytes.get(FIXED..FIXED.checked_add(path_len)?)?;
        Some(Record { bytes, path, entries_at: FIXED + path_len })
    }

    /// How long a record is up to the end of its path.
    pub(crate) fn start_len(path: &[u8]) -> usize {
        FIXED + path.len()
    }

    /// The path of a record whose check has not been made.
    pub(crate) fn path_of(bytes: &[u8]) -> &[u8] {
        if bytes.len() < FIXED {
            return b"";
        }
        let path_len = u32_at(bytes, FIXED - 4) as usize;
        bytes.get(FIXED..FIXED.saturating_add(path_len)).unwrap_or_default()
    }

    /// Whether a framed record has only what changed since the one before it.
    pub(crate) fn is_partial(framed: &[u8]) -> bool {
        framed.get(FRAME_HEADER + FLAGS_AT).is_some_and(|bits| bits & flags::PARTIAL != 0)
    }

    pub(crate) fn dir(&self) -> DirStat {
        DirStat {
            dev: u64_at(self.bytes, 0),
            ino: u64_at(self.bytes, 8),
            mtime: time_at(self.bytes, 16),
            ctime: time_at(self.bytes, 28),
        }
    }

    pub(crate) fn node(&self) -> Hash {
        Hash(self.bytes[40..72].try_into().expect("32 bytes"))
    }

    pub(crate) fn identity(&self) -> Hash {
        Hash(self.bytes[72..104].try_into().expect("32 bytes"))
    }

    pub(crate) fn totals(&self) -> (u64, u64) {
        (u64_at(self.bytes, 104), u64_at(self.bytes, 112))
    }

    pub(crate) fn rules(&self) -> u64 {
        u64_at(self.bytes, 120)
    }

    pub(crate) fn flags(&self) -> u8 {
        self.bytes[FLAGS_AT]
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = EntryView<'a>> + use<'a> {
        let count = u32_at(self.bytes, COUNT_AT);
        let mut rest = &self.bytes[self.entries_at..];
        (0..count).map_while(move |_| {
            let fixed = rest.get(..ENTRY_FIXED)?;
            let name_len = u16::from_le_bytes([fixed[42], fixed[43]]) as usize;
            let (entry, after) = rest.split_at_checked(ENTRY_FIXED + name_len)?;
            rest = after;
            let file_type = type_of(entry[40]);
            let (name, proof) = (&entry[ENTRY_FIXED..], &entry[..40]);
            Some(EntryView { name, file_type, flags: entry[41], proof, bytes: entry })
        })
    }
}

/// A record in the making.
pub(crate) struct RecordBuilder {
    pub(crate) path: Vec<u8>,
    pub(crate) dir: DirStat,
    pub(crate) node: Hash,
    pub(crate) identity: Hash,
    pub(crate) totals: (u64, u64),
    pub(crate) rules: u64,
    pub(crate) flags: u8,
    pub(crate) entries: Vec<EntryStat>,
}

impl RecordBuilder {
    /// The record with its length and check.
    pub(crate) fn build(&self) -> Vec<u8> {
        let names: usize = self.entries.iter().map(|entry| entry.name.len() + ENTRY_FIXED).sum();
        let mut out = self.head(self.flags, self.entries.len(), names);
        self.entries.iter().for_each(|entry| entry.encode(&mut out));
        framed(&out)
    }

    /// A record whose entries are those that changed since `before`, which was of so many entries; a whole one itself if
    /// that is most of them and they are all known.
    pub(crate) fn build_after(&self, before: &[u8], count: usize) -> Vec<u8> {
        let names: usize = self.entries.iter().map(|entry| entry.name.len() + ENTRY_FIXED).sum();
        let mut out = self.head(self.flags | flags::PARTIAL, self.entries.len(), names);
        self.entries.iter().for_each(|entry| entry.encode(&mut out));
        let partial = framed(&out);
        if self.entries.len() * 2 <= count || Record::is_partial(before) {
            return partial;
        }
        let both = Record::checked(before).zip(Record::checked(&partial));
        both.and_then(|(before, after)| joined(&before, &[after])).map_or(partial, closed)
    }

    /// All that comes before the entries.
    fn head(&self, flags: u8, count: usize, entries_len: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(FIXED + self.path.len() + entries_len);
        out.extend_from_slice(&self.dir.dev.to_le_bytes());
        out.extend_from_slice(&self.dir.ino.to_le_bytes());
        put_time(&mut out, self.dir.mtime);
        put_time(&mut out, self.dir.ctime);
        out.extend_from_slice(&self.node.0);
        out.extend_from_slice(&self.identity.0);
        out.extend_from_slice(&self.totals.0.to_le_bytes());
        out.extend_from_slice(&self.totals.1.to_le_bytes());
        out.extend_from_slice(&self.rules.to_le_bytes());
        out.push(flags);
        out.extend_from_slice(&(count as u32).to_le_bytes());
        out.extend_from_slice(&(self.path.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.path);
        out
    }
}

/// One record out of a whole one and those that follow it; `None` if one of them is damaged.
pub(super) fn merged(whole: &[u8], later: &[Vec<u8>]) -> Option<Vec<u8>> {
    let later = later.iter().map(|bytes| Record::parse(bytes)).collect::<Option<Vec<_>>>()?;
    joined(&Record::parse(whole)?, &later).map(closed)
}

/// Fills in the length and check of a record.
fn closed(mut record: Vec<u8>) -> Vec<u8> {
    let (header, body) = record.split_at_mut(FRAME_HEADER);
    header[..4].copy_from_slice(&(body.len() as u32).to_le_bytes());
    header[4..].copy_from_slice(&check(body).to_le_bytes());
    record
}

/// One record out of a whole one and those that follow it, for [`Record::checked`]: with nothing but room where its length
/// and check go.
pub(super) fn joined(whole: &Record<'_>, later: &[Record<'_>]) -> Option<Vec<u8>> {
    if whole.flags() & flags::PARTIAL != 0 {
        return None;
    }
    let last = later.last().unwrap_or(whole);
    let mut changed: BTreeMap<&[u8], EntryView<'_>> = BTreeMap::new();
    changed.extend(later.iter().flat_map(Record::entries).map(|entry| (entry.name, entry)));
    let mut out = Vec::with_capacity(FRAME_HEADER + whole.bytes.len() + last.bytes.len());
    out.resize(FRAME_HEADER, 0);
    out.extend_from_slice(&last.bytes[..last.entries_at]);
    let mut count = 0u32;
    let mut keep = |entry: EntryView<'_>| {
        if entry.flags & flags::GONE == 0 {
            out.extend_from_slice(entry.bytes);
            count += 1;
        }
    };
    let mut changes = changed.into_values().peekable();
    for entry in whole.entries() {
        while let Some(new) = changes.next_if(|change| change.name < entry.name) {
            keep(new);
        }
        keep(changes.next_if(|change| change.name == entry.name).unwrap_or(entry));
    }
    changes.for_each(keep);
    let body = &mut out[FRAME_HEADER..];
    body[FLAGS_AT] &= !flags::PARTIAL;
    body[COUNT_AT..COUNT_AT + 4].copy_from_slice(&count.to_le_bytes());
    Some(out)
}

/// What one snapshot changed in the cache.
pub(super) struct Frame {
    pub(super) describes: Hash,
    pub(super) records: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) gone: Vec<Vec<u8>>,
    pub(super) linked: Option<Vec<Linked>>,
}

pub(super) fn encode_frame(
    describes: &Hash,
    records: &[Vec<u8>],
    gone: &[Vec<u8>],
    linked: Option<&[Linked]>,
) -> Vec<u8> {
    let mut out = describes.0.to_vec();
    out.extend_from_slice(&(records.len() as u32).to_le_bytes());
    records.iter().for_each(|record| out.extend_from_slice(record));
    out.extend_from_slice(&(gone.len() as u32).to_le_bytes());
    for path in gone {
        out.extend_from_slice(&(path.len() as u32).to_le_bytes());
        out.extend_from_slice(path);
    }
    out.push(u8::from(linked.is_some()));
    if let Some(linked) = linked {
        out.extend_from_slice(&(linked.len() as u64).to_le_bytes());
        out.extend_from_slice(&encode_linked(linked));
    }
    framed(&out)
}

pub(super) fn decode_frame(bytes: &[u8]) -> Option<Frame> {
    let describes = Hash(bytes.get(..32)?.try_into().ok()?);
    let count = u32_at(bytes.get(32..36)?, 0);
    let mut rest = &bytes[36..];
    let mut records = Vec::new();
    for _ in 0..count {
        let len = u32_at(rest.get(..FRAME_HEADER)?, 0) as usize;
        let (record, after) = rest.split_at_checked(FRAME_HEADER + len)?;
        records.push((Record::path_of(&record[FRAME_HEADER..]).to_vec(), record.to_vec()));
        rest = after;
    }
    let count = u32_at(rest.get(..4)?, 0);
    rest = &rest[4..];
    let mut gone = Vec::new();
    for _ in 0..count {
        let len = u32_at(rest.get(..4)?, 0) as usize;
        let (path, after) = rest[4..].split_at_checked(len)?;
        gone.push(path.to_vec());
        rest = after;
    }
    let linked = match rest.first()? {
        0 => None,
        _ => Some(decode_linked(rest.get(9..)?, u64_at(rest, 1))?),
    };
    Some(Frame { describes, records, gone, linked })
}

pub(super) fn encode_linked(linked: &[Linked]) -> Vec<u8> {
    let mut out = Vec::new();
    for one in linked {
        out.extend_from_slice(&one.dev.to_le_bytes());
        out.extend_from_slice(&one.ino.to_le_bytes());
        out.extend_from_slice(&(one.path.len() as u32).to_le_bytes());
        out.extend_from_slice(&one.path);
    }
    out
}

pub(super) fn decode_linked(mut bytes: &[u8], count: u64) -> Option<Vec<Linked>> {
    let mut linked = Vec::new();
    for _ in 0..count {
        let fixed = bytes.get(..20)?;
        let (dev, ino, len) = (u64_at(fixed, 0), u64_at(fixed, 8), u32_at(fixed, 16) as usize);
        let (path, rest) = bytes[20..].split_at_checked(len)?;
        linked.push(Linked { dev, ino, path: path.to_vec() });
        bytes = rest;
    }
    Some(linked)
}

fn time_at(bytes: &[u8], at: usize) -> Time {
    Time { sec: u64_at(bytes, at) as i64, nsec: u32_at(bytes, at + 8) }
}

fn put_time(out: &mut Vec<u8>, time: Time) {
    out.extend_from_slice(&time.sec.to_le_bytes());
    out.extend_from_slice(&time.nsec.to_le_bytes());
}

const TYPES: [FileType; 8] = [
    FileType::Unknown,
    FileType::File,
    FileType::Dir,
    FileType::Symlink,
    FileType::Fifo,
    FileType::Socket,
    FileType::CharDevice,
    FileType::BlockDevice,
];

fn type_code(file_type: FileType) -> u8 {
    TYPES.iter().position(|one| *one == file_type).expect("the table lists every type") as u8
}

fn type_of(code: u8) -> FileType {
    TYPES.get(usize::from(code)).copied().unwrap_or(FileType::Unknown)
}
