//! The format file made again, from what the packs prove and from nothing else.
//!
//! An object has the hash that names it by one algorithm only, so that any object proves the store's. The number says which
//! readers understand what is stored: it is the lowest that what was found there asks for. Whatever this build does not know
//! may be a newer one's, and then nothing is written.

use std::io;
use std::sync::Arc;

use crate::disk::{Disk, LockMode};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::hash::{Algorithm, Hash};
use crate::manifest::{Coverage, GapKind, Links, Manifest};
use crate::native::{COPIES, Copies, POINTERS};
use crate::objects::{
    COPIES_FORMAT, FORMAT, FORMAT_FILE, LOCK, PACKS, PACKS_FORMAT, UNCHECKED_FORMAT, UNREAD_FORMAT, format_text,
    write_format,
};
use crate::pack::{Block, Pack, Place};
use crate::tree::{Node, Pages, Segment};

/// Writes the format file anew if it is damaged and what is stored proves what it said; returns what it says now.
///
/// A store of a newer format is refused, and one that proves nothing, or two things, is left as it is.
pub fn mend_format(disk: &Arc<dyn Disk>) -> Result<Option<(u32, Algorithm)>> {
    let Some(legible) = damage(disk.as_ref())? else { return Ok(None) };
    // Nobody adds to what is looked at.
    let _alone = disk.lock(LOCK, LockMode::Exclusive, true).map_err(Error::disk("lock", LOCK))?;
    let (format, algorithm) = Proof::of(disk)?.says()?;
    let proven = (format.max(legible), algorithm);
    write_format(disk.as_ref(), proven, &|disk| damage(disk).is_ok_and(|legible| legible.is_some()))?;
    Ok(Some(proven))
}

/// Whether the format file is, to the byte, what some build of belay writes in a store with that hash.
pub(crate) fn is_known_format(text: &[u8], algorithm: Algorithm) -> bool {
    (1..=FORMAT).any(|format| text == format_text(format, algorithm).as_bytes())
}

/// The number that a damaged format file still tells, or 0; none if the file is as it should be.
fn damage(disk: &dyn Disk) -> Result<Option<u32>> {
    let text = match disk.read(FORMAT_FILE) {
        // In an empty store it is made by whoever opens it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((!pack_names(disk)?.is_empty()).then_some(0));
        }
        text => text.map_err(Error::disk("read", FORMAT_FILE))?,
    };
    if [Algorithm::Blake3, Algorithm::Sha256].into_iter().any(|algorithm| is_known_format(&text, algorithm)) {
        return Ok(None);
    }
    // It counts whatever is left of the rest: a store of a newer belay is not made an older one by a damaged byte.
    let numbers = text.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"format "));
    let legible = numbers.filter_map(|number| std::str::from_utf8(number).ok()?.trim().parse().ok()).max();
    match legible.unwrap_or(0) {
        found if found > FORMAT => Err(Error::TooNew { found, supported: FORMAT }),
        legible => Ok(Some(legible)),
    }
}

fn pack_names(disk: &dyn Disk) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for dir in [PACKS, POINTERS] {
        let files = disk.list(dir).map_err(Error::disk("list", dir))?;
        let packs = files.into_iter().filter(|(name, _)| name.ends_with(".pack"));
        names.extend(packs.map(|(name, _)| format!("{dir}/{name}")));
    }
    Ok(names)
}

/// What the store tells of itself.
struct Proof {
    format: u32,
    /// The algorithms by which an object has its name.
    hashes: Vec<Algorithm>,
    /// What this build does not know, and where.
    unknown: Option<String>,
}

impl Proof {
    fn of(disk: &Arc<dyn Disk>) -> Result<Proof> {
        let copies: Arc<Copies> = Arc::default();
        copies.reload(disk.as_ref())?;
        let has_copies = !disk.list(COPIES).map_err(Error::disk("list", COPIES))?.is_empty();
        let format = if has_copies { COPIES_FORMAT } else { PACKS_FORMAT };
        let mut proof = Proof { format, hashes: Vec::new(), unknown: None };
        let mut packs = Vec::new();
        for name in pack_names(disk.as_ref())? {
            let opened = match name.starts_with(POINTERS) {
                true => Pack::open_pointers(disk.as_ref(), &name, &copies),
                false => Pack::open(disk.as_ref(), &name),
            };
            match opened.and_then(|pack| pack.check_tables().map(|()| pack)) {
                Ok(pack) => packs.push(pack),
                // What is damaged proves nothing, and `verify` names it.
                Err(Error::Corrupt { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        for pack in &packs {
            proof.look_at(pack)?;
        }
        // Every snapshot has records among the nodes; only where none of them can be read files have to tell.
        for pack in &packs {
            if proof.hashes.is_empty() {
                proof.read(pack, |block| !block.tree)?;
            }
        }
        Ok(proof)
    }

    /// Takes in what a pack tells by its tables and its nodes.
    fn look_at(&mut self, pack: &Pack) -> Result<()> {
        if !pack.has_known_flags()? {
            self.unknown = Some(format!("{} has blocks of a kind that this belay does not know", pack.name));
        }
        if pack.copies.is_some() {
            self.format = self.format.max(COPIES_FORMAT);
        }
        if pack.blocks()?.iter().any(|block| block.check.is_none()) {
            self.format = self.format.max(UNCHECKED_FORMAT);
        }
        self.read(pack, |block| block.tree)
    }

    /// Takes in the objects of those blocks; one that is damaged says nothing.
    fn read(&mut self, pack: &Pack, wanted: impl Fn(&Block) -> bool) -> Result<()> {
        let (blocks, mut objects) = (pack.blocks()?, pack.objects()?);
        objects.sort_by_key(|(_, place)| (place.block, place.offset));
        for group in objects.chunk_by(|a, b| a.1.block == b.1.block) {
            let Some(block) = blocks.get(group[0].1.block as usize).filter(|block| wanted(block)) else { continue };
            let Ok(raw) = pack.check_bounds(block).and_then(|()| pack.raw(block)) else { continue };
            for (key, place) in group {
                self.take_in(&pack.name, block.tree, (key, place), &raw);
            }
        }
        Ok(())
    }

    fn take_in(&mut self, pack: &str, is_tree: bool, (key, place): (&Hash, &Place), raw: &[u8]) {
        let Some(bytes) = place.of(raw) else { return };
        let named_by = |algorithm: &Algorithm| algorithm.hash(bytes) == *key;
        let Some(algorithm) = [Algorithm::Blake3, Algorithm::Sha256].into_iter().find(named_by) else { return };
        if !self.hashes.contains(&algorithm) {
            self.hashes.push(algorithm);
        }
        match needs(bytes, algorithm) {
            Some(format) if is_tree => self.format = self.format.max(format),
            None if is_tree => self.unknown = Some(format!("{key} in {pack} is of no kind that this belay knows")),
            _ => {}
        }
    }

    fn says(&self) -> Result<(u32, Algorithm)> {
        let unproven = |detail: &str| Err(Error::Unproven { detail: detail.to_owned() });
        match (&self.unknown, self.hashes.as_slice()) {
            (Some(unknown), _) => unproven(&format!("{unknown}, so that a newer one may have written it")),
            (None, [algorithm]) => Ok((self.format, *algorithm)),
            (None, []) => unproven("no object in it can be read"),
            (None, _) => unproven("some of its objects have one hash and some another"),
        }
    }
}

/// The lowest format that has such a record; none if this build knows no record that reads so.
fn needs(bytes: &[u8], algorithm: Algorithm) -> Option<u32> {
    let node = Node::decode(bytes).ok().map(|node| node.entries.iter().any(|entry| entry.meta.xattrs_unread));
    let coverage =
        || Coverage::decode(bytes).ok().map(|all| all.gaps.iter().any(|gap| gap.kind == GapKind::Attributes));
    let is_other = || {
        Pages::decode(bytes).is_ok()
            || Manifest::decode(bytes, algorithm).is_ok()
            || Links::decode(bytes).is_ok()
            || Filter::decode(bytes).is_ok()
            || Segment::decode_any(bytes).is_ok()
    };
    let is_unread = node.or_else(coverage).or_else(|| is_other().then_some(false))?;
    Some(if is_unread { UNREAD_FORMAT } else { PACKS_FORMAT })
}

#[cfg(test)]
mod tests;
