//! The steps of a plan, packed: there may be as many of them as files, and an entry takes three times as much unpacked.

use std::fmt;

use super::{MtimePolicy, difference, links};
use crate::codec::{Decoder, Encoder};
use crate::diff::What;
use crate::tree::{Entry, Kind};
use belay_sys::Time;

/// The steps of a plan, parents before children, in the order of names.
#[derive(Clone, Default)]
pub struct Steps {
    rows: Vec<Row>,
    /// The paths and entries of all of them.
    packed: Vec<u8>,
}

/// One step, but for what is packed.
#[derive(Clone, Copy)]
struct Row {
    /// Where its path and entries are packed.
    at: u64,
    /// Where the path that it is a hard link to is packed.
    link_at: u64,
    what: What,
    names: u32,
}

const NO_LINK: u64 = u64::MAX;

/// One path that a restore changes.
#[derive(Clone, Debug)]
pub struct Step<'a> {
    /// The path beneath the workspace.
    pub path: &'a [u8],
    /// What is there and was captured before the restore, without its name.
    pub before: Option<Entry>,
    /// What will be there, without its name.
    pub after: Option<Entry>,
    /// In what they differ.
    pub what: What,
    /// The path that this one is a hard link to, if its group says so.
    pub link_to: Option<&'a [u8]>,
    /// How many names the file that is there has in the workspace.
    pub(crate) names: u32,
}

impl Steps {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Step<'_>> + ExactSizeIterator {
        self.rows.iter().map(|row| self.unpack(row))
    }

    /// The paths of all of them, in order.
    pub fn paths(&self) -> impl DoubleEndedIterator<Item = &[u8]> + ExactSizeIterator {
        self.rows.iter().map(|row| path_at(&self.packed, row.at))
    }

    /// Leaves those that `keep` says no to.
    pub fn retain(&mut self, mut keep: impl FnMut(&Step<'_>) -> bool) {
        let Steps { mut rows, packed } = std::mem::take(self);
        rows.retain(|row| keep(&unpack(&packed, row)));
        *self = Steps { rows, packed };
    }

    pub(super) fn get(&self, at: usize) -> Step<'_> {
        self.unpack(&self.rows[at])
    }

    pub(super) fn path(&self, at: usize) -> &[u8] {
        path_at(&self.packed, self.rows[at].at)
    }

    pub(super) fn push(&mut self, path: &[u8], before: Option<&Entry>, after: Option<&Entry>, what: What) {
        let at = self.packed.len() as u64;
        let mut out = Encoder { bytes: std::mem::take(&mut self.packed) };
        out.blob(path);
        for entry in [before, after] {
            out.byte(u8::from(entry.is_some()));
            if let Some(entry) = entry {
                entry.encode_nameless(&mut out);
            }
        }
        self.packed = out.bytes;
        self.rows.push(Row { at, link_at: NO_LINK, what, names: 1 });
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.rows.truncate(len);
    }

    pub(super) fn what_mut(&mut self, at: usize) -> &mut What {
        &mut self.rows[at].what
    }

    pub(super) fn set_names(&mut self, at: usize, names: u32) {
        self.rows[at].names = names;
    }

    pub(super) fn set_link(&mut self, at: usize, to: Option<&[u8]>) {
        self.rows[at].link_at = match to {
            None => NO_LINK,
            Some(path) => {
                let at = self.packed.len() as u64;
                let mut out = Encoder { bytes: std::mem::take(&mut self.packed) };
                out.blob(path);
                self.packed = out.bytes;
                at
            }
        };
    }

    /// Drops those that change nothing.
    pub(super) fn drop_idle(&mut self) {
        self.rows.retain(|row| row.what != What::default());
    }

    pub(super) fn sort(&mut self) {
        let Steps { rows, packed } = self;
        rows.sort_by(|a, b| links::in_tree_order(path_at(packed, a.at), path_at(packed, b.at)));
    }

    fn unpack(&self, row: &Row) -> Step<'_> {
        unpack(&self.packed, row)
    }
}

impl<'a> IntoIterator for &'a Steps {
    type Item = Step<'a>;
    type IntoIter = Box<dyn Iterator<Item = Step<'a>> + 'a>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

const OURS: &str = "what was packed here is unpacked here";

fn path_at(packed: &[u8], at: u64) -> &[u8] {
    Decoder::new(&packed[at as usize..], "a plan").blob().expect(OURS)
}

fn unpack<'a>(packed: &'a [u8], row: &Row) -> Step<'a> {
    let mut input = Decoder::new(&packed[row.at as usize..], "a plan");
    let path = input.blob().expect(OURS);
    let mut entry = || match input.byte().expect(OURS) {
        0 => None,
        _ => Some(Entry::decode_nameless(&mut input).expect(OURS)),
    };
    let (before, after) = (entry(), entry());
    let link_to = (row.link_at != NO_LINK).then(|| path_at(packed, row.link_at));
    Step { path, before, after, what: row.what, link_to, names: row.names }
}

impl Step<'_> {
    /// Whether something new takes the place of what is there, if anything is.
    pub(super) fn is_replacement(&self) -> bool {
        let what = &self.what;
        self.after.is_some() && (what.added || what.retyped || what.content || what.links)
    }

    /// Whether it only opens what its owner cannot read and the target knows.
    pub fn opens(&self) -> bool {
        let is_opaque = |entry: &Option<Entry>| entry.as_ref().is_some_and(Entry::is_opaque);
        self.what.opaque && is_opaque(&self.before) && self.after.is_some() && !is_opaque(&self.after)
    }

    pub(super) fn becomes_dir(&self) -> bool {
        is_dir(&self.after)
    }

    pub(super) fn was_dir(&self) -> bool {
        is_dir(&self.before)
    }

    /// Whether what will be there is made anew, beside what is there.
    ///
    /// A file that runs with another's rights is, even if only its mode differs: whoever writes to the workspace could
    /// change its content between the look at it and the change, and so gain those rights.
    pub(super) fn is_staged(&self) -> bool {
        let privileged = |entry: &Entry| matches!(entry.kind, Kind::File { .. }) && difference::is_privileged(entry);
        self.is_replacement() || self.after.as_ref().is_some_and(privileged)
    }

    /// Bytes that the step writes.
    pub(super) fn bytes(&self) -> u64 {
        match self.after.as_ref().map(|entry| &entry.kind) {
            Some(Kind::File { size, .. }) if self.is_staged() && self.link_to.is_none() => *size,
            _ => 0,
        }
    }

    /// The modification time that is set, if it is not to be the present.
    pub(super) fn mtime(&self, policy: MtimePolicy) -> Option<Time> {
        let time = |entry: &Option<Entry>| entry.as_ref().map(|entry| entry.meta.mtime);
        match policy {
            MtimePolicy::Exact => time(&self.after),
            // Its content does not change, so build tools need not see it.
            MtimePolicy::Fresh if !self.what.added && !self.what.retyped && !self.what.content => time(&self.before),
            MtimePolicy::Fresh => None,
        }
    }
}

fn is_dir(entry: &Option<Entry>) -> bool {
    entry.as_ref().is_some_and(|entry| matches!(entry.kind, Kind::Dir { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Algorithm;
    use crate::tree::{Content, Meta};

    fn file(size: u64) -> Entry {
        let content = Content::Whole(Algorithm::Blake3.hash(&size.to_le_bytes()));
        let xattrs = vec![(b"user.a".to_vec(), vec![0; size as usize])];
        let mtime = Time { sec: -1, nsec: 5 };
        Entry {
            name: Vec::new(),
            meta: Meta { mode: 0o640, mtime, xattrs, ..Meta::default() },
            kind: Kind::File { size, content },
        }
    }

    #[test]
    fn what_is_packed_comes_out_as_it_was_in_whatever_order() {
        let added = What { added: true, ..What::default() };
        let mut steps = Steps::default();
        let named = Entry { name: b"named".to_vec(), ..file(3) };
        steps.push(b"b/c", None, Some(&file(1)), added);
        steps.push(b"b", Some(&named), Some(&file(2)), What { content: true, ..What::default() });
        steps.push(b"idle", Some(&file(4)), None, What::default());
        steps.push(b"a", Some(&file(5)), None, What { removed: true, ..What::default() });
        steps.push(b"z", None, None, added);
        steps.set_link(0, Some(b"b"));
        steps.set_names(1, 7);
        steps.truncate(4);
        steps.drop_idle();
        steps.sort();
        assert_eq!(steps.paths().collect::<Vec<_>>(), [&b"a"[..], b"b", b"b/c"]);
        let (a, b, c) = (steps.get(0), steps.get(1), steps.get(2));
        assert_eq!((a.before, a.after, a.link_to), (Some(file(5)), None, None));
        assert_eq!((b.before, b.after, b.names), (Some(file(3)), Some(file(2)), 7));
        assert_eq!((c.after, c.what, c.link_to, steps.path(2)), (Some(file(1)), added, Some(&b"b"[..]), &b"b/c"[..]));
        steps.retain(|step| step.path != b"b");
        assert_eq!(steps.paths().collect::<Vec<_>>(), [&b"a"[..], b"b/c"]);
    }
}
