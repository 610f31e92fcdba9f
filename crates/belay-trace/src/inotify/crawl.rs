//! Watches on every directory beneath a root, set by two threads.
//!
//! Invariants: a directory is watched before one looks what is in it; where links are counted, a directory that still
//! has two of them once it is watched need not be listed, since one that is made in it later is told.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use belay_sys::inotify::Inotify;
use belay_sys::{Dir, Root};

use super::{is_gone, join, list};
use crate::team::{Team, do_all};

/// At most so many directories wait while they are open; the others are opened again.
const OPEN_MAX: usize = 64;

/// What was watched, and what could not be.
#[derive(Default)]
pub(super) struct Found {
    /// Each watch with the watch of the directory above and the name in it.
    pub(super) places: Vec<(i32, i32, Vec<u8>)>,
    /// Directories that cannot be watched.
    pub(super) blind: Vec<Vec<u8>>,
    /// Whether the kernel refuses more watches.
    pub(super) full: bool,
    buffer: Vec<u8>,
}

/// A directory that is watched and not yet listed.
struct Todo {
    watch: i32,
    path: Vec<u8>,
    dir: Option<Dir>,
}

struct Crawl<'a> {
    root: &'a Root,
    inotify: &'a Inotify,
    counts: bool,
    open: AtomicUsize,
}

/// Watches everything beneath `root`, whose own watch is `watch`.
pub(super) fn crawl(root: &Root, inotify: &Inotify, watch: i32) -> io::Result<Vec<Found>> {
    let counts = root.file_system()?.counts_directories();
    let crawl = Crawl { root, inotify, counts, open: AtomicUsize::new(1) };
    let first = Todo { watch, path: Vec::new(), dir: Some(root.dir(b"")?) };
    Ok(do_all(first, |team, found: &mut Found, todo| crawl.enter(team, found, todo)))
}

impl Crawl<'_> {
    fn enter(&self, team: &Team<Todo>, found: &mut Found, Todo { watch, path, dir }: Todo) {
        if dir.is_some() {
            self.open.fetch_sub(1, Ordering::Relaxed);
        }
        let dir = match dir.map_or_else(|| self.root.dir(&path), Ok) {
            Ok(dir) => dir,
            Err(error) => return found.miss(path, &error),
        };
        let mut names = Vec::new();
        list(&dir, &mut found.buffer, &mut |name, is_dir| {
            if is_dir {
                names.push(name.to_vec());
            }
        });
        for name in names {
            let path = join(&path, &name);
            match dir.subdir(&name).and_then(|child| Ok((self.inotify.watch(child.as_fd())?, child))) {
                Ok((child_watch, child)) => {
                    found.places.push((child_watch, watch, name));
                    self.leave_for_later(team, child_watch, path, child);
                }
                Err(error) => found.miss(path, &error),
            }
        }
    }

    fn leave_for_later(&self, team: &Team<Todo>, watch: i32, path: Vec<u8>, dir: Dir) {
        if self.counts && dir.stat_self().is_ok_and(|stat| stat.nlink == 2) {
            return;
        }
        let stays_open = self.open.load(Ordering::Relaxed) < OPEN_MAX;
        if stays_open {
            self.open.fetch_add(1, Ordering::Relaxed);
        }
        team.add(Todo { watch, path, dir: stays_open.then_some(dir) });
    }
}

impl Found {
    fn miss(&mut self, path: Vec<u8>, error: &io::Error) {
        self.full |= error.kind() == io::ErrorKind::StorageFull;
        if !is_gone(error) {
            self.blind.push(path);
        }
    }
}
