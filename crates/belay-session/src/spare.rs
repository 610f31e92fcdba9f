//! A timeline once more, so that what it lost does not look like what was never written, and can be brought back. It lies in
//! another directory than the timeline, which may be lost with all that is in it.
//!
//! Records go to the spare after they are durable in the timeline, and nobody waits for the disk. It is removed for
//! good before a timeline is written anew. So what a spare holds is how its timeline begins, unless that was damaged.

use std::io::ErrorKind;

use belay_store::Disk;

use crate::error::{Error, Result};
use crate::log::Log;

/// The directory of all spares; each is named as its workspace.
pub(crate) const DIRECTORY: &str = "spares";

/// Where the records of a timeline are once more.
fn file_of(name: &str) -> String {
    match name.strip_prefix("workspaces/").and_then(|name| name.strip_suffix("/timeline")) {
        Some(id) => format!("{DIRECTORY}/{id}"),
        None => beside(name),
    }
}

/// Where an earlier belay put them.
fn beside(name: &str) -> String {
    format!("{name}.spare")
}

fn read(disk: &dyn Disk, name: &str) -> Option<Vec<u8>> {
    disk.read(&file_of(name)).or_else(|_| disk.read(&beside(name))).ok()
}

/// A timeline's log beside what its spare says of it.
#[derive(Clone, Debug)]
pub(crate) struct Spared {
    pub(crate) log: Log,
    /// How many bytes of the log the spare is known to have.
    pub(crate) len: u64,
    /// The spare, if it has records that the log lacks.
    pub(crate) more: Option<Log>,
}

impl Spared {
    /// Reads the log of that name and its spare.
    pub(crate) fn read(disk: &dyn Disk, name: &str) -> Result<Spared> {
        loop {
            // The spare before the log: what is published in between makes the log longer.
            let spare = read(disk, name);
            let log = Log::read(disk, name)?;
            let (len, more) = match &spare {
                Some(bytes) if log.begins_with(bytes) => (bytes.len() as u64, None),
                // One that is not whole, since nobody waited for it, is written anew with the next record.
                Some(bytes) => (0, Log::whole(bytes).filter(|spare| log.lacks(spare))),
                None => (0, None),
            };
            // The log may have been written anew in between; then its spare was removed or is another.
            if more.is_none() || read(disk, name) == spare {
                return Ok(Spared { log, len, more });
            }
        }
    }
}

/// Writes to the spare, under the lock that covers the log, what it lacks behind its first `len` bytes; returns how many it has.
///
/// Nothing waits for the disk: a spare that a power cut took back, or that could not be written, only says less.
pub(crate) fn write(disk: &dyn Disk, name: &str, log: &Log, len: u64) -> u64 {
    let written = disk.append(&file_of(name), len).and_then(|mut file| file.write(log.since(len)));
    if written.is_ok() && len == 0 && beside(name) != file_of(name) {
        let _ = disk.remove(&beside(name));
    }
    if written.is_ok() { log.len() } else { 0 }
}

/// Writes the spare of a sound log anew, under the lock that covers it, if it was lost.
pub(crate) fn renew(disk: &dyn Disk, name: &str) -> Result<()> {
    let Spared { log, len, more } = Spared::read(disk, name)?;
    if more.is_none() && len < log.len() && log.broken.is_empty() {
        write(disk, name, &log, 0);
    }
    Ok(())
}

/// Removes the spare, durably, before the log is written anew.
pub(crate) fn remove(disk: &dyn Disk, name: &str) -> Result<()> {
    for file in [file_of(name), beside(name)] {
        match disk.remove(&file) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
            removed => removed.map_err(Error::disk("remove", &file))?,
        }
        let dir = file.rsplit_once('/').map_or("", |(dir, _)| dir);
        disk.sync_dir(dir).map_err(Error::disk("sync", dir))?;
    }
    Ok(())
}
