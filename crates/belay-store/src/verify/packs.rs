//! Checks packs by themselves: their tables always, their blocks when asked or when the tables are wrong.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Findings, VerifyOptions};
use crate::error::{Error, Result};
use crate::hash::{Algorithm, Hash};
use crate::objects::Store;
use crate::pack::{BLOCK_ROW, Block, FANOUT_LEN, MAGIC, OBJECT_ROW, Pack, Place, TRAILER_LEN};

pub(super) fn check(store: &Store, options: &VerifyOptions<'_>, findings: &mut Findings) -> Result<()> {
    let mut work = Vec::new();
    for pack in open_all(store, findings)? {
        let tables = pack.check_tables();
        if let Err(error) = &tables {
            findings.note_error(&pack.name, error, []);
        }
        match shelves(&pack) {
            Ok(shelves) => {
                findings.report.objects += u64::from(pack.object_count);
                check_places(&pack, &shelves, findings);
                if options.deep || tables.is_err() {
                    work.push((pack, shelves));
                }
            }
            Err(error) => drop(findings.note_error(&pack.name, &error, [])),
        }
    }
    let blocks = || work.iter().flat_map(|(_, shelves)| shelves);
    let objects = blocks().map(|shelf| shelf.objects.len() as u64).sum();
    let bytes = work.iter().flat_map(|(pack, shelves)| shelves.iter().map(|shelf| shelf.bytes(pack))).sum();
    options.progress.expect(objects, bytes);
    read_all(store.algorithm(), &work, options, findings);
    Ok(())
}

/// A block and what lies in it.
struct Shelf {
    block: Block,
    objects: Vec<(Hash, Place)>,
}

impl Shelf {
    /// How many bytes are read to check it.
    fn bytes(&self, pack: &Pack) -> u64 {
        u64::from(if pack.copies.is_some() { self.block.raw_len } else { self.block.stored_len })
    }

    /// The file that holds its bytes.
    fn file(&self, pack: &Pack) -> String {
        let place = self.objects.first().map(|(_, place)| *place);
        place.and_then(|place| pack.file_of(place)).unwrap_or_else(|| pack.name.clone())
    }

    fn keys(&self) -> impl Iterator<Item = Hash> {
        self.objects.iter().map(|(key, _)| *key)
    }
}

fn open_all(store: &Store, findings: &mut Findings) -> Result<Vec<Pack>> {
    'list: loop {
        let mut packs = Vec::new();
        for name in store.pack_names()? {
            match store.open_pack(&name) {
                Ok(pack) => packs.push(pack),
                // Another process merged it into a pack that the list did not show yet.
                Err(Error::Disk { source, .. }) if source.kind() == io::ErrorKind::NotFound => continue 'list,
                Err(error) => drop(findings.note_error(&name, &error, [])),
            }
        }
        return Ok(packs);
    }
}

fn shelves(pack: &Pack) -> Result<Vec<Shelf>> {
    let mut shelves: Vec<Shelf> =
        pack.blocks()?.into_iter().map(|block| Shelf { block, objects: Vec::new() }).collect();
    for (key, place) in pack.objects()? {
        match shelves.get_mut(place.block as usize) {
            Some(shelf) => shelf.objects.push((key, place)),
            None => return Err(Error::corrupt(&pack.name, "an object names a block that is not there")),
        }
    }
    Ok(shelves)
}

/// Checks that blocks follow each other without a byte between them, and objects lie inside their blocks.
fn check_places(pack: &Pack, shelves: &[Shelf], findings: &mut Findings) {
    let tables = shelves.len() * BLOCK_ROW + pack.object_count as usize * OBJECT_ROW + FANOUT_LEN;
    let blocks_end = pack.len - TRAILER_LEN - tables as u64;
    let mut at = MAGIC.len() as u64;
    for shelf in shelves {
        let outside = |(_, place): &&(Hash, Place)| {
            u64::from(place.offset) + u64::from(place.len) > u64::from(shelf.block.raw_len)
        };
        let mut outside = shelf.objects.iter().filter(outside).map(|(key, _)| *key).peekable();
        if outside.peek().is_some() {
            findings.note(&pack.name, "objects lie outside their blocks", outside);
        }
        if shelf.block.offset != at {
            findings.note(&pack.name, &format!("a block does not begin at byte {at}"), shelf.keys());
        }
        at = shelf.block.offset.saturating_add(u64::from(shelf.block.stored_len));
    }
    if at != blocks_end {
        findings.note(&pack.name, "its tables do not follow its blocks", []);
    }
}

/// Reads the blocks with all processors and notes each that is not what was written.
fn read_all(algorithm: Algorithm, work: &[(Pack, Vec<Shelf>)], options: &VerifyOptions<'_>, findings: &mut Findings) {
    let jobs: Vec<(&Pack, &Shelf)> =
        work.iter().flat_map(|(pack, shelves)| shelves.iter().map(move |shelf| (pack, shelf))).collect();
    let next = AtomicUsize::new(0);
    let shared = Mutex::new(findings);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len()) {
            scope.spawn(|| {
                while let Some((pack, shelf)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = read(algorithm, pack, shelf);
                    options.progress.advance(shelf.objects.len() as u64, shelf.bytes(pack));
                    let mut findings = shared.lock().expect("no holder panics");
                    findings.report.bytes += shelf.bytes(pack);
                    match outcome {
                        Ok(bad) if bad.is_empty() => {}
                        Ok(bad) => drop(findings.note(&shelf.file(pack), "objects are not what was written", bad)),
                        Err(error) => drop(findings.note_error(&pack.name, &error, shelf.keys())),
                    }
                }
            });
        }
    });
}

/// The objects of a block that are not what their names say.
fn read(algorithm: Algorithm, pack: &Pack, shelf: &Shelf) -> Result<Vec<Hash>> {
    pack.check_bounds(&shelf.block)?;
    if shelf.objects.iter().any(|(_, place)| !pack.leads(*place).unwrap_or(true)) {
        // A void pointer is nothing that could be damaged.
        return Ok(Vec::new());
    }
    let raw = pack.raw(&shelf.block)?;
    let is_good = |(key, place): &(Hash, Place)| place.of(&raw).is_some_and(|bytes| algorithm.hash(bytes) == *key);
    Ok(shelf.objects.iter().filter(|object| !is_good(object)).map(|(key, _)| *key).collect())
}
