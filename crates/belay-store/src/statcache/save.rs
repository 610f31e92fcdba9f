//! Writes the stat cache: a frame behind the state it was made from, or a new base.

use super::record::{encode_frame, encode_linked};
use super::{BASE_MAGIC, Cache, DELTA_MAGIC, End, FRAME_HEADER, HEADER_LEN, Linked, Record, check, path_hash};
use crate::disk::{Disk, LockMode};
use crate::error::{Error, Result};
use crate::hash::Hash;

/// A delta this long is folded into a new base once it is also no small part of the base: it is read for every capture.
const DELTA_BYTES_MIN: u64 = 256 << 10;
const BASE_PER_DELTA: u64 = 32;

/// What a capture learned.
pub(crate) enum Update {
    /// The records of every directory.
    All {
        /// The records.
        records: Vec<Vec<u8>>,
        /// Every path that shares its inode.
        linked: Vec<Linked>,
    },
    /// The records of the directories that changed.
    Some {
        /// The snapshot that the cache described when it was read.
        from: Hash,
        /// Where it ended then, and how long its base was, as far as that is known.
        seen: Option<(End, u64)>,
        /// The records.
        records: Vec<Vec<u8>>,
        /// Directories that are gone.
        gone: Vec<Vec<u8>>,
        /// Every path that shares its inode, if that changed.
        linked: Option<Vec<Linked>>,
    },
    /// Nothing that the cache does not know.
    Nothing,
}

/// Writes what a capture learned, unless another process has changed the cache meanwhile.
pub(crate) fn save(disk: &dyn Disk, name: &str, describes: &Hash, update: &Update) -> Result<()> {
    let lock_name = format!("{name}.lock");
    let lock = disk.lock(&lock_name, LockMode::Exclusive, true).map_err(Error::disk("lock", &lock_name))?;
    match update {
        Update::Nothing => {}
        Update::All { records, linked } => {
            let records: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
            write_base(disk, name, describes, &records, linked)?;
        }
        Update::Some { from, seen, records, gone, linked } => {
            let now = End::read(disk, name);
            let still = seen.filter(|(end, _)| now == Some(*end));
            let Some(at) = still.or_else(|| {
                let cache = Cache::open(disk, name, false).filter(|cache| cache.describes == *from)?;
                Some((cache.end, cache.base_len))
            }) else {
                return Ok(());
            };
            append(disk, name, at, describes, encode_frame(describes, records, gone, linked.as_deref()))?;
        }
    }
    drop(lock);
    Ok(())
}

/// What is handed to the disk at a time.
const PIECE_BYTES: usize = 1 << 20;

fn append(disk: &dyn Disk, name: &str, at: (End, u64), describes: &Hash, frame: Vec<u8>) -> Result<()> {
    let (end, base_len) = at;
    let delta = format!("{name}.delta");
    let bytes = match end.delta_len {
        0 => [&DELTA_MAGIC[..], &end.base_id, &frame].concat(),
        _ => frame,
    };
    // Not synced: a cache that a power cut tears fails its checks and costs only time.
    let written = disk.append(&delta, end.delta_len).and_then(|mut file| file.write(&bytes));
    written.map_err(Error::disk("append to", &delta))?;
    let delta_len = end.delta_len + bytes.len() as u64;
    // A frame may be as large as a base, and both are about to be read.
    drop(bytes);
    if delta_len < DELTA_BYTES_MIN.max(base_len / BASE_PER_DELTA) {
        return Ok(());
    }
    let Some(cache) = Cache::open(disk, name, true) else { return Ok(()) };
    match cache.records() {
        Some(records) => write_base(disk, name, describes, &records, &cache.linked),
        None => Ok(()),
    }
}

fn write_base(disk: &dyn Disk, name: &str, describes: &Hash, records: &[&[u8]], linked: &[Linked]) -> Result<()> {
    let mut index = Vec::with_capacity(records.len());
    let mut at = HEADER_LEN as u64;
    for record in records {
        index.push((path_hash(Record::path_of(&record[FRAME_HEADER..])), at));
        at += record.len() as u64;
    }
    index.sort_unstable();
    let mut bytes = Vec::with_capacity(HEADER_LEN);
    bytes.extend_from_slice(BASE_MAGIC);
    bytes.extend_from_slice(&describes.0);
    bytes.extend_from_slice(&base_id(describes, &index));
    bytes.extend_from_slice(&at.to_le_bytes());
    bytes.extend_from_slice(&(index.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&(linked.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&check(&bytes).to_le_bytes());
    // No record of its own proves these, so they carry a check.
    let linked = encode_linked(linked);
    let check = check(&linked).to_le_bytes();
    let mut rows = index.iter().map(|(hash, offset)| [hash.to_le_bytes(), offset.to_le_bytes()].concat());
    let (temporary, base) = (format!("{name}.tmp"), format!("{name}.base"));
    let written = disk.append(&temporary, 0).and_then(|mut file| {
        let mut write = |piece: &[u8]| {
            bytes.extend_from_slice(piece);
            // Never all of it at once: it is as long as a workspace has files.
            if bytes.len() < PIECE_BYTES {
                return Ok(());
            }
            let written = file.write(&bytes);
            bytes.clear();
            written
        };
        records.iter().try_for_each(|record| write(record))?;
        rows.try_for_each(|row| write(&row))?;
        write(&linked)?;
        write(&check)?;
        file.write(&bytes)
    });
    let renamed = written.and_then(|()| disk.rename(&temporary, &base));
    if renamed.is_err() {
        // A full disk gets its space back at once; if even this fails, the next base is written over it.
        let _ = disk.remove(&temporary);
    }
    renamed.map_err(Error::disk("write", &base))
}

/// Tells this base from every other, so that a delta is never read behind a base it does not belong to.
fn base_id(describes: &Hash, index: &[(u64, u64)]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&describes.0);
    for (hash, offset) in index {
        hasher.update(&hash.to_le_bytes());
        hasher.update(&offset.to_le_bytes());
    }
    hasher.finalize().as_bytes()[..16].try_into().expect("16 of 32 bytes")
}
