//! A copy of a tree in memory that looks only where it is told to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Paths with their modes and contents.
pub(crate) struct Mirror {
    root: PathBuf,
    entries: BTreeMap<Vec<u8>, (u32, Vec<u8>)>,
}

impl Mirror {
    /// A copy of everything.
    pub(crate) fn of(root: &Path) -> Mirror {
        let mut mirror = Mirror { root: root.to_path_buf(), entries: BTreeMap::new() };
        mirror.look(Vec::new());
        mirror
    }

    /// Looks again at these paths and at what is beneath them.
    pub(crate) fn refresh(&mut self, paths: &[Vec<u8>]) {
        for path in paths {
            let beneath = |other: &[u8]| {
                path.is_empty()
                    || other.strip_prefix(path.as_slice()).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
            };
            self.entries.retain(|other, _| !beneath(other));
            self.look(path.clone());
        }
    }

    pub(crate) fn paths(&self) -> BTreeSet<String> {
        self.entries.keys().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
    }

    #[track_caller]
    pub(crate) fn assert_equals(&self, other: &Mirror) {
        let differs = |(path, entry): &(&Vec<u8>, &(u32, Vec<u8>)), in_other: &Mirror| {
            in_other.entries.get(*path) != Some(*entry)
        };
        let missed: Vec<_> = other.entries.iter().filter(|found| differs(found, self)).map(|(path, _)| path).collect();
        let stale: Vec<_> = self.entries.iter().filter(|found| differs(found, other)).map(|(path, _)| path).collect();
        let show = |paths: &[&Vec<u8>]| paths.iter().take(5).map(|path| belay_testkit::show(path)).collect::<Vec<_>>();
        assert!(missed.is_empty() && stale.is_empty(), "missed {:?}, stale {:?}", show(&missed), show(&stale));
    }

    fn look(&mut self, path: Vec<u8>) {
        let full = if path.is_empty() { self.root.clone() } else { self.root.join(std::ffi::OsStr::from_bytes(&path)) };
        let Ok(meta) = fs::symlink_metadata(&full) else { return };
        let content = if meta.is_file() { fs::read(&full).unwrap_or_default() } else { Vec::new() };
        if !path.is_empty() {
            self.entries.insert(path.clone(), (meta.mode(), content));
        }
        if !meta.is_dir() {
            return;
        }
        for entry in fs::read_dir(&full).into_iter().flatten().flatten() {
            let name = entry.file_name().into_vec();
            self.look(if path.is_empty() { name } else { [path.as_slice(), &name].join(&b'/') });
        }
    }
}
