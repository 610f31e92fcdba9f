//! What is done to a workspace between measurements: ten files edited, or half of it removed.
//!
//! The choice depends on the tree alone, so every tool meets the same change.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::census;
use crate::error::{Doing, Result};

/// Files edited at once.
pub(crate) const TEN: usize = 10;
/// Source files are small; a large one would measure its own bytes and not the bookkeeping.
const SIZE_MAX: u64 = 64 * 1024;
/// Depth of the directories that are removed whole.
const REMOVED_DEPTH: usize = 3;

/// Edits files of one workspace.
pub(crate) struct Editor {
    files: Vec<PathBuf>,
    serial: u64,
}

impl Editor {
    /// Lists the files that may be edited in `work`.
    pub(crate) fn of(work: &Path) -> Result<Self> {
        let mut files = Vec::new();
        let git = work.join(".git");
        census::walk(work, &mut |path, meta| {
            let plain = meta.is_file() && meta.nlink() == 1 && (1..=SIZE_MAX).contains(&meta.len());
            if plain && !path.starts_with(&git) {
                files.push(path.to_path_buf());
            }
            Ok(())
        })?;
        Ok(Editor { files, serial: 0 })
    }

    /// Ten files spread over the tree; another turn gives their neighbours.
    pub(crate) fn pick(&self, turn: usize) -> Vec<PathBuf> {
        let count = self.files.len();
        (0..TEN.min(count)).map(|at| self.files[(at * count / TEN + turn) % count].clone()).collect()
    }

    /// Appends a line that was never there before to each of the turn's ten files, and returns their bytes afterwards.
    pub(crate) fn edit(&mut self, turn: usize) -> Result<u64> {
        let mut bytes = 0;
        for path in self.pick(turn) {
            self.serial += 1;
            let mut file = OpenOptions::new().append(true).open(&path).doing("edit", &path)?;
            writeln!(file, "// edit {}", self.serial).doing("edit", &path)?;
            bytes += file.metadata().doing("stat", &path)?.len();
        }
        Ok(bytes)
    }
}

/// Directories, relative to `work`, that together hold about half of its files.
pub(crate) fn half(work: &Path) -> Result<Vec<PathBuf>> {
    let mut counts: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let mut total = 0;
    census::walk(work, &mut |path, meta| {
        let below = path.strip_prefix(work).expect("the walk stays below its root");
        if meta.is_dir() || below.starts_with(".git") {
            return Ok(());
        }
        total += 1;
        let depth = below.components().count();
        if depth > REMOVED_DEPTH {
            let dir: PathBuf = below.components().take(REMOVED_DEPTH).collect();
            *counts.entry(dir).or_default() += 1;
        }
        Ok(())
    })?;
    let mut largest: Vec<_> = counts.into_iter().collect();
    largest.sort_by_key(|(dir, count)| (std::cmp::Reverse(*count), dir.clone()));
    let mut left = total / 2;
    let mut chosen = Vec::new();
    for (dir, count) in largest {
        if count <= left {
            left -= count;
            chosen.push(dir);
        }
    }
    chosen.sort();
    Ok(chosen)
}

/// Removes the directories below `work`, as `rm -rf` does.
pub(crate) fn remove(work: &Path, dirs: &[PathBuf]) -> Result<()> {
    for dir in dirs {
        let path = work.join(dir);
        fs::remove_dir_all(&path).doing("remove", &path)?;
    }
    Ok(())
}

/// Writes a list of directories, one a line.
pub(crate) fn write_dirs(file: &Path, dirs: &[PathBuf]) -> Result<()> {
    let text: String = dirs.iter().map(|dir| format!("{}\n", dir.display())).collect();
    fs::write(file, text).doing("write", file)
}

/// Reads a list of directories, one a line.
pub(crate) fn read_dirs(file: &Path) -> Result<Vec<PathBuf>> {
    let text = fs::read_to_string(file).doing("read", file)?;
    Ok(text.lines().map(PathBuf::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for package in 0..8 {
            let below = dir.path().join(format!("web/modules/p{package}"));
            fs::create_dir_all(&below).expect("mkdir");
            for file in 0..5 {
                fs::write(below.join(format!("f{file}.js")), "x\n").expect("write");
            }
        }
        dir
    }

    #[test]
    fn half_is_half() {
        let dir = tree();
        let dirs = half(dir.path()).expect("half");
        assert_eq!(dirs.len(), 4);
        remove(dir.path(), &dirs).expect("remove");
        assert_eq!(census::usage(dir.path()).expect("usage").files, 20);
    }

    #[test]
    fn an_edit_changes_ten_files_and_each_time_anew() {
        let dir = tree();
        let mut editor = Editor::of(dir.path()).expect("editor");
        let before = census::usage(dir.path()).expect("usage").bytes;
        editor.edit(0).expect("edit");
        let first = fs::read(&editor.pick(0)[0]).expect("read");
        editor.edit(0).expect("edit");
        assert_ne!(first, fs::read(&editor.pick(0)[0]).expect("read"));
        let distinct: std::collections::BTreeSet<_> = editor.pick(3).into_iter().collect();
        assert_eq!(distinct.len(), TEN);
        assert!(census::usage(dir.path()).expect("usage").bytes > before);
    }
}
