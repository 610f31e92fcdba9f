//! Gets back what can be had: good objects out of damaged packs, lost ones from workspaces that still hold them, and
//! directories from all that is left.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use belay_sys::{Root, Time};

use super::VerifyReport;
use super::rebuild::Sources;
use crate::capture::{CaptureOptions, Captured, Limits, Quiet, Source, capture};
use crate::disk::LockMode;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::hash::Hash;
use crate::manifest::Manifest;
use crate::native::POINTERS;
use crate::objects::{LOCK, MOVE_LOCK, ObjectKind, PACKS, Store, repack};
use crate::pack::{Pack, PackWriter, Place};

/// What a repair did.
#[derive(Clone, Debug, Default)]
pub struct Repair {
    /// Objects that were found again, with the same hash, and stored anew.
    pub healed: u64,
    /// Objects that are lost.
    pub lost: Vec<Hash>,
    /// Damaged files that were kept beside the store under another name, because something in them is lost.
    pub set_aside: Vec<String>,
}

/// A workspace that may still hold what is lost.
pub struct Witness {
    /// The workspace.
    pub root: Root,
    /// A snapshot of it, whose filter says what is looked at.
    pub snapshot: Hash,
    /// The name of its stat cache, as a capture is given it.
    pub cache: String,
}

/// Stores damaged objects anew from workspaces and snapshots that still hold the same, and sets damaged packs aside.
pub fn repair(store: &Store, report: &VerifyReport, snapshots: &[Hash], witnesses: &[Witness]) -> Result<Repair> {
    let packs: BTreeSet<&str> =
        report.damage.iter().map(|one| one.file.as_str()).filter(|file| is_pack(file)).collect();
    let set_aside = set_aside(store, &packs)?;
    drop_pointers(store, report)?;
    // Kept, because gc leaves them alone for as long.
    let mut present: Vec<Captured> = Vec::new();
    for one in witnesses {
        present.extend(recapture(store, &one.root, &one.snapshot)?);
    }
    store.reload()?;
    let trees: Vec<Hash> = present.iter().map(|captured| captured.key).collect();
    let caches: Vec<String> = witnesses.iter().map(|one| one.cache.clone()).collect();
    Sources { store, snapshots, present: &trees, caches: &caches }.rebuild()?;
    let wanted: BTreeSet<Hash> = report.damage.iter().flat_map(|one| &one.objects).copied().collect();
    let (found, lost): (Vec<Hash>, Vec<Hash>) = wanted.into_iter().partition(|key| store.read(key).is_ok());
    let mut repair = Repair { healed: found.len() as u64, lost, set_aside };
    if repair.lost.is_empty() {
        for name in repair.set_aside.drain(..) {
            store.disk().remove(&name).map_err(Error::disk("remove", &name))?;
        }
    }
    Ok(repair)
}

fn is_pack(file: &str) -> bool {
    file.starts_with(PACKS) && file.ends_with(".pack")
}

/// Moves what is good in the packs into new ones, and renames them so that nobody reads them any more.
fn set_aside(store: &Store, packs: &BTreeSet<&str>) -> Result<Vec<String>> {
    let disk = store.disk();
    let lock = |name| disk.lock(name, LockMode::Exclusive, true).map_err(Error::disk("lock", name));
    let (_moving, _alone) = (lock(MOVE_LOCK)?, lock(LOCK)?);
    let mut aside = Vec::new();
    for name in packs {
        // A pack that cannot even be opened offers nothing to save.
        if let Ok(pack) = Pack::open(disk.as_ref(), name) {
            salvage(store, &pack)?;
        }
        let renamed = format!("{}.damaged", name.trim_end_matches(".pack"));
        disk.rename(name, &renamed).map_err(Error::disk("rename", *name))?;
        aside.push(renamed);
    }
    disk.sync_dir(PACKS).map_err(Error::disk("sync", PACKS))?;
    store.reload()?;
    Ok(aside)
}

/// Writes a pack of those objects of a damaged one that are still what their names say.
fn salvage(store: &Store, pack: &Pack) -> Result<()> {
    let (Ok(blocks), Ok(mut objects)) = (pack.blocks(), pack.objects()) else { return Ok(()) };
    objects.sort_by_key(|(_, place)| (place.block, place.offset));
    let mut writer = None;
    for group in objects.chunk_by(|a, b| a.1.block == b.1.block) {
        let Some(block) = blocks.get(group[0].1.block as usize) else { continue };
        let Ok(raw) = pack.check_bounds(block).and_then(|()| pack.raw(block)) else { continue };
        let good: Vec<_> = group
            .iter()
            .filter(|(key, place)| place.of(&raw).is_some_and(|bytes| store.algorithm().hash(bytes) == *key))
            .map(|(key, place)| (*key, place.offset, place.len))
            .collect();
        if good.is_empty() {
            continue;
        }
        if writer.is_none() {
            writer = Some(PackWriter::create(store.disk(), PACKS)?);
        }
        let writer = writer.as_mut().expect("it was just made");
        let kind = if block.tree { ObjectKind::Tree } else { ObjectKind::Content };
        repack(writer, kind, &raw, &good, &pack.name)?;
    }
    match writer {
        Some(writer) => writer.seal()?.publish().map(drop),
        None => Ok(()),
    }
}

/// Takes pointers away that lead to damaged bytes, so that the objects can be stored anew; the bytes stay where they are.
fn drop_pointers(store: &Store, report: &VerifyReport) -> Result<()> {
    let disk = store.disk();
    let lock = |name| disk.lock(name, LockMode::Exclusive, true).map_err(Error::disk("lock", name));
    let (_moving, _alone) = (lock(MOVE_LOCK)?, lock(LOCK)?);
    let damaged: BTreeSet<Hash> = report.damage.iter().flat_map(|one| &one.objects).copied().collect();
    for pack in store.reload()?.iter().filter(|pack| pack.copies.is_some()) {
        let (blocks, objects) = (pack.blocks()?, pack.objects()?);
        let is_bad = |(key, place): &&(Hash, Place)| damaged.contains(key) && store.read_at(pack, *place, key).is_err();
        let bad: BTreeSet<Hash> = objects.iter().filter(is_bad).map(|(key, _)| *key).collect();
        if bad.is_empty() {
            continue;
        }
        let mut writer = PackWriter::create(disk, POINTERS)?;
        for (key, place) in objects.iter().filter(|(key, _)| !bad.contains(key)) {
            let Some(block) = blocks.get(place.block as usize) else { continue };
            writer.append(&pack.stored(block)?, block.raw_len as usize, false, false, &[(*key, 0, place.len)])?;
        }
        writer.seal()?.publish()?;
        disk.sync_dir(POINTERS).map_err(Error::disk("sync", POINTERS))?;
        disk.remove(&pack.name).map_err(Error::disk("remove", &pack.name))?;
    }
    Ok(())
}

/// Reads a whole workspace, which stores all that the store does not have.
fn recapture(store: &Store, root: &Root, snapshot: &Hash) -> Result<Vec<Captured>> {
    let keep = Manifest::read(store, snapshot).ok();
    let Some(filter) = keep.as_ref().and_then(|manifest| manifest.filter(store).ok()) else {
        // Which filter it had is lost with it: everything holds the most, and the usual one is the likeliest.
        let filters = [Filter::everything(), Filter::default()];
        return filters.iter().map(|filter| read_workspace(store, root, filter, None)).collect();
    };
    let read = match read_workspace(store, root, &filter, keep.as_ref()) {
        // The snapshot itself lacks directories that would say what else to look at.
        Err(Error::Missing(_) | Error::Corrupt { .. }) => read_workspace(store, root, &filter, None),
        other => other,
    };
    read.map(|captured| vec![captured])
}

fn read_workspace(store: &Store, root: &Root, filter: &Filter, keep: Option<&Manifest>) -> Result<Captured> {
    let options = CaptureOptions {
        root,
        filter,
        cache: "repair",
        is_live: &|_| false,
        keep,
        source: Source::Full,
        limits: Limits { entries_max: u64::MAX, new_bytes_max: u64::MAX, ..Limits::default() },
        cross_mounts: false,
        own_prefixes: &[],
        // Nothing of the snapshot is published, so its time does not matter.
        clock: &|| Time { sec: 0, nsec: 0 },
        progress: &Quiet,
        stop: &AtomicBool::new(false),
    };
    capture(store, &options)
}
