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
const SHARDS: usize = 64;

/// Objects on their way into the store.
pub struct Batch<'a> {
    pub(super) store: &'a Store,
    lock: Lock,
    seen: Vec<Mutex<KeySet>>,
    pack: Mutex<Option<PackWriter>>,
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
        store.raise_format(super::PACKS_FORMAT)?;
        // Only packs that are there now are sure to stay until the lock goes.
        store.reload()?;
        let seen = (0..SHARDS).map(|_| Mutex::default()).collect();
        let (pack, pointers) = (Mutex::default(), Mutex::default());
        let (closing, new_content) = (Mutex::default(), AtomicU64::new(0));
        let (stored, cannot_share) = (AtomicU64::new(0), AtomicBool::new(false));
        Ok(Batch {
            store,
            lock,
            seen,
            pack,
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
        if let Some(pack) = self.pack.lock().expect("no holder panics").take() {
            sealed.push(pack.seal()?);
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

    pub(super) fn shard(&self, key: &Hash) -> &Mutex<KeySet> {
        &self.seen[usize::from(key.0[31]) % SHARDS]
    }

    fn append(&self, block: &NewBlock<'_>, objects: &[(Hash, u32, u32)]) -> Result<()> {
        // With the rows of its tables, which are written when the pack is closed.
        let rows = crate::pack::BLOCK_ROW + objects.len() * crate::pack::OBJECT_ROW;
        self.take_room((block.len() + rows) as u64)?;
        let mut slot = self.pack.lock().expect("no holder panics");
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
    raw: Vec<u8>,
    objects: Vec<(Hash, u32, u32)>,
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
        if self.batch.store.contains(key)? || !self.batch.shard(key).lock().expect("no holder panics").insert(*key) {
            return Ok(false);
        }
        if kind == ObjectKind::Content {
            self.batch.new_content.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        }
        self.pack(kind, key, bytes)?;
        Ok(true)
    }

    /// Packs an object without asking whether it is there, as a move from one pack to another needs.
    pub(crate) fn pack(&mut self, kind: ObjectKind, key: &Hash, bytes: &[u8]) -> Result<()> {
        if kind == ObjectKind::Content && bytes.len() > SHARED_OBJECT_BYTES_MAX {
            return self.close(bytes, &[(*key, 0, bytes.len() as u32)], false);
        }
        let tree = kind == ObjectKind::Tree;
        let limit = if tree { TREE_BLOCK_BYTES } else { CONTENT_BLOCK_BYTES };
        let open = if tree { &mut self.tree } else { &mut self.content };
        open.objects.push((*key, open.raw.len() as u32, bytes.len() as u32));
        open.raw.extend_from_slice(bytes);
        if open.raw.len() >= limit { self.flush(tree) } else { Ok(()) }
    }

    fn flush(&mut self, tree: bool) -> Result<()> {
        let mut open = std::mem::take(if tree { &mut self.tree } else { &mut self.content });
        if open.objects.is_empty() {
            return Ok(());
        }
        let result = self.close(&open.raw, &open.objects, tree);
        open.raw.clear();
        open.objects.clear();
        *(if tree { &mut self.tree } else { &mut self.content }) = open;
        result
    }

    fn close(&mut self, raw: &[u8], objects: &[(Hash, u32, u32)], tree: bool) -> Result<()> {
        if !tree && self.batch.store.packing == Packing::Swift && !self.batch.is_waiting() {
            return self.batch.append(&NewBlock::new(raw, raw.len(), false, tree), objects);
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
    let mut open = Open::default();
    for (key, offset, len) in objects {
        let bytes = raw.get(*offset as usize..).and_then(|rest| rest.get(..*len as usize));
        let bytes = bytes.ok_or_else(|| Error::corrupt(pack, format!("object {key} lies outside its block")))?;
        open.objects.push((*key, open.raw.len() as u32, *len));
        open.raw.extend_from_slice(bytes);
    }
    let packed = zstd::bulk::compress(&open.raw, ZSTD_LEVEL).unwrap_or_default();
    let gained = !packed.is_empty() && pays(packed.len(), open.raw.len());
    let stored = if gained { &packed } else { &open.raw };
    writer.append(stored, open.raw.len(), gained, kind == ObjectKind::Tree, &open.objects)
}

/// A gain of less than three percent does not pay for unpacking it.
fn pays(packed: usize, raw: usize) -> bool {
    packed < raw - raw / 32
}
