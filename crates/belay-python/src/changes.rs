//! Differences of trees in the words of the Python package: created, modified, deleted, permissions_changed.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use belay_session::store::{self, Entry, Kind, Left, Manifest, Plan, Scope, Sides, Store, View, What, diff, relinked};

use crate::error::Result;
use crate::values::{Change, ChangeKind};

/// What differs between two trees of the store.
pub(crate) fn between(store: &Store, root: &Path, before: &Manifest, after: &Manifest) -> Result<Vec<Change>> {
    let view = View::stored(store);
    let sides = Sides { before: view, before_root: &before.root, after: view, after_root: &after.root };
    let mut changes = Vec::new();
    diff(&sides, &Scope::default(), &mut |change: store::Change| {
        let what = change.what();
        changes.extend(describe(root, &change.path, change.before.as_ref(), change.after.as_ref(), &what));
        Ok(())
    })?;
    let named: HashSet<_> = changes.iter().map(|change| change.path.clone()).collect();
    for path in relinked(&before.links(store)?, &after.links(store)?) {
        let (old, new) = (view.lookup(&before.root, &path)?, view.lookup(&after.root, &path)?);
        let what = What { links: true, ..What::default() };
        let change = describe(root, &path, old.as_ref(), new.as_ref(), &what);
        changes.extend(change.filter(|change| !named.contains(&change.path)));
    }
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(changes)
}

/// Differences that were found already.
pub(crate) fn seen(root: &Path, found: &[store::Change]) -> Vec<Change> {
    let one = |change: &store::Change| {
        describe(root, &change.path, change.before.as_ref(), change.after.as_ref(), &change.what())
    };
    let mut changes: Vec<Change> = found.iter().filter_map(one).collect();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes
}

/// What a plan changes, but for what was left and lies beneath it.
pub(crate) fn planned(root: &Path, plan: &Plan, left: &[Left]) -> Vec<Change> {
    let left: HashSet<&[u8]> = left.iter().map(|left| left.path.as_slice()).collect();
    let step = |step: store::Step<'_>| describe(root, step.path, step.before.as_ref(), step.after.as_ref(), &step.what);
    let steps = plan.steps.iter().filter(|step| !is_beneath(step.path, &left));
    let mut changes: Vec<Change> = steps.filter_map(step).collect();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes
}

/// A change as Python sees it; none for a directory that is only where others changed.
fn describe(root: &Path, path: &[u8], before: Option<&Entry>, after: Option<&Entry>, what: &What) -> Option<Change> {
    let kind = match what {
        What { opaque: true, .. } => return None,
        What { added: true, .. } => ChangeKind::Created,
        What { removed: true, .. } => ChangeKind::Deleted,
        What { retyped: true, .. } | What { content: true, .. } | What { links: true, .. } => ChangeKind::Modified,
        _ => ChangeKind::PermissionsChanged,
    };
    let is_told_by_its_files = |entry: &&Entry| matches!(entry.kind, Kind::Dir { files: 1.., .. });
    let came_or_went = matches!(kind, ChangeKind::Created | ChangeKind::Deleted);
    if came_or_went && before.or(after).as_ref().is_some_and(is_told_by_its_files) {
        return None;
    }
    let path = if path.is_empty() { root.to_path_buf() } else { root.join(OsStr::from_bytes(path)) };
    let sizes = (before.map_or(Some(0), size), after.map_or(Some(0), size));
    let size_delta = sizes.0.zip(sizes.1).map(|(before, after)| after - before);
    Some(Change { path: path.into_os_string(), kind, size_delta })
}

fn size(entry: &Entry) -> Option<i64> {
    match &entry.kind {
        Kind::File { size, .. } => i64::try_from(*size).ok(),
        Kind::Symlink(text) => i64::try_from(text.len()).ok(),
        _ => None,
    }
}

/// Whether the path, or a directory above it, is one of these.
fn is_beneath(path: &[u8], left: &HashSet<&[u8]>) -> bool {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    !left.is_empty() && ends.chain([path.len()]).any(|end| left.contains(&path[..end]))
}
