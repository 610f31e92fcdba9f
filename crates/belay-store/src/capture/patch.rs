//! Makes a new tree out of a known one and the directories that changed.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use belay_sys::{Dir, FileType};

use super::Found;
use super::check::{DirWork, Work};
use super::descend::{Start, gap_kind, run, without_dir};
use super::entries::Entries;
use super::hand::{
    EXDEV, Findings, Hand, Job, Patched, Refusal, is_racy, join, meta_of, name_of, opaque, parent_of, refusal,
};
use super::judge::Decision;
use super::sqlite::Item;
use crate::error::{Error, Result};
use crate::filter::Rules;
use crate::manifest::{Gap, GapKind, Manifest};
use crate::statcache::{Cache, DirStat, EntryStat, EntryView, Linked, Record, Update, flags};
use crate::tree::{Entry, Kind, Meta, Opaque};

/// Of a directory of more entries only what changed is written to the cache.
const ENTRIES_KNOWN_MAX: usize = 64;

/// To look at so many directories is worth another thread.
const MANY_DIRS: usize = 24;

/// What to look at if only `paths` changed; `None` if the cache is not about the state they changed from.
pub(super) fn work_for(job: &Job<'_>, cache: &Cache, paths: &[Vec<u8>]) -> Option<Work> {
    let mut work = Work::new();
    work.entry(Vec::new()).or_default();
    for mut path in paths.iter().map(Vec::as_slice).chain(unproven(job, cache)) {
        while !path.is_empty() && !cache.contains(parent_of(path)) {
            path = parent_of(path);
        }
        if path.is_empty() {
            work.entry(Vec::new()).or_default().relist = true;
        } else {
            work.entry(parent_of(path).to_vec()).or_default().names.insert(name_of(path).to_vec());
        }
    }
    let root = cache.find(b"")?;
    (Record::parse(&root)?.rules() == job.rules_at(b"").fingerprint()).then_some(work)
}

/// The files with other names, through which they may have changed unseen, but for those that are proven to be as they were.
fn unproven<'a>(job: &Job<'_>, cache: &'a Cache) -> Vec<&'a [u8]> {
    let mut by_dir: BTreeMap<&[u8], Vec<&'a [u8]>> = BTreeMap::new();
    for one in &cache.linked {
        by_dir.entry(parent_of(&one.path)).or_default().push(&one.path);
    }
    let is_proven = |dir: &Dir, proofs: &Proofs<'_>, path: &[u8]| {
        let proof = proofs.get(name_of(path));
        proof.is_some_and(|proof| dir.stat(name_of(path)).is_ok_and(|stat| proof.proves(&stat)))
    };
    let left_of = |dirs: &[(&[u8], Vec<&'a [u8]>)]| -> Vec<&'a [u8]> {
        let mut left = Vec::new();
        for (dir, paths) in dirs {
            let record = cache.find_checked(dir);
            let proofs = record.as_deref().and_then(Record::checked).map(|record| Proofs::of(&record));
            let known = proofs.zip(job.root.dir_path_only(dir).ok());
            let is_left = |path: &&&[u8]| !known.as_ref().is_some_and(|(proofs, dir)| is_proven(dir, proofs, path));
            left.extend(paths.iter().filter(is_left));
        }
        left
    };
    let dirs: Vec<_> = by_dir.into_iter().collect();
    if dirs.len() < MANY_DIRS {
        return left_of(&dirs);
    }
    let (mine, others) = dirs.split_at(dirs.len() / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| left_of(others));
        let mut left = left_of(mine);
        left.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        left
    })
}

/// Captures what `work` names and keeps the rest.
pub(super) fn patch(job: &Job<'_>, cache: &Cache, work: Work) -> Result<Found> {
    let old = Manifest::read(job.store, &cache.describes)?;
    let is_dirty_set = matches!(job.options.source, super::Source::Dirty { .. });
    let looked = look_again(job, work, is_dirty_set)?;
    let Some(mut looked) = looked else { return super::descend::everything(job) };
    let mut starts = std::mem::take(&mut looked.starts);
    let mut whole: HashSet<Vec<u8>> = looked.gone.iter().cloned().collect();
    whole.extend(starts.iter().map(|start| start.path.clone()));
    let is_superseded = |path: &[u8]| dirs_above(path).any(|dir| whole.contains(dir));
    starts.retain(|start| !is_superseded(&start.path));
    // What is captured whole, or left now, may be another directory than the one whose entries were looked at.
    looked.dirs.retain(|path, _| !whole.contains(path) && !is_superseded(path));
    looked.findings.linked.retain(|one| !is_superseded(&one.path));
    looked.findings.gaps.retain(|gap| !is_superseded(&gap.path));
    let new_dirs: Vec<Vec<u8>> = starts.iter().map(|start| start.path.clone()).collect();
    if !starts.is_empty() {
        let (taken, findings) = run(job, starts)?;
        looked.findings.absorb(findings);
        for (path, taken) in new_dirs.iter().zip(taken) {
            let above = looked.dirs.get_mut(parent_of(path)).expect("its parent was looked at");
            if taken.is_none() {
                above.flags |= flags::RACY;
            }
            above.entries.set(name_of(path), taken);
        }
    }
    if is_dirty_set && has_new_twin(cache, &looked.findings.linked) {
        return super::descend::everything(job);
    }
    let dirs = looked.dirs.iter().map(|(path, again)| (path.clone(), again.work.clone())).collect();
    let seen = Seen { dirs, whole };
    let mut hand = job.hand();
    let root = rebuild(&mut hand, &old, &mut looked)?;
    if let Some(worker) = hand.worker.take() {
        worker.done()?;
    }
    looked.findings.absorb(hand.findings);
    finish(job, cache, &old, root, seen, looked.findings)
}

/// Whether a file has another name since, which nobody spoke of although what was written through one is in both.
fn has_new_twin(cache: &Cache, linked: &[Linked]) -> bool {
    let known: HashSet<(u64, u64)> = cache.linked.iter().map(|one| (one.dev, one.ino)).collect();
    linked.iter().any(|one| !known.contains(&(one.dev, one.ino)))
}

/// Directories that were looked at again.
#[derive(Default)]
struct Looked {
    dirs: BTreeMap<Vec<u8>, Again>,
    starts: Vec<Start>,
    gone: Vec<Vec<u8>>,
    findings: Findings,
}

/// A directory as it is now.
struct Again {
    /// The cache's record of it.
    record: Vec<u8>,
    entries: Entries,
    proof: DirStat,
    rules: u64,
    flags: u8,
    /// Its own properties, if it was examined.
    own: Option<(Meta, EntryStat)>,
    work: DirWork,
}

impl Again {
    /// Whether nothing is to be said of it that is not known.
    fn is_as_it_was(&self) -> bool {
        let known = Record::checked(&self.record).map(|record| (record.dir(), record.rules(), record.flags()));
        let is_racy = self.flags & flags::RACY != 0;
        !is_racy && self.entries.is_as_it_was() && known == Some((self.proof, self.rules, self.flags))
    }
}

/// Looks at the directories in parallel; `None` if everything has to be judged again.
fn look_again(job: &Job<'_>, mut work: Work, is_dirty_set: bool) -> Result<Option<Looked>> {
    let mut all = Looked::default();
    let mut lost: HashSet<Vec<u8>> = HashSet::new();
    let mut rejudged: HashSet<Vec<u8>> = HashSet::new();
    // A directory that is gone makes its parent worth another look.
    while !work.is_empty() {
        let list: Vec<(Vec<u8>, DirWork)> = std::mem::take(&mut work).into_iter().collect();
        let next = AtomicUsize::new(0);
        let results = Mutex::new(Vec::new());
        let threads = if list.len() > 8 { job.threads } else { 1 };
        let turn = || -> Result<Findings> {
            let mut hand = job.hand();
            while let Some((path, work)) = list.get(next.fetch_add(1, Ordering::Relaxed)) {
                let one = look(&mut hand, path, work, is_dirty_set)?;
                results.lock().expect("no holder panics").push((path.clone(), one));
            }
            if let Some(worker) = hand.worker.take() {
                worker.done()?;
            }
            Ok(hand.findings)
        };
        let findings: Vec<Result<Findings>> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(turn)).collect();
            let mine = turn();
            std::iter::once(mine).chain(others.into_iter().map(|t| t.join().expect("a look does not panic"))).collect()
        });
        for one in findings {
            all.findings.absorb(one?);
        }
        let results = results.into_inner().expect("no holder panics");
        lost.extend(results.iter().filter(|(_, one)| matches!(one, One::Gone)).map(|(path, _)| path.clone()));
        // First what is there, in whatever order it was seen: where one of them is looked at once more because of another,
        // what was to be seen in it is looked at again, too.
        let mut absent = Vec::new();
        for (path, one) in results {
            match one {
                One::Here(again, starts, gone) => {
                    all.starts.extend(starts);
                    all.gone.extend(gone);
                    all.dirs.insert(path, *again);
                }
                other => absent.push((path, other)),
            }
        }
        for (path, one) in absent {
            let anew = match one {
                One::Here(..) => unreachable!("it was taken in above"),
                One::RulesChanged(top) if top.is_empty() => return Ok(None),
                // Nothing but what is beneath it can be judged otherwise, and that is captured whole.
                One::RulesChanged(top) if !rejudged.insert(top.clone()) => continue,
                One::RulesChanged(top) => top,
                // The one above it is gone, too, and makes its own parent worth another look.
                One::Gone if lost.contains(parent_of(&path)) => continue,
                One::Gone => path,
            };
            all.look_anew(&mut work, &anew);
        }
    }
    Ok(Some(all))
}

impl Looked {
    /// Has the directory of `path` looked at once more, and `path` captured with all that is in it.
    fn look_anew(&mut self, work: &mut Work, path: &[u8]) {
        let above = parent_of(path);
        let again = work.entry(above.to_vec()).or_default();
        if let Some(known) = self.dirs.get(above) {
            again.absorb(known.work.clone());
            self.starts.retain(|start| parent_of(&start.path) != above);
        }
        again.take_anew(name_of(path));
    }
}

enum One {
    Here(Box<Again>, Vec<Start>, Vec<Vec<u8>>),
    Gone,
    /// Beneath this directory everything has to be judged again.
    RulesChanged(Vec<u8>),
}

/// The topmost directory on the way to `path` in which other rules hold than those that the cache knows of.
fn where_rules_changed(job: &Job<'_>, cache: &Cache, path: &[u8]) -> Vec<u8> {
    let mut top = None;
    job.rules_down_to(path, &mut |dir, rules| {
        let known = cache.find(dir).and_then(|bytes| Record::parse(&bytes).map(|record| record.rules()));
        if top.is_none() && known != Some(rules.fingerprint()) {
            top = Some(dir.to_vec());
        }
    });
    top.unwrap_or_default()
}

fn look(hand: &mut Hand<'_>, path: &[u8], work: &DirWork, is_dirty_set: bool) -> Result<One> {
    let job = hand.job;
    let cache = job.cache.expect("only a known tree is patched");
    let bytes = cache.find_checked(path);
    let Some((bytes, record)) = bytes.as_deref().and_then(|bytes| Some((bytes, Record::checked(bytes)?))) else {
        return Ok(if cache.contains(path) { One::RulesChanged(Vec::new()) } else { One::Gone });
    };
    let since = (job.options.clock)();
    let opened = job.root.dir(path).and_then(|dir| dir.stat_self().map(|stat| (dir, stat)));
    let (dir, stat) = match opened {
        Ok(opened) => opened,
        Err(_) if path.is_empty() => return Ok(One::RulesChanged(Vec::new())),
        Err(_) => return Ok(One::Gone),
    };
    let moved = job.proof(&stat) != record.dir();
    // Names that no one has spoken of may have come or gone since.
    let relist = work.relist || moved && !is_dirty_set;
    let outside = if path.is_empty() { job.judge.rules() } else { job.rules_at(parent_of(path)) };
    let (rules, has_rules) = job.rules_inside(&job.rules_through(&outside, path), &dir, path);
    if rules.fingerprint() != record.rules() {
        return Ok(One::RulesChanged(where_rules_changed(job, cache, path)));
    }
    if moved && is_left_now(job, &outside, path)? {
        return Ok(One::Gone);
    }
    let node = job.store.node(&record.node())?;
    let (known, proofs) = (Entries::of(node), Proofs::of(&record));
    let name = name_of(path).to_vec();
    let xattrs = hand.xattrs(path, dir.self_xattrs());
    let racy = xattrs.is_none() || is_racy(stat.mtime, stat.ctime, since) || moved && is_dirty_set && !relist;
    let own = (meta_of(&stat, xattrs), EntryStat::new(name, &stat, 0));
    let mut looker = Looker {
        dir: &dir,
        path,
        rules: &rules,
        known,
        proofs: &proofs,
        items: Vec::new(),
        starts: Vec::new(),
        gone: Vec::new(),
        forced: false,
        anew: &work.anew,
        lost: false,
        is_dirty_set,
    };
    let mut work = DirWork { relist, ..work.clone() };
    if moved && is_dirty_set {
        work.names.extend(looker.judged_otherwise(hand)?);
    }
    let Some(names) = looker.names(hand, relist, &work.names)? else { return Ok(One::Gone) };
    for (name, file_type) in names {
        looker.look(hand, &name, file_type)?;
    }
    let Looker { mut known, items, starts, gone, forced, lost, .. } = looker;
    // The scan left these to us; names that it asked for are counted already.
    let told = if relist { items.len() as u64 } else { 0 };
    for (entry, proof) in hand.take_all(&dir, path, items, since)? {
        let name = entry.name.clone();
        let as_before =
            proofs.get(&name).is_some_and(|known| known.is(&proof)) && known.before().get(&name) == Some(&entry);
        if as_before { known.keep(&name) } else { known.set(&name, Some((entry, proof))) }
    }
    job.options.progress.advance(told, 0);
    let was_forced = record.flags() & flags::FORCED != 0 && !relist;
    let bit = |yes: bool, flag: u8| if yes { flag } else { 0 };
    let flags =
        bit(racy || lost, flags::RACY) | bit(forced || was_forced, flags::FORCED) | bit(has_rules, flags::RULES);
    let (proof, rules) = (job.proof(&stat), rules.fingerprint());
    let again = Again { record: bytes.to_vec(), entries: known, proof, rules, flags, own: Some(own), work };
    Ok(One::Here(Box::new(again), starts, gone))
}

/// Whether the filter lets a directory go because of what came into it.
fn is_left_now(job: &Job<'_>, outside: &Arc<Rules>, path: &[u8]) -> Result<bool> {
    if path.is_empty() || !job.judge.is_candidate(name_of(path), true) {
        return Ok(false);
    }
    let Ok(around) = job.root.dir_path_only(parent_of(path)) else { return Ok(true) };
    Ok(matches!(job.decide(outside, &around, path, name_of(path), true)?, Decision::Leave(_)))
}

/// The proofs of a record, found by name.
struct Proofs<'a>(Vec<EntryView<'a>>);

impl<'a> Proofs<'a> {
    fn of(record: &Record<'a>) -> Proofs<'a> {
        Proofs(record.entries().collect())
    }

    fn get(&self, name: &[u8]) -> Option<&EntryView<'a>> {
        self.0.binary_search_by(|entry| entry.name.cmp(name)).ok().map(|at| &self.0[at])
    }
}

/// Names of a directory, with their types as far as they are known.
type Names = Vec<(Vec<u8>, FileType)>;

struct Looker<'a> {
    dir: &'a Dir,
    path: &'a [u8],
    rules: &'a Arc<Rules>,
    known: Entries,
    proofs: &'a Proofs<'a>,
    items: Vec<Item>,
    starts: Vec<Start>,
    gone: Vec<Vec<u8>>,
    forced: bool,
    /// Directories of which the cache knows nothing that still counts.
    anew: &'a BTreeSet<Vec<u8>>,
    /// Whether something was there when it was listed and not when it was opened.
    lost: bool,
    is_dirty_set: bool,
}

impl Looker<'_> {
    /// The names to look at, if the directory is still there; those that are gone are dropped from what is known.
    fn names(&mut self, hand: &mut Hand<'_>, relist: bool, some: &BTreeSet<Vec<u8>>) -> Result<Option<Names>> {
        if !relist {
            return Ok(Some(some.iter().map(|name| (name.clone(), self.type_of(name))).collect()));
        }
        let mut names = Vec::new();
        let mut buffer = std::mem::take(&mut hand.names);
        let listed = self.dir.list(&mut buffer, &mut |name, file_type, _| names.push((name.to_vec(), file_type)));
        hand.names = buffer;
        if let Err(error) = listed {
            let code = error.raw_os_error();
            return match refusal(error) {
                // It was removed after it was opened; its parent says what is there now.
                Ok(Refusal::Vanished) if !self.path.is_empty() => Ok(None),
                Ok(_) => {
                    let why =
                        code.map_or(std::io::ErrorKind::PermissionDenied.into(), std::io::Error::from_raw_os_error);
                    Err(Error::workspace("list", self.path)(why))
                }
                Err(error) => Err(Error::workspace("list", self.path)(error)),
            };
        }
        names.retain(|(name, _)| !hand.job.is_own(name));
        names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let live: BTreeSet<&[u8]> = names.iter().map(|(name, _)| name.as_slice()).collect();
        let before = Arc::clone(self.known.before());
        let lost = before.entries.iter().map(|entry| &entry.name).filter(|name| !live.contains(name.as_slice()));
        lost.for_each(|name| self.drop_known(name));
        Ok(Some(names))
    }

    /// Tells directories from the rest without asking a filesystem that is mounted there and may not answer.
    fn type_of(&self, name: &[u8]) -> FileType {
        if self.known.get(name).is_some_and(|entry| matches!(entry.kind, Kind::File { .. })) {
            return FileType::Unknown;
        }
        match self.dir.subdir_path_only(name) {
            Ok(_) => FileType::Dir,
            Err(error) if error.raw_os_error() == Some(EXDEV) => FileType::Dir,
            Err(_) => FileType::Unknown,
        }
    }

    /// Directories of which the filter thinks otherwise now, because of names beside them that came or went.
    fn judged_otherwise(&self, hand: &Hand<'_>) -> Result<Vec<Vec<u8>>> {
        let mut found = Vec::new();
        for entry in &self.known.before().entries {
            let name = &entry.name;
            let was_left = matches!(entry.kind, Kind::Opaque { reason: Opaque::Regenerable, .. });
            if !was_left && !matches!(entry.kind, Kind::Dir { .. }) {
                continue;
            }
            let decision = hand.job.decide(self.rules, self.dir, &join(self.path, name), name, true)?;
            if matches!(decision, Decision::Leave(_)) != was_left {
                found.push(name.clone());
            }
        }
        Ok(found)
    }

    fn drop_known(&mut self, name: &[u8]) {
        if self.known.is_dir(name) {
            self.gone.push(join(self.path, name));
        }
        self.known.set(name, None);
    }

    fn look(&mut self, hand: &mut Hand<'_>, name: &[u8], file_type: FileType) -> Result<()> {
        let job = hand.job;
        let path = join(self.path, name);
        let stat = match file_type {
            FileType::Dir => None,
            _ => match self.dir.stat(name) {
                Ok(stat) if stat.file_type == FileType::Dir => None,
                Ok(stat) => Some(stat),
                Err(error) => {
                    self.drop_known(name);
                    match refusal(error).map_err(Error::workspace("examine", &path))? {
                        Refusal::Vanished => {}
                        _ => {
                            hand.gap(&path, GapKind::Unreadable, "it cannot be examined");
                            self.known.set(name, Some(opaque(name, None, file_type, Opaque::Unreadable)));
                        }
                    }
                    return Ok(());
                }
            },
        };
        let inside = match job.decide(self.rules, self.dir, &path, name, stat.is_none())? {
            Decision::Leave(reason) => {
                self.drop_known(name);
                hand.gap(&path, gap_kind(reason), "");
                let file_type = stat.as_ref().map_or(FileType::Dir, |stat| stat.file_type);
                self.known.set(name, Some(opaque(name, stat.as_ref(), file_type, reason)));
                return Ok(());
            }
            Decision::Take { rules, forced } => {
                self.forced |= forced;
                rules.unwrap_or_else(|| Arc::clone(self.rules))
            }
        };
        match stat {
            Some(stat) => {
                let proof = self.proofs.get(name).filter(|proof| proof.proves(&stat));
                let proven = proof.and_then(|proof| Some((self.known.get(name)?.clone(), proof.to_stat())));
                if proven.is_none() {
                    self.drop_known(name);
                }
                self.items.push(Item { name: name.to_vec(), stat, known: proven });
            }
            None => self.look_at_dir(hand, name, path, inside)?,
        }
        Ok(())
    }

    /// A directory that has a record is examined by itself; any other is captured whole.
    fn look_at_dir(&mut self, hand: &mut Hand<'_>, name: &[u8], path: Vec<u8>, inside: Arc<Rules>) -> Result<()> {
        let was_dir = self.known.is_dir(name);
        let cache = hand.job.cache.expect("only a known tree is patched");
        let is_known = !self.is_dirty_set && !self.anew.contains(name) && cache.contains(&path);
        if was_dir && is_known {
            return match hand.job.root.dir_path_only(&path) {
                Ok(_) => Ok(()),
                Err(error) => {
                    let why = refusal(error).map_err(Error::workspace("open", &path))?;
                    self.drop_known(name);
                    match without_dir(hand.job, hand, &path, why) {
                        Some(left) => self.known.set(name, Some(left)),
                        None => self.lost = true,
                    }
                    Ok(())
                }
            };
        }
        self.drop_known(name);
        self.starts.push(Start { path, rules: inside });
        Ok(())
    }
}

/// Builds the nodes of all directories that were looked at and of those above them, the deepest first.
fn rebuild(hand: &mut Hand<'_>, old: &Manifest, looked: &mut Looked) -> Result<Entry> {
    let job = hand.job;
    let depth = |path: &[u8]| if path.is_empty() { 0 } else { 1 + path.iter().filter(|byte| **byte == b'/').count() };
    let mut by_depth: BTreeMap<usize, BTreeSet<Vec<u8>>> = BTreeMap::new();
    for path in looked.dirs.keys() {
        by_depth.entry(depth(path)).or_default().insert(path.clone());
    }
    let mut root = old.root.clone();
    while let Some((level, paths)) = by_depth.pop_last() {
        for path in paths {
            let again = looked.dirs.remove(&path).expect("it was put there");
            // The root is always told of: with its record the cache is about this snapshot.
            if !path.is_empty() && again.is_as_it_was() {
                continue;
            }
            let Again { record, entries, proof, rules, flags, own, .. } = again;
            let kind = hand.reassemble(Patched { path: path.clone(), record, proof, rules, flags, entries })?;
            if path.is_empty() {
                root.kind = kind;
                root.meta = own.map_or(root.meta, |(meta, _)| meta);
                continue;
            }
            let above = parent_of(&path).to_vec();
            if !looked.dirs.contains_key(&above) {
                looked.dirs.insert(above.clone(), untouched(job, &above)?);
                by_depth.entry(level - 1).or_default().insert(above.clone());
            }
            let parent = looked.dirs.get_mut(&above).expect("it was just put there");
            // If the parent dropped it meanwhile, it is gone.
            parent.entries.set_dir(name_of(&path), kind, own);
        }
    }
    Ok(root)
}

/// A directory that was not looked at, as the cache knows it.
fn untouched(job: &Job<'_>, path: &[u8]) -> Result<Again> {
    let cache = job.cache.expect("only a known tree is patched");
    let missing = || Error::corrupt("the stat cache", "a directory's record is missing");
    let head = cache.find_head(path).ok_or_else(missing)?;
    let record = Record::checked(&head).ok_or_else(missing)?;
    let node = job.store.node(&record.node())?;
    let (proof, rules, flags) = (record.dir(), record.rules(), record.flags() & !flags::PARTIAL);
    // All that is known of the entries of a small one may be written anew.
    let bytes = match node.entries.len() > ENTRIES_KNOWN_MAX {
        true => head.into_owned(),
        false => cache.find_checked(path).ok_or_else(missing)?.into_owned(),
    };
    let (entries, work) = (Entries::of(node), DirWork::default());
    Ok(Again { record: bytes, entries, proof, rules, flags, own: None, work })
}

/// Puts together what was found anew and what still holds.
fn finish(
    job: &Job<'_>,
    cache: &Cache,
    old: &Manifest,
    root: Entry,
    seen: Seen,
    mut findings: Findings,
) -> Result<Found> {
    let old_gaps = old.coverage(job.store)?.gaps;
    // What vanished then is no news now.
    let is_told_anew = |gap: &Gap| match gap.kind {
        GapKind::Vanished => true,
        // Of a directory it is told by itself, and not by the one around it.
        GapKind::Attributes => seen.covers(&gap.path) || seen.dirs.contains_key(&gap.path),
        _ => seen.covers(&gap.path),
    };
    let still = old_gaps.into_iter().filter(|gap| !is_told_anew(gap));
    findings.gaps.extend(still);
    let kept = cache.linked.iter().filter(|one| !seen.covers(&one.path)).cloned();
    let mut linked: Vec<Linked> = kept.chain(findings.linked.drain(..)).collect();
    linked.sort();
    linked.dedup();
    let mut before = cache.linked.clone();
    before.sort();
    findings.linked = linked.clone();
    let records = std::mem::take(&mut findings.records);
    let update = if records.is_empty() || job.batch.is_none() {
        Update::Nothing
    } else {
        let linked = (linked != before).then_some(linked);
        let (seen, gone) = (Some((cache.end, cache.base_len)), seen.whole.into_iter().collect());
        Update::Some { from: cache.describes, seen, records, gone, linked }
    };
    Ok(Found { root, findings, update })
}

/// Which paths were looked at again, so that what was known of them before no longer counts.
struct Seen {
    dirs: HashMap<Vec<u8>, DirWork>,
    /// Directories that are gone, or were captured whole.
    whole: HashSet<Vec<u8>>,
}

impl Seen {
    fn covers(&self, path: &[u8]) -> bool {
        let looked_at = |work: &DirWork| work.relist || work.names.contains(name_of(path));
        self.dirs.get(parent_of(path)).is_some_and(looked_at)
            || self.whole.contains(path)
            || dirs_above(path).any(|dir| self.whole.contains(dir))
    }
}

/// The directories that a path lies in, but for the workspace itself.
fn dirs_above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at])
}
