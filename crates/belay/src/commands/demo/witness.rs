//! An independent witness: writes down everything that can be seen of a tree, with the standard library alone.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::ui::escape::printable;

/// What was seen: a line for each path.
#[derive(PartialEq, Eq)]
pub(super) struct Seen {
    /// By path, everything about it.
    pub(super) lines: BTreeMap<Vec<u8>, String>,
}

/// Looks at everything beneath `root`, and at `root` itself.
pub(super) fn walk(root: &Path) -> io::Result<Seen> {
    let mut lines = BTreeMap::new();
    let mut first_names: BTreeMap<(u64, u64), Vec<u8>> = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(path) = waiting.pop() {
        if fs::symlink_metadata(&path)?.is_dir() {
            let mut inside = fs::read_dir(&path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
            inside.sort();
            waiting.extend(inside.into_iter().rev());
        }
        let name = path.strip_prefix(root).unwrap_or(&path).as_os_str().as_bytes().to_vec();
        let line = describe(&path, &name, &mut first_names)?;
        lines.insert(name, line);
    }
    Ok(Seen { lines })
}

fn describe(path: &Path, name: &[u8], first_names: &mut BTreeMap<(u64, u64), Vec<u8>>) -> io::Result<String> {
    let meta = fs::symlink_metadata(path)?;
    let content = if meta.is_file() {
        blake3::hash(&fs::read(path)?).to_string()
    } else if meta.is_symlink() {
        printable(fs::read_link(path)?.as_os_str().as_bytes())
    } else {
        String::new()
    };
    // The first name under which an inode is met stands for its hard-link group.
    let group = first_names.entry((meta.dev(), meta.ino())).or_insert_with(|| name.to_vec());
    let size = if meta.is_dir() { 0 } else { meta.size() };
    Ok(format!(
        "{:o} {}:{} {}.{:09} {size} {content} {}",
        meta.mode(),
        meta.uid(),
        meta.gid(),
        meta.mtime(),
        meta.mtime_nsec(),
        printable(group)
    ))
}

impl Seen {
    /// One hash over everything.
    pub(super) fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (path, line) in &self.lines {
            hasher.update(path).update(b"\0").update(line.as_bytes()).update(b"\n");
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }

    /// The paths that are not as `other` has them.
    pub(super) fn differences(&self, other: &Seen) -> Vec<String> {
        let all = self.lines.keys().chain(other.lines.keys().filter(|path| !self.lines.contains_key(*path)));
        let differing = all.filter(|path| self.lines.get(*path) != other.lines.get(*path));
        let side = |seen: &Seen, path: &[u8]| seen.lines.get(path).cloned().unwrap_or_else(|| "nothing".to_owned());
        differing.map(|path| format!("  {}: {} was {}", printable(path), side(self, path), side(other, path))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_witness_notices_what_matters() {
        let world = tempfile::tempdir().expect("a temporary directory");
        let file = world.path().join("file");
        fs::write(&file, "one").expect("a file");
        let time = fs::metadata(&file).and_then(|meta| meta.modified()).expect("a time");
        let first = walk(world.path()).expect("a walk");
        assert!(first == walk(world.path()).expect("a walk"));

        fs::write(&file, "two").expect("a file");
        fs::File::options().write(true).open(&file).and_then(|open| open.set_modified(time)).expect("a forged time");
        let second = walk(world.path()).expect("a walk");
        assert!(first != second, "an edit of the same size with a forged time was not noticed");
        assert_ne!(first.hash(), second.hash());
        assert_eq!(second.differences(&first).len(), 1);
    }
}
