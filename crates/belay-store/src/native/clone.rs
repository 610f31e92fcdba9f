//! The copy of the backend `clone`: a directory with every file of the snapshot, sharing blocks where the disk can.
//!
//! A file that the capture has to read is cloned first and read from its clone, so that the copy holds what the tree says
//! whatever happens to the file meanwhile. A file that is as in the copy before is the same inode there. What a restore
//! needs beside the bytes is in the tree, so a property that cannot be set here is missed by nobody.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, PermissionsExt};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use belay_sys::{Dir, FileType, Root};

use super::{Completed, Copier, Located, split};
use crate::error::{Error, Result, printable};
use crate::hash::Hash;
use crate::manifest::Manifest;
use crate::objects::Store;
use crate::tree::{Content, Entry, Kind, Meta, Segment, View};

/// Making entries waits for the filesystem's own locks, of which two threads seldom want the same.
const THREADS: usize = 2;
/// What is copied at a time.
const COPY_BYTES: usize = 1 << 20;

/// How files came into a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cloned {
    /// Files that share their blocks with the workspace or another copy.
    pub shared: u64,
    /// Files that are the same inode in the copy before.
    pub linked: u64,
    /// Files whose bytes were copied.
    pub copied: u64,
    /// How many bytes that were.
    pub copied_bytes: u64,
}

/// A copy of the backend `clone` in the making.
pub struct Slot {
    root: Root,
    /// The copy before, and the snapshot that it is of.
    before: Option<(Root, Manifest)>,
    /// Files that were cloned to be read, and what was found in them.
    held: Mutex<HashMap<Vec<u8>, Option<Content>>>,
    cannot_share: AtomicBool,
    shared: AtomicU64,
    linked: AtomicU64,
    copied: AtomicU64,
    copied_bytes: AtomicU64,
    as_root: bool,
}

impl Slot {
    /// An empty copy in a directory that is made; `before` is an earlier copy and the snapshot that it is of.
    pub fn create(path: &Path, before: Option<(&Path, Manifest)>) -> io::Result<Slot> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
        // An earlier copy that cannot be opened only costs that its files are made anew.
        let before = before.and_then(|(path, manifest)| Some((Root::open(path).ok()?, manifest)));
        let (shared, linked, copied) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let copied_bytes = AtomicU64::new(0);
        let (held, cannot_share) = (Mutex::default(), AtomicBool::new(false));
        let (root, as_root) = (Root::open(path)?, belay_sys::is_root());
        Ok(Slot { root, before, held, cannot_share, shared, linked, copied, copied_bytes, as_root })
    }

    /// How the files came into it.
    pub fn cloned(&self) -> Cloned {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (shared, linked) = (get(&self.shared), get(&self.linked));
        Cloned { shared, linked, copied: get(&self.copied), copied_bytes: get(&self.copied_bytes) }
    }

    /// Makes a file share the blocks of another; false if they have to be copied.
    fn share(&self, from: &File, to: &File) -> bool {
        if self.cannot_share.load(Ordering::Relaxed) {
            return false;
        }
        match belay_sys::clone_file(from, to) {
            Ok(()) => {
                self.shared.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(error) => {
                // Other errors are about this file alone, such as one that may not be cloned because it is a swap file.
                if super::give::is_never(&error) {
                    self.cannot_share.store(true, Ordering::Relaxed);
                }
                false
            }
        }
    }

    fn count_copy(&self, bytes: u64) {
        self.copied.fetch_add(1, Ordering::Relaxed);
        self.copied_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A new file at the path, whose directories are made; whatever an earlier attempt left there goes.
    fn make(&self, path: &[u8]) -> io::Result<File> {
        let (parent, name) = split(path);
        let dir = match self.root.dir_path_only(parent) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.make_dirs(parent)?;
                self.root.dir_path_only(parent)?
            }
            other => other?,
        };
        match dir.create_new(name, 0o600) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                crate::restore::remove_tree(&self.root, path)?;
                dir.create_new(name, 0o600)
            }
            other => other,
        }
    }

    fn make_dirs(&self, path: &[u8]) -> io::Result<()> {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        for end in ends.chain([path.len()]) {
            let (parent, name) = split(&path[..end]);
            match self.root.dir_path_only(parent)?.make_dir(name, 0o700) {
                // Another thread was faster.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => other?,
            }
        }
        Ok(())
    }
}

impl Copier for Slot {
    fn hold(&self, path: &[u8], file: &File) -> Result<Option<File>> {
        let copy = self.make(path).map_err(failed("copy", path))?;
        if !self.share(file, &copy) {
            copy_bytes(file, &copy, path)?;
            self.count_copy(belay_sys::stat_file(&copy).map_err(failed("copy", path))?.blocks.saturating_mul(512));
        }
        self.held.lock().expect("no holder panics").insert(path.to_vec(), None);
        Ok(Some(copy))
    }

    fn took(&self, path: &[u8], content: &Content) {
        self.held.lock().expect("no holder panics").insert(path.to_vec(), Some(*content));
    }

    fn tells_late(&self) -> bool {
        true
    }

    fn complete(&self, store: &Store, manifest: &Manifest) -> Result<Completed> {
        let in_groups = |manifest: &Manifest| -> Result<HashSet<Vec<u8>>> {
            Ok(manifest.links(store)?.groups.into_iter().flatten().collect())
        };
        let mut grouped = in_groups(manifest)?;
        let before = self.before.as_ref().map(|(_, manifest)| manifest);
        grouped.extend(before.map(in_groups).transpose()?.unwrap_or_default());
        let held = std::mem::take(&mut *self.held.lock().expect("no holder panics"));
        let mut filling = Filling { slot: self, store, grouped, held };
        let objects = filling.fill(manifest, before)?;
        self.link(store, manifest)?;
        filling.dress_dirs(manifest)?;
        self.root.sync_filesystem().map_err(Error::disk("sync", "a copy"))?;
        Ok(Completed { bytes: self.copied_bytes.load(Ordering::Relaxed), objects })
    }
}

impl Slot {
    /// Makes the paths of each group one file.
    fn link(&self, store: &Store, manifest: &Manifest) -> Result<()> {
        for group in manifest.links(store)?.groups {
            let [first, others @ ..] = &group[..] else { continue };
            for other in others {
                let link = || -> io::Result<()> {
                    let ((dir, name), (to, to_name)) = (split(first), split(other));
                    let (from, to) = (self.root.dir_path_only(dir)?, self.root.dir_path_only(to)?);
                    if from.stat(name).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
                        // A device that could not be made.
                        return Ok(());
                    }
                    to.remove_file(to_name)?;
                    from.hard_link(name, &to, to_name)
                };
                link().map_err(failed("link", other))?;
            }
        }
        Ok(())
    }
}

/// Puts into a copy what the capture did not.
struct Filling<'a> {
    slot: &'a Slot,
    store: &'a Store,
    /// Paths that are one file with another, now or before: their inodes are not shared with the copy before.
    grouped: HashSet<Vec<u8>>,
    /// Files that are there, and what was found in them.
    held: HashMap<Vec<u8>, Option<Content>>,
}

/// A directory to be filled: its path, its node, and that of the same path in the copy before.
type Level = Vec<(Vec<u8>, Hash, Option<Hash>)>;

impl Filling<'_> {
    /// Makes what is missing; returns what lies in the files that were held.
    fn fill(&mut self, manifest: &Manifest, before: Option<&Manifest>) -> Result<Vec<Located>> {
        self.forget_strangers(&manifest.root)?;
        let mut objects = Vec::new();
        // By path and not by recursion: a tree may be deeper than the stack and the table of open files allow.
        let mut level: Level = vec![(Vec::new(), manifest.root_node(), before.map(Manifest::root_node))];
        while !level.is_empty() {
            let (below, located) = self.level(&level)?;
            objects.extend(located);
            level = below;
        }
        Ok(objects)
    }

    /// Fills the directories of one level, several at a time; returns those beneath them.
    fn level(&self, dirs: &Level) -> Result<(Level, Vec<Located>)> {
        let next = AtomicUsize::new(0);
        let work = || -> Result<(Level, Vec<Located>)> {
            let (mut below, mut objects) = (Vec::new(), Vec::new());
            while let Some(dir) = dirs.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.dir(dir, &mut below, &mut objects)?;
            }
            Ok((below, objects))
        };
        if dirs.len() < THREADS {
            return work();
        }
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
            let mut all = (Vec::new(), Vec::new());
            for worker in workers {
                let (below, objects) = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
                all.0.extend(below);
                all.1.extend(objects);
            }
            Ok(all)
        })
    }

    fn dir(
        &self,
        (path, node, before): &(Vec<u8>, Hash, Option<Hash>),
        below: &mut Level,
        objects: &mut Vec<Located>,
    ) -> Result<()> {
        let node = self.store.node(node)?;
        // What cannot be read of the copy before is made anew.
        let before = before.and_then(|key| self.store.node(&key).ok());
        let dir = self.slot.root.dir_path_only(path).map_err(failed("fill", path))?;
        let old = self.slot.before.as_ref().and_then(|(root, _)| root.dir_path_only(path).ok());
        for entry in &node.entries {
            let path = join(path, &entry.name);
            let twin = before.as_ref().and_then(|node| node.get(&entry.name));
            if let Kind::Dir { node, .. } = entry.kind {
                if !dir.stat(&entry.name).is_ok_and(|stat| stat.file_type == FileType::Dir) {
                    self.make(&path, || dir.make_dir(&entry.name, 0o700))?;
                }
                below.push((path, node, node_of(twin)));
            } else {
                self.leaf(&path, entry, &dir, old.as_ref().filter(|_| twin == Some(entry)), objects)?;
            }
        }
        Ok(())
    }

    /// Removes what was held for a file that turned out to be none, or to be another.
    fn forget_strangers(&mut self, root: &Entry) -> Result<()> {
        let view = View::stored(self.store);
        let mut strangers = Vec::new();
        for (path, found) in &self.held {
            let is_it = |entry: Entry| match entry.kind {
                Kind::File { content, .. } => found.as_ref() == Some(&content),
                _ => false,
            };
            if !view.lookup(root, path)?.is_some_and(is_it) {
                strangers.push(path.clone());
            }
        }
        for path in strangers {
            crate::restore::remove_tree(&self.slot.root, &path).map_err(failed("remove", &path))?;
            self.held.remove(&path);
        }
        Ok(())
    }

    /// Makes something at the path, in the place of whatever is there.
    fn make<T>(&self, path: &[u8], make: impl Fn() -> io::Result<T>) -> Result<T> {
        let made = match make() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                crate::restore::remove_tree(&self.slot.root, path).and_then(|()| make())
            }
            other => other,
        };
        made.map_err(failed("make", path))
    }

    /// Makes an entry that is no directory; `old` is where the copy before has the very same.
    fn leaf(&self, path: &[u8], entry: &Entry, dir: &Dir, old: Option<&Dir>, objects: &mut Vec<Located>) -> Result<()> {
        let name = &entry.name[..];
        let is_held = self.held.contains_key(path);
        match &entry.kind {
            Kind::File { size, content } if !is_held => {
                let may_link = !self.grouped.contains(path);
                if may_link && old.is_some_and(|old| old.hard_link(name, dir, name).is_ok()) {
                    self.slot.linked.fetch_add(1, Ordering::Relaxed);
                    return Ok(());
                }
                let file = self.make(path, || dir.create_new(name, 0o600))?;
                self.content(&file, *size, content)?;
            }
            Kind::File { size, content } => self.locate(path, *size, content, objects)?,
            Kind::Symlink(text) => self.make(path, || dir.make_symlink(name, text))?,
            // Nobody's work: a user who may not make one is not kept from the rest.
            Kind::Fifo => drop(dir.make_fifo(name, 0o600)),
            Kind::Socket => drop(dir.make_socket(name, 0o600)),
            Kind::CharDevice(rdev) => drop(dir.make_device(name, FileType::CharDevice, *rdev, 0o600)),
            Kind::BlockDevice(rdev) => drop(dir.make_device(name, FileType::BlockDevice, *rdev, 0o600)),
            Kind::Dir { .. } | Kind::Opaque { .. } => return Ok(()),
        }
        dress(dir, name, &entry.meta, !matches!(entry.kind, Kind::Symlink(_)), self.slot.as_root);
        Ok(())
    }

    /// Notes what lies in a file that was held.
    fn locate(&self, path: &[u8], size: u64, content: &Content, objects: &mut Vec<Located>) -> Result<()> {
        let mut at = 0;
        for segment in View::stored(self.store).segments(size, content)? {
            if let Segment::Data { key, len } = segment {
                let (len, path) = (len as u32, path.to_vec());
                objects.push(Located { key, len, path, frame: None, at });
            }
            at += segment.len();
        }
        Ok(())
    }

    /// Gives a file the content that the store has.
    fn content(&self, file: &File, size: u64, content: &Content) -> Result<()> {
        let segments = View::stored(self.store).segments(size, content)?;
        if let Some(kept) = self.store.native_file(&segments)?
            && self.slot.share(&kept, file)
        {
            return Ok(());
        }
        let failed = || Error::disk("write", "a copy");
        // First, so that no block is set aside beyond what is written, which would fill the holes.
        file.set_len(size).map_err(failed())?;
        let mut at = 0;
        for segment in &segments {
            if let Segment::Data { key, .. } = segment {
                let bytes = self.store.read(key)?;
                file.write_all_at(&bytes, at).map_err(failed())?;
            }
            at += segment.len();
        }
        self.slot.count_copy(size);
        Ok(())
    }

    /// Gives the directories their properties, the deepest first, since a read-only one takes no more entries.
    fn dress_dirs(&self, manifest: &Manifest) -> Result<()> {
        let mut dirs = vec![(Vec::new(), manifest.root.clone())];
        let mut at = 0;
        while at < dirs.len() {
            let (path, entry) = dirs[at].clone();
            for entry in &self.store.node(&node_of(Some(&entry)).expect("only directories are listed"))?.entries {
                if matches!(entry.kind, Kind::Dir { .. }) {
                    dirs.push((join(&path, &entry.name), entry.clone()));
                }
            }
            at += 1;
        }
        for (path, entry) in dirs.iter().skip(1).rev() {
            let (parent, name) = split(path);
            if let Ok(dir) = self.slot.root.dir_path_only(parent) {
                dress(&dir, name, &entry.meta, true, self.slot.as_root);
            }
        }
        Ok(())
    }
}

fn node_of(entry: Option<&Entry>) -> Option<Hash> {
    match entry?.kind {
        Kind::Dir { node, .. } => Some(node),
        _ => None,
    }
}

fn join(path: &[u8], name: &[u8]) -> Vec<u8> {
    if path.is_empty() { name.to_vec() } else { [path, b"/", name].concat() }
}

fn failed(operation: &'static str, path: &[u8]) -> impl FnOnce(io::Error) -> Error {
    Error::disk(operation, printable(path))
}

/// Sets what can be set of an entry's properties.
fn dress(dir: &Dir, name: &[u8], meta: &Meta, has_mode: bool, as_root: bool) {
    for (key, value) in &meta.xattrs {
        let _ = dir.set_xattr(name, key, value);
    }
    if as_root {
        let _ = dir.set_owner(name, meta.uid, meta.gid);
    }
    if has_mode {
        let _ = dir.set_mode(name, meta.mode.into());
    }
    let _ = dir.set_times(name, meta.mtime);
}

/// Copies a file with its holes.
fn copy_bytes(from: &File, to: &File, path: &[u8]) -> Result<()> {
    let (unread, unwritten) = (|| Error::workspace("read", path), || failed("copy", path));
    let size = belay_sys::stat_file(from).map_err(unread())?.size;
    let mut buffer = vec![0; COPY_BYTES.min(size as usize).max(1)];
    // First, so that no block is set aside beyond what is written, which would fill the holes.
    to.set_len(size).map_err(unwritten())?;
    for (offset, len) in belay_sys::data_extents(from, size).map_err(unread())? {
        let (mut at, end) = (offset, offset + len);
        while at < end {
            let want = buffer.len().min((end - at) as usize);
            let got = match from.read_at(&mut buffer[..want], at) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other.map_err(unread())?,
            };
            if got == 0 {
                // It was cut meanwhile, which the capture notices.
                return Ok(());
            }
            to.write_all_at(&buffer[..got], at).map_err(unwritten())?;
            at += got as u64;
        }
    }
    Ok(())
}
