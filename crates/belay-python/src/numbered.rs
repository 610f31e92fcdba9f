//! The record of a numbered snapshot: which snapshot of which directory it is, under one root hash.
//!
//! It is written last, in one rename: a number exists with everything it needs, or not at all.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use belay_session::PathText;
use belay_session::store::{Algorithm, Disk, Hash, Manifest, Store};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

const DIR: &str = "session/snapshots";

/// A snapshot of all tracked directories.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Numbered {
    pub(crate) number: u64,
    /// ISO 8601, in UTC.
    pub(crate) timestamp: String,
    pub(crate) parent: Option<u64>,
    merkle_root: String,
    pub(crate) roots: Vec<TrackedRoot>,
}

/// One tracked directory in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TrackedRoot {
    path: PathText,
    /// The snapshot's id in the timeline of the directory's workspace.
    pub(crate) snapshot: String,
    root: String,
    manifest: String,
}

impl TrackedRoot {
    pub(crate) fn new(path: &Path, snapshot: &belay_session::Snapshot) -> TrackedRoot {
        TrackedRoot {
            path: PathText::from(path.as_os_str().as_bytes()),
            snapshot: snapshot.id.clone(),
            root: snapshot.root.to_hex(),
            manifest: snapshot.manifest.to_hex(),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(self.path.bytes()))
    }

    /// The key of the tree's manifest; a record that was read has one.
    pub(crate) fn key(&self) -> Hash {
        Hash::from_hex(&self.manifest).unwrap_or(Hash([0; 32]))
    }

    /// The tree, which is what the record says or an error.
    pub(crate) fn manifest(&self, store: &Store) -> Result<Manifest> {
        let manifest = Manifest::read(store, &self.key())?;
        if manifest.identity.to_hex() != self.root {
            return Err(Error::record(&self.snapshot, "its tree has another root hash than its record"));
        }
        Ok(manifest)
    }
}

impl Numbered {
    pub(crate) fn new(number: u64, timestamp: String, parent: Option<u64>, roots: Vec<TrackedRoot>) -> Numbered {
        let merkle_root = combined(&roots).to_hex();
        Numbered { number, timestamp, parent, merkle_root, roots }
    }

    /// The hash over everything captured: of one directory its own root, of several the hash over theirs.
    pub(crate) fn merkle_root(&self) -> Hash {
        combined(&self.roots)
    }

    /// Reads the record of that number and checks that it holds together.
    pub(crate) fn read(disk: &dyn Disk, number: u64) -> Result<Numbered> {
        let name = name_of(number);
        let bytes = match disk.read(&name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Error::NoNumber(number)),
            other => other.map_err(|error| Error::Path(name.clone().into(), error))?,
        };
        let record: Numbered =
            serde_json::from_slice(&bytes).map_err(|error| Error::record(&name, error.to_string()))?;
        let is_hash = |text: &str| Hash::from_hex(text).is_some();
        if record.number != number || !record.roots.iter().all(|root| is_hash(&root.manifest) && is_hash(&root.root)) {
            return Err(Error::record(&name, "it is not a record of that snapshot"));
        }
        if record.merkle_root != combined(&record.roots).to_hex() {
            return Err(Error::record(&name, "its root hash does not match its directories"));
        }
        Ok(record)
    }

    /// Makes the record durable under its number, which must be free.
    pub(crate) fn write(&self, disk: &dyn Disk) -> Result<()> {
        let text = serde_json::to_vec_pretty(self).expect("a record is plain data with text keys");
        write_file(disk, &name_of(self.number), &text)
    }

    /// The numbers that exist, in order.
    pub(crate) fn all(disk: &dyn Disk) -> Result<Vec<u64>> {
        let names = disk.list(DIR).map_err(|error| Error::Path(DIR.into(), error))?;
        let number = |(name, _): &(String, u64)| name.strip_suffix(".json")?.parse().ok();
        let mut numbers: Vec<u64> = names.iter().filter_map(number).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }
}

/// Writes a file of a session: whole, or not at all.
pub(crate) fn write_file(disk: &dyn Disk, name: &str, text: &[u8]) -> Result<()> {
    let temporary = format!("{name}.tmp-{}", std::process::id());
    let write = || -> io::Result<()> {
        let _ = disk.remove(&temporary);
        let mut file = disk.create(&temporary)?;
        file.write(text)?;
        file.sync()?;
        disk.rename(&temporary, name)?;
        disk.sync_dir(name.rsplit_once('/').map_or("", |(dir, _)| dir))
    };
    write().map_err(|error| Error::Path(name.into(), error))
}

fn name_of(number: u64) -> String {
    format!("{DIR}/{number:06}.json")
}

fn combined(roots: &[TrackedRoot]) -> Hash {
    let hash = |root: &TrackedRoot| Hash::from_hex(&root.root).unwrap_or(Hash([0; 32]));
    if let [only] = roots {
        return hash(only);
    }
    let mut hasher = Algorithm::Sha256.hasher();
    hasher.update(b"belay session 1\0");
    for root in roots {
        hasher.update(&(root.path.bytes().len() as u64).to_le_bytes());
        hasher.update(root.path.bytes());
        hasher.update(&hash(root).0);
    }
    hasher.finish()
}
