//! A tree of the store as objects of git: what git sees of it, or all that git can hold.
//!
//! Bytes are written as they are: no filter is run and no line ending changed. What git has no place for is named.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use belay_store::{AssumeAll, Content, Entry, Filter, Hash, Judge, Kind as EntryKind, Opaque, Rules, Verdict, View};

use super::content::{blob_id, pour};
use super::id::{GitId, Kind};
use super::ids::Ids;
use super::left::{Laid, NotInGit, WhyNotInGit};
use super::nested::commit_of;
use super::objects::{Objects, Pour};
use super::tree::{Mode, TreeEntry, encode_tree, is_repository};
use crate::error::{Error, Result};
use crate::workspace::Work;

/// Git follows no deeper trees.
pub(super) const DEPTH_MAX: usize = 2_000;
/// A larger ignore file is not believed.
const IGNORE_BYTES_MAX: u64 = 1 << 20;

/// How to lay a tree out.
pub(crate) struct Lay<'a> {
    pub(crate) view: View<'a>,
    pub(crate) objects: &'a Objects,
    pub(crate) ids: &'a mut Ids,
    /// What git ignores; none for everything.
    pub(crate) filter: Option<&'a Filter>,
    pub(crate) tracked: &'a BTreeSet<Vec<u8>>,
    pub(crate) bytes_max: u64,
    pub(crate) work: Work<'a>,
}

struct Item {
    mode: Mode,
    id: GitId,
}

/// A directory on the way.
struct Stop {
    path: Vec<u8>,
    node: Hash,
    rules: Option<Arc<Rules>>,
    /// Git ignores it; it is entered for what is tracked all the same.
    ignored: bool,
    depth: usize,
}

/// The tree as it becomes one of git's.
struct Layer<'l, 'a> {
    lay: &'l mut Lay<'a>,
    root: &'l Entry,
    judge: Option<Judge>,
    items: BTreeMap<Vec<u8>, Item>,
    left: Vec<NotInGit>,
    added_bytes: u64,
}

impl Lay<'_> {
    /// Writes whatever of the tree the repository does not have yet.
    pub(crate) fn lay(&mut self, root: &Entry) -> Result<Laid> {
        let judge = self.filter.map(Filter::judge).transpose()?;
        let mut layer = Layer { lay: self, root, judge, items: BTreeMap::new(), left: Vec::new(), added_bytes: 0 };
        layer.walk()?;
        let files = layer.items.len() as u64;
        let tree = layer.trees()?;
        let mut left = layer.left;
        left.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Laid { tree, files, left })
    }
}

impl Layer<'_, '_> {
    fn walk(&mut self) -> Result<()> {
        let EntryKind::Dir { node, .. } = self.root.kind else { unreachable!("a tree's root is a directory") };
        let rules = self.judge.as_ref().map(Judge::rules);
        let mut stops = vec![Stop { path: Vec::new(), node, rules, ignored: false, depth: 0 }];
        while let Some(mut stop) = stops.pop() {
            if self.lay.work.stop.load(Ordering::Relaxed) {
                return Err(belay_store::Error::Interrupted.into());
            }
            let node = self.lay.view.node(&stop.node)?;
            if node.entries.is_empty() && !stop.path.is_empty() {
                self.leave(&stop.path, WhyNotInGit::EmptyDir);
            }
            if let (Some(judge), Some(rules)) = (&self.judge, &stop.rules) {
                let text = ignore_text(self.lay.view, node.get(b".gitignore"))?;
                let texts: Vec<&[u8]> = text.iter().map(Vec::as_slice).collect();
                stop.rules = Some(judge.enter(rules, &stop.path, &texts));
            }
            for entry in &node.entries {
                let path = join(&stop.path, &entry.name);
                if let Some(next) = self.entry(&stop, path, entry)? {
                    stops.push(next);
                }
            }
        }
        Ok(())
    }

    /// Takes an entry, or leaves it; a directory is returned to be entered.
    fn entry(&mut self, stop: &Stop, path: Vec<u8>, entry: &Entry) -> Result<Option<Stop>> {
        let is_dir = matches!(entry.kind, EntryKind::Dir { .. });
        if entry.name == b".git" {
            return Ok(None);
        }
        let ignored = stop.ignored || self.is_ignored(stop, &path, entry, is_dir);
        if ignored && !self.is_tracked(&path, is_dir) {
            if !stop.ignored {
                self.leave(&path, WhyNotInGit::Ignored);
            }
            return Ok(None);
        }
        let is_odd_link = entry.name == b".gitmodules" && matches!(entry.kind, EntryKind::Symlink(_));
        if is_repository(&entry.name) || is_odd_link {
            self.leave(&path, WhyNotInGit::Name);
            return Ok(None);
        }
        self.remark(&path, entry);
        match &entry.kind {
            EntryKind::Dir { .. } if stop.depth >= DEPTH_MAX => self.leave(&path, WhyNotInGit::TooDeep),
            EntryKind::Dir { node, .. } => {
                if let Some(git) = self.lay.view.node(node)?.get(b".git").cloned() {
                    return self.nested(path, *node, entry, &git, ignored, stop);
                }
                let depth = stop.depth + 1;
                return Ok(Some(Stop { path, node: *node, rules: stop.rules.clone(), ignored, depth }));
            }
            EntryKind::File { size, content } => self.file(path, entry, *size, content)?,
            EntryKind::Symlink(text) => {
                let id = self.lay.objects.format().name(Kind::Blob, text).map_err(|_| forged(&path))?;
                self.add(&id, Kind::Blob, text)?;
                self.items.insert(path, Item { mode: Mode::Symlink, id });
            }
            EntryKind::Opaque { reason: Opaque::Regenerable | Opaque::GitIgnored, .. } => {
                self.leave(&path, WhyNotInGit::Regenerable);
            }
            EntryKind::Opaque { .. } => self.leave(&path, WhyNotInGit::NotCaptured),
            EntryKind::Fifo | EntryKind::Socket | EntryKind::CharDevice(_) | EntryKind::BlockDevice(_) => {
                self.leave(&path, WhyNotInGit::Special);
            }
        }
        Ok(None)
    }

    /// A repository inside: git keeps which commit it is at, and nothing of its files.
    fn nested(
        &mut self,
        path: Vec<u8>,
        node: Hash,
        entry: &Entry,
        git: &Entry,
        ignored: bool,
        stop: &Stop,
    ) -> Result<Option<Stop>> {
        match commit_of(self.lay.view, self.root, self.lay.objects.format(), &path, entry, git)? {
            Some(Some(id)) => drop(self.items.insert(path, Item { mode: Mode::Gitlink, id })),
            Some(None) => self.leave(&path, WhyNotInGit::Repository),
            // What only looks like a repository is a directory like any other.
            None => return Ok(Some(Stop { path, node, rules: stop.rules.clone(), ignored, depth: stop.depth + 1 })),
        }
        Ok(None)
    }

    fn is_ignored(&self, stop: &Stop, path: &[u8], entry: &Entry, is_dir: bool) -> bool {
        let is_dir = is_dir || entry.kind.file_type() == belay_store::FileType::Dir;
        let (Some(judge), Some(rules)) = (&self.judge, &stop.rules) else { return false };
        matches!(judge.decide(rules, path, &entry.name, is_dir, &AssumeAll), Verdict::Leave(_))
    }

    fn is_tracked(&self, path: &[u8], is_dir: bool) -> bool {
        if !is_dir {
            return self.lay.tracked.contains(path);
        }
        let inside = [path, b"/"].concat();
        self.lay.tracked.contains(path)
            || self.lay.tracked.range(inside.clone()..).next().is_some_and(|next| next.starts_with(&inside))
    }

    fn file(&mut self, path: Vec<u8>, entry: &Entry, size: u64, content: &Content) -> Result<()> {
        if size > self.lay.bytes_max {
            self.leave(&path, WhyNotInGit::TooLarge);
            return Ok(());
        }
        let mode = if entry.meta.mode & 0o100 != 0 { Mode::Executable } else { Mode::File };
        let Some(id) = blob_id(self.lay.view, self.lay.objects, self.lay.ids, size, content)? else {
            self.leave(&path, WhyNotInGit::Forged);
            return Ok(());
        };
        if !self.lay.objects.has(&id)? {
            self.added_bytes += size;
            if self.added_bytes > self.lay.bytes_max {
                self.leave(&path, WhyNotInGit::TooLarge);
                return Ok(());
            }
            let view = self.lay.view;
            self.lay.objects.add(&id, Kind::Blob, size, &|take| pour(view, size, content, take))?;
        }
        self.lay.work.progress.advance(1, size);
        self.items.insert(path, Item { mode, id });
        Ok(())
    }

    /// Names what of an entry git has no place for.
    fn remark(&mut self, path: &[u8], entry: &Entry) {
        let usual = match entry.kind {
            EntryKind::Dir { .. } => entry.meta.mode & !0o022 == 0o755,
            EntryKind::File { .. } => matches!(entry.meta.mode & !0o022, 0o644 | 0o755),
            _ => return,
        };
        if !usual {
            self.leave(path, WhyNotInGit::Mode);
        }
        if !entry.meta.xattrs.is_empty() {
            self.leave(path, WhyNotInGit::Attributes);
        }
    }

    fn leave(&mut self, path: &[u8], why: WhyNotInGit) {
        self.left.push(NotInGit { path: path.to_vec(), why });
    }

    fn add(&self, id: &GitId, kind: Kind, bytes: &[u8]) -> Result<()> {
        if self.lay.objects.has(id)? {
            return Ok(());
        }
        let pour: &Pour<'_> = &|take| take(bytes).map_err(Error::Output);
        self.lay.objects.add(id, kind, bytes.len() as u64, pour)
    }

    /// The trees above everything that was taken; returns the topmost.
    fn trees(&mut self) -> Result<GitId> {
        let mut dirs: BTreeMap<Vec<u8>, Vec<TreeEntry>> = BTreeMap::from([(Vec::new(), Vec::new())]);
        for (path, item) in std::mem::take(&mut self.items) {
            let (mut dir, name) = split(&path);
            dirs.entry(dir.to_vec()).or_default().push(TreeEntry { name: name.to_vec(), mode: item.mode, id: item.id });
            while !dir.is_empty() {
                dir = split(dir).0;
                dirs.entry(dir.to_vec()).or_default();
            }
        }
        // The last is the deepest of its kind: whatever is beneath a directory comes after it.
        loop {
            let (path, entries) = dirs.pop_last().expect("the top is among them, and comes last");
            let bytes = encode_tree(entries);
            let id = self.lay.objects.format().name(Kind::Tree, &bytes).map_err(|_| forged(&path))?;
            self.add(&id, Kind::Tree, &bytes)?;
            if path.is_empty() {
                return Ok(id);
            }
            let (dir, name) = split(&path);
            let entry = TreeEntry { name: name.to_vec(), mode: Mode::Tree, id };
            dirs.entry(dir.to_vec()).or_default().push(entry);
        }
    }
}

fn forged(path: &[u8]) -> Error {
    let shown = String::from_utf8_lossy(path).escape_debug().to_string();
    Error::Repository { why: format!("{shown} is made to have the SHA-1 of something else") }
}

fn ignore_text(view: View<'_>, entry: Option<&Entry>) -> Result<Option<Vec<u8>>> {
    match entry.map(|entry| &entry.kind) {
        Some(EntryKind::File { size, content }) if *size <= IGNORE_BYTES_MAX => Ok(Some(view.bytes(*size, content)?)),
        _ => Ok(None),
    }
}

pub(super) fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    if dir.is_empty() { name.to_vec() } else { [dir, b"/", name].concat() }
}

pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}
