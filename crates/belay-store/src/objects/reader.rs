//! Reads many objects in the order in which they lie: each block is unpacked once, into memory that is used again.

use std::ops::Range;

use super::Store;
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::pack::{Pack, Place};

/// One thread's reader; every object is checked against its key, as by [`Store::read`].
pub(crate) struct Reader<'s> {
    store: &'s Store,
    unpacker: zstd::bulk::Decompressor<'static>,
    stored: Vec<u8>,
    raw: Vec<u8>,
    /// Pack and number of the block that `raw` holds.
    held: Option<(u64, u32)>,
}

impl<'s> Reader<'s> {
    pub(crate) fn new(store: &'s Store) -> Result<Reader<'s>> {
        let unpacker = zstd::bulk::Decompressor::new().map_err(Error::disk("prepare to unpack", super::PACKS))?;
        Ok(Reader { store, unpacker, stored: Vec::new(), raw: Vec::new(), held: None })
    }

    /// The object's bytes.
    pub(crate) fn read(&mut self, key: &Hash) -> Result<&[u8]> {
        let range = match self.store.find(key)? {
            Some((pack, place)) => self.hold(&pack, place, key),
            None => None,
        };
        if let Some(range) = range {
            return Ok(&self.raw[range]);
        }
        // It was moved meanwhile, or this copy of it is damaged and there may be another.
        self.held = None;
        self.raw = self.store.read(key)?;
        Ok(&self.raw)
    }

    /// Unpacks the object's block, unless that was the last one; where the object is in it, if it is what it should be.
    fn hold(&mut self, pack: &Pack, place: Place, key: &Hash) -> Option<Range<usize>> {
        let id = (pack.id, place.block);
        if self.held != Some(id) {
            self.held = None;
            let block = pack.block(place.block).ok()?;
            pack.unpack(&block, &mut self.unpacker, (&mut self.stored, &mut self.raw)).ok()?;
            self.held = Some(id);
        }
        let is_whole = self.store.algorithm().hash(place.of(&self.raw)?) == *key;
        is_whole.then(|| place.offset as usize..place.offset as usize + place.len as usize)
    }
}
