//! Paths through time: where a path is found, and how it is erased from what was stored.
//!
//! A forgotten path stays in its snapshot as something seen and not captured. Were it simply gone, a rollback to that
//! snapshot would delete the live file.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::diff::Scope;
use crate::error::{Error, Result};
use crate::hash::{Algorithm, Hash};
use crate::manifest::{Counts, Coverage, Gap, GapKind, Links, Manifest};
use crate::objects::{ObjectKind, Store, Worker};
use crate::tree::{Content, Entry, Kind, Meta, Node, Opaque, Segment, View};

/// Calls `each` for every captured path of a snapshot that `matches`, parents before children, in the order of names.
pub fn find_path(
    store: &Store,
    snapshot: &Hash,
    matches: &dyn Fn(&[u8]) -> bool,
    each: &mut dyn FnMut(&[u8], &Entry) -> Result<()>,
) -> Result<()> {
    let manifest = Manifest::read(store, snapshot)?;
    walk(store, &manifest.root, &mut |path, entry| if matches(path) { each(path, entry) } else { Ok(()) })
}

/// Calls `each` for everything captured beneath a directory, with paths that begin there.
fn walk(store: &Store, top: &Entry, each: &mut dyn FnMut(&[u8], &Entry) -> Result<()>) -> Result<()> {
    let open = |entry: &Entry| -> Result<Option<Arc<Node>>> {
        match &entry.kind {
            Kind::Dir { node, .. } => store.node(node).map(Some),
            _ => Ok(None),
        }
    };
    let mut path = Vec::new();
    let mut stack: Vec<(Arc<Node>, usize, usize)> = open(top)?.into_iter().map(|node| (node, 0, 0)).collect();
    while let Some((node, at, len)) = stack.last_mut() {
        path.truncate(*len);
        let node = Arc::clone(node);
        let Some(entry) = node.entries.get(*at) else {
            stack.pop();
            continue;
        };
        *at += 1;
        if entry.is_opaque() {
            continue;
        }
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(&entry.name);
        each(&path, entry)?;
        stack.extend(open(entry)?.map(|node| (node, 0, path.len())));
    }
    Ok(())
}

/// A snapshot without certain paths.
#[derive(Clone, Debug)]
pub struct Forgotten {
    /// The key of the snapshot without them.
    pub key: Hash,
    /// The identity of that snapshot.
    pub identity: Hash,
    /// The content objects that the paths had.
    pub objects: Vec<Hash>,
}

/// Writes a snapshot anew without what the paths, and everything beneath them, held; `None` if it holds none of them.
pub fn forget(store: &Store, worker: &mut Worker<'_>, snapshot: &Hash, paths: &[Vec<u8>]) -> Result<Option<Forgotten>> {
    let scope = Scope::new(paths.to_vec());
    if scope.is_everything() {
        return Err(Error::Invalid("the whole workspace cannot be forgotten, only paths in it".to_string()));
    }
    let old = Manifest::read(store, snapshot)?;
    let mut edit = Editor::new(store);
    let mut objects = BTreeSet::new();
    let mut forgotten = Vec::new();
    let mut shortest_first = scope.paths().to_vec();
    shortest_first.sort_by_key(Vec::len);
    // What lies beneath a forgotten directory is hidden with it, and not looked for again.
    for path in &shortest_first {
        if let Some(entry) = edit.hide(&old.root, path)? {
            content_of(store, &entry, &mut objects)?;
            walk(store, &entry, &mut |_, entry| content_of(store, entry, &mut objects))?;
            forgotten.push(path.clone());
        }
    }
    if forgotten.is_empty() {
        return Ok(None);
    }
    let root = edit.write(worker, &old.root)?;
    let manifest = without(store, worker, &old, root, &forgotten)?;
    let (key, _) = worker.put(ObjectKind::Tree, &manifest.encode())?;
    Ok(Some(Forgotten { key, identity: manifest.identity, objects: objects.into_iter().collect() }))
}

/// A snapshot in which some paths have another mode; those that it does not have stay away.
pub fn with_modes(
    store: &Store,
    worker: &mut Worker<'_>,
    snapshot: &Manifest,
    modes: &[(Vec<u8>, u16)],
) -> Result<(Hash, Manifest)> {
    let mut edit = Editor::new(store);
    edit.open(b"", &snapshot.root)?;
    for (path, mode) in modes {
        if let Some(mut entry) = View::stored(store).lookup(&snapshot.root, path)? {
            entry.meta.mode = *mode;
            edit.set(&snapshot.root, path, Some(&entry))?;
        }
    }
    let root = edit.write(worker, &snapshot.root)?;
    let identity = Manifest::identity_of(store.algorithm(), &root, snapshot.links.as_ref());
    let manifest = Manifest { root, identity, ..snapshot.clone() };
    let (key, _) = worker.put(ObjectKind::Tree, &manifest.encode())?;
    Ok((key, manifest))
}

/// The manifest of a changed root, with links and coverage that no longer know the forgotten paths.
fn without(
    store: &Store,
    worker: &mut Worker<'_>,
    old: &Manifest,
    root: Entry,
    forgotten: &[Vec<u8>],
) -> Result<Manifest> {
    let scope = Scope::new(forgotten.to_vec());
    let mut groups = old.links(store)?.groups;
    groups.iter_mut().for_each(|group| group.retain(|path| !scope.contains(path)));
    let links = Links::normalised(groups);
    let links = match links.groups.is_empty() {
        true => None,
        false => Some(worker.put(ObjectKind::Tree, &links.encode())?.0),
    };
    let mut gaps = old.coverage(store)?.gaps;
    gaps.retain(|gap| !scope.contains(&gap.path));
    let gap = |path: &Vec<u8>| Gap { path: path.clone(), kind: GapKind::Excluded, detail: "forgotten".to_string() };
    gaps.extend(forgotten.iter().map(gap));
    gaps.sort();
    let suffered = gaps.iter().filter(|gap| !gap.kind.is_wanted()).count() as u64;
    let (coverage, _) = worker.put(ObjectKind::Tree, &Coverage { gaps }.encode())?;
    let counts = match root.kind {
        Kind::Dir { files, bytes, .. } => Counts { files, bytes, gaps: suffered },
        _ => unreachable!("a rewritten root is still a directory"),
    };
    let identity = Manifest::identity_of(store.algorithm(), &root, links.as_ref());
    Ok(Manifest { root, identity, links, filter: old.filter, coverage, counts })
}

/// Adds the objects that hold a file's bytes.
pub(crate) fn content_of(store: &Store, entry: &Entry, objects: &mut BTreeSet<Hash>) -> Result<()> {
    let Kind::File { size: size @ 1.., content } = &entry.kind else { return Ok(()) };
    if let Content::Chunked { list, .. } | Content::Sparse { list } = content {
        objects.insert(*list);
    }
    for segment in View::stored(store).segments(*size, content)? {
        if let Segment::Data { key, .. } = segment {
            objects.insert(key);
        }
    }
    Ok(())
}

/// The directories of a tree that are being changed, by their paths.
pub(crate) struct Editor<'a> {
    store: &'a Store,
    nodes: HashMap<Vec<u8>, Node>,
    root: Option<Meta>,
}

impl<'a> Editor<'a> {
    pub(crate) fn new(store: &'a Store) -> Editor<'a> {
        Editor { store, nodes: HashMap::new(), root: None }
    }

    /// Puts an entry at `path`, or removes what is there; parents are set before what is beneath them.
    pub(crate) fn set(&mut self, root: &Entry, path: &[u8], entry: Option<&Entry>) -> Result<()> {
        if path.is_empty() {
            self.root = entry.map(|entry| entry.meta.clone());
            return self.open(b"", root).map(drop);
        }
        let mut here = root.clone();
        let mut dir = Vec::new();
        for name in parent(path).split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            let found = self.open(&dir, &here)?.and_then(|node| node.get(name));
            // What lies in a directory that went is gone with it.
            let Some(entry) = found else { return Ok(()) };
            here = entry.clone();
            dir = join(&dir, name);
        }
        if self.open(&dir, &here)?.is_none() {
            return Ok(());
        }
        let node = self.nodes.get_mut(&dir).expect("it was just opened");
        let name = path.rsplit(|byte| *byte == b'/').next().expect("a split yields at least one part");
        match (node.find(name), entry) {
            (Ok(at), Some(entry)) => node.entries[at] = entry.clone(),
            (Err(at), Some(entry)) => node.entries.insert(at, entry.clone()),
            (Ok(at), None) => drop(node.entries.remove(at)),
            (Err(_), None) => {}
        }
        let is_empty = |entry: &&Entry| entry.kind == Kind::empty_dir(self.store.algorithm());
        if entry.filter(is_empty).is_some() {
            self.nodes.insert(path.to_vec(), Node::default());
        }
        Ok(())
    }

    /// Makes the entry at `path` opaque; returns what it was, if it was captured.
    fn hide(&mut self, root: &Entry, path: &[u8]) -> Result<Option<Entry>> {
        let mut here = root.clone();
        let mut dir = Vec::new();
        for name in path.split(|byte| *byte == b'/') {
            let Some(node) = self.open(&dir, &here)? else { return Ok(None) };
            let Some(entry) = node.get(name) else { return Ok(None) };
            here = entry.clone();
            dir = join(&dir, name);
        }
        if here.is_opaque() {
            return Ok(None);
        }
        let node = self.nodes.get_mut(parent(&dir)).expect("it was opened on the way");
        let at = node.find(&here.name).expect("it was found on the way");
        let file_type = here.kind.file_type();
        node.entries[at].kind = Kind::Opaque { file_type, reason: Opaque::Excluded };
        node.entries[at].meta.xattrs.clear();
        Ok(Some(here))
    }

    fn open(&mut self, dir: &[u8], entry: &Entry) -> Result<Option<&Node>> {
        let Kind::Dir { node, .. } = &entry.kind else { return Ok(None) };
        if !self.nodes.contains_key(dir) {
            let node = Node::clone(&*self.store.node(node)?);
            self.nodes.insert(dir.to_vec(), node);
        }
        Ok(self.nodes.get(dir))
    }

    /// Writes the changed directories, the deepest first, and returns the root's new entry.
    pub(crate) fn write(mut self, worker: &mut Worker<'_>, root: &Entry) -> Result<Entry> {
        let mut dirs: Vec<Vec<u8>> = self.nodes.keys().cloned().collect();
        dirs.sort_by_key(|dir| std::cmp::Reverse(dir.len()));
        for dir in dirs {
            let node = self.nodes.remove(&dir).expect("each directory is written once");
            let kind = dir_kind(&node, worker, self.store.algorithm())?;
            if dir.is_empty() {
                let meta = self.root.unwrap_or_else(|| root.meta.clone());
                return Ok(Entry { kind, meta, ..root.clone() });
            }
            let above = self.nodes.get_mut(parent(&dir)).expect("a directory is opened through the one above it");
            let name = dir.rsplit(|byte| *byte == b'/').next().expect("a split yields at least one part");
            let at = above.find(name).expect("a directory is opened through its entry");
            above.entries[at].kind = kind;
        }
        unreachable!("the root is opened first and has the shortest path")
    }
}

fn dir_kind(node: &Node, worker: &mut Worker<'_>, algorithm: Algorithm) -> Result<Kind> {
    let (files, bytes) = node.totals();
    let key = node.store(&mut |bytes| worker.put(ObjectKind::Tree, bytes).map(|(key, _)| key))?;
    Ok(Kind::Dir { node: key, identity: node.identity(algorithm), files, bytes })
}

fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    if dir.is_empty() { name.to_vec() } else { [dir, b"/", name].concat() }
}

fn parent(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(&[], |slash| &path[..slash])
}

#[cfg(test)]
mod tests;
