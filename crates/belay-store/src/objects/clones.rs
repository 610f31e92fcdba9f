//! Large files that the store keeps without copying: a pack shares the blocks of the file with the workspace.
//!
//! Such a pack is like any other; only where its bytes lie on the disk is special. They are hashed as the pack has
//! them, which nobody but belay writes to, so that a file that changes meanwhile cannot make the pack lie.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Batch, PACKS, Store};
use crate::error::Result;
use crate::hash::{Algorithm, Hash};
use crate::pack::{Pack, PackWriter, SHARED_AT, Shared, check_of, u64_at};
use crate::tree::Segment;

/// Files from this size on are shared where the disk can: below it, packing them costs little and makes them smaller.
pub(crate) const SHARED_BYTES_MIN: u64 = 16 << 20;

/// A piece of a shared file.
pub(crate) struct Piece {
    pub(crate) key: Hash,
    pub(crate) len: u32,
    check: u64,
}

impl Piece {
    pub(crate) fn of(algorithm: Algorithm, bytes: &[u8]) -> Piece {
        let key = algorithm.hash(bytes);
        let check = if algorithm == Algorithm::Blake3 { u64_at(&key.0, 0) } else { check_of(bytes) };
        Piece { key, len: bytes.len() as u32, check }
    }
}

/// A file that was shared and is not in the store yet; dropped, it is gone.
pub(crate) struct Clone<'a> {
    batch: &'a Batch<'a>,
    pack: PackWriter,
    pub(crate) content: Shared,
}

impl Batch<'_> {
    /// Shares the blocks of a file, if the disk can.
    pub(crate) fn share(&self, file: &File) -> Result<Option<Clone<'_>>> {
        if self.cannot_share.load(Ordering::Relaxed) {
            return Ok(None);
        }
        match PackWriter::sharing(&self.store.disk, PACKS, file)? {
            Some(pack) => Ok(Some(Clone { batch: self, content: pack.shared()?, pack })),
            None => {
                self.cannot_share.store(true, Ordering::Relaxed);
                Ok(None)
            }
        }
    }
}

impl Clone<'_> {
    /// Bytes of the pieces that the store does not have.
    pub(crate) fn new_bytes(&self, pieces: &[Piece]) -> Result<u64> {
        let mut new = 0;
        for piece in pieces {
            new += if self.batch.has(&piece.key)? { 0 } else { u64::from(piece.len) };
        }
        Ok(new)
    }

    /// Takes the file into the store; the pieces are all of it, in order.
    pub(crate) fn keep(mut self, pieces: &[Piece], new_bytes: u64) -> Result<()> {
        self.batch.take_room(self.content.len)?;
        let mut own = super::KeySet::default();
        for piece in pieces {
            let is_first = own.insert(piece.key);
            self.batch.shard(&piece.key).lock().expect("no holder panics").insert(piece.key);
            self.pack.tell(piece.len, piece.check, is_first.then_some(piece.key));
        }
        self.batch.new_content.fetch_add(new_bytes, Ordering::Relaxed);
        let pack = self.pack;
        let closing = std::thread::spawn(move || pack.seal());
        self.batch.closing.lock().expect("no holder panics").push(closing);
        Ok(())
    }
}

/// A file's content as one run of bytes in a pack, beginning at a block of the disk.
pub(crate) struct Run {
    pack: Arc<Pack>,
    first: u32,
}

impl Run {
    /// Makes an empty file hold the content; false if the disk cannot, or if the content is not what it should be.
    pub(crate) fn give_to(&self, file: &File, segments: &[Segment], algorithm: Algorithm) -> io::Result<bool> {
        let size: u64 = segments.iter().map(Segment::len).sum();
        let whole = size - size % SHARED_AT;
        if self.pack.share_to(SHARED_AT, whole, file).is_err() {
            return Ok(false);
        }
        let Ok(tail) = self.pack.bytes(SHARED_AT + whole, (size - whole) as usize) else { return Ok(false) };
        file.write_all_at(&tail, whole)?;
        let is_right = self.holds(segments, algorithm).unwrap_or(false);
        if !is_right {
            file.set_len(0)?;
        }
        Ok(is_right)
    }

    fn holds(&self, segments: &[Segment], algorithm: Algorithm) -> Result<bool> {
        let mut at = SHARED_AT;
        for (number, segment) in (self.first..).zip(segments) {
            let Segment::Data { key, len } = segment else { return Ok(false) };
            let block = self.pack.block(number)?;
            let follows = block.offset == at && u64::from(block.stored_len) == *len && !block.compressed;
            if !follows || algorithm.hash(&self.pack.bytes(at, *len as usize)?) != *key {
                return Ok(false);
            }
            at += len;
        }
        Ok(true)
    }
}

impl Store {
    /// Where all of a large file lies as it was shared, if it was.
    pub(crate) fn run_of(&self, segments: &[Segment]) -> Result<Option<Run>> {
        let Some(Segment::Data { key, .. }) = segments.first() else { return Ok(None) };
        for pack in self.packs()?.iter() {
            if let Some(place) = pack.find(key)?
                && pack.copies.is_none()
                && place.offset == 0
                && pack.block(place.block).is_ok_and(|block| block.offset == SHARED_AT && !block.compressed)
            {
                return Ok(Some(Run { pack: Arc::clone(pack), first: place.block }));
            }
        }
        Ok(None)
    }
}
