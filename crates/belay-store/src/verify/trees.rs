//! Checks that snapshots have all they need, and names the paths that lack something.
//!
//! A directory without damage beneath it is looked at once, however many snapshots share it.

use std::sync::Arc;

use super::{Findings, VerifyOptions};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::manifest::Manifest;
use crate::objects::{KeySet, PACKS, Store};
use crate::tree::{Content, Entry, Kind, Node, Segment, Shape, View};

pub(super) fn check(store: &Store, snapshots: &[Hash], options: &VerifyOptions<'_>, findings: &mut Findings) {
    let mut trees = Trees {
        store,
        deep: options.deep,
        findings,
        snapshot: Hash([0; 32]),
        hits: 0,
        clean: KeySet::default(),
        joined: KeySet::default(),
    };
    for snapshot in snapshots {
        trees.snapshot = *snapshot;
        trees.snapshot();
    }
}

struct Trees<'a> {
    store: &'a Store,
    deep: bool,
    findings: &'a mut Findings,
    snapshot: Hash,
    /// How often a path was found to lack something.
    hits: u64,
    /// Nodes that are good with all beneath them.
    clean: KeySet,
    /// Lists whose segments make up what their files say.
    joined: KeySet,
}

/// A directory that is being checked, and how far.
struct Level {
    key: Hash,
    node: Arc<Node>,
    at: usize,
    path_len: usize,
    hits: u64,
}

impl Trees<'_> {
    fn snapshot(&mut self) {
        let key = self.snapshot;
        let Some(manifest) = self.get(&key, &[], |store| Manifest::read(store, &key)) else { return };
        self.get(&manifest.filter, &[], |store| manifest.filter(store));
        self.get(&manifest.coverage, &[], |store| manifest.coverage(store));
        if let Some(links) = manifest.links {
            self.get(&links, &[], |store| manifest.links(store));
        }
        self.tree(&manifest.root);
    }

    fn tree(&mut self, root: &Entry) {
        let mut path = Vec::new();
        let mut stack = Vec::new();
        stack.extend(self.open(root, &path));
        while let Some(level) = stack.last_mut() {
            path.truncate(level.path_len);
            let node = Arc::clone(&level.node);
            let Some(entry) = node.entries.get(level.at) else {
                if level.hits == self.hits {
                    self.clean.insert(level.key);
                }
                stack.pop();
                continue;
            };
            level.at += 1;
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(&entry.name);
            match &entry.kind {
                Kind::Dir { .. } => stack.extend(self.open(entry, &path)),
                Kind::File { size: size @ 1.., content } => self.file(*size, content, &path),
                _ => {}
            }
        }
    }

    /// Reads a directory's node and checks it against its entry, unless it is known to be good.
    fn open(&mut self, entry: &Entry, path: &[u8]) -> Option<Level> {
        let Kind::Dir { node: key, identity, files, bytes } = &entry.kind else { return None };
        if self.clean.contains(key) {
            return None;
        }
        let hits = self.hits;
        let node = self.node(key, path)?;
        if node.identity(self.store.algorithm()) != *identity || node.totals() != (*files, *bytes) {
            self.hit(&format!("object {key}"), "its directory says something else about it", None, path);
        }
        Some(Level { key: *key, node, at: 0, path_len: path.len(), hits })
    }

    /// The node of a directory, of whose pages each that is bad is named.
    fn node(&mut self, key: &Hash, path: &[u8]) -> Option<Arc<Node>> {
        let pages = match self.get(key, path, |store| store.shape(key))? {
            Shape::Whole(node) => return Some(node),
            Shape::Pages(pages) => pages,
        };
        let good = pages.list.iter().filter(|page| self.get(&page.key, path, |store| store.join(&[page])).is_some());
        if good.count() < pages.list.len() {
            return None;
        }
        self.get(key, path, |store| store.node(key))
    }

    fn file(&mut self, size: u64, content: &Content, path: &[u8]) {
        match content {
            Content::Whole(key) => self.find(key, size, path),
            Content::Chunked { list, .. } | Content::Sparse { list } => {
                if self.joined.contains(list) {
                    return;
                }
                let hits = self.hits;
                let view = View::stored(self.store);
                let Some(segments) = self.get(list, path, |_| view.segments(size, content)) else { return };
                for segment in &segments {
                    if let Segment::Data { key, len } = segment {
                        self.find(key, *len, path);
                    }
                }
                if self.deep && hits == self.hits {
                    self.join(content, &segments, path);
                }
                if hits == self.hits {
                    self.joined.insert(*list);
                }
            }
        }
    }

    /// Checks that the segments of a file without holes are together what its hash says.
    fn join(&mut self, content: &Content, segments: &[Segment], path: &[u8]) {
        let Content::Chunked { hash, list } = content else { return };
        let mut hasher = self.store.algorithm().hasher();
        for segment in segments {
            let Segment::Data { key, .. } = segment else { continue };
            let Some(bytes) = self.get(key, path, |store| store.read(key)) else { return };
            hasher.update(&bytes);
        }
        if hasher.finish() != *hash {
            self.hit(&format!("object {list}"), "its segments are not the file that it lists", Some(*list), path);
        }
    }

    /// Checks that an object is there, with that length, and is not known to be damaged.
    fn find(&mut self, key: &Hash, len: u64, path: &[u8]) {
        if let Some(damage) = self.findings.bad.get(key).copied() {
            return self.affect(damage, path);
        }
        match self.store.find(key) {
            Ok(Some((_, place))) if u64::from(place.len) == len => {}
            Ok(Some((pack, _))) => self.hit(&pack.name, "an object is not as long as its file says", None, path),
            Ok(None) => self.missing(key, path),
            Err(error) => self.failed(key, &error, path),
        }
    }

    /// What `read` makes of the object; notes why if it cannot be read.
    fn get<T>(&mut self, key: &Hash, path: &[u8], read: impl FnOnce(&Store) -> Result<T>) -> Option<T> {
        if let Some(damage) = self.findings.bad.get(key).copied() {
            self.affect(damage, path);
            return None;
        }
        match read(self.store) {
            Ok(value) => return Some(value),
            Err(Error::Missing(_)) => self.missing(key, path),
            Err(error) => self.failed(key, &error, path),
        }
        None
    }

    fn missing(&mut self, key: &Hash, path: &[u8]) {
        self.hit(PACKS, "objects are missing", Some(*key), path);
    }

    fn failed(&mut self, key: &Hash, error: &Error, path: &[u8]) {
        let damage = self.findings.note_error(&format!("object {key}"), error, [*key]);
        self.affect(damage, path);
    }

    fn hit(&mut self, file: &str, detail: &str, object: Option<Hash>, path: &[u8]) {
        let damage = self.findings.note(file, detail, object);
        self.affect(damage, path);
    }

    fn affect(&mut self, damage: usize, path: &[u8]) {
        self.hits += 1;
        let snapshot = self.snapshot;
        self.findings.affect(damage, &snapshot, path);
    }
}
