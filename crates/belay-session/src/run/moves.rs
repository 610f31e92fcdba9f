//! Where files went that a run moved, so that what is removed under another name counts as what it was.
//!
//! Invariants: a directory that is moved takes along what is in it; what is not known to have moved is where it was; when
//! there is no room to remember a move, what was moved counts as gone.

use std::collections::{BTreeMap, HashMap};

use belay_event::{Action, At, FileChange};

/// As many paths as a snapshot has by default.
const MOVES_MAX: usize = 300_000;
/// Names that are remembered of one thing, the first of them.
const NAMES_MAX: usize = 8;
/// Names of new paths that are remembered; the oldest are forgotten all at once.
const NEWCOMERS_MAX: usize = 10_000;

/// What was moved, by where it is and by where it was.
///
/// Which of its names a thing goes by is decided when somebody asks: the first under which it was known before the run. So
/// what the run made and renamed onto a file, as programs save one, is that file from then on.
#[derive(Default)]
pub(super) struct Moves {
    /// The earlier names of what is somewhere now.
    names: BTreeMap<Vec<u8>, Vec<Vec<u8>>>,
    /// When something came to where it is, and by which command.
    arrivals: HashMap<Vec<u8>, (At, Option<u64>)>,
    /// Where what had a name is now.
    places: BTreeMap<Vec<u8>, Vec<u8>>,
    /// New paths by their last name: a watch that comes late sees something leave, and something of that name arrive.
    newcomers: HashMap<Vec<u8>, Vec<Vec<u8>>>,
    newcomers_count: usize,
}

/// A path that may be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) path: Vec<u8>,
    /// Whether something was there for certain.
    pub(super) is_certain: bool,
}

/// How a path is judged.
pub(super) struct Eyes<'a> {
    /// Whether it was known before the run.
    pub(super) was_there: &'a dyn Fn(&[u8]) -> bool,
    /// Whether something is there now.
    pub(super) is_there: &'a dyn Fn(&[u8]) -> bool,
}

impl Moves {
    /// Takes a change in, and returns what may be lost by it.
    pub(super) fn observe(&mut self, at: At, change: &FileChange) -> Vec<Lost> {
        let path = change.path.bytes();
        let to = match (change.action, &change.to) {
            (Action::Created, _) => {
                self.came(path);
                return Vec::new();
            }
            (Action::Deleted, _) => return self.removed(path),
            (Action::Restored, _) => {
                self.forget(path);
                return Vec::new();
            }
            (Action::Renamed, Some(to)) => to.bytes().to_vec(),
            (Action::Renamed, None) => match self.newcomers.get_mut(last_name(path)).and_then(Vec::pop) {
                Some(arrived) => arrived,
                None => return self.removed(path),
            },
            _ => return Vec::new(),
        };
        let lost = self.moved(path, &to);
        if self.names.contains_key(&to) {
            self.arrivals.insert(to, (at, change.by.and_then(|by| by.command)));
        }
        lost
    }

    /// What came to where it is by such a move: its place, and the first name under which it was known before the run.
    pub(super) fn elsewhere(
        &self,
        eyes: &Eyes<'_>,
        is_meant: impl Fn(At, Option<u64>) -> bool,
    ) -> Vec<(Vec<u8>, Vec<u8>)> {
        let meant = self.arrivals.iter().filter(|(_, (at, command))| is_meant(*at, *command)).map(|(place, _)| place);
        let known = |place: &Vec<u8>| Some((place.clone(), self.moved_from(place, eyes)?));
        meant.filter(|place| (eyes.is_there)(place)).filter_map(known).collect()
    }

    /// Under which other name the thing at this path was known before the run, if it was moved there.
    pub(super) fn moved_from(&self, path: &[u8], eyes: &Eyes<'_>) -> Option<Vec<u8>> {
        self.name_of(path, eyes).filter(|name| name != path)
    }

    /// Whether what was at the path before the run is gone: nothing is there, or something else from before it, and it is
    /// nowhere else. If something else is there, with that.
    pub(super) fn gone(&self, path: &[u8], eyes: &Eyes<'_>) -> Option<Option<Vec<u8>>> {
        let instead = self.moved_from(path, eyes);
        let is_gone = instead.is_some() || !(eyes.is_there)(path);
        let is_elsewhere = |place: &Vec<u8>| {
            place != path && (eyes.is_there)(place) && self.name_of(place, eyes).is_some_and(|name| name == path)
        };
        (is_gone && !self.place_of(path).as_ref().is_some_and(is_elsewhere)).then_some(instead)
    }

    /// What is at the path, by the first name under which it was known before the run.
    fn name_of(&self, path: &[u8], eyes: &Eyes<'_>) -> Option<Vec<u8>> {
        self.names_of(path).into_iter().find(|name| (eyes.was_there)(name))
    }

    /// Every name that what is at the path has had, the path last.
    fn names_of(&self, path: &[u8]) -> Vec<Vec<u8>> {
        let earlier =
            led_by(&self.names, path).map(|(names, rest)| names.iter().map(move |name| [name, rest].concat()));
        earlier.into_iter().flatten().chain([path.to_vec()]).collect()
    }

    fn place_of(&self, name: &[u8]) -> Option<Vec<u8>> {
        led_by(&self.places, name).map(|(place, rest)| [place, rest].concat())
    }

    fn came(&mut self, path: &[u8]) {
        if self.newcomers_count >= NEWCOMERS_MAX {
            (self.newcomers, self.newcomers_count) = (HashMap::new(), 0);
        }
        self.newcomers.entry(last_name(path).to_vec()).or_default().push(path.to_vec());
        self.newcomers_count += 1;
    }

    fn removed(&mut self, path: &[u8]) -> Vec<Lost> {
        let names = self.names_of(path).into_iter().enumerate();
        let lost = names.map(|(at, path)| Lost { path, is_certain: at == 0 }).collect();
        self.forget(path);
        lost
    }

    fn moved(&mut self, from: &[u8], to: &[u8]) -> Vec<Lost> {
        let mut names = self.names_of(from);
        let mut lost = self.removed(to);
        if lost.len() == 1 {
            // Perhaps nothing was there.
            lost[0].is_certain = false;
        }
        if names.len() > 1 {
            // What was there at first went before this, and now nothing is there.
            lost.push(Lost { path: from.to_vec(), is_certain: false });
        }
        self.forget(from);
        let beneath = [from, b"/"].concat();
        let inside = self.names.range(beneath.clone()..).map(|(path, _)| path.clone());
        let along: Vec<Vec<u8>> = inside.take_while(|path| path.starts_with(&beneath)).collect();
        for path in along {
            let names = self.names.remove(&path).expect("it was just found");
            let place = [to, &path[from.len()..]].concat();
            if let Some(arrival) = self.arrivals.remove(&path) {
                self.arrivals.insert(place.clone(), arrival);
            }
            self.put(names, place);
        }
        names.truncate(NAMES_MAX);
        match self.names.len() < MOVES_MAX {
            true => self.put(names, to.to_vec()),
            false => lost.push(Lost { path: names.swap_remove(0), is_certain: true }),
        }
        lost
    }

    fn put(&mut self, mut names: Vec<Vec<u8>>, place: Vec<u8>) {
        if names.contains(&place) {
            names.retain(|name| *name != place);
            self.places.remove(&place);
        }
        for name in &names {
            self.places.insert(name.clone(), place.clone());
        }
        if !names.is_empty() {
            self.names.insert(place, names);
        }
    }

    /// Nothing is there any more.
    fn forget(&mut self, path: &[u8]) {
        self.arrivals.remove(path);
        for name in self.names.remove(path).unwrap_or_default() {
            if self.places.get(&name).is_some_and(|place| place == path) {
                self.places.remove(&name);
            }
        }
    }
}

/// What is known of the path, or else of the nearest directory above it, with the rest of the path.
fn led_by<'m, 'p, T>(map: &'m BTreeMap<Vec<u8>, T>, path: &'p [u8]) -> Option<(&'m T, &'p [u8])> {
    if map.is_empty() {
        return None;
    }
    let ends = path.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    std::iter::once(path.len()).chain(ends).find_map(|end| Some((map.get(&path[..end])?, &path[end..])))
}

fn last_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Files before a run, and what is there now.
    struct World {
        before: BTreeSet<&'static str>,
        now: BTreeSet<String>,
        moves: Moves,
        may_be_lost: BTreeSet<Vec<u8>>,
    }

    impl World {
        fn new(before: &[&'static str]) -> World {
            let now = before.iter().map(|path| (*path).to_owned()).collect();
            let before = before.iter().copied().collect();
            World { before, now, moves: Moves::default(), may_be_lost: BTreeSet::new() }
        }

        fn tell(&mut self, action: Action, path: &str, to: Option<&str>) {
            let (path, to) = (path.into(), to.map(Into::into));
            let lost = self.moves.observe(
                At::from(jiff::Timestamp::UNIX_EPOCH),
                &FileChange { action, path, to, dir: false, size: None, by: None },
            );
            self.may_be_lost.extend(lost.into_iter().map(|lost| lost.path));
        }

        fn create(&mut self, path: &str) {
            self.now.insert(path.to_owned());
            self.tell(Action::Created, path, None);
        }

        fn remove(&mut self, path: &str) {
            assert!(self.now.remove(path), "{path} is not there");
            self.tell(Action::Deleted, path, None);
        }

        /// Renames a file, or everything in a directory.
        fn rename(&mut self, from: &str, to: &str) {
            let moved = |path: &String| match path.strip_prefix(from) {
                Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{to}{rest}"),
                _ => path.clone(),
            };
            self.now = self.now.iter().map(moved).collect();
            self.tell(Action::Renamed, from, Some(to));
        }

        /// What is lost, with what is there instead.
        fn lost(&self) -> Vec<String> {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let (was_there, is_there) =
                (|path: &[u8]| self.before.contains(&*text(path)), |path: &[u8]| self.now.contains(&*text(path)));
            let eyes = Eyes { was_there: &was_there, is_there: &is_there };
            let known = self.may_be_lost.iter().filter(|path| was_there(path));
            let gone = known.filter_map(|path| match self.moves.gone(path, &eyes)? {
                Some(instead) => Some(format!("{} for {}", text(path), text(&instead))),
                None => Some(text(path)),
            });
            gone.collect()
        }
    }

    #[test]
    fn what_is_removed_under_another_name_is_what_it_was() {
        let mut world = World::new(&["src/a", "src/d/b", "src/d/c", "x"]);
        world.rename("src", "trash");
        world.rename("trash/a", "y");
        world.rename("trash", "bin");
        assert!(world.lost().is_empty());
        world.remove("y");
        world.remove("bin/d/c");
        assert_eq!(world.lost(), ["src/a", "src/d/c"]);
        world.rename("bin", "src");
        assert_eq!(world.lost(), ["src/a", "src/d/c"]);
        world.remove("src/d/b");
        assert_eq!(world.lost(), ["src/a", "src/d/b", "src/d/c"]);
    }

    #[test]
    fn each_that_is_renamed_onto_a_name_buries_the_one_before() {
        let mut world = World::new(&["a", "b", "c", "v"]);
        world.rename("a", "v");
        assert_eq!(world.lost(), ["v for a"]);
        world.rename("b", "v");
        assert_eq!(world.lost(), ["a", "v for b"]);
        world.remove("v");
        assert_eq!(world.lost(), ["a", "b", "v"]);
    }

    #[test]
    fn one_file_that_goes_through_all_of_them_buries_them() {
        let mut world = World::new(&["a", "b", "c"]);
        world.create("x");
        ["a", "b", "c"].iter().fold("x", |last, next| {
            world.rename(last, next);
            next
        });
        assert_eq!(world.lost(), ["b", "c for a"]);
    }

    #[test]
    fn what_is_saved_by_a_rename_is_the_file_that_it_was() {
        let mut world = World::new(&["a", "b"]);
        for path in ["a", "b"] {
            world.create("tmp");
            world.rename("tmp", path);
        }
        assert!(world.lost().is_empty());
        world.rename("a", "moved/a");
        assert!(world.lost().is_empty());
        world.remove("moved/a");
        world.remove("b");
        assert_eq!(world.lost(), ["a", "b"]);
    }

    #[test]
    fn what_comes_back_or_changes_places_was_never_away() {
        let mut world = World::new(&["d/x", "e", "f"]);
        world.rename("d", "g");
        world.rename("g", "d");
        world.rename("e", "t");
        world.rename("f", "e");
        world.rename("t", "f");
        assert!(world.lost().is_empty(), "{:?}", world.lost());
        world.remove("d/x");
        assert_eq!(world.lost(), ["d/x"]);
    }

    #[test]
    fn what_leaves_and_arrives_under_its_name_has_moved() {
        let mut world = World::new(&["a", "b"]);
        world.now.remove("a");
        world.now.insert("t/a".into());
        world.tell(Action::Created, "t/a", None);
        world.tell(Action::Renamed, "a", None);
        assert!(world.lost().is_empty());
        world.remove("t/a");
        world.now.remove("b");
        world.tell(Action::Renamed, "b", None);
        assert_eq!(world.lost(), ["a", "b"], "nothing of its name came");
    }
}
