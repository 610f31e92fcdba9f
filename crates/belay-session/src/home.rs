//! Belay's home: the store that all workspaces share, and the workspaces that are known.

use std::path::{Path, PathBuf};

use belay_store::{Algorithm, Store};
use jiff::tz::TimeZone;

use crate::clock::{Clock, Ids};
use crate::config::Sources;
use crate::error::Result;
use crate::identity::WorkspaceInfo;
use crate::workspace::Workspace;

/// How to open belay's home.
#[derive(Clone, Debug)]
pub struct HomeOptions {
    /// The hash of a store that does not exist yet.
    pub algorithm: Algorithm,
    /// The time.
    pub clock: Clock,
    /// The identifiers.
    pub ids: Ids,
    /// The time zone in which the user says `14:30`.
    pub zone: TimeZone,
}

/// Belay's home directory.
pub struct Home {
    path: PathBuf,
    options: HomeOptions,
}

/// What the user agreed to when a directory becomes a workspace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Consent<'a> {
    /// That it may be a home directory or `/`.
    pub yes_really: bool,
    /// The user's home directory.
    pub home: Option<&'a Path>,
}

impl Home {
    /// Opens the directory, creating it with mode 0700 if it is missing; the store is opened when first needed.
    pub fn open(_path: &Path, _options: HomeOptions) -> Result<Home> {
        unimplemented!()
    }

    /// Where belay's home is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The time, in the user's zone.
    pub fn now(&self) -> jiff::Zoned {
        self.options.clock.now().to_zoned(self.options.zone.clone())
    }

    /// The store.
    pub fn store(&self) -> Result<&Store> {
        unimplemented!()
    }

    /// Every known workspace.
    pub fn workspaces(&self) -> Result<Vec<WorkspaceInfo>> {
        unimplemented!()
    }

    /// The nearest known workspace at or above `dir`, which need not be canonical.
    pub fn find(&self, _dir: &Path, _sources: &Sources) -> Result<Option<Workspace<'_>>> {
        unimplemented!()
    }

    /// The nearest known workspace at or above `dir`, else `dir` itself as a new one.
    pub fn find_or_create(&self, _dir: &Path, _consent: Consent<'_>, _sources: &Sources) -> Result<Workspace<'_>> {
        unimplemented!()
    }

    /// The known workspace of that id.
    pub fn workspace(&self, _id: &str, _sources: &Sources) -> Result<Workspace<'_>> {
        unimplemented!()
    }
}
