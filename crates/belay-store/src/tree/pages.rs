//! Nodes of many entries, cut into pages, so that a change in a large directory writes and reads a page of it.
//!
//! Where a page begins is decided by its first name alone: an entry that comes or goes moves no other border, and equal
//! directories are cut alike. A page is stored as a node of its own; the directory's node lists its pages.

use std::sync::Arc;

use super::{Entry, NODE_VERSION, Node, usable};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::Hash;

const LIST_VERSION: u8 = 2;
/// A directory of no more entries than this is one object.
const WHOLE_ENTRIES_MAX: usize = 96;
/// One name in so many begins a page.
const PAGE_ENTRIES_MEAN: u64 = 48;

/// More bytes than most entries take.
pub(super) const ENTRY_BYTES_GUESS: usize = 128;

/// What the object of a directory holds.
#[derive(Clone)]
pub(crate) enum Shape {
    /// All entries.
    Whole(Arc<Node>),
    /// Where its entries are.
    Pages(Arc<Pages>),
}

/// The pages of a large directory, in the order of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pages {
    pub(crate) list: Vec<Page>,
}

/// A stretch of a large directory's entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// The name of its first entry.
    pub(crate) first: Vec<u8>,
    /// How many entries it has.
    pub(crate) count: u64,
    /// The key of the node that holds them.
    pub(crate) key: Hash,
}

impl Node {
    /// Hands the objects that make up the node to `put`, which returns their keys; returns the node's own.
    pub fn store(&self, put: &mut dyn FnMut(&[u8]) -> Result<Hash>) -> Result<Hash> {
        self.store_after(None, put).map(|(key, _)| key)
    }

    /// The same, without the pages that the directory had before, if only entries of these names, in order, are others now;
    /// returns its pages, too, if it has any.
    pub(crate) fn store_after(
        &self,
        before: Option<(&Pages, &[Vec<u8>])>,
        put: &mut dyn FnMut(&[u8]) -> Result<Hash>,
    ) -> Result<(Hash, Option<Arc<Pages>>)> {
        let stretches = match before {
            Some((pages, changed)) => self.cut_again(pages, changed),
            None => cut(&self.entries),
        };
        if stretches.len() < 2 {
            return Ok((put(&self.encode())?, None));
        }
        let mut list = Vec::with_capacity(stretches.len());
        let mut before = before.map(|(pages, changed)| (pages.list.as_slice(), changed));
        for (at, entries) in stretches.iter().enumerate() {
            let end = stretches.get(at + 1).map(|next| next[0].name.as_slice());
            let key = match before.as_mut().and_then(|before| unchanged(before, entries, end)) {
                Some(key) => key,
                None => put(&encode(entries))?,
            };
            list.push(Page { first: entries[0].name.clone(), count: entries.len() as u64, key });
        }
        let pages = Pages { list };
        Ok((put(&pages.encode())?, Some(Arc::new(pages))))
    }
}

impl Node {
    /// The stretches of entries that are stored together, if only entries of these names are others than in these pages.
    fn cut_again(&self, pages: &Pages, changed: &[Vec<u8>]) -> Vec<&[Entry]> {
        if self.entries.len() <= WHOLE_ENTRIES_MAX {
            return vec![&self.entries];
        }
        // The first page began with the first name, whatever that was.
        let first = pages.list.iter().take(1).map(|page| &page.first);
        let new = first.chain(changed).filter(|name| begins(name));
        let mut borders: Vec<&Vec<u8>> = pages.list.iter().skip(1).map(|page| &page.first).chain(new).collect();
        borders.sort_unstable();
        borders.dedup();
        let mut stretches = Vec::with_capacity(borders.len() + 1);
        let mut from = 0;
        for at in borders.into_iter().filter_map(|name| self.find(name).ok()).filter(|at| *at > 0) {
            stretches.push(&self.entries[from..at]);
            from = at;
        }
        stretches.push(&self.entries[from..]);
        stretches
    }
}

/// The key of the page that had just these entries, of which the next page begins with the name `end`; pages and changed
/// names before them are dropped.
///
/// Where no name between both borders changed, everything is as it was there: so a page that began alike and was as long
/// had the same.
fn unchanged(before: &mut (&[Page], &[Vec<u8>]), entries: &[Entry], end: Option<&[u8]>) -> Option<Hash> {
    let (pages, changed) = before;
    let first = &entries[0].name;
    *pages = &pages[pages.partition_point(|page| page.first < *first)..];
    *changed = &changed[changed.partition_point(|name| name < first)..];
    let is_other = changed.first().is_some_and(|name| end.is_none_or(|end| name.as_slice() < end));
    let page = pages.first().filter(|page| page.first == *first && page.count == entries.len() as u64)?;
    (!is_other).then_some(page.key)
}

/// The bytes of a node, or of a page, with these entries.
pub(super) fn encode(entries: &[Entry]) -> Vec<u8> {
    let mut out = Encoder::default();
    out.bytes.reserve(entries.len() * ENTRY_BYTES_GUESS);
    out.byte(NODE_VERSION);
    out.number(entries.len() as u64);
    entries.iter().for_each(|entry| entry.encode(&mut out));
    out.bytes
}

/// The stretches of entries that are stored together.
fn cut(entries: &[Entry]) -> Vec<&[Entry]> {
    if entries.len() <= WHOLE_ENTRIES_MAX {
        return vec![entries];
    }
    let mut stretches = Vec::new();
    let mut from = 0;
    for at in 1..entries.len() {
        if begins(&entries[at].name) {
            stretches.push(&entries[from..at]);
            from = at;
        }
    }
    stretches.push(&entries[from..]);
    stretches
}

/// Whether a page begins with this name: FNV-1a, and MurmurHash3's last step, because numbered names differ at the end only.
fn begins(name: &[u8]) -> bool {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let mut mixed = name.iter().fold(0xcbf2_9ce4_8422_2325, step);
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        mixed = (mixed ^ mixed >> 33).wrapping_mul(factor);
    }
    (mixed ^ mixed >> 33) % PAGE_ENTRIES_MEAN == 0
}

impl Pages {
    /// Whether a node's object lists pages.
    pub(crate) fn is_list(bytes: &[u8]) -> bool {
        bytes.first() == Some(&LIST_VERSION)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        out.byte(LIST_VERSION);
        out.number(self.list.len() as u64);
        for page in &self.list {
            out.blob(&page.first);
            out.number(page.count);
            out.hash(&page.key);
        }
        out.bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Pages> {
        let mut input = Decoder::new(bytes, "a list of pages");
        if input.byte()? != LIST_VERSION {
            return Err(input.bad("its version is unknown"));
        }
        let count = input.count()?;
        let mut list: Vec<Page> = Vec::with_capacity(count.min(4096));
        for _ in 0..count {
            let (first, count, key) = (input.blob()?.to_vec(), input.number()?, input.hash()?);
            let ordered = list.last().is_none_or(|last| last.first < first && begins(&first));
            if !ordered || !usable(&first) || count == 0 {
                return Err(input.bad("its pages are not in order"));
            }
            list.push(Page { first, count, key });
        }
        if list.len() < 2 {
            return Err(input.bad("it has too few pages"));
        }
        input.finish()?;
        Ok(Pages { list })
    }

    /// The pages that the other directory does not have, and what is only in that.
    pub(crate) fn apart<'a>(&'a self, other: &'a Pages) -> (Vec<&'a Page>, Vec<&'a Page>) {
        let (mut left, mut right) = (self.list.iter().peekable(), other.list.iter().peekable());
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            if a.key == b.key {
                left.next();
                right.next();
            } else if a.first <= b.first {
                ours.extend(left.next());
            } else {
                theirs.extend(right.next());
            }
        }
        ours.extend(left);
        theirs.extend(right);
        (ours, theirs)
    }
}

/// One node of the entries of these pages, each checked against what the list says of it.
pub(crate) fn join(pages: &[&Page], read: &mut dyn FnMut(&Page) -> Result<Arc<Node>>) -> Result<Node> {
    let mut entries: Vec<Entry> = Vec::new();
    for page in pages {
        let node = read(page)?;
        let (first, bad) = (node.entries.first(), Error::corrupt(format!("object {}", page.key), "it is another page"));
        let as_listed = first.is_some_and(|entry| entry.name == page.first) && node.entries.len() as u64 == page.count;
        let in_order = entries.last().is_none_or(|last| last.name < page.first);
        if !as_listed || !in_order {
            return Err(bad);
        }
        match Arc::try_unwrap(node) {
            Ok(node) => entries.extend(node.entries),
            Err(shared) => entries.extend_from_slice(&shared.entries),
        }
    }
    Ok(Node { entries })
}

#[cfg(test)]
mod tests;
