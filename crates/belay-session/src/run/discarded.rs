//! What a confined command wrote to its private home and temporary directories, all of which ends with its jail.
//!
//! Invariants: the handles are opened while the command is held, so nothing that happens later in the jail leads
//! elsewhere; only files with content that are still there at the end and were not given to it count; a look is bounded.

use std::collections::{BTreeMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use belay_event::Raw;
use belay_sys::{FileType, Root};
use serde::{Deserialize, Serialize};

/// Entries of one directory that are looked at; more are the work of a toolchain and not of somebody who wants them.
const LOOKED_MAX: usize = 50_000;
/// Paths that are named.
const NAMED_MAX: usize = 8;
/// Paths of a temporary directory that are named; of more there is a number.
const TEMPORARY_MAX: usize = 3;

/// What programs keep in a home for themselves and make again.
const MADE_AGAIN: [&str; 19] = [
    ".bun",
    ".cache",
    ".cargo",
    ".conda",
    ".dotnet",
    ".gradle",
    ".ivy2",
    ".java",
    ".local/share/pnpm",
    ".local/share/uv",
    ".local/share/virtualenv",
    ".local/state",
    ".m2",
    ".node-gyp",
    ".npm",
    ".nuget",
    ".rustup",
    ".yarn",
    "go/pkg",
];
/// How the names begin that programs give to what they leave in a temporary directory.
const LEFTOVERS: [&str; 16] = [
    ".",
    "cargo-",
    "ccache",
    "go-build",
    "go-link",
    "hsperfdata_",
    "jest",
    "node-",
    "npm-",
    "pip-",
    "pytest-of-",
    "rustc",
    "tmp.",
    "uv-",
    "v8-",
    "yarn-",
];
/// How the names of files end that nobody wants to have back.
const PASSING: [&str; 11] = [
    ".lock",
    ".pid",
    ".sock",
    ".viminfo",
    ".lesshst",
    ".wget-hsts",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".sqlite_history",
];

/// What was written outside of the workspace and ended with the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discarded {
    /// How many files there were.
    pub files: u64,
    /// Where; only the first.
    pub paths: Vec<DiscardedPath>,
}

/// A file, or a directory with several of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscardedPath {
    /// Its path, as the command saw it.
    pub path: Raw,
    /// How many files are meant.
    pub files: u64,
}

/// The private directories of a jail.
#[derive(Default)]
pub(super) struct Private {
    places: Vec<Place>,
}

struct Place {
    path: PathBuf,
    root: Root,
    is_home: bool,
    /// What the jail gave it.
    given: HashSet<Vec<u8>>,
}

impl Private {
    /// Those of a command that is held.
    pub(super) fn of(directories: Vec<(PathBuf, Root)>, home: &Path) -> Private {
        let place = |(path, root): (PathBuf, Root)| {
            let given = files_in(&root).into_iter().collect();
            Place { is_home: path == home, path, root, given }
        };
        let mut places: Vec<Place> = directories.into_iter().map(place).collect();
        // What is in a home is meant to stay more often.
        places.sort_by_key(|place| !place.is_home);
        Private { places }
    }

    /// What is in them that was not there before; they are gone afterwards.
    pub(super) fn end(self) -> Option<Discarded> {
        let mut all = Discarded::default();
        for place in self.places {
            let files = files_in(&place.root).into_iter().filter(|path| !place.given.contains(path));
            let files: Vec<Vec<u8>> = files.filter(|path| !is_noise(path, place.is_home)).collect();
            all.files += files.len() as u64;
            all.paths.extend(place.named(&files));
        }
        all.paths.truncate(NAMED_MAX);
        (all.files > 0).then_some(all)
    }
}

impl Place {
    /// The files, those of one directory taken together.
    fn named(&self, files: &[Vec<u8>]) -> Vec<DiscardedPath> {
        let mut groups: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
        for file in files {
            let first = file.split(|byte| *byte == b'/').next().unwrap_or_default();
            groups.entry(first).or_default().push(file);
        }
        let at = |path: &[u8]| Raw::from(self.path.join(std::ffi::OsStr::from_bytes(path)).as_os_str().as_bytes());
        if !self.is_home && groups.len() > TEMPORARY_MAX {
            return vec![DiscardedPath {
                path: Raw::from(self.path.as_os_str().as_bytes()),
                files: files.len() as u64,
            }];
        }
        let named = groups.into_iter().map(|(first, files)| match files[..] {
            [only] => DiscardedPath { path: at(only), files: 1 },
            _ => DiscardedPath { path: at(first), files: files.len() as u64 },
        });
        named.collect()
    }
}

/// The files with content, as far as they are looked at; other filesystems that are mounted in it are not.
fn files_in(root: &Root) -> Vec<Vec<u8>> {
    let (mut files, mut waiting, mut buffer, mut looked) = (Vec::new(), vec![Vec::new()], Vec::new(), 0);
    while let Some(path) = waiting.pop().filter(|_| looked < LOOKED_MAX) {
        // What cannot be listed is left alone.
        let Ok(dir) = root.dir(&path) else { continue };
        let _ = dir.list(&mut buffer, &mut |name, kind, _| {
            looked += 1;
            let path = if path.is_empty() { name.to_vec() } else { [&path[..], name].join(&b'/') };
            match kind {
                FileType::Dir => waiting.push(path),
                FileType::File if dir.stat(name).is_ok_and(|found| found.size > 0) => files.push(path),
                _ => {}
            }
        });
    }
    files
}

/// Whether programs leave that behind by themselves.
fn is_noise(path: &[u8], is_home: bool) -> bool {
    let is_beneath = |known: &&str| {
        path.strip_prefix(known.as_bytes()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    };
    let is_leftover = |known: &&str| path.starts_with(known.as_bytes());
    let by_place = if is_home {
        MADE_AGAIN.iter().any(is_beneath)
    } else {
        is_temporary(path) || LEFTOVERS.iter().any(is_leftover)
    };
    by_place || PASSING.iter().any(|end| path.ends_with(end.as_bytes()))
}

/// Whether it is called as Python and the C library call what nobody gave a name: `tmp` and eight characters.
fn is_temporary(path: &[u8]) -> bool {
    let first = path.split(|byte| *byte == b'/').next().unwrap_or_default();
    let rest = first.strip_prefix(b"tmp").unwrap_or_default();
    rest.len() >= 6 && rest.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_toolchain_leaves_is_noise_and_what_somebody_named_is_not() {
        for noise in [".cache/pip/x", ".npm/_logs/1.log", "go/pkg/mod/m", ".bash_history", ".lesshst", "a/b.lock"] {
            assert!(is_noise(noise.as_bytes(), true), "{noise}");
        }
        for kept in
            ["notes.txt", "sales_history", ".bashrc", "go/src/main.go", ".config/tool/settings", "Documents/a.md"]
        {
            assert!(!is_noise(kept.as_bytes(), true), "{kept}");
        }
        for noise in ["tmp.Xy12/a", "tmpa1b2c3d4", "npm-12/x", ".X11-unix/X0", "rustcAbC/lib.rmeta"] {
            assert!(is_noise(noise.as_bytes(), false), "{noise}");
        }
        for kept in ["report.txt", "tmp/a", "out/index.html"] {
            assert!(!is_noise(kept.as_bytes(), false), "{kept}");
        }
    }

    #[test]
    fn files_of_one_directory_are_taken_together_and_many_temporary_ones_are_counted() {
        let at = tempfile::tempdir().unwrap();
        let files = |names: &[&str]| names.iter().map(|name| name.as_bytes().to_vec()).collect::<Vec<_>>();
        let place = |is_home| {
            let root = Root::open(at.path()).unwrap();
            Place { path: "/p".into(), root, is_home, given: HashSet::new() }
        };
        let named = |is_home, names: &[&str]| {
            let named = place(is_home).named(&files(names));
            named
                .into_iter()
                .map(|one| (String::from_utf8_lossy(one.path.bytes()).into_owned(), one.files))
                .collect::<Vec<_>>()
        };
        let one = |path: &str, files| (path.to_owned(), files);
        assert_eq!(named(true, &["d/a", "d/b", "e/f/g", "x"]), [one("/p/d", 2), one("/p/e/f/g", 1), one("/p/x", 1)]);
        assert_eq!(named(false, &["a", "b", "c", "d"]), [one("/p", 4)]);
        assert_eq!(named(false, &["a", "b"]), [one("/p/a", 1), one("/p/b", 1)]);
    }
}
