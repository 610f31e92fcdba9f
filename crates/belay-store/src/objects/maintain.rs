//! Keeps the number of packs small: many small packs become one, block by block, without unpacking.

use std::sync::Arc;

use super::{KeySet, LOCK, PACKS, POINTERS, Store};
use crate::disk::LockMode;
use crate::error::{Error, Result};
use crate::pack::{Pack, PackWriter};

/// Held by whoever moves objects between packs, so that two do not move the same ones.
pub(crate) const MOVE_LOCK: &str = "store/move.lock";

/// Packs below each of these sizes are merged once there are more than `PACKS_PER_TIER` of them.
const TIERS: [u64; 2] = [4 << 20, 32 << 20];
const PACKS_PER_TIER: usize = 16;

/// How the name of a pack begins that somebody writes, or wrote until it was killed.
const LEFTOVER: &str = "tmp-";

impl Store {
    /// Merges small packs if there are many, and gives back what a writer that was killed left behind; does nothing if
    /// another process is at it.
    pub fn maintain(&self) -> Result<()> {
        [PACKS, POINTERS].into_iter().try_for_each(|dir| self.merge_small(dir))
    }

    /// Removes the files of writers that died, unless somebody writes at this moment: then the next one does it.
    fn remove_leftovers(&self, dir: &str) -> Result<()> {
        let lock = |name: &str| self.disk.lock(name, LockMode::Exclusive, false).map_err(Error::disk("lock", name));
        // Whoever merges or collects holds the first, whoever captures the second.
        let Some(_moving) = lock(MOVE_LOCK)? else { return Ok(()) };
        let Some(_alone) = lock(LOCK)? else { return Ok(()) };
        for (name, _) in self.disk.list(dir).map_err(Error::disk("list", dir))? {
            if name.starts_with(LEFTOVER) {
                let name = format!("{dir}/{name}");
                self.disk.remove(&name).map_err(Error::disk("remove", &name))?;
            }
        }
        Ok(())
    }

    fn merge_small(&self, dir: &'static str) -> Result<()> {
        let files = self.disk.list(dir).map_err(Error::disk("list", dir))?;
        if files.iter().any(|(name, _)| name.starts_with(LEFTOVER)) {
            self.remove_leftovers(dir)?;
        }
        let crowded = |limit: u64| {
            files.iter().filter(|(name, len)| name.ends_with(".pack") && *len < limit).count() > PACKS_PER_TIER
        };
        let Some(limit) = TIERS.into_iter().find(|limit| crowded(*limit)) else { return Ok(()) };
        let lock = self.disk.lock(MOVE_LOCK, LockMode::Exclusive, false).map_err(Error::disk("lock", MOVE_LOCK))?;
        if lock.is_none() {
            return Ok(());
        }
        let packs = self.reload()?;
        if dir == POINTERS && !self.copies.damaged().is_empty() {
            // Pointers into a copy whose record cannot be read are not void.
            return Ok(());
        }
        let small: Vec<_> = packs.iter().filter(|pack| pack.len < limit && pack.dir() == dir).cloned().collect();
        self.merge(&small, dir)
    }

    /// Writes the blocks of all these packs into one and removes them; what they hold stays readable throughout.
    fn merge(&self, packs: &[Arc<Pack>], dir: &str) -> Result<()> {
        let mut writer = PackWriter::create(&self.disk, dir)?;
        let mut seen = KeySet::default();
        for pack in packs {
            copy_blocks(pack, &mut writer, &mut seen)?;
        }
        let merged = writer.seal()?;
        let name = merged.name().to_string();
        merged.publish()?;
        self.disk.sync_dir(dir).map_err(Error::disk("sync", dir))?;
        // If one pack holds all that the others do, the merged one is that very pack and has its name.
        for pack in packs.iter().filter(|pack| pack.name != name) {
            self.disk.remove(&pack.name).map_err(Error::disk("remove", &pack.name))?;
        }
        self.reload().map(drop)
    }
}

/// Copies every block that holds an object that is new to `seen`.
fn copy_blocks(pack: &Pack, writer: &mut PackWriter, seen: &mut KeySet) -> Result<()> {
    let blocks = pack.blocks()?;
    let mut objects = vec![Vec::new(); blocks.len()];
    for (key, place) in pack.objects()? {
        let Some(list) = objects.get_mut(place.block as usize) else {
            return Err(Error::corrupt(&pack.name, "an object names a block that is not there"));
        };
        // A void pointer must not stand in the way of one that leads somewhere.
        if pack.leads(place)? && seen.insert(key) {
            list.push((key, place.offset, place.len));
        }
    }
    for (block, objects) in blocks.iter().zip(&objects).filter(|(_, objects)| !objects.is_empty()) {
        pack.check_bounds(block)?;
        let stored = pack.stored(block)?;
        writer.append(&stored, block.raw_len as usize, block.compressed, block.tree, objects)?;
    }
    Ok(())
}
