//! From the refusals of a run to the narrowest rules that would have allowed them.
//!
//! Invariants: a rule names exactly the path that was wanted, and a directory only if several paths in it were and
//! nothing in it stays closed; what stays closed is told with the reason and no rule.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use belay_event::{Denied, Raw, Wanted};
use serde::{Deserialize, Serialize};

use crate::secrets;

/// So many paths of one directory are taken together.
const SIBLINGS_MIN: usize = 3;
/// Nothing nearer to the root than this is proposed as a whole.
const DEPTH_MIN: usize = 4;

/// Calls that only look: a shell looks for every command in every directory of its path.
const LOOKS: [&str; 9] =
    ["stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat"];

/// What was refused, and what would allow it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// The path, or the directory of several.
    pub path: Raw,
    /// What was wanted.
    pub wanted: Wanted,
    /// How many paths it stands for.
    pub paths: u64,
    /// How often something of it was refused.
    pub count: u64,
    /// The first command that was refused it, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<u64>,
    /// The words of that command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<Raw>,
    /// Why no rule is proposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<String>,
    /// Whether it must be made before a rule can name it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub absent: bool,
}

impl Proposal {
    /// The flag of `belay run` that, with the path, would allow it.
    pub fn flag(&self) -> Option<&'static str> {
        let flag = match self.wanted {
            Wanted::Read => "--ro",
            Wanted::Write => "--rw",
        };
        self.closed.is_none().then_some(flag)
    }

    fn path(&self) -> &Path {
        Path::new(std::ffi::OsStr::from_bytes(self.path.bytes()))
    }
}

/// What the refusals of a run come to; `root` is its workspace.
///
/// What a command only looked for counts if that command has failed.
pub fn proposals<'a>(
    denied: impl IntoIterator<Item = &'a Denied>,
    has_failed: &dyn Fn(u64) -> bool,
    home: &Path,
    root: &Path,
) -> Vec<Proposal> {
    let counts = |one: &&Denied| !LOOKS.contains(&one.call.as_str()) || one.command.is_none_or(has_failed);
    let single = by_path(denied.into_iter().filter(counts));
    let closed: Vec<PathBuf> =
        single.iter().filter(|one| one.closed.is_some()).map(|one| one.path().to_owned()).collect();
    let may_open = |directory: &Path| {
        directory.components().count() >= DEPTH_MIN
            && ![home, root].iter().any(|place| place.starts_with(directory))
            && !secrets::holds_closed(directory, home)
            && !closed.iter().any(|path| path.starts_with(directory))
    };
    let mut together: BTreeMap<(PathBuf, Wanted), Vec<Proposal>> = BTreeMap::new();
    let mut all = Vec::new();
    for one in single {
        match one.path().parent().filter(|parent| one.closed.is_none() && may_open(parent)) {
            Some(parent) => together.entry((parent.to_owned(), one.wanted)).or_default().push(one),
            None => all.push(one),
        }
    }
    for ((parent, wanted), siblings) in together {
        match siblings.len() >= SIBLINGS_MIN {
            true => all.push(joined(&parent, wanted, &siblings)),
            false => all.extend(siblings),
        }
    }
    let open: Vec<(PathBuf, Wanted)> =
        all.iter().filter(|one| one.closed.is_none()).map(|one| (one.path().to_owned(), one.wanted)).collect();
    let is_covered = |one: &Proposal| {
        let covers = |(path, wanted): &(PathBuf, Wanted)| {
            path != one.path() && one.path().starts_with(path) && *wanted >= one.wanted
        };
        one.closed.is_none() && open.iter().any(covers)
    };
    all.retain(|one| !is_covered(one));
    all.sort_by(|one, other| {
        let key = |one: &Proposal| (one.closed.is_some(), std::cmp::Reverse(one.wanted), std::cmp::Reverse(one.count));
        key(one).cmp(&key(other)).then_with(|| one.path.bytes().cmp(other.path.bytes()))
    });
    all
}

/// Each path once; whoever may write it may read it.
fn by_path<'a>(denied: impl IntoIterator<Item = &'a Denied>) -> Vec<Proposal> {
    let mut all: BTreeMap<Vec<u8>, Proposal> = BTreeMap::new();
    for one in denied {
        let (Some(path), Some(wanted)) = (&one.path, one.wanted) else { continue };
        let known = all.entry(path.bytes().to_vec()).or_insert_with(|| Proposal {
            path: path.clone(),
            wanted,
            paths: 1,
            count: 0,
            command: one.command,
            argv: Vec::new(),
            closed: None,
            absent: one.absent,
        });
        known.count += one.count;
        known.wanted = known.wanted.max(wanted);
        known.command = known.command.or(one.command);
        known.closed = known.closed.take().or_else(|| one.closed.clone());
        known.absent |= one.absent;
    }
    all.into_values().collect()
}

fn joined(parent: &Path, wanted: Wanted, siblings: &[Proposal]) -> Proposal {
    Proposal {
        path: Raw::from(parent.as_os_str().as_bytes()),
        wanted,
        paths: siblings.len() as u64,
        count: siblings.iter().map(|one| one.count).sum(),
        command: siblings.iter().find_map(|one| one.command),
        argv: Vec::new(),
        closed: None,
        absent: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(path: &str, wanted: Wanted, closed: Option<&str>) -> Denied {
        Denied {
            call: "openat".into(),
            path: Some(path.into()),
            errno: 2,
            pid: 1,
            command: Some(7),
            wanted: Some(wanted),
            closed: closed.map(str::to_owned),
            absent: false,
            count: 1,
        }
    }

    fn lines(denied: &[Denied]) -> Vec<String> {
        let failed = |command: u64| command == 7;
        let all = proposals(denied, &failed, Path::new("/home/ada"), Path::new("/home/ada/project"));
        let line = |one: &Proposal| match one.flag() {
            Some(flag) => format!("{flag} {} ({})", String::from_utf8_lossy(one.path.bytes()), one.count),
            None => format!("closed {}", String::from_utf8_lossy(one.path.bytes())),
        };
        all.iter().map(line).collect()
    }

    #[test]
    fn a_path_is_named_itself_and_a_directory_for_several() {
        use Wanted::{Read, Write};
        let two = [denied("/srv/data/set/a", Read, None), denied("/srv/data/set/b", Read, None)];
        assert_eq!(lines(&two), ["--ro /srv/data/set/a (1)", "--ro /srv/data/set/b (1)"]);
        let more = [&two[..], &[denied("/srv/data/set/c", Read, None), denied("/srv/data/set/c", Read, None)]].concat();
        assert_eq!(lines(&more), ["--ro /srv/data/set (4)"]);
        let mixed = [denied("/srv/x", Read, None), denied("/srv/x", Write, None)];
        assert_eq!(lines(&mixed), ["--rw /srv/x (2)"]);
        let within = [denied("/srv/data/set", Read, None), denied("/srv/data/set/a", Read, None)];
        assert_eq!(lines(&within), ["--ro /srv/data/set (1)"]);
    }

    #[test]
    fn what_was_only_looked_for_counts_for_who_failed() {
        let look = |command| Denied { call: "statx".into(), command, ..denied("/srv/x", Wanted::Read, None) };
        assert_eq!(lines(&[look(Some(7))]), ["--ro /srv/x (1)"]);
        assert!(lines(&[look(Some(8))]).is_empty());
        let read = Denied { command: Some(8), ..denied("/srv/x", Wanted::Read, None) };
        assert_eq!(lines(&[look(Some(8)), read]), ["--ro /srv/x (1)"]);
    }

    #[test]
    fn what_stays_closed_closes_the_directory_around_it() {
        use Wanted::Read;
        let near = ["a", "b", "c"].map(|name| denied(&format!("/srv/data/set/{name}"), Read, None));
        let key = denied("/srv/data/set/server.pem", Read, Some("it holds keys"));
        let all = [&near[..], &[key]].concat();
        assert_eq!(
            lines(&all),
            [
                "--ro /srv/data/set/a (1)",
                "--ro /srv/data/set/b (1)",
                "--ro /srv/data/set/c (1)",
                "closed /srv/data/set/server.pem"
            ]
        );
        let config = ["a", "b", "c"].map(|name| denied(&format!("/home/ada/.config/{name}"), Read, None));
        assert_eq!(lines(&config).len(), 3, "credentials lie in there, too");
        let home = ["a", "b", "c"].map(|name| denied(&format!("/home/ada/{name}"), Read, None));
        assert_eq!(lines(&home).len(), 3);
    }
}
