//! The entries of a known directory: as they were captured, and what is different now.
//!
//! What is as it was is not copied before the node is built anew, then only if somebody else has it, and its proofs never.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::statcache::EntryStat;
use crate::tree::{Entry, Kind, Meta, Node};

/// What a directory held, and what has changed since.
pub(super) struct Entries {
    node: Arc<Node>,
    changes: BTreeMap<Vec<u8>, Change>,
}

enum Change {
    Gone,
    /// Another entry, whose inode was not looked at.
    Entry(Entry),
    Whole(Entry, EntryStat),
}

impl Entries {
    pub(super) fn of(node: Arc<Node>) -> Entries {
        Entries { node, changes: BTreeMap::new() }
    }

    /// What was captured.
    pub(super) fn before(&self) -> &Arc<Node> {
        &self.node
    }

    /// The entry of that name as it is now.
    pub(super) fn get(&self, name: &[u8]) -> Option<&Entry> {
        match self.changes.get(name) {
            Some(Change::Gone) => None,
            Some(Change::Entry(entry) | Change::Whole(entry, _)) => Some(entry),
            None => self.node.get(name),
        }
    }

    pub(super) fn is_dir(&self, name: &[u8]) -> bool {
        self.get(name).is_some_and(|entry| matches!(entry.kind, Kind::Dir { .. }))
    }

    pub(super) fn set(&mut self, name: &[u8], taken: Option<(Entry, EntryStat)>) {
        match taken {
            Some((entry, proof)) => drop(self.changes.insert(name.to_vec(), Change::Whole(entry, proof))),
            None if self.node.get(name).is_some() => drop(self.changes.insert(name.to_vec(), Change::Gone)),
            None => drop(self.changes.remove(name)),
        }
    }

    /// Takes back that an entry changed, because it turned out to be as it was.
    pub(super) fn keep(&mut self, name: &[u8]) {
        self.changes.remove(name);
    }

    /// Gives a directory its new node and, if it was looked at, its properties; nothing if it is gone.
    pub(super) fn set_dir(&mut self, name: &[u8], kind: Kind, own: Option<(Meta, EntryStat)>) {
        let Some(mut entry) = self.get(name).cloned() else { return };
        entry.kind = kind;
        let change = match (own, self.changes.remove(name)) {
            (Some((meta, proof)), _) => Change::Whole(Entry { meta, ..entry }, proof),
            (None, Some(Change::Whole(_, proof))) => Change::Whole(entry, proof),
            (None, _) => Change::Entry(entry),
        };
        self.changes.insert(name.to_vec(), change);
    }

    /// Whether nothing changed.
    pub(super) fn is_as_it_was(&self) -> bool {
        self.changes.is_empty()
    }

    /// The names of what changed, in order.
    pub(super) fn changed(&self) -> Vec<Vec<u8>> {
        self.changes.keys().cloned().collect()
    }

    /// All entries in the order of their names, and the proofs of those whose proofs changed. What was captured is copied
    /// only if somebody else has it, too.
    pub(super) fn finish(self) -> (Vec<Entry>, Vec<EntryStat>) {
        let before = Arc::unwrap_or_clone(self.node).entries;
        let is_known = |name: &[u8]| before.binary_search_by(|entry| entry.name.as_slice().cmp(name)).is_ok();
        let replaces = |(name, change): (&Vec<u8>, &Change)| !matches!(change, Change::Gone) && is_known(name);
        if self.changes.iter().all(replaces) { replaced(before, self.changes) } else { merged(before, self.changes) }
    }
}

/// Puts each change in the place of the entry that it is about.
fn replaced(mut entries: Vec<Entry>, changes: BTreeMap<Vec<u8>, Change>) -> (Vec<Entry>, Vec<EntryStat>) {
    let mut proofs = Vec::with_capacity(changes.len());
    let mut at = 0;
    for (name, change) in changes {
        at += entries[at..].partition_point(|entry| entry.name < name);
        if let Some(entry) = change.told(name, &mut proofs) {
            entries[at] = entry;
        }
    }
    (entries, proofs)
}

/// The same if names came or went.
fn merged(before: Vec<Entry>, changes: BTreeMap<Vec<u8>, Change>) -> (Vec<Entry>, Vec<EntryStat>) {
    let mut entries = Vec::with_capacity(before.len() + changes.len());
    let mut proofs = Vec::with_capacity(changes.len());
    let mut rest = before.into_iter().peekable();
    for (name, change) in changes {
        while let Some(entry) = rest.next_if(|entry| entry.name < name) {
            entries.push(entry);
        }
        rest.next_if(|entry| entry.name == name);
        entries.extend(change.told(name, &mut proofs));
    }
    entries.extend(rest);
    (entries, proofs)
}

impl Change {
    /// What is there now; what proves it, or that it is gone, is added to the proofs.
    fn told(self, name: Vec<u8>, proofs: &mut Vec<EntryStat>) -> Option<Entry> {
        match self {
            Change::Gone => {
                proofs.push(EntryStat::gone(name));
                None
            }
            Change::Entry(entry) => Some(entry),
            Change::Whole(entry, proof) => {
                proofs.push(proof);
                Some(entry)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, mode: u16) -> Entry {
        Entry { name: name.into(), meta: Meta { mode, ..Meta::default() }, kind: Kind::Fifo }
    }

    fn names(entries: &[Entry]) -> Vec<(&str, u16)> {
        entries.iter().map(|entry| (std::str::from_utf8(&entry.name).unwrap(), entry.meta.mode)).collect()
    }

    #[test]
    fn changes_are_merged_in_order_and_only_their_proofs_are_told() {
        let node = Node { entries: ["b", "d", "f", "h"].map(|name| entry(name, 1)).to_vec() };
        let mut entries = Entries::of(Arc::new(node));
        let proof = |name: &str| EntryStat { flags: 0, ..EntryStat::gone(name.into()) };
        for name in ["a", "d", "g", "z"] {
            entries.set(name.as_bytes(), Some((entry(name, 2), proof(name))));
        }
        entries.set(b"b", None);
        entries.set(b"z", None);
        entries.set(b"never there", None);
        entries.set(b"h", Some((entry("h", 3), proof("h"))));
        entries.keep(b"h");
        assert!(entries.get(b"b").is_none() && entries.get(b"f").is_some() && entries.get(b"g").is_some());
        let (entries, proofs) = entries.finish();
        assert_eq!(names(&entries), [("a", 2), ("d", 2), ("f", 1), ("g", 2), ("h", 1)]);
        let gone = |name: &str| EntryStat::gone(name.into());
        assert_eq!(proofs, [proof("a"), gone("b"), proof("d"), proof("g")]);
    }
}
