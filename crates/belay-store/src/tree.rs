//! Trees as Merkle nodes, one per directory, with every property that a restore brings back.
//!
//! A node has two hashes. Its *key* names its stored bytes and so covers everything in them. Its
//! *identity* leaves out times, owners, inode flags and opaque entries, so that equal trees have equal
//! identities wherever and whenever they were captured.

mod pages;

use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use pages::{Page, Pages, Shape, join};

use belay_sys::{FileType, Time};

use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Algorithm, Hash};
use crate::objects::Store;

const NODE_VERSION: u8 = 1;
const SEGMENTS_VERSION: u8 = 1;

/// One directory: its entries, sorted by the bytes of their names, each name once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// The entries in order.
    pub entries: Vec<Entry>,
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Any bytes but `/` and NUL; empty only for a snapshot's root.
    pub name: Vec<u8>,
    /// What every kind of entry has.
    pub meta: Meta,
    /// What it is.
    pub kind: Kind,
}

/// The properties that every entry has, whatever its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Permission bits, `0o7777`.
    pub mode: u16,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Time of the last change of the content.
    pub mtime: Time,
    /// The inode cannot be changed.
    pub immutable: bool,
    /// The inode can only grow.
    pub append_only: bool,
    /// Extended attributes and ACLs, sorted by name.
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    /// They could not be read, so that their absence says nothing.
    pub xattrs_unread: bool,
}

impl Default for Meta {
    fn default() -> Self {
        let mtime = Time { sec: 0, nsec: 0 };
        Meta {
            mode: 0,
            uid: 0,
            gid: 0,
            mtime,
            immutable: false,
            append_only: false,
            xattrs: Vec::new(),
            xattrs_unread: false,
        }
    }
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File {
        /// Its length in bytes, holes included.
        size: u64,
        /// Where its bytes are.
        content: Content,
    },
    /// A directory.
    Dir {
        /// The key of its node.
        node: Hash,
        /// The identity of its node.
        identity: Hash,
        /// Entries beneath it that are not directories, at any depth.
        files: u64,
        /// Bytes in the files beneath it.
        bytes: u64,
    },
    /// A symbolic link with its text.
    Symlink(Vec<u8>),
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharDevice(u64),
    /// A block device.
    BlockDevice(u64),
    /// Something that was seen but not captured; no restore ever touches it or anything beneath it.
    Opaque {
        /// What it is, as far as could be seen.
        file_type: FileType,
        /// Why it was not captured.
        reason: Opaque,
    },
}

/// Where the bytes of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// One object holds all of them; its key is the content's hash. An empty file has no object.
    Whole(Hash),
    /// Several objects hold them.
    Chunked {
        /// The hash of all bytes.
        hash: Hash,
        /// The key of the list of segments.
        list: Hash,
    },
    /// The file has holes; the list of segments is its identity.
    Sparse {
        /// The key of the list of segments.
        list: Hash,
    },
}

impl Content {
    /// The hash that tells this content from another.
    pub fn identity(&self) -> Hash {
        match *self {
            Content::Whole(hash) | Content::Chunked { hash, .. } => hash,
            Content::Sparse { list } => list,
        }
    }
}

/// A stretch of a file that is stored in several objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Bytes, held by the object of this key.
    Data {
        /// The object's key.
        key: Hash,
        /// Its length.
        len: u64,
    },
    /// A hole.
    Hole {
        /// Its length.
        len: u64,
    },
}

impl Segment {
    /// How many bytes of the file the segment covers.
    pub fn len(&self) -> u64 {
        match *self {
            Segment::Data { len, .. } | Segment::Hole { len } => len,
        }
    }

    /// Whether the segment covers nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn encode_list(segments: &[Segment]) -> Vec<u8> {
        let mut out = Encoder::default();
        out.byte(SEGMENTS_VERSION);
        out.number(segments.len() as u64);
        for segment in segments {
            match segment {
                Segment::Data { key, len } => {
                    out.byte(0);
                    out.number(*len);
                    out.hash(key);
                }
                Segment::Hole { len } => {
                    out.byte(1);
                    out.number(*len);
                }
            }
        }
        out.bytes
    }

    /// Reads a list of segments and checks that it covers exactly `size` bytes.
    pub(crate) fn decode_list(bytes: &[u8], size: u64) -> Result<Vec<Segment>> {
        match Segment::decode_any(bytes)? {
            (segments, covered) if covered == size => Ok(segments),
            _ => Err(Decoder::new(bytes, "a list of segments").bad("it does not cover its file")),
        }
    }

    /// Reads a list of segments; returns how many bytes it covers, too.
    pub(crate) fn decode_any(bytes: &[u8]) -> Result<(Vec<Segment>, u64)> {
        let mut input = Decoder::new(bytes, "a list of segments");
        if input.byte()? != SEGMENTS_VERSION {
            return Err(input.bad("its version is unknown"));
        }
        let count = input.count()?;
        let mut segments = Vec::with_capacity(count);
        let mut covered = 0u64;
        for _ in 0..count {
            let tag = input.byte()?;
            let len = input.number()?;
            covered = covered.checked_add(len).ok_or_else(|| input.bad("its lengths overflow"))?;
            segments.push(match tag {
                0 => Segment::Data { key: input.hash()?, len },
                1 => Segment::Hole { len },
                _ => return Err(input.bad("a segment is of an unknown kind")),
            });
        }
        input.finish()?;
        Ok((segments, covered))
    }
}

/// Why something that was seen is not in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Opaque {
    /// The reader had no permission, or the disk answered with an error.
    Unreadable,
    /// It did not answer in time.
    Hung,
    /// Another filesystem is mounted there.
    Mount,
    /// A regenerable directory: git-ignored, and its evidence was beside it.
    Regenerable,
    /// Git ignores it, and the filter says to skip what git ignores.
    GitIgnored,
    /// A pattern of the configuration excludes it.
    Excluded,
    /// A limit on entries or bytes was reached before it.
    OverLimit,
}

impl Opaque {
    /// All reasons, in the order of their codes.
    pub const ALL: [Opaque; 7] = [
        Opaque::Unreadable,
        Opaque::Hung,
        Opaque::Mount,
        Opaque::Regenerable,
        Opaque::GitIgnored,
        Opaque::Excluded,
        Opaque::OverLimit,
    ];
}

const FILE_TYPES: [FileType; 8] = [
    FileType::Unknown,
    FileType::File,
    FileType::Dir,
    FileType::Symlink,
    FileType::Fifo,
    FileType::Socket,
    FileType::CharDevice,
    FileType::BlockDevice,
];

impl Kind {
    /// The type of file that the entry is.
    pub fn file_type(&self) -> FileType {
        match self {
            Kind::File { .. } => FileType::File,
            Kind::Dir { .. } => FileType::Dir,
            Kind::Symlink(_) => FileType::Symlink,
            Kind::Fifo => FileType::Fifo,
            Kind::Socket => FileType::Socket,
            Kind::CharDevice(_) => FileType::CharDevice,
            Kind::BlockDevice(_) => FileType::BlockDevice,
            Kind::Opaque { file_type, .. } => *file_type,
        }
    }

    /// A directory with nothing in it.
    pub fn empty_dir(algorithm: Algorithm) -> Kind {
        let node = Node::default();
        Kind::Dir { node: algorithm.hash(&node.encode()), identity: node.identity(algorithm), files: 0, bytes: 0 }
    }

    fn tag(&self) -> u8 {
        match self {
            Kind::File { content: Content::Whole(_), .. } => 1,
            Kind::File { content: Content::Chunked { .. }, .. } => 2,
            Kind::File { content: Content::Sparse { .. }, .. } => 3,
            Kind::Dir { .. } => 4,
            Kind::Symlink(_) => 5,
            Kind::Fifo => 6,
            Kind::Socket => 7,
            Kind::CharDevice(_) => 8,
            Kind::BlockDevice(_) => 9,
            Kind::Opaque { .. } => 10,
        }
    }
}

impl Entry {
    /// Whether the entry was seen but not captured.
    pub fn is_opaque(&self) -> bool {
        matches!(self.kind, Kind::Opaque { .. })
    }

    /// Whether both are the same but for times, owner and inode flags.
    pub fn same_identity(&self, other: &Entry) -> bool {
        let kinds = match (&self.kind, &other.kind) {
            (Kind::File { size: a, content: x }, Kind::File { size: b, content: y }) => {
                a == b && x.identity() == y.identity()
            }
            (Kind::Dir { identity: a, .. }, Kind::Dir { identity: b, .. }) => a == b,
            (a, b) => a == b,
        };
        kinds && self.meta.mode == other.meta.mode && self.meta.xattrs == other.meta.xattrs
    }

    pub(crate) fn encode(&self, out: &mut Encoder) {
        out.blob(&self.name);
        self.encode_nameless(out);
    }

    pub(crate) fn encode_nameless(&self, out: &mut Encoder) {
        out.byte(self.kind.tag());
        out.number(u64::from(self.meta.mode));
        out.number(u64::from(self.meta.uid));
        out.number(u64::from(self.meta.gid));
        out.time(self.meta.mtime);
        let has_xattrs = !self.meta.xattrs.is_empty();
        let bits = [self.meta.immutable, self.meta.append_only, has_xattrs, self.meta.xattrs_unread];
        out.byte(bits.iter().enumerate().map(|(at, bit)| u8::from(*bit) << at).sum());
        if has_xattrs {
            encode_xattrs(&self.meta.xattrs, out);
        }
        match &self.kind {
            Kind::File { size, content } => {
                out.number(*size);
                match content {
                    Content::Whole(hash) => out.hash(hash),
                    Content::Chunked { hash, list } => {
                        out.hash(hash);
                        out.hash(list);
                    }
                    Content::Sparse { list } => out.hash(list),
                }
            }
            Kind::Dir { node, identity, files, bytes } => {
                out.hash(node);
                out.hash(identity);
                out.number(*files);
                out.number(*bytes);
            }
            Kind::Symlink(target) => out.blob(target),
            Kind::Fifo | Kind::Socket => {}
            Kind::CharDevice(rdev) | Kind::BlockDevice(rdev) => out.number(*rdev),
            Kind::Opaque { file_type, reason } => {
                out.byte(code(&FILE_TYPES, file_type));
                out.byte(code(&Opaque::ALL, reason));
            }
        }
    }

    pub(crate) fn decode(input: &mut Decoder<'_>) -> Result<Entry> {
        let name = input.blob()?.to_vec();
        Ok(Entry { name, ..Entry::decode_nameless(input)? })
    }

    pub(crate) fn decode_nameless(input: &mut Decoder<'_>) -> Result<Entry> {
        let tag = input.byte()?;
        let mode = u16::try_from(input.number()?).ok().filter(|mode| *mode <= 0o7777);
        let mode = mode.ok_or_else(|| input.bad("a mode has unknown bits"))?;
        let uid = input.u32()?;
        let gid = input.u32()?;
        let mtime = input.time()?;
        let flags = input.byte()?;
        if flags > 15 || flags & 12 == 12 {
            return Err(input.bad("an entry has unknown flags"));
        }
        let xattrs = if flags & 4 != 0 { decode_xattrs(input)? } else { Vec::new() };
        let bit = |at: u8| flags & 1 << at != 0;
        let (immutable, append_only, xattrs_unread) = (bit(0), bit(1), bit(3));
        let meta = Meta { mode, uid, gid, mtime, immutable, append_only, xattrs, xattrs_unread };
        let kind = match tag {
            1 => Kind::File { size: input.number()?, content: Content::Whole(input.hash()?) },
            2 => Kind::File {
                size: input.number()?,
                content: Content::Chunked { hash: input.hash()?, list: input.hash()? },
            },
            3 => Kind::File { size: input.number()?, content: Content::Sparse { list: input.hash()? } },
            4 => Kind::Dir {
                node: input.hash()?,
                identity: input.hash()?,
                files: input.number()?,
                bytes: input.number()?,
            },
            5 => Kind::Symlink(input.blob()?.to_vec()),
            6 => Kind::Fifo,
            7 => Kind::Socket,
            8 => Kind::CharDevice(input.number()?),
            9 => Kind::BlockDevice(input.number()?),
            10 => Kind::Opaque { file_type: uncode(&FILE_TYPES, input)?, reason: uncode(&Opaque::ALL, input)? },
            _ => return Err(input.bad("an entry is of an unknown kind")),
        };
        Ok(Entry { name: Vec::new(), meta, kind })
    }

    /// Adds to `out` what tells this entry from another: all but times, owner, flags and where bytes are.
    pub(crate) fn encode_identity(&self, out: &mut Encoder) {
        out.blob(&self.name);
        out.number(u64::from(self.meta.mode));
        encode_xattrs(&self.meta.xattrs, out);
        match &self.kind {
            Kind::File { size, content } => {
                // Whole and chunked content with the same hash are the same file.
                out.byte(if matches!(content, Content::Sparse { .. }) { 3 } else { 1 });
                out.number(*size);
                out.hash(&content.identity());
            }
            Kind::Dir { identity, .. } => {
                out.byte(4);
                out.hash(identity);
            }
            Kind::Symlink(target) => {
                out.byte(5);
                out.blob(target);
            }
            Kind::CharDevice(rdev) | Kind::BlockDevice(rdev) => {
                out.byte(self.kind.tag());
                out.number(*rdev);
            }
            Kind::Fifo | Kind::Socket | Kind::Opaque { .. } => out.byte(self.kind.tag()),
        }
    }
}

fn code<T: PartialEq>(all: &[T], value: &T) -> u8 {
    all.iter().position(|one| one == value).expect("the table lists every variant") as u8
}

fn uncode<T: Copy>(all: &[T], input: &mut Decoder<'_>) -> Result<T> {
    let code = input.byte()?;
    all.get(usize::from(code)).copied().ok_or_else(|| input.bad("a code is unknown"))
}

fn encode_xattrs(xattrs: &[(Vec<u8>, Vec<u8>)], out: &mut Encoder) {
    out.number(xattrs.len() as u64);
    for (name, value) in xattrs {
        out.blob(name);
        out.blob(value);
    }
}

fn decode_xattrs(input: &mut Decoder<'_>) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let count = input.count()?;
    (0..count).map(|_| Ok((input.blob()?.to_vec(), input.blob()?.to_vec()))).collect()
}

impl Node {
    /// The bytes of the node as one object, under whose hash it is stored unless it is large.
    pub fn encode(&self) -> Vec<u8> {
        pages::encode(&self.entries)
    }

    /// Reads a node and checks that its names are sorted, unique and usable.
    pub fn decode(bytes: &[u8]) -> Result<Node> {
        let mut input = Decoder::new(bytes, "a tree node");
        if input.byte()? != NODE_VERSION {
            return Err(input.bad("its version is unknown"));
        }
        let count = input.count()?;
        let mut entries: Vec<Entry> = Vec::with_capacity(count.min(4096));
        for _ in 0..count {
            let entry = Entry::decode(&mut input)?;
            if !usable(&entry.name) || entries.last().is_some_and(|last| last.name >= entry.name) {
                return Err(input.bad("its names are not sorted or not usable"));
            }
            entries.push(entry);
        }
        input.finish()?;
        Ok(Node { entries })
    }

    /// Calls `each` with what a node's object refers to, its pages or what its entries need, without building the node.
    pub(crate) fn references(bytes: &[u8], each: &mut dyn FnMut(Reference) -> Result<()>) -> Result<()> {
        if Pages::is_list(bytes) {
            return Pages::decode(bytes)?.list.iter().try_for_each(|page| each(Reference::Node(page.key)));
        }
        let mut input = Decoder::new(bytes, "a tree node");
        if input.byte()? != NODE_VERSION {
            return Err(input.bad("its version is unknown"));
        }
        for _ in 0..input.count()? {
            input.blob()?;
            let tag = input.byte()?;
            // Mode, owner, group and time refer to nothing.
            let _ = (input.number()?, input.number()?, input.number()?, input.take(12)?);
            if input.byte()? & 4 != 0 {
                for _ in 0..input.count()? {
                    let _ = (input.blob()?, input.blob()?);
                }
            }
            match tag {
                1 => {
                    let (size, key) = (input.number()?, input.hash()?);
                    if size > 0 {
                        each(Reference::Content(key))?;
                    }
                }
                2 => {
                    let (size, _, list) = (input.number()?, input.take(32)?, input.hash()?);
                    each(Reference::Segments { list, size })?;
                }
                3 => each(Reference::Segments { size: input.number()?, list: input.hash()? })?,
                4 => {
                    each(Reference::Node(input.hash()?))?;
                    let _ = (input.take(32)?, input.number()?, input.number()?);
                }
                5 => {
                    input.blob()?;
                }
                6 | 7 => {}
                8 | 9 => {
                    input.number()?;
                }
                10 => {
                    input.take(2)?;
                }
                _ => return Err(input.bad("an entry is of an unknown kind")),
            }
        }
        input.finish()
    }

    /// The hash of what the directory holds, whenever and by whomever it was made.
    pub fn identity(&self, algorithm: Algorithm) -> Hash {
        let mut out = Encoder::default();
        out.bytes.reserve(self.entries.len() * pages::ENTRY_BYTES_GUESS);
        out.bytes.extend_from_slice(b"belay node 1\0");
        self.entries.iter().filter(|entry| !entry.is_opaque()).for_each(|entry| entry.encode_identity(&mut out));
        algorithm.hash(&out.bytes)
    }

    /// The entry of that name.
    pub fn get(&self, name: &[u8]) -> Option<&Entry> {
        self.find(name).ok().map(|at| &self.entries[at])
    }

    /// Where the entry of that name is, or where it would be.
    pub fn find(&self, name: &[u8]) -> std::result::Result<usize, usize> {
        self.entries.binary_search_by(|entry| entry.name.as_slice().cmp(name))
    }

    /// How many files are beneath the directory, and how many bytes are in them.
    pub fn totals(&self) -> (u64, u64) {
        self.entries.iter().fold((0, 0), |(files, bytes), entry| match entry.kind {
            Kind::Dir { files: f, bytes: b, .. } => (files + f, bytes + b),
            Kind::File { size, .. } => (files + 1, bytes + size),
            Kind::Opaque { .. } => (files, bytes),
            _ => (files + 1, bytes),
        })
    }
}

/// An object that an entry needs.
pub(crate) enum Reference {
    /// The node of a directory, or a page of one.
    Node(Hash),
    /// All bytes of a file.
    Content(Hash),
    /// The list of a file's segments.
    Segments {
        /// The list's key.
        list: Hash,
        /// The file's length.
        size: u64,
    },
}

/// Whether a name may stand in a node: anything a filesystem accepts, and nothing that leaves its directory.
fn usable(name: &[u8]) -> bool {
    !name.is_empty() && name != b"." && name != b".." && !name.contains(&b'/') && !name.contains(&0)
}

/// Nodes from the store, and in front of it those of a preview that was never written.
#[derive(Clone, Copy)]
pub struct View<'a> {
    store: &'a Store,
    unwritten: Option<&'a HashMap<Hash, Arc<Node>>>,
}

impl<'a> View<'a> {
    /// The nodes of the store alone.
    pub fn stored(store: &'a Store) -> Self {
        View { store, unwritten: None }
    }

    /// The nodes of a preview before those of the store.
    pub fn with_unwritten(store: &'a Store, unwritten: &'a HashMap<Hash, Arc<Node>>) -> Self {
        View { store, unwritten: Some(unwritten) }
    }

    /// The store behind the view.
    pub fn store(&self) -> &'a Store {
        self.store
    }

    /// The node of that key.
    pub fn node(&self, key: &Hash) -> Result<Arc<Node>> {
        match self.unwritten.and_then(|nodes| nodes.get(key)) {
            Some(node) => Ok(Arc::clone(node)),
            None => self.store.node(key),
        }
    }

    /// Both directories without the pages that they share, and so with every entry in which they differ.
    pub(crate) fn apart(&self, key: &Hash, other: View<'_>, other_key: &Hash) -> Result<(Arc<Node>, Arc<Node>)> {
        let (Some(Shape::Pages(ours)), Some(Shape::Pages(theirs))) = (self.shape(key)?, other.shape(other_key)?) else {
            return Ok((self.node(key)?, other.node(other_key)?));
        };
        let (ours, theirs) = ours.apart(&theirs);
        Ok((Arc::new(self.store.join(&ours)?), Arc::new(other.store.join(&theirs)?)))
    }

    /// How the store holds the node; `None` if only a preview has it.
    fn shape(&self, key: &Hash) -> Result<Option<Shape>> {
        match self.unwritten.is_some_and(|nodes| nodes.contains_key(key)) {
            true => Ok(None),
            false => self.store.shape(key).map(Some),
        }
    }

    /// The entry at `path` beneath `root`, if the tree has it; the empty path is `root` itself.
    pub fn lookup(&self, root: &Entry, path: &[u8]) -> Result<Option<Entry>> {
        let mut here = root.clone();
        for name in path.split(|b| *b == b'/').filter(|name| !name.is_empty()) {
            let Kind::Dir { node, .. } = &here.kind else { return Ok(None) };
            match self.node(node)?.get(name) {
                Some(entry) => here = entry.clone(),
                None => return Ok(None),
            }
        }
        Ok(Some(here))
    }

    /// The segments of a file, with one for a file that is a single object and none for an empty one.
    pub fn segments(&self, size: u64, content: &Content) -> Result<Vec<Segment>> {
        match content {
            _ if size == 0 => Ok(Vec::new()),
            Content::Whole(key) => Ok(vec![Segment::Data { key: *key, len: size }]),
            Content::Chunked { list, .. } | Content::Sparse { list } => {
                Segment::decode_list(&self.store.read(list)?, size)
            }
        }
    }

    /// All bytes of a file that is expected to fit in memory.
    pub fn bytes(&self, size: u64, content: &Content) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        for segment in self.segments(size, content)? {
            match segment {
                Segment::Data { key, len } => {
                    let bytes = self.store.read_alone(&key)?;
                    if bytes.len() as u64 != len {
                        return Err(Error::corrupt(format!("object {key}"), "its length is not what the tree says"));
                    }
                    out.extend_from_slice(&bytes);
                }
                Segment::Hole { len } => out.resize(out.len() + len as usize, 0),
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests;
