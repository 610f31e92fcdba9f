//! Which paths take the store's space, over all snapshots of a tree.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::Scales;
use crate::error::Result;
use crate::hash::Hash;
use crate::history::content_of;
use crate::manifest::Manifest;
use crate::objects::{KeyMap, KeySet, Store};
use crate::tree::{Entry, Kind};

/// A directory of which one entry weighs so many percent is no news beside that entry.
const ONE_ENTRY_PERCENT: u64 = 80;

/// A path and what its content takes in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeavyPath {
    /// The path beneath the workspace.
    pub path: Vec<u8>,
    /// Whether it is a directory, with all that is in it.
    pub is_dir: bool,
    /// Bytes on disk, of all its versions; what several paths hold counts for the first of them.
    pub bytes: u64,
}

/// The heaviest paths of these snapshots, at most so many; what a path holds in several of them counts once.
pub fn heaviest(store: &Store, snapshots: &[Hash], count: usize) -> Result<Vec<HeavyPath>> {
    store.reload()?;
    let scales = Scales { store, owners: KeyMap::default(), packs: HashMap::new(), weights: Vec::new() };
    let mut tally = Tally { scales, seen: KeySet::default(), totals: HashMap::new() };
    for key in snapshots {
        if tally.seen.insert(*key) {
            tally.tree(&Manifest::read(store, key)?)?;
        }
    }
    Ok(tally.heaviest(count))
}

struct Tally<'a> {
    scales: Scales<'a>,
    /// What was weighed already, whichever path it had.
    seen: KeySet,
    /// Bytes by path, and whether it is a directory.
    totals: HashMap<Vec<u8>, (u64, bool)>,
}

impl Tally<'_> {
    fn tree(&mut self, manifest: &Manifest) -> Result<()> {
        let mut dirs = vec![(Vec::new(), manifest.root_node())];
        while let Some((path, node)) = dirs.pop() {
            if !self.seen.insert(node) {
                continue;
            }
            for entry in &self.scales.store.node(&node)?.entries {
                let separator: &[u8] = if path.is_empty() { b"" } else { b"/" };
                let path = [&path, separator, &entry.name].concat();
                match &entry.kind {
                    Kind::Dir { node, .. } => dirs.push((path, *node)),
                    _ => self.file(&path, entry)?,
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &[u8], entry: &Entry) -> Result<()> {
        let mut objects = std::collections::BTreeSet::new();
        content_of(self.scales.store, entry, &mut objects)?;
        let mut bytes = 0;
        for object in objects {
            if self.seen.insert(object) {
                bytes += self.scales.stored_bytes(&object)?;
            }
        }
        if bytes == 0 {
            return Ok(());
        }
        self.totals.entry(path.to_vec()).or_default().0 += bytes;
        for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let (total, is_dir) = self.totals.entry(path[..at].to_vec()).or_default();
            *total += bytes;
            *is_dir = true;
        }
        Ok(())
    }

    fn heaviest(self, count: usize) -> Vec<HeavyPath> {
        let mut of_one_entry: HashMap<&[u8], u64> = HashMap::new();
        for (path, (bytes, _)) in &self.totals {
            if let Some(at) = path.iter().rposition(|byte| *byte == b'/') {
                let most = of_one_entry.entry(&path[..at]).or_default();
                *most = (*most).max(*bytes);
            }
        }
        let is_news =
            |path: &[u8], bytes: u64| of_one_entry.get(path).is_none_or(|most| most * 100 < bytes * ONE_ENTRY_PERCENT);
        let mut heavy: Vec<_> = self.totals.iter().filter(|(path, (bytes, _))| is_news(path, *bytes)).collect();
        heavy.sort_by_key(|(path, (bytes, _))| (Reverse(*bytes), *path));
        heavy.truncate(count);
        let told = |(path, (bytes, is_dir)): (&Vec<u8>, &(u64, bool))| HeavyPath {
            path: path.clone(),
            is_dir: *is_dir,
            bytes: *bytes,
        };
        heavy.into_iter().map(told).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{Garden, files};

    #[test]
    fn the_heaviest_paths_come_first_and_a_directory_of_one_file_is_that_file() {
        let garden = Garden::new();
        let text = |seed: u64, len: usize| -> String {
            let mut state = seed;
            let next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                char::from(b'!' + (state >> 33) as u8 % 90)
            };
            std::iter::repeat_with(next).take(len).collect()
        };
        let (large, a, b) = (text(1, 200_000), text(2, 30_000), text(3, 40_000));
        let (first, _) = garden.plant(&files(&[("deep/down/large", &large), ("logs/a", &a), ("copy", &a)]));
        let (second, _) = garden.plant(&files(&[("deep/down/large", &large), ("logs/a", &b)]));
        let heavy = heaviest(&garden.store, &[second, first], 9).unwrap();
        let names: Vec<&[u8]> = heavy.iter().map(|one| one.path.as_slice()).collect();
        assert_eq!(names, [&b"deep/down/large"[..], b"logs/a", b"copy"], "{heavy:?}");
        assert!(heavy[0].bytes > 4 * heavy[1].bytes && heavy[1].bytes > heavy[2].bytes, "{heavy:?}");
        assert_eq!(heaviest(&garden.store, &[second, first], 1).unwrap().len(), 1);
    }

    #[test]
    fn what_can_be_compressed_weighs_what_is_stored_of_it() {
        let garden = Garden::new();
        let mut state = 7_u64;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'!' + (state >> 33) as u8 % 90)
        };
        let noise: String = std::iter::repeat_with(next).take(2_000_000).collect();
        let lines: String = (0..100_000).map(|_| "the same line\n").collect();
        let (snapshot, _) = garden.plant(&files(&[("noise", &noise), ("text", &lines)]));
        let heavy = heaviest(&garden.store, &[snapshot], 9).unwrap();
        let bytes = |path: &str| heavy.iter().find(|one| one.path == path.as_bytes()).unwrap().bytes;
        assert!(bytes("noise") > 1_500_000, "{heavy:?}");
        assert!(bytes("text") < 100_000, "{heavy:?}");
        assert!(bytes("noise") + bytes("text") <= garden.store.stored_bytes().unwrap(), "{heavy:?}");
    }
}
