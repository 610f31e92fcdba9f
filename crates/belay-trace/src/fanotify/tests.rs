//! What happens while directories are being listed is told as if they had been listed before.

use std::fs;
use std::path::PathBuf;

use belay_event::Action;
use belay_sys::fanotify::Queue;
use tempfile::TempDir;

use super::Files;
use super::tree::{Found, Tree};

struct Bed {
    place: TempDir,
    files: Files,
}

/// A workspace `w` with these directories in it, watched, none of them listed yet, and something beside it.
fn bed(directories: &[&str]) -> Option<Bed> {
    let place = tempfile::tempdir().unwrap();
    for path in directories {
        fs::create_dir_all(place.path().join(path)).unwrap();
    }
    let mut files = match Files::watch(&place.path().join("w"), Queue::Unlimited) {
        Ok(files) => files,
        Err(error) => {
            belay_testkit::skip(&format!("no fanotify: {error}"));
            return None;
        }
    };
    files.listing.take().expect("it was begun").join().unwrap().unwrap();
    Some(Bed { place, files })
}

impl Bed {
    fn at(&self, path: &str) -> PathBuf {
        self.place.path().join(path)
    }

    /// The directories are listed only now, and these are missed.
    fn list(&mut self, missed: &[&str]) {
        let mut found = Tree::rooted(&self.files.root).unwrap().lister(&self.files.root, 2).unwrap()().unwrap();
        let before = found.len();
        found.retain(|(_, place): &Found| !missed.iter().any(|name| *place.name == *name.as_bytes()));
        assert_eq!(found.len() + missed.len(), before, "whatever is to be missed is there");
        self.files.listing = Some(std::thread::spawn(move || Ok(found)));
    }

    /// What is told: the action, the path, and where to.
    fn told(&mut self) -> Vec<(Action, String)> {
        let lot = self.files.read();
        assert!(!lot.lost && lot.emptied);
        assert!(self.files.complete());
        let path = |raw: &belay_event::Raw| raw.lossy().into_owned();
        let mut told: Vec<_> = lot
            .changes
            .iter()
            .filter(|change| change.telling == super::Telling::Yes)
            .map(|change| {
                let to = change.change.to.as_ref().map(|to| format!(" -> {}", path(to)));
                (change.change.action, format!("{}{}", path(&change.change.path), to.unwrap_or_default()))
            })
            .collect();
        // A file's creation and its content are one notice or two.
        told.retain(|(action, _)| *action != Action::Modified);
        told
    }
}

fn texts(told: &[(Action, String)]) -> Vec<&str> {
    told.iter().map(|(_, text)| text.as_str()).collect()
}

#[test]
fn what_was_removed_before_it_was_listed_has_its_path() {
    let Some(mut bed) = bed(&["w/a/b/c"]) else { return };
    fs::write(bed.at("w/a/b/c/file"), "").unwrap();
    fs::remove_dir_all(bed.at("w/a")).unwrap();
    bed.list(&[]);
    assert_eq!(texts(&bed.told()), ["a/b/c/file", "a/b/c/file", "a/b/c", "a/b", "a"]);
    fs::create_dir_all(bed.at("w/a/b")).unwrap();
    assert_eq!(texts(&bed.told()), ["a", "a/b"]);
}

#[test]
fn what_was_moved_before_it_was_listed_had_its_old_path_until_then() {
    let Some(mut bed) = bed(&["w/old/deep"]) else { return };
    fs::write(bed.at("w/old/deep/one"), "").unwrap();
    fs::rename(bed.at("w/old"), bed.at("w/new")).unwrap();
    fs::write(bed.at("w/new/deep/two"), "").unwrap();
    fs::rename(bed.at("w/new/deep"), bed.at("w/deep")).unwrap();
    fs::write(bed.at("w/deep/three"), "").unwrap();
    bed.list(&[]);
    let expected = ["old/deep/one", "old -> new", "new/deep/two", "new/deep -> deep", "deep/three"];
    assert_eq!(texts(&bed.told()), expected);
}

#[test]
fn a_directory_that_was_missed_because_it_moved_is_found_with_all_beneath() {
    let Some(mut bed) = bed(&["w/a", "w/b/moved/beneath/deeper"]) else { return };
    fs::rename(bed.at("w/b/moved"), bed.at("w/a/moved")).unwrap();
    fs::write(bed.at("w/a/moved/beneath/deeper/file"), "").unwrap();
    bed.list(&["moved", "beneath", "deeper"]);
    assert_eq!(texts(&bed.told()), ["b/moved -> a/moved", "a/moved/beneath/deeper/file"]);
    fs::write(bed.at("w/a/moved/beneath/later"), "").unwrap();
    assert_eq!(texts(&bed.told()), ["a/moved/beneath/later"]);
}

#[test]
fn what_came_or_left_meanwhile_is_told_from_then_on_or_until_then() {
    let Some(mut bed) = bed(&["w/leaves/deep", "outside/comes/deep", "outside/stays"]) else { return };
    fs::write(bed.at("outside/comes/deep/unseen"), "").unwrap();
    fs::write(bed.at("w/leaves/deep/seen"), "").unwrap();
    fs::rename(bed.at("outside/comes"), bed.at("w/comes")).unwrap();
    fs::rename(bed.at("w/leaves"), bed.at("outside/leaves")).unwrap();
    fs::write(bed.at("w/comes/deep/seen"), "").unwrap();
    fs::write(bed.at("outside/leaves/deep/unseen"), "").unwrap();
    fs::rename(bed.at("outside/stays"), bed.at("outside/stayed")).unwrap();
    bed.list(&["comes", "deep"]);
    assert_eq!(texts(&bed.told()), ["leaves/deep/seen", "comes", "leaves", "comes/deep/seen"]);
}
