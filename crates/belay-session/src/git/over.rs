//! A tree of git, laid over the workspace as it is now, as a tree of the store.
//!
//! Git says which bytes are where and what may be executed. All else (permissions, owners, attributes, times, directories with
//! nothing in them, pipes, repositories inside) it cannot say, and so a restore must not touch: it is taken from the
//! present. What the tree's own ignore files leave out is marked as seen and not captured.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use belay_store::{
    Assembly, AssumeAll, Entry, FileType, Filter, Gap, GapKind, Hash, Judge, Kind as EntryKind, Links, Meta, Opaque,
    Rules, Time, Verdict, View,
};

use super::content::blob_id;
use super::id::{GitId, Kind};
use super::ids::Ids;
use super::lay::{join, split};
use super::objects::Objects;
use super::tree::{Mode, TreeEntry, decode_tree};
use crate::error::Result;
use crate::workspace::Work;

const TREE_BYTES_MAX: u64 = 1 << 28;
const IGNORE_BYTES_MAX: u64 = 1 << 20;
/// Each is a pattern that every path is compared with. Nobody tracks as many files that are ignored.
const FORCED_MAX: usize = 2000;

/// What is laid over what.
pub(crate) struct Over<'a> {
    pub(crate) view: View<'a>,
    pub(crate) objects: &'a Objects,
    pub(crate) ids: &'a mut Ids,
    pub(crate) filter: &'a Filter,
    pub(crate) present: &'a Entry,
    pub(crate) links: &'a Links,
    /// What was there when the commit was made, and is not in it.
    pub(crate) lost: &'a HashSet<Vec<u8>>,
    /// When the commit was made; the time of files that are not there.
    pub(crate) at: Time,
    pub(crate) bytes_max: u64,
    pub(crate) work: Work<'a>,
}

/// A directory on the way: in git, in the present, or both.
struct Stop {
    path: Vec<u8>,
    tree: Option<GitId>,
    present: Option<Entry>,
    rules: Arc<Rules>,
    /// Who owns what is made in it.
    owner: (u32, u32),
    /// Whether ignore files leave it out, though git holds something in it.
    left_out: bool,
}

/// What a tree says of paths, beside what it holds.
#[derive(Default)]
pub(crate) struct Said {
    /// What it leaves out.
    pub(crate) gaps: Vec<Gap>,
    /// What it holds although its ignore files leave it out, each as a pattern: it says of these that they were there.
    pub(crate) forced: Vec<String>,
}

struct Layer<'l, 'a, 'b> {
    over: &'l mut Over<'a>,
    into: &'l mut Assembly<'b>,
    judge: Judge,
    /// Directories that git does not have, and which stay only if something in them does.
    waiting: BTreeMap<Vec<u8>, Meta>,
    /// Paths that are names of one file, by the number of their group.
    groups: HashMap<Vec<u8>, usize>,
    /// The first name that each group was put by.
    first: HashMap<usize, Vec<u8>>,
    said: Said,
}

impl Over<'_> {
    /// Puts the tree of that name into the assembly; returns what else it says.
    pub(crate) fn lay(&mut self, tree: GitId, into: &mut Assembly<'_>) -> Result<Said> {
        let judge = self.filter.judge()?;
        let numbered = self.links.groups.iter().enumerate();
        let groups =
            numbered.flat_map(|(number, group)| group.iter().map(move |path| (path.clone(), number))).collect();
        let (root, rules) = (self.present.clone(), judge.rules());
        let mut layer = Layer {
            over: self,
            into,
            judge,
            waiting: BTreeMap::new(),
            groups,
            first: HashMap::new(),
            said: Said::default(),
        };
        layer.into.put(b"", root.meta.clone(), root.kind.clone())?;
        let owner = (root.meta.uid, root.meta.gid);
        let (path, tree, present) = (Vec::new(), Some(tree), Some(root));
        let mut stops = vec![Stop { path, tree, present, rules, owner, left_out: false }];
        while let Some(stop) = stops.pop() {
            if layer.over.work.stop.load(Ordering::Relaxed) {
                return Err(belay_store::Error::Interrupted.into());
            }
            layer.directory(stop, &mut stops)?;
        }
        Ok(layer.said)
    }
}

impl Layer<'_, '_, '_> {
    fn directory(&mut self, stop: Stop, stops: &mut Vec<Stop>) -> Result<()> {
        let ours = match stop.tree {
            Some(tree) => self.tree(&tree)?,
            None => Vec::new(),
        };
        let theirs = match stop.present.as_ref().map(|entry| &entry.kind) {
            Some(EntryKind::Dir { node, .. }) => self.over.view.node(node)?.entries.clone(),
            _ => Vec::new(),
        };
        let rules = self.enter(&stop, &ours)?;
        let stop = Stop { rules, ..stop };
        let mut present: BTreeMap<Vec<u8>, Entry> =
            theirs.into_iter().map(|entry| (entry.name.clone(), entry)).collect();
        for entry in ours {
            let twin = present.remove(&entry.name);
            stops.extend(self.lay_over(&stop, &entry, twin)?);
        }
        for (_, entry) in present {
            stops.extend(self.only_present(&stop, entry)?);
        }
        Ok(())
    }

    fn tree(&self, id: &GitId) -> Result<Vec<TreeEntry>> {
        let (kind, bytes) = self.over.objects.read(id, TREE_BYTES_MAX)?;
        let entries = (kind == Kind::Tree).then(|| decode_tree(self.over.objects.format(), &bytes)).flatten();
        entries.ok_or_else(|| super::objects::bad(id, "it is no tree, or holds a name that git allows in none"))
    }

    fn enter(&self, stop: &Stop, ours: &[TreeEntry]) -> Result<Arc<Rules>> {
        let file = ours.iter().find(|entry| entry.name == b".gitignore");
        let Some(file) = file.filter(|entry| matches!(entry.mode, Mode::File | Mode::Executable)) else {
            return Ok(Arc::clone(&stop.rules));
        };
        match self.over.objects.read(&file.id, IGNORE_BYTES_MAX) {
            Ok((Kind::Blob, text)) => Ok(self.judge.enter(&stop.rules, &stop.path, &[&text])),
            Ok(_) => Ok(Arc::clone(&stop.rules)),
            Err(error) => Err(error),
        }
    }

    /// Something that the tree holds.
    fn lay_over(&mut self, stop: &Stop, entry: &TreeEntry, twin: Option<Entry>) -> Result<Option<Stop>> {
        let path = join(&stop.path, &entry.name);
        let is_dir = entry.mode == Mode::Tree;
        let verdict = self.judge.decide(&stop.rules, &path, &entry.name, is_dir, &AssumeAll);
        let left_out = stop.left_out || matches!(verdict, Verdict::Leave(_));
        if left_out && !is_dir && entry.mode != Mode::Gitlink && self.said.forced.len() < FORCED_MAX {
            self.said.forced.extend(literal(&path));
        }
        match entry.mode {
            Mode::Tree => {
                if path.split(|byte| *byte == b'/').count() > super::lay::DEPTH_MAX {
                    return Err(super::objects::bad(&entry.id, "it lies deeper than git goes"));
                }
                let present = twin.filter(|twin| matches!(twin.kind, EntryKind::Dir { .. }));
                let meta = present.as_ref().map_or_else(|| self.meta(stop, 0o755), |twin| twin.meta.clone());
                let (owner, kind) = ((meta.uid, meta.gid), EntryKind::empty_dir(self.over.view.store().algorithm()));
                self.into.put(&path, meta, kind)?;
                let (tree, rules) = (Some(entry.id), Arc::clone(&stop.rules));
                Ok(Some(Stop { path, tree, present, rules, owner, left_out }))
            }
            // Nothing of another repository is in this one.
            Mode::Gitlink => match twin {
                Some(twin) => self.only_seen(path, twin, Opaque::Excluded).map(|()| None),
                None => Ok(None),
            },
            Mode::File | Mode::Executable => self.file(stop, path, entry, twin).map(|()| None),
            Mode::Symlink => {
                let (_, text) = self.blob(&entry.id)?;
                let twin = twin.filter(|twin| matches!(twin.kind, EntryKind::Symlink(_)));
                let meta = twin.map_or_else(|| self.meta(stop, 0o777), |twin| twin.meta);
                self.into.put(&path, meta, EntryKind::Symlink(text))?;
                Ok(None)
            }
        }
    }

    fn file(&mut self, stop: &Stop, path: Vec<u8>, entry: &TreeEntry, twin: Option<Entry>) -> Result<()> {
        let runs = entry.mode == Mode::Executable;
        let twin = twin.filter(|twin| matches!(twin.kind, EntryKind::File { .. }));
        let meta = match &twin {
            Some(twin) => Meta { mode: with_execution(twin.meta.mode, runs), ..twin.meta.clone() },
            None => self.meta(stop, if runs { 0o755 } else { 0o644 }),
        };
        let same = match &twin {
            Some(Entry { kind: EntryKind::File { size, content }, .. }) => {
                blob_id(self.over.view, self.over.objects, self.over.ids, *size, content)? == Some(entry.id)
            }
            _ => false,
        };
        let kind = match twin {
            Some(twin) if same => {
                let is_whole = meta == twin.meta;
                return self.put_present(path, Entry { meta, ..twin }, is_whole);
            }
            _ => {
                let (size, bytes) = self.blob(&entry.id)?;
                let extents = if size == 0 { Vec::new() } else { vec![(0, size)] };
                self.into.file(size, &extents, &mut bytes.as_slice())?
            }
        };
        self.over.work.progress.advance(1, 0);
        Ok(self.into.put(&path, without_rights(meta), kind)?)
    }

    fn blob(&self, id: &GitId) -> Result<(u64, Vec<u8>)> {
        match self.over.objects.read(id, self.over.bytes_max)? {
            (Kind::Blob, bytes) => Ok((bytes.len() as u64, bytes)),
            _ => Err(super::objects::bad(id, "it is no blob")),
        }
    }

    /// What something that is not there now is like.
    fn meta(&self, stop: &Stop, mode: u16) -> Meta {
        Meta { mode, uid: stop.owner.0, gid: stop.owner.1, mtime: self.over.at, ..Meta::default() }
    }

    /// Something that is there and not in the tree.
    fn only_present(&mut self, stop: &Stop, entry: Entry) -> Result<Option<Stop>> {
        let path = join(&stop.path, &entry.name);
        let is_dir = entry.kind.file_type() == FileType::Dir;
        let verdict = self.judge.decide(&stop.rules, &path, &entry.name, is_dir, &AssumeAll);
        if let Verdict::Leave(reason) = verdict {
            return self.only_seen(path, entry, reason).map(|()| None);
        }
        if self.over.lost.contains(&path) {
            return self.only_seen(path, entry, Opaque::OverLimit).map(|()| None);
        }
        match &entry.kind {
            // It was there and could not have been in it, so that its absence says nothing.
            EntryKind::Fifo | EntryKind::Socket | EntryKind::CharDevice(_) | EntryKind::BlockDevice(_) => {
                self.put_present(path, entry, true).map(|()| None)
            }
            EntryKind::Opaque { reason, .. } => {
                let reason = *reason;
                self.only_seen(path, entry, reason).map(|()| None)
            }
            EntryKind::Dir { node, .. } => self.only_present_dir(stop, path, *node, entry),
            // It came later, and goes.
            EntryKind::File { .. } | EntryKind::Symlink(_) => Ok(None),
        }
    }

    fn only_present_dir(&mut self, stop: &Stop, path: Vec<u8>, node: Hash, entry: Entry) -> Result<Option<Stop>> {
        let node = self.over.view.node(&node)?;
        if node.get(b".git").is_some() {
            return self.only_seen(path, entry, Opaque::Excluded).map(|()| None);
        }
        if node.entries.is_empty() {
            return self.put_present(path, entry, true).map(|()| None);
        }
        self.waiting.insert(path.clone(), entry.meta.clone());
        let owner = (entry.meta.uid, entry.meta.gid);
        let (present, rules) = (Some(entry), Arc::clone(&stop.rules));
        Ok(Some(Stop { path, tree: None, present, rules, owner, left_out: stop.left_out }))
    }

    /// Marks something as seen and not captured.
    fn only_seen(&mut self, path: Vec<u8>, entry: Entry, reason: Opaque) -> Result<()> {
        if reason == Opaque::GitIgnored {
            self.said.gaps.push(Gap { path: path.clone(), kind: GapKind::GitIgnored, detail: String::new() });
        }
        self.ensure(&path)?;
        let file_type = entry.kind.file_type();
        Ok(self.into.put(&path, entry.meta, EntryKind::Opaque { file_type, reason })?)
    }

    /// Puts something as it is; names of one file stay so if all of them do.
    fn put_present(&mut self, path: Vec<u8>, entry: Entry, is_whole: bool) -> Result<()> {
        self.ensure(&path)?;
        let group = self.groups.get(&path).copied().filter(|_| is_whole);
        match group.and_then(|group| self.first.get(&group).cloned()) {
            Some(first) => return Ok(self.into.link(&path, &first)?),
            None => drop(group.map(|group| self.first.insert(group, path.clone()))),
        }
        Ok(self.into.put(&path, entry.meta, entry.kind)?)
    }

    /// The directories above a path that stays, stay.
    fn ensure(&mut self, path: &[u8]) -> Result<()> {
        let mut dir = split(path).0;
        while !dir.is_empty() {
            if let Some(meta) = self.waiting.remove(dir) {
                self.into.put(dir, meta, EntryKind::empty_dir(self.over.view.store().algorithm()))?;
            }
            dir = split(dir).0;
        }
        Ok(())
    }
}

/// The pattern that matches this path and no other; none if patterns have no word for it.
fn literal(path: &[u8]) -> Option<String> {
    let path = std::str::from_utf8(path).ok().filter(|path| !path.contains(char::is_control))?;
    let escape = |c: char| if c.is_alphanumeric() || "/._-".contains(c) { vec![c] } else { vec!['\\', c] };
    Some(format!("/{}", path.chars().flat_map(escape).collect::<String>()))
}

/// What somebody gave to one content, to run as its owner or group or with more than that, no other has.
fn without_rights(mut meta: Meta) -> Meta {
    meta.mode &= !0o6000;
    meta.xattrs.retain(|(key, _)| key != b"security.capability");
    meta
}

/// Git knows only whether the owner may execute it; whoever may read it may then do so too.
fn with_execution(mode: u16, runs: bool) -> u16 {
    match (runs, mode & 0o100 != 0) {
        (true, false) => mode | (mode & 0o444) >> 2,
        (false, true) => mode & !0o111,
        _ => mode,
    }
}

#[cfg(test)]
mod tests {
    use super::with_execution;

    #[test]
    fn only_the_right_to_execute_is_changed() {
        assert_eq!(with_execution(0o640, true), 0o750);
        assert_eq!(with_execution(0o4755, false), 0o4644);
        assert_eq!(with_execution(0o600, false), 0o600);
        assert_eq!(with_execution(0o711, true), 0o711);
    }
}
