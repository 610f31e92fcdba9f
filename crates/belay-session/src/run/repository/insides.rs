//! What git's own work writes into the directory of a repository, and what else was there before a run.
//!
//! Invariants: what git reads settings, programs or orders from is not among what its work writes; orders that were there
//! before are nobody's fault.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::programs;
use crate::git::{SETTINGS_BYTES_MAX, Tracked, settings, tracked_in};
use crate::record::PathText;

/// Directories and files that git writes in ordinary work, beside those in capitals.
const WRITTEN: [&[u8]; 19] = [
    b"branches.lock",
    b"config.lock",
    b"description",
    b"fsmonitor--daemon",
    b"fsmonitor--daemon.ipc",
    b"gc.log",
    b"gc.pid",
    b"info",
    b"lfs",
    b"locked",
    b"logs",
    b"modules",
    b"objects",
    b"packed-refs",
    b"rebase-apply",
    b"rebase-merge",
    b"refs",
    b"reftable",
    b"worktrees",
];
/// How names begin of which git makes any number.
const BEGINNINGS: [&[u8]; 7] =
    [b"index", b"sharedindex.", b"next-index-", b"sequencer", b"shallow", b"tmp_", b"BISECT_"];
/// Other names that one may have there.
const NAMES_MAX: usize = 256;
/// An order is no longer than this.
const ORDERS_BYTES_MAX: u64 = 1 << 20;
/// Directories that are looked at; who has more of them is not protected in the rest.
const DIRECTORIES_MAX: usize = 50_000;
/// Repositories in new repositories that are looked at.
const ENTERED_MAX: usize = 1_000;
/// An index is no longer than this.
const INDEX_BYTES_MAX: u64 = 1 << 28;
/// Where somebody who goes on with what was begun finds what to do.
pub(crate) const ORDERS: [&str; 5] = [
    "rebase-merge/git-rebase-todo",
    "rebase-merge/strategy",
    "rebase-apply/strategy",
    "sequencer/todo",
    "sequencer/opts",
];
/// Strategies that git has itself; another is a program, by whatever path.
const STRATEGIES: [&[u8]; 6] = [b"octopus", b"ort", b"ours", b"recursive", b"resolve", b"subtree"];

/// What was in the directory of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Insides {
    /// Names that git's own work does not write.
    names: Vec<PathText>,
    /// What would be executed by somebody who goes on with what was begun.
    orders: Vec<PathText>,
    /// The directory of files that its index is about, and what of it was a repository that git goes into by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    worktree: Option<PathText>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    entered: Vec<PathText>,
    /// Whether that directory was itself what git takes for a repository, where it finds none in `.git`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    was_bare: bool,
    /// Directories of those files in which git found no repository of their own, and so came to this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    directories: Vec<PathText>,
    /// Whether nobody could tell what the index said.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    was_unreadable: bool,
}

impl Insides {
    /// Those of a directory; none if there are more than anybody can look at.
    pub(super) fn of(place: &Path, files: (&Path, Option<PathText>), entered: &[PathBuf]) -> Option<Insides> {
        let entries = fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let others = entries.filter(|name| !is_written(name.as_bytes())).take(NAMES_MAX + 1);
        let names: Vec<PathText> = others.map(|name| PathText::from(name.as_bytes())).collect();
        let read = |name: &'static str| {
            orders_in(name, &super::text_of(&place.join(name), ORDERS_BYTES_MAX).unwrap_or_default())
        };
        let orders = ORDERS.into_iter().flat_map(read).map(|order| PathText::from(&order[..]));
        let entered = entered.iter().map(|path| PathText::from(path.as_os_str().as_bytes())).collect();
        let (was_bare, worktree) = (super::is_bare(files.0), files.1);
        let directories = directories_of(place).into_iter().filter(|path| !is_repository(&files.0.join(path)));
        let directories = directories.take(DIRECTORIES_MAX).map(|path| PathText::from(path.as_os_str().as_bytes()));
        let (orders, directories) = (orders.collect(), directories.collect());
        let was_unreadable = is_unreadable(place);
        let insides = Insides { names, orders, worktree, entered, was_bare, directories, was_unreadable };
        (insides.names.len() <= NAMES_MAX).then_some(insides)
    }

    /// Those of a workspace that has no repository of its own and lies in another one's files.
    pub(super) fn of_none() -> Insides {
        let top = PathText::from(&b""[..]);
        Insides { worktree: Some(top.clone()), directories: vec![top], ..Insides::default() }
    }

    /// Whether there was no repository.
    pub(crate) fn is_of_none(&self) -> bool {
        self.directories.iter().any(|path| path.bytes().is_empty())
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map(PathText::bytes)
    }

    /// Whether such a name was there, or is one that git's work writes.
    pub(crate) fn allows(&self, name: &[u8]) -> bool {
        is_written(name) || self.names().any(|known| known == name)
    }

    /// What has git go into a repository by itself since the run, and execute something there; beneath the workspace, whose
    /// files `workspace` shows.
    pub(crate) fn entered_since(&self, workspace: &Path, place: &[u8]) -> Vec<Vec<u8>> {
        let Some(worktree) = &self.worktree else { return Vec::new() };
        let worktree = Path::new(OsStr::from_bytes(worktree.bytes()));
        let files = workspace.join(worktree);
        let is_new = |path: &PathBuf| !self.entered.iter().any(|known| known.bytes() == path.as_os_str().as_bytes());
        let place = Path::new(OsStr::from_bytes(place));
        let entered = entered_by(&workspace.join(place));
        let mut waiting: Vec<PathBuf> = entered.into_iter().filter(is_new).collect();
        let (mut led, mut looked) = (Vec::new(), 0);
        // Git may read there what we do not.
        led.extend((!self.was_unreadable && is_unreadable(&workspace.join(place))).then(|| place.join("index")));
        while let Some(path) = waiting.pop() {
            looked += 1;
            // Nobody has so many, and what was not looked at is not gone into.
            if executes(&files.join(&path)) || looked > ENTERED_MAX {
                led.push(worktree.join(path).join(".git"));
                continue;
            }
            let deeper = repository_of(&files.join(&path)).map(|place| entered_by(&place)).unwrap_or_default();
            waiting.extend(deeper.into_iter().map(|deeper| path.join(deeper)));
        }
        for path in self.directories.iter().map(|path| Path::new(OsStr::from_bytes(path.bytes()))) {
            let directory = files.join(path);
            led.extend(executes(&directory).then(|| worktree.join(path).join(".git")));
            led.extend(super::is_bare(&directory).then(|| worktree.join(path).join("HEAD")));
        }
        // Whoever takes the repository in `.git` away has git look here.
        led.extend((!self.was_bare && super::is_bare(&files)).then(|| worktree.join("HEAD")));
        let mut led: Vec<Vec<u8>> = led.into_iter().map(|path| path.into_os_string().into_vec()).collect();
        led.sort_unstable();
        led.dedup();
        led
    }

    /// Whether what a file orders was ordered before.
    pub(crate) fn orders(&self, name: &str, file: fs::File) -> bool {
        let mut text = Vec::new();
        let is_read = file.take(ORDERS_BYTES_MAX + 1).read_to_end(&mut text).is_ok();
        let is_known = |order: &Vec<u8>| self.orders.iter().any(|known| known.bytes() == order);
        is_read && text.len() as u64 <= ORDERS_BYTES_MAX && orders_in(name, &text).iter().all(is_known)
    }
}

/// What the index in the directory of a repository says; a part of it may lie in other files.
fn indexes_of(place: &Path) -> impl Iterator<Item = Tracked> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let parts = entries.filter(|name| name == "index" || name.as_bytes().starts_with(b"sharedindex."));
    let paths: Vec<PathBuf> = parts.map(|name| place.join(name)).collect();
    paths.into_iter().filter_map(|path| tracked_in(&super::text_of(&path, INDEX_BYTES_MAX)?))
}

/// Whether the index in the directory of a repository says something, and nobody can tell what.
fn is_unreadable(place: &Path) -> bool {
    let index = place.join("index");
    let says = || super::text_of(&index, INDEX_BYTES_MAX).and_then(|text| tracked_in(&text));
    is_closed(place) || (index.symlink_metadata().is_ok() && says().is_none())
}

/// Whether what is in a directory can only be reached by whoever knows its name.
fn is_closed(directory: &Path) -> bool {
    fs::read_dir(directory).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}

/// What it names as repositories.
pub(super) fn entered_by(place: &Path) -> Vec<PathBuf> {
    let paths = indexes_of(place).flat_map(|tracked| tracked.repositories);
    let paths = paths.map(|path| PathBuf::from(OsString::from_vec(path)));
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.is_relative() && super::is_plain(path)).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// The directories that tracked files lie in, but for the topmost.
fn directories_of(place: &Path) -> BTreeSet<PathBuf> {
    let mut directories = BTreeSet::new();
    for path in indexes_of(place).flat_map(|tracked| tracked.paths) {
        let path = PathBuf::from(OsString::from_vec(path));
        for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            // What lies above a known one is known.
            if !super::is_plain(above) || above.is_absolute() || !directories.insert(above.to_owned()) {
                break;
            }
        }
    }
    directories
}

/// Whether git finds a repository in a directory.
fn is_repository(directory: &Path) -> bool {
    directory.join(".git").symlink_metadata().is_ok() || super::is_bare(directory)
}

/// The directory of the repository whose files are there.
fn repository_of(worktree: &Path) -> Option<PathBuf> {
    let git = worktree.join(".git");
    if git.symlink_metadata().ok()?.is_dir() {
        return Some(git);
    }
    let text = super::text_of(&git, super::LINE_BYTES_MAX)?;
    let named = text.strip_prefix(b"gitdir:").map(<[u8]>::trim_ascii)?;
    Some(worktree.join(OsStr::from_bytes(named)))
}

/// Whether git would execute something of the repository whose files are there; what cannot be read may.
fn executes(worktree: &Path) -> bool {
    if worktree.join(".git").symlink_metadata().is_ok_and(|found| !found.is_dir() && !found.is_file()) {
        return true;
    }
    let Some(place) = repository_of(worktree) else { return false };
    let has_program = |name: &str| {
        let path = place.join(name);
        if path.symlink_metadata().is_err() {
            return false;
        }
        let all = super::text_of(&path, SETTINGS_BYTES_MAX).and_then(|text| settings(&text).ok());
        all.is_none_or(|all| all.iter().any(|(section, key, value)| programs::executes(section, key, value)))
    };
    let hooks = fs::read_dir(place.join("hooks")).into_iter().flatten().flatten();
    place.join("commondir").symlink_metadata().is_ok()
        || is_unreadable(&place)
        || is_closed(&place.join("hooks"))
        || ["config", "config.worktree"].into_iter().any(has_program)
        || hooks.into_iter().any(|hook| !hook.file_name().as_bytes().ends_with(b".sample"))
}

fn is_written(name: &[u8]) -> bool {
    let name = name.strip_suffix(b".lock").unwrap_or(name);
    let is_capital = |byte: &u8| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'.' | b'0'..=b'9');
    WRITTEN.contains(&name)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || (name.first().is_some_and(u8::is_ascii_uppercase) && name.iter().all(is_capital))
}

/// What of the text of such a file git would execute.
fn orders_in(name: &str, text: &[u8]) -> Vec<Vec<u8>> {
    let lines = text.split(|byte| matches!(byte, b'\n' | b'\r')).map(<[u8]>::trim_ascii);
    let last = name.rsplit('/').next().unwrap_or(name);
    match last {
        "strategy" => lines.filter(|line| !line.is_empty() && !STRATEGIES.contains(line)).map(<[u8]>::to_vec).collect(),
        "opts" => {
            // What cannot be read as settings could be read otherwise by git.
            let Ok(all) = settings(text) else { return vec![text.to_vec()] };
            let is_other = |key: &str, value: &[u8]| key == "strategy" && !STRATEGIES.contains(&value);
            all.into_iter().filter(|(_, key, value)| is_other(key, value)).map(|(.., value)| value).collect()
        }
        _ => {
            let is_order = |line: &&[u8]| {
                let end = line.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(line.len());
                matches!(&line[..end], b"exec" | b"x")
            };
            lines.filter(is_order).map(<[u8]>::to_vec).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_writes_is_told_from_what_leads_it() {
        for name in
            ["HEAD", "ORIG_HEAD", "index", "index.lock", "MERGE_MSG", "packed-refs.lock", "sequencer", "objects"]
        {
            assert!(is_written(name.as_bytes()), "{name}");
        }
        for name in ["config", "config.worktree", "hooks", "commondir", "gitdir", "remotes", "branches", "Hooks", "x"] {
            assert!(!is_written(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn orders_are_found_however_they_are_written() {
        let todo = b"pick 1 exec\n  exec a\nx\tb\n# exec c\nexecute\nexec\td\r\n";
        assert_eq!(orders_in("rebase-merge/git-rebase-todo", todo), [&b"exec a"[..], b"x\tb", b"exec\td"]);
        assert_eq!(orders_in("rebase-merge/strategy", b"ort\n").len(), 0);
        assert_eq!(orders_in("rebase-merge/strategy", b"../x\n").len(), 1);
        assert_eq!(orders_in("sequencer/opts", b"[options]\n\tstrategy = ours\n").len(), 0);
        assert_eq!(orders_in("sequencer/opts", b"[options]\n\tstrategy = ../x\n").len(), 1);
    }
}
