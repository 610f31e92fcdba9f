//! Watches every directory of a workspace and says what changed in it.
//!
//! Invariants:
//! - a new directory is watched first and listed afterwards, so that nothing in it is missed; what the listing finds is new;
//! - a directory is known by its watch, which the kernel ties to the directory itself and not to its name: whatever order
//!   of moves we reconstructed wrongly is set right as soon as the directory is opened again;
//! - events that the kernel dropped are told, everything is looked at again, and the dirty set is incomplete once;
//! - a directory that we may not read is dirty for ever.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::sync::Arc;

use belay_event::{Action, FileChange, Raw};
use belay_sys::inotify::{Entry, Inotify, Notice, entries};
use belay_sys::{FileType, Root};

use crate::fanotify::looks_nameless;
use crate::options::Dirty;

mod crawl;
pub(crate) mod dirty;
pub(crate) mod mounts;
mod tree;

use dirty::Paths;
use mounts::Mounts;
use tree::{Placed, Tree};

/// How long the second half of a rename may take, in nanoseconds; the kernel queues both halves within one call.
const HALF_NS_MAX: u64 = 20_000_000;

/// Every watch on a workspace, and what they told.
pub(crate) struct Watches {
    inotify: Arc<Inotify>,
    root: Root,
    tree: Tree,
    mounts: Mounts,
    dirty: Paths,
    blind: BTreeSet<Vec<u8>>,
    /// Whether no event was lost since somebody asked for the dirty set.
    complete: bool,
    /// Whether the kernel refuses more watches.
    full: bool,
    /// Entries that a listing found, whose creation may still be told.
    found: HashSet<(i32, Vec<u8>)>,
    /// Files that are being written, and were reported so.
    writing: HashSet<(i32, Vec<u8>)>,
    leaving: Vec<Leaving>,
    /// Names that were removed, through which somebody may still write.
    gone: Gone,
    /// New directories that were not where they should be: one above them was moved, of which we shall hear.
    astray: HashSet<(i32, Vec<u8>)>,
}

/// The names that were removed last: at least so many, so that memory has a limit.
#[derive(Default)]
struct Gone {
    newer: HashSet<(i32, Vec<u8>)>,
    older: HashSet<(i32, Vec<u8>)>,
}

impl Gone {
    const KEPT_MIN: usize = 1 << 16;

    fn add(&mut self, name: (i32, Vec<u8>)) {
        if self.newer.len() == Gone::KEPT_MIN {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(name);
    }

    /// Something is there again.
    fn remove(&mut self, name: &(i32, Vec<u8>)) {
        self.newer.remove(name);
        self.older.remove(name);
    }

    fn contains(&self, name: &(i32, Vec<u8>)) -> bool {
        self.newer.contains(name) || self.older.contains(name)
    }
}

/// The first half of a rename.
struct Leaving {
    cookie: u32,
    path: Vec<u8>,
    dir: bool,
    watch: Option<i32>,
    at: u64,
}

/// What one lot of events means.
#[derive(Default)]
pub(crate) struct Changes {
    /// In order; with each whether a listing found it, later than the event that led there.
    pub(crate) list: Vec<(FileChange, bool)>,
    /// Whether the kernel dropped events.
    pub(crate) lost: bool,
    /// What is already reported as new or modified.
    told: HashMap<Vec<u8>, Action>,
}

impl Watches {
    /// Watches every directory beneath `root`.
    pub(crate) fn new(root: Root, inotify: Arc<Inotify>, workspace: &[u8]) -> io::Result<Watches> {
        let mut watches = Watches {
            inotify,
            root,
            tree: Tree::default(),
            mounts: Mounts::beneath(workspace),
            dirty: Paths::default(),
            blind: BTreeSet::new(),
            complete: true,
            full: false,
            found: HashSet::new(),
            writing: HashSet::new(),
            leaving: Vec::new(),
            gone: Gone::default(),
            astray: HashSet::new(),
        };
        watches.watch_all()?;
        Ok(watches)
    }

    /// Whether the kernel refuses more watches.
    pub(crate) fn full(&self) -> bool {
        self.full
    }

    /// Reads a lot of events that was taken from the kernel at `at`.
    pub(crate) fn read(&mut self, bytes: &[u8], at: u64) -> Changes {
        let mut changes = Changes::default();
        for entry in entries(bytes) {
            self.read_entry(entry, at, &mut changes);
        }
        self.give_up(at, &mut changes);
        self.look_for_astray(&mut changes);
        if changes.lost {
            self.complete = false;
            // Failure leaves the old tree in place; the next loss or the next question tries again.
            self.watch_all().unwrap_or(());
        }
        changes
    }

    /// Tells which entries left for good, once the second half of their rename is overdue.
    pub(crate) fn give_up(&mut self, now: u64, changes: &mut Changes) {
        let overdue = |half: &Leaving| now.saturating_sub(half.at) > HALF_NS_MAX;
        if !self.leaving.iter().any(overdue) {
            return;
        }
        let (gone, kept) = std::mem::take(&mut self.leaving).into_iter().partition(overdue);
        self.leaving = kept;
        for half in gone {
            if let Some(watch) = half.watch {
                self.forget(watch);
            }
            changes.renamed(half.path, None, half.dir);
        }
    }

    /// Whether halves of renames are waited for.
    pub(crate) fn expects(&self) -> bool {
        !self.leaving.is_empty()
    }

    /// Call it when everything that was queued has been read: no creation is on its way any more.
    pub(crate) fn settle(&mut self) {
        self.found.clear();
        if self.leaving.is_empty() {
            self.astray.clear();
        }
    }

    /// What may have changed since the last call.
    pub(crate) fn take_dirty(&mut self) -> Dirty {
        if self.mounts.changed() {
            self.complete = false;
            self.watch_all().unwrap_or(());
        }
        self.blind.iter().for_each(|path| self.dirty.add(path));
        let complete = std::mem::replace(&mut self.complete, true) && !self.full;
        Dirty { paths: self.dirty.take(), complete }
    }

    fn read_entry(&mut self, entry: Entry<'_>, at: u64, changes: &mut Changes) {
        match entry.notice {
            Notice::Overflow => return changes.lost = true,
            Notice::Ignored => {
                self.tree.remove(entry.watch);
                return;
            }
            Notice::Other => return,
            _ => {}
        }
        // A directory that has a name here tells of itself there too.
        if entry.name.is_empty() && self.tree.path(entry.watch, b"").is_none_or(|path| !path.is_empty()) {
            return;
        }
        let Some(path) = self.tree.path(entry.watch, entry.name) else { return };
        let is_change = matches!(entry.notice, Notice::Written | Notice::Closed | Notice::Attributes);
        let key = || (entry.watch, entry.name.to_vec());
        let is_nameless = || looks_nameless(&path) && !self.is_there(&path);
        if is_change && (self.gone.contains(&key()) || is_nameless()) {
            // It may have another name, or have been given one since, which the kernel does not tell with what is written.
            return self.dirty.add(b"");
        }
        self.dirty.add(&path);
        if matches!(entry.notice, Notice::Created | Notice::MovedTo(_)) {
            self.gone.remove(&key());
        }
        match entry.notice {
            Notice::Created => {
                if !self.found.remove(&key()) {
                    changes.created(path, entry.dir, false);
                }
                if entry.dir {
                    self.adopt(entry.watch, entry.name, changes);
                }
            }
            Notice::Deleted => {
                self.gone.add(key());
                self.found.remove(&key());
                self.astray.remove(&key());
                self.writing.remove(&key());
                self.blind.remove(&path);
                changes.deleted(path, entry.dir);
            }
            Notice::MovedFrom(cookie) => {
                self.found.remove(&key());
                self.astray.remove(&key());
                self.writing.remove(&key());
                let watch = self.tree.child(entry.watch, entry.name).filter(|_| entry.dir);
                self.leaving.push(Leaving { cookie, path, dir: entry.dir, watch, at });
            }
            Notice::MovedTo(cookie) => self.arrive(cookie, entry, path, changes),
            Notice::Written => {
                if self.writing.insert(key()) {
                    changes.modified(path, entry.dir);
                }
            }
            // Closed without a write: it is dirty all the same, since memory may have been written that is mapped from it.
            Notice::Closed => {
                if self.writing.remove(&key()) {
                    changes.modified(path, entry.dir);
                }
            }
            Notice::Attributes => {
                if self.blind.remove(&path) {
                    self.adopt(entry.watch, entry.name, changes);
                }
                changes.modified(path, entry.dir);
            }
            Notice::Ignored | Notice::Overflow | Notice::Other => {}
        }
    }

    fn arrive(&mut self, cookie: u32, entry: Entry<'_>, path: Vec<u8>, changes: &mut Changes) {
        match self.leaving.iter().position(|half| half.cookie == cookie) {
            Some(at) => {
                let half = self.leaving.remove(at);
                if let Some(watch) = half.watch {
                    self.tree.place(watch, entry.watch, entry.name);
                }
                changes.renamed(half.path, Some(path), entry.dir);
            }
            None if self.found.remove(&(entry.watch, entry.name.to_vec())) => {}
            None => changes.created(path, entry.dir, false),
        }
        if entry.dir {
            self.adopt(entry.watch, entry.name, changes);
        }
    }

    /// Watches a directory that may be new, and what is in it.
    fn adopt(&mut self, parent: i32, name: &[u8], changes: &mut Changes) {
        let mut waiting = vec![(parent, name.to_vec())];
        let mut buffer = Vec::new();
        while let Some((parent, name)) = waiting.pop() {
            let Some(path) = self.tree.path(parent, &name) else { continue };
            let Some((watch, dir)) = self.watch(&path) else {
                self.astray.insert((parent, name));
                continue;
            };
            self.stays(watch);
            match self.tree.place(watch, parent, &name) {
                Placed::Same => continue,
                // Another directory is where we thought that this one was.
                Placed::Moved(parent, name) => {
                    waiting.push((parent, name));
                    continue;
                }
                Placed::New => {}
            }
            self.dirty.add(&path);
            let mut each = |entry: &[u8], dir: bool| {
                changes.created(join(&path, entry), dir, true);
                self.found.insert((watch, entry.to_vec()));
                if dir {
                    waiting.push((watch, entry.to_vec()));
                }
            };
            list(&dir, &mut buffer, &mut each);
        }
    }

    /// Tries again what could not be found.
    fn look_for_astray(&mut self, changes: &mut Changes) {
        for (parent, name) in std::mem::take(&mut self.astray) {
            self.adopt(parent, &name, changes);
        }
    }

    /// A directory that was seen to leave is here after all.
    fn stays(&mut self, watch: i32) {
        for half in &mut self.leaving {
            half.watch = half.watch.filter(|leaving| *leaving != watch);
        }
    }

    /// Opens and watches one directory; none if it is gone, or cannot be and counts as dirty from now on.
    fn watch(&mut self, path: &[u8]) -> Option<(i32, belay_sys::Dir)> {
        let dir = match self.root.dir(path) {
            Ok(dir) => dir,
            Err(error) => {
                if !is_gone(&error) {
                    self.blind.insert(path.to_vec());
                }
                return None;
            }
        };
        match self.inotify.watch(dir.as_fd()) {
            Ok(watch) => Some((watch, dir)),
            Err(error) => {
                self.full |= error.kind() == io::ErrorKind::StorageFull;
                self.blind.insert(path.to_vec());
                None
            }
        }
    }

    /// Watches everything anew, reporting nothing; watches on what is no longer there are dropped.
    fn watch_all(&mut self) -> io::Result<()> {
        let before = std::mem::take(&mut self.tree);
        self.blind.clear();
        self.leaving.clear();
        self.astray.clear();
        self.full = false;
        let root = self.root.dir(b"")?;
        let watch = self.inotify.watch(root.as_fd())?;
        self.tree.set_root(watch);
        let mut places = Vec::new();
        for found in crawl::crawl(&self.root, &self.inotify, watch)? {
            self.full |= found.full;
            self.blind.extend(found.blind);
            places.extend(found.places);
        }
        self.tree.place_all(places);
        let gone: Vec<_> = before.watches().filter(|watch| !self.tree.knows(*watch)).collect();
        gone.into_iter().for_each(|watch| self.inotify.unwatch(watch));
        Ok(())
    }

    fn is_there(&self, path: &[u8]) -> bool {
        let cut = path.iter().rposition(|byte| *byte == b'/');
        let (parent, name) = cut.map_or((&b""[..], path), |cut| (&path[..cut], &path[cut + 1..]));
        self.root.dir_path_only(parent).and_then(|dir| dir.stat(name)).is_ok()
    }

    fn forget(&mut self, watch: i32) {
        for watch in self.tree.remove(watch) {
            self.inotify.unwatch(watch);
        }
    }
}

impl Changes {
    fn created(&mut self, path: Vec<u8>, dir: bool, found: bool) {
        self.told.insert(path.clone(), Action::Created);
        self.push(Action::Created, path, None, dir, found);
    }

    fn modified(&mut self, path: Vec<u8>, dir: bool) {
        if !self.told.contains_key(&path) {
            self.told.insert(path.clone(), Action::Modified);
            self.push(Action::Modified, path, None, dir, false);
        }
    }

    fn deleted(&mut self, path: Vec<u8>, dir: bool) {
        self.told.remove(&path);
        self.push(Action::Deleted, path, None, dir, false);
    }

    fn renamed(&mut self, path: Vec<u8>, to: Option<Vec<u8>>, dir: bool) {
        self.told.remove(&path);
        if let Some(to) = &to {
            self.told.remove(to);
        }
        self.push(Action::Renamed, path, to, dir, false);
    }

    fn push(&mut self, action: Action, path: Vec<u8>, to: Option<Vec<u8>>, dir: bool, found: bool) {
        let change = FileChange { action, path: Raw::from(path), to: to.map(Raw::from), dir, size: None, by: None };
        self.list.push((change, found));
    }
}

/// Calls `each` with every entry and whether it is a directory; what can no longer be listed is gone.
fn list(dir: &belay_sys::Dir, buffer: &mut Vec<u8>, each: &mut dyn FnMut(&[u8], bool)) {
    let mut unknown = Vec::new();
    let listed = dir.list(buffer, &mut |name, kind, _| match kind {
        FileType::Unknown => unknown.push(name.to_vec()),
        kind => each(name, kind == FileType::Dir),
    });
    if listed.is_ok() {
        for name in unknown {
            let is_dir = dir.stat(&name).is_ok_and(|stat| stat.file_type == FileType::Dir);
            each(&name, is_dir);
        }
    }
}

/// Whether there is no such directory, or a link or a file in its place.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(belay_sys::inotify::LINK_IN_THE_WAY)
}

fn join(path: &[u8], name: &[u8]) -> Vec<u8> {
    if path.is_empty() { name.to_vec() } else { [path, name].join(&b'/') }
}

#[cfg(test)]
mod tests;
