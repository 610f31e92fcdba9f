//! Captures whole directories: a stack of tasks, several threads, nodes built from the leaves up.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use belay_sys::{Dir, FileType, Stat};

use super::Found;
use super::file::WHOLE_BYTES_MAX;
use super::hand::{Assembled, Findings, Hand, Job, Refusal, is_racy, join, meta_of, name_of, opaque, refusal};
use super::judge::Decision;
use super::sqlite::Item;
use crate::error::{Error, Result};
use crate::filter::Rules;
use crate::history::content_of;
use crate::manifest::GapKind;
use crate::objects::Store;
use crate::statcache::{DirStat, EntryStat, Record, Update, flags};
use crate::tree::{Entry, Node, Opaque};

/// A directory with more files is shared among the threads in parts of this size.
const FILES_PER_TASK: usize = 128;

/// Captures the whole workspace.
pub(super) fn everything(job: &Job<'_>) -> Result<Found> {
    let start = Start { path: Vec::new(), rules: job.judge.rules() };
    let (mut roots, mut findings) = super::guess::beside(job, || run(job, vec![start]))?;
    let Some((root, _)) = roots.pop().flatten() else {
        let gone = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(Error::workspace("open", b".")(gone));
    };
    if root.is_opaque() {
        let why = findings.gaps.iter().find(|gap| gap.path.is_empty()).map(|gap| gap.detail.clone());
        let denied = std::io::Error::new(std::io::ErrorKind::PermissionDenied, why.unwrap_or_default());
        return Err(Error::workspace("list", b".")(denied));
    }
    let (records, linked) = (std::mem::take(&mut findings.records), findings.linked.clone());
    let update = if job.batch.is_some() { Update::All { records, linked } } else { Update::Nothing };
    Ok(Found { root, findings, update })
}

/// A directory to capture with everything beneath it, and the rules around it.
pub(super) struct Start {
    pub(super) path: Vec<u8>,
    pub(super) rules: Arc<Rules>,
}

type Taken = Option<(Entry, EntryStat)>;

/// Captures directories; what became of each is in the order of `starts`.
pub(super) fn run(job: &Job<'_>, starts: Vec<Start>) -> Result<(Vec<Taken>, Findings)> {
    let count = starts.len();
    let tasks = starts.into_iter().enumerate().map(|(slot, start)| Task::Dir(Open::new(start, Above::Slot(slot))));
    let queue = Queue { tasks: tasks.collect(), active: 0, failed: None };
    let engine = Engine {
        job,
        queue: Mutex::new(queue),
        ready: Condvar::new(),
        slots: Mutex::new((0..count).map(|_| None).collect()),
    };
    let findings = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..job.threads).map(|_| scope.spawn(|| engine.work())).collect();
        let mut all = Findings::default();
        for thread in threads {
            all.absorb(thread.join().expect("a thread of the walk does not panic"));
        }
        all
    });
    match engine.queue.into_inner().expect("no holder panics").failed {
        Some(error) => Err(error),
        None => Ok((engine.slots.into_inner().expect("no holder panics"), findings)),
    }
}

struct Engine<'a> {
    job: &'a Job<'a>,
    queue: Mutex<Queue>,
    ready: Condvar,
    slots: Mutex<Vec<Taken>>,
}

struct Queue {
    tasks: Vec<Task>,
    active: usize,
    failed: Option<Error>,
}

enum Task {
    /// List a directory.
    Dir(Arc<Open>),
    /// Capture some of its files.
    Files(Arc<Open>, Arc<Dir>, Vec<Item>),
}

/// Who waits for a directory.
enum Above {
    Dir(Arc<Open>),
    Slot(usize),
}

/// A directory that is being captured.
struct Open {
    path: Vec<u8>,
    rules: Arc<Rules>,
    above: Above,
    pending: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: Vec<(Entry, EntryStat)>,
    own: Option<Own>,
}

/// What is known of the directory itself.
struct Own {
    entry: (Entry, EntryStat),
    proof: DirStat,
    rules: u64,
    flags: u8,
}

impl Open {
    fn new(start: Start, above: Above) -> Arc<Open> {
        let (pending, state) = (AtomicUsize::new(1), Mutex::default());
        Arc::new(Open { path: start.path, rules: start.rules, above, pending, state })
    }
}

impl Engine<'_> {
    fn work(&self) -> Findings {
        let mut hand = self.job.hand();
        while let Some(task) = self.next() {
            let result = match task {
                Task::Dir(open) => self.list(&mut hand, &open),
                Task::Files(open, dir, items) => self.files(&mut hand, &open, &dir, items),
            };
            self.done(result);
        }
        let Hand { worker, findings, .. } = hand;
        if let Some(Err(error)) = worker.map(crate::objects::Worker::done) {
            self.fail(error);
        }
        findings
    }

    fn next(&self) -> Option<Task> {
        let mut queue = self.queue.lock().expect("no holder panics");
        loop {
            if queue.failed.is_some() {
                return None;
            }
            if let Some(task) = queue.tasks.pop() {
                queue.active += 1;
                return Some(task);
            }
            if queue.active == 0 {
                self.ready.notify_all();
                return None;
            }
            queue = self.ready.wait(queue).expect("no holder panics");
        }
    }

    fn done(&self, result: Result<()>) {
        if let Err(error) = result {
            self.fail(error);
        }
        let mut queue = self.queue.lock().expect("no holder panics");
        queue.active -= 1;
        if queue.active == 0 && queue.tasks.is_empty() {
            self.ready.notify_all();
        }
    }

    fn fail(&self, error: Error) {
        self.queue.lock().expect("no holder panics").failed.get_or_insert(error);
        self.ready.notify_all();
    }

    fn push(&self, tasks: Vec<Task>) {
        if !tasks.is_empty() {
            self.queue.lock().expect("no holder panics").tasks.extend(tasks);
            self.ready.notify_all();
        }
    }

    /// Lists a directory, hands its subdirectories out, and captures its files.
    fn list(&self, hand: &mut Hand<'_>, open: &Arc<Open>) -> Result<()> {
        let job = self.job;
        job.check_stop()?;
        let since = (job.options.clock)();
        let dir = match job.root.dir(&open.path) {
            Ok(dir) => dir,
            Err(error) => {
                let why = refusal(error).map_err(Error::workspace("open", &open.path))?;
                let left = without_dir(job, hand, &open.path, why);
                return self.deliver(hand, open, left);
            }
        };
        let stat = dir.stat_self().map_err(Error::workspace("examine", &open.path))?;
        let mut names = Vec::new();
        let mut buffer = std::mem::take(&mut hand.names);
        let listed = dir.list(&mut buffer, &mut |name, file_type, _| names.push((name.to_vec(), file_type)));
        hand.names = buffer;
        if let Err(error) = listed {
            let why = refusal(error).map_err(Error::workspace("list", &open.path))?;
            let left = without_dir(job, hand, &open.path, why);
            return self.deliver(hand, open, left);
        }
        let mut over = Vec::new();
        if !job.admit(names.len() as u64) {
            // A snapshot has a top; of too large a one it holds as much as it may, and names the rest.
            if !open.path.is_empty() {
                hand.gap(&open.path, GapKind::OverLimit, format!("{} entries", names.len()));
                let left = opaque(name_of(&open.path), Some(&stat), FileType::Dir, Opaque::OverLimit);
                return self.deliver(hand, open, Some(left));
            }
            names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            let room = usize::try_from(job.options.limits.entries_max).unwrap_or(usize::MAX).min(names.len());
            over = names.split_off(room);
        }
        names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let (rules, has_rules) = job.rules_inside(&open.rules, &dir, &open.path);
        let mut sorter = Sorter {
            job,
            open,
            rules: &rules,
            known: Known::of(job, &open.path),
            items: Vec::new(),
            tasks: Vec::new(),
            left: Vec::new(),
            forced: false,
        };
        for (name, file_type) in &names {
            sorter.sort(hand, &dir, name, *file_type)?;
        }
        for (name, file_type) in over {
            sorter.leave_over(hand, &name, file_type);
        }
        let Sorter { items, tasks: mut children, left, forced, .. } = sorter;
        let name = name_of(&open.path).to_vec();
        let xattrs = hand.xattrs(&open.path, dir.self_xattrs());
        let racy = if xattrs.is_none() || is_racy(stat.mtime, stat.ctime, since) { flags::RACY } else { 0 };
        let own = Own {
            entry: (
                // The kind is put in when the node is known.
                Entry { name: name.clone(), meta: meta_of(&stat, xattrs), kind: crate::tree::Kind::Fifo },
                EntryStat::new(name, &stat, 0),
            ),
            proof: job.proof(&stat),
            rules: rules.fingerprint(),
            flags: racy | if forced { flags::FORCED } else { 0 } | if has_rules { flags::RULES } else { 0 },
        };
        {
            let mut state = open.state.lock().expect("no holder panics");
            state.own = Some(own);
            state.entries.extend(left);
        }
        open.pending.fetch_add(children.len(), Ordering::SeqCst);
        let dir = Arc::new(dir);
        let mut items = items;
        while items.len() > FILES_PER_TASK + FILES_PER_TASK / 2 {
            let part = super::sqlite::split_off(&mut items, FILES_PER_TASK);
            open.pending.fetch_add(1, Ordering::SeqCst);
            children.push(Task::Files(Arc::clone(open), Arc::clone(&dir), part));
        }
        self.push(children);
        self.files(hand, open, &dir, items)
    }

    fn files(&self, hand: &mut Hand<'_>, open: &Arc<Open>, dir: &Dir, items: Vec<Item>) -> Result<()> {
        let since = (self.job.options.clock)();
        // What is read in parts is counted as it is read.
        let is_whole = |item: &&Item| item.known.is_some() || item.stat.size <= WHOLE_BYTES_MAX;
        let (count, bytes) = (items.len() as u64, items.iter().filter(is_whole).map(|item| item.stat.size).sum());
        let taken = hand.take_all(dir, &open.path, items, since)?;
        self.job.options.progress.advance(count, bytes);
        open.state.lock().expect("no holder panics").entries.extend(taken);
        self.release(hand, Arc::clone(open))
    }

    /// Tells the one above what became of a directory that has no node.
    fn deliver(&self, hand: &mut Hand<'_>, open: &Arc<Open>, taken: Taken) -> Result<()> {
        match &open.above {
            Above::Slot(slot) => {
                self.slots.lock().expect("no holder panics")[*slot] = taken;
                Ok(())
            }
            Above::Dir(above) => {
                {
                    let mut state = above.state.lock().expect("no holder panics");
                    // It may be back at once if one further up was away, which no time of the one above it tells.
                    if let Some(own) = state.own.as_mut().filter(|_| taken.is_none()) {
                        own.flags |= flags::RACY;
                    }
                    state.entries.extend(taken);
                }
                self.release(hand, Arc::clone(above))
            }
        }
    }

    /// One part of a directory is done; if it was the last, the node is built, and so on upwards.
    fn release(&self, hand: &mut Hand<'_>, mut open: Arc<Open>) -> Result<()> {
        while open.pending.fetch_sub(1, Ordering::SeqCst) == 1 {
            let State { entries, own } = std::mem::take(&mut *open.state.lock().expect("no holder panics"));
            let own = own.expect("a directory is listed before it is released");
            let path = open.path.clone();
            let kind =
                hand.assemble(Assembled { path, proof: own.proof, rules: own.rules, flags: own.flags, entries })?;
            let taken = (Entry { kind, ..own.entry.0 }, own.entry.1);
            let above = match &open.above {
                Above::Slot(slot) => {
                    self.slots.lock().expect("no holder panics")[*slot] = Some(taken);
                    return Ok(());
                }
                Above::Dir(above) => Arc::clone(above),
            };
            above.state.lock().expect("no holder panics").entries.push(taken);
            open = above;
        }
        Ok(())
    }
}

/// What stands for a directory that cannot be opened or listed.
pub(super) fn without_dir(job: &Job<'_>, hand: &mut Hand<'_>, path: &[u8], why: Refusal) -> Taken {
    let stat: Option<Stat> = match why {
        // Whatever is mounted there may not answer.
        Refusal::Mount => None,
        _ => job.root.dir_path_only(path).and_then(|dir| dir.stat_self()).ok(),
    };
    let (kind, reason, detail) = match why {
        Refusal::Vanished => {
            hand.gap(path, GapKind::Vanished, "");
            return None;
        }
        Refusal::Mount => (GapKind::Mount, Opaque::Mount, String::new()),
        Refusal::Unreadable(detail) => (GapKind::Unreadable, Opaque::Unreadable, detail),
    };
    hand.gap(path, kind, detail);
    Some(opaque(name_of(path), stat.as_ref(), FileType::Dir, reason))
}

/// What the cache knows of a directory's entries.
pub(super) struct Known {
    node: Option<Arc<Node>>,
    proofs: HashMap<Vec<u8>, EntryStat>,
}

impl Known {
    pub(super) fn of(job: &Job<'_>, path: &[u8]) -> Known {
        let nothing = Known { node: None, proofs: HashMap::new() };
        let Some(bytes) = job.cache.and_then(|cache| cache.find(path)) else { return nothing };
        let Some(record) = Record::parse(&bytes) else { return nothing };
        // A node that cannot be read only costs reading the files again.
        let Ok(node) = job.store.node(&record.node()) else { return nothing };
        let proofs = record.entries().map(|entry| (entry.name.to_vec(), entry.to_stat())).collect();
        Known { node: Some(node), proofs }
    }

    /// The entry as it was captured, if the inode is unchanged and the store has its content.
    pub(super) fn entry(&self, job: &Job<'_>, name: &[u8], stat: &Stat) -> Taken {
        let proof = self.proofs.get(name).filter(|proof| proof.proves(stat))?;
        let entry = self.node.as_ref()?.get(name)?;
        (!job.doubts || is_there(job.store, entry)).then(|| (entry.clone(), proof.clone()))
    }
}

/// Whether the store has all that holds the bytes of an entry.
fn is_there(store: &Store, entry: &Entry) -> bool {
    let mut objects = BTreeSet::new();
    let is_listed = content_of(store, entry, &mut objects).is_ok();
    is_listed && objects.iter().all(|key| store.contains(key).unwrap_or(false))
}

/// Sorts the names of a directory into what is captured, what is left, and what is a directory of its own.
struct Sorter<'a> {
    job: &'a Job<'a>,
    open: &'a Arc<Open>,
    rules: &'a Arc<Rules>,
    known: Known,
    items: Vec<Item>,
    tasks: Vec<Task>,
    left: Vec<(Entry, EntryStat)>,
    forced: bool,
}

impl Sorter<'_> {
    /// Leaves what comes behind the last entry that the limit allows.
    fn leave_over(&mut self, hand: &mut Hand<'_>, name: &[u8], file_type: FileType) {
        if !self.job.is_own(name) {
            hand.gap(&join(&self.open.path, name), GapKind::OverLimit, "");
            self.left.push(opaque(name, None, file_type, Opaque::OverLimit));
        }
    }

    fn sort(&mut self, hand: &mut Hand<'_>, dir: &Dir, name: &[u8], file_type: FileType) -> Result<()> {
        if self.job.is_own(name) {
            return Ok(());
        }
        let path = join(&self.open.path, name);
        if file_type == FileType::Dir && self.job.is_hung(&path)? {
            hand.gap(&path, GapKind::Hung, "");
            self.left.push(opaque(name, None, file_type, Opaque::Hung));
            return Ok(());
        }
        // A directory is not examined by name: another filesystem may be mounted there, and may not answer.
        let stat = match file_type {
            FileType::Dir => None,
            _ => match dir.stat(name) {
                Ok(stat) => Some(stat),
                Err(error) => {
                    match refusal(error).map_err(Error::workspace("examine", &path))? {
                        Refusal::Vanished => hand.gap(&path, GapKind::Vanished, ""),
                        Refusal::Mount => self.left.push(opaque(name, None, file_type, Opaque::Mount)),
                        Refusal::Unreadable(detail) => {
                            hand.gap(&path, GapKind::Unreadable, detail);
                            self.left.push(opaque(name, None, file_type, Opaque::Unreadable));
                        }
                    }
                    return Ok(());
                }
            },
        };
        let is_dir = stat.as_ref().is_none_or(|stat| stat.file_type == FileType::Dir);
        let inside = match self.job.decide(self.rules, dir, &path, name, is_dir)? {
            Decision::Leave(reason) => {
                hand.gap(&path, gap_kind(reason), "");
                let file_type = stat.as_ref().map_or(FileType::Dir, |stat| stat.file_type);
                self.left.push(opaque(name, stat.as_ref(), file_type, reason));
                return Ok(());
            }
            Decision::Take { rules, forced } => {
                self.forced |= forced;
                rules.unwrap_or_else(|| Arc::clone(self.rules))
            }
        };
        match stat {
            Some(stat) if !is_dir => {
                let known = self.known.entry(self.job, name, &stat);
                self.items.push(Item { name: name.to_vec(), stat, known });
            }
            _ => {
                let start = Start { path, rules: inside };
                self.tasks.push(Task::Dir(Open::new(start, Above::Dir(Arc::clone(self.open)))));
            }
        }
        Ok(())
    }
}

pub(super) fn gap_kind(reason: Opaque) -> GapKind {
    match reason {
        Opaque::Unreadable => GapKind::Unreadable,
        Opaque::Hung => GapKind::Hung,
        Opaque::Mount => GapKind::Mount,
        Opaque::Regenerable => GapKind::Regenerable,
        Opaque::GitIgnored => GapKind::GitIgnored,
        Opaque::Excluded => GapKind::Excluded,
        Opaque::OverLimit => GapKind::OverLimit,
    }
}
