//! A snapshot put together from elsewhere (an archive), path by path, as if it had been captured.
//!
//! - No path leaves the tree, none comes twice, and none lies beneath something that is no directory.
//! - What is put in counts against limits before it is stored, so that nothing small becomes something huge.
//! - Equal trees get equal root hashes, whether they were captured or put together.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};

use crate::capture::{Limits, cut_chunk, packing_of};
use crate::error::{Error, Result, printable};
use crate::filter::Filter;
use crate::hash::{Algorithm, Hash, Hasher};
use crate::manifest::{Counts, Coverage, Links, Manifest};
use crate::objects::{Batch, ObjectKind, Store, Worker};
use crate::tree::{Content, Entry, Kind, Meta, Node, Segment};

/// Files up to this size are one object, as a capture makes them.
const WHOLE_BYTES_MAX: u64 = 4 << 20;
/// Holes cost nothing, but lengths are added up.
const LENGTH_BYTES_MAX: u64 = 1 << 60;
/// Names, links and attributes are kept in memory until the tree is whole. So much is ten times what a tree as large as the limits
/// allow has of them.
const NAMES_BYTES_MAX: u64 = 256 << 20;
/// At least twice the largest chunk.
const WINDOW_BYTES: usize = 8 << 20;

/// A tree in the making.
pub struct Assembly<'a> {
    store: &'a Store,
    worker: Worker<'a>,
    limits: Limits,
    entries: BTreeMap<Vec<u8>, Item>,
    /// Another hash by which the tree is known elsewhere.
    other: Option<Algorithm>,
    /// What the last file is by that hash.
    last: Option<Content>,
    links: HashMap<Vec<u8>, Vec<Vec<u8>>>,
    bytes: u64,
    /// Of all files, holes included.
    length: u64,
    /// Of names, links and attributes.
    names: u64,
    window: Vec<u8>,
}

/// Something at a path.
#[derive(Clone)]
struct Item {
    meta: Meta,
    kind: Kind,
    /// The content of a file by the other hash.
    other: Option<Content>,
}

/// A tree that is stored.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// The key of the snapshot.
    pub key: Hash,
    /// The snapshot.
    pub manifest: Manifest,
    /// Its root hash by the other hash that was asked for.
    pub other: Option<Hash>,
}

impl<'a> Assembly<'a> {
    /// An empty tree, whose objects go into the batch.
    pub fn new(store: &'a Store, batch: &'a Batch<'a>, limits: Limits) -> Assembly<'a> {
        let (entries, links, window) = (BTreeMap::new(), HashMap::new(), Vec::new());
        let (worker, other, last) = (batch.worker(), None, None);
        Assembly { store, worker, limits, entries, other, last, links, bytes: 0, length: 0, names: 0, window }
    }

    /// Works out the root hash by another hash as well; of files that are stored already it cannot be told.
    pub fn also(&mut self, other: Algorithm) {
        self.other = Some(other).filter(|_| self.entries.is_empty());
    }

    /// Stores a file of `size` bytes, of which `from` yields those in the extents (offset and length) and the rest are holes.
    pub fn file(&mut self, size: u64, extents: &[(u64, u64)], from: &mut dyn Read) -> Result<Kind> {
        let data = extents.iter().fold(0, |sum: u64, (_, len)| sum.saturating_add(*len));
        self.bytes = self.bytes.saturating_add(data);
        self.length = self.length.saturating_add(size);
        if self.length > LENGTH_BYTES_MAX {
            return Err(Error::Invalid("its files are longer than any disk".into()));
        }
        if self.bytes > self.limits.new_bytes_max {
            return Err(Error::Invalid(format!("it holds more than {} bytes", self.limits.new_bytes_max)));
        }
        let is_sparse = size > 0 && extents != [(0, size)];
        if !is_sparse && size <= WHOLE_BYTES_MAX {
            let mut bytes = vec![0; size as usize];
            from.read_exact(&mut bytes).map_err(unreadable)?;
            let hash = match size {
                0 => self.store.algorithm().hash(b""),
                _ => self.worker.put(ObjectKind::Content, &bytes)?.0,
            };
            self.last = self.other.map(|other| Content::Whole(other.hash(&bytes)));
            return Ok(Kind::File { size, content: Content::Whole(hash) });
        }
        let mut pieces = Pieces {
            all: (!is_sparse).then(|| self.store.algorithm().hasher()),
            segments: Vec::new(),
            other: self.other.map(|other| (other, other.hasher(), Vec::new())),
        };
        self.segments(size, extents, from, &mut pieces)?;
        let list = self.worker.put(ObjectKind::Tree, &Segment::encode_list(&pieces.segments))?.0;
        self.last = pieces.other.map(|(other, all, segments)| match is_sparse {
            true => Content::Sparse { list: other.hash(&Segment::encode_list(&segments)) },
            false => Content::Whole(all.finish()),
        });
        let content = match pieces.all {
            Some(all) => Content::Chunked { hash: all.finish(), list },
            None => Content::Sparse { list },
        };
        Ok(Kind::File { size, content })
    }

    fn segments(&mut self, size: u64, extents: &[(u64, u64)], from: &mut dyn Read, pieces: &mut Pieces) -> Result<()> {
        let mut at = 0;
        for (offset, len) in extents.iter().copied().filter(|(_, len)| *len > 0) {
            let end = offset.checked_add(len).filter(|end| offset >= at && *end <= size);
            let end = end.ok_or_else(|| Error::Invalid("the pieces of a file overlap or exceed it".into()))?;
            if offset > at {
                pieces.hole(offset - at);
            }
            self.extent(len, from, pieces)?;
            at = end;
        }
        if at < size {
            pieces.hole(size - at);
        }
        Ok(())
    }

    /// Cuts an extent where a capture would cut it, and stores the chunks.
    fn extent(&mut self, len: u64, from: &mut dyn Read, pieces: &mut Pieces) -> Result<()> {
        let packing = packing_of(pieces.all.is_none(), self.store.packing);
        self.window.resize(WINDOW_BYTES, 0);
        let (mut filled, mut left) = (0, len);
        while left > 0 || filled > 0 {
            let want = left.min((WINDOW_BYTES - filled) as u64) as usize;
            from.read_exact(&mut self.window[filled..filled + want]).map_err(unreadable)?;
            filled += want;
            left -= want as u64;
            let mut used = 0;
            while let Some(chunk) = cut_chunk(&self.window[used..filled], left == 0, packing) {
                let key = pieces.data(chunk, self.store.algorithm());
                self.worker.put_as(ObjectKind::Content, &key, chunk)?;
                used += chunk.len();
            }
            self.window.copy_within(used..filled, 0);
            filled -= used;
        }
        Ok(())
    }

    /// Puts an entry at a path beneath the root; the empty path is the root itself. A directory's kind is made up later.
    pub fn put(&mut self, path: &[u8], meta: Meta, kind: Kind) -> Result<()> {
        check(path)?;
        self.count(self.entries.len())?;
        let text = if let Kind::Symlink(text) = &kind { text.len() } else { 0 };
        let attributes: usize = meta.xattrs.iter().map(|(name, value)| name.len() + value.len()).sum();
        self.names = charge(self.names, path.len() + text + attributes)?;
        if path.is_empty() && !matches!(kind, Kind::Dir { .. }) {
            return Err(Error::Invalid("its root is not a directory".into()));
        }
        let other = self.last.take().filter(|_| matches!(kind, Kind::File { .. }));
        match self.entries.insert(path.to_vec(), Item { meta, kind, other }) {
            Some(_) => Err(Error::Invalid(format!("{} comes twice", printable(path)))),
            None => Ok(()),
        }
    }

    /// Refuses one more entry where there are so many.
    fn count(&self, entries: usize) -> Result<()> {
        match entries as u64 >= self.limits.entries_max {
            true => Err(Error::Invalid(format!("it holds more than {} entries", self.limits.entries_max))),
            false => Ok(()),
        }
    }

    /// Puts another name of a file that is there.
    pub fn link(&mut self, path: &[u8], to: &[u8]) -> Result<()> {
        check(to)?;
        match self.entries.get(to).cloned() {
            Some(Item { meta, kind, other }) if !matches!(kind, Kind::Dir { .. }) => {
                self.last = other;
                self.put(path, meta, kind)?;
                self.links.entry(to.to_vec()).or_insert_with(|| vec![to.to_vec()]).push(path.to_vec());
                Ok(())
            }
            _ => Err(Error::Invalid(format!("{} is a hard link to nothing in it", printable(path)))),
        }
    }

    /// Says of an entry that is there that it cannot be changed, or only grow.
    pub fn flag(&mut self, path: &[u8], immutable: bool, append_only: bool) {
        if let Some(Item { meta, .. }) = self.entries.get_mut(path) {
            (meta.immutable, meta.append_only) = (immutable, append_only);
        }
    }

    /// Stores the tree with its filter and what it is known to lack.
    pub fn finish(mut self, filter: &Filter, coverage: &Coverage) -> Result<Assembled> {
        let (root, other_root) = self.tree()?;
        let links = Links::normalised(std::mem::take(&mut self.links).into_values().collect());
        let other = self.other.zip(other_root).map(|(other, root)| {
            let links = (!links.groups.is_empty()).then(|| other.hash(&links.encode()));
            Manifest::identity_of(other, &root, links.as_ref())
        });
        let mut put = |bytes: &[u8]| self.worker.put(ObjectKind::Tree, bytes).map(|(key, _)| key);
        let links = if links.groups.is_empty() { None } else { Some(put(&links.encode())?) };
        let (filter, covered) = (put(&filter.encode())?, put(&coverage.encode())?);
        let Kind::Dir { files, bytes, .. } = root.kind else { unreachable!("a tree's root is a directory") };
        let gaps = coverage.gaps.iter().filter(|gap| !gap.kind.is_wanted()).count() as u64;
        let identity = Manifest::identity_of(self.store.algorithm(), &root, links.as_ref());
        let counts = Counts { files, bytes, gaps };
        let manifest = Manifest { root, identity, links, filter, coverage: covered, counts };
        let key = put(&manifest.encode())?;
        self.worker.done()?;
        Ok(Assembled { key, manifest, other })
    }

    /// The root, and the same by the other hash, of which only the identity is meant.
    fn tree(&mut self) -> Result<(Entry, Option<Entry>)> {
        let mut inside: HashMap<Vec<u8>, Vec<Entry>> = HashMap::new();
        let mut others: HashMap<Vec<u8>, Vec<Entry>> = HashMap::new();
        let mut entries = std::mem::take(&mut self.entries);
        for dir in missing_dirs(&entries, self.names)? {
            self.count(entries.len())?;
            let meta = Meta { mode: 0o755, ..Meta::default() };
            entries.insert(dir, Item { meta, kind: Kind::empty_dir(self.store.algorithm()), other: None });
        }
        // Backwards every path comes before its directory.
        for (path, Item { meta, kind, other }) in entries.into_iter().rev() {
            let (dir, name) = split(&path);
            let other = self.other.map(|algorithm| {
                let kind = other_kind(algorithm, &kind, other, others.remove(&path).unwrap_or_default());
                Entry { name: name.to_vec(), meta: meta.clone(), kind }
            });
            let kind = match kind {
                Kind::Dir { .. } => self.dir(inside.remove(&path).unwrap_or_default())?,
                other => other,
            };
            let entry = Entry { name: name.to_vec(), meta, kind };
            if path.is_empty() {
                return Ok((entry, other));
            }
            inside.entry(dir.to_vec()).or_default().push(entry);
            if let Some(other) = other {
                others.entry(dir.to_vec()).or_default().push(other);
            }
        }
        unreachable!("the root is among them and comes last")
    }

    fn dir(&mut self, mut entries: Vec<Entry>) -> Result<Kind> {
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let node = Node { entries };
        let ((files, bytes), identity) = (node.totals(), node.identity(self.store.algorithm()));
        let node = node.store(&mut |bytes| self.worker.put(ObjectKind::Tree, bytes).map(|(key, _)| key))?;
        Ok(Kind::Dir { node, identity, files, bytes })
    }
}

/// The pieces of a file so far, and the hash over all of them if it has no holes.
struct Pieces {
    all: Option<Hasher>,
    segments: Vec<Segment>,
    /// The same by another hash.
    other: Option<(Algorithm, Hasher, Vec<Segment>)>,
}

impl Pieces {
    fn hole(&mut self, len: u64) {
        self.segments.push(Segment::Hole { len });
        if let Some((_, _, segments)) = &mut self.other {
            segments.push(Segment::Hole { len });
        }
    }

    fn data(&mut self, chunk: &[u8], algorithm: Algorithm) -> Hash {
        let len = chunk.len() as u64;
        let key = match &mut self.all {
            Some(all) => all.update_and_hash(chunk),
            None => algorithm.hash(chunk),
        };
        self.segments.push(Segment::Data { key, len });
        match &mut self.other {
            Some((other, _, segments)) if self.all.is_none() => {
                segments.push(Segment::Data { key: other.hash(chunk), len });
            }
            Some((_, all, _)) => all.update(chunk),
            None => {}
        }
        key
    }
}

/// What something is by another hash: all that its directory's identity needs of it.
fn other_kind(algorithm: Algorithm, kind: &Kind, content: Option<Content>, mut inside: Vec<Entry>) -> Kind {
    match (kind, content) {
        (Kind::Dir { node, .. }, _) => {
            inside.sort_by(|a, b| a.name.cmp(&b.name));
            let identity = Node { entries: inside }.identity(algorithm);
            Kind::Dir { node: *node, identity, files: 0, bytes: 0 }
        }
        (Kind::File { size, .. }, Some(content)) => Kind::File { size: *size, content },
        (kind, _) => kind.clone(),
    }
}

/// Adds to what names, links and attributes take.
fn charge(so_far: u64, bytes: usize) -> Result<u64> {
    let all = so_far.saturating_add(bytes as u64);
    let much = || Error::Invalid(format!("its names and attributes take more than {NAMES_BYTES_MAX} bytes"));
    if all > NAMES_BYTES_MAX { Err(much()) } else { Ok(all) }
}

/// The directories that paths lie in and nobody put; fails if one of them is something else, or if they are too long.
fn missing_dirs(entries: &BTreeMap<Vec<u8>, Item>, mut names: u64) -> Result<Vec<Vec<u8>>> {
    let mut missing = std::collections::BTreeSet::new();
    if !entries.contains_key(&Vec::new()) {
        missing.insert(Vec::new());
    }
    for path in entries.keys() {
        let mut dir = split(path).0;
        while !dir.is_empty() && !missing.contains(dir) {
            match entries.get(dir) {
                Some(Item { kind: Kind::Dir { .. }, .. }) => break,
                Some(_) => {
                    let (path, dir) = (printable(path), printable(dir));
                    return Err(Error::Invalid(format!("{path} lies in {dir}, which is no directory")));
                }
                None => {
                    names = charge(names, dir.len())?;
                    missing.insert(dir.to_vec());
                }
            }
            dir = split(dir).0;
        }
    }
    Ok(missing.into_iter().collect())
}

fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

/// Refuses a path that is not plainly beneath the root.
fn check(path: &[u8]) -> Result<()> {
    let is_name = |name: &[u8]| !name.is_empty() && name != b"." && name != b".." && name.len() <= 255;
    let fits = path.is_empty() || !path.contains(&0) && path.split(|byte| *byte == b'/').all(is_name);
    if fits { Ok(()) } else { Err(Error::Invalid(format!("{} is no path beneath its root", printable(path)))) }
}

fn unreadable(error: io::Error) -> Error {
    Error::Invalid(format!("it cannot be read: {}", belay_sys::plain(error)))
}
