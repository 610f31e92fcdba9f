//! Where file changes come from: the mark on the file system, or watches on directories where no mark can be set.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use belay_sys::Root;
use belay_sys::fanotify::Queue;
use belay_sys::inotify::Inotify;

use crate::error::{Error, Result};
use crate::fanotify::{Change, Files, Lot, Telling};
use crate::inotify::{Changes, Watches};
use crate::options::{Engine, Options};

/// One of both.
pub(super) enum Source {
    /// fanotify: the kernel names the process.
    Marked(Files),
    /// inotify: it does not.
    Watched(Watched),
}

/// Watches, and the queue that they fill.
pub(super) struct Watched {
    inotify: Arc<Inotify>,
    watches: Watches,
}

impl Source {
    /// The best that works for this workspace; with the second best, why not the best.
    pub(super) fn open(options: &Options, queue: Queue) -> Result<(Source, Option<Error>)> {
        match Files::watch(&options.workspace, queue) {
            Ok(files) => Ok((Source::Marked(files), None)),
            Err(error) if options.engine == Engine::Privileged => Err(error),
            Err(error) => Ok((Source::Watched(Watched::open(options)?), Some(error))),
        }
    }

    /// Whether it is not known yet which directory is where; whoever reads then waits for it.
    pub(super) fn lists(&self) -> bool {
        matches!(self, Source::Marked(files) if files.lists())
    }

    /// Reads what is there.
    pub(super) fn read(&mut self) -> Lot {
        match self {
            Source::Marked(files) => files.read(),
            Source::Watched(watched) => watched.read(),
        }
    }
}

impl AsFd for Source {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Source::Marked(files) => files.as_fd(),
            Source::Watched(watched) => watched.inotify.as_fd(),
        }
    }
}

impl Watched {
    fn open(options: &Options) -> Result<Watched> {
        let root = Root::open(&options.workspace).map_err(kernel("open the workspace"))?;
        let workspace = belay_sys::path_of(root.as_fd()).map_err(kernel("name the workspace"))?;
        let inotify = Arc::new(Inotify::new().map_err(kernel("make an inotify queue"))?);
        let watches = Watches::new(root, Arc::clone(&inotify), &workspace).map_err(kernel("watch the workspace"))?;
        Ok(Watched { inotify, watches })
    }

    pub(super) fn watches(&mut self) -> &mut Watches {
        &mut self.watches
    }

    fn read(&mut self) -> Lot {
        let mut bytes = Vec::new();
        let failed = self.inotify.drain(&mut bytes).is_err();
        let now = belay_sys::boot_nanos();
        let mut changes = Changes::default();
        if bytes.is_empty() {
            self.watches.settle();
            self.watches.give_up(now, &mut changes);
        } else {
            changes = self.watches.read(&bytes, now);
        }
        let lost = changes.lost || failed;
        let told =
            changes.list.into_iter().map(|(change, _)| Change { pid: 0, change, telling: Telling::Yes, turn: 0 });
        Lot::all(told.collect(), lost)
    }
}

fn kernel(what: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Kernel { what, source }
}
