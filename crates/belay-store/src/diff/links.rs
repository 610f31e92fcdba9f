//! Which paths are one file with other paths than before.

use std::collections::{BTreeSet, HashMap};

use crate::manifest::Links;

/// The paths, sorted, that are hard links to other paths in one snapshot than in the other.
pub fn relinked(before: &Links, after: &Links) -> Vec<Vec<u8>> {
    let (old, new) = (partners(before), partners(after));
    let paths: BTreeSet<&[u8]> = old.keys().chain(new.keys()).copied().collect();
    paths.into_iter().filter(|path| old.get(path) != new.get(path)).map(<[u8]>::to_vec).collect()
}

fn partners(links: &Links) -> HashMap<&[u8], &[Vec<u8>]> {
    links.groups.iter().flat_map(|group| group.iter().map(move |path| (path.as_slice(), group.as_slice()))).collect()
}
