//! Trees made by hand in a store of their own, for tests of what reads trees.

#![cfg(test)]

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::disk::RealDisk;
use crate::filter::Filter;
use crate::hash::{Algorithm, Hash};
use crate::manifest::{Counts, Coverage, Links, Manifest};
use crate::objects::{ObjectKind, Store, Worker};
use crate::tree::{Content, Entry, Kind, Meta, Node, Opaque, Segment};
use belay_sys::FileType;

/// What a path of a planted tree is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Thing {
    Dir,
    File(Vec<u8>),
    Chunked(Vec<Vec<u8>>),
    Symlink(Vec<u8>),
    Opaque(Opaque),
}

/// A path of a planted tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub(crate) meta: Meta,
    pub(crate) thing: Thing,
}

impl From<Thing> for Leaf {
    fn from(thing: Thing) -> Leaf {
        Leaf { meta: Meta { mode: 0o644, ..Meta::default() }, thing }
    }
}

/// Paths and what they are; directories on the way need not be named.
pub(crate) type Plants = BTreeMap<Vec<u8>, Leaf>;

/// Files with their text.
pub(crate) fn files(list: &[(&str, &str)]) -> Plants {
    list.iter().map(|(path, text)| (path.as_bytes().to_vec(), Thing::File(text.as_bytes().to_vec()).into())).collect()
}

/// A store in a directory that goes away with it.
pub(crate) struct Garden {
    pub(crate) store: Store,
    pub(crate) dir: tempfile::TempDir,
}

impl Garden {
    pub(crate) fn new() -> Garden {
        let dir = tempfile::tempdir().unwrap();
        let store = Garden::open(&dir);
        Garden { store, dir }
    }

    pub(crate) fn open(dir: &tempfile::TempDir) -> Store {
        Store::open(Arc::new(RealDisk::open(dir.path()).unwrap()), Algorithm::Blake3).unwrap()
    }

    pub(crate) fn plant(&self, plants: &Plants) -> (Hash, Manifest) {
        self.plant_with(plants, &Links::default(), &Coverage::default())
    }

    pub(crate) fn plant_with(&self, plants: &Plants, links: &Links, coverage: &Coverage) -> (Hash, Manifest) {
        let batch = self.store.begin().unwrap();
        let mut worker = batch.worker();
        let root = root_entry(&mut worker, plants);
        let mut put = |bytes: &[u8]| worker.put(ObjectKind::Tree, bytes).unwrap().0;
        let links = (!links.groups.is_empty()).then(|| put(&links.encode()));
        let identity = Manifest::identity_of(Algorithm::Blake3, &root, links.as_ref());
        let counts = match root.kind {
            Kind::Dir { files, bytes, .. } => Counts { files, bytes, gaps: 0 },
            _ => Counts::default(),
        };
        let (filter, coverage) = (put(&Filter::default().encode()), put(&coverage.encode()));
        let manifest = Manifest { root, identity, links, filter, coverage, counts };
        let key = put(&manifest.encode());
        worker.done().unwrap();
        batch.finish().unwrap();
        (key, manifest)
    }
}

fn root_entry(worker: &mut Worker<'_>, plants: &Plants) -> Entry {
    let mut all: Plants = plants.clone();
    for path in plants.keys() {
        for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            all.entry(path[..at].to_vec()).or_insert_with(|| Thing::Dir.into());
        }
    }
    all.entry(Vec::new()).or_insert_with(|| Thing::Dir.into());
    let mut inside: HashMap<Vec<u8>, Vec<Entry>> = HashMap::new();
    // Backwards every path comes before its directory.
    for (path, leaf) in all.iter().rev() {
        let slash = path.iter().rposition(|byte| *byte == b'/');
        let name = path[slash.map_or(0, |at| at + 1)..].to_vec();
        let kind = kind(worker, leaf, inside.remove(path).unwrap_or_default());
        let entry = Entry { name, meta: leaf.meta.clone(), kind };
        if path.is_empty() {
            return entry;
        }
        inside.entry(path[..slash.unwrap_or(0)].to_vec()).or_default().push(entry);
    }
    unreachable!("the empty path is among them and comes last")
}

fn kind(worker: &mut Worker<'_>, leaf: &Leaf, mut entries: Vec<Entry>) -> Kind {
    let content = |worker: &mut Worker<'_>, bytes: &[u8]| worker.put(ObjectKind::Content, bytes).unwrap().0;
    match &leaf.thing {
        Thing::Dir => {
            entries.sort_by(|a, b| a.name.cmp(&b.name));
            let node = Node { entries };
            let (files, bytes) = node.totals();
            let identity = node.identity(Algorithm::Blake3);
            let node = node.store(&mut |bytes| worker.put(ObjectKind::Tree, bytes).map(|(key, _)| key)).unwrap();
            Kind::Dir { node, identity, files, bytes }
        }
        Thing::File(bytes) => {
            let hash = match bytes.is_empty() {
                true => Algorithm::Blake3.hash(b""),
                false => content(worker, bytes),
            };
            Kind::File { size: bytes.len() as u64, content: Content::Whole(hash) }
        }
        Thing::Chunked(chunks) => {
            let data = |chunk: &Vec<u8>| (content(worker, chunk), chunk.len() as u64);
            let segments: Vec<_> = chunks.iter().map(data).map(|(key, len)| Segment::Data { key, len }).collect();
            let list = worker.put(ObjectKind::Tree, &Segment::encode_list(&segments)).unwrap().0;
            let all = chunks.concat();
            let hash = Algorithm::Blake3.hash(&all);
            Kind::File { size: all.len() as u64, content: Content::Chunked { hash, list } }
        }
        Thing::Symlink(text) => Kind::Symlink(text.clone()),
        Thing::Opaque(reason) => Kind::Opaque { file_type: FileType::Dir, reason: *reason },
    }
}
