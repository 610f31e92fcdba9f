//! Bringing changes that were made elsewhere into the workspace: a fork's, or those of a run that wrote apart.
//!
//! What leads from a base to another tree is merged into the present. The result is a tree of its own in the store, and
//! going there is a rollback like any other: planned, announced, resumed after a crash, and taken back by `belay undo`.
//! A draft is made first and may be cut down path by path; whatever happened to the workspace between the draft and its
//! adoption is merged as well. Where changes meet, the present stays and the other version is put beside it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use belay_event as event;
use belay_store::{
    Captured, Carried, Change, Clash, Conflict, Edit, Entry, Hash, Inverse, Kind as EntryKind, Manifest, Merged,
    MtimePolicy, Node, ObjectKind, OnDamage, Opaque, Ousted, Scope, Share, Side, Sides, Store, Trees, View, diff,
    graft, is_privileged, merge,
};

use crate::error::{Error, Result};
use crate::fork::Fork;
use crate::present::Tree;
use crate::record::{Cause, Kind, Origin, RewindKind, Snapshot};
use crate::rollback::{Aim, Outcome, Stage};
use crate::snapshot::{Look, SnapshotRequest};
use crate::workspace::{Work, Workspace};

/// With more paths than this the whole workspace is meant, which leads to the same plan.
const PATHS_MAX: usize = 1000;
/// Larger files are taken or left as a whole.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// What is to be brought in.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// The changes in words, such as `fork alpha`.
    pub what: String,
    /// Ends the name under which another version is put beside the present one.
    pub suffix: String,
    /// The fork that they were made in, if it was one.
    pub fork: Option<Fork>,
    /// What they were made to.
    pub base: Snapshot,
    /// What was made of it.
    pub theirs: Snapshot,
    /// The paths that are meant; none mean all.
    pub paths: Vec<Vec<u8>>,
}

/// What would change in the workspace, as it was when the draft was made.
pub struct Draft {
    /// What is to be brought in.
    pub incoming: Incoming,
    /// The paths that would change, with what is there and what would be, parents before children.
    pub changes: Vec<Change>,
    /// The paths that stay, and why.
    pub conflicts: Vec<Conflict>,
    /// Paths that cannot be brought in because they were not captured, and why those that were made elsewhere were not.
    pub uncaptured: Vec<(Vec<u8>, Option<Opaque>)>,
    edits: Vec<Edit>,
    now: Captured,
}

/// What is to become of one path of a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It stays as it is.
    Leave,
    /// It gets this content.
    Content(Vec<u8>),
}

/// What was brought in.
#[derive(Clone, Debug)]
pub struct Brought {
    /// The paths that stayed, and why.
    pub conflicts: Vec<Conflict>,
    /// What was changed; none if there was nothing to do.
    pub outcome: Option<Outcome>,
}

/// Which part of the way from one tree to another is meant, and who vouches for it.
pub(crate) struct Meant<'a> {
    pub(crate) is_meant: &'a dyn Fn(&[u8]) -> bool,
    pub(crate) is_doubtful: &'a dyn Fn(&[u8]) -> bool,
    pub(crate) share: &'a dyn Fn(&[u8], &Entry) -> Option<Share>,
    pub(crate) is_removed: &'a dyn Fn(&[u8]) -> bool,
    pub(crate) ousted: &'a [Ousted],
    pub(crate) suffix: &'a str,
}

impl<'a> Meant<'a> {
    /// Nobody else had a hand in it.
    fn wholly(is_meant: &'a dyn Fn(&[u8]) -> bool, suffix: &'a str) -> Meant<'a> {
        let (is_doubtful, share, is_removed) = (&|_: &[u8]| false, &|_: &[u8], _: &Entry| None, &|_: &[u8]| false);
        Meant { is_meant, is_doubtful, share, is_removed, ousted: &[], suffix }
    }
}

impl Workspace<'_> {
    /// Works out what bringing the changes in would do; the workspace is captured and not changed.
    pub fn draft(&self, incoming: Incoming, work: Work<'_>) -> Result<Draft> {
        let (base, theirs) = (self.tree(&incoming.base)?, self.tree(&incoming.theirs)?);
        let captured = self.capture(Look { keep: Some(theirs.manifest()), ..Look::default() }, work)?;
        let now = Tree::stored(captured.manifest.clone());
        let scope = Scope::new(incoming.paths.clone());
        let is_meant = |path: &[u8]| scope.contains(path);
        let meant = Meant::wholly(&is_meant, &incoming.suffix);
        let merged = self.merged([&base, &now, &theirs], &meant)?;
        let is_uncaptured = |conflict: &Conflict| conflict.clash == Clash::NotCaptured;
        let (uncaptured, conflicts): (Vec<_>, Vec<_>) = merged.conflicts.into_iter().partition(is_uncaptured);
        let mut changes: Vec<Change> = merged.edits.iter().cloned().map(change_of).collect();
        weigh(&mut changes);
        let why = |conflict: Conflict| -> Result<(Vec<u8>, Option<Opaque>)> {
            let reason = match self.entry(&theirs, &conflict.path)?.map(|entry| entry.kind) {
                Some(EntryKind::Opaque { reason, .. }) => Some(reason),
                _ => None,
            };
            Ok((conflict.path, reason))
        };
        let mut uncaptured = uncaptured.into_iter().map(why).collect::<Result<Vec<_>>>()?;
        for (path, reason) in self.new_gaps(&base, &theirs)?.into_iter().filter(|(path, _)| is_meant(path)) {
            if !uncaptured.iter().any(|(known, _)| *known == path) {
                uncaptured.push((path, Some(reason)));
            }
        }
        uncaptured.sort_by(|one, other| one.0.split(slash).cmp(other.0.split(slash)));
        uncaptured.dedup_by(|inner, outer| is_beneath(&inner.0, &outer.0));
        Ok(Draft { incoming, changes, conflicts, uncaptured, edits: merged.edits, now: captured })
    }

    /// What the second tree saw and lacks, and the first did not see or has.
    pub fn new_gaps(&self, before: &Tree, after: &Tree) -> Result<Vec<(Vec<u8>, Opaque)>> {
        let store = self.home.store();
        let known = before.manifest().coverage(store)?;
        let known: HashSet<&[u8]> = known.gaps.iter().map(|gap| &gap.path[..]).collect();
        let mut new = Vec::new();
        for gap in after.manifest().coverage(store)?.gaps.into_iter().filter(|gap| !known.contains(&gap.path[..])) {
            if let Some(EntryKind::Opaque { reason, .. }) = self.entry(after, &gap.path)?.map(|entry| entry.kind) {
                new.push((gap.path, reason));
            }
        }
        Ok(new)
    }

    /// Both sides of a file of the draft, if both are text; what is not there is empty.
    pub fn texts(&self, draft: &Draft, path: &[u8]) -> Result<Option<[Vec<u8>; 2]>> {
        let Some(edit) = draft.edits.iter().find(|edit| edit.path == path) else { return Ok(None) };
        let view = View::stored(self.home.store());
        let text = |entry: Option<&Entry>| -> Result<Option<Vec<u8>>> {
            match entry.map(|entry| &entry.kind) {
                None => Ok(Some(Vec::new())),
                Some(EntryKind::File { size, content }) if *size <= TEXT_BYTES_MAX => {
                    Ok(Some(view.bytes(*size, content)?).filter(|bytes| !bytes.contains(&0)))
                }
                Some(_) => Ok(None),
            }
        };
        let after = match &edit.bytes {
            Some(bytes) => Some(bytes.clone()),
            None => text(edit.after.as_ref())?,
        };
        Ok(text(edit.before.as_ref())?.zip(after).map(|(before, after)| [before, after]))
    }

    /// A file that stays because both changed it: as it was before both, as it is here and as it is there; none if one of
    /// them is no text, or if what it holds runs with the rights of another.
    pub fn versions(&self, draft: &Draft, path: &[u8]) -> Result<Option<[Vec<u8>; 3]>> {
        let view = View::stored(self.home.store());
        let (base, theirs) = (self.tree(&draft.incoming.base)?, self.tree(&draft.incoming.theirs)?);
        let now = Tree::stored(draft.now.manifest.clone());
        let mut texts = Vec::new();
        for tree in [&base, &now, &theirs] {
            let Some(entry) = self.entry(tree, path)?.filter(|entry| !is_privileged(entry)) else { return Ok(None) };
            match &entry.kind {
                EntryKind::File { size, content } if *size <= TEXT_BYTES_MAX => texts.push(view.bytes(*size, content)?),
                _ => return Ok(None),
            }
        }
        let is_text = !texts.iter().any(|text| text.contains(&0));
        Ok(texts.try_into().ok().filter(|_| is_text))
    }

    /// What was chosen of files that otherwise stay.
    fn settled(&self, draft: &Draft, choices: &HashMap<Vec<u8>, Choice>) -> Result<Vec<Edit>> {
        let now = Tree::stored(draft.now.manifest.clone());
        let mut edits = Vec::new();
        for conflict in &draft.conflicts {
            let Some(Choice::Content(bytes)) = choices.get(&conflict.path) else { continue };
            let edit = Edit {
                path: conflict.path.clone(),
                before: self.entry(&now, &conflict.path)?,
                after: None,
                bytes: None,
            };
            edits.push(with_content(self.home.store(), &edit, bytes));
        }
        Ok(edits)
    }

    /// Brings in what the draft says, but for what was chosen otherwise.
    pub fn bring_in(
        &self,
        draft: &Draft,
        choices: &HashMap<Vec<u8>, Choice>,
        mtime: Option<MtimePolicy>,
        work: Work<'_>,
        tell: &mut dyn FnMut(Stage<'_>),
    ) -> Result<Brought> {
        let store = self.home.store();
        let mut edits = chosen(store, &draft.edits, choices);
        edits.extend(self.settled(draft, choices)?);
        edits.sort_by(|one, other| one.path.cmp(&other.path));
        if edits.is_empty() {
            let conflicts = draft.conflicts.iter().map(|conflict| self.as_it_stands(conflict)).collect();
            return Ok(Brought { conflicts, outcome: None });
        }
        let theirs = self.tree(&draft.incoming.theirs)?;
        let batch = store.begin()?;
        let mut worker = batch.worker();
        let (_, wanted) = graft(store, &mut worker, &draft.now.manifest, theirs.manifest(), &edits, &Carried::new())?;
        worker.done()?;
        // Until the merged tree is listed, gc is held off.
        let (_, _guard) = batch.finish()?;
        let mut brought = self.adopt_tree(draft, wanted, mtime, work, tell)?;
        let still = |conflict: &&Conflict| !choices.contains_key(&conflict.path);
        brought.conflicts.extend(draft.conflicts.iter().filter(still).map(|conflict| self.as_it_stands(conflict)));
        Ok(brought)
    }

    /// The conflict without another version that was not chosen, and so is not there.
    fn as_it_stands(&self, conflict: &Conflict) -> Conflict {
        Conflict { beside: conflict.beside.clone().filter(|path| self.holds(path)), ..conflict.clone() }
    }

    /// Takes the workspace to the wanted tree, whatever happened to it since the draft.
    fn adopt_tree(
        &self,
        draft: &Draft,
        wanted: Manifest,
        mtime: Option<MtimePolicy>,
        work: Work<'_>,
        tell: &mut dyn FnMut(Stage<'_>),
    ) -> Result<Brought> {
        let _lock = self.lock_rollback()?.ok_or(Error::RollbackBusy)?;
        let still = self.hold_still()?;
        let recovered = self.recover_locked(work)?;
        tell(Stage::Capturing);
        let captured = self.capture(Look { keep: Some(&wanted), ..Look::default() }, work)?;
        let now = Tree::stored(captured.manifest.clone());
        let (base, wanted) = (Tree::stored(draft.now.manifest.clone()), Tree::stored(wanted));
        let meant = Meant::wholly(&|_| true, &draft.incoming.suffix);
        let merged = self.merged([&base, &now, &wanted], &meant)?;
        if merged.edits.is_empty() {
            return Ok(Brought { conflicts: merged.conflicts, outcome: None });
        }
        let safety = self.name_safety(captured, &format!("before bringing in {}", draft.incoming.what))?;
        tell(Stage::Captured(&safety));
        let request = SnapshotRequest {
            kind: Kind::Auto,
            origin: Origin::Auto,
            description: Some(format!("with {}", draft.incoming.what)),
            cause: Cause { trigger: Some("pick".to_owned()), ..Cause::default() },
            ..SnapshotRequest::default()
        };
        let (target, manifest) = self.plant(&merged, now.manifest(), wanted.manifest(), &request)?;
        // The times of another place say nothing about what was built here.
        let mtime = mtime.unwrap_or(MtimePolicy::Fresh);
        let aim = Aim {
            kind: RewindKind::Pick,
            target,
            manifest,
            paths: paths_of(&merged.edits),
            mtime,
            on_damage: OnDamage::Refuse,
        };
        let plan = self.plan_between(now.manifest(), &aim.manifest, &aim.paths, &self.guard())?;
        tell(Stage::Restoring(&plan));
        let applied = self.carry_out(&aim, &safety, &plan, work, None)?;
        tell(Stage::Restored);
        let left = plan.left.into_iter().chain(applied.left).collect();
        let (kind, target, paths, changed) = (aim.kind, aim.target, aim.paths, applied.changed);
        let outcome = Outcome { kind, safety: Some(safety), target, paths, changed, left, recovered };
        self.tell_rewound(still, &outcome, &plan.steps);
        self.tidy_store();
        Ok(Brought { conflicts: merged.conflicts, outcome: Some(outcome) })
    }

    /// Merges the way from the first tree to the third into the second.
    pub(crate) fn merged(&self, [base, ours, theirs]: [&Tree; 3], meant: &Meant<'_>) -> Result<Merged> {
        let store = self.home.store();
        let side = |tree| side_of(tree, store);
        let read = |path: &[u8], entry: &Entry| self.read(ours, path, entry).map_err(into_store);
        let trees = Trees { base: side(base), ours: side(ours), theirs: side(theirs), read: &read };
        let sides = Sides {
            before: trees.base.view,
            before_root: trees.base.root,
            after: trees.theirs.view,
            after_root: trees.theirs.root,
        };
        let mut changes = Vec::new();
        diff(&sides, &Scope::default(), &mut |change| {
            changes.push(change);
            Ok(())
        })?;
        let inverse = Inverse {
            changes: &changes,
            is_meant: meant.is_meant,
            is_doubtful: meant.is_doubtful,
            share: meant.share,
            is_removed: meant.is_removed,
            ousted: meant.ousted,
            suffix: meant.suffix.as_bytes(),
        };
        let mut merged = merge(&trees, &inverse)?;
        // What was put together just now must look newer than what was built from it.
        let time = belay_sys::now();
        let made = merged.edits.iter_mut().filter(|edit| edit.bytes.is_some());
        made.filter_map(|edit| edit.after.as_mut()).for_each(|entry| entry.meta.mtime = time);
        Ok(merged)
    }

    /// Stores the tree that a merge amounts to, and lists it.
    pub(crate) fn plant(
        &self,
        merged: &Merged,
        ours: &Manifest,
        theirs: &Manifest,
        request: &SnapshotRequest,
    ) -> Result<(Snapshot, Manifest)> {
        self.plant_moved(merged, ours, theirs, request, &HashMap::new(), &Carried::new())
    }

    /// The same, with directories that what comes is made of and that only memory has, and with what is only moved.
    pub(crate) fn plant_moved(
        &self,
        merged: &Merged,
        ours: &Manifest,
        theirs: &Manifest,
        request: &SnapshotRequest,
        unwritten: &HashMap<Hash, Arc<Node>>,
        carried: &Carried,
    ) -> Result<(Snapshot, Manifest)> {
        let store = self.home.store();
        let batch = store.begin()?;
        let mut worker = batch.worker();
        for node in unwritten.values() {
            worker.put(ObjectKind::Tree, &node.encode())?;
        }
        let (key, manifest) = graft(store, &mut worker, ours, theirs, &merged.edits, carried)?;
        worker.done()?;
        // Until it is listed, gc is held off.
        let (grown, _guard) = batch.finish()?;
        Ok((self.name_tree(&manifest, key, grown, request)?, manifest))
    }
}

fn slash(byte: &u8) -> bool {
    *byte == b'/'
}

fn is_beneath(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.first() == Some(&b'/'))
}

/// The edits that are left when each path was decided about.
///
/// A new directory comes if something in it does, and one that goes stays for whatever stays in it.
fn chosen(store: &Store, edits: &[Edit], choices: &HashMap<Vec<u8>, Choice>) -> Vec<Edit> {
    let is_dir =
        |entry: &Option<Entry>| entry.as_ref().is_some_and(|entry| matches!(entry.kind, EntryKind::Dir { .. }));
    let inside = |dir: &[u8], path: &[u8]| path.strip_prefix(dir).is_some_and(|rest| rest.first() == Some(&b'/'));
    let is_left = |edit: &&Edit| matches!(choices.get(&edit.path), Some(Choice::Leave));
    let left: Vec<&Edit> = edits.iter().filter(is_left).collect();
    let decide = |edit: &Edit| -> Option<Edit> {
        let within = || edits.iter().filter(|other| inside(&edit.path, &other.path));
        let is_empty = |dir: &Edit| !edits.iter().any(|other| inside(&dir.path, &other.path));
        let has_left = left.iter().any(|other| inside(&edit.path, &other.path));
        match choices.get(&edit.path) {
            Some(Choice::Leave) => None,
            Some(Choice::Content(bytes)) => Some(with_content(store, edit, bytes)),
            None if edit.before.is_none() && is_dir(&edit.after) && within().next().is_some() => {
                let comes = within().any(|other| !is_left(&other) && (!is_dir(&other.after) || is_empty(other)));
                comes.then(|| edit.clone())
            }
            None if edit.after.is_none() && is_dir(&edit.before) && has_left => None,
            None => Some(edit.clone()),
        }
    };
    edits.iter().filter_map(decide).collect()
}

fn with_content(store: &Store, edit: &Edit, bytes: &[u8]) -> Edit {
    let like = edit.after.as_ref().or(edit.before.as_ref());
    let after = like.map(|entry| Entry {
        kind: EntryKind::File {
            size: bytes.len() as u64,
            content: belay_store::Content::Whole(store.algorithm().hash(bytes)),
        },
        ..entry.clone()
    });
    Edit { after, bytes: Some(bytes.to_vec()), ..edit.clone() }
}

/// What the runs that held still are told.
pub(crate) fn told(outcome: &Outcome) -> event::Rewound {
    event::Rewound {
        kind: outcome.kind.name().to_owned(),
        from: outcome.safety.as_ref().map(|safety| safety.id.clone()).unwrap_or_default(),
        to: outcome.target.id.clone(),
        checkpoint: outcome.target.checkpoint(),
        changed: outcome.changed,
    }
}

fn side_of<'a>(tree: &'a Tree, store: &'a Store) -> Side<'a> {
    let view: View<'a> = tree.view(store);
    Side { view, root: &tree.manifest().root }
}

fn into_store(error: Error) -> belay_store::Error {
    match error {
        Error::Store(error) => error,
        other => belay_store::Error::Invalid(other.to_string()),
    }
}

pub(crate) fn change_of(edit: Edit) -> Change {
    Change { path: edit.path, before: edit.before, after: edit.after, opaque: false }
}

/// Has directories that come back count what comes back in them; they are made empty and filled one by one.
pub(crate) fn weigh(changes: &mut [Change]) {
    let sizes: Vec<(Vec<u8>, u64)> = changes
        .iter()
        .filter_map(|change| match change.after.as_ref()?.kind {
            EntryKind::File { size, .. } => Some((change.path.clone(), size)),
            _ => None,
        })
        .collect();
    for change in changes.iter_mut().filter(|change| change.before.is_none()) {
        let Some(EntryKind::Dir { files, bytes, .. }) = change.after.as_mut().map(|entry| &mut entry.kind) else {
            continue;
        };
        let is_inside = |path: &[u8]| path.strip_prefix(&*change.path).is_some_and(|rest| rest.first() == Some(&b'/'));
        let inside = || sizes.iter().filter(|(path, _)| is_inside(path));
        if *files == 0 {
            (*files, *bytes) = (inside().count() as u64, inside().map(|(_, size)| size).sum());
        }
    }
}

/// The paths that change, so that an undo brings back these and no others.
pub(crate) fn paths_of(edits: &[Edit]) -> Vec<Vec<u8>> {
    let is_whole = edits.len() > PATHS_MAX || edits.iter().any(|edit| edit.path.is_empty());
    if is_whole { Vec::new() } else { edits.iter().map(|edit| edit.path.clone()).collect() }
}
