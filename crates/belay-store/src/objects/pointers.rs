//! Pointers: where objects lie that are in no pack, but in a native copy.

use std::collections::HashSet;
use std::fs::File;
use std::sync::atomic::Ordering;

use super::{Batch, KeySet, Store, Worker};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::native::{Located, POINTERS, Pointer};
use crate::pack::{PackWriter, Sealed};
use crate::tree::Segment;

impl Batch<'_> {
    /// Notes where an object lies, without asking whether the store has it.
    pub(crate) fn point(&self, key: &Hash, pointer: &Pointer, len: u32) -> Result<()> {
        let mut slot = self.pointers.lock().expect("no holder panics");
        if slot.is_none() {
            *slot = Some(PackWriter::create(&self.store.disk, POINTERS)?);
        }
        let pack = slot.as_mut().expect("it was just made");
        // One block for each object, so that one that is damaged or dead concerns no other.
        pack.append(&pointer.encode(), len as usize, false, false, &[(*key, 0, len)])
    }

    /// Makes the pointers durable, under no name yet: that comes after their copy counts.
    pub(crate) fn seal_pointers(&self) -> Result<Option<Sealed>> {
        self.pointers.lock().expect("no holder panics").take().map(PackWriter::seal).transpose()
    }
}

impl Worker<'_> {
    /// Notes where an object lies, unless the store has it.
    pub(crate) fn point(&mut self, key: &Hash, pointer: &Pointer, len: u32) -> Result<()> {
        if self.is_new(key, len)? { self.batch().point(key, pointer, len) } else { Ok(()) }
    }

    /// Counts an object of which it will be told later where it lies.
    pub(crate) fn note(&mut self, key: &Hash, len: u32) -> Result<()> {
        self.is_new(key, len).map(drop)
    }

    fn is_new(&mut self, key: &Hash, len: u32) -> Result<bool> {
        let batch = self.batch();
        if !batch.claim(key)? {
            return Ok(false);
        }
        batch.new_content.fetch_add(len.into(), Ordering::Relaxed);
        Ok(true)
    }
}

impl Store {
    /// Gives pointers their name, durably; returns the bytes the store grew by.
    pub(crate) fn publish_pointers(&self, pointers: Option<Sealed>) -> Result<u64> {
        let Some(pointers) = pointers else { return Ok(0) };
        let grown = pointers.publish()?;
        self.disk.sync_dir(POINTERS).map_err(Error::disk("sync", POINTERS))?;
        self.reload()?;
        Ok(grown)
    }

    /// Writes down where a copy has its objects; durable, under no name yet.
    pub(crate) fn seal_located(&self, copy: &str, objects: Vec<Located>) -> Result<Option<Sealed>> {
        let (mut pack, mut seen) = (None, KeySet::default());
        for Located { key, len, path, frame, at } in objects {
            // Of an archive everything is told, because nothing in it can be found afterwards.
            if !seen.insert(key) || frame.is_none() && self.contains(&key)? {
                continue;
            }
            if pack.is_none() {
                pack = Some(PackWriter::create(&self.disk, POINTERS)?);
            }
            let pack = pack.as_mut().expect("it was just made");
            let pointer = Pointer { copy: copy.to_owned(), path, frame, at };
            pack.append(&pointer.encode(), len as usize, false, false, &[(key, 0, len)])?;
        }
        pack.map(PackWriter::seal).transpose()
    }

    /// Whether the object is to be had without these copies.
    pub(crate) fn is_elsewhere(&self, key: &Hash, copies: &HashSet<String>) -> Result<bool> {
        for pack in self.packs()?.iter() {
            if let Some(place) = pack.find(key)?
                && pack.leads(place)?
                && (pack.copies.is_none() || !copies.contains(&pack.pointer(place)?.copy))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The bytes of all pointers and of what copies take for themselves, and of the objects that they lead to.
    pub(crate) fn weight_of_copies(&self) -> Result<(u64, u64)> {
        let (mut stored, mut raw) = (self.copied_bytes()?, 0);
        for pack in self.packs()?.iter().filter(|pack| pack.copies.is_some()) {
            stored += pack.len;
            raw += pack.blocks()?.iter().map(|block| u64::from(block.raw_len)).sum::<u64>();
        }
        Ok((stored, raw))
    }

    /// Where the object lies in a copy, if it is in no pack.
    pub(crate) fn pointer_of(&self, key: &Hash) -> Result<Option<Pointer>> {
        match self.find(key)?.filter(|(pack, _)| pack.copies.is_some()) {
            Some((pack, place)) => pack.pointer(place).map(Some),
            None => Ok(None),
        }
    }

    /// The file of a copy that is exactly these segments, if there is one; nobody has checked its bytes.
    pub(crate) fn native_file(&self, segments: &[Segment]) -> Result<Option<File>> {
        let mut path: Option<(String, Vec<u8>)> = None;
        let mut at = 0;
        for segment in segments {
            if let Segment::Data { key, .. } = segment {
                let Some(pointer) = self.pointer_of(key)?.filter(|pointer| pointer.frame.is_none()) else {
                    return Ok(None);
                };
                let here = (pointer.copy, pointer.path);
                if pointer.at != at || path.as_ref().is_some_and(|path| *path != here) {
                    return Ok(None);
                }
                path = Some(here);
            }
            at += segment.len();
        }
        let file = path.and_then(|(copy, path)| self.copies.get(&copy)?.open(&path).ok());
        Ok(file.filter(|file| file.metadata().is_ok_and(|metadata| metadata.len() == at)))
    }
}
