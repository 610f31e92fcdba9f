//! The directory beside a workspace that holds what a filesystem made of it: its owner's alone, and sealed for every run.

use std::io;
use std::path::{Path, PathBuf};

use belay_sys::{Dir, Root};

const NAME: &str = belay_store::KEPT_BESIDE;

/// Where it is, or would be; nothing is beside the topmost directory.
pub(crate) fn beside(workspace: &Path) -> Option<PathBuf> {
    Some(workspace.parent()?.join(NAME))
}

/// Whether a directory is one of these.
pub(super) fn is_beside(dir: &Path) -> bool {
    dir.file_name().is_some_and(|name| name == NAME)
}

/// Where a copy at a path is after the workspace beside which or in which it lies was moved, if it was moved along.
pub(crate) fn place_after(path: &Path, from: &Path, to: &Path) -> Option<PathBuf> {
    if let Ok(inside) = path.strip_prefix(from) {
        return Some(to.join(inside));
    }
    Some(beside(to)?.join(path.strip_prefix(beside(from)?).ok()?))
}

/// Opens it, made if it is missing.
pub(super) fn open(workspace: &Path) -> io::Result<Dir> {
    let around = Root::open(workspace.parent().ok_or(io::ErrorKind::NotADirectory)?)?.dir_path_only(b"")?;
    match around.make_dir(NAME.as_bytes(), 0o700) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(io::Error::new(
                error.kind(),
                format!("{NAME} cannot be made beside it: {}", belay_sys::plain(&error)),
            ));
        }
        _ => {}
    }
    let dir = around.subdir(NAME.as_bytes())?;
    if dir.stat_self()?.uid != belay_sys::user_id() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{NAME} beside it is somebody else's")));
    }
    dir.set_self_mode(0o700)?;
    Ok(dir)
}

/// Opens the directory that holds what lies at a path, with its name there; none if there is no such directory.
pub(super) fn holder(path: &Path) -> io::Result<Option<(Dir, Vec<u8>)>> {
    use std::os::unix::ffi::OsStrExt;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    match Root::open(parent).and_then(|root| root.dir(b"")) {
        Ok(dir) => Ok(Some((dir, name.as_bytes().to_vec()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes the directory that held what was at a path, if nothing is left in it.
pub(super) fn tidy(path: &Path) {
    if let Some(dir) = path.parent().filter(|dir| is_beside(dir)) {
        // It stays while another snapshot is in it.
        let _ = std::fs::remove_dir(dir);
    }
}
