//! Which directory lies where beneath the workspace, by the handles that the kernel names directories with.
//!
//! Invariants:
//! - a directory is known by its handle, so renaming it or one above it changes one entry;
//! - a chain of parents that does not end at the root leads outside, and has no path;
//! - a directory that was removed keeps its place until [`Tree::settle`], since events from within it may follow;
//! - directories that were made, moved or removed while they were being listed are known as they were before, so that what
//!   happened meanwhile can be told from the beginning ([`Tree::go_back`]).

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::AsFd;

use belay_sys::fanotify::Notice;
use belay_sys::{Handle, Root, handle_of, open_handle};

use super::crawl::crawl;
use crate::team::HASTE;

/// Deeper than this a path cannot be named, and a chain is taken for a loop.
const DEPTH_MAX: usize = 4096;

/// How often a directory that keeps moving is asked for its place.
const LOOK_UPS_MAX: usize = 16;

/// The kernel's word for an inode that is gone; its removal is told by an event.
const ESTALE: i32 = 116;

/// The directories of a workspace.
#[derive(Debug)]
pub(super) struct Tree {
    root: Handle,
    mount: i32,
    /// Whether a directory's links tell how many directories are in it.
    counts: bool,
    places: HashMap<Handle, Place>,
    /// Directories that came in from outside and could not be listed at once.
    unlisted: HashSet<Handle>,
    gone: Vec<Handle>,
    moved: HashMap<Handle, u32>,
    /// The last answer, since events come in runs.
    last: Option<(Handle, Vec<u8>)>,
}

/// A directory, and where it is.
pub(super) type Found = (Handle, Place);

/// Where a directory is.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) parent: Handle,
    pub(super) name: Box<[u8]>,
}

impl Tree {
    /// Knows the root and nothing beneath.
    pub(super) fn rooted(root: &Root) -> io::Result<Tree> {
        let located = handle_of(root.as_fd(), b"")?;
        Ok(Tree {
            root: located.handle,
            mount: located.mount,
            counts: root.file_system()?.counts_directories(),
            places: HashMap::new(),
            unlisted: HashSet::new(),
            gone: Vec::new(),
            moved: HashMap::new(),
            last: None,
        })
    }

    /// Lists every directory beneath `root`, except other mounts.
    pub(super) fn list(root: &Root) -> io::Result<Tree> {
        let mut tree = Tree::rooted(root)?;
        let found = tree.lister(root, HASTE)?()?;
        tree.fill(found);
        Ok(tree)
    }

    /// What finds every directory beneath the root with so many threads, whoever does it.
    pub(super) fn lister(
        &self,
        root: &Root,
        threads: usize,
    ) -> io::Result<impl FnOnce() -> io::Result<Vec<Found>> + Send + 'static> {
        let (dir, handle, mount, counts) = (root.dir(b"")?, self.root.clone(), self.mount, self.counts);
        Ok(move || crawl(dir, handle, mount, counts, threads))
    }

    /// Takes in what was found.
    pub(super) fn fill(&mut self, found: Vec<Found>) {
        self.places.reserve(found.len());
        self.places.extend(found);
        self.last = None;
    }

    /// Puts every directory where it was before these notices, which were queued while directories were being listed; each
    /// is to be taken in afterwards.
    ///
    /// Whoever lists directories that move may miss one: it was not yet where one has looked, and is no longer where one looks.
    /// So what was moved is listed once more. Of everything else the first notice says where it was.
    pub(super) fn go_back<'a>(&mut self, root: &Root, notices: impl DoubleEndedIterator<Item = Notice<'a>>) {
        let (mut touched, mut moved) = (Vec::new(), HashSet::new());
        for notice in notices.rev().filter(Notice::dir) {
            let (Some(target), Some(entry)) = (notice.target, notice.entry) else { continue };
            if notice.renamed.is_some() {
                moved.insert(Handle::from(target));
            } else if !notice.created() && !notice.deleted() {
                continue;
            }
            self.put(target, entry.dir, entry.name);
            touched.push(Handle::from(target));
        }
        for handle in moved {
            let listed = self.list_beneath(root, &handle);
            match listed {
                // What is known already was there before, or is told by a notice.
                Ok(found) => found.into_iter().for_each(|(handle, place)| {
                    self.places.entry(handle).or_insert(place);
                }),
                Err(_) => drop(self.unlisted.insert(handle)),
            }
        }
        let strangers: Vec<Handle> =
            touched.into_iter().filter(|handle| self.climb(handle.bytes()).is_none()).collect();
        for handle in strangers {
            self.places.remove(&handle);
            self.unlisted.remove(&handle);
        }
        self.last = None;
    }

    /// The path of an entry, empty for the root; none if it is not beneath it.
    pub(super) fn path(&mut self, dir: &[u8], name: &[u8]) -> Option<Vec<u8>> {
        if self.last.as_ref().is_none_or(|(last, _)| last.bytes() != dir) {
            self.last = Some((Handle::from(dir), self.climb(dir)?));
        }
        let (_, directory) = self.last.as_ref()?;
        let mut path = directory.clone();
        if name != b"." {
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name);
        }
        Some(path)
    }

    fn climb(&self, dir: &[u8]) -> Option<Vec<u8>> {
        let mut names: Vec<&[u8]> = Vec::new();
        let mut at = dir;
        while at != self.root.bytes() {
            let place = self.places.get(at)?;
            names.push(&place.name);
            at = place.parent.bytes();
            if names.len() > DEPTH_MAX {
                return None;
            }
        }
        names.reverse();
        Some(names.join(&b'/'))
    }

    /// A directory is new.
    pub(super) fn created(&mut self, target: &[u8], parent: &[u8], name: &[u8]) {
        self.put(target, parent, name);
    }

    /// A directory is gone.
    pub(super) fn deleted(&mut self, target: &[u8]) {
        self.gone.push(Handle::from(target));
    }

    /// A directory has another place beneath the root.
    pub(super) fn moved(&mut self, target: &[u8], parent: &[u8], name: &[u8]) {
        self.put(target, parent, name);
        *self.moved.entry(Handle::from(target)).or_default() += 1;
    }

    /// A directory came from outside; what is in it is listed.
    pub(super) fn arrived(&mut self, root: &Root, target: &[u8], parent: &[u8], name: &[u8]) {
        self.moved(target, parent, name);
        let handle = Handle::from(target);
        match self.list_beneath(root, &handle) {
            Ok(found) => self.fill(found),
            Err(_) => drop(self.unlisted.insert(handle)),
        }
    }

    /// A directory left, and with it everything beneath.
    pub(super) fn left(&mut self, target: &[u8]) {
        self.places.remove(target);
        self.unlisted.remove(target);
        self.last = None;
    }

    /// Forgets what was removed, and looks after directories whose renames the kernel may have merged.
    ///
    /// It merges a rename with an equal earlier one, so that of `a→b, b→a, a→b` the last goes missing.
    pub(super) fn settle(&mut self, root: &Root) {
        for handle in std::mem::take(&mut self.gone) {
            self.places.remove(&handle);
            self.unlisted.remove(&handle);
            self.last = None;
        }
        for (handle, times) in std::mem::take(&mut self.moved) {
            if times > 1 && self.places.contains_key(&handle) && self.look_up(root, &handle).is_err() {
                self.unlisted.insert(handle);
            }
        }
    }

    /// Directories may be missing, until all are listed again.
    pub(super) fn doubt(&mut self) {
        self.unlisted.insert(self.root.clone());
    }

    /// Whether every directory beneath the root is known.
    pub(super) fn complete(&self) -> bool {
        self.unlisted.is_empty()
    }

    fn put(&mut self, target: &[u8], parent: &[u8], name: &[u8]) {
        let place = Place { parent: Handle::from(parent), name: name.into() };
        self.places.insert(Handle::from(target), place);
        self.last = None;
    }

    /// Everything beneath a directory.
    fn list_beneath(&self, root: &Root, handle: &Handle) -> io::Result<Vec<Found>> {
        // By handle, since by now it may lie elsewhere or something else in its place.
        let dir = match open_handle(root.dir(b"")?.as_fd(), handle) {
            Err(error) if is_gone(&error) => return Ok(Vec::new()),
            opened => Root::from_fd(opened?).dir(b"")?,
        };
        crawl(dir, handle.clone(), self.mount, self.counts, HASTE)
    }

    /// Asks the kernel where a directory is now.
    fn look_up(&mut self, root: &Root, handle: &Handle) -> io::Result<()> {
        let opened = match open_handle(root.dir(b"")?.as_fd(), handle) {
            Err(error) if is_gone(&error) => return Ok(()),
            opened => opened?,
        };
        let above = || handle_of(opened.as_fd(), b"..").map(|located| located.handle);
        for _ in 0..LOOK_UPS_MAX {
            let parent = above()?;
            let path = belay_sys::path_of(&opened)?;
            // It did not move between the two questions, so the last name is the one in that parent.
            if above()? == parent {
                let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
                self.put(handle.bytes(), parent.bytes(), name);
                return Ok(());
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }
}

/// Whether the inode was removed; an event tells that too.
pub(super) fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(ESTALE) || error.kind() == io::ErrorKind::NotFound
}
