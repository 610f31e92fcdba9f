//! Finds objects in a pack and reads its blocks.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::{BLOCK_ROW, Block, END_MAGIC, FANOUT_LEN, MAGIC, OBJECT_ROW, Place, TRAILER_LEN, check_of, u32_at, u64_at};
use crate::disk::{Disk, DiskFile};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::native::{Copies, Pointer};
use zstd::zstd_safe::DCtx;

/// The largest block that this build writes or believes.
pub(crate) const BLOCK_BYTES_MAX: u32 = 64 << 20;

/// What zstd unpacks at a time, at most.
const PIECE_BYTES_MAX: usize = 128 << 10;

/// Memory to unpack a part of an ordinary block into, whatever part comes next.
const ROOM_BYTES_MIN: usize = 5 << 18;

/// Memory to read an ordinary block into, and more than most need.
const STORED_BYTES_MIN: usize = 1 << 19;

/// The table of more blocks than this is not read for one of them.
const LISTED_BLOCKS_MAX: u32 = 4096;

/// An open pack; it stays readable even after its name was removed.
pub(crate) struct Pack {
    /// Tells open packs apart in this process.
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) len: u64,
    file: Box<dyn DiskFile>,
    footer_at: u64,
    footer_len: u64,
    footer_hash: [u8; 32],
    pub(crate) block_count: u32,
    pub(crate) object_count: u32,
    fanout: Vec<u32>,
    /// What its blocks lead to, if they are pointers.
    pub(crate) copies: Option<Arc<Copies>>,
    /// The block table, read when first asked for.
    block_rows: OnceLock<Vec<u8>>,
    /// Rows of the object table by first byte of the key, read when first asked for.
    buckets: Vec<OnceLock<Vec<u8>>>,
}

/// Unpacks with a context that the thread keeps: making one costs as much as unpacking a node.
fn unpack(stored: &[u8], raw_len: usize) -> std::io::Result<Vec<u8>> {
    thread_local! {
        static UNPACKER: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
    }
    UNPACKER.with_borrow_mut(|slot| {
        if slot.is_none() {
            *slot = Some(zstd::bulk::Decompressor::new()?);
        }
        slot.as_mut().expect("it was just made").decompress(stored, raw_len)
    })
}

/// Unpacks the bytes before `end`, or more, straight into `raw`, which may be longer and is not cleared.
///
/// zstd unpacks piece by piece into its target and stops at the first piece that does not fit; what came before is there.
/// Its own way to unpack a part keeps a window beside the target, which costs as much as the unpacking. Whether the bytes
/// are right only the hash of the object in them tells.
fn unpack_until(stored: &[u8], (end, raw_len): (usize, usize), raw: &mut Vec<u8>) -> std::io::Result<()> {
    thread_local! {
        static UNPACKER: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
    }
    let room = end.saturating_add(PIECE_BYTES_MAX).min(raw_len);
    if raw.len() < room {
        // Memory that nobody has written to yet: only what is unpacked is ever touched.
        *raw = vec![0; room.max(ROOM_BYTES_MIN)];
    }
    UNPACKER.with_borrow_mut(|slot| {
        let unpacker = slot.get_or_insert_with(DCtx::create);
        match unpacker.decompress(&mut raw[..room], stored) {
            Ok(_) => Ok(()),
            Err(_) if room < raw_len => Ok(()),
            Err(code) => Err(std::io::Error::other(zstd::zstd_safe::get_error_name(code))),
        }
    })
}

impl Pack {
    /// Opens a pack and checks that its trailer and tables fit the file.
    pub(crate) fn open(disk: &dyn Disk, name: &str) -> Result<Pack> {
        let file = disk.open(name).map_err(Error::disk("open", name))?;
        let len = file.len().map_err(Error::disk("measure", name))?;
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut pack = Pack {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            name: name.to_string(),
            len,
            file,
            footer_at: 0,
            footer_len: 0,
            footer_hash: [0; 32],
            block_count: 0,
            object_count: 0,
            fanout: Vec::new(),
            copies: None,
            block_rows: OnceLock::new(),
            buckets: (0..256).map(|_| OnceLock::new()).collect(),
        };
        pack.read_trailer()?;
        Ok(pack)
    }

    /// Opens a pack whose blocks are pointers into copies.
    pub(crate) fn open_pointers(disk: &dyn Disk, name: &str, copies: &Arc<Copies>) -> Result<Pack> {
        Ok(Pack { copies: Some(Arc::clone(copies)), ..Pack::open(disk, name)? })
    }

    /// The directory that it is in.
    pub(crate) fn dir(&self) -> &str {
        self.name.rsplit_once('/').map_or("", |(dir, _)| dir)
    }

    /// Where an object of a pack of pointers lies.
    pub(crate) fn pointer(&self, place: Place) -> Result<Pointer> {
        Pointer::decode(&self.stored(&self.block(place.block)?)?)
    }

    /// Whether the object is to be had: in a pack it is, and a pointer leads to it as long as its copy counts.
    pub(crate) fn leads(&self, place: Place) -> Result<bool> {
        match &self.copies {
            None => Ok(true),
            Some(copies) => Ok(copies.get(&self.pointer(place)?.copy).is_some()),
        }
    }

    /// Whether the object can be read now, as far as is known without reading it: the disk that its copy is on may be away.
    pub(crate) fn reaches(&self, place: Place) -> Result<bool> {
        match &self.copies {
            None => Ok(true),
            Some(copies) => Ok(copies.in_sight(&self.pointer(place)?.copy)),
        }
    }

    /// The file of a copy that has the object's bytes, if this is a pack of pointers.
    pub(crate) fn file_of(&self, place: Place) -> Option<String> {
        let pointer = self.pointer(place).ok().filter(|_| self.copies.is_some())?;
        Some(self.copies.as_ref()?.get(&pointer.copy)?.name_of(&pointer.path))
    }

    /// The bytes that the pointer of a block leads to.
    fn outside(&self, copies: &Copies, block: &Block) -> Result<Vec<u8>> {
        let pointer = Pointer::decode(&self.stored(block)?)?;
        let held = copies.get(&pointer.copy).ok_or_else(|| self.bad("a copy that it leads to is gone"))?;
        held.read(&pointer, block.raw_len as usize)
    }

    fn bad(&self, detail: &str) -> Error {
        Error::corrupt(&self.name, detail)
    }

    /// Makes a file begin with whole blocks of the disk that the pack has from `offset` on.
    pub(crate) fn share_to(&self, offset: u64, len: u64, to: &std::fs::File) -> Result<()> {
        self.file.share_to(offset, len, to).map_err(Error::disk("share", &self.name))
    }

    /// The bytes at an offset of the pack, as they are.
    pub(crate) fn bytes(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.file.read_at(&mut bytes, offset).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => self.bad("it ends too early"),
            _ => Error::disk("read", &self.name)(error),
        })?;
        Ok(bytes)
    }

    fn read_trailer(&mut self) -> Result<()> {
        if self.len < MAGIC.len() as u64 + TRAILER_LEN {
            return Err(self.bad("it is too short"));
        }
        let trailer = self.bytes(self.len - TRAILER_LEN, TRAILER_LEN as usize)?;
        if &trailer[56..] != END_MAGIC {
            return Err(self.bad("its end is missing"));
        }
        self.footer_at = u64_at(&trailer, 0);
        self.footer_len = u64_at(&trailer, 8);
        self.block_count = u32_at(&trailer, 16);
        self.object_count = u32_at(&trailer, 20);
        self.footer_hash.copy_from_slice(&trailer[24..56]);
        let tables = u64::from(self.block_count) * BLOCK_ROW as u64 + u64::from(self.object_count) * OBJECT_ROW as u64;
        let fits = self.footer_len == tables + FANOUT_LEN as u64
            && self.footer_at.checked_add(self.footer_len) == Some(self.len - TRAILER_LEN);
        if !fits {
            return Err(self.bad("its tables do not fit it"));
        }
        let fanout = self.bytes(self.footer_at + tables, FANOUT_LEN)?;
        self.fanout = fanout.chunks_exact(4).map(|count| u32_at(count, 0)).collect();
        let ordered = self.fanout.windows(2).all(|pair| pair[0] <= pair[1]);
        if !ordered || self.fanout[0] != 0 || self.fanout[256] != self.object_count {
            return Err(self.bad("its counts are not in order"));
        }
        Ok(())
    }

    fn bucket(&self, first: u8) -> Result<&[u8]> {
        let cell = &self.buckets[usize::from(first)];
        if let Some(rows) = cell.get() {
            return Ok(rows);
        }
        let (from, to) = (self.fanout[usize::from(first)], self.fanout[usize::from(first) + 1]);
        let rows = self.rows(from, to - from)?;
        Ok(cell.get_or_init(|| rows))
    }

    fn rows(&self, from: u32, count: u32) -> Result<Vec<u8>> {
        let table = self.footer_at + u64::from(self.block_count) * BLOCK_ROW as u64;
        self.bytes(table + u64::from(from) * OBJECT_ROW as u64, count as usize * OBJECT_ROW)
    }

    /// Where the object is, if the pack has it.
    pub(crate) fn find(&self, key: &Hash) -> Result<Option<Place>> {
        let first = key.0[0];
        if self.fanout[usize::from(first)] == self.fanout[usize::from(first) + 1] {
            return Ok(None);
        }
        let rows = self.bucket(first)?;
        let (mut low, mut high) = (0, rows.len() / OBJECT_ROW);
        while low < high {
            let middle = (low + high) / 2;
            let row = &rows[middle * OBJECT_ROW..][..OBJECT_ROW];
            match row[..32].cmp(&key.0) {
                std::cmp::Ordering::Equal => return Ok(Some(Place::from_row(row))),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }

    /// Every object and where it is, in the order of keys.
    pub(crate) fn objects(&self) -> Result<Vec<(Hash, Place)>> {
        let rows = self.rows(0, self.object_count)?;
        let object = |row: &[u8]| (Hash(row[..32].try_into().expect("32 bytes")), Place::from_row(row));
        Ok(rows.chunks_exact(OBJECT_ROW).map(object).collect())
    }

    /// Every block.
    pub(crate) fn blocks(&self) -> Result<Vec<Block>> {
        let rows = self.bytes(self.footer_at, self.block_count as usize * BLOCK_ROW)?;
        Ok(rows.chunks_exact(BLOCK_ROW).map(Block::from_row).collect())
    }

    /// Whether its blocks are marked with nothing but what this build knows.
    pub(crate) fn has_known_flags(&self) -> Result<bool> {
        let rows = self.bytes(self.footer_at, self.block_count as usize * BLOCK_ROW)?;
        Ok(rows.chunks_exact(BLOCK_ROW).all(|row| row[16] & !0b111 == 0 && row[17..20] == [0; 3]))
    }

    /// One row of the block table, checked to lie inside the pack.
    pub(crate) fn block(&self, number: u32) -> Result<Block> {
        if number >= self.block_count {
            return Err(self.bad("an object names a block that is not there"));
        }
        let at = number as usize * BLOCK_ROW;
        // Of a pack of pointers each object is a block.
        let block = if self.block_count > LISTED_BLOCKS_MAX {
            Block::from_row(&self.bytes(self.footer_at + at as u64, BLOCK_ROW)?)
        } else {
            if self.block_rows.get().is_none() {
                let rows = self.bytes(self.footer_at, self.block_count as usize * BLOCK_ROW)?;
                self.block_rows.get_or_init(|| rows);
            }
            Block::from_row(&self.block_rows.get().expect("it was just read")[at..at + BLOCK_ROW])
        };
        self.check_bounds(&block)?;
        Ok(block)
    }

    pub(crate) fn check_bounds(&self, block: &Block) -> Result<()> {
        let end = block.offset.checked_add(u64::from(block.stored_len));
        if block.offset < MAGIC.len() as u64
            || end.is_none_or(|end| end > self.footer_at)
            || block.raw_len > BLOCK_BYTES_MAX
        {
            return Err(self.bad("a block lies outside it"));
        }
        Ok(())
    }

    /// The stored bytes of a block, checked unless its objects are to tell.
    pub(crate) fn stored(&self, block: &Block) -> Result<Vec<u8>> {
        let stored = self.bytes(block.offset, block.stored_len as usize)?;
        if block.check.is_some_and(|check| check_of(&stored) != check) {
            return Err(self.bad(&format!("the block at byte {} is not what was written", block.offset)));
        }
        Ok(stored)
    }

    /// The raw bytes of a block.
    pub(crate) fn raw(&self, block: &Block) -> Result<Vec<u8>> {
        if let Some(copies) = &self.copies {
            return self.outside(copies, block);
        }
        let stored = self.stored(block)?;
        let raw = if block.compressed {
            unpack(&stored, block.raw_len as usize)
                .map_err(|_| self.bad(&format!("the block at byte {} cannot be unpacked", block.offset)))?
        } else {
            stored
        };
        if raw.len() != block.raw_len as usize {
            return Err(self.bad(&format!("the block at byte {} has another length", block.offset)));
        }
        Ok(raw)
    }

    /// The raw bytes of a block, in memory that is used again; only the objects in it tell whether they are right.
    pub(crate) fn unpack(
        &self,
        block: &Block,
        unpacker: &mut zstd::bulk::Decompressor<'_>,
        (stored, raw): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<()> {
        if self.copies.is_some() {
            *raw = self.raw(block)?;
            return Ok(());
        }
        stored.resize(block.stored_len as usize, 0);
        self.file.read_at(stored, block.offset).map_err(Error::disk("read", &self.name))?;
        if !block.compressed {
            std::mem::swap(stored, raw);
            return Ok(());
        }
        raw.clear();
        raw.reserve(block.raw_len as usize);
        let unpacked = unpacker.decompress_to_buffer(stored, raw);
        unpacked.map(drop).map_err(|_| self.bad("a block cannot be unpacked"))
    }

    /// The bytes of an object of a block that is stored as it is; only the object tells whether they are right.
    pub(crate) fn part(&self, block: &Block, place: Place) -> Result<Vec<u8>> {
        if place.offset.checked_add(place.len).is_none_or(|end| end > block.stored_len) {
            return Err(self.bad("an object lies outside its block"));
        }
        self.bytes(block.offset + u64::from(place.offset), place.len as usize)
    }

    /// The raw bytes of a block up to `end`, or more, in memory that is used again; only the objects in it tell whether
    /// they are right.
    pub(crate) fn raw_until(
        &self,
        block: &Block,
        end: usize,
        (stored, raw): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<()> {
        if self.copies.is_some() || !block.compressed {
            *raw = self.raw(block)?;
            return Ok(());
        }
        let len = block.stored_len as usize;
        if stored.len() < len {
            *stored = vec![0; len.max(STORED_BYTES_MIN)];
        }
        self.file.read_at(&mut stored[..len], block.offset).map_err(Error::disk("read", &self.name))?;
        unpack_until(&stored[..len], (end, block.raw_len as usize), raw)
            .map_err(|_| self.bad(&format!("the block at byte {} cannot be unpacked", block.offset)))
    }

    /// Checks the tables as a whole against the hash that names the pack, and the magic at its start.
    pub(crate) fn check_tables(&self) -> Result<()> {
        let footer = self.bytes(self.footer_at, self.footer_len as usize)?;
        let hash = blake3::hash(&footer);
        if hash.as_bytes() != &self.footer_hash || !self.name.contains(&hash.to_hex()[..32]) {
            return Err(self.bad("its tables are not what was written"));
        }
        if self.bytes(0, MAGIC.len())? != MAGIC {
            return Err(self.bad("its first bytes are not what was written"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_block_is_what_the_whole_has_there() {
        let mut state = 7u32;
        let text = |at: usize| if (at / 3000).is_multiple_of(2) { b"some words that come again "[at % 27] } else { 0 };
        let noise = |state: &mut u32| {
            *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (*state >> 24) as u8
        };
        let whole: Vec<u8> = (0..1_200_000).map(|at| text(at).max(noise(&mut state) & 15)).collect();
        let stored = zstd::bulk::compress(&whole, 1).unwrap();
        let mut raw = Vec::new();
        for end in [1, 500_000, 131_072, 131_073, 20, 1_199_999, 1_200_000, 900_000, 400_000] {
            unpack_until(&stored, (end, whole.len()), &mut raw).unwrap();
            assert!(raw[..end] == whole[..end], "the first {end} bytes are others");
        }
        // What cannot be unpacked is an error or other bytes, which the hash of an object tells.
        assert!(unpack_until(&stored[..stored.len() / 2], (whole.len(), whole.len()), &mut raw).is_err());
    }
}
