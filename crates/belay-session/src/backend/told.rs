//! What a filesystem tells of the changes between two of its snapshots, as paths that a capture has to look at.

use std::collections::BTreeSet;

use belay_store::{Entry, Kind, Manifest, NativeCopy, Root, View};

use super::{NATIVES, Native};
use crate::error::Result;
use crate::workspace::Workspace;

/// With more changes than this, a look at every path costs no more than asking for each.
const PATHS_MAX: usize = 20_000;
/// A look at fewer files costs no more than having the filesystem write what it holds in memory.
const FILES_MIN: u64 = 2000;

impl Workspace<'_> {
    /// The snapshot that a copy is compared with, and every path that may differ; none if nobody can tell.
    pub(super) fn told(
        &self,
        native: &dyn Native,
        copy: &NativeCopy,
        root: &Root,
    ) -> Result<Option<(Manifest, Vec<Vec<u8>>)>> {
        let timeline = self.timeline()?;
        let Some((before, base)) = self.last_copy(&timeline, native.backend())? else { return Ok(None) };
        self.paths_of(base, native.changed(&before, copy), root)
    }

    /// The same of the workspace as it is now, where the newest snapshot is a copy that a filesystem made of it.
    pub(crate) fn told_now(&self) -> Result<Option<(Manifest, Vec<Vec<u8>>)>> {
        let timeline = self.timeline()?;
        let Some(latest) = timeline.latest().filter(|latest| latest.files >= FILES_MIN) else { return Ok(None) };
        if self.layer().is_some() {
            return Ok(None);
        }
        for native in NATIVES {
            let last = self.last_copy(&timeline, native.backend())?;
            if let Some((before, base)) = last.filter(|(copy, _)| copy.manifest == Some(latest.manifest)) {
                return self.paths_of(base, native.changed_since(&before, self.root()), self.root());
            }
        }
        Ok(None)
    }

    /// What has to be looked at if a filesystem tells of these changes.
    fn paths_of(
        &self,
        base: Manifest,
        changed: Option<Vec<Vec<u8>>>,
        root: &Root,
    ) -> Result<Option<(Manifest, Vec<Vec<u8>>)>> {
        let Some(changed) = changed.filter(|changed| changed.len() <= PATHS_MAX) else { return Ok(None) };
        let view = View::stored(self.home.store());
        let mut paths = Vec::new();
        for path in changed {
            let known = view.lookup(&base.root, &path)?;
            let Some(names) = names_that_differ(&view, known.as_ref(), root, &path)? else {
                paths.push(path);
                continue;
            };
            paths.extend(names.into_iter().map(|name| join(&path, &name)));
        }
        Ok(Some((base, paths)))
    }
}

/// Names that came to a directory or went from it; none if it is something else, or if it changed in another way.
fn names_that_differ(
    view: &View<'_>,
    known: Option<&Entry>,
    root: &Root,
    path: &[u8],
) -> Result<Option<BTreeSet<Vec<u8>>>> {
    let Some(Entry { kind: Kind::Dir { node, .. }, .. }) = known else { return Ok(None) };
    let Ok(dir) = root.dir(path) else { return Ok(None) };
    let mut now = BTreeSet::new();
    let mut note = |name: &[u8]| {
        now.insert(name.to_vec());
    };
    if dir.list(&mut Vec::new(), &mut |name, _, _| note(name)).is_err() {
        return Ok(None);
    }
    let before: BTreeSet<Vec<u8>> = view.node(node)?.entries.iter().map(|entry| entry.name.clone()).collect();
    let differ: BTreeSet<Vec<u8>> = before.symmetric_difference(&now).cloned().collect();
    Ok(Some(differ).filter(|differ| !differ.is_empty()))
}

fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    if dir.is_empty() { name.to_vec() } else { [dir, b"/", name].concat() }
}
