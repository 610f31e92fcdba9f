//! Files of the workspace that have other names: elsewhere, where what is written to them is written too, or in the
//! workspace, where one of the names may be hidden or protected and another not.
//!
//! Invariants: every name in the workspace is looked at, those that snapshots leave out as well, so that a file counts
//! as one with a name elsewhere only if it has more names than the workspace; such a file is written by no name of it,
//! unless a flag opens it; a file that is hidden or can only be read by one name is so by all of them, and wherever else
//! its directory is mounted; if that cannot be had, nothing is run. There is no number of files from which on this is
//! otherwise: whoever made files in an earlier run could use it up.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use belay_event::Degraded;
use belay_jail::Access;
use belay_store::GapKind;
use belay_sys::{Dir, FileType, Root, Shows, Stat};

use crate::error::{Error, Result};
use crate::record::Snapshot;
use crate::workspace::Workspace;

/// So many names can be read-only one by one; each is a mount, of which the kernel lets a namespace have 100,000.
const GUARDED_MAX: usize = 20_000;
/// Of a directory that snapshots leave out so many; with more of them all of it can only be read.
const GUARDED_LEFT_OUT_MAX: usize = 1_000;
/// Threads that look through what snapshots leave out, and how many directories each of them takes at a time: others have
/// work to do meanwhile, so that none of the threads is as fast as the next.
const THREADS_MAX: usize = 4;
const BATCH: usize = 32;
/// Names in a sentence.
const NAMED_MAX: usize = 3;

/// Which names there are to be looked at.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Those of files that have several, as the snapshot before the run saw them.
    captured: Vec<Vec<u8>>,
    /// What that snapshot left out; none if there is no such snapshot.
    left_out: Option<Vec<Vec<u8>>>,
    /// What was looked at meanwhile.
    ahead: Ahead,
}

/// What was looked at while the snapshot was taken: the directories that the one before it left out.
///
/// Most of a workspace may lie in there, and a name is what it is whichever of the two sees it first.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    directories: HashSet<Vec<u8>>,
    names: BTreeSet<Vec<u8>>,
    closed: BTreeSet<Vec<u8>>,
}

impl Ahead {
    /// Looks at them; at nothing if nobody knows which they are.
    pub(super) fn of(workspace: &Workspace<'_>) -> Ahead {
        let look = || -> Option<Ahead> {
            let timeline = workspace.timeline().ok()?;
            let (at, mut paths) = (workspace.path(), left_out(workspace, timeline.snapshots().last()?)?);
            let root = Root::open(at).ok()?;
            paths.retain(|path| root.dir_path_only(path).is_ok());
            let mounted = Mounted::within(at).ok().filter(|mounted| mounted.same.is_empty())?;
            let mut look = Look::at_names(&root, &mounted, Vec::new());
            look.at(paths.clone()).ok()?;
            Some(Ahead { directories: paths.into_iter().collect(), names: look.names, closed: look.closed })
        };
        look().unwrap_or_default()
    }

    /// Whether all of it was.
    fn has(&self, path: &[u8]) -> bool {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at).chain([path.len()]);
        ends.map(|end| &path[..end]).any(|above| self.directories.contains(above))
    }
}

/// What is done about them.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Names, and directories with all that is in them, that can only be read, and names that are hidden.
    pub(super) guarded: Vec<(PathBuf, Access)>,
    /// What is to be told.
    pub(super) told: Vec<Degraded>,
}

impl Names {
    /// Those that a snapshot saw, and those beneath what it says that it left out.
    pub(super) fn seen_by(workspace: &Workspace<'_>, snapshot: &Snapshot, linked: Vec<(u64, u64, Vec<u8>)>) -> Names {
        // One that cannot say what it lacks is none: then everything is looked at.
        let left_out = left_out(workspace, snapshot);
        let captured = linked.into_iter().map(|(_, _, path)| path).collect();
        Names { captured, left_out, ahead: Ahead::default() }
    }

    /// The same with what was looked at meanwhile.
    pub(super) fn and(self, ahead: Ahead) -> Names {
        Names { ahead, ..self }
    }
}

/// What a snapshot left out of the filesystem that the workspace lies in.
fn left_out(workspace: &Workspace<'_>, snapshot: &Snapshot) -> Option<Vec<Vec<u8>>> {
    let coverage = workspace.tree(snapshot).and_then(|tree| tree.coverage(workspace.home().store())).ok()?;
    // A mount is another filesystem, and no file has names in two of them; those that are not are looked for.
    let is_here = |kind: GapKind| !matches!(kind, GapKind::Mount | GapKind::Hung);
    Some(coverage.gaps.into_iter().filter(|gap| is_here(gap.kind)).map(|gap| gap.path).collect())
}

impl Links {
    /// What is done about those of a workspace.
    pub(super) fn of(workspace: &Path, names: Names, can_guard: bool, rules: &dyn Rules) -> Result<Links> {
        let inside = rules.guarded();
        if rules.opens(workspace) && inside.is_empty() {
            return Ok(Links::default());
        }
        let root = Root::open(workspace).map_err(Error::path("open", workspace))?;
        let mounted = Mounted::within(workspace).map_err(Error::path("look for mounts in", workspace))?;
        let root = if mounted.same.is_empty() { root } else { root.crossing(true) };
        let left_out: BTreeSet<Vec<u8>> = names.left_out.clone().unwrap_or_default().into_iter().collect();
        let mut look = Look::at_names(&root, &mounted, names.captured);
        let Names { ahead, left_out: unseen, .. } = names;
        let mut unseen = unseen.unwrap_or_else(|| vec![Vec::new()]);
        if mounted.same.is_empty() {
            unseen.retain(|path| !ahead.has(path));
            look.names.extend(ahead.names);
            look.closed.extend(ahead.closed);
        }
        unseen.extend(mounted.same.iter().filter_map(|shows| beneath(workspace, &shows.point)));
        look.at(unseen).map_err(Error::path("look through", workspace))?;
        let place = |path: &[u8]| workspace.join(OsStr::from_bytes(path));
        let Found { out, mut twins, rooted } = look.found(&|path| rules.access(&place(path)));
        twins.retain(|(path, _)| !rules.is_flagged(&place(path)));
        let is_closed = |path: &&Vec<u8>| !rules.opens(&place(path));
        let out: Vec<&Vec<u8>> = out.iter().filter(is_closed).collect();
        let rooted: Vec<&Vec<u8>> = rooted.iter().filter(is_closed).collect();
        let unlisted: Vec<&Vec<u8>> = look.closed.iter().filter(is_closed).collect();
        let aliases = mounted.aliases(&inside);
        if !can_guard {
            let open = [sentence_of_open(out.len()), sentence_of_open_twins(twins.len() + aliases.len())];
            return Ok(Links { guarded: Vec::new(), told: open.into_iter().flatten().map(told).collect() });
        }
        let (whole, single) = by_directory(&out, &left_out, &|path| rules.opens_within(&place(path)));
        let mut guarded: Vec<(PathBuf, Access)> = aliases;
        let read_only = whole.keys().copied().chain(unlisted.iter().chain(&single).map(|path| path.as_slice()));
        guarded.extend(read_only.map(|path| (place(path), Access::Read)));
        guarded.extend(rooted.iter().map(|path| (place(path), Access::Read)));
        guarded.extend(twins.iter().map(|(path, access)| (place(path), *access)));
        if guarded.len() > GUARDED_MAX {
            let example = guarded.last().map(|(path, _)| path.clone()).unwrap_or_default();
            return Err(Error::TooManyLinks { count: guarded.len(), example });
        }
        let sentences = [
            sentence_of_names(&single),
            sentence_of_whole(&whole),
            sentence_of_unlisted(&unlisted),
            sentence_of_twins(&twins, Access::Hidden),
            sentence_of_twins(&twins, Access::Read),
            sentence_of_rooted(&rooted),
        ];
        Ok(Links { guarded, told: sentences.into_iter().flatten().map(told).collect() })
    }

    /// What is done where changes are kept apart: what is hidden is so by every name.
    ///
    /// Names are looked for only if something that is hidden has several, so that a run begins as fast as ever.
    pub(super) fn of_hidden(root: &Root, workspace: &Path, rules: &dyn Rules) -> Result<Links> {
        let failed = || Error::path("look through", workspace);
        let place = |path: &[u8]| workspace.join(OsStr::from_bytes(path));
        let hidden = rules.guarded().into_iter().filter(|(_, access)| *access == Access::Hidden);
        let hidden: Vec<Vec<u8>> = hidden.filter_map(|(path, _)| beneath(workspace, &path)).collect();
        let mounted = Mounted::default();
        let mut look = Look::at_names(root, &mounted, Vec::new());
        look.at(hidden).map_err(failed())?;
        if look.names.is_empty() {
            return Ok(Links::default());
        }
        look.at(vec![Vec::new()]).map_err(failed())?;
        let Found { mut twins, .. } = look.found(&|path| rules.access(&place(path)));
        twins.retain(|(path, access)| *access == Access::Hidden && !rules.is_flagged(&place(path)));
        let guarded = twins.iter().map(|(path, access)| (place(path), *access)).collect();
        Ok(Links { guarded, told: sentence_of_twins(&twins, Access::Hidden).into_iter().map(told).collect() })
    }
}

/// What rules and flags say of paths of the workspace.
pub(super) trait Rules {
    /// Whether somebody opened this path by naming it, or a directory around it.
    fn opens(&self, path: &Path) -> bool;
    /// Whether one of those beneath this one is.
    fn opens_within(&self, path: &Path) -> bool;
    /// Whether a flag names exactly this path.
    fn is_flagged(&self, path: &Path) -> bool;
    /// How it can be reached.
    fn access(&self, path: &Path) -> Access;
    /// Paths of the workspace that can only be read, or are hidden, by a rule or a flag.
    fn guarded(&self) -> Vec<(PathBuf, Access)>;
}

/// What is mounted in a workspace.
#[derive(Debug, Default)]
struct Mounted {
    /// Mounts of the filesystem that the workspace lies in: files in there may have names in it as well.
    same: Vec<Shows>,
    /// Where others are mounted, beneath the workspace; nobody looks at those.
    foreign: HashSet<Vec<u8>>,
    /// Every mount at or above the workspace, or beneath it.
    all: Vec<Shows>,
}

impl Mounted {
    fn within(workspace: &Path) -> io::Result<Mounted> {
        let all = belay_sys::mounts_about(workspace)?;
        let Some(own) = around(&all, workspace).cloned() else { return Ok(Mounted { all, ..Mounted::default() }) };
        let inner = all.iter().filter(|shows| shows.point.starts_with(workspace) && shows.point != workspace);
        let (same, other): (Vec<&Shows>, Vec<&Shows>) = inner.partition(|shows| shows.device == own.device);
        let foreign = other.iter().filter_map(|shows| beneath(workspace, &shows.point)).collect();
        Ok(Mounted { same: same.into_iter().cloned().collect(), foreign, all })
    }

    /// Where else in the workspace guarded paths can be seen, because a directory around or in them is mounted there too.
    fn aliases(&self, guarded: &[(PathBuf, Access)]) -> Vec<(PathBuf, Access)> {
        let mut aliases = Vec::new();
        for (path, access) in guarded {
            let Some(own) = around(&self.all, path) else { continue };
            let Ok(rest) = path.strip_prefix(&own.point) else { continue };
            let place = joined(&own.part, rest);
            for shows in self.same.iter().filter(|shows| shows.device == own.device) {
                let alias = match (place.strip_prefix(&shows.part), shows.part.starts_with(&place)) {
                    (Ok(rest), _) => joined(&shows.point, rest),
                    (Err(_), true) => shows.point.clone(),
                    (Err(_), false) => continue,
                };
                if !guarded.iter().any(|(path, _)| alias.starts_with(path)) && alias.symlink_metadata().is_ok() {
                    aliases.push((alias, *access));
                }
            }
        }
        aliases
    }
}

/// A path with another one beneath it, which may be empty.
fn joined(path: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { path.to_owned() } else { path.join(rest) }
}

/// The mount that a path lies in.
fn around<'s>(all: &'s [Shows], path: &Path) -> Option<&'s Shows> {
    all.iter().filter(|shows| path.starts_with(&shows.point)).max_by_key(|shows| shows.point.components().count())
}

fn beneath(workspace: &Path, path: &Path) -> Option<Vec<u8>> {
    Some(path.strip_prefix(workspace).ok()?.as_os_str().as_bytes().to_vec())
}

/// What was found of names.
struct Look<'a> {
    root: &'a Root,
    mounted: &'a Mounted,
    /// The paths of files that have several.
    names: BTreeSet<Vec<u8>>,
    /// Directories that nobody can look into.
    closed: BTreeSet<Vec<u8>>,
}

/// A file that has several names.
#[derive(Default)]
struct File<'n> {
    /// How many.
    count: u64,
    /// Those that were found: the directory by its numbers, so that one that is mounted twice counts once, and the name.
    found: BTreeSet<(u64, u64, &'n [u8])>,
    /// The paths by which they were found.
    paths: Vec<&'n Vec<u8>>,
    /// Whether it runs as root, whoever starts it.
    runs_as_root: bool,
}

/// What is to be done about the files that have several names.
struct Found {
    /// Names of files that have more of them than were found.
    out: Vec<Vec<u8>>,
    /// Names of files that are hidden or can only be read by another name, and so by these.
    twins: Vec<(Vec<u8>, Access)>,
    /// Names of files that run as root, and that root's command could give another content through a mapping, which
    /// takes that right from no file.
    rooted: Vec<Vec<u8>>,
}

/// What some directories hold.
#[derive(Default)]
struct Listed {
    names: Vec<Vec<u8>>,
    below: Vec<Vec<u8>>,
    closed: Vec<Vec<u8>>,
}

impl<'a> Look<'a> {
    fn at_names(root: &'a Root, mounted: &'a Mounted, names: Vec<Vec<u8>>) -> Look<'a> {
        Look { root, mounted, names: names.into_iter().collect(), closed: BTreeSet::new() }
    }

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
        let (root, foreign) = (self.root, &self.mounted.foreign);
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
        while !level.is_empty() {
            let next = AtomicUsize::new(0);
            let look = || list(root, &level, &next);
            let listed: Vec<io::Result<Listed>> = std::thread::scope(|scope| {
                let others = (1..threads.min(level.len().div_ceil(BATCH))).map(|_| scope.spawn(look));
                let others: Vec<_> = others.collect();
                let mine = look();
                let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().expect("a look does not panic");
                std::iter::once(mine).chain(others.into_iter().map(join)).collect()
            });
            level = Vec::new();
            for listed in listed {
                let Listed { names, below, closed } = listed?;
                self.names.extend(names);
                self.closed.extend(closed);
                level.extend(below.into_iter().filter(|path| !foreign.contains(path)));
            }
        }
        Ok(())
    }

    /// The names of files that lead out or are guarded by another name, as they are now.
    fn found(&self, access: &dyn Fn(&[u8]) -> Access) -> Found {
        let mut files: BTreeMap<(u64, u64), File<'_>> = BTreeMap::new();
        let mut around: Option<(&[u8], Dir, (u64, u64))> = None;
        for path in &self.names {
            let (above, name) = split(path);
            if around.as_ref().is_none_or(|(known, ..)| *known != above) {
                let opened = self.root.dir_path_only(above).and_then(|dir| dir.stat_self().map(|found| (dir, found)));
                around = opened.ok().map(|(dir, found)| (above, dir, (found.dev, found.ino)));
            }
            let Some((_, dir, (dev, ino))) = &around else { continue };
            if let Some(found) = dir.stat(name).ok().filter(|found| found.file_type == FileType::File) {
                let file = files.entry((found.dev, found.ino)).or_default();
                file.count = file.count.max(u64::from(found.nlink));
                file.runs_as_root = found.runs_as_root() && belay_sys::is_root();
                file.found.insert((*dev, *ino, name));
                file.paths.push(path);
            }
        }
        let (mut out, mut twins, mut rooted) = (Vec::new(), Vec::new(), Vec::new());
        for file in files.values() {
            let by_name: Vec<Access> = file.paths.iter().map(|path| access(path)).collect();
            let strictest = by_name.iter().copied().map(strictness).max().unwrap_or_default();
            let is_open = |(_, own): &(&&Vec<u8>, Access)| strictness(*own) < strictest;
            let open = file.paths.iter().zip(by_name).filter(is_open);
            let guard = if strictest == strictness(Access::Hidden) { Access::Hidden } else { Access::Read };
            twins.extend(open.map(|(path, _)| ((*path).clone(), guard)));
            if strictest == 0 && file.runs_as_root {
                rooted.extend(file.paths.iter().copied().cloned());
            } else if strictest == 0 && file.count > file.found.len() as u64 {
                out.extend(file.paths.iter().copied().cloned());
            }
        }
        out.sort_unstable();
        twins.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Found { out, twins, rooted }
    }
}

/// How much a grant keeps from whoever it is for.
fn strictness(access: Access) -> u8 {
    match access {
        Access::Write | Access::Private => 0,
        Access::Read => 1,
        Access::Hidden | Access::Empty => 2,
    }
}

/// Lists those directories that nobody else took meanwhile, and looks at every file in them.
fn list(root: &Root, directories: &[Vec<u8>], next: &AtomicUsize) -> io::Result<Listed> {
    let (mut listed, mut buffer) = (Listed::default(), Vec::new());
    loop {
        let from = next.fetch_add(BATCH, Ordering::Relaxed).min(directories.len());
        let batch = &directories[from..directories.len().min(from + BATCH)];
        if batch.is_empty() {
            return Ok(listed);
        }
        for path in batch {
            match look_into(root, path, &mut listed, &mut buffer) {
                Ok(()) => {}
                Err(error) if is_none_of_ours(&error) => {}
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    listed.closed.extend(can_be_entered(root, path).then(|| path.clone()));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Looks at everything in a directory.
fn look_into(root: &Root, path: &[u8], listed: &mut Listed, buffer: &mut Vec<u8>) -> io::Result<()> {
    let dir = root.dir(path)?;
    let mut is_closed = false;
    dir.list(buffer, &mut |name, file_type, _| match file_type {
        FileType::Dir => listed.below.push(join(path, name)),
        FileType::File | FileType::Unknown if !is_closed => match dir.stat(name) {
            Ok(found) if found.file_type == FileType::Dir => listed.below.push(join(path, name)),
            Ok(found) if has_others(&found) => listed.names.push(join(path, name)),
            // It can be listed and not entered; its owner may change that.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => is_closed = true,
            // One that is gone has no names.
            Ok(_) | Err(_) => {}
        },
        _ => {}
    })?;
    listed.closed.extend(is_closed.then(|| path.to_vec()));
    Ok(())
}

/// Whether what lies in a directory that cannot be listed can be reached by its name, or could be by its owner.
fn can_be_entered(root: &Root, path: &[u8]) -> bool {
    let Ok(dir) = root.dir_path_only(path) else { return true };
    let is_own = dir.stat_self().is_ok_and(|found| found.uid == rustix::process::geteuid().as_raw());
    is_own || dir.stat(b"-").map_or_else(|error| error.kind() != io::ErrorKind::PermissionDenied, |_| true)
}

fn has_others(found: &Stat) -> bool {
    found.file_type == FileType::File && (found.nlink > 1 || found.runs_as_root())
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

fn sentence_of_twins(twins: &[(Vec<u8>, Access)], access: Access) -> Option<String> {
    let names: Vec<&Vec<u8>> = twins.iter().filter(|(_, guard)| *guard == access).map(|(path, _)| path).collect();
    let (count, some) = (names.len(), some_of(names.iter().map(|path| path.as_slice())));
    let (files, are) = if count == 1 { ("file", "is") } else { ("files", "are") };
    let sentence = match access {
        Access::Hidden => format!("{count} {files} {are} hidden because another name of the same file is: {some}"),
        _ => format!("{count} {files} can only be read because another name of the same file can: {some}"),
    };
    (count > 0).then_some(sentence)
}

fn sentence_of_rooted(rooted: &[&Vec<u8>]) -> Option<String> {
    let (count, some) = (rooted.len(), some_of(rooted.iter().map(|path| path.as_slice())));
    let (files, run) = if count == 1 { ("file", "runs") } else { ("files", "run") };
    (count > 0).then(|| format!("{count} {files} in the workspace {run} as root, and can only be read: {some}"))
}

fn sentence_of_open_twins(count: usize) -> Option<String> {
    let names = format!("{count} names of files that are to be hidden or protected");
    (count > 0).then(|| format!("{names} by another name CAN BE REACHED"))
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

    #[derive(Default)]
    struct Only(Vec<(PathBuf, Access)>);
    impl Rules for Only {
        fn opens(&self, path: &Path) -> bool {
            self.0.iter().any(|(rule, _)| path.starts_with(rule))
        }
        fn opens_within(&self, _: &Path) -> bool {
            false
        }
        fn is_flagged(&self, _: &Path) -> bool {
            false
        }
        fn access(&self, path: &Path) -> Access {
            let rule = self.0.iter().find(|(rule, _)| path.starts_with(rule));
            rule.map_or(Access::Write, |(_, access)| *access)
        }
        fn guarded(&self) -> Vec<(PathBuf, Access)> {
            self.0.clone()
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
            let names = Names { captured: bytes(captured), left_out: left_out.map(bytes), ahead: Ahead::default() };
            Links::of(&self.root, names, true, &Only::default()).unwrap()
        }

        fn guarded(&self, links: &Links) -> Vec<String> {
            let relative =
                |(path, _): &(PathBuf, Access)| path.strip_prefix(&self.root).unwrap().to_string_lossy().into_owned();
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
        let names = Names { captured, left_out: Some(Vec::new()), ahead: Ahead::default() };
        let refused = Links::of(&place.root, names, true, &Only::default());
        assert!(matches!(refused, Err(Error::TooManyLinks { .. })), "{refused:?}");
    }

    #[test]
    fn what_one_name_hides_or_protects_is_so_by_every_name() {
        let place = place();
        let (env, hooks) = (place.root.join(".env"), place.root.join("hooks"));
        fs::create_dir(&hooks).unwrap();
        fs::write(&env, "secret").unwrap();
        fs::write(hooks.join("pre-commit"), "x").unwrap();
        fs::hard_link(&env, place.root.join("sub/twin")).unwrap();
        fs::hard_link(&env, place.root.join("left/twin")).unwrap();
        fs::hard_link(hooks.join("pre-commit"), place.root.join("tool")).unwrap();
        fs::hard_link(hooks.join("pre-commit"), hooks.join("other")).unwrap();
        let rules = Only(vec![(env, Access::Hidden), (hooks, Access::Read)]);
        let captured =
            [".env", "sub/twin", "hooks/pre-commit", "hooks/other", "tool"].map(|path| path.as_bytes().to_vec());
        let names =
            || Names { captured: captured.to_vec(), left_out: Some(vec![b"left".to_vec()]), ..Names::default() };
        let expected = [("left/twin", Access::Hidden), ("sub/twin", Access::Hidden), ("tool", Access::Read)];
        let expected = expected.map(|(path, access)| (place.root.join(path), access));
        let links = Links::of(&place.root, names(), true, &rules).unwrap();
        assert_eq!(links.guarded, expected);
        let told: Vec<&str> = links.told.iter().map(|told| told.why.as_str()).collect();
        let hidden = "2 files are hidden because another name of the same file is: left/twin, sub/twin";
        assert_eq!(told, [hidden, "1 file can only be read because another name of the same file can: tool"]);
        // Where nothing can be guarded it is said.
        let open = Links::of(&place.root, names(), false, &rules).unwrap();
        assert!(open.guarded.is_empty() && open.told[0].why.contains("CAN BE REACHED"), "{open:?}");
        // Where changes are kept apart, what is hidden is all that matters.
        let root = Root::open(&place.root).unwrap();
        let apart = Links::of_hidden(&root, &place.root, &rules).unwrap();
        assert_eq!(apart.guarded, expected[..2]);
    }

    #[test]
    fn a_directory_that_is_mounted_twice_shows_nothing_that_is_guarded() {
        let shows = |point: &str, device: &str, part: &str| Shows {
            point: point.into(),
            device: device.into(),
            part: part.into(),
        };
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for path in ["w/a/secret", "w/b/secret", "w/c", "w/d/a/secret"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        let at = |path: &str| root.join(path).to_string_lossy().into_owned();
        let same = vec![
            shows(&at("w/b"), "8:1", "/fs/w/a"),
            shows(&at("w/c"), "8:1", "/fs/w/a/secret/in"),
            shows(&at("w/d"), "8:1", "/fs/w"),
        ];
        let all = [vec![shows(&at(""), "8:1", "/fs"), shows(&at("w/x"), "9:9", "/")], same.clone()].concat();
        let mounted = Mounted { same, all, foreign: HashSet::new() };
        let aliases = mounted.aliases(&[(root.join("w/a/secret"), Access::Hidden)]);
        let expected = ["w/b/secret", "w/c", "w/d/a/secret"].map(|path| (root.join(path), Access::Hidden));
        assert_eq!(aliases, expected);
    }

    #[test]
    fn a_name_that_is_seen_in_two_mounts_counts_once() {
        let place = place();
        place.out("sub/out");
        let root = Root::open(&place.root).unwrap();
        let mounted = Mounted::default();
        let mut look = Look::at_names(&root, &mounted, vec![b"sub/out".to_vec()]);
        look.names.insert(b"sub/../sub/out".to_vec());
        look.names.insert(b"sub/./out".to_vec());
        let found = look.found(&|_| Access::Write);
        assert!(found.out.contains(&b"sub/out".to_vec()), "{:?}", found.out);
    }
}
