//! What snapshots were given up, for as long as the store may still hold them.
//!
//! Only a repair reads it: what it finds in the store and no timeline names was either lost or given up, and the store
//! cannot tell which. Nothing waits for the disk, and a list that cannot be written only says less.

use std::collections::BTreeSet;
use std::fmt::Write;

use belay_store::{Disk, Hash, LockMode};

const FILE: &str = "given-up";
const LOCK: &str = "given-up.lock";

/// The manifests that were given up.
pub(crate) fn read(disk: &dyn Disk) -> BTreeSet<Hash> {
    let bytes = disk.read(FILE).unwrap_or_default();
    String::from_utf8_lossy(&bytes).lines().filter_map(Hash::from_hex).collect()
}

/// Adds manifests that a timeline named and does not name any more, and takes out those that one names again.
pub(crate) fn note(disk: &dyn Disk, gone: &[Hash], named: &[Hash]) {
    if gone.is_empty() && disk.open(FILE).is_err() {
        return;
    }
    change(disk, |known| {
        known.extend(gone);
        known.retain(|key| !named.contains(key));
    });
}

/// Takes out what the store does not hold any more.
pub(crate) fn settle(disk: &dyn Disk, is_there: impl Fn(&Hash) -> bool) {
    if disk.open(FILE).is_ok() {
        change(disk, |known| known.retain(&is_there));
    }
}

fn change(disk: &dyn Disk, change: impl FnOnce(&mut BTreeSet<Hash>)) {
    let Ok(Some(_held)) = disk.lock(LOCK, LockMode::Exclusive, true) else { return };
    let before = read(disk);
    let mut known = before.clone();
    change(&mut known);
    if known == before {
        return;
    }
    if known.is_empty() {
        let _ = disk.remove(FILE);
        return;
    }
    let text = known.iter().fold(String::new(), |mut text, key| {
        writeln!(text, "{}", key.to_hex()).expect("a text takes everything");
        text
    });
    let _ = disk.append(FILE, 0).and_then(|mut file| file.write(text.as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_up_is_known_until_it_is_gone_or_named_again() {
        let dir = tempfile::tempdir().unwrap();
        let disk = belay_store::RealDisk::open(dir.path()).unwrap();
        let [a, b, c] = [1, 2, 3].map(|n| Hash([n; 32]));
        note(&disk, &[], &[a]);
        assert!(!dir.path().join(FILE).exists(), "there is nothing to say");
        note(&disk, &[a, b], &[]);
        note(&disk, &[c], &[]);
        assert_eq!(read(&disk), BTreeSet::from([a, b, c]));
        note(&disk, &[], &[a]);
        settle(&disk, |key| *key == b);
        assert_eq!(read(&disk), BTreeSet::from([b]));
        settle(&disk, |_| false);
        assert!(!dir.path().join(FILE).exists());
    }
}
