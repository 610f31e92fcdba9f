//! Where the repository of a workspace is, proven from both ends.
//!
//! A `.git` that is a directory lies beneath the workspace's handle. One that is a file leads elsewhere, and an agent can
//! write it: it is followed only to a directory that leads back to this very workspace, which only somebody who may
//! write there can have made.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use belay_store::{FileType, Root};

use super::config::{self, Layout};
use super::objects::Objects;
use crate::error::{Error, Result};

/// A file that holds a path or a ref is no longer than this.
const LINE_BYTES_MAX: u64 = 1 << 16;
/// Between a repository and the name of one of its worktrees.
const WORKTREES: &[u8] = b"/worktrees/";

/// A git repository, reached by handles alone.
pub(crate) struct Repository {
    /// What all worktrees share: objects, refs, configuration.
    pub(super) common: Root,
    /// What this worktree has for itself: HEAD and the index.
    pub(super) own: Root,
    pub(crate) objects: Objects,
}

pub(super) fn unusable(why: impl Into<String>) -> Error {
    Error::Repository { why: why.into() }
}

/// What failed about a file of the repository.
pub(super) fn failed(what: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |error| unusable(format!("{what}: {}", belay_sys::plain(error)))
}

impl Repository {
    /// The repository whose top is the workspace; none if there is none.
    pub(crate) fn of(workspace: &Root, path: &Path, alternates: bool) -> Result<Option<Repository>> {
        let top = workspace.dir_path_only(b"").map_err(failed("open the workspace"))?;
        let (own, common) = match top.stat(b".git").map(|stat| stat.file_type) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("look at .git")(error)),
            Ok(FileType::Dir) => {
                let git = workspace.subdir(b".git").map_err(failed("open .git"))?;
                (git.try_clone().map_err(failed("open .git"))?, git)
            }
            Ok(FileType::File) => elsewhere(workspace, path)?,
            Ok(_) => {
                return Err(unusable("its .git is neither a directory nor a file, and belay follows no links there"));
            }
        };
        let has = |root: &Root, name: &[u8]| root.dir_path_only(b"").and_then(|dir| dir.stat(name)).is_ok();
        if !has(&own, b"HEAD") || !has(&common, b"objects") || !has(&common, b"refs") {
            return Ok(None);
        }
        let layout = layout(&common)?;
        let objects = Objects::open(&common, layout.format, alternates)?;
        Ok(Some(Repository { common, own, objects }))
    }

    /// The repository's own ignore rules, which are not shared.
    pub(crate) fn exclude(&self) -> Option<String> {
        let bytes = read_file(&self.common, b"info/exclude", config::BYTES_MAX).ok()??;
        String::from_utf8(bytes).ok()
    }
}

fn layout(common: &Root) -> Result<Layout> {
    let text = read_file(common, b"config", config::BYTES_MAX).map_err(failed("read its config"))?;
    config::layout(&text.unwrap_or_default()).map_err(unusable)
}

/// Where the repository of a linked worktree or a submodule says that it lies, if that is outside; nobody has checked it.
pub(crate) fn said_to_be_outside(workspace: &Root, path: &Path) -> Option<PathBuf> {
    let text = read_file(workspace, b".git", LINE_BYTES_MAX).ok()??;
    let target = text.strip_prefix(b"gitdir:").map(<[u8]>::trim_ascii).filter(|target| !target.is_empty())?;
    // A worktree needs all of the repository that it is of.
    let whole = target.windows(WORKTREES.len()).rposition(|part| part == WORKTREES).map_or(target, |at| &target[..at]);
    let place = joined(path, whole);
    (whole.starts_with(b"../") || !place.starts_with(path)).then_some(place)
}

/// Follows a `.git` that is a file, if what it leads to leads back.
fn elsewhere(workspace: &Root, path: &Path) -> Result<(Root, Root)> {
    let text = read_file(workspace, b".git", LINE_BYTES_MAX).map_err(failed("read .git"))?.unwrap_or_default();
    let target = text.strip_prefix(b"gitdir:").map(<[u8]>::trim_ascii).filter(|target| !target.is_empty());
    let target = joined(path, target.ok_or_else(|| unusable("its .git is a file that names no directory"))?);
    let own = Root::open(&target).map_err(failed("open the directory that .git names"))?;
    let astray = || {
        let shown = target.display().to_string().escape_debug().to_string();
        unusable(format!("its .git leads to {shown}, which does not lead back here"))
    };
    let line =
        |name: &[u8]| read_file(&own, name, LINE_BYTES_MAX).map_err(failed("read the directory that .git names"));
    let Some(common) = line(b"commondir")? else {
        // A submodule: its configuration names the files it belongs to.
        let worktree = layout(&own)?.worktree.ok_or_else(astray)?;
        let back = Root::open(&joined(&target, &worktree)).map_err(|_| astray())?;
        let common = own.try_clone().map_err(failed("open the directory that .git names"))?;
        return if same(&back, workspace) { Ok((own, common)) } else { Err(astray()) };
    };
    let back = joined(&target, line(b"gitdir")?.unwrap_or_default().trim_ascii());
    let leads_back = back.file_name() == Some(OsStr::new(".git"))
        && back.parent().and_then(|dir| Root::open(dir).ok()).is_some_and(|dir| same(&dir, workspace));
    let common = Root::open(&joined(&target, common.trim_ascii())).map_err(|_| astray())?;
    let name = target.file_name().map(|name| [b"worktrees/", name.as_bytes()].concat()).unwrap_or_default();
    let is_known = common.subdir(&name).is_ok_and(|known| same(&known, &own));
    if leads_back && is_known { Ok((own, common)) } else { Err(astray()) }
}

fn joined(base: &Path, text: &[u8]) -> PathBuf {
    base.join(OsStr::from_bytes(text))
}

fn same(one: &Root, other: &Root) -> bool {
    let who = |root: &Root| root.dir_path_only(b"").and_then(|dir| dir.stat_self()).map(|stat| (stat.dev, stat.ino));
    matches!((who(one), who(other)), (Ok(one), Ok(other)) if one == other)
}

/// All bytes of a file beneath the root; none if it is not there. Anything but a plain file of a sane size is an error.
pub(super) fn read_file(root: &Root, path: &[u8], max: u64) -> io::Result<Option<Vec<u8>>> {
    let (dir, name) = match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&b""[..], path),
    };
    let open = || {
        let dir = root.dir_path_only(dir)?;
        // A pipe is not opened: its other end would notice.
        match dir.stat(name)?.file_type {
            FileType::File => dir.open_read(name),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
        }
    };
    let mut bytes = Vec::new();
    match open() {
        Err(error) if is_absent(&error) => return Ok(None),
        opened => opened?.take(max + 1).read_to_end(&mut bytes)?,
    };
    if bytes.len() as u64 > max {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is too large"));
    }
    Ok(Some(bytes))
}

/// Whether nothing of that name is there, or something above it is no directory.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
