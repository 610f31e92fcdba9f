//! Native copies: content that lies outside the packs, in a copy of a whole tree that a backend made.
//!
//! A snapshot is the same whatever keeps its content: a manifest and nodes in packs. Only the bytes of files may lie in a
//! copy, and a *pointer* in the store says where. A record says that a copy exists; a pointer into a copy without one is
//! void, and is as if it were not there. So a copy begins to count with one rename, after its bytes are durable and before
//! the first pointer into it has a name, and stops to count with another, before the first of its bytes goes.

mod clone;
mod frames;
mod give;
mod moved;
mod pointer;
mod shed;

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, RwLock};

use belay_sys::{FileLock, LockKind, Root};

pub use clone::{Cloned, Slot};
pub(crate) use give::{GIVEN_BYTES_MIN, Given};
pub use pointer::Frame;
pub(crate) use pointer::Pointer;
pub use shed::remove_copy;
pub(crate) use shed::shed;

use self::frames::Frames;
use crate::codec::{Decoder, Encoder};
use crate::disk::{Disk, Lock, LockMode};
use crate::error::{Error, Result, printable};
use crate::hash::Hash;
use crate::manifest::Manifest;
use crate::objects::{COPIES_FORMAT, LOCK, Store};
use crate::tree::Content;

/// Records of copies.
pub(crate) const COPIES: &str = "store/copies";
/// Packs whose blocks are pointers.
pub(crate) const POINTERS: &str = "store/pointers";

const MAGIC: &[u8; 8] = b"BELAYCP1";
const KEPT: &str = ".copy";
const VOID: &str = ".void";

/// Where a copy is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyPlace {
    /// Beneath the store's own disk, and so wherever that is moved to.
    Home(String),
    /// Somewhere else.
    Outside(PathBuf),
}

/// A copy of a tree that keeps the content of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeCopy {
    /// Its name among the copies: letters, digits and underscores.
    pub id: String,
    /// What made it, and can remove it.
    pub backend: String,
    /// The copy of the workspace's directory itself.
    pub place: CopyPlace,
    /// What the snapshot is called by whoever keeps it.
    pub reference: String,
    /// The snapshot, once the copy is complete.
    pub manifest: Option<Hash>,
    /// Bytes that the copy takes on a disk, shared with nothing.
    pub bytes: u64,
    /// When it was made, compared with others: a later one has a larger number.
    pub order: u64,
    /// Whether it is one file, an archive whose parts are unpacked each by itself, and no directory.
    pub is_archive: bool,
}

impl NativeCopy {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        out.bytes.extend_from_slice(MAGIC);
        out.blob(self.backend.as_bytes());
        let (tag, place) = match &self.place {
            CopyPlace::Home(name) => (0, name.as_bytes()),
            CopyPlace::Outside(path) => (1, path.as_os_str().as_bytes()),
        };
        out.byte(tag);
        out.blob(place);
        out.blob(self.reference.as_bytes());
        out.byte(u8::from(self.manifest.is_some()));
        if let Some(manifest) = &self.manifest {
            out.hash(manifest);
        }
        out.number(self.bytes);
        out.number(self.order);
        out.byte(u8::from(self.is_archive));
        let check = blake3::hash(&out.bytes);
        out.bytes.extend_from_slice(&check.as_bytes()[..16]);
        out.bytes
    }

    pub(crate) fn decode(id: &str, bytes: &[u8]) -> Result<NativeCopy> {
        let name = format!("{COPIES}/{id}");
        let bad = |detail: &str| Error::corrupt(&name, detail);
        let (body, check) = bytes.split_last_chunk::<16>().ok_or_else(|| bad("it is too short"))?;
        if blake3::hash(body).as_bytes()[..16] != check[..] {
            return Err(bad("it is not what was written"));
        }
        let is_set = |input: &mut Decoder<'_>| match input.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(input.bad("a mark in it is neither set nor not")),
        };
        let mut input = Decoder::new(body, &name);
        if input.take(MAGIC.len())? != MAGIC {
            return Err(bad("it is no record of a copy"));
        }
        let backend = input.text()?;
        let tag = input.byte()?;
        let place = input.blob()?;
        let place = match (tag, std::str::from_utf8(place)) {
            (0, Ok(name)) => CopyPlace::Home(name.to_owned()),
            (1, _) => CopyPlace::Outside(OsStr::from_bytes(place).into()),
            _ => return Err(bad("its place is unknown")),
        };
        let reference = input.text()?;
        let manifest = if is_set(&mut input)? { Some(input.hash()?) } else { None };
        let (bytes, order, is_archive) = (input.number()?, input.number()?, is_set(&mut input)?);
        input.finish()?;
        Ok(NativeCopy { id: id.to_owned(), backend, place, reference, manifest, bytes, order, is_archive })
    }
}

/// A copy that counts.
pub(crate) struct Held {
    pub(crate) copy: NativeCopy,
    path: Option<PathBuf>,
    root: OnceLock<Root>,
    frames: Frames,
}

impl Held {
    /// The copy's own directory.
    fn root(&self) -> io::Result<&Root> {
        if let Some(root) = self.root.get() {
            return Ok(root);
        }
        let path = self.path.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let root = Root::open(path)?;
        Ok(self.root.get_or_init(|| root))
    }

    pub(crate) fn open(&self, path: &[u8]) -> io::Result<File> {
        let (dir, name) = split(path);
        self.root()?.dir_path_only(dir)?.open_read(name)
    }

    /// Whether it is where it should be.
    pub(crate) fn exists(&self) -> bool {
        self.path.as_ref().is_some_and(|path| path.exists())
    }

    /// What a file of the copy is called in an error.
    pub(crate) fn name_of(&self, path: &[u8]) -> String {
        let place = self.path.as_deref().map_or_else(|| self.copy.reference.clone(), |path| path.display().to_string());
        if path.is_empty() { place } else { format!("{place}/{}", printable(path)) }
    }

    /// The bytes that a pointer means, which nobody has checked yet.
    pub(crate) fn read(&self, pointer: &Pointer, len: usize) -> Result<Vec<u8>> {
        let read = match &pointer.frame {
            Some(frame) => self.frames.read(self.path.as_deref(), frame, pointer.at, len),
            None => {
                let mut bytes = vec![0; len];
                let file = self.open(&pointer.path);
                file.and_then(|file| file.read_exact_at(&mut bytes, pointer.at)).map(|()| bytes)
            }
        };
        read.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::corrupt(self.name_of(&pointer.path), "it is missing"),
            io::ErrorKind::UnexpectedEof => Error::corrupt(self.name_of(&pointer.path), "it is too short"),
            _ => Error::corrupt(self.name_of(&pointer.path), format!("it cannot be read: {}", belay_sys::plain(error))),
        })
    }
}

/// Every copy that counts, as of when the list was last read.
#[derive(Default)]
pub(crate) struct Copies {
    held: RwLock<HashMap<String, Arc<Held>>>,
    damaged: RwLock<Vec<String>>,
    /// Those that were not where they should be when they were last looked for.
    lost: RwLock<HashSet<String>>,
}

impl Copies {
    /// Reads the list of copies again; a record changes only when its copy was moved, so the others are not read.
    pub(crate) fn reload(&self, disk: &dyn Disk) -> Result<()> {
        let listed = disk.list(COPIES).map_err(Error::disk("list", COPIES))?;
        if listed.is_empty() && self.held.read().expect("no holder panics").is_empty() {
            return Ok(());
        }
        let known = self.held.read().expect("no holder panics").clone();
        let (mut held, mut damaged) = (HashMap::new(), Vec::new());
        for id in listed.iter().filter_map(|(name, _)| name.strip_suffix(KEPT)) {
            let known = known.get(id);
            if let Some(known) = known.filter(|known| known.exists()) {
                held.insert(id.to_owned(), Arc::clone(known));
                continue;
            }
            match read_record(disk, id, KEPT) {
                Ok(copy) => {
                    // It is out of sight and not known to be elsewhere; what of it is open can still be read.
                    if let Some(known) = known.filter(|known| known.copy == copy) {
                        held.insert(id.to_owned(), Arc::clone(known));
                        continue;
                    }
                    let path = path_of(disk, &copy.place);
                    held.insert(
                        id.to_owned(),
                        Arc::new(Held { copy, path, root: OnceLock::new(), frames: Frames::default() }),
                    );
                }
                // Another process made it void meanwhile.
                Err(Error::Disk { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                Err(Error::Corrupt { .. }) => damaged.push(id.to_owned()),
                Err(error) => return Err(error),
            }
        }
        *self.held.write().expect("no holder panics") = held;
        *self.damaged.write().expect("no holder panics") = damaged;
        self.look();
        Ok(())
    }

    /// Looks which copies are there: a disk may be gone, or somebody removed one by hand.
    fn look(&self) {
        let is_lost = |held: &&Arc<Held>| !held.exists();
        let lost = self.all().iter().filter(is_lost).map(|held| held.copy.id.clone()).collect();
        *self.lost.write().expect("no holder panics") = lost;
    }

    /// Whether the copy was there when it was last looked for.
    pub(crate) fn in_sight(&self, id: &str) -> bool {
        self.get(id).is_some() && !self.lost.read().expect("no holder panics").contains(id)
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<Held>> {
        self.held.read().expect("no holder panics").get(id).cloned()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.held.read().expect("no holder panics").is_empty()
    }

    /// All copies, in the order of their ids.
    pub(crate) fn all(&self) -> Vec<Arc<Held>> {
        let mut all: Vec<_> = self.held.read().expect("no holder panics").values().cloned().collect();
        all.sort_by(|a, b| a.copy.id.cmp(&b.copy.id));
        all
    }

    /// Copies whose records cannot be read.
    pub(crate) fn damaged(&self) -> Vec<String> {
        self.damaged.read().expect("no holder panics").iter().map(|id| format!("{COPIES}/{id}{KEPT}")).collect()
    }
}

pub(crate) fn read_record(disk: &dyn Disk, id: &str, ending: &str) -> Result<NativeCopy> {
    let name = format!("{COPIES}/{id}{ending}");
    NativeCopy::decode(id, &disk.read(&name).map_err(Error::disk("read", &name))?)
}

/// Where a place is, if the disk is a directory.
pub(crate) fn path_of(disk: &dyn Disk, place: &CopyPlace) -> Option<PathBuf> {
    match place {
        CopyPlace::Home(name) => Some(disk.path()?.join(name)),
        CopyPlace::Outside(path) => Some(path.clone()),
    }
}

fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

/// A copy that is being made: gc leaves it alone while this lives, and removes it if this is dropped unfinished.
pub struct Making<'s> {
    store: &'s Store,
    copy: NativeCopy,
    _lock: Lock,
}

impl Store {
    /// Announces a copy, before anything of it exists.
    pub fn make_copy(&self, copy: NativeCopy) -> Result<Making<'_>> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if copy.id.is_empty() || !copy.id.bytes().all(is_plain) || path_of(self.disk().as_ref(), &copy.place).is_none()
        {
            return Err(Error::Invalid(format!("{:?} cannot name a copy on this disk", copy.id)));
        }
        let disk = self.disk();
        let lock = disk.lock(LOCK, LockMode::Shared, true).map_err(Error::disk("lock", LOCK))?;
        let lock = lock.expect("a lock that is waited for is given");
        self.raise_format(COPIES_FORMAT)?;
        let name = format!("{COPIES}/{}{VOID}", copy.id);
        write(disk.as_ref(), &name, &copy.encode())?;
        disk.sync_dir(COPIES).map_err(Error::disk("sync", COPIES))?;
        Ok(Making { store: self, copy, _lock: lock })
    }

    /// The copies that are complete.
    pub fn native_copies(&self) -> Result<Vec<NativeCopy>> {
        self.packs()?;
        Ok(self.copies.all().iter().map(|held| held.copy.clone()).collect())
    }

    /// Whether copies are not where they should be, so that nobody can vouch for what is only in them.
    pub(crate) fn misses_copies(&self) -> Result<bool> {
        self.packs()?;
        self.copies.look();
        Ok(!self.copies.lost.read().expect("no holder panics").is_empty())
    }

    /// The copy of that backend which keeps the snapshot, if there is one.
    pub(crate) fn copy_of(&self, manifest: &Hash, backend: &str) -> Result<Option<NativeCopy>> {
        let is_it = |copy: &NativeCopy| copy.manifest == Some(*manifest) && copy.backend == backend;
        Ok(self.native_copies()?.into_iter().find(is_it))
    }

    /// Removes a copy that never came to count.
    pub fn discard_copy(&self, copy: &NativeCopy, remove: &dyn Fn(&NativeCopy, &Path) -> io::Result<()>) -> Result<()> {
        let disk = self.disk();
        let void = format!("{COPIES}/{}{VOID}", copy.id);
        let kept = disk.open(&format!("{COPIES}/{}{KEPT}", copy.id));
        // In doubt it counts, and is gc's business.
        let is_void = kept.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        let Some(path) = path_of(disk.as_ref(), &copy.place).filter(|_| is_void) else { return Ok(()) };
        remove(copy, &path).map_err(Error::disk("remove", &copy.reference))?;
        disk.remove(&void).map_err(Error::disk("remove", &void))
    }

    /// Where a place of a copy is.
    pub fn copy_path(&self, place: &CopyPlace) -> Option<PathBuf> {
        path_of(self.disk().as_ref(), place)
    }

    /// Bytes that copies take for themselves.
    pub(crate) fn copied_bytes(&self) -> Result<u64> {
        self.copies.reload(self.disk().as_ref())?;
        Ok(self.copies.all().iter().map(|held| held.copy.bytes).sum())
    }
}

impl Making<'_> {
    /// What was announced.
    pub fn copy(&self) -> &NativeCopy {
        &self.copy
    }

    /// Where the copy of the workspace's directory is.
    pub fn path(&self) -> PathBuf {
        path_of(self.store.disk().as_ref(), &self.copy.place).expect("it was checked when the copy was announced")
    }

    /// The store's lock once more, for a program that may outlive this process: as long as it has that open, gc waits.
    pub fn lock_for_another(&self) -> io::Result<Option<FileLock>> {
        let Some(home) = self.store.disk().path() else { return Ok(None) };
        belay_sys::lock_file(File::options().read(true).open(home.join(LOCK))?, LockKind::Shared).map(Some)
    }

    /// Lets the copy count; everything in it is durable.
    pub(crate) fn finish(self, manifest: Hash, bytes: u64) -> Result<NativeCopy> {
        let disk = self.store.disk();
        let copy = NativeCopy { manifest: Some(manifest), bytes, ..self.copy };
        let (temporary, kept) = (format!("{COPIES}/{}.tmp", copy.id), format!("{COPIES}/{}{KEPT}", copy.id));
        write(disk.as_ref(), &temporary, &copy.encode())?;
        disk.rename(&temporary, &kept).map_err(Error::disk("rename", &temporary))?;
        disk.sync_dir(COPIES).map_err(Error::disk("sync", COPIES))?;
        let void = format!("{COPIES}/{}{VOID}", copy.id);
        disk.remove(&void).map_err(Error::disk("remove", &void))?;
        self.store.reload()?;
        Ok(copy)
    }
}

fn write(disk: &dyn Disk, name: &str, bytes: &[u8]) -> Result<()> {
    let mut file = disk.create(name).map_err(Error::disk("create", name))?;
    file.write(bytes).and_then(|()| file.sync()).map_err(Error::disk("write", name))
}

/// How a backend takes part in a capture.
pub trait Copier: Sync {
    /// The copy of a file of the workspace, made now, that the capture reads instead of the file.
    ///
    /// `None` if what is being captured is the copy already.
    fn hold(&self, path: &[u8], file: &File) -> Result<Option<File>>;

    /// What the capture found in the copy of a file, and settled on; a file may be held and read several times until it does.
    fn took(&self, _path: &[u8], _content: &Content) {}

    /// Whether the copy tells where it has what only when it is complete.
    fn tells_late(&self) -> bool {
        false
    }

    /// Completes the copy for the tree that was captured and makes it durable.
    fn complete(&self, store: &Store, manifest: &Manifest) -> Result<Completed>;

    /// The device of the workspace, if what is captured is a copy of it on another.
    fn device(&self) -> Option<u64> {
        None
    }
}

/// A copy that is complete.
#[derive(Clone, Debug, Default)]
pub struct Completed {
    /// Bytes that it takes for itself.
    pub bytes: u64,
    /// Where it has its objects, if it tells that late.
    pub objects: Vec<Located>,
}

/// Where a copy has an object.
#[derive(Clone, Debug)]
pub struct Located {
    /// The object.
    pub key: Hash,
    /// How long it is.
    pub len: u32,
    /// The path of the file that it is in; empty in an archive.
    pub path: Vec<u8>,
    /// The part of an archive that it is in.
    pub frame: Option<Frame>,
    /// Where in the file, or in the unpacked part.
    pub at: u64,
}

/// The copier of a backend whose copy is a whole and unchanging directory before the capture begins.
pub struct Whole {
    /// The device that the workspace is on: the copy's inodes and times are the workspace's, its device is its own.
    pub device: u64,
}

impl Copier for Whole {
    fn hold(&self, _path: &[u8], _file: &File) -> Result<Option<File>> {
        Ok(None)
    }

    fn complete(&self, _store: &Store, _manifest: &Manifest) -> Result<Completed> {
        Ok(Completed::default())
    }

    fn device(&self) -> Option<u64> {
        Some(self.device)
    }
}

#[cfg(test)]
mod tests;
