//! Refs as files and as lines of `packed-refs`; belay writes none but its own, and never replaces one.

use std::collections::BTreeMap;
use std::io::{self, Write};

use belay_sys::Dir;

use super::id::GitId;
use super::place::{Repository, failed, is_absent, read_file, unusable};
use crate::error::{Error, Result};

/// Where named snapshots are.
pub const SNAPSHOT_REFS: &str = "refs/sandbox/snapshots/";

const LOOSE_BYTES_MAX: u64 = 4096;
const PACKED_BYTES_MAX: u64 = 1 << 28;
/// Git follows no more.
const HOPS_MAX: usize = 5;

/// Why git would not take the name for a ref.
pub(crate) fn name_fault(name: &str) -> Option<&'static str> {
    let bad = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    if name.contains("..") || name.contains("@{") || name.chars().any(bad) {
        Some("git allows no .. and none of ~ ^ : ? * [ \\ or spaces in it")
    } else if name.ends_with('.') || name.split('/').any(|part| part.ends_with(".lock")) {
        Some("git allows none that ends in a dot or in .lock")
    } else if name.split('/').any(|part| part.is_empty() || part.starts_with('.')) {
        Some("a part of it is empty or begins with a dot")
    } else {
        None
    }
}

/// Why belay gives no such name to a ref of its own.
fn own_name_fault(name: &str) -> Option<&'static str> {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let begins = name.as_bytes().first().is_some_and(|first| word(*first));
    match begins && name.bytes().all(|byte| word(byte) || b".-".contains(&byte)) {
        true => name_fault(name),
        false => Some("it must match [A-Za-z0-9_][A-Za-z0-9_.-]*"),
    }
}

impl Repository {
    /// What a ref points to; `HEAD` is this worktree's.
    pub(crate) fn find_ref(&self, name: &str) -> Result<Option<GitId>> {
        let mut name = name.to_owned();
        for _ in 0..HOPS_MAX {
            if name != "HEAD" && (!name.starts_with("refs/") || name_fault(&name).is_some()) {
                return Ok(None);
            }
            let root = if name == "HEAD" { &self.own } else { &self.common };
            let text = match read_file(root, name.as_bytes(), LOOSE_BYTES_MAX) {
                // A directory of that name holds other refs.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => None,
                other => other.map_err(failed("read a ref"))?,
            };
            let Some(text) = text else { return Ok(self.packed()?.remove(&name)) };
            let text = text.trim_ascii();
            match text.strip_prefix(b"ref:") {
                Some(next) => name = String::from_utf8_lossy(next.trim_ascii()).into_owned(),
                None => return Ok(GitId::from_hex(self.objects.format(), text)),
            }
        }
        Ok(None)
    }

    /// Every named snapshot.
    pub(crate) fn snapshot_refs(&self) -> Result<BTreeMap<String, GitId>> {
        let mut found = BTreeMap::new();
        for (name, id) in self.packed()? {
            if let Some(short) = name.strip_prefix(SNAPSHOT_REFS).filter(|short| !short.contains('/')) {
                found.insert(short.to_owned(), id);
            }
        }
        let dir = match self.common.dir(SNAPSHOT_REFS.trim_end_matches('/').as_bytes()) {
            Err(error) if is_absent(&error) => return Ok(found),
            other => other.map_err(failed("list the refs"))?,
        };
        let mut names = Vec::new();
        dir.list(&mut Vec::new(), &mut |name, _, _| names.push(name.to_vec())).map_err(failed("list the refs"))?;
        for name in names.into_iter().filter_map(|name| String::from_utf8(name).ok()) {
            if let Some(id) = self.find_ref(&format!("{SNAPSHOT_REFS}{name}"))? {
                found.insert(name, id);
            }
        }
        Ok(found)
    }

    fn packed(&self) -> Result<BTreeMap<String, GitId>> {
        let text = read_file(&self.common, b"packed-refs", PACKED_BYTES_MAX).map_err(failed("read packed-refs"))?;
        let format = self.objects.format();
        let line = |line: &[u8]| {
            let space = line.iter().position(|byte| *byte == b' ')?;
            let name = std::str::from_utf8(line[space + 1..].trim_ascii_end()).ok()?;
            Some((name.to_owned(), GitId::from_hex(format, &line[..space])?))
        };
        Ok(text.unwrap_or_default().split(|byte| *byte == b'\n').filter_map(line).collect())
    }

    /// Makes a ref under `refs/sandbox/snapshots/`, which must not exist.
    pub(crate) fn create_ref(&self, short: &str, id: &GitId) -> Result<()> {
        let full = self.check_free(short)?;
        let dir = self.snapshot_dir()?;
        let lock = format!("{short}.lock");
        let mut file = dir.create_new(lock.as_bytes(), 0o666).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                unusable(format!("{full} is locked: another process writes it, or died writing it ({full}.lock)"))
            }
            _ => failed("write a ref")(error),
        })?;
        let mut place = || -> Result<()> {
            // Whoever had the lock before us may have made it.
            self.check_free(short)?;
            let write = file.write_all(format!("{id}\n").as_bytes()).and_then(|()| file.sync_all());
            write.and_then(|()| self.objects.own_file(&file)).map_err(failed("write a ref"))?;
            // Git leaves empty directories behind when it packs refs.
            let _ = dir.remove_dir(short.as_bytes());
            let (lock, name) = (lock.as_bytes(), short.as_bytes());
            let renamed = dir.rename_new(lock, &dir, name).or_else(|error| match error.kind() {
                // The lock alone protects it where the file system cannot refuse to replace.
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported => dir.rename(lock, &dir, name),
                _ => Err(error),
            });
            renamed.map_err(failed("write a ref"))?;
            dir.sync().map_err(failed("write a ref"))
        };
        let placed = place();
        if placed.is_err() {
            // If it cannot be removed either, the next attempt names it.
            let _ = dir.remove_file(lock.as_bytes());
        }
        placed
    }

    /// Refuses a name that another ref has, or that another ref's name has in it; returns the full one.
    pub(crate) fn check_free(&self, short: &str) -> Result<String> {
        if let Some(reason) = own_name_fault(short) {
            return Err(Error::BadRefName { name: short.to_owned(), reason });
        }
        let full = format!("{SNAPSHOT_REFS}{short}");
        if self.find_ref(&full)?.is_some() {
            return Err(Error::RefExists(full));
        }
        let above = ["refs/sandbox", "refs/sandbox/snapshots"];
        let beneath = format!("{full}/");
        match self.packed()?.into_keys().find(|name| above.contains(&name.as_str()) || name.starts_with(&beneath)) {
            Some(other) => Err(unusable(format!("{full} cannot be beside {other}"))),
            None => Ok(full),
        }
    }

    fn snapshot_dir(&self) -> Result<Dir> {
        let mut path = b"refs".to_vec();
        for name in [&b"sandbox"[..], b"snapshots"] {
            let dir = self.common.dir(&path).map_err(failed("open the refs"))?;
            self.objects.make_dir(&dir, name).map_err(failed("make a directory for refs"))?;
            path = [&path, &b"/"[..], name].concat();
        }
        self.common.dir(&path).map_err(failed("open the refs"))
    }
}

#[cfg(test)]
mod tests {
    use super::{name_fault, own_name_fault};

    #[test]
    fn names_that_git_refuses_are_refused() {
        for bad in ["a..b", "x.lock", "x.", "a/.b", "", "a b", "a\u{7f}", "a@{1}", "a~1", "a.lock/b"] {
            assert!(name_fault(bad).is_some(), "{bad:?}");
        }
        for good in ["s1", "a.b-c_d", "refs/heads/main", "@"] {
            assert!(name_fault(good).is_none(), "{good:?}");
        }
        assert!(own_name_fault("a/b").is_some() && own_name_fault("-x").is_some() && own_name_fault("é").is_some());
        assert!(own_name_fault("before.refactor-2").is_none());
    }
}
