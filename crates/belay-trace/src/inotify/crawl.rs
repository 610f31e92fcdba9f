//! Watches on every directory beneath a root, set by two threads.
//!
//! Invariants: a directory is watched before one looks what is in it; where links are counted, a directory that still
//! has two of them once it is watched need not be listed, since one that is made in it later is told.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use belay_sys::inotify::{Inotify, Stand};
use belay_sys::{Dir, FileType, Root, Stat};

use super::{is_gone, join, list};
use crate::team::{HASTE, Team, do_all};

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
    /// Where the thread stands; none before its first directory, and nowhere if it cannot have a place of its own.
    stand: Option<Option<Stand>>,
}

/// A directory that is not yet listed.
struct Todo {
    /// The watch of the directory above and the name in it; none for the root.
    place: Option<(i32, Vec<u8>)>,
    /// Its own watch, if it is watched already.
    watch: Option<i32>,
    path: Vec<u8>,
    dir: Option<Dir>,
}

struct Crawl<'a> {
    root: &'a Root,
    inotify: &'a Inotify,
    counts: bool,
    /// Whether a thread may go from directory to directory.
    walks: bool,
    open: AtomicUsize,
}

/// Watches everything beneath `root`, whose own watch is `watch`.
pub(super) fn crawl(root: &Root, inotify: &Inotify, watch: i32) -> io::Result<Vec<Found>> {
    let counts = root.file_system()?.counts_directories();
    Crawl { root, inotify, counts, walks: true, open: AtomicUsize::new(1) }.watch_all(watch)
}

impl Crawl<'_> {
    fn watch_all(&self, watch: i32) -> io::Result<Vec<Found>> {
        let first = Todo { place: None, watch: Some(watch), path: Vec::new(), dir: Some(self.root.dir(b"")?) };
        let work = || do_all(HASTE, first, |team, found: &mut Found, todo| self.enter(team, found, todo));
        // In threads of its own, since each goes from directory to directory.
        Ok(std::thread::scope(|scope| scope.spawn(work).join().expect("the work does not panic")))
    }

    fn enter(&self, team: &Team<Todo>, found: &mut Found, Todo { place, watch, path, dir }: Todo) {
        if dir.is_some() {
            self.open.fetch_sub(1, Ordering::Relaxed);
        }
        let dir = match dir.map_or_else(|| self.root.dir(&path), Ok) {
            Ok(dir) => dir,
            Err(error) => return found.miss(path, &error),
        };
        let stands = self.walks && found.go_to(&dir);
        let watch = match watch.map_or_else(|| found.watch(self.inotify, &dir, stands), Ok) {
            Ok(watch) => watch,
            Err(error) => return found.miss(path, &error),
        };
        found.places.extend(place.map(|(above, name)| (watch, above, name)));
        let mut names = Vec::new();
        list(&dir, &mut found.buffer, &mut |name, is_dir| {
            if is_dir {
                names.push(name.to_vec());
            }
        });
        for name in names {
            let own = if stands { self.watch_by_name(found, &name) } else { None };
            if own.is_some() && dir.stat(&name).is_ok_and(|stat| self.is_leaf(&stat)) {
                found.places.extend(own.map(|own| (own, watch, name)));
                continue;
            }
            let path = join(&path, &name);
            match dir.subdir(&name) {
                // If another is there by now, the watch above tells of it.
                Ok(child) if stands => self.leave_for_later(team, (watch, name), own, path, child),
                Ok(child) => match self.inotify.watch(child.as_fd()) {
                    Ok(own) if child.stat_self().is_ok_and(|stat| self.is_leaf(&stat)) => {
                        found.places.push((own, watch, name));
                    }
                    Ok(own) => self.leave_for_later(team, (watch, name), Some(own), path, child),
                    Err(error) => found.miss(path, &error),
                },
                Err(error) => found.miss(path, &error),
            }
        }
    }

    /// Watches an entry of the directory where the thread stands; why one cannot be watched is told when it is opened.
    fn watch_by_name(&self, found: &Found, name: &[u8]) -> Option<i32> {
        let stand = found.stand.as_ref().and_then(Option::as_ref)?;
        self.inotify.watch_at(stand, name).ok()
    }

    /// Whether nothing can be in a directory that would have to be watched too.
    fn is_leaf(&self, stat: &Stat) -> bool {
        self.counts && stat.file_type == FileType::Dir && stat.nlink == 2
    }

    fn leave_for_later(&self, team: &Team<Todo>, place: (i32, Vec<u8>), watch: Option<i32>, path: Vec<u8>, dir: Dir) {
        let stays_open = self.open.load(Ordering::Relaxed) < OPEN_MAX;
        if stays_open {
            self.open.fetch_add(1, Ordering::Relaxed);
        }
        team.add(Todo { place: Some(place), watch, path, dir: stays_open.then_some(dir) });
    }
}

impl Found {
    /// Stands in this directory, if the thread can have a place of its own.
    fn go_to(&mut self, dir: &Dir) -> bool {
        let stand = self.stand.get_or_insert_with(|| Stand::new().ok());
        stand.as_mut().is_some_and(|stand| stand.go_to(dir.as_fd()).is_ok())
    }

    fn watch(&self, inotify: &Inotify, dir: &Dir, stands: bool) -> io::Result<i32> {
        match self.stand.as_ref().and_then(Option::as_ref).filter(|_| stands) {
            Some(stand) => inotify.watch_at(stand, b"."),
            None => inotify.watch(dir.as_fd()),
        }
    }

    fn miss(&mut self, path: Vec<u8>, error: &io::Error) {
        self.full |= error.kind() == io::ErrorKind::StorageFull;
        if !is_gone(error) {
            self.blind.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::sync::atomic::AtomicUsize;

    use belay_sys::Root;
    use belay_sys::inotify::Inotify;

    use super::Crawl;

    #[test]
    fn every_directory_is_watched_in_whatever_way() {
        let place = tempfile::tempdir().unwrap();
        for number in 0..300 {
            fs::create_dir_all(place.path().join(format!("a{}/b{}/c{number}", number % 7, number % 90))).unwrap();
        }
        fs::write(place.path().join("a1/file"), "").unwrap();
        std::os::unix::fs::symlink("a2", place.path().join("link")).unwrap();
        std::os::unix::fs::symlink("../a3", place.path().join("a2/link")).unwrap();
        let here = std::env::current_dir().unwrap();
        let root = Root::open(place.path()).unwrap();
        let inotify = Inotify::new().unwrap();
        let own = inotify.watch(root.as_fd()).unwrap();
        let counted = root.file_system().unwrap().counts_directories();
        let watched = |walks: bool, counts: bool| {
            let crawl = Crawl { root: &root, inotify: &inotify, counts, walks, open: AtomicUsize::new(1) };
            let found = crawl.watch_all(own).unwrap();
            assert!(found.iter().all(|found| found.blind.is_empty() && !found.full));
            let places: Vec<_> = found.into_iter().flat_map(|found| found.places).collect();
            let set: BTreeSet<_> = places.iter().cloned().collect();
            assert_eq!(set.len(), places.len(), "something has two places");
            set
        };
        let pairs: BTreeSet<_> = (0..300).map(|number| (number % 7, number % 90)).collect();
        let all = watched(false, false);
        assert_eq!(all.len(), 7 + pairs.len() + 300);
        for walks in [false, true] {
            assert_eq!(watched(walks, counted), all);
            assert_eq!(watched(walks, false), all);
        }
        assert_eq!(std::env::current_dir().unwrap(), here, "somebody else was moved along");
    }
}
