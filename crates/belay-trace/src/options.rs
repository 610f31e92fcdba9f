//! What to watch, and what comes back.

use std::path::PathBuf;

use belay_event::Event;

/// Takes batches of events, in order, from the tracer's own threads; it must not wait long.
pub type Sink = Box<dyn Fn(Vec<Event>) + Send + Sync>;

/// What to watch.
#[derive(Clone, Debug)]
pub struct Options {
    /// The root of the workspace, absolute.
    pub workspace: PathBuf,
    /// Whether commands are wanted.
    pub exec: bool,
    /// Whether file changes are wanted.
    pub files: bool,
    /// With what means.
    pub engine: Engine,
    /// The control group that holds exactly the processes of the run; without one the tree is followed by its forks.
    pub group: Option<Group>,
}

/// With what means to watch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The best that works here.
    #[default]
    Best,
    /// Only BPF and fanotify.
    Privileged,
    /// Only what an ordinary user may do.
    Unprivileged,
}

/// A control group of version 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its number (the inode of its directory).
    pub id: u64,
    /// How deep it lies under the root of the hierarchy, which is level 0.
    pub level: u32,
}

/// Every path beneath the workspace that may have changed since the last time somebody asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dirty {
    /// The paths, without repetition; a directory stands for everything beneath it.
    pub paths: Vec<Vec<u8>>,
    /// Whether these are all: no event was lost, every directory was watched, the filesystem is the same.
    pub complete: bool,
}
