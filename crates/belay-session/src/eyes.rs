//! Eyes on a workspace: who sees every change of its files knows what a look can leave out.
//!
//! - A look begins with everything that the kernel has queued, so that what changed before it is known to it.
//! - What changed is told against a capture that began while every change was already being seen; if a single one may
//!   have been missed since, there is no such capture, and the look is a walk.
//! - A file that a process keeps mapped changes untold. Such files are found out after a look, for the next one: a mapping
//!   that is younger than the last look, and outlives this one, is the one thing that is seen a look too late.
//! - A capture that fails or that nobody names leaves the older one and all that changed since; nothing is forgotten
//!   before it is captured.

use std::collections::HashMap;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use belay_event::{Degraded, FileSource};
use belay_store::Hash;
use belay_trace::{Engine, Options, Tracer};

use crate::error::Result;
use crate::workspace::Workspace;

/// More paths than this are not worth keeping: a walk costs no more.
const PATHS_MAX: usize = 20_000;

/// Sees every change of a workspace's files.
pub struct Eyes {
    tracer: Tracer,
    known: Mutex<Known>,
    workspace: PathBuf,
    /// Files that somebody can change through memory, of which no change is told before they are let go.
    mapped: Mutex<Vec<Vec<u8>>>,
}

/// Eyes that several share, and that may open later.
pub type Sight = Arc<OnceLock<Eyes>>;

/// Opens eyes on whichever directory is worked on, beside the work.
#[derive(Debug, Default)]
pub struct Lookout(Mutex<Option<((u64, u64), Sight)>>);

impl Lookout {
    /// The same workspace, seen as soon as that can be.
    pub fn over<'h>(&self, workspace: Workspace<'h>) -> Workspace<'h> {
        let Some(number) = number(workspace.path()).filter(|_| workspace.can_be_seen()) else { return workspace };
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, sight)) = now.as_ref().filter(|(known, _)| *known == number) {
            return workspace.seen_by(Arc::clone(sight));
        }
        let (sight, path) = (Sight::default(), workspace.path().to_owned());
        let opening = Arc::clone(&sight);
        // Without eyes every look is a walk.
        let _ = std::thread::Builder::new().name("eyes".into()).spawn(move || {
            if let Some(eyes) = Eyes::open(&path).ok().filter(Eyes::sees_all) {
                let _ = opening.set(eyes);
            }
        });
        *now = Some((number, Arc::clone(&sight)));
        workspace.seen_by(sight)
    }
}

/// A file or directory by its number.
pub(crate) fn number(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

impl Workspace<'_> {
    /// Whether eyes on its directory would see what changes in it.
    pub(crate) fn can_be_seen(&self) -> bool {
        // Where others change files unseen every look is a walk, whoever watches.
        let is_remote = self.root().file_system().is_ok_and(|on| on.is_remote());
        !self.is_layered() && !is_remote && !self.settings.flag("tracing.disable_files")
    }
}

/// What was seen.
#[derive(Default)]
struct Known {
    /// How many looks there were.
    looks: u64,
    /// The last look before which a change may have been missed.
    blind: u64,
    /// The capture that the paths changed since.
    base: Option<Base>,
    /// Every path that may have changed, with the look that found it.
    paths: HashMap<Vec<u8>, u64>,
}

/// A capture that began while every change was being seen.
#[derive(Clone, Copy)]
pub(crate) struct Base {
    /// Its key.
    pub(crate) key: Hash,
    /// The filter that it was captured by.
    pub(crate) filter: Hash,
    /// Whether a file in it has another name, through which it changes unseen.
    pub(crate) has_links: bool,
    /// The look that it began with.
    look: u64,
}

/// What a look found.
pub(crate) struct Seen {
    look: u64,
    /// A capture, and every path that may have changed since; none if nobody can tell.
    pub(crate) since: Option<(Base, Vec<Vec<u8>>)>,
}

impl Seen {
    /// How many paths changed since the capture; none if nobody can tell.
    pub(crate) fn changed(&self) -> Option<u64> {
        self.since.as_ref().map(|(_, paths)| paths.len() as u64)
    }
}

impl fmt::Debug for Eyes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Eyes").field(&self.source()).finish()
    }
}

impl Eyes {
    /// Watches the directory from here on.
    pub fn open(workspace: &Path) -> Result<Eyes> {
        let prepare = |engine| {
            let options = Options { workspace: workspace.to_owned(), exec: false, files: true, engine, group: None };
            Tracer::prepare(&options, Box::new(|_| ()))
        };
        // A mark on the whole file system would tell root who it was, and wake us for whatever anybody does anywhere on
        // it; nobody asks who it was. It has no limit of directories, though.
        let modest = prepare(Engine::Unprivileged).ok().filter(|tracer| tracer.dirty().complete);
        let tracer = modest.map_or_else(|| prepare(Engine::Best), Ok)?;
        Ok(Eyes { tracer, known: Mutex::default(), workspace: workspace.to_owned(), mapped: Mutex::default() })
    }

    /// Whether every change is seen.
    pub(crate) fn sees_all(&self) -> bool {
        // A directory that came while all were listed makes the first answer incomplete, and no further one.
        self.tracer.dirty().complete || self.tracer.dirty().complete
    }

    /// How changes are seen.
    pub fn source(&self) -> FileSource {
        self.tracer.file_source()
    }

    /// What is weaker than it could be.
    pub fn degraded(&self) -> &[Degraded] {
        self.tracer.degraded()
    }

    /// Takes in everything that happened until now.
    pub(crate) fn look(&self) -> Seen {
        // Asked under the lock, so that looks and what they found are in one order.
        let mut known = self.known();
        let dirty = self.tracer.dirty();
        known.looks += 1;
        let look = known.looks;
        if !dirty.complete || known.paths.len() + dirty.paths.len() > PATHS_MAX {
            (known.blind, known.base) = (look, None);
            known.paths.clear();
            return Seen { look, since: None };
        }
        let mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner).clone();
        known.paths.extend(dirty.paths.into_iter().chain(mapped).map(|path| (path, look)));
        let since = known.base.map(|base| (base, known.paths.keys().cloned().collect()));
        Seen { look, since }
    }

    /// Finds out who changes files through memory, for the looks to come; takes its time.
    pub(crate) fn look_at_memory(&self) {
        let found = belay_trace::mapped_by_anybody(&self.workspace);
        *self.mapped.lock().unwrap_or_else(PoisonError::into_inner) = found;
    }

    /// Learns that everything is as in this capture, but for what changed after the look.
    pub(crate) fn captured(&self, seen: &Seen, key: Hash, filter: Hash, has_links: bool) {
        let mut known = self.known();
        if seen.look < known.blind || known.base.is_some_and(|base| base.look > seen.look) {
            return;
        }
        known.base = Some(Base { key, filter, has_links, look: seen.look });
        known.paths.retain(|_, look| *look > seen.look);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
