//! From the refusals of a run to the narrowest rules that would have allowed them.
//!
//! Invariants: a rule names exactly the path that was wanted, and a directory only if several paths in it were and
//! nothing in it stays closed; what stays closed is told with the reason and no rule.

use std::collections::{BTreeMap, BTreeSet};
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
    /// The first command that was refused what was wanted, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<u64>,
    /// How many more commands were.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub commands_more: u64,
    /// The words of the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<Raw>,
    /// Why no rule is proposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<String>,
    /// Whether it must be made before a rule can name it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub absent: bool,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
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
        single.iter().filter(|one| one.all.closed.is_some()).map(|one| one.all.path().to_owned()).collect();
    let may_open = |directory: &Path| {
        directory.components().count() >= DEPTH_MIN
            && ![home, root].iter().any(|place| place.starts_with(directory))
            && !secrets::holds_closed(directory, home)
            && !closed.iter().any(|path| path.starts_with(directory))
    };
    let mut together: BTreeMap<(PathBuf, Wanted, Option<String>), Vec<Refused>> = BTreeMap::new();
    let mut all = Vec::new();
    for one in single {
        let parent = one.all.path().parent().map(Path::to_owned);
        // What stays closed for one reason is told once; no rule is proposed for it.
        match parent.filter(|parent| one.all.closed.is_some() || may_open(parent)) {
            Some(parent) => together.entry((parent, one.all.wanted, one.all.closed.clone())).or_default().push(one),
            None => all.push(one.named()),
        }
    }
    for ((parent, _, _), siblings) in together {
        match siblings.len() >= SIBLINGS_MIN {
            true => all.push(joined(&parent, siblings)),
            false => all.extend(siblings.into_iter().map(Refused::named)),
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

/// A path that was refused, and the commands that wanted the most of it.
struct Refused {
    all: Proposal,
    commands: BTreeSet<u64>,
}

impl Refused {
    fn named(self) -> Proposal {
        let commands_more = self.commands.len().saturating_sub(1) as u64;
        Proposal { command: self.commands.first().copied(), commands_more, ..self.all }
    }
}

/// Each path once; whoever may write it may read it.
fn by_path<'a>(denied: impl IntoIterator<Item = &'a Denied>) -> Vec<Refused> {
    let mut all: BTreeMap<Vec<u8>, Refused> = BTreeMap::new();
    for one in denied {
        let (Some(path), Some(wanted)) = (&one.path, one.wanted) else { continue };
        let known = all.entry(path.bytes().to_vec()).or_insert_with(|| Refused {
            all: Proposal {
                path: path.clone(),
                wanted,
                paths: 1,
                count: 0,
                command: None,
                commands_more: 0,
                argv: Vec::new(),
                closed: None,
                absent: one.absent,
            },
            commands: BTreeSet::new(),
        });
        if wanted > known.all.wanted {
            // Whoever only wanted to read it was not refused what is told.
            known.commands.clear();
        }
        if wanted >= known.all.wanted {
            known.commands.extend(one.command);
        }
        let known = &mut known.all;
        known.count += one.count;
        known.wanted = known.wanted.max(wanted);
        known.closed = known.closed.take().or_else(|| one.closed.clone());
        known.absent |= one.absent;
    }
    all.into_values().collect()
}

/// Siblings that are told together; they want the same, and one reason closes all of them or none.
fn joined(parent: &Path, siblings: Vec<Refused>) -> Proposal {
    let all = Proposal {
        path: Raw::from(parent.as_os_str().as_bytes()),
        wanted: siblings[0].all.wanted,
        paths: siblings.len() as u64,
        count: siblings.iter().map(|one| one.all.count).sum(),
        command: None,
        commands_more: 0,
        argv: Vec::new(),
        closed: siblings[0].all.closed.clone(),
        absent: false,
    };
    Refused { all, commands: siblings.into_iter().flat_map(|one| one.commands).collect() }.named()
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

    #[test]
    fn the_command_is_one_that_wanted_it_and_the_others_are_counted() {
        use Wanted::{Read, Write};
        let by = |command, one: Denied| Denied { command: Some(command), ..one };
        let who = |denied: &[Denied]| {
            let all = proposals(denied, &|_| true, Path::new("/home/ada"), Path::new("/home/ada/project"));
            all.iter().map(|one| (one.command, one.commands_more)).collect::<Vec<_>>()
        };
        let mixed = [by(3, denied("/srv/x", Read, None)), by(9, denied("/srv/x", Write, None))];
        assert_eq!(who(&mixed), [(Some(9), 0)], "who only read it is not the one that could not write");
        let several = ["c", "a", "b"].map(|name| denied(&format!("/srv/data/set/{name}"), Read, None));
        let several: Vec<Denied> = several.into_iter().zip(4..).map(|(one, command)| by(command, one)).collect();
        assert_eq!(who(&several), [(Some(4), 2)], "the first is named, whatever its path");
    }

    #[test]
    fn what_one_reason_keeps_closed_is_told_once() {
        let keys = ["a", "b", "c"].map(|name| denied(&format!("/home/ada/.ssh/{name}"), Wanted::Read, Some("keys")));
        assert_eq!(lines(&keys), ["closed /home/ada/.ssh"]);
        let other = denied("/home/ada/.ssh/d", Wanted::Read, Some("another reason"));
        assert_eq!(lines(&[&keys[..], &[other]].concat()), ["closed /home/ada/.ssh", "closed /home/ada/.ssh/d"]);
    }
}
