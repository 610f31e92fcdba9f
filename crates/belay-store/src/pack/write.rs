//! Appends blocks to a pack that nobody sees yet, and turns it into one that everybody sees.

use std::fs::File;
use std::sync::Arc;

use super::{Block, END_MAGIC, MAGIC, Place, SHARED_AT, check_of};
use crate::disk::{Disk, DiskFile, DiskWrite};
use crate::error::{Error, Result};
use crate::hash::Hash;

/// Bytes are handed to the disk in pieces of this size, because each call costs.
const BUFFER_BYTES: usize = 1 << 20;

/// Pieces of this size go to the disk as they are: copying them first would cost more than the call saves.
const PIECE_BYTES_MIN: usize = 64 << 10;

/// The disk begins to write a pack out whenever it has grown by so much, so that it is not idle until the last sync.
const AHEAD_BYTES: u64 = 8 << 20;

/// A block as it is stored, with the check of its bytes if it has one, which takes too long to be made while others wait.
pub(crate) struct NewBlock<'a> {
    stored: &'a [u8],
    raw_len: u32,
    compressed: bool,
    tree: bool,
    check: Option<u64>,
}

impl<'a> NewBlock<'a> {
    pub(crate) fn new(stored: &'a [u8], raw_len: usize, compressed: bool, tree: bool) -> NewBlock<'a> {
        NewBlock { stored, raw_len: raw_len as u32, compressed, tree, check: Some(check_of(stored)) }
    }

    /// Content as it is, which is right if its objects are: each of them is hashed whenever it is read.
    pub(crate) fn unchecked(raw: &'a [u8]) -> NewBlock<'a> {
        NewBlock { stored: raw, raw_len: raw.len() as u32, compressed: false, tree: false, check: None }
    }

    /// How many bytes it takes.
    pub(crate) fn len(&self) -> usize {
        self.stored.len()
    }
}

/// A pack in the making.
pub(crate) struct PackWriter {
    disk: Arc<dyn Disk>,
    name: String,
    file: Box<dyn DiskWrite>,
    buffer: Vec<u8>,
    written: u64,
    /// As much of it as the disk was asked to write.
    begun: u64,
    blocks: Vec<Block>,
    objects: Vec<(Hash, Place)>,
    finished: bool,
}

/// A pack whose bytes are durable and which has yet to get its name; dropped without it, it is removed.
pub(crate) struct Sealed {
    writer: PackWriter,
    name: String,
}

impl Sealed {
    /// The name that the pack will have.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Gives the pack its name and returns its length; durable once the directory is synced.
    pub(crate) fn publish(mut self) -> Result<u64> {
        let writer = &mut self.writer;
        writer.disk.rename(&writer.name, &self.name).map_err(Error::disk("rename", &writer.name))?;
        writer.finished = true;
        Ok(writer.written)
    }
}

impl PackWriter {
    /// Creates the file under a name that no other writer has.
    pub(crate) fn create(disk: &Arc<dyn Disk>, dir: &str) -> Result<PackWriter> {
        let pid = std::process::id();
        for attempt in 0u32.. {
            let name = format!("{dir}/tmp-{pid}-{attempt}");
            match disk.create(&name) {
                Ok(file) => {
                    let buffer = MAGIC.to_vec();
                    let (blocks, objects) = (Vec::new(), Vec::new());
                    let disk = Arc::clone(disk);
                    let (written, begun, finished) = (0, 0, false);
                    return Ok(PackWriter { disk, name, file, buffer, written, begun, blocks, objects, finished });
                }
                // Another thread of this process, or of one with the same number in another namespace.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::disk("create", name)(error)),
            }
        }
        unreachable!("some number is free")
    }

    /// A pack that shares the blocks of `from` with it, before anything is known of its content.
    ///
    /// Where files cannot share blocks there is none.
    pub(crate) fn sharing(disk: &Arc<dyn Disk>, dir: &str, from: &File) -> Result<Option<PackWriter>> {
        let mut pack = PackWriter::create(disk, dir)?;
        // Only whole blocks of the disk can be shared, so the first of them is the pack's own.
        let filler = vec![0; SHARED_AT as usize - MAGIC.len()];
        pack.append(&filler, filler.len(), false, false, &[])?;
        pack.flush()?;
        match pack.file.share(from, SHARED_AT) {
            Ok(len) => {
                (pack.written, pack.begun) = (len, len);
                Ok(Some(pack))
            }
            Err(_) => Ok(None),
        }
    }

    /// What the pack shares with another file.
    pub(crate) fn shared(&self) -> Result<Shared> {
        let file = self.disk.open(&self.name).map_err(Error::disk("open", &self.name))?;
        Ok(Shared { file, name: self.name.clone(), len: self.written - SHARED_AT })
    }

    /// Says that the next bytes that the pack shares are a block of one object; known as another one's if it has no key.
    pub(crate) fn tell(&mut self, len: u32, check: u64, key: Option<Hash>) {
        let number = self.blocks.len() as u32;
        let offset = self.blocks.last().map_or(0, |block| block.offset + u64::from(block.stored_len));
        let check = Some(check);
        self.blocks.push(Block { offset, stored_len: len, raw_len: len, compressed: false, tree: false, check });
        self.objects.extend(key.map(|key| (key, Place { block: number, offset: 0, len })));
    }

    /// How many bytes the pack has so far.
    pub(crate) fn len(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Appends a block whose objects are at these offsets of its raw bytes.
    pub(crate) fn append(
        &mut self,
        stored: &[u8],
        raw_len: usize,
        compressed: bool,
        tree: bool,
        objects: &[(Hash, u32, u32)],
    ) -> Result<()> {
        self.append_block(&NewBlock::new(stored, raw_len, compressed, tree), objects)
    }

    /// The same with a block whose check is known.
    pub(crate) fn append_block(&mut self, block: &NewBlock<'_>, objects: &[(Hash, u32, u32)]) -> Result<()> {
        let number = self.blocks.len() as u32;
        let offset = self.len();
        let NewBlock { stored, raw_len, compressed, tree, check } = *block;
        self.blocks.push(Block { offset, stored_len: stored.len() as u32, raw_len, compressed, tree, check });
        let places =
            objects.iter().map(|(key, offset, len)| (*key, Place { block: number, offset: *offset, len: *len }));
        self.objects.extend(places);
        self.write(stored)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() >= PIECE_BYTES_MIN {
            self.flush()?;
            self.file.write(bytes).map_err(Error::disk("write", &self.name))?;
            self.note(bytes.len());
            return Ok(());
        }
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.file.write(&self.buffer).map_err(Error::disk("write", &self.name))?;
        self.note(self.buffer.len());
        self.buffer.clear();
        Ok(())
    }

    fn note(&mut self, written: usize) {
        self.written += written as u64;
        if self.written - self.begun >= AHEAD_BYTES {
            self.file.begin_sync(self.begun, self.written - self.begun);
            self.begun = self.written;
        }
    }

    /// Writes footer and trailer, and makes the pack durable.
    pub(crate) fn seal(mut self) -> Result<Sealed> {
        let footer_at = self.len();
        let footer = self.footer();
        let hash = blake3::hash(&footer);
        let mut trailer = Vec::with_capacity(super::TRAILER_LEN as usize);
        trailer.extend_from_slice(&footer_at.to_le_bytes());
        trailer.extend_from_slice(&(footer.len() as u64).to_le_bytes());
        trailer.extend_from_slice(&(self.blocks.len() as u32).to_le_bytes());
        trailer.extend_from_slice(&(self.objects.len() as u32).to_le_bytes());
        trailer.extend_from_slice(hash.as_bytes());
        trailer.extend_from_slice(END_MAGIC);
        self.write(&footer)?;
        self.write(&trailer)?;
        self.flush()?;
        self.file.sync().map_err(Error::disk("sync", &self.name))?;
        let dir = self.name.rsplit_once('/').map_or("", |(dir, _)| dir);
        let name = format!("{dir}/{}.pack", &hash.to_hex()[..32]);
        Ok(Sealed { writer: self, name })
    }

    fn footer(&mut self) -> Vec<u8> {
        self.objects.sort_unstable_by_key(|object| object.0);
        let mut footer = Vec::with_capacity(
            self.blocks.len() * super::BLOCK_ROW + self.objects.len() * super::OBJECT_ROW + super::FANOUT_LEN,
        );
        self.blocks.iter().for_each(|block| footer.extend_from_slice(&block.to_row()));
        for (key, place) in &self.objects {
            footer.extend_from_slice(&key.0);
            footer.extend_from_slice(&place.block.to_le_bytes());
            footer.extend_from_slice(&place.offset.to_le_bytes());
            footer.extend_from_slice(&place.len.to_le_bytes());
        }
        let mut count = 0u32;
        let mut objects = self.objects.iter().peekable();
        for first in 0..=256u16 {
            while objects.next_if(|(key, _)| u16::from(key.0[0]) < first).is_some() {
                count += 1;
            }
            footer.extend_from_slice(&count.to_le_bytes());
        }
        footer
    }
}

/// The part of a pack that it shares with a file of a workspace; nobody changes it any more.
pub(crate) struct Shared {
    file: Box<dyn DiskFile>,
    name: String,
    /// How long it is.
    pub(crate) len: u64,
}

impl Shared {
    /// Fills `buffer` from `offset`.
    pub(crate) fn read(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        self.file.read_at(buffer, SHARED_AT + offset).map_err(Error::disk("read", &self.name))
    }
}

impl Drop for PackWriter {
    fn drop(&mut self) {
        if !self.finished {
            // A full disk gets its space back at once; if even this fails, gc collects the leftover.
            let _ = self.disk.remove(&self.name);
        }
    }
}
