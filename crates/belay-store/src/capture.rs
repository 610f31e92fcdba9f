//! Turns a workspace into objects: a parallel walk that reads only what the stat cache cannot vouch for.

mod check;
mod descend;
mod entries;
mod file;
mod guess;
mod hand;
mod judge;
mod links;
mod patch;
mod share;
mod sqlite;
mod together;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use belay_sys::{Root, Time};

pub(crate) use self::file::{cut_chunk, packing_of};
use self::hand::{Findings, Job};
use crate::disk::{Disk, Lock};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::hash::Hash;
use crate::manifest::{Counts, Coverage, Gap, GapKind, Manifest};
use crate::native::{Completed, Copier, Making, NativeCopy};
use crate::objects::{Batch, ObjectKind, Store, UNREAD_FORMAT, Worker};
use crate::statcache::{Cache, Update};
use crate::tree::{Entry, Node, View};

/// Tells the time; the store has no clock of its own.
pub type Clock<'a> = &'a (dyn Fn() -> Time + Sync);

/// Which paths a capture looks at.
pub enum Source<'a> {
    /// All, trusting the stat cache where its proof holds.
    Walk,
    /// All, reading every byte.
    Full,
    /// Only these paths (and everything beneath those that are directories); the rest is as in `base`.
    Dirty {
        /// The snapshot that was true before the paths changed.
        base: &'a Manifest,
        /// Every path that may have changed since.
        paths: &'a [Vec<u8>],
    },
}

/// Limits on what one capture may add.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Entries in the tree.
    pub entries_max: u64,
    /// Bytes of content that the store did not have.
    pub new_bytes_max: u64,
    /// Bytes that the store may grow by; beyond that nothing is captured, and the answer is [`Error::NoRoom`].
    pub stored_bytes_max: u64,
    /// Seconds that a directory or file may take to answer before it counts as hung.
    pub answer_seconds_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        let (entries_max, new_bytes_max, answer_seconds_max) = (300_000, 2 << 30, 10);
        Limits { entries_max, new_bytes_max, stored_bytes_max: u64::MAX, answer_seconds_max }
    }
}

/// Told about the work as it goes on; called from several threads.
pub trait Progress: Sync {
    /// So many entries and bytes were dealt with since the last call.
    fn advance(&self, entries: u64, bytes: u64);
    /// The work that begins now will cover so many entries and bytes.
    fn expect(&self, entries: u64, bytes: u64);
    /// The work that is going on will cover perhaps so many entries and bytes.
    fn guess(&self, _entries: u64, _bytes: u64) {}
    /// Whether a guess is worth the work of making it.
    fn wants_guess(&self) -> bool {
        false
    }
}

/// A progress that nobody watches.
pub struct Quiet;

impl Progress for Quiet {
    fn advance(&self, _entries: u64, _bytes: u64) {}
    fn expect(&self, _entries: u64, _bytes: u64) {}
}

/// How to capture.
pub struct CaptureOptions<'a> {
    /// The workspace.
    pub root: &'a Root,
    /// What to leave out.
    pub filter: &'a Filter,
    /// The name of the workspace's stat cache on the store's disk, without an ending.
    pub cache: &'a str,
    /// Whether the snapshot that the cache describes is still there, so that its objects are.
    pub is_live: &'a (dyn Fn(&Hash) -> bool + Sync),
    /// A snapshot whose paths are captured whatever the filter says, because they are about to be changed.
    pub keep: Option<&'a Manifest>,
    /// Which paths to look at.
    pub source: Source<'a>,
    /// What the capture may cost.
    pub limits: Limits,
    /// Whether to cross into filesystems that are mounted inside.
    pub cross_mounts: bool,
    /// Names that begin so are belay's own temporary files of a restore that is under way.
    pub own_prefixes: &'a [Vec<u8>],
    /// The time.
    pub clock: Clock<'a>,
    /// Who is told.
    pub progress: &'a dyn Progress,
    /// Set to stop.
    pub stop: &'a AtomicBool,
}

/// A capture that is durable and not yet named by any timeline; gc leaves it alone while this lives.
pub struct Captured {
    /// The key under which the manifest is stored.
    pub key: Hash,
    /// The snapshot.
    pub manifest: Manifest,
    /// Bytes that the store grew by.
    pub stored_bytes: u64,
    /// Files that had to be read.
    pub files_read: u64,
    /// Whether a file has another name, here or elsewhere, through which it may be changed.
    pub has_links: bool,
    /// The names of files that have several, here or elsewhere, or that run as root; those of one file share the first
    /// two numbers.
    pub linked: Vec<(u64, u64, Vec<u8>)>,
    /// The copy that keeps its content, if it is not in packs.
    pub copy: Option<NativeCopy>,
    disk: Arc<dyn Disk>,
    cache: String,
    update: Update,
    _guard: Lock,
}

impl Captured {
    /// Writes the stat cache that makes the next capture cheap; call it once the snapshot is published.
    pub fn save_cache(&self) -> Result<()> {
        crate::statcache::save(self.disk.as_ref(), &self.cache, &self.key, &self.update)
    }
}

/// What a capture would find, with nothing written.
pub struct Preview {
    /// The present state.
    pub manifest: Manifest,
    /// What it lacks.
    pub coverage: Coverage,
    /// Which paths are one file.
    pub links: crate::manifest::Links,
    /// The nodes that the store does not have.
    pub nodes: HashMap<Hash, Arc<Node>>,
    /// Whether a file has another name, here or elsewhere, through which it may be changed.
    pub has_links: bool,
}

impl Preview {
    /// The preview's nodes in front of the store's.
    pub fn view<'a>(&'a self, store: &'a Store) -> View<'a> {
        View::with_unwritten(store, &self.nodes)
    }
}

/// Captures the workspace.
pub fn capture(store: &Store, options: &CaptureOptions<'_>) -> Result<Captured> {
    capture_with(store, options, None)
}

/// Captures the workspace, whose content stays in a copy that is made, or was made just now.
pub fn capture_copy(
    store: &Store,
    options: &CaptureOptions<'_>,
    making: Making<'_>,
    copier: &dyn Copier,
) -> Result<Captured> {
    capture_with(store, options, Some((making, copier)))
}

fn capture_with(
    store: &Store,
    options: &CaptureOptions<'_>,
    copy: Option<(Making<'_>, &dyn Copier)>,
) -> Result<Captured> {
    let batch = store.begin()?.within(options.limits.stored_bytes_max);
    let into = copy.as_ref().map(|(making, copier)| (making.copy().id.as_str(), *copier));
    let found = look(store, options, Some(&batch), into)?;
    let mut worker = batch.worker();
    let (manifest, _, _) = found.manifest(store, options, Some(&mut worker))?;
    let (key, _) = worker.put(ObjectKind::Tree, &manifest.encode())?;
    worker.done()?;
    if options.stop.load(std::sync::atomic::Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    let (pointers, new_bytes) = (batch.seal_pointers()?, batch.new_content_bytes());
    let (mut stored_bytes, guard) = batch.finish()?;
    let copy = match copy {
        None => None,
        Some((making, copier)) => {
            // A snapshot that is the same as another needs no copy of its own.
            let is_known = pointers.is_none() && new_bytes == 0 && (options.is_live)(&key);
            let twin = if is_known { store.copy_of(&key, &making.copy().backend)? } else { None };
            match twin {
                Some(twin) => Some(twin),
                None => {
                    let Completed { bytes, objects } = copier.complete(store, &manifest)?;
                    let located = store.seal_located(&making.copy().id, objects)?;
                    let copy = making.finish(key, bytes)?;
                    stored_bytes += bytes + store.publish_pointers(pointers)? + store.publish_pointers(located)?;
                    Some(copy)
                }
            }
        }
    };
    store.keep_nodes(&found.findings.nodes, &found.findings.lists);
    Ok(Captured {
        key,
        manifest,
        stored_bytes,
        files_read: found.findings.files_read,
        has_links: !found.findings.linked.is_empty(),
        linked: found.findings.linked.iter().map(|one| (one.dev, one.ino, one.path.clone())).collect(),
        copy,
        disk: Arc::clone(store.disk()),
        cache: options.cache.to_string(),
        update: found.update,
        _guard: guard,
    })
}

/// Looks at the workspace as [`capture`] would, and writes nothing.
pub fn preview(store: &Store, options: &CaptureOptions<'_>) -> Result<Preview> {
    let mut found = look(store, options, None, None)?;
    let (manifest, coverage, links) = found.manifest(store, options, None)?;
    let nodes = std::mem::take(&mut found.findings.nodes);
    Ok(Preview { manifest, coverage, links, nodes, has_links: !found.findings.linked.is_empty() })
}

/// What a look at the workspace found.
struct Found {
    root: Entry,
    findings: Findings,
    update: Update,
}

fn look(
    store: &Store,
    options: &CaptureOptions<'_>,
    batch: Option<&Batch<'_>>,
    copier: Option<(&str, &dyn Copier)>,
) -> Result<Found> {
    // What lies in a copy that is out of sight is not there to be built upon: everything is read, and kept where it is not.
    let is_whole = batch.is_none() || !store.misses_copies()?;
    let open = |whole| {
        let cache = Cache::open(store.disk().as_ref(), options.cache, whole);
        cache.filter(|cache| is_whole && (options.is_live)(&cache.describes))
    };
    // The paths say what changed since the base; about any other state they say nothing.
    let tells = |base: &Manifest, cache: &Cache| store.algorithm().hash(&base.encode()) == cache.describes;
    let cache = match options.source {
        Source::Full => None,
        Source::Walk => open(true),
        Source::Dirty { base, .. } => open(false).filter(|cache| tells(base, cache)).or_else(|| open(true)),
    };
    let Some(cache) = cache else {
        // What is known of a snapshot that is gone still tells which files are as they were; of what it refers to only that
        // counts which is there, and no collection takes it away while the batch goes on.
        let is_useful = is_whole && batch.is_some() && copier.is_none() && !matches!(options.source, Source::Full);
        let stale = is_useful.then(|| Cache::open(store.disk().as_ref(), options.cache, true)).flatten();
        let job = Job::new(store, options, batch, (stale.as_ref(), copier))?;
        return descend::everything(&job.doubting());
    };
    let job = Job::new(store, options, batch, (Some(&cache), copier))?;
    // A known path inside a mount may have stopped to answer, so with mounts everything is entered from the top.
    if options.cross_mounts {
        return descend::everything(&job);
    }
    let work = match &options.source {
        Source::Dirty { base, paths } if tells(base, &cache) => patch::work_for(&job, &cache, paths),
        _ => check::changed_since(&job, &cache)?,
    };
    match work {
        Some(work) if !is_most(work.len(), cache.dirs()) => patch::patch(&job, &cache, work),
        _ => descend::everything(&job),
    }
}

/// Whether so many directories are better walked with all the others: to patch a tree, all that changed is held at once.
fn is_most(dirs: usize, of: usize) -> bool {
    const MANY: usize = 4096;
    dirs > MANY && dirs * 4 > of
}

impl Found {
    /// Puts the manifest and what it names into the store, or only computes them if there is no worker.
    fn manifest(
        &self,
        store: &Store,
        options: &CaptureOptions<'_>,
        mut worker: Option<&mut Worker<'_>>,
    ) -> Result<(Manifest, Coverage, crate::manifest::Links)> {
        let is_kept = worker.is_some();
        let mut put = |bytes: &[u8]| match worker.as_deref_mut() {
            Some(worker) => worker.put(ObjectKind::Tree, bytes).map(|(key, _)| key),
            None => Ok(store.algorithm().hash(bytes)),
        };
        let links = links::groups(&self.findings.linked);
        let links_key = if links.groups.is_empty() { None } else { Some(put(&links.encode())?) };
        let mut gaps: Vec<Gap> = self.findings.gaps.clone();
        gaps.sort();
        gaps.dedup();
        let suffered = gaps.iter().filter(|gap| !gap.kind.is_wanted()).count() as u64;
        let coverage = Coverage { gaps };
        let is_unread = coverage.gaps.iter().any(|gap| gap.kind == GapKind::Attributes);
        if is_unread && is_kept {
            store.raise_format(UNREAD_FORMAT)?;
        }
        let coverage_key = put(&coverage.encode())?;
        let filter = put(&options.filter.encode())?;
        let crate::tree::Kind::Dir { files, bytes, .. } = self.root.kind else {
            unreachable!("the root of a capture is a directory")
        };
        let manifest = Manifest {
            identity: Manifest::identity_of(store.algorithm(), &self.root, links_key.as_ref()),
            root: self.root.clone(),
            links: links_key,
            filter,
            coverage: coverage_key,
            counts: Counts { files, bytes, gaps: suffered },
        };
        Ok((manifest, coverage, links))
    }
}
