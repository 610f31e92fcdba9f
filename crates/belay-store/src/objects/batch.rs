//! Objects on their way into the store: each thread compresses blocks, one pack takes them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{KeySet, LOCK, ObjectKind, PACKS, Packing, Store};
use crate::disk::{Lock, LockMode};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::pack::{NewBlock, PackWriter, Sealed};
use zstd::zstd_safe::{CParameter, Strategy};

/// Objects up to this size share blocks, because they compress badly alone.
const SHARED_OBJECT_BYTES_MAX: usize = 256 << 10;
/// A block is closed when it has grown to this.
const CONTENT_BLOCK_BYTES: usize = 1 << 20;
/// Blocks of nodes are small, because a diff reads few nodes of many blocks.
const TREE_BLOCK_BYTES: usize = 32 << 10;
/// A pack is closed when it has grown to this: it bounds what a rewrite by gc needs beside it.
const PACK_BYTES: u64 = 64 << 20;
const ZSTD_LEVEL: i32 = 1;
/// The fastest strategy with a larger table than level 1 gives it, and matches of six bytes at least: a tenth smaller
/// for an eighth more time. Matches of five take a table as large a third longer and are hardly smaller.
const ZSTD_PARAMETERS: [CParameter; 4] = [
    CParameter::Strategy(Strategy::ZSTD_fast),
    CParameter::HashLog(16),
    CParameter::MinMatch(6),
    CParameter::WindowLog(20),
];
/// With so many packs on their way to the disk it is the disk that is waited for, and a smaller pack is a sooner one.
const WAITING_PACKS: usize = 2;
/// In haste a thread that has a block to write does not wait for another that is writing one.
const PACKS_AT_ONCE: usize = 2;
const SHARDS: usize = 64;

/// Objects on their way into the store.
pub struct Batch<'a> {
    pub(super) store: &'a Store,
    lock: Lock,
    seen: Vec<Mutex<KeySet>>,
    /// Packs that take blocks; one that a thread is writing to keeps no other waiting.
    packs: Vec<Mutex<Option<PackWriter>>>,
    pub(super) pointers: Mutex<Option<PackWriter>>,
    /// Packs that are closed and being made durable.
    pub(super) closing: Mutex<Vec<std::thread::JoinHandle<Result<Sealed>>>>,
    pub(super) new_content: AtomicU64,
    /// Bytes that were handed to packs, and how many those may be.
    stored: AtomicU64,
    stored_max: u64,
    /// Files cannot share blocks with the store's disk.
    pub(super) cannot_share: AtomicBool,
}

impl<'a> Batch<'a> {
    pub(super) fn begin(store: &'a Store) -> Result<Batch<'a>> {
        let lock = store.disk.lock(LOCK, LockMode::Shared, true).map_err(Error::disk("lock", LOCK))?;
        let lock = lock.expect("a lock that is waited for is given");
        store.raise_format(match store.packing {
            Packing::Small => super::PACKS_FORMAT,
            Packing::Swift => super::UNCHECKED_FORMAT,
        })?;
        // Only packs that are there now are sure to stay until the lock goes.
        store.reload()?;
        let seen = (0..SHARDS).map(|_| Mutex::default()).collect();
        let at_once = if store.packing == Packing::Swift { PACKS_AT_ONCE } else { 1 };
        let (packs, pointers) = ((0..at_once).map(|_| Mutex::default()).collect(), Mutex::default());
        let (closing, new_content) = (Mutex::default(), AtomicU64::new(0));
        let (stored, cannot_share) = (AtomicU64::new(0), AtomicBool::new(false));
        Ok(Batch {
            store,
            lock,
            seen,
            packs,
            pointers,
            closing,
            new_content,
            stored,
            stored_max: u64::MAX,
            cannot_share,
        })
    }

    /// The same, which takes so many stored bytes and no more.
    pub(crate) fn within(self, stored_max: u64) -> Batch<'a> {
        Batch { stored_max, ..self }
    }

    /// Counts what is about to be written.
    pub(super) fn take_room(&self, bytes: u64) -> Result<()> {
        let before = self.stored.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > self.stored_max { Err(Error::NoRoom) } else { Ok(()) }
    }

    /// A writer for one thread.
    pub fn worker(&self) -> Worker<'_> {
        Worker { batch: self, squeezer: None, content: Open::default(), tree: Open::default(), packed: Vec::new() }
    }

    /// Bytes of content that the store did not have, before compression.
    pub fn new_content_bytes(&self) -> u64 {
        self.new_content.load(Ordering::Relaxed)
    }

    /// Whether the object is in the store or on its way.
    pub fn has(&self, key: &Hash) -> Result<bool> {
        Ok(self.shard(key).lock().expect("no holder panics").contains(key) || self.store.contains(key)?)
    }

    /// Makes everything durable and readable; returns the bytes the store grew by and the lock that still holds gc off.
    pub fn finish(self) -> Result<(u64, Lock)> {
        let mut sealed = Vec::new();
        for pack in &self.packs {
            sealed.extend(pack.lock().expect("no holder panics").take().map(PackWriter::seal).transpose()?);
        }
        for closing in self.closing.lock().expect("no holder panics").drain(..) {
            sealed.push(closing.join().expect("the closing of a pack does not panic")?);
        }
        // Names come last and together, so that a batch that fails leaves nothing for others to build on.
        let grown = sealed.into_iter().map(Sealed::publish).sum::<Result<u64>>()?;
        // Even with nothing new: what the batch found may have got its name from a writer that died before its sync.
        if grown > 0 || self.store.packs()?.iter().any(|pack| pack.copies.is_none()) {
            self.store.disk.sync_dir(PACKS).map_err(Error::disk("sync", PACKS))?;
        }
        if grown > 0 {
            self.store.reload()?;
        }
        Ok((grown, self.lock))
    }

    /// Whether the disk is behind with what it was given.
    fn is_waiting(&self) -> bool {
        let closing = self.closing.lock().expect("no holder panics");
        closing.iter().filter(|closing| !closing.is_finished()).count() >= WAITING_PACKS
    }

    /// Whether whoever asks is the one to store the object, because neither the store nor this batch has it.
    pub(super) fn claim(&self, key: &Hash) -> Result<bool> {
        Ok(!self.store.contains(key)? && self.shard(key).lock().expect("no holder panics").insert(*key))
    }

    pub(super) fn shard(&self, key: &Hash) -> &Mutex<KeySet> {
        &self.seen[usize::from(key.0[31]) % SHARDS]
    }

    fn append(&self, block: &NewBlock<'_>, objects: &[(Hash, u32, u32)]) -> Result<()> {
        // With the rows of its tables, which are written when the pack is closed.
        let rows = crate::pack::BLOCK_ROW + objects.len() * crate::pack::OBJECT_ROW;
        self.take_room((block.len() + rows) as u64)?;
        let free = self.packs.iter().find_map(|slot| slot.try_lock().ok());
        let mut slot = free.unwrap_or_else(|| self.packs[0].lock().expect("no holder panics"));
        if slot.is_none() {
            self.take_room(crate::pack::FRAME_BYTES)?;
            *slot = Some(PackWriter::create(&self.store.disk, PACKS)?);
        }
        let pack = slot.as_mut().expect("it was just made");
        pack.append_block(block, objects)?;
        if pack.len() >= PACK_BYTES {
            let full = slot.take().expect("it was just written to");
            // The disk writes this pack out while the threads go on with the next.
            let closing = std::thread::spawn(move || full.seal());
            self.closing.lock().expect("no holder panics").push(closing);
        }
        Ok(())
    }
}

/// A block that still takes objects.
#[derive(Default)]
struct Open {
    /// Its bytes so far, and room behind them.
    room: Vec<u8>,
    filled: usize,
    objects: Vec<(Hash, u32, u32)>,
}

impl Open {
    /// Room for the next object.
    fn room(&mut self, len: usize) -> &mut [u8] {
        let end = self.filled + len;
        if self.room.len() < end {
            self.room.resize(end, 0);
        }
        &mut self.room[self.filled..end]
    }

    /// Takes what is in the room as an object.
    fn take(&mut self, key: &Hash, len: usize) {
        self.objects.push((*key, self.filled as u32, len as u32));
        self.filled += len;
    }
}

fn squeezer() -> zstd::bulk::Compressor<'static> {
    let mut squeezer = zstd::bulk::Compressor::new(ZSTD_LEVEL).expect("the level is valid");
    for parameter in ZSTD_PARAMETERS {
        squeezer.set_parameter(parameter).expect("the parameter is valid");
    }
    squeezer
}

/// Writes objects into blocks; they count once `done` was called and the batch is finished.
pub struct Worker<'a> {
    batch: &'a Batch<'a>,
    /// Made when it is first needed.
    squeezer: Option<zstd::bulk::Compressor<'static>>,
    content: Open,
    tree: Open,
    packed: Vec<u8>,
}

impl<'a> Worker<'a> {
    pub(super) fn batch(&self) -> &'a Batch<'a> {
        self.batch
    }

    /// Stores bytes unless they are there already; returns their key and whether they were new.
    pub fn put(&mut self, kind: ObjectKind, bytes: &[u8]) -> Result<(Hash, bool)> {
        let key = self.batch.store.algorithm.hash(bytes);
        Ok((key, self.put_as(kind, &key, bytes)?))
    }

    /// Stores bytes whose hash is known; returns whether they were new.
    pub fn put_as(&mut self, kind: ObjectKind, key: &Hash, bytes: &[u8]) -> Result<bool> {
        if !self.batch.claim(key)? {
            return Ok(false);
        }
        if kind == ObjectKind::Content {
            self.batch.new_content.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        }
        self.pack(kind, key, bytes)?;
        Ok(true)
    }

    /// Room for content of that length where it will be packed from, so that it need not be copied there; none for what gets a
    /// block of its own.
    pub(crate) fn room(&mut self, len: usize) -> Option<&mut [u8]> {
        (len <= SHARED_OBJECT_BYTES_MAX).then(|| self.content.room(len))
    }

    /// Stores what was put into the room, unless it is there already.
    pub(crate) fn put_room(&mut self, key: &Hash, len: usize) -> Result<()> {
        if !self.batch.claim(key)? {
            return Ok(());
        }
        self.batch.new_content.fetch_add(len as u64, Ordering::Relaxed);
        self.content.take(key, len);
        self.flush_if_full(false)
    }

    /// Room for content behind so many bytes that wait for [`Worker::put_behind`].
    pub(crate) fn room_behind(&mut self, waiting: usize, len: usize) -> &mut [u8] {
        &mut self.content.room(waiting + len)[waiting..]
    }

    /// Stores what waits in the room, objects of these lengths, unless they are there already; returns their keys.
    pub(crate) fn put_behind(&mut self, lens: &[usize]) -> Result<Vec<Hash>> {
        let mut end = self.content.filled;
        let mut start_of = |len: &usize| {
            end += len;
            end - len
        };
        let starts: Vec<usize> = lens.iter().map(&mut start_of).collect();
        let messages: Vec<&[u8]> =
            starts.iter().zip(lens).map(|(start, len)| &self.content.room[*start..start + len]).collect();
        let keys = self.batch.store.algorithm.hash_all(&messages);
        for ((key, start), len) in keys.iter().zip(&starts).zip(lens) {
            if !self.batch.claim(key)? {
                continue;
            }
            self.batch.new_content.fetch_add(*len as u64, Ordering::Relaxed);
            // It moves up if one before it was there already.
            if *start > self.content.filled {
                self.content.room.copy_within(*start..start + len, self.content.filled);
            }
            self.content.take(key, *len);
        }
        self.flush_if_full(false)?;
        Ok(keys)
    }

    /// Packs an object without asking whether it is there, as a move from one pack to another needs.
    pub(crate) fn pack(&mut self, kind: ObjectKind, key: &Hash, bytes: &[u8]) -> Result<()> {
        if kind == ObjectKind::Content && bytes.len() > SHARED_OBJECT_BYTES_MAX {
            return self.close(bytes, &[(*key, 0, bytes.len() as u32)], false);
        }
        let tree = kind == ObjectKind::Tree;
        let open = if tree { &mut self.tree } else { &mut self.content };
        open.room(bytes.len()).copy_from_slice(bytes);
        open.take(key, bytes.len());
        self.flush_if_full(tree)
    }

    fn flush_if_full(&mut self, tree: bool) -> Result<()> {
        let (open, limit) = if tree { (&self.tree, TREE_BLOCK_BYTES) } else { (&self.content, CONTENT_BLOCK_BYTES) };
        if open.filled >= limit { self.flush(tree) } else { Ok(()) }
    }

    fn flush(&mut self, tree: bool) -> Result<()> {
        let mut open = std::mem::take(if tree { &mut self.tree } else { &mut self.content });
        if open.objects.is_empty() {
            return Ok(());
        }
        let result = self.close(&open.room[..open.filled], &open.objects, tree);
        open.filled = 0;
        open.objects.clear();
        *(if tree { &mut self.tree } else { &mut self.content }) = open;
        result
    }

    fn close(&mut self, raw: &[u8], objects: &[(Hash, u32, u32)], tree: bool) -> Result<()> {
        if !tree && self.batch.store.packing == Packing::Swift && !self.batch.is_waiting() {
            return self.batch.append(&NewBlock::unchecked(raw), objects);
        }
        self.packed.clear();
        self.packed.reserve(zstd::zstd_safe::compress_bound(raw.len()));
        match self.squeezer.get_or_insert_with(squeezer).compress_to_buffer(raw, &mut self.packed) {
            Ok(len) if pays(len, raw.len()) => {
                self.batch.append(&NewBlock::new(&self.packed, raw.len(), true, tree), objects)
            }
            _ => self.batch.append(&NewBlock::new(raw, raw.len(), false, tree), objects),
        }
    }

    /// Hands over what is still open.
    pub fn done(mut self) -> Result<()> {
        self.flush(false)?;
        self.flush(true)
    }
}

/// Appends these objects of an unpacked block as a block of their own.
pub(crate) fn repack(
    writer: &mut PackWriter,
    kind: ObjectKind,
    raw: &[u8],
    objects: &[(Hash, u32, u32)],
    pack: &str,
) -> Result<()> {
    let mut own = Vec::new();
    let mut own_objects = Vec::new();
    for (key, offset, len) in objects {
        let bytes = raw.get(*offset as usize..).and_then(|rest| rest.get(..*len as usize));
        let bytes = bytes.ok_or_else(|| Error::corrupt(pack, format!("object {key} lies outside its block")))?;
        own_objects.push((*key, own.len() as u32, *len));
        own.extend_from_slice(bytes);
    }
    let packed = zstd::bulk::compress(&own, ZSTD_LEVEL).unwrap_or_default();
    let gained = !packed.is_empty() && pays(packed.len(), own.len());
    let stored = if gained { &packed } else { &own };
    writer.append(stored, own.len(), gained, kind == ObjectKind::Tree, &own_objects)
}

/// A gain of less than three percent does not pay for unpacking it.
fn pays(packed: usize, raw: usize) -> bool {
    packed < raw - raw / 32
}
