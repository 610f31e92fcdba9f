//! An observer of a directory that shares nothing with belay: sizes on disk, content, and whose ctime moved.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Result};

/// What a directory costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Allocated blocks, as `du` counts them.
    pub(crate) on_disk: u64,
    /// Sum of file lengths.
    pub(crate) bytes: u64,
    pub(crate) files: u64,
}

/// Visits every path below `dir` with its metadata, without following links.
pub(crate) fn walk(dir: &Path, visit: &mut dyn FnMut(&Path, &fs::Metadata) -> Result<()>) -> Result<()> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(dir).doing("list", dir)? {
        entries.push(entry.doing("list", dir)?.path());
    }
    entries.sort();
    for path in entries {
        let meta = fs::symlink_metadata(&path).doing("stat", &path)?;
        visit(&path, &meta)?;
        if meta.is_dir() {
            walk(&path, visit)?;
        }
    }
    Ok(())
}

/// Disk usage of everything below `dir`; hard links count once.
pub(crate) fn usage(dir: &Path) -> Result<Usage> {
    let mut usage = Usage::default();
    let mut linked = std::collections::HashSet::new();
    walk(dir, &mut |_, meta| {
        if meta.nlink() > 1 && !meta.is_dir() && !linked.insert(meta.ino()) {
            return Ok(());
        }
        usage.on_disk += meta.blocks() * 512;
        if meta.is_file() {
            usage.bytes += meta.len();
            usage.files += 1;
        }
        Ok(())
    })?;
    Ok(usage)
}

/// One hash over every name, type, mode and byte below `dir`.
pub(crate) fn fingerprint(dir: &Path) -> Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    walk(dir, &mut |path, meta| {
        hasher.update(path.as_os_str().as_bytes());
        hasher.update(&meta.mode().to_le_bytes());
        if meta.is_file() {
            let file = fs::File::open(path).doing("open", path)?;
            hasher.update_reader(file).doing("read", path)?;
        } else if meta.is_symlink() {
            hasher.update(fs::read_link(path).doing("read", path)?.as_os_str().as_bytes());
        }
        Ok(())
    })?;
    Ok(hasher.finalize())
}

/// The ctime of every regular file below `dir`.
pub(crate) fn ctimes(dir: &Path) -> Result<BTreeMap<PathBuf, (i64, i64)>> {
    let mut times = BTreeMap::new();
    walk(dir, &mut |path, meta| {
        if meta.is_file() {
            times.insert(path.to_path_buf(), (meta.ctime(), meta.ctime_nsec()));
        }
        Ok(())
    })?;
    Ok(times)
}

/// Reads everything below `dir`, so that the next reader finds it in memory.
pub(crate) fn warm(dir: &Path) -> Result<()> {
    let mut buffer = vec![0; 256 * 1024];
    walk(dir, &mut |path, meta| {
        if meta.is_file() {
            let file = fs::File::open(path).doing("open", path)?;
            while rustix::io::read(&file, &mut buffer[..]).doing("read", path)? > 0 {}
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_byte_changes_the_fingerprint() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = dir.path().join("a");
        fs::write(&file, "one").expect("write");
        let before = fingerprint(dir.path()).expect("fingerprint");
        assert_eq!(before, fingerprint(dir.path()).expect("fingerprint"));
        fs::write(&file, "two").expect("write");
        assert_ne!(before, fingerprint(dir.path()).expect("fingerprint"));
    }

    #[test]
    fn hard_links_count_once() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::write(dir.path().join("a"), vec![7; 10_000]).expect("write");
        fs::hard_link(dir.path().join("a"), dir.path().join("b")).expect("link");
        let usage = usage(dir.path()).expect("usage");
        assert_eq!((usage.bytes, usage.files), (10_000, 1));
    }
}
