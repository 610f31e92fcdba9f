//! What snapshots weigh: the bytes that each adds to others, and the bytes that only it needs.

mod paths;

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::manifest::Manifest;
use crate::objects::{KeyMap, Store};
use crate::tree::{Content, Kind, Segment, View};

pub use paths::{HeavyPath, heaviest};

/// What a group of snapshots weighs in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// Bytes that the groups before it do not need.
    pub added_bytes: u64,
    /// Bytes that no other group needs.
    pub exclusive_bytes: u64,
}

/// Who needs an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Only(u32),
    Many,
}

/// Weighs groups of snapshots; the cost follows the number of different objects, not of snapshots.
pub fn weigh(store: &Store, groups: &[Vec<Hash>]) -> Result<Vec<Weight>> {
    store.reload()?;
    let mut scales = Scales { store, owners: KeyMap::default(), packs: HashMap::new(), weights: Vec::new() };
    for (at, group) in groups.iter().enumerate() {
        scales.weights.push(Weight::default());
        for key in group {
            scales.snapshot(at as u32, key)?;
        }
    }
    Ok(scales.weights)
}

struct Scales<'a> {
    store: &'a Store,
    owners: KeyMap<Owner>,
    /// For each pack, the bytes that it has beside its blocks and the bytes of its objects unpacked.
    packs: HashMap<u64, (u64, u64)>,
    weights: Vec<Weight>,
}

impl Scales<'_> {
    fn snapshot(&mut self, group: u32, key: &Hash) -> Result<()> {
        if !self.needs(group, key)? {
            return Ok(());
        }
        let manifest = Manifest::read(self.store, key)?;
        for part in [manifest.filter, manifest.coverage].into_iter().chain(manifest.links) {
            self.needs(group, &part)?;
        }
        let mut nodes = vec![manifest.root_node()];
        while let Some(node) = nodes.pop() {
            if !self.needs(group, &node)? {
                continue;
            }
            for entry in &self.store.node(&node)?.entries {
                match &entry.kind {
                    Kind::Dir { node, .. } => nodes.push(*node),
                    Kind::File { size, content } if *size > 0 => self.content(group, *size, content)?,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn content(&mut self, group: u32, size: u64, content: &Content) -> Result<()> {
        match content {
            Content::Whole(key) => self.needs(group, key).map(drop),
            Content::Chunked { list, .. } | Content::Sparse { list } => {
                if self.needs(group, list)? {
                    for segment in View::stored(self.store).segments(size, content)? {
                        if let Segment::Data { key, .. } = segment {
                            self.needs(group, &key)?;
                        }
                    }
                }
                Ok(())
            }
        }
    }

    /// Notes that the group needs an object; false if that changes nothing, for it nor for what it refers to.
    fn needs(&mut self, group: u32, key: &Hash) -> Result<bool> {
        let bytes = match self.owners.get(key) {
            Some(Owner::Many) => return Ok(false),
            Some(Owner::Only(owner)) if *owner == group => return Ok(false),
            _ => self.stored_bytes(key)?,
        };
        match self.owners.entry(*key) {
            Slot::Vacant(slot) => {
                slot.insert(Owner::Only(group));
                let weight = &mut self.weights[group as usize];
                weight.added_bytes += bytes;
                weight.exclusive_bytes += bytes;
            }
            Slot::Occupied(mut slot) => {
                if let Owner::Only(owner) = slot.insert(Owner::Many) {
                    self.weights[owner as usize].exclusive_bytes -= bytes;
                }
            }
        }
        Ok(true)
    }

    /// The object's share of its block, and of what a pack says about its blocks.
    fn stored_bytes(&mut self, key: &Hash) -> Result<u64> {
        let (pack, place) = self.store.find(key)?.ok_or(Error::Missing(*key))?;
        let len = u64::from(place.len);
        // Pointers stand for what all copies take together.
        let id = if pack.copies.is_some() { u64::MAX } else { pack.id };
        let (shared, raw) = match self.packs.entry(id) {
            Slot::Occupied(known) => *known.get(),
            Slot::Vacant(slot) if pack.copies.is_some() => *slot.insert(self.store.weight_of_copies()?),
            Slot::Vacant(slot) => {
                let (mut stored, mut raw) = (0, 0);
                for block in pack.blocks()? {
                    stored += u64::from(block.stored_len);
                    raw += u64::from(block.raw_len);
                }
                *slot.insert((pack.len.saturating_sub(stored), raw))
            }
        };
        if pack.copies.is_some() {
            return Ok(share(len, shared, raw));
        }
        let block = pack.block(place.block)?;
        Ok(share(len, block.stored_len.into(), block.raw_len.into()) + share(len, shared, raw))
    }
}

/// So much of `stored` as `len` is of `raw`.
fn share(len: u64, stored: u64, raw: u64) -> u64 {
    (u128::from(len) * u128::from(stored) / u128::from(raw.max(1))) as u64
}
