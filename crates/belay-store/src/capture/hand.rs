//! What all threads of a capture share, and what each has for itself.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use belay_sys::{Dir, FileType, Root, Stat, Time};

use super::CaptureOptions;
use super::entries::Entries;
use crate::error::{Error, Result};
use crate::filter::Judge;
use crate::hash::Hash;
use crate::manifest::{Gap, GapKind};
use crate::native::{Copier, Pointer};
use crate::objects::{Batch, ObjectKind, Store, Worker};
use crate::statcache::{Cache, DirStat, EntryStat, Linked, Record, RecordBuilder, flags};
use crate::tree::{Content, Entry, Kind, Meta, Node, Opaque, Pages, View};

pub(super) const EXDEV: i32 = 18;

/// A file whose times are this close to the moment of its capture may change again without them moving.
const RACE_NANOSECONDS: i128 = 20_000_000;
/// The same where a filesystem seems to keep whole seconds only.
const COARSE_RACE_NANOSECONDS: i128 = 2_000_000_000;

/// Nodes that a capture changed and that are kept for the next.
const NODES_KEPT_MAX: usize = 1024;

/// What all threads of a capture share.
pub(super) struct Job<'a> {
    pub(super) store: &'a Store,
    pub(super) options: &'a CaptureOptions<'a>,
    pub(super) batch: Option<&'a Batch<'a>>,
    pub(super) cache: Option<&'a Cache>,
    /// Whether the store may lack what the cache knows of.
    pub(super) doubts: bool,
    pub(super) judge: Judge,
    pub(super) root: Root,
    pub(super) threads: usize,
    /// The copy that keeps the content, if packs do not.
    pub(super) copier: Option<(&'a str, &'a dyn Copier)>,
    /// The device of the root, and the one that it stands for.
    stands_for: Option<(u64, u64)>,
    /// The number of a file's blocks does not tell whether it has holes.
    pub(super) allocates_ahead: bool,
    entries: AtomicU64,
    /// What was read of files that have other names.
    twins: Mutex<HashMap<(u64, u64), Twin>>,
}

/// A file that was read by one of its names.
struct Twin {
    size: u64,
    times: [Time; 2],
    content: (Content, u64),
}

impl<'a> Job<'a> {
    pub(super) fn new(
        store: &'a Store,
        options: &'a CaptureOptions<'a>,
        batch: Option<&'a Batch<'a>>,
        (cache, copier): (Option<&'a Cache>, Option<(&'a str, &'a dyn Copier)>),
    ) -> Result<Job<'a>> {
        let root = options.root.try_clone().map_err(Error::workspace("open", b"."))?.crossing(options.cross_mounts);
        // Asked once, because the answer takes a dozen system calls.
        static THREADS: OnceLock<usize> = OnceLock::new();
        let threads = *THREADS.get_or_init(|| std::thread::available_parallelism().map_or(2, |n| n.get()).clamp(2, 8));
        let judge = options.filter.judge()?;
        let stands_for = match copier.and_then(|(_, copier)| copier.device()) {
            Some(device) => {
                let own = root.dir_path_only(b"").and_then(|dir| dir.stat_self());
                Some((own.map_err(Error::workspace("examine", b"."))?.dev, device))
            }
            None => None,
        };
        let (entries, twins) = (AtomicU64::new(0), Mutex::default());
        let allocates_ahead = root.file_system().map_or(true, |system| system.allocates_ahead());
        Ok(Job {
            store,
            options,
            batch,
            cache,
            doubts: false,
            judge,
            root,
            threads,
            copier,
            stands_for,
            allocates_ahead,
            entries,
            twins,
        })
    }

    /// The same, with a cache of something that may be gone from the store, in whole or in part.
    pub(super) fn doubting(self) -> Job<'a> {
        Job { doubts: true, ..self }
    }

    /// The content of a file that was read by another of its names and is as it was then.
    pub(super) fn known_twin(&self, stat: &Stat) -> Option<(Content, u64)> {
        if stat.nlink < 2 || self.copier.is_some() {
            return None;
        }
        let twins = self.twins.lock().expect("no holder panics");
        let twin = twins.get(&(stat.dev, stat.ino))?;
        (twin.size == stat.size && twin.times == [stat.mtime, stat.ctime]).then_some(twin.content)
    }

    /// Remembers what a file holds that held still while it was read, for its other names.
    pub(super) fn note_twin(&self, stat: &Stat, content: &(Content, u64)) {
        if stat.nlink > 1 && self.copier.is_none() {
            let twin = Twin { size: stat.size, times: [stat.mtime, stat.ctime], content: *content };
            self.twins.lock().expect("no holder panics").insert((stat.dev, stat.ino), twin);
        }
    }

    /// What proves a directory to be as it is; in a copy, to be as it was in the workspace.
    pub(super) fn proof(&self, stat: &Stat) -> DirStat {
        DirStat { dev: self.device(stat), ..DirStat::from(stat) }
    }

    fn device(&self, stat: &Stat) -> u64 {
        match self.stands_for {
            Some((own, meant)) if stat.dev == own => meant,
            _ => stat.dev,
        }
    }

    pub(super) fn hand(&self) -> Hand<'_> {
        Hand {
            job: self,
            worker: self.batch.map(Batch::worker),
            findings: Findings::default(),
            names: Vec::new(),
            buffer: Vec::new(),
            path: Vec::new(),
        }
    }

    /// Counts entries that were looked at; false once there are too many.
    pub(super) fn admit(&self, count: u64) -> bool {
        self.entries.fetch_add(count, Ordering::Relaxed) + count <= self.options.limits.entries_max
    }

    /// Whether so many more bytes of content would exceed the limit.
    pub(super) fn is_too_much(&self, bytes: u64) -> bool {
        // What a filesystem keeps in a snapshot of its own is written nowhere.
        if self.stands_for.is_some() {
            return false;
        }
        let so_far = self.batch.map_or(0, Batch::new_content_bytes);
        so_far.saturating_add(bytes) > self.options.limits.new_bytes_max
    }

    pub(super) fn check_stop(&self) -> Result<()> {
        if self.options.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Whether the name is that of a temporary file of belay's own.
    pub(super) fn is_own(&self, name: &[u8]) -> bool {
        self.options.own_prefixes.iter().any(|prefix| name.starts_with(prefix))
    }

    /// Whether a restore is about to change this path, so that it is captured whatever the filter says.
    pub(super) fn must_keep(&self, path: &[u8]) -> Result<bool> {
        let Some(keep) = self.options.keep else { return Ok(false) };
        let entry = View::stored(self.store).lookup(&keep.root, path)?;
        Ok(entry.is_some_and(|entry| !entry.is_opaque()))
    }
}

impl Job<'_> {
    /// Whether another filesystem is mounted at `path` and does not answer in time; asked only if mounts are entered.
    pub(super) fn is_hung(&self, path: &[u8]) -> Result<bool> {
        if !self.options.cross_mounts || !self.is_mount_point(path) {
            return Ok(false);
        }
        let root = self.root.try_clone().map_err(Error::workspace("open", b"."))?;
        let (answer, answered) = std::sync::mpsc::channel();
        let path = path.to_vec();
        // Nobody waits for this thread: the kernel may hold it for as long as the other side is silent.
        std::thread::spawn(move || {
            let listed = root.dir(&path).and_then(|dir| dir.list(&mut Vec::new(), &mut |_, _, _| {}));
            let _ = answer.send(listed.is_ok());
        });
        let limit = std::time::Duration::from_secs(self.options.limits.answer_seconds_max);
        Ok(answered.recv_timeout(limit).is_err())
    }

    /// Asks only the directory around it, which has answered before.
    fn is_mount_point(&self, path: &[u8]) -> bool {
        let around = self.root.subdir(parent_of(path)).map(|root| root.crossing(false));
        let opened = around.and_then(|root| root.dir_path_only(name_of(path)));
        opened.err().and_then(|error| error.raw_os_error()) == Some(EXDEV)
    }
}

/// Names and values of extended attributes.
type Xattrs = Vec<(Vec<u8>, Vec<u8>)>;

/// What one thread has for itself.
pub(super) struct Hand<'a> {
    pub(super) job: &'a Job<'a>,
    pub(super) worker: Option<Worker<'a>>,
    pub(super) findings: Findings,
    /// For listing directories.
    pub(super) names: Vec<u8>,
    /// For reading files.
    pub(super) buffer: Vec<u8>,
    /// The file that is being read, if a copy keeps its content.
    pub(super) path: Vec<u8>,
}

/// What threads found, to be put together at the end.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) gaps: Vec<Gap>,
    pub(super) linked: Vec<Linked>,
    pub(super) records: Vec<Vec<u8>>,
    /// Nodes of a preview, which no store has; of a capture, those that changed.
    pub(super) nodes: HashMap<Hash, Arc<Node>>,
    /// The pages of the large ones that changed.
    pub(super) lists: HashMap<Hash, Arc<Pages>>,
    pub(super) files_read: u64,
}

impl Findings {
    pub(super) fn absorb(&mut self, other: Findings) {
        self.gaps.extend(other.gaps);
        self.linked.extend(other.linked);
        self.records.extend(other.records);
        self.nodes.extend(other.nodes);
        self.lists.extend(other.lists);
        self.files_read += other.files_read;
    }
}

/// A directory whose entries are all known.
pub(super) struct Assembled {
    pub(super) path: Vec<u8>,
    pub(super) proof: DirStat,
    pub(super) rules: u64,
    pub(super) flags: u8,
    pub(super) entries: Vec<(Entry, EntryStat)>,
}

/// The same of a directory that was known before.
pub(super) struct Patched {
    pub(super) path: Vec<u8>,
    /// The cache's record of it.
    pub(super) record: Vec<u8>,
    pub(super) proof: DirStat,
    pub(super) rules: u64,
    pub(super) flags: u8,
    pub(super) entries: Entries,
}

impl Hand<'_> {
    pub(super) fn gap(&mut self, path: &[u8], kind: GapKind, detail: impl Into<String>) {
        self.findings.gaps.push(Gap { path: path.to_vec(), kind, detail: detail.into() });
    }

    /// The attributes of what is captured; if they cannot be read, that is said.
    pub(super) fn xattrs(&mut self, path: &[u8], read: io::Result<Xattrs>) -> Option<Xattrs> {
        match read.map_err(refusal) {
            Ok(xattrs) => return Some(xattrs),
            // It went away after its content was read.
            Err(Ok(Refusal::Vanished)) => return Some(Vec::new()),
            Err(Ok(Refusal::Unreadable(detail))) => self.gap(path, GapKind::Attributes, detail),
            Err(Ok(Refusal::Mount)) => self.gap(path, GapKind::Attributes, ""),
            Err(Err(error)) => self.gap(path, GapKind::Attributes, belay_sys::plain(&error)),
        }
        None
    }

    pub(super) fn put(&mut self, kind: ObjectKind, bytes: &[u8]) -> Result<Hash> {
        match &mut self.worker {
            Some(worker) => worker.put(kind, bytes).map(|(key, _)| key),
            None => Ok(self.job.store.algorithm().hash(bytes)),
        }
    }

    pub(super) fn put_as(&mut self, kind: ObjectKind, key: &Hash, bytes: &[u8]) -> Result<()> {
        match &mut self.worker {
            Some(worker) => worker.put_as(kind, key, bytes).map(drop),
            None => Ok(()),
        }
    }

    /// Keeps content that was read at an offset of the file.
    pub(super) fn keep(&mut self, key: &Hash, bytes: &[u8], at: u64) -> Result<()> {
        match (self.job.copier, &mut self.worker) {
            (Some((_, copier)), Some(worker)) if copier.tells_late() => worker.note(key, bytes.len() as u32),
            (Some((copy, _)), Some(worker)) => {
                let pointer = Pointer { copy: copy.to_owned(), path: self.path.clone(), frame: None, at };
                worker.point(key, &pointer, bytes.len() as u32)
            }
            _ => self.put_as(ObjectKind::Content, key, bytes),
        }
    }

    /// Remembers a path whose inode has other names, or runs as root: whoever confines a program looks at both.
    pub(super) fn note_linked(&mut self, path: &[u8], stat: &Stat) {
        if (stat.nlink > 1 || stat.runs_as_root()) && stat.file_type != FileType::Dir {
            self.findings.linked.push(Linked { dev: self.job.device(stat), ino: stat.ino, path: path.to_vec() });
        }
    }

    /// Stores the node of a directory and its record, and returns what the directory is.
    pub(super) fn assemble(&mut self, mut dir: Assembled) -> Result<Kind> {
        dir.entries.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        let (entries, proofs): (Vec<_>, Vec<_>) = dir.entries.into_iter().unzip();
        let node = Node { entries };
        let (key, _) = node.store_after(None, &mut |bytes| self.put(ObjectKind::Tree, bytes))?;
        let Assembled { path, proof: dir, rules, flags, .. } = dir;
        let identity = node.identity(self.job.store.algorithm());
        let totals = node.totals();
        if self.worker.is_some() {
            let record = RecordBuilder { path, dir, node: key, identity, totals, rules, flags, entries: proofs };
            self.findings.records.push(record.build());
        } else if !self.job.store.contains(&key)? {
            // A preview of a large tree would else keep all of it in memory.
            self.findings.nodes.insert(key, Arc::new(node));
        }
        Ok(Kind::Dir { node: key, identity, files: totals.0, bytes: totals.1 })
    }

    /// Does the same for a directory of which only some entries changed.
    pub(super) fn reassemble(&mut self, dir: Patched) -> Result<Kind> {
        let Patched { path, record: before, proof: dir, rules, flags, entries } = dir;
        let key = Record::checked(&before).map(|record| record.node());
        let known = key.and_then(|key| self.job.store.pages_of(&key).ok().flatten());
        // The next capture begins with what is made of it now, and who compares the two reads pages.
        if let (Some(key), Some(_), Some(_)) = (key, &known, &self.worker) {
            self.job.store.forget_node(&key);
        }
        let changed = entries.changed();
        let (entries, proofs) = entries.finish();
        let node = Node { entries };
        let known = known.as_deref().map(|pages| (pages, changed.as_slice()));
        let (key, pages) = node.store_after(known, &mut |bytes| self.put(ObjectKind::Tree, bytes))?;
        let identity = node.identity(self.job.store.algorithm());
        let totals = node.totals();
        if self.worker.is_some() {
            let record = RecordBuilder { path, dir, node: key, identity, totals, rules, flags, entries: proofs };
            self.findings.records.push(record.build_after(&before, node.entries.len()));
        }
        // A preview needs all that no store has; the next capture begins with a few, and they are kept for it.
        if self.worker.is_none() || self.findings.nodes.len() < NODES_KEPT_MAX {
            self.findings.nodes.insert(key, Arc::new(node));
            self.findings.lists.extend(pages.map(|pages| (key, pages)));
        }
        Ok(Kind::Dir { node: key, identity, files: totals.0, bytes: totals.1 })
    }
}

/// The entry for something that was seen and is not captured.
pub(super) fn opaque(name: &[u8], stat: Option<&Stat>, file_type: FileType, reason: Opaque) -> (Entry, EntryStat) {
    let meta = stat.map(|stat| meta_of(stat, Some(Vec::new()))).unwrap_or_default();
    let kind = Kind::Opaque { file_type, reason };
    let zero = Time { sec: 0, nsec: 0 };
    // The cache keeps the reason where the inode would be, to know what to look at again.
    let ino = Opaque::ALL.iter().position(|one| *one == reason).expect("the table lists every reason") as u64;
    let blank =
        EntryStat { name: name.to_vec(), file_type, ino, size: 0, mtime: zero, ctime: zero, flags: flags::OPAQUE };
    (Entry { name: name.to_vec(), meta, kind }, blank)
}

/// Its properties, if its attributes are these, or unknown.
pub(super) fn meta_of(stat: &Stat, xattrs: Option<Vec<(Vec<u8>, Vec<u8>)>>) -> Meta {
    let Stat { uid, gid, mtime, immutable, append_only, .. } = *stat;
    let (xattrs_unread, xattrs) = (xattrs.is_none(), xattrs.unwrap_or_default());
    Meta { mode: stat.mode as u16 & 0o7777, uid, gid, mtime, immutable, append_only, xattrs, xattrs_unread }
}

/// Whether a change right after `since` could leave the same times.
pub(super) fn is_racy(mtime: Time, ctime: Time, since: Time) -> bool {
    let nanoseconds = |time: Time| i128::from(time.sec) * 1_000_000_000 + i128::from(time.nsec);
    let margin = if ctime.nsec == 0 { COARSE_RACE_NANOSECONDS } else { RACE_NANOSECONDS };
    nanoseconds(ctime.max(mtime)) + margin >= nanoseconds(since)
        // A modification time in the future is somebody's wish; only the kernel's own time counts then.
        && nanoseconds(ctime) + margin >= nanoseconds(since)
}

pub(super) fn name_of(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

pub(super) fn parent_of(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(b"", |at| &path[..at])
}

pub(super) fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    if dir.is_empty() { name.to_vec() } else { [dir, b"/", name].concat() }
}

/// Why something could not be opened or read, as far as that is not belay's own failure.
pub(super) enum Refusal {
    Vanished,
    Mount,
    Unreadable(String),
}

/// Sorts an error of the workspace: what is the tree's own condition, and what must stop the capture.
pub(super) fn refusal(error: io::Error) -> std::result::Result<Refusal, io::Error> {
    const ELOOP: i32 = 40;
    const ENXIO: i32 = 6;
    const EMFILE: i32 = 24;
    const ENFILE: i32 = 23;
    const ENOMEM: i32 = 12;
    match error.raw_os_error() {
        Some(EXDEV) => Ok(Refusal::Mount),
        Some(EMFILE | ENFILE | ENOMEM) => Err(error),
        Some(ELOOP | ENXIO) => Ok(Refusal::Vanished),
        _ if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(Refusal::Vanished),
        // It was a file when it was listed and is something else now.
        _ if error.kind() == io::ErrorKind::InvalidInput => Ok(Refusal::Vanished),
        _ => Ok(Refusal::Unreadable(belay_sys::plain(error))),
    }
}

/// Opens a regular file of a directory and describes it, or says why not.
pub(super) fn open_file(
    dir: &Dir,
    name: &[u8],
) -> std::result::Result<std::result::Result<(File, Stat), Refusal>, io::Error> {
    match dir.open_and_stat(name) {
        Ok(opened) => Ok(Ok(opened)),
        Err(error) => refusal(error).map(Err),
    }
}
