//! Eyes on a workspace: who sees every change of its files knows what a look can leave out.
//!
//! - A look begins with everything that the kernel has queued, so that what changed before it is known to it.
//! - What changed is told against a capture that began while every change was already being seen; if a single one may
//!   have been missed since, there is no such capture, and the look is a walk.
//! - A capture that fails or that nobody names leaves the older one and all that changed since; nothing is forgotten
//!   before it is captured.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use belay_event::{Degraded, FileSource};
use belay_store::Hash;
use belay_trace::{Engine, Options, Tracer};

use crate::error::Result;

/// More paths than this are not worth keeping: a walk costs no more.
const PATHS_MAX: usize = 20_000;

/// Sees every change of a workspace's files.
pub struct Eyes {
    tracer: Tracer,
    known: Mutex<Known>,
}

/// What was seen.
#[derive(Default)]
struct Known {
    /// How many looks there were.
    looks: u64,
    /// The last look before which a change may have been missed.
    blind: u64,
    /// The capture that the paths changed since, and the look that it began with.
    base: Option<(Hash, u64)>,
    /// Every path that may have changed, with the look that found it.
    paths: HashMap<Vec<u8>, u64>,
}

/// What a look found.
pub(crate) struct Seen {
    look: u64,
    /// A capture, and every path that may have changed since; none if nobody can tell.
    pub(crate) since: Option<(Hash, Vec<Vec<u8>>)>,
}

impl Eyes {
    /// Watches the directory from here on.
    pub fn open(workspace: &Path) -> Result<Eyes> {
        let options =
            Options { workspace: workspace.to_owned(), exec: false, files: true, engine: Engine::Best, group: None };
        let tracer = Tracer::prepare(&options, Box::new(|_| ()))?;
        Ok(Eyes { tracer, known: Mutex::default() })
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
        known.paths.extend(dirty.paths.into_iter().map(|path| (path, look)));
        let since = known.base.map(|(base, _)| (base, known.paths.keys().cloned().collect()));
        Seen { look, since }
    }

    /// Learns that everything is as in this capture, but for what changed after the look.
    pub(crate) fn captured(&self, seen: &Seen, capture: Hash) {
        let mut known = self.known();
        if seen.look < known.blind || known.base.is_some_and(|(_, look)| look > seen.look) {
            return;
        }
        known.base = Some((capture, seen.look));
        known.paths.retain(|_, look| *look > seen.look);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
