//! Changes, packed: whoever needs all of them at once may have as many as there are files.

use super::Change;
use crate::codec::{Decoder, Encoder};
use crate::tree::Entry;

/// Many changes in little memory.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Where each is packed.
    rows: Vec<u64>,
    packed: Vec<u8>,
}

impl Changes {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds one behind the others.
    pub fn push(&mut self, change: &Change) {
        self.rows.push(self.packed.len() as u64);
        let mut out = Encoder { bytes: std::mem::take(&mut self.packed) };
        out.blob(&change.path);
        out.byte(u8::from(change.opaque));
        for entry in [&change.before, &change.after] {
            out.byte(u8::from(entry.is_some()));
            if let Some(entry) = entry {
                entry.encode(&mut out);
            }
        }
        self.packed = out.bytes;
    }

    /// The one of that number.
    pub fn get(&self, number: usize) -> Change {
        unpack(&self.packed, self.rows[number])
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Change> + ExactSizeIterator {
        self.rows.iter().map(|at| unpack(&self.packed, *at))
    }

    /// Leaves those that `keep` says no to.
    pub fn retain(&mut self, mut keep: impl FnMut(&Change) -> bool) {
        let Changes { rows, packed } = self;
        rows.retain(|at| keep(&unpack(packed, *at)));
    }
}

impl FromIterator<Change> for Changes {
    fn from_iter<T: IntoIterator<Item = Change>>(all: T) -> Changes {
        let mut changes = Changes::default();
        all.into_iter().for_each(|change| changes.push(&change));
        changes
    }
}

fn unpack(packed: &[u8], at: u64) -> Change {
    const OURS: &str = "what was packed here is unpacked here";
    let mut input = Decoder::new(&packed[at as usize..], "a change");
    let path = input.blob().expect(OURS).to_vec();
    let opaque = input.byte().expect(OURS) != 0;
    let mut entry = || match input.byte().expect(OURS) {
        0 => None,
        _ => Some(Entry::decode(&mut input).expect(OURS)),
    };
    let (before, after) = (entry(), entry());
    Change { path, before, after, opaque }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Algorithm;
    use crate::tree::{Content, Kind, Meta};

    #[test]
    fn changes_come_out_as_they_went_in() {
        let entry = |name: &str, size| Entry {
            name: name.into(),
            meta: Meta { mode: 0o4755, xattrs: vec![(b"user.x".to_vec(), Vec::new())], ..Meta::default() },
            kind: Kind::File { size, content: Content::Whole(Algorithm::Blake3.hash(name.as_bytes())) },
        };
        let change = |path: &str, before, after, opaque| Change { path: path.into(), before, after, opaque };
        let list = vec![
            change("", Some(entry("", 1)), Some(entry("", 2)), false),
            change("a/b", None, Some(entry("b", u64::MAX)), true),
            change("c", Some(entry("c", 0)), None, false),
        ];
        let mut changes: Changes = list.iter().cloned().collect();
        assert_eq!((changes.len(), changes.get(1)), (3, list[1].clone()));
        assert_eq!(changes.iter().collect::<Vec<_>>(), list);
        changes.retain(|change| !change.opaque);
        assert_eq!(changes.iter().rev().map(|change| change.path).collect::<Vec<_>>(), [&b"c"[..], b""]);
    }
}
