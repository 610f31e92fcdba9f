//! A merge in the making: path by path, parents before children.

use std::collections::BTreeMap;

use super::content::{Whole, merge_entry, merge_meta};
use super::{Clash, Conflict, Edit, Inverse, Merged, Share, Trees, is_within, join, split};
use crate::diff::{Change, What};
use crate::error::Result;
use crate::restore::is_privileged;
use crate::tree::{Entry, Kind};

const NAME_BYTES_MAX: usize = 255;

pub(super) struct Draft<'a> {
    trees: &'a Trees<'a>,
    step: &'a Inverse<'a>,
    edits: BTreeMap<Vec<u8>, Edit>,
    conflicts: Vec<Conflict>,
    /// Paths beneath which everything is decided.
    settled: Vec<Vec<u8>>,
    /// Directories that the step made, and that go if nothing is left in them.
    made: Vec<Vec<u8>>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(trees: &'a Trees<'a>, step: &'a Inverse<'a>) -> Draft<'a> {
        let (edits, conflicts) = (BTreeMap::new(), Vec::new());
        Draft { trees, step, edits, conflicts, settled: Vec::new(), made: Vec::new() }
    }

    /// Takes in one path that differs between `base` and `theirs`.
    pub(super) fn take(&mut self, change: &Change) -> Result<()> {
        let path = &change.path;
        if self.settled.iter().any(|dir| is_within(path, dir)) {
            return Ok(());
        }
        if let Some(repository) = repository(path) {
            return self.take_repository(repository);
        }
        if !(self.step.is_meant)(path) {
            return Ok(());
        }
        let ours = self.now(path)?;
        if change.opaque || ours.as_ref().is_some_and(Entry::is_opaque) {
            // Nobody knows what is in it, either.
            return self.settle(path, Clash::NotCaptured, None);
        }
        let own = self.own_part(change);
        let (base, theirs) = (change.before.as_ref(), own.as_ref().or(change.after.as_ref()));
        if same(ours.as_ref(), theirs) {
            return Ok(());
        }
        if own.is_none() && (self.step.is_doubtful)(path) {
            return self.doubt(path, ours.is_none(), theirs);
        }
        match (base.is_some_and(is_dir), theirs.is_some_and(is_dir)) {
            (true, true) => self.directory(path, base, ours, theirs),
            (true, false) if theirs.is_none() => {
                self.made.push(path.clone());
                Ok(())
            }
            (false, true) if base.is_none() => self.bring_directory(path, ours, theirs),
            (false, false) => self.leaf(path, base, ours, theirs),
            _ => self.retype(path, base, ours, theirs),
        }
    }

    /// What a file would be without what the step did to it, where others changed it as well, but something else of it.
    fn own_part(&self, change: &Change) -> Option<Entry> {
        let is_file = |entry: &&Entry| matches!(entry.kind, Kind::File { .. });
        let (base, theirs) = (change.before.as_ref().filter(is_file)?, change.after.as_ref().filter(is_file)?);
        if !(self.step.is_doubtful)(&change.path) {
            return None;
        }
        let own = match (self.step.share)(&change.path, base)? {
            Share::Metadata => Entry { kind: base.kind.clone(), ..theirs.clone() },
            Share::Content => Entry { kind: theirs.kind.clone(), ..base.clone() },
        };
        // Nobody gave such rights to that content.
        (!is_privileged(&own)).then_some(own)
    }

    /// What is at the path once everything before was done.
    fn now(&self, path: &[u8]) -> Result<Option<Entry>> {
        match self.edits.get(path) {
            Some(edit) => Ok(edit.after.clone()),
            None => self.trees.ours.lookup(path),
        }
    }

    /// Somebody else changed the path as well; an older version in a place that the step emptied hides nothing.
    fn doubt(&mut self, path: &[u8], is_free: bool, theirs: Option<&Entry>) -> Result<()> {
        let is_file = theirs.is_some_and(|entry| !is_dir(entry) && !entry.is_opaque());
        if is_free && theirs.is_some_and(is_dir) {
            // All that was in it is put beside with it.
            return self.settle(path, Clash::Doubtful, theirs);
        }
        let comes_back = is_free && is_file && (self.step.is_removed)(path);
        if !comes_back || !self.make_directories(split(path).0, None)? {
            return self.clash(path, Clash::Doubtful, theirs);
        }
        self.conflicts.push(Conflict { path: path.to_vec(), clash: Clash::Doubtful, beside: Some(path.to_vec()) });
        self.set(path, theirs.cloned(), None)
    }

    /// A directory on both sides: only its own properties are meant.
    fn directory(
        &mut self,
        path: &[u8],
        base: Option<&Entry>,
        ours: Option<Entry>,
        theirs: Option<&Entry>,
    ) -> Result<()> {
        let (Some(base), Some(ours), Some(theirs)) = (base, ours, theirs) else { return Ok(()) };
        if !is_dir(&ours) {
            return Ok(());
        }
        match merge_meta(&base.meta, &ours.meta, &theirs.meta) {
            Some(meta) if meta == ours.meta => Ok(()),
            Some(meta) => self.set(path, Some(Entry { meta, ..ours }), None),
            None => self.clash(path, Clash::BothChanged, None),
        }
    }

    /// A directory that the step removed; what was in it follows.
    fn bring_directory(&mut self, path: &[u8], ours: Option<Entry>, theirs: Option<&Entry>) -> Result<()> {
        match ours {
            None => self.make_directories(path, theirs).map(drop),
            Some(ours) if is_dir(&ours) => Ok(()),
            Some(_) => self.settle(path, Clash::Retyped, theirs),
        }
    }

    /// A directory that something else took the place of, or the other way round.
    fn retype(&mut self, path: &[u8], base: Option<&Entry>, ours: Option<Entry>, theirs: Option<&Entry>) -> Result<()> {
        let is_as_it_was = base.zip(ours.as_ref()).is_some_and(|(base, ours)| base.same_identity(ours));
        let is_there = theirs.zip(ours.as_ref()).is_some_and(|(theirs, ours)| theirs.same_identity(ours));
        let inside = self.step.changes.iter().filter(|change| is_within(&change.path, path));
        let is_own = inside.clone().all(|change| (self.step.is_meant)(&change.path));
        let is_pure = is_own && !inside.clone().any(|change| (self.step.is_doubtful)(&change.path));
        self.settled.push(path.to_vec());
        match () {
            () if is_there => Ok(()),
            () if is_as_it_was && is_pure => self.set(path, theirs.cloned(), None),
            () if is_as_it_was => self.clash(path, Clash::Doubtful, theirs),
            () => self.clash(path, Clash::Retyped, theirs),
        }
    }

    fn leaf(&mut self, path: &[u8], base: Option<&Entry>, ours: Option<Entry>, theirs: Option<&Entry>) -> Result<()> {
        if same(base, ours.as_ref()) {
            return self.adopt(path, theirs);
        }
        match (base, ours, theirs) {
            (Some(base), Some(ours), Some(theirs)) if base.kind.file_type() == ours.kind.file_type() => {
                if base.kind.file_type() != theirs.kind.file_type() {
                    return self.clash(path, Clash::BothChanged, Some(theirs));
                }
                match merge_entry(self.trees, path, [base, &ours, theirs])? {
                    Ok(Whole { entry, .. }) if same(Some(&entry), Some(&ours)) => Ok(()),
                    Ok(Whole { entry, bytes }) => self.set(path, Some(entry), bytes),
                    Err(clash) => self.clash(path, clash, Some(theirs)),
                }
            }
            (_, Some(_), None) => self.clash(path, Clash::MadeThenChanged, None),
            (_, None, theirs) => self.clash(path, Clash::RemovedLater, theirs),
            (None, Some(ours), Some(theirs)) if theirs.kind.file_type() == ours.kind.file_type() => {
                self.clash(path, Clash::MadeAgain, Some(theirs))
            }
            (_, Some(ours), theirs) if base.is_none_or(|base| base.kind.file_type() != ours.kind.file_type()) => {
                self.clash(path, Clash::Retyped, theirs)
            }
            (_, _, theirs) => self.clash(path, Clash::BothChanged, theirs),
        }
    }

    /// The path becomes as in `theirs`, with the directories above it.
    fn adopt(&mut self, path: &[u8], theirs: Option<&Entry>) -> Result<()> {
        if theirs.is_some() && !self.make_directories(split(path).0, None)? {
            return self.clash(path, Clash::Retyped, theirs);
        }
        self.set(path, theirs.cloned(), None)
    }

    /// A repository is taken over as a whole, if it is as the step left it, and nobody else had a hand in it or all that
    /// happened to it was removing.
    fn take_repository(&mut self, path: &[u8]) -> Result<()> {
        let inside = || self.step.changes.iter().filter(|change| is_within(&change.path, path));
        let is_concerned = inside().any(|change| (self.step.is_meant)(&change.path));
        let is_pure = inside().all(|change| {
            let is_ours = (self.step.is_meant)(&change.path) || change.before.as_ref().is_some_and(is_dir);
            is_ours && !(self.step.is_doubtful)(&change.path) && !change.opaque
        });
        // Where nothing but removals lie behind, bringing all of it back hides nothing that is there.
        let is_removal = inside().all(|change| match (&change.before, &change.after) {
            (None, Some(_)) => !change.opaque,
            (Some(before), Some(after)) => is_dir(before) && is_dir(after),
            _ => false,
        });
        let is_doubtful = inside().any(|change| (self.step.is_doubtful)(&change.path));
        let [base, ours, theirs] =
            [self.trees.base.lookup(path)?, self.trees.ours.lookup(path)?, self.trees.theirs.lookup(path)?];
        let alike = |a: &Option<Entry>, b: &Option<Entry>| match (a, b) {
            (Some(a), Some(b)) => a.same_identity(b),
            (a, b) => a.is_none() && b.is_none(),
        };
        self.settled.push(path.to_vec());
        match () {
            () if !is_concerned || alike(&ours, &theirs) => Ok(()),
            () if (is_pure || is_removal) && alike(&ours, &base) => {
                if is_doubtful {
                    let beside = Some(path.to_vec());
                    self.conflicts.push(Conflict { path: path.to_vec(), clash: Clash::Doubtful, beside });
                }
                self.adopt(path, theirs.as_ref())
            }
            () => self.clash(path, Clash::Repository, None),
        }
    }

    /// Makes sure that `path` is a directory, made as in `theirs` where it is missing; `false` if something is there.
    fn make_directories(&mut self, path: &[u8], like: Option<&Entry>) -> Result<bool> {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at).chain([path.len()]);
        for end in ends.filter(|end| *end > 0) {
            let dir = &path[..end];
            match self.now(dir)? {
                Some(there) if is_dir(&there) => {}
                Some(_) => return Ok(false),
                None => {
                    let there = self.trees.theirs.lookup(dir)?;
                    let Some(model) = like.filter(|_| end == path.len()).or(there.as_ref()) else { return Ok(false) };
                    let kind = Kind::empty_dir(self.trees.ours.view.store().algorithm());
                    self.set(dir, Some(Entry { kind, ..model.clone() }), None)?;
                }
            }
        }
        Ok(true)
    }

    fn set(&mut self, path: &[u8], after: Option<Entry>, bytes: Option<Vec<u8>>) -> Result<()> {
        let before = self.trees.ours.lookup(path)?;
        let after = after.map(|entry| Entry { name: split(path).1.to_vec(), ..entry });
        self.edits.insert(path.to_vec(), Edit { path: path.to_vec(), before, after, bytes });
        Ok(())
    }

    /// Nothing beneath the path is looked at any more.
    fn settle(&mut self, path: &[u8], clash: Clash, theirs: Option<&Entry>) -> Result<()> {
        self.settled.push(path.to_vec());
        self.clash(path, clash, theirs)
    }

    /// The path stays, and what `theirs` has is put beside it.
    pub(super) fn clash(&mut self, path: &[u8], clash: Clash, theirs: Option<&Entry>) -> Result<()> {
        let beside = match theirs.filter(|entry| !entry.is_opaque()) {
            Some(theirs) => Some(self.put_beside(path, theirs)?),
            None => None,
        };
        self.conflicts.push(Conflict { path: path.to_vec(), clash, beside });
        Ok(())
    }

    fn put_beside(&mut self, path: &[u8], theirs: &Entry) -> Result<Vec<u8>> {
        // Where a directory above is none any more, the nearest one that is takes it.
        let (mut dir, name) = split(path);
        while !dir.is_empty() && !self.make_directories(dir, None)? {
            dir = split(dir).0;
        }
        let suffix = self.step.suffix;
        for nth in 1_u32.. {
            let count = if nth == 1 { String::new() } else { format!("-{nth}") };
            let ending = [b".", suffix, count.as_bytes()].concat();
            let kept = &name[..name.len().min(NAME_BYTES_MAX - ending.len())];
            let beside = join(dir, &[kept, &ending].concat());
            match self.now(&beside)? {
                None => {
                    self.set(&beside, Some(theirs.clone()), None)?;
                    return Ok(beside);
                }
                // It was put there before.
                Some(there) if !is_dir(theirs) && same(Some(&there), Some(theirs)) => return Ok(beside),
                Some(_) => {}
            }
        }
        unreachable!("a directory does not hold as many names as there are numbers")
    }

    pub(super) fn finish(mut self) -> Result<Merged> {
        self.keep_databases_whole()?;
        self.made.sort_by_key(|dir| std::cmp::Reverse(dir.len()));
        for dir in std::mem::take(&mut self.made) {
            if self.is_emptied(&dir)? {
                self.set(&dir, None, None)?;
            }
        }
        let edits = self.edits.into_values().filter(|edit| edit.before != edit.after).collect();
        Ok(Merged { edits, conflicts: self.conflicts })
    }

    /// A database and its logs belong together: if one of them stays, all do.
    fn keep_databases_whole(&mut self) -> Result<()> {
        const LOGS: [&[u8]; 4] = [b"", b"-wal", b"-shm", b"-journal"];
        let stays: Vec<Vec<u8>> = {
            let staying = self.conflicts.iter().filter(|conflict| conflict.beside.as_ref() != Some(&conflict.path));
            staying.map(|conflict| conflict.path.clone()).collect()
        };
        for path in stays {
            let base = LOGS[1..].iter().find_map(|log| path.strip_suffix(*log)).unwrap_or(&path).to_vec();
            for member in LOGS.map(|log| [&base, log].concat()) {
                if let Some(edit) = self.edits.remove(&member) {
                    self.clash(&member, Clash::Database, edit.after.as_ref())?;
                }
            }
        }
        Ok(())
    }

    /// Whether nothing is left in a directory of `ours`.
    fn is_emptied(&self, dir: &[u8]) -> Result<bool> {
        let Some(Entry { kind: Kind::Dir { node, .. }, .. }) = self.now(dir)? else { return Ok(false) };
        let is_gone = |name: &[u8]| self.edits.get(&join(dir, name)).is_some_and(|edit| edit.after.is_none());
        let node = self.trees.ours.view.node(&node)?;
        let inside = join(dir, b"");
        let mut beneath = self.edits.range(inside.clone()..).take_while(|(path, _)| path.starts_with(&inside));
        let comes = beneath.any(|(_, edit)| edit.after.is_some());
        Ok(!comes && node.entries.iter().all(|entry| is_gone(&entry.name)))
    }
}

/// The path up to the outermost repository that it lies in or is.
pub fn repository(path: &[u8]) -> Option<&[u8]> {
    let mut end = 0;
    for name in path.split(|byte| *byte == b'/') {
        end += name.len();
        if name == b".git" {
            return Some(&path[..end]);
        }
        end += 1;
    }
    None
}

fn is_dir(entry: &Entry) -> bool {
    matches!(entry.kind, Kind::Dir { .. })
}

/// Whether both are the same, times aside; of directories only their own properties count.
fn same(a: Option<&Entry>, b: Option<&Entry>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => !a.is_opaque() && !b.is_opaque() && What::between(a, b).is_nothing(),
        (a, b) => a.is_none() && b.is_none(),
    }
}
