//! Every directory beneath one, with its handle and its place.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use belay_sys::{Dir, FileType, Handle, handle_of};

use super::tree::{self, Place, is_gone};
use crate::team::{Team, do_all};

/// At most so many directories wait while they are open; the others are gone through at once.
const OPEN_MAX: usize = 64;

/// What one thread found, and the room that it lists directories in.
#[derive(Default)]
struct Found {
    places: Vec<(Handle, Place)>,
    buffer: Vec<u8>,
}

struct Crawl {
    mount: i32,
    counts: bool,
    waiting: AtomicUsize,
    failed: Mutex<Option<io::Error>>,
}

/// Lists what is beneath `dir` on the same mount, by so many threads; with `counts` a directory of two links is known to hold
/// none.
pub(super) fn crawl(
    dir: Dir,
    handle: Handle,
    mount: i32,
    counts: bool,
    threads: usize,
) -> io::Result<Vec<tree::Found>> {
    let crawl = Crawl { mount, counts, waiting: AtomicUsize::new(1), failed: Mutex::new(None) };
    let found = do_all(threads, (dir, handle), |team, found: &mut Found, (dir, handle)| {
        crawl.waiting.fetch_sub(1, Ordering::Relaxed);
        if let Err(error) = crawl.list(team, found, &dir, &handle) {
            crawl.failed.lock().expect("nobody panics with it").get_or_insert(error);
        }
    });
    match crawl.failed.into_inner().expect("nobody panics with it") {
        Some(error) => Err(error),
        None => Ok(found.into_iter().flat_map(|found| found.places).collect()),
    }
}

impl Crawl {
    fn list(&self, team: &Team<(Dir, Handle)>, found: &mut Found, dir: &Dir, handle: &Handle) -> io::Result<()> {
        let mut names = Vec::new();
        let listed = dir.list(&mut found.buffer, &mut |name, kind, _| {
            if matches!(kind, FileType::Dir | FileType::Unknown) {
                names.push((name.to_vec(), kind));
            }
        });
        if listed.as_ref().is_err_and(is_gone) {
            return Ok(());
        }
        listed?;
        for (name, kind) in names {
            if self.counts && kind == FileType::Dir && self.is_leaf(dir, &name) {
                if let Ok(located) = handle_of(dir.as_fd(), &name) {
                    found.put(located.handle, located.mount == self.mount, handle, name);
                }
                continue;
            }
            // What vanished or became a file meanwhile is told by its event.
            let Ok(child) = dir.subdir(&name) else { continue };
            let Ok(located) = handle_of(child.as_fd(), b"") else { continue };
            let here = located.mount == self.mount;
            found.put(located.handle.clone(), here, handle, name);
            if !here {
                continue;
            }
            if self.waiting.load(Ordering::Relaxed) < OPEN_MAX {
                self.waiting.fetch_add(1, Ordering::Relaxed);
                team.add((child, located.handle));
            } else {
                self.list(team, found, &child, &located.handle)?;
            }
        }
        Ok(())
    }

    fn is_leaf(&self, dir: &Dir, name: &[u8]) -> bool {
        dir.stat(name).is_ok_and(|stat| stat.file_type == FileType::Dir && stat.nlink == 2)
    }
}

impl Found {
    fn put(&mut self, handle: Handle, here: bool, parent: &Handle, name: Vec<u8>) {
        if here {
            self.places.push((handle, Place { parent: parent.clone(), name: name.into() }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use belay_sys::{Root, handle_of};

    use super::crawl;

    #[test]
    fn every_directory_is_found_with_and_without_counting_links() {
        let place = tempfile::tempdir().unwrap();
        for number in 0..300 {
            std::fs::create_dir_all(place.path().join(format!("a{}/b{}/c{number}", number % 7, number % 90))).unwrap();
        }
        std::fs::write(place.path().join("a1/file"), "").unwrap();
        std::os::unix::fs::symlink("a2", place.path().join("link")).unwrap();
        let root = Root::open(place.path()).unwrap();
        let located = handle_of(root.as_fd(), b"").unwrap();
        let counts = root.file_system().unwrap().counts_directories();
        let listed = |counts| {
            let found = crawl(root.dir(b"").unwrap(), located.handle.clone(), located.mount, counts, 2).unwrap();
            found.into_iter().map(|(handle, place)| (handle, place.parent, place.name)).collect::<BTreeSet<_>>()
        };
        let (by_listing, by_links) = (listed(false), listed(counts));
        let pairs: BTreeSet<_> = (0..300).map(|number| (number % 7, number % 90)).collect();
        assert_eq!(by_listing.len(), 7 + pairs.len() + 300);
        assert_eq!(by_listing, by_links);
    }
}
