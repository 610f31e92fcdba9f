//! Writes a snapshot, or a part of it, somewhere else: a restore into a directory in which nothing is.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

use belay_sys::{FileLock, LockKind, Root, try_lock_file};

use super::{Applied, ApplyOptions, MtimePolicy, apply, check_prefix, plan, remove_tree};
use crate::diff::Scope;
use crate::error::{Error, Result};
use crate::manifest::{Links, Manifest};
use crate::objects::Store;
use crate::tree::{Entry, Kind, Meta, Node, View};

/// Writes a snapshot, or a part of it, into an empty directory, with the times that everything had.
///
/// The directory is locked meanwhile, so one that holds nothing but temporary files and is not locked was left by somebody who
/// was killed: it is empty. What the snapshot saw and could not capture is in [`Applied::left`].
pub fn extract(
    store: &Store,
    manifest: &Manifest,
    scope: &Scope,
    to: &Path,
    options: &ApplyOptions<'_>,
) -> Result<Applied> {
    check_prefix(options.prefix)?;
    let failed = Error::disk("extract to", to.display().to_string());
    let (root, made, meta, _lock) = prepare(to, options.prefix).map_err(failed)?;
    let written = write(store, manifest, scope, &root, meta, options);
    if written.is_err() && made {
        // If something was left in it, it stays.
        let _ = fs::remove_dir(to);
    }
    written
}

fn write(
    store: &Store,
    manifest: &Manifest,
    scope: &Scope,
    root: &Root,
    meta: Meta,
    options: &ApplyOptions<'_>,
) -> Result<Applied> {
    let nothing = Node::default();
    let (node, identity) = (store.algorithm().hash(&nothing.encode()), nothing.identity(store.algorithm()));
    let empty = Entry { name: Vec::new(), meta, kind: Kind::Dir { node, identity, files: 0, bytes: 0 } };
    let now = Manifest { root: empty, ..manifest.clone() };
    let nodes = HashMap::from([(node, Arc::new(nothing))]);
    let view = View::with_unwritten(store, &nodes);
    let plan = plan(view, &now, &Links::default(), manifest, scope, belay_sys::is_root())?;
    let options = ApplyOptions { mtime: MtimePolicy::Exact, ..*options };
    let mut applied = apply(store, root, &plan, &options)?;
    applied.left.extend(plan.left);
    Ok(applied)
}

/// Opens the directory, which is empty then, and says whether it was made and what it is like; others keep away as long as
/// the lock is held.
fn prepare(path: &Path, prefix: &[u8]) -> io::Result<(Root, bool, Meta, Option<FileLock>)> {
    let (root, made) = open_or_make(path)?;
    let lock = lock_dir(&root)?;
    clear(&root, prefix, lock.is_some())?;
    let meta = meta_of(&root)?;
    Ok((root, made, meta, lock))
}

/// Opens the directory, and makes it if it does not exist; says whether it was made.
fn open_or_make(path: &Path) -> io::Result<(Root, bool)> {
    let made = match fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).and_then(|()| fs::create_dir(path)) {
        Ok(()) => true,
        Err(_) if path.is_dir() => false,
        Err(error) => return Err(error),
    };
    Ok((Root::open(path)?, made))
}

/// Keeps others from writing into the directory at the same time; none on a disk that has no locks.
fn lock_dir(root: &Root) -> io::Result<Option<FileLock>> {
    let dir = File::from(root.dir(b"")?.as_fd().try_clone_to_owned()?);
    match try_lock_file(dir, LockKind::Exclusive) {
        Ok(Ok(lock)) => Ok(Some(lock)),
        Ok(Err(_)) => Err(io::ErrorKind::ResourceBusy.into()),
        Err(_) => Ok(None),
    }
}

/// Removes what somebody left who was killed before the first name was in its place; anything else is in the way.
fn clear(root: &Root, prefix: &[u8], is_locked: bool) -> io::Result<()> {
    let mut names: Vec<Vec<u8>> = Vec::new();
    root.dir(b"")?.list(&mut Vec::new(), &mut |name, _, _| names.push(name.to_vec()))?;
    let is_left = |name: &Vec<u8>| is_locked && name.starts_with(prefix);
    if !names.iter().all(is_left) {
        return Err(io::ErrorKind::DirectoryNotEmpty.into());
    }
    names.iter().try_for_each(|name| remove_tree(root, name))
}

/// What the directory is like.
fn meta_of(root: &Root) -> io::Result<Meta> {
    let dir = root.dir(b"")?;
    let stat = dir.stat_self()?;
    let xattrs = dir.self_xattrs();
    Ok(Meta {
        mode: stat.mode as u16,
        uid: stat.uid,
        gid: stat.gid,
        mtime: stat.mtime,
        immutable: stat.immutable,
        append_only: stat.append_only,
        xattrs_unread: xattrs.is_err(),
        xattrs: xattrs.unwrap_or_default(),
    })
}
