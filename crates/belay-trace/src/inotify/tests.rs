//! Changes of a real directory are told as they were made, whatever order the moves come in.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use belay_event::Action;
use belay_sys::Root;
use belay_sys::inotify::Inotify;
use tempfile::TempDir;

use super::{Changes, Watches};

struct World {
    place: TempDir,
    inotify: Arc<Inotify>,
    watches: Watches,
    clock: u64,
}

fn world(prepare: impl FnOnce(&Path)) -> World {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("w")).unwrap();
    prepare(&place.path().join("w"));
    let inotify = Arc::new(Inotify::new().unwrap());
    let path = place.path().join("w");
    let root = Root::open(&path).unwrap();
    let watches = Watches::new(root, Arc::clone(&inotify), path.as_os_str().as_encoded_bytes()).unwrap();
    World { place, inotify, watches, clock: 0 }
}

impl World {
    fn at(&self, path: &str) -> std::path::PathBuf {
        self.place.path().join("w").join(path)
    }

    fn read(&mut self) -> Changes {
        let mut bytes = Vec::new();
        self.inotify.drain(&mut bytes).unwrap();
        self.clock += 1_000_000_000;
        self.watches.read(&bytes, self.clock)
    }

    /// Letter, path and target of every change.
    fn story(&mut self) -> Vec<String> {
        let changes = self.read();
        let tell = |change: &belay_event::FileChange| {
            let letter = match change.action {
                Action::Created => '+',
                Action::Modified => '~',
                Action::Deleted => '-',
                _ => '>',
            };
            let to = change.to.as_ref().map(|to| format!(" {}", to.lossy())).unwrap_or_default();
            format!("{letter}{}{}{to}", change.path.lossy(), if change.dir { "/" } else { "" })
        };
        changes.list.iter().map(|(change, _)| tell(change)).collect()
    }

    fn dirty(&mut self) -> Vec<String> {
        let dirty = self.watches.take_dirty();
        assert!(dirty.complete);
        dirty.paths.into_iter().map(|path| String::from_utf8(path).unwrap()).collect()
    }
}

#[test]
fn a_file_is_told_once_for_each_thing_done() {
    let mut world = world(|root| fs::write(root.join("old"), "1").unwrap());
    fs::write(world.at("new"), "1").unwrap();
    fs::write(world.at("old"), "2").unwrap();
    fs::rename(world.at("new"), world.at("newer")).unwrap();
    fs::remove_file(world.at("old")).unwrap();
    assert_eq!(world.story(), ["+new", "~old", ">new newer", "-old"]);
    assert_eq!(world.dirty(), ["new", "newer", "old"]);
    assert!(world.dirty().is_empty());
}

#[test]
fn a_new_directory_is_listed_and_then_watched() {
    let mut world = world(|_| {});
    fs::create_dir_all(world.at("a/b")).unwrap();
    fs::write(world.at("a/b/early"), "1").unwrap();
    assert_eq!(world.story(), ["+a/", "+a/b/", "+a/b/early"]);
    fs::write(world.at("a/b/late"), "1").unwrap();
    assert_eq!(world.story(), ["+a/b/late"]);
    assert_eq!(world.dirty(), ["a"]);
}

#[test]
fn a_creation_that_was_listed_is_not_told_again() {
    let mut world = world(|_| {});
    fs::create_dir(world.at("a")).unwrap();
    let mut early = Vec::new();
    world.inotify.drain(&mut early).unwrap();
    let changes = world.watches.read(&early, 1);
    assert_eq!(changes.list.len(), 1);
    // The directory is watched now; this creation is queued, and the listing of a second look would find it too.
    fs::create_dir(world.at("a/b")).unwrap();
    fs::write(world.at("a/b/c"), "1").unwrap();
    assert_eq!(world.story(), ["+a/b/", "+a/b/c"]);
    assert!(world.story().is_empty());
}

#[test]
fn a_moved_directory_keeps_its_watches_under_its_new_name() {
    let mut world = world(|root| fs::create_dir_all(root.join("a/deep/er")).unwrap());
    fs::rename(world.at("a"), world.at("z")).unwrap();
    assert_eq!(world.story(), [">a/ z"]);
    fs::write(world.at("z/deep/er/f"), "1").unwrap();
    assert_eq!(world.story(), ["+z/deep/er/f"]);
    assert_eq!(world.dirty(), ["a", "z"]);
}

#[test]
fn what_leaves_the_workspace_is_no_longer_watched() {
    let mut world = world(|root| fs::create_dir_all(root.join("a/b")).unwrap());
    let outside = world.place.path().join("outside");
    fs::rename(world.at("a"), &outside).unwrap();
    assert!(world.story().is_empty(), "the other half may still come");
    assert_eq!(world.story(), [">a/"]);
    fs::write(outside.join("b/f"), "1").unwrap();
    assert!(world.story().is_empty());
    fs::rename(&outside, world.at("back")).unwrap();
    assert_eq!(world.story(), ["+back/", "+back/b/", "+back/b/f"]);
}

#[test]
fn two_directories_that_swap_names_are_told_apart() {
    let mut world = world(|_| {});
    // Both events about `x` are read when another directory already has that name.
    fs::create_dir(world.at("x")).unwrap();
    fs::write(world.at("x/first"), "1").unwrap();
    fs::rename(world.at("x"), world.at("y")).unwrap();
    fs::create_dir(world.at("x")).unwrap();
    world.story();
    fs::write(world.at("x/second"), "1").unwrap();
    fs::write(world.at("y/third"), "1").unwrap();
    assert_eq!(world.story(), ["+x/second", "+y/third"]);
}

#[test]
fn a_name_used_again_is_a_new_directory() {
    let mut world = world(|root| fs::create_dir_all(root.join("a/b")).unwrap());
    fs::remove_dir_all(world.at("a")).unwrap();
    fs::create_dir_all(world.at("a/b")).unwrap();
    world.story();
    fs::write(world.at("a/b/f"), "1").unwrap();
    assert_eq!(world.story(), ["+a/b/f"]);
}

#[test]
fn an_overflow_is_told_and_everything_is_watched_again() {
    let limit: usize = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap().trim().parse().unwrap();
    let mut world = world(|_| {});
    for number in 0..=limit / 2 {
        fs::write(world.at(&format!("f{number}")), "").unwrap();
    }
    fs::create_dir(world.at("unseen")).unwrap();
    let changes = world.read();
    assert!(changes.lost);
    assert!(!world.watches.take_dirty().complete);
    fs::write(world.at("unseen/f"), "1").unwrap();
    assert_eq!(world.story(), ["+unseen/f"]);
    assert_eq!(world.dirty(), ["unseen/f"]);
}

#[test]
fn a_write_without_a_close_is_dirty() {
    use std::io::Write;
    let mut world = world(|root| fs::write(root.join("log"), "1").unwrap());
    let mut log = fs::File::options().append(true).open(world.at("log")).unwrap();
    for round in 0..3 {
        log.write_all(b"line").unwrap();
        let story = world.story();
        assert_eq!(story.len(), usize::from(round == 0), "{story:?}");
        assert_eq!(world.dirty(), ["log"]);
    }
    drop(log);
    assert_eq!(world.story(), ["~log"]);
}

#[test]
fn more_directories_than_open_files_are_watched() {
    let many = fs::read_to_string("/proc/self/limits").unwrap();
    let many = many.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let limit: usize = many.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(usize::MAX);
    if limit > 4_000 {
        return belay_testkit::skip("too many files may be open");
    }
    let mut world =
        world(|root| (0..limit + 10).for_each(|number| fs::create_dir(root.join(format!("d{number}"))).unwrap()));
    fs::write(world.at(&format!("d{}/f", limit + 9)), "").unwrap();
    fs::write(world.at("d0/f"), "").unwrap();
    assert_eq!(world.story().len(), 2);
    assert_eq!(world.dirty().len(), 2);
}

#[test]
fn a_directory_that_was_moved_before_its_new_child_was_read_is_followed() {
    let mut world = world(|root| fs::create_dir(root.join("a")).unwrap());
    fs::create_dir(world.at("a/new")).unwrap();
    fs::rename(world.at("a"), world.at("b")).unwrap();
    world.story();
    fs::write(world.at("b/new/f"), "").unwrap();
    assert_eq!(world.story(), ["+b/new/f"]);
}

#[test]
fn what_leaves_and_comes_back_stays_watched() {
    let mut world = world(|root| fs::create_dir_all(root.join("a/b")).unwrap());
    let outside = world.place.path().join("outside");
    fs::rename(world.at("a"), &outside).unwrap();
    fs::rename(&outside, world.at("c")).unwrap();
    world.story();
    world.story();
    fs::write(world.at("c/b/f"), "").unwrap();
    assert_eq!(world.story(), ["+c/b/f"]);
}

#[test]
fn a_directory_that_nobody_may_read_is_always_dirty() {
    use std::os::unix::fs::PermissionsExt;
    if belay_testkit::is_root() {
        return belay_testkit::skip("root may read everything");
    }
    let mut world = world(|root| fs::create_dir(root.join("shut")).unwrap());
    fs::set_permissions(world.at("shut"), fs::Permissions::from_mode(0o300)).unwrap();
    fs::create_dir(world.at("new")).unwrap();
    fs::set_permissions(world.at("new"), fs::Permissions::from_mode(0o300)).unwrap();
    world.story();
    assert_eq!(world.dirty(), ["new", "shut"]);
    assert_eq!(world.dirty(), ["new"]);
    fs::set_permissions(world.at("new"), fs::Permissions::from_mode(0o700)).unwrap();
    world.story();
    world.dirty();
    assert!(world.dirty().is_empty());
}
