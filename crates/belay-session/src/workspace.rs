//! One workspace: the directory, its timeline, its settings, and the commands that act on it.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use belay_store::{Progress, Root};

use crate::config::Settings;
use crate::error::Result;
use crate::home::Home;
use crate::identity::Arrival;
use crate::record::Snapshot;
use crate::timeline::Timeline;

/// Who watches a piece of work, and how it is told to stop.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// Who is told how far it is.
    pub progress: &'a dyn Progress,
    /// Set to stop.
    pub stop: &'a AtomicBool,
}

/// A workspace that is open.
pub struct Workspace<'h> {
    home: &'h Home,
    id: String,
    path: PathBuf,
    root: Root,
    arrival: Arrival,
    settings: Settings,
}

impl<'h> Workspace<'h> {
    /// Belay's home.
    pub fn home(&self) -> &'h Home {
        self.home
    }

    /// `ws_` and ten base-36 characters.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory as an open handle.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// How it was recognised.
    pub fn arrival(&self) -> &Arrival {
        &self.arrival
    }

    /// The configuration in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The timeline as it is now.
    pub fn timeline(&self) -> Result<Timeline> {
        unimplemented!()
    }

    /// The snapshot that `name` names at this moment.
    pub fn resolve(&self, name: &str) -> Result<Snapshot> {
        Ok(self.timeline()?.resolve(name, &self.home.now())?.clone())
    }

    /// The path beneath the workspace that the user, being in `cwd`, calls `path`.
    pub fn beneath(&self, _cwd: &Path, _path: &Path) -> Result<Vec<u8>> {
        unimplemented!()
    }
}
