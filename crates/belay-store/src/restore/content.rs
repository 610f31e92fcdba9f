//! Writes the content of staged files, checked as it is read, in the order in which the store holds it.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use belay_sys::{Dir, FileType};

use super::flush::Flusher;
use super::metadata::{Thing, Wish, is_refusal};
use super::stage::{Handles, is_gone};
use super::{Applied, LeftReason, OnDamage, Step, Work, durable};
use crate::error::{Error, Result};
use crate::native::{GIVEN_BYTES_MIN, Given};
use crate::objects::{Reader, SHARED_BYTES_MIN};
use crate::tree::{Content, Entry, Kind, Segment, View};

/// Reading and writing overlap, and two is what most disks and the smallest machines make use of.
const THREADS: usize = 2;

/// How much one thread takes at a time: enough for long reads, little enough to end at the same moment.
const BATCH_BYTES: u64 = 4 << 20;
const BATCH_FILES: usize = 128;

/// A file or other leaf to be made, and where the store holds its content: pack, block and offset.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Task {
    pack: u64,
    place: u64,
    at: u32,
}

/// What became of a number of tasks.
#[derive(Default)]
struct Written {
    /// What is not as it should be: the step, why, and whether it was given up altogether.
    refusals: Vec<(u32, LeftReason, bool)>,
    /// Those whose directory is gone.
    gone: Vec<u32>,
    /// The files, if there are few, because they are made durable one by one.
    files: Vec<File>,
}

/// What one thread needs to write leaves.
pub(super) struct Scribe<'a> {
    pub(super) handles: Handles<'a>,
    reader: Reader<'a>,
}

impl<'a> Work<'a> {
    pub(super) fn scribe(&self) -> Result<Scribe<'a>> {
        Ok(Scribe { handles: Handles::new(self.root), reader: Reader::new(self.store)? })
    }

    /// Stages every leaf that is not a hard link; returns whether their content is durable.
    pub(super) fn write_contents(&mut self, flusher: &Flusher, applied: &mut Applied) -> Result<bool> {
        let mut tasks = Vec::new();
        for at in self.layout.staged() {
            let step = self.layout.step(at);
            if !step.becomes_dir() && step.link_to.is_none() {
                tasks.push(self.task(at, &step)?);
            }
        }
        tasks.sort_unstable();
        let few = tasks.len() <= durable::FEW;
        let batches = self.batches(&tasks);
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let queue = Queue { tasks: &tasks, batches: &batches, next, failed, flusher };
        let Written { refusals, gone, files } =
            if batches.len() < THREADS { self.work_off(&queue, few) } else { self.work_off_together(&queue, few) }?;
        durable::together(&files, |file| file.sync_all()).map_err(Error::workspace("make durable", b""))?;
        for (at, reason, given_up) in refusals {
            if given_up { self.give_up(at, reason, applied) } else { self.note(at, reason, applied) }
        }
        gone.into_iter().for_each(|at| self.give_up_whole(at, applied));
        Ok(few)
    }

    fn task(&self, at: u32, step: &Step<'_>) -> Result<Task> {
        let key = match step.after.as_ref().map(|entry| &entry.kind) {
            Some(Kind::File { size, content }) if *size > 0 => match content {
                Content::Whole(key) => *key,
                Content::Chunked { list, .. } | Content::Sparse { list } => *list,
            },
            _ => return Ok(Task { pack: 0, place: 0, at }),
        };
        // One that is not where it was expected is looked for once more when it is read.
        let (pack, place) = self.store.location(&key)?.unwrap_or((u64::MAX, 0));
        Ok(Task { pack, place, at })
    }

    /// Cuts the tasks into batches, never between two files whose content shares a block.
    fn batches(&self, tasks: &[Task]) -> Vec<Range<usize>> {
        let block = |task: &Task| (task.pack, task.place >> 32);
        // A few files lie in as many blocks, and unpacking those is the work.
        let files_max = tasks.len().div_ceil(2 * THREADS).clamp(1, BATCH_FILES);
        let mut batches = Vec::new();
        let (mut start, mut bytes) = (0, 0);
        for (at, task) in tasks.iter().enumerate() {
            let full = bytes >= BATCH_BYTES || at - start >= files_max;
            if full && block(task) != block(&tasks[at - 1]) {
                batches.push(start..at);
                (start, bytes) = (at, 0);
            }
            bytes += self.layout.step(task.at).bytes();
        }
        if start < tasks.len() {
            batches.push(start..tasks.len());
        }
        batches
    }

    fn work_off_together(&self, queue: &Queue<'_>, few: bool) -> Result<Written> {
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| self.work_off(queue, few))).collect();
            let mut all = Written::default();
            for worker in workers {
                let mut part = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
                all.refusals.append(&mut part.refusals);
                all.gone.append(&mut part.gone);
                all.files.append(&mut part.files);
            }
            Ok(all)
        })
    }

    fn work_off(&self, queue: &Queue<'_>, few: bool) -> Result<Written> {
        let mut scribe = self.scribe()?;
        let mut written = Written::default();
        while let Some(batch) = queue.take() {
            for task in batch {
                let leaf = self.check_stop().and_then(|()| self.write_one(&mut scribe, task.at));
                let leaf = leaf.inspect_err(|_| queue.failed.store(true, Ordering::Relaxed))?;
                match leaf {
                    Leaf::GivenUp(reason) => written.refusals.push((task.at, reason, true)),
                    Leaf::Gone => written.gone.push(task.at),
                    Leaf::Made { refused, file } => {
                        written.refusals.extend(refused.map(|reason| (task.at, reason, false)));
                        written.files.extend(file.filter(|_| few));
                    }
                }
                let bytes = self.layout.step(task.at).bytes();
                queue.flusher.note(bytes);
                self.options.progress.advance(1, bytes);
            }
        }
        Ok(written)
    }

    /// Stages one leaf.
    pub(super) fn write_one(&self, scribe: &mut Scribe<'_>, at: u32) -> Result<Leaf> {
        let step = self.layout.step(at);
        let entry = step.after.as_ref().expect("only what will be there is staged");
        let (place, name) = self.layout.staging_place(at, self.options.prefix);
        let failed = |error| Error::workspace("stage", step.path)(error);
        let dir = match scribe.handles.get(&place) {
            Err(error) if is_gone(&error) => return Ok(Leaf::Gone),
            result => result.map_err(failed)?,
        };
        let inherits = self.inherits(at);
        let mode = self.dresser().birth_mode(&entry.meta, inherits).unwrap_or(0o600);
        let made = match &entry.kind {
            Kind::File { .. } => self.hands.change(|| dir.create_new(&name, mode)).map(Some),
            _ => self.hands.change(|| make_special(dir, &name, entry)).map(|()| None),
        };
        let file = match made {
            Err(error) if is_refusal(&error) => return Ok(Leaf::GivenUp(LeftReason::of(&error))),
            Err(error) if is_gone(&error) => return Ok(Leaf::Gone),
            result => result.map_err(failed)?,
        };
        if let (Some(file), Kind::File { size, content }) = (&file, &entry.kind) {
            let filled = self.fill(&mut scribe.reader, file, (*size, content), step.path);
            if self.options.on_damage == OnDamage::Leave && filled.as_ref().is_err_and(Error::is_damage) {
                // What cannot be removed now is removed when the restore is tidied up.
                let _ = self.hands.change(|| dir.remove_file(&name));
                return Ok(Leaf::GivenUp(LeftReason::Damaged));
            }
            filled?;
        }
        let thing = match &file {
            Some(file) => Thing::File { file, dir, name: &name },
            None => Thing::Name { dir, name: &name },
        };
        let wish = Wish {
            meta: &entry.meta,
            mtime: step.mtime(self.options.mtime),
            inherits,
            has_mode: !matches!(entry.kind, Kind::Symlink(_)),
        };
        let refused = self.dresser().dress(thing, &wish).map_err(failed)?;
        Ok(Leaf::Made { refused, file })
    }

    fn fill(&self, reader: &mut Reader<'_>, file: &File, (size, content): (u64, &Content), path: &[u8]) -> Result<()> {
        let mut offset = 0;
        let segments = View::stored(self.store).segments(size, content)?;
        if size >= SHARED_BYTES_MIN && self.share(file, &segments, path)? || self.give(file, size, &segments, path)? {
            return Ok(());
        }
        if segments.iter().any(|segment| matches!(segment, Segment::Hole { .. })) {
            // First, because a disk gives a file that grows more blocks than it needs, and those would fill the holes.
            self.hands.change(|| file.set_len(size)).map_err(Error::workspace("write", path))?;
        }
        for segment in segments {
            if let Segment::Data { key, len } = segment {
                let bytes = reader.read(&key)?;
                if bytes.len() as u64 != len {
                    return Err(Error::corrupt(format!("object {key}"), "its length is not what the tree says"));
                }
                let written = self.hands.change(|| write_at(file, bytes, offset));
                written.map_err(Error::workspace("write", path))?;
            }
            offset += segment.len();
        }
        Ok(())
    }
}

impl Work<'_> {
    /// Gives a file its content by sharing the store's blocks, where the disk can; what was given is checked, too.
    fn share(&self, file: &File, segments: &[Segment], path: &[u8]) -> Result<bool> {
        let Some(run) = self.store.run_of(segments)? else { return Ok(false) };
        let given = self.hands.change(|| run.give_to(file, segments, self.store.algorithm()));
        given.map_err(Error::workspace("write", path))
    }

    /// The same with the blocks of a copy that a backend made.
    fn give(&self, file: &File, size: u64, segments: &[Segment], path: &[u8]) -> Result<bool> {
        if size < GIVEN_BYTES_MIN || !self.can_share.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let given = self.hands.change(|| Ok(self.store.give(segments, file)));
        match given.map_err(Error::workspace("write", path))?? {
            Given::Shared => return Ok(true),
            Given::Not => {}
            Given::Never => self.can_share.store(false, Ordering::Relaxed),
        }
        Ok(false)
    }
}

/// What became of a leaf.
pub(super) enum Leaf {
    /// It may not be made here.
    GivenUp(LeftReason),
    /// The directory for it is gone.
    Gone,
    /// It is there, but for the metadata that was refused; a regular file is still open.
    Made { refused: Option<LeftReason>, file: Option<File> },
}

/// Batches that several threads take from.
struct Queue<'a> {
    tasks: &'a [Task],
    batches: &'a [Range<usize>],
    next: AtomicUsize,
    failed: AtomicBool,
    flusher: &'a Flusher,
}

impl<'a> Queue<'a> {
    fn take(&self) -> Option<&'a [Task]> {
        if self.failed.load(Ordering::Relaxed) {
            return None;
        }
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        self.batches.get(at).map(|batch| &self.tasks[batch.clone()])
    }
}

fn write_at(mut file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    if offset == 0 { file.write_all(bytes) } else { file.write_all_at(bytes, offset) }
}

/// Makes what has no content of its own; nothing of it is ever opened.
fn make_special(dir: &Dir, name: &[u8], entry: &Entry) -> io::Result<()> {
    match &entry.kind {
        Kind::Symlink(text) => dir.make_symlink(name, text),
        Kind::Fifo => dir.make_fifo(name, 0o600),
        Kind::Socket => dir.make_socket(name, 0o600),
        Kind::CharDevice(rdev) => dir.make_device(name, FileType::CharDevice, *rdev, 0o600),
        Kind::BlockDevice(rdev) => dir.make_device(name, FileType::BlockDevice, *rdev, 0o600),
        Kind::File { .. } | Kind::Dir { .. } | Kind::Opaque { .. } => unreachable!("these are made elsewhere or never"),
    }
}
