//! Snapshots that the store holds and that nobody names any more.

use crate::error::Result;
use crate::gc::mark;
use crate::hash::Hash;
use crate::manifest::Manifest;
use crate::objects::{KeySet, Store};

/// A snapshot that nobody names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    /// The key of its manifest.
    pub manifest: Hash,
    /// The pack that holds it, beneath the store's disk.
    pub pack: String,
}

/// Finds the snapshots that are in the store with everything that they need, and are not among `known`.
///
/// These are the ones whose keys were lost, and those that were given up and not collected yet; the store cannot tell which.
pub fn strays(store: &Store, known: &[Hash]) -> Result<Vec<Stray>> {
    let mut seen: KeySet = known.iter().copied().collect();
    let mut whole = KeySet::default();
    let mut found = Vec::new();
    for pack in store.reload()?.iter() {
        // What is damaged is not whole, and `verify` names it.
        let (Ok(blocks), Ok(mut objects)) = (pack.blocks(), pack.objects()) else { continue };
        objects.retain(|(_, place)| blocks.get(place.block as usize).is_some_and(|block| block.tree));
        objects.sort_unstable_by_key(|(_, place)| (place.block, place.offset));
        for (key, place) in objects {
            let is_snapshot = |bytes: Vec<u8>| Manifest::decode(&bytes, store.algorithm()).is_ok();
            if !seen.insert(key) || !store.read_at(pack, place, &key).is_ok_and(is_snapshot) {
                continue;
            }
            if let Some(needed) = whole_with(store, key, &whole) {
                whole = needed;
                found.push(Stray { manifest: key, pack: pack.name.clone() });
            }
        }
    }
    Ok(found)
}

/// What is there with everything that the snapshot needs, if it is all there.
fn whole_with(store: &Store, snapshot: Hash, whole: &KeySet) -> Option<KeySet> {
    let mut needed = whole.clone();
    mark(store, &[snapshot], &mut needed).ok()?;
    let is_there = |key: &Hash| whole.contains(key) || store.contains(key).unwrap_or(false);
    needed.iter().all(is_there).then_some(needed)
}
