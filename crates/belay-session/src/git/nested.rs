//! Which commit a repository inside the workspace is at, as the captured tree says; no file outside of it is looked at.

use belay_store::{Entry, Kind, View};

use super::id::{Format, GitId};
use super::lay::join;
use super::refs::name_fault;
use crate::error::Result;

const TEXT_BYTES_MAX: u64 = 1 << 20;
const HOPS_MAX: usize = 5;

/// None if `git` is not the way into a repository; else its commit, if that can be told.
pub(super) fn commit_of(
    view: View<'_>,
    root: &Entry,
    format: Format,
    path: &[u8],
    dir: &Entry,
    git: &Entry,
) -> Result<Option<Option<GitId>>> {
    let place = match &git.kind {
        Kind::Dir { .. } => Some(git.clone()),
        Kind::File { .. } => {
            let text = text(view, dir, b".git")?.unwrap_or_default();
            let Some(target) = text.strip_prefix(b"gitdir:") else { return Ok(None) };
            match beneath(path, target.trim_ascii()) {
                Some(target) => view.lookup(root, &target)?,
                None => return Ok(Some(None)),
            }
        }
        _ => None,
    };
    let Some(place) = place else { return Ok(None) };
    let Some(head) = text(view, &place, b"HEAD")? else { return Ok(None) };
    Ok(Some(follow(view, &place, format, head)?))
}

fn follow(view: View<'_>, place: &Entry, format: Format, mut text_of: Vec<u8>) -> Result<Option<GitId>> {
    for _ in 0..HOPS_MAX {
        let line = text_of.trim_ascii();
        let Some(name) = line.strip_prefix(b"ref:").map(<[u8]>::trim_ascii) else {
            return Ok(GitId::from_hex(format, line));
        };
        let Some(name) = std::str::from_utf8(name).ok().filter(|name| name_fault(name).is_none()) else {
            return Ok(None);
        };
        match text(view, place, name.as_bytes())? {
            Some(next) => text_of = next,
            None => return packed(view, place, format, name),
        }
    }
    Ok(None)
}

fn packed(view: View<'_>, place: &Entry, format: Format, name: &str) -> Result<Option<GitId>> {
    let text = text(view, place, b"packed-refs")?.unwrap_or_default();
    let mut lines = text.split(|byte| *byte == b'\n');
    Ok(lines.find_map(|line| {
        let id = line.trim_ascii_end().strip_suffix(name.as_bytes())?.strip_suffix(b" ")?;
        GitId::from_hex(format, id)
    }))
}

fn text(view: View<'_>, place: &Entry, path: &[u8]) -> Result<Option<Vec<u8>>> {
    match view.lookup(place, path)?.map(|entry| entry.kind) {
        Some(Kind::File { size, content }) if size <= TEXT_BYTES_MAX => Ok(Some(view.bytes(size, &content)?)),
        _ => Ok(None),
    }
}

/// The path beneath the workspace that `target` means from `dir`; none if it leads out, or is absolute.
fn beneath(dir: &[u8], target: &[u8]) -> Option<Vec<u8>> {
    if target.starts_with(b"/") {
        return None;
    }
    let whole = join(dir, target);
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in whole.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()?),
            other => parts.push(other),
        }
    }
    Some(parts.join(&b'/'))
}
