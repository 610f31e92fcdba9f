//! File changes as the kernel tells them: one mark on the workspace's file system, and the places of its directories.
//!
//! Invariants:
//! - the mark is set before the directories are listed, so nothing happens unseen in between; they are listed beside whatever
//!   else goes on, and what happens meanwhile waits, and is told from the beginning;
//! - a change outside of the workspace is no change;
//! - after an overflow everything is listed again, and the dirty set is incomplete once.

mod crawl;
mod tree;

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::thread::JoinHandle;

use belay_event::{Action, FileChange, Raw};
use belay_sys::fanotify::{Fanotify, Notice, Notices, Queue};
use belay_sys::{FileSystemKind, FileType, Root, Stat};

use crate::error::{Error, Result};
use tree::{Found, Tree};

const BUFFER_BYTES: usize = 256 * 1024;

/// At most so many buffers, some fifty thousand notices, become events at once: this bounds the memory for a backlog.
const ROUNDS_MAX: usize = 16;

/// At most so many bytes of notices wait for the directories to be listed; more are given up, as after an overflow.
const BACKLOG_BYTES_MAX: usize = 64 << 20;

/// So many files are remembered as open; without it one of them may be told once more when it is closed.
const HELD_MAX: usize = 4096;

/// A change, and the process that made it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// Who; 0 if nobody can tell.
    pub(crate) pid: u32,
    /// What; no actor yet.
    pub(crate) change: FileChange,
    /// Whether it is told, or only makes the path dirty.
    pub(crate) telling: Telling,
    /// How often the process had executed something before, counted in its lot.
    pub(crate) turn: u32,
}

/// Whether a change is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Telling {
    /// It is.
    Yes,
    /// If the file's times say that it was changed just now: somebody who could write to it let it go.
    IfYoung,
    /// No: what this one did to the file was told before.
    No,
}

/// What one look at the queue brought.
#[derive(Debug, Default)]
pub(crate) struct Lot {
    pub(crate) changes: Vec<Change>,
    /// Whether the kernel dropped notices.
    pub(crate) lost: bool,
    /// Whether everything that was queued when the look began is in it.
    pub(crate) emptied: bool,
    /// What is already reported as modified, and by whom.
    modified: HashSet<(u32, Vec<u8>)>,
    /// Processes that executed something.
    turns: HashMap<u32, Turn>,
}

/// How often a process executed something.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    /// The number of executions with changes between them: a script and its interpreter are one.
    count: u32,
    /// Whether it changed nothing since the last one.
    fresh: bool,
    /// Whether the first was told in the lot before.
    carried: bool,
}

/// Every change beneath the workspace.
pub(crate) struct Files {
    queue: Fanotify,
    root: Root,
    tree: Tree,
    /// Whoever lists the directories.
    listing: Option<JoinHandle<io::Result<Vec<Found>>>>,
    /// Notices that were queued while the directories were listed.
    backlog: VecDeque<Vec<u8>>,
    held: HashSet<Vec<u8>>,
    /// Processes that executed something at the end of the last lot, and changed nothing since.
    fresh: Vec<u32>,
    buffer: Vec<u8>,
}

impl Files {
    /// Marks the file system, and begins to list the workspace's directories.
    pub(crate) fn watch(workspace: &Path, queue: Queue) -> Result<Files> {
        let unavailable = |error: io::Error| Error::Unavailable { engine: "fanotify", why: refusal(&error) };
        let root = Root::open(workspace).map_err(kernel("open the workspace"))?;
        let kind = root.file_system().map_err(kernel("look at the workspace's file system"))?.kind;
        if kind == FileSystemKind::Overlay {
            let why = "a directory of an overlay changes its handle when it is copied up".to_owned();
            return Err(Error::Unavailable { engine: "fanotify", why });
        }
        let queue = Fanotify::open(queue).map_err(unavailable)?;
        queue.watch_file_system(root.as_fd()).map_err(unavailable)?;
        // Where programs lie elsewhere it remains unsure what a process did before it became another.
        let _ = Root::open(Path::new("/")).and_then(|programs| queue.watch_executions(programs.as_fd()));
        let tree = Tree::rooted(&root).map_err(unavailable)?;
        let listing = std::thread::Builder::new().name("belay-places".into());
        // One thread is enough: nobody waits for it, and whoever starts the command needs the other processors.
        let listing = listing.spawn(tree.lister(&root, 1).map_err(unavailable)?).map_err(kernel("start a thread"))?;
        Ok(Files {
            queue,
            root,
            tree,
            listing: Some(listing),
            backlog: VecDeque::new(),
            held: HashSet::new(),
            fresh: Vec::new(),
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    /// Whether directories are still being listed; whoever reads then waits for it.
    pub(crate) fn lists(&self) -> bool {
        self.listing.as_ref().is_some_and(|listing| !listing.is_finished())
    }

    /// Whether every directory beneath the workspace is known.
    pub(crate) fn complete(&self) -> bool {
        self.tree.complete()
    }

    /// Lists every directory again.
    pub(crate) fn list_again(&mut self) {
        match Tree::list(&self.root) {
            Ok(tree) => self.tree = tree,
            Err(_) => self.tree.doubt(),
        }
    }

    /// When the inode of a path last changed, in nanoseconds since 1970.
    pub(crate) fn changed_at(&self, path: &[u8]) -> Option<i128> {
        let stat = self.stat(path)?;
        Some(i128::from(stat.ctime.sec) * 1_000_000_000 + i128::from(stat.ctime.nsec))
    }

    /// Whether one of these files has another name, of whose change through the first there is no notice.
    pub(crate) fn any_linked_elsewhere(&self, paths: &[Vec<u8>]) -> bool {
        let linked = |stat: Stat| stat.file_type != FileType::Dir && stat.nlink > 1;
        paths.iter().any(|path| self.stat(path).is_some_and(linked))
    }

    fn stat(&self, path: &[u8]) -> Option<Stat> {
        let cut = path.iter().rposition(|byte| *byte == b'/');
        let (parent, name) = cut.map_or((&b""[..], path), |cut| (&path[..cut], &path[cut + 1..]));
        if name.is_empty() {
            return None;
        }
        self.root.dir_path_only(parent).ok()?.stat(name).ok()
    }

    /// Reads what is there.
    pub(crate) fn read(&mut self) -> Lot {
        let begun = self.fresh.drain(..).map(|pid| (pid, Turn { count: 1, fresh: true, carried: true }));
        let mut lot = Lot { turns: begun.collect(), ..Lot::default() };
        if let Some(listing) = self.listing.take() {
            self.finish_listing(listing, &mut lot);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        // Not until the queue is empty: on a file system that others are busy with it never is.
        let mut left = self.queue.waiting().unwrap_or(usize::MAX);
        for _ in 0..ROUNDS_MAX {
            if let Some(bytes) = self.backlog.pop_front() {
                Notices::of(&bytes).for_each(|notice| self.take(&notice, &mut lot));
                continue;
            }
            if left == 0 {
                lot.emptied = true;
                break;
            }
            let notices = self.queue.read(&mut buffer).unwrap_or_else(|_| {
                lot.lost = true;
                Notices::none()
            });
            if notices.is_empty() {
                lot.emptied = true;
                break;
            }
            for notice in notices {
                left = left.saturating_sub(1);
                self.take(&notice, &mut lot);
            }
        }
        self.buffer = buffer;
        self.fresh.extend(lot.turns.iter().filter(|(_, turn)| turn.fresh).map(|(pid, _)| *pid));
        if lot.lost {
            self.list_again();
        } else {
            self.tree.settle(&self.root);
        }
        lot
    }

    /// Takes the directories in, and goes back to where they were before everything that waits.
    fn finish_listing(&mut self, listing: JoinHandle<io::Result<Vec<Found>>>, lot: &mut Lot) {
        match listing.join().expect("whoever lists does not panic") {
            Ok(found) => self.tree.fill(found),
            Err(_) => return lot.lost = true,
        }
        match self.put_aside() {
            Ok(true) => {}
            Ok(false) | Err(_) => {
                self.backlog.clear();
                return lot.lost = true;
            }
        }
        let waiting: Vec<Notice<'_>> = self.backlog.iter().flat_map(|bytes| Notices::of(bytes)).collect();
        self.tree.go_back(&self.root, waiting.into_iter());
    }

    /// Moves everything that waits into the backlog; no if that is too much.
    fn put_aside(&mut self) -> io::Result<bool> {
        let (mut left, mut bytes) = (self.queue.waiting()?, 0);
        while left > 0 {
            let notices = self.queue.read(&mut self.buffer)?;
            if notices.is_empty() {
                break;
            }
            bytes += notices.bytes().len();
            if bytes > BACKLOG_BYTES_MAX {
                return Ok(false);
            }
            self.backlog.push_back(notices.bytes().to_vec());
            left = left.saturating_sub(notices.count());
        }
        Ok(true)
    }

    fn take(&mut self, notice: &Notice<'_>, lot: &mut Lot) {
        if notice.overflow() {
            lot.lost = true;
        } else if notice.executed() {
            lot.executed(notice.pid);
        } else if notice.renamed.is_some() {
            self.take_rename(notice, lot);
        } else if let Some(path) = notice.entry.and_then(|entry| self.tree.path(entry.dir, entry.name)) {
            let is_named = notice.created() || notice.deleted() || !looks_nameless(&path);
            if is_named || self.stat(&path).is_some() {
                self.take_entry(notice, path, lot);
            } else {
                // It may have been given a name since, which the kernel does not tell with what is written.
                lot.add(notice.pid, change(notice, Vec::new()), Telling::No);
            }
        }
    }

    fn take_entry(&mut self, notice: &Notice<'_>, path: Vec<u8>, lot: &mut Lot) {
        if let (true, Some(entry), Some(target)) = (notice.dir(), notice.entry, notice.target) {
            if notice.created() {
                self.tree.created(target, entry.dir, entry.name);
            }
            if notice.deleted() {
                self.tree.deleted(target);
            }
        }
        if notice.created() {
            lot.push(notice, Action::Created, path.clone(), None);
        } else if notice.modified() {
            lot.push_modified(notice, path.clone());
        } else if notice.released() {
            let telling = if self.held.remove(&path) { Telling::No } else { Telling::IfYoung };
            lot.add(notice.pid, change(notice, path.clone()), telling);
        }
        self.remember(notice, &path);
        if notice.deleted() {
            lot.modified.remove(&(notice.pid, path.clone()));
            lot.push(notice, Action::Deleted, path, None);
        }
    }

    /// Notes a file whose change was told and that may still be open, since letting it go is no further change.
    fn remember(&mut self, notice: &Notice<'_>, path: &[u8]) {
        let told = notice.created() || notice.modified();
        if notice.dir() || !told || notice.released() || notice.deleted() {
            return;
        }
        if self.held.len() >= HELD_MAX {
            self.held.clear();
        }
        self.held.insert(path.to_vec());
    }

    fn take_rename(&mut self, notice: &Notice<'_>, lot: &mut Lot) {
        let old = notice.entry.and_then(|entry| self.tree.path(entry.dir, entry.name));
        let new = notice.renamed.and_then(|entry| self.tree.path(entry.dir, entry.name));
        if let (true, Some(target), Some(entry)) = (notice.dir(), notice.target, notice.renamed) {
            match (&old, &new) {
                (Some(_), Some(_)) => self.tree.moved(target, entry.dir, entry.name),
                (None, Some(_)) => self.tree.arrived(&self.root, target, entry.dir, entry.name),
                (Some(_), None) => self.tree.left(target),
                (None, None) => {}
            }
        }
        match (old, new) {
            (Some(old), new) => {
                lot.modified.remove(&(notice.pid, old.clone()));
                lot.push(notice, Action::Renamed, old, new);
            }
            (None, Some(new)) => lot.push(notice, Action::Created, new, None),
            (None, None) => {}
        }
    }
}

impl AsFd for Files {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}

impl Lot {
    /// Everything that there was.
    pub(crate) fn all(changes: Vec<Change>, lost: bool) -> Lot {
        Lot { changes, lost, emptied: true, ..Lot::default() }
    }

    /// How often the process executed something in this lot or just before it, and whether the first may lie before it.
    pub(crate) fn turns(&self, pid: u32) -> (u32, bool) {
        self.turns.get(&pid).map_or((0, false), |turn| (turn.count, turn.carried && !turn.fresh))
    }

    fn executed(&mut self, pid: u32) {
        let turn = self.turns.entry(pid).or_default();
        turn.count += u32::from(!turn.fresh);
        turn.fresh = true;
    }

    fn add(&mut self, pid: u32, change: FileChange, telling: Telling) {
        let turn = self.turns.get_mut(&pid).map_or(0, |turn| {
            turn.fresh = false;
            turn.count
        });
        self.changes.push(Change { pid, change, telling, turn });
    }

    fn push(&mut self, notice: &Notice<'_>, action: Action, path: Vec<u8>, to: Option<Vec<u8>>) {
        let change = FileChange { action, to: to.map(Raw::from), ..change(notice, path) };
        self.add(notice.pid, change, Telling::Yes);
    }

    fn push_modified(&mut self, notice: &Notice<'_>, path: Vec<u8>) {
        if self.modified.insert((notice.pid, path.clone())) {
            self.push(notice, Action::Modified, path, None);
        }
    }
}

fn change(notice: &Notice<'_>, path: Vec<u8>) -> FileChange {
    let dir = notice.dir();
    FileChange { action: Action::Modified, path: Raw::from(path), to: None, dir, size: None, by: None }
}

fn kernel(what: &'static str) -> impl Fn(io::Error) -> Error {
    move |source| Error::Kernel { what, source }
}

/// Whether the kernel calls a file so that was opened with `O_TMPFILE` and has no name: a hash sign and a number.
pub(crate) fn looks_nameless(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    name.strip_prefix(b"#").is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

/// Why the kernel does not watch a file system, in words.
fn refusal(error: &io::Error) -> String {
    let known = match error.raw_os_error() {
        Some(1) => "it takes root (CAP_SYS_ADMIN)",
        Some(22) => "this kernel is too old; it takes Linux 5.17",
        Some(18) => "the workspace is a subvolume, which the kernel does not watch as a file system",
        Some(19 | 95) => "this file system cannot name its files for it",
        Some(24) => "too many programs watch already (fs.fanotify.max_user_groups)",
        _ => return belay_sys::plain(error),
    };
    known.to_owned()
}

#[cfg(test)]
mod tests;
