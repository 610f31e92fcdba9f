//! Puts lost directories together again, although the workspace has changed since.
//!
//! What a directory held is guessed at, name by name: from the same directory in other snapshots and in the present, from what the stat cache
//! saw when the snapshot was taken, and from objects that no directory leads to any more. A guess counts only if the node that it makes
//! has the very hash that is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use belay_sys::FileType;

use crate::error::Result;
use crate::hash::Hash;
use crate::manifest::{Counts, Manifest};
use crate::objects::{KeySet, ObjectKind, Store};
use crate::pack::Pack;
use crate::statcache::{Cache, EntryStat, EntryView, Record, flags};
use crate::tree::{Content, Entry, Kind, Meta, Node, Reference, Segment, View};

/// Guesses at one directory; more would take minutes.
const GUESSES_MAX: usize = 1 << 16;
/// The same directory in so many other trees.
const TWINS_MAX: usize = 16;
/// Objects that nothing leads to, of each kind; where there are more, what was collected late is among them.
const LOOSE_MAX: usize = 256;

/// Stores an object and returns its key.
type Put<'a> = dyn FnMut(&[u8]) -> Result<Hash> + 'a;

/// Where guesses come from.
pub(super) struct Sources<'a> {
    pub(super) store: &'a Store,
    /// All snapshots; what is lost is lost in them.
    pub(super) snapshots: &'a [Hash],
    /// Trees of workspaces as they are now.
    pub(super) present: &'a [Hash],
    /// The names of stat caches.
    pub(super) caches: &'a [String],
}

/// A directory whose node cannot be read.
struct Lost {
    snapshot: Hash,
    path: Vec<u8>,
    key: Hash,
    identity: Hash,
    totals: (u64, u64),
}

/// What no readable directory leads to.
#[derive(Default)]
struct Loose {
    nodes: Vec<Kind>,
    /// Key and length.
    contents: Vec<(Hash, u64)>,
}

impl Sources<'_> {
    /// Stores every directory anew that can be told; one that is found may show others beneath it that are lost, too.
    pub(super) fn rebuild(&self) -> Result<()> {
        self.rebuild_manifests()?;
        loop {
            let lost = self.lost();
            if lost.is_empty() {
                return Ok(());
            }
            let loose = self.loose()?;
            let mut found = false;
            for dir in &lost {
                if let Some(node) = self.guess(dir, &loose) {
                    self.put(&node)?;
                    found = true;
                }
            }
            if !found {
                return Ok(());
            }
        }
    }

    fn put(&self, node: &Node) -> Result<()> {
        self.put_objects(&|put| node.store(put).map(drop))
    }

    fn put_objects(&self, put_all: &dyn Fn(&mut Put<'_>) -> Result<()>) -> Result<()> {
        let batch = self.store.begin()?;
        let mut worker = batch.worker();
        put_all(&mut |bytes| worker.put(ObjectKind::Tree, bytes).map(|(key, _)| key))?;
        worker.done()?;
        batch.finish().map(drop)
    }

    /// Stores the manifests anew of those snapshots that a stat cache describes, or of whose tree another copy is left.
    fn rebuild_manifests(&self) -> Result<()> {
        let is_lost = |key: &&Hash| Manifest::read(self.store, key).is_err();
        for key in self.snapshots.iter().filter(is_lost) {
            if let Some(manifest) = self.guess_manifest(key) {
                self.put_objects(&|put| put(&manifest.encode()).map(drop))?;
            }
        }
        Ok(())
    }

    fn guess_manifest(&self, key: &Hash) -> Option<Manifest> {
        let others = self.present.iter().chain(self.snapshots).filter_map(|key| Manifest::read(self.store, key).ok());
        let others: Vec<Manifest> = others.take(TWINS_MAX).collect();
        let parts: Vec<&Manifest> = others.iter().collect();
        for root in self.guess_roots(key, &others) {
            let Kind::Dir { files, bytes, .. } = root.kind else { continue };
            for (links, other) in parts.iter().flat_map(|links| parts.iter().map(move |other| (links.links, other))) {
                let identity = Manifest::identity_of(self.store.algorithm(), &root, links.as_ref());
                let counts = Counts { files, bytes, gaps: other.counts.gaps };
                let (filter, coverage) = (other.filter, other.coverage);
                let guess = Manifest { root: root.clone(), identity, links, filter, coverage, counts };
                if guess.key(self.store) == *key {
                    return Some(guess);
                }
            }
        }
        None
    }

    /// What the top of a snapshot may have been: as a stat cache saw it, and as trees are that are left, with the mode, owner
    /// and time of each of them, because a native copy has a top of its own.
    fn guess_roots(&self, key: &Hash, others: &[Manifest]) -> Vec<Entry> {
        let cached = self.cache_of(key).and_then(|cache| {
            let bytes = cache.find(b"")?;
            let record = Record::parse(&bytes)?;
            Some((kind_of(&record), Some(record.dir().mtime)))
        });
        let left = others.iter().take(self.present.len()).map(|one| (one.root.kind.clone(), None));
        let mut roots = Vec::new();
        for (kind, mtime) in cached.into_iter().chain(left) {
            roots.extend(others.iter().map(|one| {
                let meta = Meta { mtime: mtime.unwrap_or(one.root.meta.mtime), ..one.root.meta.clone() };
                Entry { meta, kind: kind.clone(), ..one.root.clone() }
            }));
        }
        roots
    }

    fn cache_of(&self, snapshot: &Hash) -> Option<Cache> {
        let open = |name: &String| Cache::open(self.store.disk().as_ref(), name, false);
        self.caches.iter().filter_map(open).find(|cache| cache.describes == *snapshot)
    }

    /// The topmost directories that cannot be read, each once.
    fn lost(&self) -> Vec<Lost> {
        let mut seen = KeySet::default();
        let mut lost = Vec::new();
        for snapshot in self.snapshots {
            let Ok(manifest) = Manifest::read(self.store, snapshot) else { continue };
            let mut dirs = vec![(Vec::new(), manifest.root.kind)];
            while let Some((path, kind)) = dirs.pop() {
                let Kind::Dir { node: key, identity, files, bytes } = kind else { continue };
                if !seen.insert(key) {
                    continue;
                }
                match self.store.node(&key) {
                    Ok(node) => {
                        dirs.extend(node.entries.iter().map(|entry| (join(&path, &entry.name), entry.kind.clone())))
                    }
                    Err(_) => lost.push(Lost { snapshot: *snapshot, path, key, identity, totals: (files, bytes) }),
                }
            }
        }
        lost
    }

    /// The objects that nothing readable leads to.
    fn loose(&self) -> Result<Loose> {
        let mut led_to = KeySet::default();
        let (mut nodes, mut contents) = (Vec::new(), Vec::new());
        for pack in self.store.reload()?.iter() {
            self.look_through(pack, &mut led_to, &mut nodes, &mut contents);
        }
        for manifest in self.snapshots.iter().chain(self.present).filter_map(|key| Manifest::read(self.store, key).ok())
        {
            led_to.insert(manifest.root_node());
        }
        nodes.retain(|(key, _)| !led_to.contains(key));
        contents.retain(|(key, _)| !led_to.contains(key));
        let bounded = |count: usize| count <= LOOSE_MAX;
        Ok(Loose {
            nodes: if bounded(nodes.len()) { nodes.into_iter().map(|(_, kind)| kind).collect() } else { Vec::new() },
            contents: if bounded(contents.len()) { contents } else { Vec::new() },
        })
    }

    fn look_through(
        &self,
        pack: &Arc<Pack>,
        led_to: &mut KeySet,
        nodes: &mut Vec<(Hash, Kind)>,
        contents: &mut Vec<(Hash, u64)>,
    ) {
        // What cannot be read offers nothing.
        let (Ok(blocks), Ok(objects)) = (pack.blocks(), pack.objects()) else { return };
        for (key, place) in objects {
            if !blocks.get(place.block as usize).is_some_and(|block| block.tree) {
                contents.push((key, place.len.into()));
                continue;
            }
            let Ok(bytes) = self.store.read_at(pack, place, &key) else { continue };
            let told = Node::references(&bytes, &mut |reference| {
                match reference {
                    Reference::Node(key) | Reference::Content(key) => drop(led_to.insert(key)),
                    Reference::Segments { list, size } => {
                        led_to.insert(list);
                        let segments = self.store.read(&list).and_then(|bytes| Segment::decode_list(&bytes, size));
                        for segment in segments.unwrap_or_default() {
                            if let Segment::Data { key, .. } = segment {
                                led_to.insert(key);
                            }
                        }
                    }
                }
                Ok(())
            });
            if told.is_ok()
                && let Ok(node) = self.store.node(&key)
            {
                let (identity, (files, bytes)) = (node.identity(self.store.algorithm()), node.totals());
                nodes.push((key, Kind::Dir { node: key, identity, files, bytes }));
            }
        }
    }

    /// The node of a lost directory, if it can be told.
    fn guess(&self, lost: &Lost, loose: &Loose) -> Option<Node> {
        let twins = self.twins(lost);
        let seen = self.seen(lost);
        let names: BTreeSet<&[u8]> = match &seen {
            Some(seen) => seen.keys().map(Vec::as_slice).collect(),
            None => twins.iter().flat_map(|node| &node.entries).map(|entry| entry.name.as_slice()).collect(),
        };
        let choices: Vec<Vec<Option<Entry>>> = names
            .iter()
            .map(|name| choices(name, &twins, seen.as_ref().and_then(|seen| seen.get(*name)), loose))
            .collect();
        let guesses = choices.iter().try_fold(1usize, |product, list| product.checked_mul(list.len()))?;
        (0..guesses.min(GUESSES_MAX)).find_map(|number| self.try_guess(lost, &choices, number))
    }

    fn try_guess(&self, lost: &Lost, choices: &[Vec<Option<Entry>>], number: usize) -> Option<Node> {
        let mut rest = number;
        let chosen = choices.iter().filter_map(|list| {
            let at = rest % list.len();
            rest /= list.len();
            list[at].as_ref()
        });
        // Most guesses fail here, before anything is hashed.
        let node = Node { entries: chosen.cloned().collect() };
        if node.totals() != lost.totals || node.identity(self.store.algorithm()) != lost.identity {
            return None;
        }
        let key = node.store(&mut |bytes| Ok(self.store.algorithm().hash(bytes))).ok()?;
        (key == lost.key).then_some(node)
    }

    /// The same directory in other trees, the nearest snapshots and the present first.
    fn twins(&self, lost: &Lost) -> Vec<Arc<Node>> {
        let at = self.snapshots.iter().position(|snapshot| *snapshot == lost.snapshot).unwrap_or_default();
        let mut others: Vec<(usize, &Hash)> =
            self.snapshots.iter().enumerate().map(|(number, key)| (number.abs_diff(at), key)).collect();
        others.extend(self.present.iter().map(|key| (1, key)));
        others.sort();
        let mut known = BTreeSet::new();
        let mut twins = Vec::new();
        for (_, key) in others {
            let Ok(manifest) = Manifest::read(self.store, key) else { continue };
            let Ok(Some(entry)) = View::stored(self.store).lookup(&manifest.root, &lost.path) else { continue };
            let Kind::Dir { node, .. } = entry.kind else { continue };
            if known.insert(node)
                && let Ok(node) = self.store.node(&node)
            {
                twins.push(node);
            }
            if twins.len() == TWINS_MAX {
                break;
            }
        }
        twins
    }

    /// What a stat cache saw in the directory when the snapshot was taken.
    fn seen(&self, lost: &Lost) -> Option<BTreeMap<Vec<u8>, Seen>> {
        let cache = self.cache_of(&lost.snapshot)?;
        let bytes = cache.find(&lost.path)?;
        let record = Record::parse(&bytes).filter(|record| record.node() == lost.key)?;
        let seen = |entry: EntryView<'_>| {
            let inside = cache.find(&join(&lost.path, entry.name));
            let dir = inside.as_deref().and_then(Record::parse).map(|record| kind_of(&record));
            let is_dir = entry.file_type == FileType::Dir && entry.flags & flags::OPAQUE == 0;
            (entry.name.to_vec(), Seen { stat: entry.to_stat(), dir: dir.filter(|_| is_dir) })
        };
        Some(record.entries().map(seen).collect())
    }
}

/// What a stat cache saw at a name.
struct Seen {
    stat: EntryStat,
    /// What is known of a directory.
    dir: Option<Kind>,
}

impl Seen {
    /// Whether something may be what was seen.
    fn fits(&self, kind: &Kind) -> bool {
        let is_sized = match kind {
            Kind::File { size, .. } => *size == self.stat.size,
            Kind::Symlink(text) => text.len() as u64 == self.stat.size,
            Kind::Dir { .. } => self.dir.as_ref() == Some(kind),
            _ => true,
        };
        self.is_opaque() || is_sized && kind.file_type() == self.stat.file_type
    }

    fn is_opaque(&self) -> bool {
        self.stat.flags & flags::OPAQUE != 0
    }
}

fn kind_of(record: &Record<'_>) -> Kind {
    let (files, bytes) = record.totals();
    Kind::Dir { node: record.node(), identity: record.identity(), files, bytes }
}

/// What may have been at a name.
fn choices(name: &[u8], twins: &[Arc<Node>], seen: Option<&Seen>, loose: &Loose) -> Vec<Option<Entry>> {
    let mut all: Vec<Option<Entry>> = Vec::new();
    let here: Vec<&Entry> = twins.iter().filter_map(|node| node.get(name)).collect();
    // What has the time and the size that were seen is hardly anything else.
    let is_seen = |seen: &Seen, entry: &Entry| entry.meta.mtime == seen.stat.mtime && seen.fits(&entry.kind);
    if let Some(same) = seen.and_then(|seen| here.iter().find(|entry| is_seen(seen, entry))) {
        return vec![Some((*same).clone())];
    }
    if seen.is_none() && here.len() < twins.len() {
        all.push(None);
    }
    // What is nowhere any more was most likely like its neighbours.
    let neighbours = twins.iter().flat_map(|node| &node.entries).filter(|entry| {
        let is_alike = |seen: &Seen| seen.stat.file_type == entry.kind.file_type();
        here.is_empty() && seen.is_some_and(is_alike)
    });
    let mut likes: Vec<&Entry> = here.clone();
    for neighbour in neighbours {
        let is_known = |like: &&Entry| owner_and_mode(&like.meta) == owner_and_mode(&neighbour.meta);
        if !likes.iter().any(is_known) {
            likes.push(neighbour);
        }
    }
    for like in likes {
        let known = seen.and_then(|seen| seen.dir.clone());
        for kind in std::iter::once(like.kind.clone()).chain(known).chain(loose.like(&like.kind)) {
            if seen.is_some_and(|seen| !seen.fits(&kind)) {
                continue;
            }
            let mtime = seen.filter(|seen| !seen.is_opaque()).map_or(like.meta.mtime, |seen| seen.stat.mtime);
            let choice = Some(Entry { name: name.to_vec(), meta: Meta { mtime, ..like.meta.clone() }, kind });
            if !all.contains(&choice) {
                all.push(choice);
            }
        }
    }
    all
}

fn owner_and_mode(meta: &Meta) -> (u32, u32, u16) {
    (meta.uid, meta.gid, meta.mode)
}

impl Loose {
    /// What may have been in the place of such a thing.
    fn like(&self, kind: &Kind) -> Vec<Kind> {
        let file = |(key, size): &(Hash, u64)| Kind::File { size: *size, content: Content::Whole(*key) };
        match kind {
            Kind::Dir { .. } => self.nodes.clone(),
            Kind::File { .. } => self.contents.iter().map(file).collect(),
            _ => Vec::new(),
        }
    }
}

fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    if dir.is_empty() { name.to_vec() } else { [dir, b"/", name].concat() }
}
