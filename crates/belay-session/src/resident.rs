//! The resident helper: a process that sees a workspace's changes and has its store open, so that an agent's hook costs
//! what changed.
//!
//! Nobody has to know of it. It is started by a hook that found none, there is one for each workspace, and it ends when
//! nobody needs it. Whatever it cannot or may not do, and whatever happens to it, whoever asked does by itself.

mod serve;

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use belay_event::Raw;
use belay_store::LockMode;
use serde::{Deserialize, Serialize};

use crate::agent::AgentWord;
use crate::error::{Error, Result};
use crate::run::{Frame, read_frame, write_text};
use crate::workspace::Workspace;

pub use serve::{Residence, reside};

/// Beneath belay's home: where helpers listen, each under the number of its directory.
const PLACE: &str = "helpers";
/// The longest path that a socket's address holds.
const ADDRESS_BYTES_MAX: usize = 107;
/// A helper that says nothing for so long is taken to hang.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is sent to a helper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    /// The version of whoever asks.
    pub version: String,
    /// What steers whoever asks: where its configuration is, and what overrides it.
    pub steering: String,
    /// The directory that it is about.
    pub directory: Raw,
    /// What is wanted.
    pub want: Want,
}

/// What is wanted of a helper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Want {
    /// To take in what an agent told.
    Hear(AgentWord),
    /// To say how it stands.
    Standing,
    /// To end.
    Leave,
}

/// What a helper says to a letter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// It is done, and what it needed to last is durable.
    Done,
    /// It is not done; whoever asked is to do it.
    Yourself(String),
    /// How it stands.
    Standing(Standing),
    /// It ends now.
    Leaving,
}

/// How a helper stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// The workspace's identifier.
    pub workspace: String,
    /// Where the workspace is.
    pub path: Raw,
    /// How it sees changes; `none` if it cannot, so that every look is a walk.
    pub files: String,
    /// Letters that it answered.
    pub answered: u64,
    /// Seconds without a letter after which it ends.
    pub idle_seconds: u64,
}

/// A connection to a helper.
pub struct Resident(UnixStream);

impl Resident {
    /// The helper of the nearest directory at or above this one that has one.
    pub fn near(home: &Path, directory: &Path) -> Option<Resident> {
        let directory = directory.canonicalize().ok()?;
        directory.ancestors().find_map(|above| Resident::at(home, above))
    }

    fn at(home: &Path, directory: &Path) -> Option<Resident> {
        let meta = directory.metadata().ok()?;
        Resident::connect(&home.join(PLACE), &name_of(meta.dev(), meta.ino())).ok()
    }

    /// Every helper that listens.
    pub fn all(home: &Path) -> Vec<Resident> {
        let place = home.join(PLACE);
        let Ok(entries) = place.read_dir() else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.filter_map(|name| Resident::connect(&place, &name).ok()).collect()
    }

    fn connect(place: &Path, name: &str) -> io::Result<Resident> {
        let (_held, path) = address(place, name)?;
        Ok(Resident(UnixStream::connect(path)?))
    }

    /// Sends a letter, and waits for what is said to it.
    pub fn ask(&mut self, letter: &Letter) -> io::Result<Told> {
        self.0.set_read_timeout(Some(PATIENCE))?;
        write_text(&mut self.0, letter)?;
        match read_frame(&mut self.0)? {
            Some(Frame::Text(told)) => Ok(told),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// What a helper's socket is called: the directory's number, which whoever asks has at hand.
fn name_of(device: u64, inode: u64) -> String {
    format!("{device:x}-{inode:x}")
}

/// A path to the socket that its address holds, whatever belay's home is called; it lasts as long as the handle.
fn address(place: &Path, name: &str) -> io::Result<(Option<File>, PathBuf)> {
    let path = place.join(name);
    if path.as_os_str().len() <= ADDRESS_BYTES_MAX {
        return Ok((None, path));
    }
    let held = File::open(place)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}/{name}", held.as_raw_fd()));
    Ok((Some(held), path))
}

/// The lock that a helper holds while it lives.
fn lock_name(workspace: &str) -> String {
    format!("workspaces/{workspace}/helper.lock")
}

impl Workspace<'_> {
    /// Whether a helper would be of use here, and none is there or on its way.
    pub fn wants_helper(&self) -> Result<bool> {
        let is_wanted = self.settings.number("agents.helper_idle_seconds") > 0 && self.settings.disabled_by().is_none();
        if !is_wanted || !self.can_be_seen() {
            return Ok(false);
        }
        let lock = lock_name(&self.id);
        let free = self.home.disk().lock(&lock, LockMode::Exclusive, false).map_err(Error::disk("lock", &lock))?;
        Ok(free.is_some())
    }
}
