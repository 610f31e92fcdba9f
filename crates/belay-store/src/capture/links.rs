//! Which paths are one file.

use std::collections::HashMap;

use crate::manifest::Links;
use crate::statcache::Linked;

/// Groups paths by inode; an inode whose other names are outside the workspace is no group.
pub(super) fn groups(linked: &[Linked]) -> Links {
    let mut by_inode: HashMap<(u64, u64), Vec<Vec<u8>>> = HashMap::new();
    for one in linked {
        by_inode.entry((one.dev, one.ino)).or_default().push(one.path.clone());
    }
    let mut groups: Vec<_> = by_inode.into_values().collect();
    groups.iter_mut().for_each(|group| {
        group.sort();
        group.dedup();
    });
    Links::normalised(groups)
}
