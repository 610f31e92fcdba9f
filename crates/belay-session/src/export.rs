//! Out of the store: a snapshot as an archive that plain `tar` unpacks.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use belay_store::Manifest;
use rustix::fs::{AtFlags, CWD, OFlags};

use crate::archive::{self, Packing};
use crate::error::{Error, Result};
use crate::record::Snapshot;
use crate::workspace::{Work, Workspace};

/// What a file is called that is not whole yet.
const PREFIX: &str = ".belay-export-";
/// Where the kernel shows a process its open files, by which one without a name is given one.
const OWN_FILES: &str = "/proc/self/fd";

/// An archive that was written.
#[derive(Clone, Debug)]
pub struct Exported {
    /// Entries in it.
    pub entries: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

impl Workspace<'_> {
    /// Writes a snapshot as an archive: whole under its name, or not at all. It is readable by its owner alone.
    pub fn export(
        &self,
        snapshot: &Snapshot,
        to: &Path,
        packing: Packing,
        overwrite: bool,
        work: Work<'_>,
    ) -> Result<Exported> {
        self.home.check_outside(to)?;
        if !overwrite && to.symlink_metadata().is_ok() {
            return Err(Error::Exists(to.to_path_buf()));
        }
        let draft = Draft::begin(to, &self.home.options.ids.next("", 10)).map_err(Error::path("write", to))?;
        let exported = self.write_archive(snapshot, to, &draft.file, packing, work)?;
        match draft.publish(to, overwrite) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Error::Exists(to.to_path_buf())),
            published => published.map(|()| exported).map_err(Error::path("write", to)),
        }
    }

    /// Writes a snapshot into an empty file that will be called `to`, durably.
    fn write_archive(
        &self,
        snapshot: &Snapshot,
        to: &Path,
        file: &File,
        packing: Packing,
        work: Work<'_>,
    ) -> Result<Exported> {
        let store = self.home.store();
        let damaged = |source| Error::Damaged { snapshot: snapshot.id.clone(), source };
        let manifest = Manifest::read(store, &snapshot.manifest).map_err(damaged)?;
        work.progress.expect(manifest.counts.files, manifest.counts.bytes);
        let failed = |error: io::Error| Error::path("write", to)(error);
        let entries = packing.pack(file, |out| archive::write(store, &manifest, out, work).map_err(Failed));
        let entries = entries.map_err(|Failed(error)| match error {
            Error::Output(error) => failed(error),
            Error::Store(error @ (belay_store::Error::Corrupt { .. } | belay_store::Error::Missing(_))) => {
                damaged(error)
            }
            other => other,
        })?;
        file.sync_all().map_err(failed)?;
        Ok(Exported { entries, bytes: file.metadata().map_err(failed)?.len() })
    }
}

/// A failure of the archive or of the disk below it.
struct Failed(Error);

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Failed {
        Failed(Error::Output(error))
    }
}

/// A file that has no name until it is whole, so that whoever is killed leaves nothing behind.
struct Draft {
    file: File,
    /// What it is called until it is published, if it has to be: on some disks every file has a name.
    name: PathBuf,
    is_named: bool,
}

impl Draft {
    fn begin(to: &Path, id: &str) -> io::Result<Draft> {
        let name = to.with_file_name(format!("{PREFIX}{id}"));
        let dir = to.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        remove_abandoned(dir);
        let unnamed = OFlags::TMPFILE.bits() as i32;
        let file = OpenOptions::new().write(true).custom_flags(unnamed).mode(0o600).open(dir);
        let file = file.ok().filter(|_| Path::new(OWN_FILES).is_dir());
        let is_named = file.is_none();
        let file = match file {
            Some(file) => file,
            None => OpenOptions::new().write(true).create_new(true).mode(0o600).open(&name)?,
        };
        // It is let go with the file, so that the next export knows whether somebody still writes it.
        let _ = file.try_lock();
        Ok(Draft { file, name, is_named })
    }

    fn publish(mut self, to: &Path, overwrite: bool) -> io::Result<()> {
        if !self.is_named && !overwrite {
            return self.link(to);
        }
        if !self.is_named {
            self.link(&self.name)?;
            self.is_named = true;
        }
        fs::rename(&self.name, to)?;
        self.is_named = false;
        Ok(())
    }

    fn link(&self, to: &Path) -> io::Result<()> {
        let own = format!("{OWN_FILES}/{}", self.file.as_raw_fd());
        Ok(rustix::fs::linkat(CWD, own, CWD, to, AtFlags::SYMLINK_FOLLOW)?)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.is_named {
            // If it cannot be removed either, its name says what it is.
            let _ = fs::remove_file(&self.name);
        }
    }
}

/// Removes what exports left that were killed.
fn remove_abandoned(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_draft = entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes());
        if !is_draft || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        if File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
