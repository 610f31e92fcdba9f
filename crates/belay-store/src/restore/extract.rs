//! Writes a snapshot, or a part of it, somewhere else: a restore into a directory in which nothing is.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use belay_sys::Root;

use super::{Applied, ApplyOptions, MtimePolicy, apply, plan};
use crate::diff::Scope;
use crate::error::{Error, Result};
use crate::manifest::{Links, Manifest};
use crate::objects::Store;
use crate::tree::{Entry, Kind, Meta, Node, View};

/// Writes a snapshot, or a part of it, into an empty directory, with the times that everything had.
///
/// What the snapshot saw and could not capture is in [`Applied::left`].
pub fn extract(
    store: &Store,
    manifest: &Manifest,
    scope: &Scope,
    to: &Path,
    options: &ApplyOptions<'_>,
) -> Result<Applied> {
    let failed = Error::disk("extract to", to.display().to_string());
    let (root, made, meta) = match open_empty(to) {
        Ok(opened) => opened,
        Err(error) => return Err(failed(error)),
    };
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

/// Opens the directory, which must be empty or not exist; says whether it was made, and what it is like.
fn open_empty(path: &Path) -> io::Result<(Root, bool, Meta)> {
    let made = match fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).and_then(|()| fs::create_dir(path)) {
        Ok(()) => true,
        Err(_) if path.is_dir() => false,
        Err(error) => return Err(error),
    };
    let root = Root::open(path)?;
    let dir = root.dir(b"")?;
    let mut names = 0;
    dir.list(&mut Vec::new(), &mut |_, _, _| names += 1)?;
    if names > 0 {
        return Err(io::ErrorKind::DirectoryNotEmpty.into());
    }
    let stat = dir.stat_self()?;
    let xattrs = dir.self_xattrs();
    let meta = Meta {
        mode: stat.mode as u16,
        uid: stat.uid,
        gid: stat.gid,
        mtime: stat.mtime,
        immutable: stat.immutable,
        append_only: stat.append_only,
        xattrs_unread: xattrs.is_err(),
        xattrs: xattrs.unwrap_or_default(),
    };
    Ok((root, made, meta))
}
