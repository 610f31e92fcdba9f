//! Out of the store: a snapshot as an archive that plain `tar` unpacks.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use belay_store::Manifest;

use crate::archive::{self, Packing};
use crate::error::{Error, Result};
use crate::record::Snapshot;
use crate::workspace::{Work, Workspace};

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
        let temporary = beside(to, &self.home.options.ids.next("", 10));
        let written = self.write_archive(snapshot, &temporary, packing, work).and_then(|exported| {
            fs::rename(&temporary, to).map_err(Error::path("write", to))?;
            Ok(exported)
        });
        if written.is_err() {
            // If it cannot be removed either, its name says what it is.
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// Writes a snapshot into a new file, durably.
    pub(crate) fn write_archive(
        &self,
        snapshot: &Snapshot,
        to: &Path,
        packing: Packing,
        work: Work<'_>,
    ) -> Result<Exported> {
        let store = self.home.store();
        let damaged = |source| Error::Damaged { snapshot: snapshot.id.clone(), source };
        let manifest = Manifest::read(store, &snapshot.manifest).map_err(damaged)?;
        work.progress.expect(manifest.counts.files, manifest.counts.bytes);
        let failed = |error: io::Error| Error::path("write", to)(error);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to).map_err(failed)?;
        let entries = packing.pack(&file, |out| archive::write(store, &manifest, out, work).map_err(Failed));
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

fn beside(path: &Path, id: &str) -> PathBuf {
    path.with_file_name(format!(".belay-export-{id}"))
}
