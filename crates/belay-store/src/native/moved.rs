//! Copies that lie outside the store's disk and were moved, as when a directory above a workspace got another name.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{COPIES, CopyPlace, KEPT, NativeCopy, VOID, read_record, write};
use crate::disk::{Disk, LockMode};
use crate::error::{Error, Result};
use crate::objects::{LOCK, Store};

/// Held by whoever changes a record of a copy: there is one name for what is being written.
const MOVED_LOCK: &str = "store/moved.lock";

impl Store {
    /// Writes down where copies are now that are not where they were; returns how many that is.
    ///
    /// `now` says where one would be that was at a path. What is not there either is left as it is recorded.
    pub fn relocate_copies(&self, now: &dyn Fn(&Path) -> Option<PathBuf>) -> Result<usize> {
        let disk = self.disk();
        let moved = moved(disk.as_ref(), now)?;
        if moved.is_empty() {
            return Ok(0);
        }
        // Nobody removes records meanwhile.
        let lock = |name, mode| disk.lock(name, mode, true).map_err(Error::disk("lock", name));
        let (_store, _own) = (lock(LOCK, LockMode::Shared)?, lock(MOVED_LOCK, LockMode::Exclusive)?);
        let moved = self::moved(disk.as_ref(), now)?;
        for (copy, ending) in &moved {
            let (temporary, name) =
                (format!("{COPIES}/{}.moved.tmp", copy.id), format!("{COPIES}/{}{ending}", copy.id));
            match disk.remove(&temporary) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::disk("remove", &temporary)(error));
                }
                _ => write(disk.as_ref(), &temporary, &copy.encode())?,
            }
            disk.rename(&temporary, &name).map_err(Error::disk("rename", &temporary))?;
        }
        disk.sync_dir(COPIES).map_err(Error::disk("sync", COPIES))?;
        self.reload()?;
        Ok(moved.len())
    }
}

/// The records that are to be, each with the ending of its name.
fn moved(disk: &dyn Disk, now: &dyn Fn(&Path) -> Option<PathBuf>) -> Result<Vec<(NativeCopy, &'static str)>> {
    let mut moved = Vec::new();
    for (name, _) in disk.list(COPIES).map_err(Error::disk("list", COPIES))? {
        let of = |ending: &'static str| Some((name.strip_suffix(ending)?, ending));
        let Some((id, ending)) = of(KEPT).or_else(|| of(VOID)) else { continue };
        // What is damaged, or went meanwhile, is gc's business and `verify`'s.
        let Ok(copy) = read_record(disk, id, ending) else { continue };
        let CopyPlace::Outside(path) = &copy.place else { continue };
        let Some(to) = now(path).filter(|to| to != path && !is_there(path) && is_there(to)) else { continue };
        let is_path = copy.reference.as_bytes() == path.as_os_str().as_bytes();
        let reference = if is_path { to.display().to_string() } else { copy.reference.clone() };
        moved.push((NativeCopy { place: CopyPlace::Outside(to), reference, ..copy }, ending));
    }
    Ok(moved)
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
