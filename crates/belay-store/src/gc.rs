//! Mark and sweep by pack, with a bounded rewrite, beside any number of readers and writers.
//!
//! Marking takes no lock. A pack is removed only under the exclusive lock, after the roots were asked for
//! again and marked too: a writer that builds on an object holds the lock shared until its snapshot is a root.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::capture::{Progress, Quiet};
use crate::disk::LockMode;
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::manifest::Manifest;
use crate::native::{NativeCopy, POINTERS};
use crate::objects::{KeySet, LOCK, MOVE_LOCK, ObjectKind, PACKS, Store};
use crate::pack::{Pack, PackWriter, Place};
use crate::tree::{Node, Reference, Segment};

/// Fewer nodes than this are read faster by one thread.
const NODES_PER_THREAD_MIN: usize = 256;

/// How to collect.
#[derive(Clone, Copy)]
pub struct GcOptions<'a> {
    /// Only say what would be freed.
    pub dry_run: bool,
    /// Rewrite a pack when at least this part of it, in percent, is unreachable.
    pub waste_percent_min: u8,
    /// Wait for other processes that are writing, instead of leaving what they may need.
    pub wait: bool,
    /// Who is told.
    pub progress: &'a dyn Progress,
    /// Removes a native copy that nobody needs, at the path of its tree; one that is not there is no error.
    pub remove_copy: &'a dyn Fn(&NativeCopy, &Path) -> io::Result<()>,
}

impl Default for GcOptions<'_> {
    fn default() -> Self {
        GcOptions {
            dry_run: false,
            waste_percent_min: 10,
            wait: true,
            progress: &Quiet,
            remove_copy: &crate::native::remove_copy,
        }
    }
}

/// What a collection did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GcReport {
    /// Bytes given back.
    pub freed_bytes: u64,
    /// Objects that nothing refers to any more.
    pub dead_objects: u64,
    /// Packs removed or rewritten.
    pub packs: u64,
    /// Native copies that nobody needs and that could not be removed, each with the reason; the next collection tries again.
    pub left: Vec<String>,
}

/// Collects what none of the snapshots named by `roots` needs; `roots` is asked again under the lock.
pub fn gc(store: &Store, roots: &mut dyn FnMut() -> Result<Vec<Hash>>, options: &GcOptions<'_>) -> Result<GcReport> {
    let disk = store.disk();
    let moving = disk.lock(MOVE_LOCK, LockMode::Exclusive, options.wait).map_err(Error::disk("lock", MOVE_LOCK))?;
    if moving.is_none() {
        return Err(Error::Busy);
    }
    // The packs are listed before the roots: what a later snapshot refers to is in none of them unless it is marked below.
    let packs = store.reload()?;
    let mut live = KeySet::default();
    // An object may be in several packs, and not all are needed.
    options.progress.guess(packs.iter().map(|pack| u64::from(pack.object_count)).sum(), 0);
    mark_telling(store, &roots()?, &mut live, options.progress)?;
    let mut report = GcReport::default();
    crate::native::shed(store, &mut live, roots, options, &mut report)?;
    options.progress.expect(0, packs.iter().map(|pack| pack.len).sum());
    for pack in packs.iter() {
        sweep(store, pack, &mut live, roots, options, &mut report)?;
        options.progress.advance(0, pack.len);
    }
    if !options.dry_run {
        remove_leftovers(store, options, &mut report)?;
        store.reload()?;
    }
    Ok(report)
}

/// Adds to `live` every object that the snapshots need.
pub(crate) fn mark(store: &Store, snapshots: &[Hash], live: &mut KeySet) -> Result<()> {
    mark_telling(store, snapshots, live, &Quiet)
}

fn mark_telling(store: &Store, snapshots: &[Hash], live: &mut KeySet, progress: &dyn Progress) -> Result<()> {
    let mut told = live.len();
    let mut nodes = Vec::new();
    for key in snapshots {
        if !live.insert(*key) {
            continue;
        }
        let manifest = Manifest::read(store, key)?;
        live.extend([manifest.filter, manifest.coverage]);
        live.extend(manifest.links);
        nodes.push(manifest.root_node());
    }
    // Level by level and in the order of the disk, so that each block is unpacked about once a level.
    while !nodes.is_empty() {
        nodes.retain(|key| live.insert(*key));
        let mut placed = Vec::with_capacity(nodes.len());
        for key in nodes.drain(..) {
            placed.push((store.location(&key)?.ok_or(Error::Missing(key))?, key));
        }
        placed.sort_unstable();
        for found in side_by_side(store, &placed, live) {
            let (more, objects) = found?;
            nodes.extend(more);
            live.extend(objects);
        }
        progress.advance((live.len() - told) as u64, 0);
        told = live.len();
    }
    Ok(())
}

/// Nodes and other objects that are needed and were not known to be.
type Needed = (KeySet, KeySet);

/// What the nodes refer to, found by as many threads as there are processors.
fn side_by_side(store: &Store, placed: &[((u64, u64), Hash)], live: &KeySet) -> Vec<Result<Needed>> {
    let threads = if placed.len() < NODES_PER_THREAD_MIN { 1 } else { threads() };
    let find = |part: &[((u64, u64), Hash)]| {
        let mut needed = Needed::default();
        part.iter().try_for_each(|(_, key)| references(store, &store.read(key)?, live, &mut needed))?;
        Ok(needed)
    };
    let mut parts = placed.chunks(placed.len().div_ceil(threads).max(1));
    let Some(first) = parts.next() else { return Vec::new() };
    std::thread::scope(|scope| {
        let others: Vec<_> = parts.map(|part| scope.spawn(move || find(part))).collect();
        let mine = find(first);
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().expect("marking does not panic");
        std::iter::once(mine).chain(others.into_iter().map(join)).collect()
    })
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, |count| count.get()).min(8)
}

/// Adds what a node refers to, unless it is known to be needed.
fn references(store: &Store, bytes: &[u8], live: &KeySet, needed: &mut Needed) -> Result<()> {
    let (nodes, objects) = needed;
    Node::references(bytes, &mut |reference| {
        match reference {
            Reference::Node(key) if !live.contains(&key) => drop(nodes.insert(key)),
            Reference::Content(key) if !live.contains(&key) => drop(objects.insert(key)),
            Reference::Segments { list, size } if !live.contains(&list) && objects.insert(list) => {
                let segments = Segment::decode_list(&store.read(&list)?, size)?;
                objects.extend(segments.iter().filter_map(|segment| match segment {
                    Segment::Data { key, .. } => Some(*key),
                    Segment::Hole { .. } => None,
                }));
            }
            _ => {}
        }
        Ok(())
    })
}

fn sweep(
    store: &Store,
    pack: &Arc<Pack>,
    live: &mut KeySet,
    roots: &mut dyn FnMut() -> Result<Vec<Hash>>,
    options: &GcOptions<'_>,
    report: &mut GcReport,
) -> Result<()> {
    let objects = pack.objects()?;
    let void = void_in(pack, &objects)?;
    let is_dead = |live: &KeySet, key: &Hash| !live.contains(key) || void.contains(key);
    let count_dead = |live: &KeySet| objects.iter().filter(|(key, _)| is_dead(live, key)).count();
    let dead_bytes: u64 = objects.iter().filter(|(key, _)| is_dead(live, key)).map(|(_, p)| u64::from(p.len)).sum();
    let all_bytes: u64 = objects.iter().map(|(_, place)| u64::from(place.len)).sum();
    let dead = count_dead(live);
    let wasteful = dead_bytes * 100 >= all_bytes * u64::from(options.waste_percent_min.max(1));
    if dead == 0 || (dead < objects.len() && !wasteful && options.waste_percent_min > 0) {
        return Ok(());
    }
    let freed_guess =
        if all_bytes == 0 { pack.len } else { (pack.len as u128 * dead_bytes as u128 / all_bytes as u128) as u64 };
    if options.dry_run {
        report.freed_bytes += if dead == objects.len() { pack.len } else { freed_guess };
        report.dead_objects += dead as u64;
        report.packs += 1;
        return Ok(());
    }
    let rewritten =
        if dead < objects.len() { rewrite(store, pack, &objects, &|key| !is_dead(live, key))? } else { None };
    let lock = store.disk().lock(LOCK, LockMode::Exclusive, options.wait).map_err(Error::disk("lock", LOCK))?;
    if lock.is_none() {
        return Err(Error::Busy);
    }
    // Snapshots that were published since marking may need what looked dead.
    let before = live.len();
    store.reload()?;
    mark(store, &roots()?, live)?;
    if live.len() != before && count_dead(live) != dead {
        return Ok(());
    }
    let kept = match rewritten {
        Some(sealed) => sealed.publish()?,
        None => 0,
    };
    store.disk().sync_dir(pack.dir()).map_err(Error::disk("sync", pack.dir()))?;
    store.disk().remove(&pack.name).map_err(Error::disk("remove", &pack.name))?;
    report.freed_bytes += pack.len.saturating_sub(kept);
    report.dead_objects += dead as u64;
    report.packs += 1;
    Ok(())
}

/// Pointers of a pack that lead nowhere any more.
fn void_in(pack: &Pack, objects: &[(Hash, Place)]) -> Result<KeySet> {
    let mut void = KeySet::default();
    for (key, place) in objects {
        if !pack.leads(*place)? {
            void.insert(*key);
        }
    }
    Ok(void)
}

/// Writes a pack with only the live objects: whole blocks as they are, others unpacked and packed anew.
fn rewrite(
    store: &Store,
    pack: &Pack,
    objects: &[(Hash, Place)],
    is_live: &dyn Fn(&Hash) -> bool,
) -> Result<Option<crate::pack::Sealed>> {
    let blocks = pack.blocks()?;
    let mut by_block: Vec<Vec<(Hash, u32, u32)>> = vec![Vec::new(); blocks.len()];
    let mut has_dead = vec![false; blocks.len()];
    for (key, place) in objects {
        let at = place.block as usize;
        if at >= blocks.len() {
            return Err(Error::corrupt(&pack.name, "an object names a block that is not there"));
        }
        if is_live(key) {
            by_block[at].push((*key, place.offset, place.len));
        } else {
            has_dead[at] = true;
        }
    }
    let mut writer = PackWriter::create(store.disk(), pack.dir())?;
    for ((block, objects), has_dead) in blocks.iter().zip(&by_block).zip(has_dead) {
        if objects.is_empty() {
            continue;
        }
        pack.check_bounds(block)?;
        if !has_dead {
            writer.append(&pack.stored(block)?, block.raw_len as usize, block.compressed, block.tree, objects)?;
            continue;
        }
        let raw = pack.raw(block)?;
        let kind = if block.tree { ObjectKind::Tree } else { ObjectKind::Content };
        crate::objects::repack(&mut writer, kind, &raw, objects, &pack.name)?;
    }
    Ok(Some(writer.seal()?))
}

/// Removes the files of writers that died: under the exclusive lock nobody else can own one.
fn remove_leftovers(store: &Store, options: &GcOptions<'_>, report: &mut GcReport) -> Result<()> {
    let disk = store.disk();
    let leftovers =
        |files: Vec<(String, u64)>| files.into_iter().filter(|(name, _)| name.starts_with("tmp-")).collect::<Vec<_>>();
    let list = |dir: &str| disk.list(dir).map(leftovers).map_err(Error::disk("list", dir));
    if list(PACKS)?.is_empty() && list(POINTERS)?.is_empty() {
        return Ok(());
    }
    let Some(_lock) = disk.lock(LOCK, LockMode::Exclusive, options.wait).map_err(Error::disk("lock", LOCK))? else {
        return Ok(());
    };
    for dir in [PACKS, POINTERS] {
        for (name, len) in list(dir)? {
            let name = format!("{dir}/{name}");
            disk.remove(&name).map_err(Error::disk("remove", &name))?;
            report.freed_bytes += len;
        }
    }
    Ok(())
}
