//! Removes copies that no snapshot is kept in any more, after what others still need of them has another home.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use belay_sys::Root;

use super::{COPIES, CopyPlace, KEPT, NativeCopy, Pointer, VOID, path_of, read_record};
use crate::disk::{Disk, LockMode};
use crate::error::{Error, Result};
use crate::gc::{GcOptions, GcReport, mark};
use crate::hash::Hash;
use crate::manifest::Manifest;
use crate::objects::{KeyMap, KeySet, LOCK, ObjectKind, Store};
use crate::tree::{Kind, Segment, View};

/// Snapshots that stay, asked for again whenever that may have changed.
type Roots<'a> = &'a mut dyn FnMut() -> Result<Vec<Hash>>;

/// Removes the copies of snapshots that are gone, and what is left of copies whose making or removal was interrupted.
pub(crate) fn shed(
    store: &Store,
    live: &mut KeySet,
    roots: Roots<'_>,
    options: &GcOptions<'_>,
    report: &mut GcReport,
) -> Result<()> {
    if let Some(name) = store.copies.damaged().pop() {
        // Its pointers would look void, and what they lead to is needed.
        return Err(Error::corrupt(name, "it is not what was written"));
    }
    let disk = store.disk();
    let kept: HashSet<Hash> = roots()?.into_iter().collect();
    let going = orphans(store, &kept);
    let voided = listed(disk.as_ref(), VOID)?;
    if options.dry_run {
        report.freed_bytes += going.iter().map(|copy| copy.bytes).sum::<u64>();
    }
    if options.dry_run || going.is_empty() && voided.is_empty() {
        return Ok(());
    }
    let ids: HashSet<String> = going.iter().map(|copy| copy.id.clone()).collect();
    rehome(store, live, &ids, &kept)?;
    let Some(_lock) = disk.lock(LOCK, LockMode::Exclusive, options.wait).map_err(Error::disk("lock", LOCK))? else {
        return Err(Error::Busy);
    };
    // Snapshots that were published since then may need what was not given another home; their copies stay until next time.
    store.reload()?;
    let roots = roots()?;
    mark(store, &roots, live)?;
    let kept: HashSet<Hash> = roots.into_iter().collect();
    let going: Vec<NativeCopy> = orphans(store, &kept).into_iter().filter(|copy| ids.contains(&copy.id)).collect();
    let needed: HashSet<String> = homeless(store, live, &ids)?.into_iter().map(|one| one.pointer.copy).collect();
    for copy in going.iter().filter(|copy| !needed.contains(&copy.id)) {
        let (name, void) = (format!("{COPIES}/{}{KEPT}", copy.id), format!("{COPIES}/{}{VOID}", copy.id));
        disk.rename(&name, &void).map_err(Error::disk("rename", &name))?;
        report.freed_bytes += copy.bytes;
    }
    clear(store, options, report)
}

/// Copies that count and whose snapshots are not among those that are kept.
fn orphans(store: &Store, kept: &HashSet<Hash>) -> Vec<NativeCopy> {
    let all = store.copies.all().into_iter().map(|held| held.copy.clone());
    all.filter(|copy| !copy.manifest.is_some_and(|manifest| kept.contains(&manifest))).collect()
}

fn listed(disk: &dyn Disk, ending: &str) -> Result<Vec<String>> {
    let files = disk.list(COPIES).map_err(Error::disk("list", COPIES))?;
    Ok(files.iter().filter_map(|(name, _)| name.strip_suffix(ending)).map(str::to_owned).collect())
}

/// Removes whatever is left of void copies; nobody else can own one, because the lock is held alone.
fn clear(store: &Store, options: &GcOptions<'_>, report: &mut GcReport) -> Result<()> {
    let disk = store.disk();
    if disk.list(COPIES).map_err(Error::disk("list", COPIES))?.is_empty() {
        return Ok(());
    }
    // Pointers are void for good before the bytes they lead to go.
    disk.sync_dir(COPIES).map_err(Error::disk("sync", COPIES))?;
    // A copy that is still open could not be unmounted.
    store.reload()?;
    let kept: HashSet<String> = listed(disk.as_ref(), KEPT)?.into_iter().collect();
    let remove = |name: String| disk.remove(&name).map_err(Error::disk("remove", &name));
    for id in listed(disk.as_ref(), ".tmp")? {
        remove(format!("{COPIES}/{id}.tmp"))?;
    }
    for id in listed(disk.as_ref(), VOID)? {
        // A copy that was completed a moment before the machine stopped has both records.
        if !kept.contains(&id) {
            match read_record(disk.as_ref(), &id, VOID) {
                Ok(copy) => {
                    let path = path_of(disk.as_ref(), &copy.place);
                    let path = path.ok_or_else(|| Error::Invalid(format!("{id} is on no directory")))?;
                    if let Err(error) = (options.remove_copy)(&copy, &path) {
                        // A filesystem that does not let it go now must not keep everything else from being freed.
                        report.left.push(format!("{}: {}", copy.reference, belay_sys::plain(error)));
                        continue;
                    }
                }
                // It was torn while it was written, before anything of its copy was made.
                Err(Error::Corrupt { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        remove(format!("{COPIES}/{id}{VOID}"))?;
    }
    store.reload().map(drop)
}

/// Removes a copy that lies in a directory of its own beneath the store's disk.
pub fn remove_copy(copy: &NativeCopy, path: &std::path::Path) -> io::Result<()> {
    if !matches!(copy.place, CopyPlace::Home(_)) {
        return Err(io::Error::other(format!("nobody here can remove a copy of the backend {}", copy.backend)));
    }
    let Some(slot) = path.parent() else { return Ok(()) };
    let (Some(above), Some(name)) = (slot.parent(), slot.file_name()) else { return Ok(()) };
    use std::os::unix::ffi::OsStrExt;
    match Root::open(above) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => crate::restore::remove_tree(&other?, name.as_bytes()),
    }
}

/// An object that is needed and lies only in copies that are going.
struct Homeless {
    key: Hash,
    len: u32,
    pointer: Pointer,
}

/// Objects that live snapshots need and that only these copies have.
fn homeless(store: &Store, live: &KeySet, going: &HashSet<String>) -> Result<Vec<Homeless>> {
    let (mut found, mut seen) = (Vec::new(), KeySet::default());
    if going.is_empty() {
        return Ok(found);
    }
    for pack in store.packs()?.iter().filter(|pack| pack.copies.is_some()) {
        for (key, place) in pack.objects()? {
            if !live.contains(&key) || seen.contains(&key) {
                continue;
            }
            let pointer = pack.pointer(place)?;
            if going.contains(&pointer.copy) && !store.is_elsewhere(&key, going)? {
                seen.insert(key);
                found.push(Homeless { key, len: place.len, pointer });
            }
        }
    }
    Ok(found)
}

/// Gives every object that only these copies have another home: in a copy that stays, else in packs.
fn rehome(store: &Store, live: &KeySet, going: &HashSet<String>, kept: &HashSet<Hash>) -> Result<()> {
    let homeless = homeless(store, live, going)?;
    if homeless.is_empty() {
        return Ok(());
    }
    let wanted: KeySet = homeless.iter().map(|one| one.key).collect();
    let homes = homes(store, &wanted, going, kept)?;
    let batch = store.begin()?;
    let mut worker = batch.worker();
    for one in homeless {
        let home = homes.get(&one.key).filter(|home| holds(store, home, &one));
        match home {
            Some(home) => batch.point(&one.key, home, one.len)?,
            // Whatever is damaged stays where it is, and so does its copy.
            None => match store.read(&one.key) {
                Ok(bytes) => worker.pack(ObjectKind::Content, &one.key, &bytes)?,
                Err(Error::Corrupt { .. } | Error::Missing(_)) => {}
                Err(error) => return Err(error),
            },
        }
    }
    worker.done()?;
    let pointers = batch.seal_pointers()?;
    batch.finish()?;
    store.publish_pointers(pointers).map(drop)
}

/// Whether a copy really has the object where its tree says.
fn holds(store: &Store, home: &Pointer, one: &Homeless) -> bool {
    let (Some(new), Some(old)) = (store.copies.get(&home.copy), store.copies.get(&one.pointer.copy)) else {
        return false;
    };
    let inode = |held: &Arc<super::Held>, path: &[u8]| {
        let stat = belay_sys::stat_file(&held.open(path).ok()?).ok()?;
        Some((stat.dev, stat.ino))
    };
    // The same file by another name needs no reading, if its bytes are meant to lie at the same place.
    let is_same = home.at == one.pointer.at
        && one.pointer.frame.is_none()
        && inode(&new, &home.path).is_some_and(|id| inode(&old, &one.pointer.path) == Some(id));
    is_same || new.read(home, one.len as usize).is_ok_and(|bytes| store.algorithm().hash(&bytes) == one.key)
}

/// Where copies that stay have these objects; in the newest first, because that one stays longest.
fn homes(store: &Store, wanted: &KeySet, going: &HashSet<String>, kept: &HashSet<Hash>) -> Result<KeyMap<Pointer>> {
    let mut homes = KeyMap::default();
    // An archive has told where it has what; nothing else in it can be found without unpacking all of it.
    let stays = |copy: &NativeCopy| {
        !copy.is_archive && !going.contains(&copy.id) && copy.manifest.is_some_and(|key| kept.contains(&key))
    };
    let mut copies: Vec<_> = store.copies.all().into_iter().filter(|held| stays(&held.copy)).collect();
    copies.sort_by_key(|held| std::cmp::Reverse(held.copy.order));
    let mut seen = KeySet::default();
    for held in copies {
        let Some(manifest) = held.copy.manifest else { continue };
        let mut dirs = vec![(Vec::new(), Manifest::read(store, &manifest)?.root_node())];
        while let Some((path, key)) = dirs.pop() {
            // A directory that an earlier copy has too offers nothing new.
            if homes.len() == wanted.len() || !seen.insert(key) {
                continue;
            }
            let node = store.node(&key)?;
            for entry in &node.entries {
                let path: Vec<u8> =
                    if path.is_empty() { entry.name.clone() } else { [&path[..], b"/", &entry.name].concat() };
                match &entry.kind {
                    Kind::Dir { node, .. } => dirs.push((path, *node)),
                    Kind::File { size, content } => {
                        let mut at = 0;
                        for segment in View::stored(store).segments(*size, content)? {
                            if let Segment::Data { key, .. } = segment
                                && wanted.contains(&key)
                            {
                                let copy = held.copy.id.clone();
                                homes.entry(key).or_insert_with(|| Pointer {
                                    copy,
                                    path: path.clone(),
                                    frame: None,
                                    at,
                                });
                            }
                            at += segment.len();
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(homes)
}
