//! What a filesystem tells of the changes between two of its snapshots, as paths that a capture has to look at.

use std::collections::BTreeSet;

use belay_store::{Entry, Kind, Manifest, NativeCopy, Root, View};

use super::Native;
use crate::error::Result;
use crate::workspace::Workspace;

/// With more changes than this, a look at every path costs no more than asking for each.
const PATHS_MAX: usize = 20_000;

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
        let Some(changed) = native.changed(&before, copy).filter(|changed| changed.len() <= PATHS_MAX) else {
            return Ok(None);
        };
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
