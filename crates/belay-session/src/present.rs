//! Trees to look at: those of snapshots, and the one that is there now.

use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::{Arc, LazyLock};

use belay_store::{
    Captured, Change, Content, Coverage, Entry, Hash, Kind, Links, Manifest, Moved, Node, Preview, Scope, Segment,
    Sides, Store, Veiled, View, diff, preview, veil,
};

use crate::error::{Error, Result};
use crate::git::{Format, GitId, ObjectKind};
use crate::record::Snapshot;
use crate::snapshot::Look;
use crate::workspace::{Work, Workspace};

/// A tree: a snapshot's, or the present one as a capture would see it.
pub struct Tree {
    /// The snapshot, unless this is the present.
    pub snapshot: Option<Snapshot>,
    source: Source,
    /// How a repository names files, if the tree is compared with one of its own.
    git: Option<Format>,
}

enum Source {
    Stored(Box<Manifest>),
    /// The same without what somebody must not learn of.
    Veiled(Box<Veiled>, Scope),
    Present(Box<Preview>),
    /// One of them with some paths in other places.
    Moved(Box<Elsewhere>),
}

/// A tree whose paths were moved in memory.
struct Elsewhere {
    moved: Moved,
    coverage: Option<Coverage>,
    links: Option<Links>,
    /// Where in the workspace is what the tree has elsewhere.
    lies_at: HashMap<Vec<u8>, Vec<u8>>,
}

impl Tree {
    /// A tree that the store holds, though no snapshot names it.
    pub(crate) fn stored(manifest: Manifest) -> Tree {
        Tree { snapshot: None, source: Source::Stored(Box::new(manifest)), git: None }
    }

    /// The same with paths in other places, and where those lie in the workspace that were moved.
    pub(crate) fn moved(&self, mut moved: Moved, lies_at: HashMap<Vec<u8>, Vec<u8>>) -> Tree {
        let mut elsewhere = |nodes: Option<&HashMap<Hash, Arc<Node>>>, preview: Option<&Preview>| {
            let nodes = nodes.into_iter().flatten();
            moved.nodes.extend(nodes.map(|(key, node)| (*key, Arc::clone(node))));
            let (coverage, links) = (preview.map(|one| one.coverage.clone()), preview.map(|one| one.links.clone()));
            Elsewhere { moved: moved.clone(), coverage, links, lies_at: lies_at.clone() }
        };
        let elsewhere = match &self.source {
            Source::Stored(_) => elsewhere(None, None),
            Source::Veiled(veiled, _) => elsewhere(Some(&veiled.nodes), None),
            Source::Present(preview) => elsewhere(Some(&preview.nodes), Some(preview)),
            Source::Moved(other) => elsewhere(Some(&other.moved.nodes), None),
        };
        Tree { snapshot: self.snapshot.clone(), source: Source::Moved(Box::new(elsewhere)), git: self.git }
    }

    /// The directories of the tree that only memory has.
    pub(crate) fn unwritten(&self) -> &HashMap<Hash, Arc<Node>> {
        static NONE: LazyLock<HashMap<Hash, Arc<Node>>> = LazyLock::new(HashMap::new);
        match &self.source {
            Source::Moved(elsewhere) => &elsewhere.moved.nodes,
            _ => &NONE,
        }
    }

    /// The same, to be compared as the repository does.
    pub(crate) fn named_by(self, git: Format) -> Tree {
        Tree { git: Some(git), ..self }
    }

    /// Whether the tree is compared with one of a repository.
    pub fn is_from_git(&self) -> bool {
        self.git.is_some()
    }

    /// The name that the repository gives to a file with these bytes, if the tree is compared with one of a repository.
    pub fn git_name(&self, bytes: &[u8]) -> Option<GitId> {
        self.git?.name(ObjectKind::Blob, bytes).ok()
    }

    /// The name that a repository gives to a file with these bytes, whether or not there is one.
    pub fn git_name_anyway(&self, bytes: &[u8]) -> Option<GitId> {
        self.git.unwrap_or(Format::Sha1).name(ObjectKind::Blob, bytes).ok()
    }

    /// The tree's root, counts and identity.
    pub fn manifest(&self) -> &Manifest {
        match &self.source {
            Source::Stored(manifest) => manifest,
            Source::Veiled(veiled, _) => &veiled.manifest,
            Source::Present(preview) => &preview.manifest,
            Source::Moved(elsewhere) => &elsewhere.moved.manifest,
        }
    }

    /// The tree's nodes.
    pub fn view<'a>(&'a self, store: &'a Store) -> View<'a> {
        match &self.source {
            Source::Stored(_) => View::stored(store),
            Source::Veiled(veiled, _) => View::with_unwritten(store, &veiled.nodes),
            Source::Present(preview) => preview.view(store),
            Source::Moved(elsewhere) => View::with_unwritten(store, &elsewhere.moved.nodes),
        }
    }

    /// What the tree lacks.
    pub fn coverage(&self, store: &Store) -> Result<Coverage> {
        match &self.source {
            Source::Stored(manifest) => Ok(manifest.coverage(store)?),
            Source::Veiled(veiled, hidden) => {
                let mut coverage = veiled.manifest.coverage(store)?;
                coverage.gaps.retain(|gap| !hidden.contains(&gap.path));
                Ok(coverage)
            }
            Source::Present(preview) => Ok(preview.coverage.clone()),
            Source::Moved(elsewhere) => match &elsewhere.coverage {
                Some(coverage) => Ok(coverage.clone()),
                None => Ok(elsewhere.moved.manifest.coverage(store)?),
            },
        }
    }

    /// The tree's hard links.
    pub(crate) fn links(&self, store: &Store) -> Result<Links> {
        match &self.source {
            Source::Stored(manifest) => Ok(manifest.links(store)?),
            Source::Veiled(veiled, _) => Ok(veiled.manifest.links(store)?),
            Source::Present(preview) => Ok(preview.links.clone()),
            Source::Moved(elsewhere) => match &elsewhere.links {
                Some(links) => Ok(links.clone()),
                None => Ok(elsewhere.moved.manifest.links(store)?),
            },
        }
    }
}

/// The present as the store holds it, which gc leaves alone while this lives.
pub struct Stored {
    /// The tree.
    pub tree: Tree,
    _captured: Captured,
}

impl Stored {
    pub(crate) fn named_by(self, git: Format) -> Stored {
        Stored { tree: self.tree.named_by(git), ..self }
    }
}

impl Workspace<'_> {
    /// The tree that is there now, with all its content in the store.
    pub fn stored(&self, work: Work<'_>) -> Result<Stored> {
        let captured = self.capture(Look::default(), work)?;
        self.remember(&captured);
        Ok(Stored { tree: Tree::stored(captured.manifest.clone()), _captured: captured })
    }

    /// The tree of a snapshot, as far as whoever asks may know of it.
    pub fn tree(&self, snapshot: &Snapshot) -> Result<Tree> {
        self.veiled(self.whole_tree(snapshot)?)
    }

    /// A snapshot as whoever asks may be told of it: hash and counts are of what is not hidden.
    pub fn as_told(&self, snapshot: &Snapshot) -> Result<Snapshot> {
        if !self.hides_something() {
            return Ok(snapshot.clone());
        }
        let tree = self.tree(snapshot)?;
        let Manifest { identity, counts, .. } = tree.manifest();
        Ok(Snapshot { root: *identity, files: counts.files, bytes: counts.bytes, size_delta: 0, ..snapshot.clone() })
    }

    /// A tree without what whoever asks must not learn of.
    pub(crate) fn veiled(&self, tree: Tree) -> Result<Tree> {
        let hidden = self.guard().hidden();
        if hidden.is_empty() {
            return Ok(tree);
        }
        let veiled = veil(tree.view(self.home.store()), tree.manifest(), &hidden)?;
        let hidden = Scope::new(hidden);
        let source = match tree.source {
            Source::Stored(_) | Source::Veiled(..) | Source::Moved(_) => Source::Veiled(Box::new(veiled), hidden),
            Source::Present(mut preview) => {
                preview.nodes.extend(veiled.nodes);
                preview.coverage.gaps.retain(|gap| !hidden.contains(&gap.path));
                Source::Present(Box::new(Preview { manifest: veiled.manifest, ..*preview }))
            }
        };
        Ok(Tree { source, ..tree })
    }

    /// The tree of a snapshot with all that is in it, which is for no eyes.
    pub(crate) fn whole_tree(&self, snapshot: &Snapshot) -> Result<Tree> {
        let damaged = |source| Error::Damaged { snapshot: snapshot.id.clone(), source };
        let manifest = Manifest::read(self.home.store(), &snapshot.manifest).map_err(damaged)?;
        Ok(Tree { snapshot: Some(snapshot.clone()), source: Source::Stored(Box::new(manifest)), git: None })
    }

    /// The tree that is there now; nothing is written.
    pub fn present(&self, work: Work<'_>) -> Result<Tree> {
        self.veiled(self.look(Look::default(), work)?)
    }

    /// The same, looking at no more than what changed since the newest snapshot where its filesystem can be asked;
    /// which has it write everything that it holds in memory, and so is for whoever has the time.
    pub fn present_if_told(&self, work: Work<'_>) -> Result<Tree> {
        let told = if self.eyes().is_none() { self.told_now()? } else { None };
        let dirty = told.as_ref().map(|(base, paths)| (base, paths.as_slice()));
        self.veiled(self.look(Look { dirty, ..Look::default() }, work)?)
    }

    pub(crate) fn look(&self, look: Look<'_>, work: Work<'_>) -> Result<Tree> {
        let watched = self.watched(&look);
        let preview = self.with_options(watched.narrow(look), work, |options| preview(self.home.store(), options))?;
        let key = preview.manifest.key(self.home.store());
        if self.timeline()?.snapshots().iter().any(|snapshot| snapshot.manifest == key) {
            watched.settle(key, preview.manifest.filter, preview.has_links);
        }
        Ok(Tree { snapshot: None, source: Source::Present(Box::new(preview)), git: None })
    }

    /// Every path in `scope` that differs.
    pub fn changes(&self, before: &Tree, after: &Tree, scope: &Scope) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        self.each_change(before, after, scope, &mut |change| changes.push(change))?;
        Ok(changes)
    }

    /// Calls `each` for every path in `scope` that differs, for whoever does not need them all at once.
    pub fn each_change(&self, before: &Tree, after: &Tree, scope: &Scope, each: &mut dyn FnMut(Change)) -> Result<()> {
        let store = self.home.store();
        let sides = Sides {
            before: before.view(store),
            before_root: &before.manifest().root,
            after: after.view(store),
            after_root: &after.manifest().root,
        };
        diff(&sides, scope, &mut |change| {
            each(change);
            Ok(())
        })?;
        Ok(())
    }

    /// The entry at `path`.
    pub fn entry(&self, tree: &Tree, path: &[u8]) -> Result<Option<Entry>> {
        Ok(tree.view(self.home.store()).lookup(&tree.manifest().root, path)?)
    }

    /// The entries directly inside the directory at `path`; for anything else, that alone; none if nothing is there.
    pub fn list(&self, tree: &Tree, path: &[u8]) -> Result<Option<Vec<Entry>>> {
        let Some(entry) = self.entry(tree, path)? else { return Ok(None) };
        match &entry.kind {
            Kind::Dir { node, .. } => Ok(Some(tree.view(self.home.store()).node(node)?.entries.clone())),
            _ => Ok(Some(vec![entry])),
        }
    }

    /// The bytes of a file of the tree, or the text of a symbolic link: from the store or, for a file of the
    /// present that the store does not have, from the workspace.
    pub fn read(&self, tree: &Tree, path: &[u8], entry: &Entry) -> Result<Vec<u8>> {
        match &entry.kind {
            Kind::Symlink(text) => Ok(text.clone()),
            Kind::File { size, content } if tree.snapshot.is_some() || self.is_stored(content)? => {
                Ok(tree.view(self.home.store()).bytes(*size, content)?)
            }
            Kind::File { size, .. } => match &tree.source {
                Source::Moved(elsewhere) => {
                    self.read_live(elsewhere.lies_at.get(path).map_or(path, Vec::as_slice), *size)
                }
                _ => self.read_live(path, *size),
            },
            _ => Ok(Vec::new()),
        }
    }

    fn is_stored(&self, content: &Content) -> Result<bool> {
        let key = match content {
            Content::Whole(key) => key,
            Content::Chunked { list, .. } | Content::Sparse { list } => list,
        };
        Ok(self.home.store().contains(key)?)
    }

    fn read_live(&self, path: &[u8], size: u64) -> Result<Vec<u8>> {
        let (dir, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (&b""[..], path),
        };
        let read = || -> io::Result<Vec<u8>> {
            let file = self.root().dir_path_only(dir)?.open_read(name)?;
            let mut bytes = Vec::new();
            // A file that grew meanwhile is cut where it ended when it was looked at.
            file.take(size).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(|source| {
            Error::Store(belay_store::Error::Workspace { operation: "read", path: path.to_vec(), source })
        })
    }

    /// Hands the bytes of a snapshot's file to `each`, piece by piece; a hole comes as zeros.
    pub fn stream(&self, tree: &Tree, entry: &Entry, each: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<()> {
        let store = self.home.store();
        let Kind::File { size, content } = &entry.kind else { return Ok(()) };
        let zeros = [0; 1 << 16];
        for segment in tree.view(store).segments(*size, content)? {
            match segment {
                Segment::Data { key, .. } => each(&store.read(&key)?).map_err(Error::Output)?,
                Segment::Hole { mut len } => {
                    while len > 0 {
                        let piece = len.min(zeros.len() as u64);
                        each(&zeros[..piece as usize]).map_err(Error::Output)?;
                        len -= piece;
                    }
                }
            }
        }
        Ok(())
    }
}
