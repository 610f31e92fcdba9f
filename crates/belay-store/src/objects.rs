//! The store: objects by hash, in packs that are written once and never changed.

mod batch;
mod clones;
mod maintain;
mod pointers;
mod reader;

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher as StdHasher};
use std::io;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};

pub(crate) use batch::repack;
pub use batch::{Batch, Worker};
pub(crate) use clones::{Piece, SHARED_BYTES_MIN};
pub(crate) use maintain::MOVE_LOCK;
pub(crate) use reader::Reader;

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::hash::{Algorithm, Hash};
use crate::native::{Copies, POINTERS};
use crate::pack::{Pack, Place};
use crate::tree::{Node, Page, Pages, Shape, join};

/// The newest format of a store that this build reads; older ones are read, too.
pub(crate) const FORMAT: u32 = 5;
/// The one it writes as long as all content is in packs.
pub(crate) const PACKS_FORMAT: u32 = 2;
/// The one it writes once there are copies.
pub(crate) const COPIES_FORMAT: u32 = 3;
/// The one it writes once the attributes of something could not be read.
pub(crate) const UNREAD_FORMAT: u32 = 4;
/// The format of a store with content whose blocks have no check of their own.
pub(crate) const UNCHECKED_FORMAT: u32 = 5;
pub(crate) const FORMAT_FILE: &str = "store/format";
pub(crate) const PACKS: &str = "store/packs";
pub(crate) const LOCK: &str = "store/lock";

/// Decompressed blocks that are kept for the next reader.
const BLOCK_CACHE_BYTES_MAX: usize = 16 << 20;
/// A block of content that is unpacked whole, even for one object of it.
const KEPT_BLOCK_BYTES_MAX: u32 = 256 << 10;
/// Entries of nodes, or pages of lists, that are kept for the next reader: some 15 MB of the former.
const KEPT_ENTRIES_MAX: usize = 1 << 16;

/// What an object is; only a hint for how it is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// Bytes of a file.
    Content,
    /// A node, a manifest, or another small record.
    Tree,
}

/// What new blocks are packed for; any store reads both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packing {
    /// As small as a fast pass makes them.
    #[default]
    Small,
    /// As soon as possible: content is compressed only while the disk is slower than whoever writes to it, and large
    /// files are cut evenly, so that what is inserted into one moves everything behind it.
    Swift,
}

/// How much the store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Files of content.
    pub packs: u64,
    /// Objects in them.
    pub objects: u64,
    /// Bytes on disk.
    pub stored_bytes: u64,
    /// Bytes that the objects have when they are unpacked.
    pub content_bytes: u64,
}

/// Keys are hashes already, so a table of them need not hash again.
#[derive(Default)]
pub(crate) struct KeyHasher(u64);

impl StdHasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // `Hash` hashes as its length and then its 32 bytes; only the latter tell keys apart.
        if let Some(first) = bytes.first_chunk() {
            self.0 ^= u64::from_le_bytes(*first);
        }
    }

    fn write_usize(&mut self, _length: usize) {}
}

pub(crate) type KeySet = std::collections::HashSet<Hash, BuildHasherDefault<KeyHasher>>;
pub(crate) type KeyMap<T> = HashMap<Hash, T, BuildHasherDefault<KeyHasher>>;

/// A content-addressed store on a disk.
pub struct Store {
    disk: Arc<dyn Disk>,
    algorithm: Algorithm,
    pub(crate) packing: Packing,
    /// The format that the store is known to have.
    format: AtomicU32,
    /// Loaded when the first object is asked for, because listing snapshots needs none.
    packs: RwLock<Option<Arc<Vec<Arc<Pack>>>>>,
    /// Copies that hold content outside the packs.
    pub(crate) copies: Arc<Copies>,
    recent: Recent,
    blocks: Mutex<BlockCache>,
    nodes: Mutex<Kept<Node>>,
    lists: Mutex<Kept<Pages>>,
}

/// Where the two packs stand in the list in which something was found last: what is asked for next is mostly there, too, and
/// each other pack that is asked costs a read.
#[derive(Default)]
struct Recent([AtomicUsize; 2]);

impl Recent {
    /// The packs in the order in which to ask them, with their place in the list.
    fn first<'p>(&self, packs: &'p [Arc<Pack>]) -> impl Iterator<Item = (usize, &'p Arc<Pack>)> {
        let [one, two] = self.0.each_ref().map(|place| place.load(Ordering::Relaxed));
        let hints = [Some(one), (two != one).then_some(two)].into_iter().flatten();
        let hinted = hints.filter_map(|place| Some((place, packs.get(place)?)));
        hinted.chain(packs.iter().enumerate().filter(move |(place, _)| *place != one && *place != two))
    }

    fn found(&self, place: usize) {
        let before = self.0[0].swap(place, Ordering::Relaxed);
        if before != place {
            self.0[1].store(before, Ordering::Relaxed);
        }
    }
}

/// What was read lately.
struct Kept<T> {
    all: KeyMap<Arc<T>>,
    entries: usize,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Kept { all: KeyMap::default(), entries: 0 }
    }
}

impl<T> Kept<T> {
    fn keep(&mut self, key: &Hash, value: &Arc<T>, entries: usize) {
        if self.entries + entries > KEPT_ENTRIES_MAX {
            *self = Kept::default();
        }
        // One without entries takes room, too.
        self.entries += entries + 1;
        self.all.insert(*key, Arc::clone(value));
    }
}

#[derive(Default)]
struct BlockCache {
    order: VecDeque<(u64, u32)>,
    blocks: HashMap<(u64, u32), Arc<Vec<u8>>>,
    bytes: usize,
}

impl Store {
    /// Opens the store beneath `store/` of the disk, creating it with `algorithm` if there is none.
    pub fn open(disk: Arc<dyn Disk>, algorithm: Algorithm) -> Result<Store> {
        let (format, algorithm) = match disk.read(FORMAT_FILE) {
            Ok(text) => read_format(&text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => begin_format(disk.as_ref(), algorithm)?,
            Err(error) => return Err(Error::disk("read", FORMAT_FILE)(error)),
        };
        let (packs, blocks) = (RwLock::default(), Mutex::default());
        let (nodes, lists, recent) = (Mutex::default(), Mutex::default(), Recent::default());
        let (copies, format, packing) = (Arc::default(), AtomicU32::new(format), Packing::default());
        Ok(Store { disk, algorithm, packing, format, packs, copies, recent, blocks, nodes, lists })
    }

    /// The same store, whose new blocks are packed so.
    pub fn packing(self, packing: Packing) -> Store {
        Store { packing, ..self }
    }

    /// The disk that the store is on.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// The key under which the store has a filter, or would have it.
    pub fn key_of(&self, filter: &Filter) -> Hash {
        self.algorithm().hash(&filter.encode())
    }

    /// The hash function of the store.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Whether the object is there.
    pub fn contains(&self, key: &Hash) -> Result<bool> {
        for pack in self.packs()?.iter() {
            if let Some(place) = pack.find(key)?
                && pack.reaches(place)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Where the object is: its pack and the block's place in it, for reading many objects in their order.
    pub fn location(&self, key: &Hash) -> Result<Option<(u64, u64)>> {
        let packs = self.packs()?;
        for (at, pack) in packs.iter().enumerate() {
            if let Some(place) = pack.find(key)?
                && pack.leads(place)?
            {
                return Ok(Some((at as u64, u64::from(place.block) << 32 | u64::from(place.offset))));
            }
        }
        Ok(None)
    }

    /// The object's bytes, checked against its key; if one copy is damaged, another will do.
    pub fn read(&self, key: &Hash) -> Result<Vec<u8>> {
        match self.read_listed(key) {
            // Another process may have stored it, or moved it into another pack or copy, since the list was read.
            Err(Error::Missing(_) | Error::Corrupt { .. }) => {
                self.reload()?;
                self.read_listed(key)
            }
            other => other,
        }
    }

    fn read_listed(&self, key: &Hash) -> Result<Vec<u8>> {
        let mut failed = Error::Missing(*key);
        for (at, pack) in self.recent.first(&self.packs()?) {
            let Some(place) = pack.find(key)? else { continue };
            if !pack.leads(place)? {
                continue;
            }
            self.recent.found(at);
            match self.read_at(pack, place, key) {
                Err(error @ Error::Corrupt { .. }) => failed = error,
                other => return other,
            }
        }
        Err(failed)
    }

    pub(crate) fn read_at(&self, pack: &Arc<Pack>, place: Place, key: &Hash) -> Result<Vec<u8>> {
        let block = self.block(pack, place.block)?;
        self.object_in(&block, pack, place, key)
    }

    /// The object's bytes, by unpacking no more of its block than it needs: for whoever reads few objects of many blocks.
    pub(crate) fn read_alone(&self, key: &Hash) -> Result<Vec<u8>> {
        let Ok(Some((pack, place))) = self.find(key) else { return self.read(key) };
        // Any failure is for the ordinary way to tell, which tries other copies too.
        self.read_part(&pack, place, key).or_else(|_| self.read(key))
    }

    fn read_part(&self, pack: &Arc<Pack>, place: Place, key: &Hash) -> Result<Vec<u8>> {
        /// What a thread unpacked last: a block, up to where, and how often it was asked for in a row.
        #[derive(Default)]
        struct Part {
            of: Option<((u64, u32), usize, u32)>,
            stored: Vec<u8>,
            raw: Vec<u8>,
        }
        thread_local! {
            static PART: RefCell<Part> = RefCell::default();
        }
        let id = (pack.id, place.block);
        let is_kept = self.blocks.lock().expect("no holder panics").blocks.contains_key(&id);
        if is_kept {
            return self.read_at(pack, place, key);
        }
        let block = pack.block(place.block)?;
        // What was stored together is often read together.
        if block.raw_len <= KEPT_BLOCK_BYTES_MAX || pack.copies.is_some() {
            return self.read_at(pack, place, key);
        }
        if !block.compressed {
            let bytes = pack.part(&block, place)?;
            return self.checked(&bytes, pack, place, key).map(|()| bytes);
        }
        let end = place.offset.saturating_add(place.len) as usize;
        PART.with_borrow_mut(|part| {
            let (reached, times) = match part.of.take() {
                Some((of, reached, times)) if of == id => (reached, times),
                _ => (0, 0),
            };
            // Whoever keeps coming back to a block will come again.
            if times >= 2 || times > 0 && reached < end {
                return self.read_at(pack, place, key);
            }
            if reached < end {
                pack.raw_until(&block, end, (&mut part.stored, &mut part.raw))?;
            }
            part.of = Some((id, end.max(reached), times + 1));
            self.object_in(&part.raw, pack, place, key)
        })
    }

    fn object_in(&self, raw: &[u8], pack: &Pack, place: Place, key: &Hash) -> Result<Vec<u8>> {
        let bytes = raw
            .get(place.offset as usize..)
            .and_then(|rest| rest.get(..place.len as usize))
            .ok_or_else(|| Error::corrupt(&pack.name, format!("object {key} lies outside its block")))?;
        self.checked(bytes, pack, place, key).map(|()| bytes.to_vec())
    }

    fn checked(&self, bytes: &[u8], pack: &Pack, place: Place, key: &Hash) -> Result<()> {
        if self.algorithm.hash(bytes) == *key {
            return Ok(());
        }
        let file = pack.file_of(place).unwrap_or_else(|| pack.name.clone());
        Err(Error::corrupt(file, format!("object {key} is not what was written")))
    }

    /// The tree node of that key.
    pub fn node(&self, key: &Hash) -> Result<Arc<Node>> {
        if let Some(node) = self.nodes.lock().expect("no holder panics").all.get(key) {
            return Ok(Arc::clone(node));
        }
        let node = match self.shape(key)? {
            Shape::Whole(node) => return Ok(node),
            Shape::Pages(pages) => Arc::new(self.join(&pages.list.iter().collect::<Vec<_>>())?),
        };
        self.keep_node(key, &node);
        Ok(node)
    }

    /// Keeps nodes that were just stored, because the next capture begins with them.
    pub(crate) fn keep_nodes(&self, nodes: &HashMap<Hash, Arc<Node>>, lists: &HashMap<Hash, Arc<Pages>>) {
        nodes.iter().for_each(|(key, node)| self.keep_node(key, node));
        lists.iter().for_each(|(key, list)| self.keep_list(key, list));
    }

    fn keep_node(&self, key: &Hash, node: &Arc<Node>) {
        self.nodes.lock().expect("no holder panics").keep(key, node, node.entries.len());
    }

    fn keep_list(&self, key: &Hash, list: &Arc<Pages>) {
        self.lists.lock().expect("no holder panics").keep(key, list, list.list.len());
    }

    /// How the tree node of that key is stored.
    pub(crate) fn shape(&self, key: &Hash) -> Result<Shape> {
        if let Some(pages) = self.lists.lock().expect("no holder panics").all.get(key) {
            return Ok(Shape::Pages(Arc::clone(pages)));
        }
        if let Some(node) = self.nodes.lock().expect("no holder panics").all.get(key) {
            return Ok(Shape::Whole(Arc::clone(node)));
        }
        let bytes = self.read(key)?;
        if Pages::is_list(&bytes) {
            let pages = Arc::new(Pages::decode(&bytes)?);
            self.keep_list(key, &pages);
            return Ok(Shape::Pages(pages));
        }
        let node = Arc::new(Node::decode(&bytes)?);
        self.keep_node(key, &node);
        Ok(Shape::Whole(node))
    }

    /// The pages of the tree node of that key, if it is stored in pages.
    pub(crate) fn pages_of(&self, key: &Hash) -> Result<Option<Arc<Pages>>> {
        match self.shape(key)? {
            Shape::Whole(_) => Ok(None),
            Shape::Pages(pages) => Ok(Some(pages)),
        }
    }

    /// One node of the entries of these pages.
    pub(crate) fn join(&self, pages: &[&Page]) -> Result<Node> {
        // Not remembered each, since the node that they make up is.
        join(pages, &mut |page| Ok(Arc::new(Node::decode(&self.read(&page.key)?)?)))
    }

    /// Raises an older store to a format, before the first object that an older build cannot read.
    pub(crate) fn raise_format(&self, format: u32) -> Result<()> {
        if self.format.load(Ordering::Relaxed) < format {
            // Going on while the file is damaged would add what the number in it will not tell of.
            read_format(&self.disk.read(FORMAT_FILE).map_err(Error::disk("read", FORMAT_FILE))?)?;
            let is_older = |disk: &dyn Disk| disk.read(FORMAT_FILE).is_ok_and(|text| is_older(&text, format));
            write_format(self.disk.as_ref(), (format, self.algorithm), &is_older)?;
            self.format.store(format, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Gives up all that is kept for the next reader, before work that needs the memory.
    pub fn forget_kept(&self) {
        self.forget_nodes();
        *self.blocks.lock().expect("no holder panics") = BlockCache::default();
    }

    /// Gives up a node that nobody will ask for again.
    pub(crate) fn forget_node(&self, key: &Hash) {
        let mut nodes = self.nodes.lock().expect("no holder panics");
        if let Some(node) = nodes.all.remove(key) {
            nodes.entries -= node.entries.len() + 1;
        }
    }

    /// Gives up the nodes that are kept for the next reader.
    pub(crate) fn forget_nodes(&self) {
        *self.nodes.lock().expect("no holder panics") = Kept::default();
        *self.lists.lock().expect("no holder panics") = Kept::default();
    }

    /// How much the store holds.
    pub fn usage(&self) -> Result<Usage> {
        self.reload()?;
        let mut usage = Usage::default();
        for pack in self.packs()?.iter() {
            usage.packs += 1;
            usage.objects += u64::from(pack.object_count);
            usage.stored_bytes += pack.len;
            usage.content_bytes += pack.blocks()?.iter().map(|block| u64::from(block.raw_len)).sum::<u64>();
        }
        usage.stored_bytes += self.copied_bytes()?;
        Ok(usage)
    }

    /// Bytes of all packs on disk, by their lengths alone, and of copies that share theirs with nothing.
    pub fn stored_bytes(&self) -> Result<u64> {
        let files = self.disk.list(PACKS).map_err(Error::disk("list", PACKS))?;
        let pointers = self.disk.list(POINTERS).map_err(Error::disk("list", POINTERS))?;
        Ok(files.iter().chain(&pointers).map(|(_, len)| len).sum::<u64>() + self.copied_bytes()?)
    }

    /// Starts writing; gc removes nothing until the batch, and the lock it leaves, are gone.
    pub fn begin(&self) -> Result<Batch<'_>> {
        Batch::begin(self)
    }

    fn block(&self, pack: &Arc<Pack>, number: u32) -> Result<Arc<Vec<u8>>> {
        let id = (pack.id, number);
        if let Some(block) = self.blocks.lock().expect("no holder panics").blocks.get(&id) {
            return Ok(Arc::clone(block));
        }
        let raw = Arc::new(pack.raw(&pack.block(number)?)?);
        let mut cache = self.blocks.lock().expect("no holder panics");
        if cache.blocks.insert(id, Arc::clone(&raw)).is_none() {
            cache.order.push_back(id);
            cache.bytes += raw.len();
        }
        while cache.bytes > BLOCK_CACHE_BYTES_MAX && cache.order.len() > 1 {
            let oldest = cache.order.pop_front().expect("the length was checked");
            cache.bytes -= cache.blocks.remove(&oldest).map_or(0, |block| block.len());
        }
        Ok(raw)
    }

    pub(crate) fn find(&self, key: &Hash) -> Result<Option<(Arc<Pack>, Place)>> {
        for (at, pack) in self.recent.first(&self.packs()?) {
            if let Some(place) = pack.find(key)?
                && pack.leads(place)?
            {
                self.recent.found(at);
                return Ok(Some((Arc::clone(pack), place)));
            }
        }
        Ok(None)
    }

    /// The packs as they were when the list was last read.
    pub(crate) fn packs(&self) -> Result<Arc<Vec<Arc<Pack>>>> {
        if let Some(packs) = self.packs.read().expect("no holder panics").as_ref() {
            return Ok(Arc::clone(packs));
        }
        self.reload()
    }

    /// Reads the list of packs again, keeping those that are open.
    pub(crate) fn reload(&self) -> Result<Arc<Vec<Arc<Pack>>>> {
        let open = self.packs.read().expect("no holder panics").clone().unwrap_or_default();
        let packs = Arc::new(self.open_packs(&open)?);
        // After the packs: whatever pointer is among them got its name after its copy began to count.
        self.copies.reload(self.disk.as_ref())?;
        *self.packs.write().expect("no holder panics") = Some(Arc::clone(&packs));
        Ok(packs)
    }

    /// The names of all packs, of objects and of pointers.
    pub(crate) fn pack_names(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for dir in [PACKS, POINTERS] {
            let files = self.disk.list(dir).map_err(Error::disk("list", dir))?;
            names.extend(
                files.iter().filter(|(name, _)| name.ends_with(".pack")).map(|(name, _)| format!("{dir}/{name}")),
            );
        }
        Ok(names)
    }

    pub(crate) fn open_pack(&self, name: &str) -> Result<Pack> {
        match name.starts_with(POINTERS) {
            true => Pack::open_pointers(self.disk.as_ref(), name, &self.copies),
            false => Pack::open(self.disk.as_ref(), name),
        }
    }

    fn open_packs(&self, open: &[Arc<Pack>]) -> Result<Vec<Arc<Pack>>> {
        let open: HashMap<&str, &Arc<Pack>> = open.iter().map(|pack| (pack.name.as_str(), pack)).collect();
        'list: loop {
            let mut packs = Vec::new();
            for name in self.pack_names()? {
                if let Some(pack) = open.get(name.as_str()) {
                    packs.push(Arc::clone(pack));
                    continue;
                }
                match self.open_pack(&name) {
                    Ok(pack) => packs.push(Arc::new(pack)),
                    // Its objects were moved into a pack that the list did not show yet.
                    Err(Error::Disk { source, .. }) if source.kind() == io::ErrorKind::NotFound => continue 'list,
                    // What the other packs hold is still good; `verify` names this one.
                    Err(Error::Corrupt { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            // Most lookups are for what was stored last or in bulk: the largest packs first.
            packs.sort_by_key(|pack| std::cmp::Reverse(pack.object_count));
            return Ok(packs);
        }
    }
}

/// Writes the format file of a new store; returns what is in it, because another process may have been faster.
fn begin_format(disk: &dyn Disk, algorithm: Algorithm) -> Result<(u32, Algorithm)> {
    let holds = |dir| disk.list(dir).is_ok_and(|files| files.iter().any(|(name, _)| name.ends_with(".pack")));
    // Under the lock: who has just made the store may have filled it since the file was looked for.
    let is_wanted = |disk: &dyn Disk| disk.open(FORMAT_FILE).is_err() && ![PACKS, POINTERS].into_iter().any(holds);
    write_format(disk, (PACKS_FORMAT, algorithm), &is_wanted)?;
    match disk.read(FORMAT_FILE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Error::corrupt(FORMAT_FILE, "it is missing, and the store is not empty"))
        }
        text => read_format(&text.map_err(Error::disk("read", FORMAT_FILE))?),
    }
}

fn is_older(text: &[u8], than: u32) -> bool {
    read_format(text).is_ok_and(|(format, _)| format < than)
}

fn read_format(text: &[u8]) -> Result<(u32, Algorithm)> {
    let bad = |detail: &str| Error::corrupt(FORMAT_FILE, detail);
    let text = std::str::from_utf8(text).map_err(|_| bad("it is not text"))?;
    let mut lines = text.lines();
    if lines.next() != Some("belay store") {
        return Err(bad("its first line is not \"belay store\""));
    }
    let mut field = |name: &str| lines.next().and_then(|line| line.strip_prefix(name)).map(str::trim);
    let found = field("format ").and_then(|number| number.parse().ok()).ok_or_else(|| bad("it names no format"))?;
    if found > FORMAT {
        return Err(Error::TooNew { found, supported: FORMAT });
    }
    let algorithm = field("hash ").and_then(Algorithm::from_name).ok_or_else(|| bad("it names no known hash"))?;
    Ok((found, algorithm))
}

/// What the format file says in a store of that format.
pub(crate) fn format_text(format: u32, algorithm: Algorithm) -> String {
    format!("belay store\nformat {format}\nhash {}\n", algorithm.name())
}

/// Writes the format file if, once nobody else does so, it is still wanted.
pub(crate) fn write_format(
    disk: &dyn Disk,
    (format, algorithm): (u32, Algorithm),
    is_wanted: &dyn Fn(&dyn Disk) -> bool,
) -> Result<()> {
    let text = format_text(format, algorithm);
    let temporary = format!("store/format.tmp-{}", std::process::id());
    let _ = disk.remove(&temporary);
    let published = publish_format(disk, &temporary, text.as_bytes(), is_wanted);
    if !matches!(published, Ok(true)) {
        let _ = disk.remove(&temporary);
    }
    published.map(drop)
}

/// Returns whether the format file was wanted and is there now.
fn publish_format(
    disk: &dyn Disk,
    temporary: &str,
    text: &[u8],
    is_wanted: &dyn Fn(&dyn Disk) -> bool,
) -> Result<bool> {
    let mut file = disk.create(temporary).map_err(Error::disk("create", temporary))?;
    file.write(text).and_then(|()| file.sync()).map_err(Error::disk("write", temporary))?;
    let created = disk.lock("store/create.lock", crate::disk::LockMode::Exclusive, true);
    let _lock = created.map_err(Error::disk("lock", "store/create.lock"))?;
    if !is_wanted(disk) {
        return Ok(false);
    }
    disk.rename(temporary, FORMAT_FILE).map_err(Error::disk("rename", temporary))?;
    disk.sync_dir("store").map_err(Error::disk("sync", "store"))?;
    Ok(true)
}

#[cfg(test)]
mod tests;
