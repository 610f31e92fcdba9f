//! Files of the workspace that have a name elsewhere too: what is written to them is written there.
//!
//! Invariants: every name in the workspace is looked at, those that snapshots leave out as well, so that a file counts
//! as one with a name elsewhere only if it has more names than the workspace; such a file is written by no name of it,
//! unless a flag opens it; if that cannot be had, nothing is run. There is no number of files from which on this is
//! otherwise: whoever made files in an earlier run could use it up.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use belay_event::Degraded;
use belay_store::GapKind;
use belay_sys::{Dir, FileType, Root, Stat};

use crate::error::{Error, Result};
use crate::record::Snapshot;
use crate::workspace::Workspace;

/// So many names can be read-only one by one; each is a mount, of which the kernel lets a namespace have 100,000.
const GUARDED_MAX: usize = 20_000;
/// Of a directory that snapshots leave out so many; with more of them all of it can only be read.
const GUARDED_LEFT_OUT_MAX: usize = 1_000;
/// Threads that look through what snapshots leave out, and how much is worth one.
const THREADS_MAX: usize = 4;
const DIRECTORIES_PER_THREAD_MIN: usize = 64;
/// Names in a sentence.
const NAMED_MAX: usize = 3;

/// Which names there are to be looked at.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Those of files that have several, as the snapshot before the run saw them.
    captured: Vec<Vec<u8>>,
    /// What that snapshot left out; none if there is no such snapshot.
    left_out: Option<Vec<Vec<u8>>>,
}

/// What is done about those that lead out.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Names, and directories with all that is in them, that can only be read.
    pub(super) guarded: Vec<PathBuf>,
    /// What is to be told.
    pub(super) told: Vec<Degraded>,
}

impl Names {
    /// Those that a snapshot saw, and those beneath what it says that it left out.
    pub(super) fn seen_by(workspace: &Workspace<'_>, snapshot: &Snapshot, linked: Vec<(u64, u64, Vec<u8>)>) -> Names {
        // One that cannot say what it lacks is none: then everything is looked at.
        let coverage = workspace.tree(snapshot).and_then(|tree| Ok(tree.coverage(workspace.home().store())?)).ok();
        // A mount is another filesystem, and no file has names in two of them.
        let is_here = |kind: GapKind| !matches!(kind, GapKind::Mount | GapKind::Hung);
        let left_out = coverage.map(|coverage| {
            coverage.gaps.into_iter().filter(|gap| is_here(gap.kind)).map(|gap| gap.path).collect::<Vec<_>>()
        });
        Names { captured: linked.into_iter().map(|(_, _, path)| path).collect(), left_out }
    }
}

impl Links {
    /// What is done about those of a workspace.
    pub(super) fn leading_out(workspace: &Path, names: Names, can_guard: bool, opened: &dyn Opened) -> Result<Links> {
        if opened.opens(workspace) {
            return Ok(Links::default());
        }
        let root = Root::open(workspace).map_err(Error::path("open", workspace))?;
        let left_out: BTreeSet<Vec<u8>> = names.left_out.clone().unwrap_or_default().into_iter().collect();
        let mut look = Look { root: &root, names: names.captured.into_iter().collect(), closed: BTreeSet::new() };
        let unseen = names.left_out.unwrap_or_else(|| vec![Vec::new()]);
        look.at(unseen).map_err(Error::path("look through", workspace))?;
        let out = look.leading_out();
        let place = |path: &[u8]| workspace.join(OsStr::from_bytes(path));
        let is_closed = |path: &&Vec<u8>| !opened.opens(&place(path));
        let out: Vec<&Vec<u8>> = out.iter().filter(is_closed).collect();
        let unlisted: Vec<&Vec<u8>> = look.closed.iter().filter(is_closed).collect();
        if !can_guard {
            let open = sentence_of_open(out.len()).into_iter();
            return Ok(Links { guarded: Vec::new(), told: open.map(told).collect() });
        }
        let (whole, single) = by_directory(&out, &left_out, &|path| opened.opens_within(&place(path)));
        let mut guarded: Vec<PathBuf> = whole.keys().map(|path| place(path)).collect();
        guarded.extend(unlisted.iter().map(|path| place(path)));
        guarded.extend(single.iter().map(|path| place(path)));
        if guarded.len() > GUARDED_MAX {
            let example = place(single.first().copied().unwrap_or(&Vec::new()));
            return Err(Error::TooManyLinks { count: guarded.len(), example });
        }
        let sentences = [sentence_of_names(&single), sentence_of_whole(&whole), sentence_of_unlisted(&unlisted)];
        Ok(Links { guarded, told: sentences.into_iter().flatten().map(told).collect() })
    }
}

/// Which paths somebody opened by naming them, or a directory around them.
pub(super) trait Opened {
    /// Whether this one is.
    fn opens(&self, path: &Path) -> bool;
    /// Whether one of those beneath this one is.
    fn opens_within(&self, path: &Path) -> bool;
}

/// What was found of names.
struct Look<'a> {
    root: &'a Root,
    /// The paths of files that have several.
    names: BTreeSet<Vec<u8>>,
    /// Directories that nobody can look into.
    closed: BTreeSet<Vec<u8>>,
}

/// What some directories hold.
#[derive(Default)]
struct Listed {
    names: Vec<Vec<u8>>,
    below: Vec<Vec<u8>>,
    closed: Vec<Vec<u8>>,
}

impl Look<'_> {
    /// Looks at these paths and everything beneath them.
    fn at(&mut self, paths: Vec<Vec<u8>>) -> io::Result<()> {
        let mut level = Vec::new();
        for path in paths {
            let (above, name) = split(&path);
            let found = match path.is_empty() {
                true => self.root.dir_path_only(b"").and_then(|root| root.stat_self()),
                false => self.root.dir_path_only(above).and_then(|above| above.stat(name)),
            };
            match found {
                Ok(found) if found.file_type == FileType::Dir => level.push(path),
                Ok(found) if has_others(&found) => drop(self.names.insert(path)),
                Ok(_) => {}
                Err(error) if is_none_of_ours(&error) => {}
                // Then nobody can list what is around it either.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => level.push(above.to_vec()),
                Err(error) => return Err(error),
            }
        }
        let root = self.root;
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
        while !level.is_empty() {
            let part = level.len().div_ceil(threads).max(DIRECTORIES_PER_THREAD_MIN);
            let listed: Vec<io::Result<Listed>> = std::thread::scope(|scope| {
                let mut parts = level.chunks(part);
                let mine = parts.next().unwrap_or_default();
                let others: Vec<_> = parts.map(|part| scope.spawn(move || list(root, part))).collect();
                let mine = list(root, mine);
                let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().expect("a look does not panic");
                std::iter::once(mine).chain(others.into_iter().map(join)).collect()
            });
            level = Vec::new();
            for listed in listed {
                let Listed { names, below, closed } = listed?;
                self.names.extend(names);
                self.closed.extend(closed);
                level.extend(below);
            }
        }
        Ok(())
    }

    /// The names of files that have more of them than were found, as they are now.
    fn leading_out(&self) -> Vec<Vec<u8>> {
        let mut files: BTreeMap<(u64, u64), (u64, Vec<&Vec<u8>>)> = BTreeMap::new();
        let mut around: Option<(&[u8], Dir)> = None;
        for path in &self.names {
            let (above, name) = split(path);
            if around.as_ref().is_none_or(|(known, _)| *known != above) {
                around = self.root.dir_path_only(above).ok().map(|dir| (above, dir));
            }
            let found = around.as_ref().and_then(|(_, dir)| dir.stat(name).ok());
            if let Some(found) = found.filter(|found| found.file_type == FileType::File) {
                let file = files.entry((found.dev, found.ino)).or_default();
                file.0 = file.0.max(u64::from(found.nlink));
                file.1.push(path);
            }
        }
        let leads_out = |file: &&(u64, Vec<&Vec<u8>>)| file.0 > file.1.len() as u64;
        let mut out: Vec<Vec<u8>> =
            files.values().filter(leads_out).flat_map(|(_, names)| names.iter().copied().cloned()).collect();
        out.sort_unstable();
        out
    }
}

/// Lists directories, and looks at every file in them.
fn list(root: &Root, directories: &[Vec<u8>]) -> io::Result<Listed> {
    let (mut listed, mut buffer) = (Listed::default(), Vec::new());
    for path in directories {
        let mut files: Vec<Vec<u8>> = Vec::new();
        let opened = root.dir(path).and_then(|dir| {
            dir.list(&mut buffer, &mut |name, file_type, _| match file_type {
                FileType::Dir => listed.below.push(join(path, name)),
                FileType::File | FileType::Unknown => files.push(name.to_vec()),
                _ => {}
            })?;
            Ok(dir)
        });
        let dir = match opened {
            Ok(dir) => dir,
            Err(error) if is_none_of_ours(&error) => continue,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                listed.closed.extend(can_be_entered(root, path).then(|| path.clone()));
                continue;
            }
            Err(error) => return Err(error),
        };
        for name in files {
            match dir.stat(&name) {
                Ok(found) if found.file_type == FileType::Dir => listed.below.push(join(path, &name)),
                Ok(found) if has_others(&found) => listed.names.push(join(path, &name)),
                // It can be listed and not entered; its owner may change that.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    listed.closed.push(path.clone());
                    break;
                }
                // One that is gone has no names.
                Ok(_) | Err(_) => {}
            }
        }
    }
    Ok(listed)
}

/// Whether what lies in a directory that cannot be listed can be reached by its name, or could be by its owner.
fn can_be_entered(root: &Root, path: &[u8]) -> bool {
    let Ok(dir) = root.dir_path_only(path) else { return true };
    let is_own = dir.stat_self().is_ok_and(|found| found.uid == rustix::process::geteuid().as_raw());
    is_own || dir.stat(b"-").map_or_else(|error| error.kind() != io::ErrorKind::PermissionDenied, |_| true)
}

fn has_others(found: &Stat) -> bool {
    found.file_type == FileType::File && found.nlink > 1
}

/// Directories that snapshots leave out and that hold so many of them that all in there can only be read; and the rest.
fn by_directory<'a>(
    out: &[&'a Vec<u8>],
    left_out: &BTreeSet<Vec<u8>>,
    is_mixed: &dyn Fn(&[u8]) -> bool,
) -> (BTreeMap<&'a [u8], usize>, Vec<&'a Vec<u8>>) {
    let top = |path: &'a [u8]| {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        ends.map(|end| &path[..end]).find(|above| left_out.contains(*above))
    };
    let mut whole: BTreeMap<&[u8], usize> = BTreeMap::new();
    out.iter().filter_map(|path| top(path)).for_each(|top| *whole.entry(top).or_default() += 1);
    whole.retain(|top, count| *count > GUARDED_LEFT_OUT_MAX && !is_mixed(top));
    let single = out.iter().filter(|path| top(path).is_none_or(|top| !whole.contains_key(top))).copied().collect();
    (whole, single)
}

/// It went away, is no directory any more, or lies in another filesystem.
fn is_none_of_ours(error: &io::Error) -> bool {
    const EXDEV: i32 = rustix::io::Errno::XDEV.raw_os_error();
    const ELOOP: i32 = rustix::io::Errno::LOOP.raw_os_error();
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || matches!(error.raw_os_error(), Some(EXDEV | ELOOP))
}

fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let at = path.iter().rposition(|byte| *byte == b'/');
    at.map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..]))
}

fn join(above: &[u8], name: &[u8]) -> Vec<u8> {
    if above.is_empty() { name.to_vec() } else { [above, b"/", name].concat() }
}

fn told(why: String) -> Degraded {
    Degraded { layer: "links".into(), why }
}

fn some_of<'a>(paths: impl ExactSizeIterator<Item = &'a [u8]>) -> String {
    let more = if paths.len() > NAMED_MAX { ", …" } else { "" };
    let names: Vec<String> = paths.take(NAMED_MAX).map(|path| String::from_utf8_lossy(path).into_owned()).collect();
    format!("{}{more}", names.join(", "))
}

fn sentence_of_names(single: &[&Vec<u8>]) -> Option<String> {
    let (files, have) = if single.len() == 1 { ("file", "has") } else { ("files", "have") };
    let some = some_of(single.iter().map(|path| path.as_slice()));
    let count = single.len();
    let sentence =
        format!("{count} {files} in the workspace {have} a name elsewhere too, and can only be read: {some}");
    (count > 0).then_some(sentence)
}

fn sentence_of_whole(whole: &BTreeMap<&[u8], usize>) -> Option<String> {
    let count: usize = whole.values().sum();
    let some = some_of(whole.keys().copied());
    (count > 0).then(|| format!("all of {some} can only be read: {count} files in there have a name elsewhere too"))
}

fn sentence_of_unlisted(unlisted: &[&Vec<u8>]) -> Option<String> {
    let some = some_of(unlisted.iter().map(|path| path.as_slice()));
    let why = "nobody can look into it, and files in there may have a name elsewhere too";
    (!unlisted.is_empty()).then(|| format!("all of {some} can only be read: {why}"))
}

fn sentence_of_open(count: usize) -> Option<String> {
    let names = format!("{count} names of files in the workspace lead elsewhere too");
    (count > 0).then(|| format!("{names}, and CAN BE WRITTEN: that changes files elsewhere"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Place {
        _directory: tempfile::TempDir,
        outside: PathBuf,
        root: PathBuf,
    }

    struct Nothing;
    impl Opened for Nothing {
        fn opens(&self, _: &Path) -> bool {
            false
        }
        fn opens_within(&self, _: &Path) -> bool {
            false
        }
    }

    fn place() -> Place {
        let directory = tempfile::tempdir().unwrap();
        let (outside, root) = (directory.path().join("outside"), directory.path().join("workspace"));
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir_all(root.join("left")).unwrap();
        fs::create_dir(&outside).unwrap();
        Place { _directory: directory, outside, root }
    }

    impl Place {
        fn out(&self, path: &str) {
            let outside = self.outside.join(path.replace('/', "-"));
            fs::write(&outside, "x").unwrap();
            fs::hard_link(&outside, self.root.join(path)).unwrap();
        }

        fn look(&self, captured: &[&str], left_out: Option<&[&str]>) -> Links {
            let bytes = |paths: &[&str]| paths.iter().map(|path| path.as_bytes().to_vec()).collect::<Vec<_>>();
            let names = Names { captured: bytes(captured), left_out: left_out.map(bytes) };
            Links::leading_out(&self.root, names, true, &Nothing).unwrap()
        }

        fn guarded(&self, links: &Links) -> Vec<String> {
            let relative = |path: &PathBuf| path.strip_prefix(&self.root).unwrap().to_string_lossy().into_owned();
            links.guarded.iter().map(relative).collect()
        }
    }

    #[test]
    fn only_a_file_with_a_name_elsewhere_leads_out() {
        let place = place();
        fs::write(place.root.join("twin"), "x").unwrap();
        fs::hard_link(place.root.join("twin"), place.root.join("sub/twin")).unwrap();
        place.out("sub/out");
        let links = place.look(&["twin", "sub/twin", "sub/out"], Some(&[]));
        assert_eq!(place.guarded(&links), ["sub/out"]);
        assert_eq!(
            links.told[0].why,
            "1 file in the workspace has a name elsewhere too, and can only be read: sub/out"
        );
        assert!(place.look(&["twin", "sub/twin"], Some(&[])).told.is_empty());
    }

    #[test]
    fn what_snapshots_leave_out_is_looked_at_as_well() {
        let place = place();
        place.out("left/out");
        fs::write(place.root.join("twin"), "x").unwrap();
        fs::hard_link(place.root.join("twin"), place.root.join("left/twin")).unwrap();
        for left_out in [Some(&["left"][..]), Some(&["left", "left/out", "twin", "gone"]), None] {
            let links = place.look(&["twin"], left_out);
            assert_eq!(place.guarded(&links), ["left/out"], "{left_out:?}");
        }
    }

    #[test]
    fn a_name_that_is_told_of_twice_counts_once() {
        let place = place();
        place.out("sub/out");
        let links = place.look(&["sub/out", "sub/out"], Some(&["sub/out", "sub"]));
        assert_eq!(place.guarded(&links), ["sub/out"]);
    }

    #[test]
    fn no_number_of_others_uses_it_up() {
        let place = place();
        let decoy = |number: usize| format!("sub/{number:05}");
        for number in 0..3_000 {
            fs::write(place.root.join(decoy(number)), "").unwrap();
            fs::hard_link(place.root.join(decoy(number)), place.root.join(format!("left/{number}"))).unwrap();
        }
        place.out("sub/zzz");
        let mut captured: Vec<String> = (0..3_000).map(decoy).collect();
        captured.push("sub/zzz".to_owned());
        let captured: Vec<&str> = captured.iter().map(String::as_str).collect();
        assert_eq!(place.guarded(&place.look(&captured, Some(&["left"]))), ["sub/zzz"]);
    }

    #[test]
    fn a_directory_that_is_full_of_them_can_only_be_read_as_a_whole() {
        let place = place();
        (0..=GUARDED_LEFT_OUT_MAX).for_each(|number| place.out(&format!("left/{number}")));
        place.out("sub/out");
        let links = place.look(&["sub/out"], Some(&["left"]));
        assert_eq!(place.guarded(&links), ["left", "sub/out"]);
        let why = "all of left can only be read: 1001 files in there have a name elsewhere too";
        assert_eq!(links.told[1].why, why);
    }

    #[test]
    fn more_than_can_be_guarded_begin_no_run() {
        let many: Vec<Vec<u8>> = (0..=GUARDED_MAX).map(|number| format!("{number}").into_bytes()).collect();
        let place = place();
        fs::write(place.outside.join("one"), "x").unwrap();
        // One file with so many names, of which one is elsewhere.
        let mut captured = Vec::new();
        for name in &many {
            let path = place.root.join("sub").join(OsStr::from_bytes(name));
            fs::hard_link(place.outside.join("one"), path).unwrap();
            captured.push([b"sub/", name.as_slice()].concat());
        }
        let names = Names { captured, left_out: Some(Vec::new()) };
        let refused = Links::leading_out(&place.root, names, true, &Nothing);
        assert!(matches!(refused, Err(Error::TooManyLinks { .. })), "{refused:?}");
    }
}
