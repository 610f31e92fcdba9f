//! Captures one entry that is not a directory, and reads files until they hold still.

use std::fs::File;
use std::os::unix::fs::FileExt;

use belay_sys::{Dir, FileType, Stat, Time};

use super::hand::{Hand, Refusal, is_racy, meta_of, opaque, open_file, refusal};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::manifest::GapKind;
use crate::objects::{ObjectKind, Packing, SHARED_BYTES_MIN};
use crate::statcache::{EntryStat, flags};
use crate::tree::{Content, Entry, Kind, Opaque, Segment};

/// Files up to this size are one object.
pub(super) const WHOLE_BYTES_MAX: u64 = 4 << 20;
/// Larger ones are cut where their content says, into pieces of about this size.
const CHUNK_BYTES: (usize, usize, usize) = (1 << 20, 2 << 20, 4 << 20);
/// What is read of a large file at a time; at least twice the largest chunk.
const WINDOW_BYTES: usize = 8 << 20;
/// In haste they are cut into pieces of this size, which is read at a time: what it takes to find better places would be
/// a tenth of the whole, and from one step to the next the bytes stay near the processor.
const EVEN_BYTES: usize = 1 << 20;
/// No hole is smaller.
const BLOCK_BYTES: u64 = 4096;
/// For so long after a change its pages may not have been written out, and a mapping may change them unnoticed.
const MAYBE_DIRTY_SECONDS: i64 = 300;
/// How often a file that changes under the reader is read again.
const ATTEMPTS: usize = 3;

/// An entry with its proof, or `None` if it went away.
pub(super) type Taken = Option<(Entry, EntryStat)>;

/// Fills a buffer from an offset, perhaps not all of it; nothing at the end.
type ReadSome<'a> = dyn Fn(&mut [u8], u64) -> Result<usize> + 'a;

/// What is done with each chunk.
type EachChunk<'a, H> = dyn FnMut(&mut H, &[u8]) -> Result<()> + 'a;

impl Hand<'_> {
    /// Captures an entry of any type but a directory.
    pub(super) fn take(&mut self, dir: &Dir, path: &[u8], name: &[u8], stat: &Stat, since: Time) -> Result<Taken> {
        self.job.check_stop()?;
        let kind = match stat.file_type {
            FileType::File => return self.take_file(dir, path, name, stat, since),
            FileType::Symlink => match dir.read_link(name) {
                Ok(target) => Kind::Symlink(target),
                Err(error) => return self.refused(path, name, stat, error),
            },
            FileType::Fifo => Kind::Fifo,
            FileType::Socket => Kind::Socket,
            FileType::CharDevice => Kind::CharDevice(stat.rdev),
            FileType::BlockDevice => Kind::BlockDevice(stat.rdev),
            FileType::Dir | FileType::Unknown => return Ok(None),
        };
        let xattrs = self.xattrs(path, dir.xattrs(name, stat.file_type));
        self.note_linked(path, stat);
        let racy = if xattrs.is_none() || is_racy(stat.mtime, stat.ctime, since) { flags::RACY } else { 0 };
        let entry = Entry { name: name.to_vec(), meta: meta_of(stat, xattrs), kind };
        Ok(Some((entry, EntryStat::new(name.to_vec(), stat, racy))))
    }

    fn take_file(&mut self, dir: &Dir, path: &[u8], name: &[u8], stat: &Stat, since: Time) -> Result<Taken> {
        // Holes cost nothing.
        if self.job.is_too_much(stat.size.min(stat.blocks.saturating_mul(512))) {
            self.gap(path, GapKind::OverLimit, format!("{} bytes", stat.size));
            return Ok(Some(opaque(name, Some(stat), FileType::File, Opaque::OverLimit)));
        }
        for attempt in 1.. {
            let (file, before) = match open_file(dir, name).map_err(Error::workspace("open", path))? {
                Ok(opened) => opened,
                Err(why) => return Ok(self.without(path, name, stat, why)),
            };
            Self::watch(&file, stat, since);
            let read = match self.job.known_twin(&before) {
                Some(content) => Ok((content, before)),
                None => self.read_once(&file, path, &before),
            };
            let (content, after) = match read {
                Ok(read) => read,
                Err(Error::Workspace { source, .. }) => return self.refused(path, name, stat, source),
                Err(error) => return Err(error),
            };
            let is_still = (before.size, before.mtime, before.ctime) == (after.size, after.mtime, after.ctime);
            if !is_still && attempt < ATTEMPTS {
                continue;
            }
            if !is_still {
                self.gap(path, GapKind::Unstable, "it kept changing while it was read");
            } else {
                self.job.note_twin(&before, &content);
            }
            if let Some((_, copier)) = self.job.copier {
                copier.took(path, &content.0);
            }
            let xattrs = self.xattrs(path, belay_sys::file_xattrs(&file));
            self.note_linked(path, &before);
            // What could not be read is tried again the next time.
            let racy = if !is_still || xattrs.is_none() || is_racy(before.mtime, before.ctime, since) {
                flags::RACY
            } else {
                0
            };
            let kind = Kind::File { size: content.1, content: content.0 };
            let entry = Entry { name: name.to_vec(), meta: meta_of(&before, xattrs), kind };
            return Ok(Some((entry, EntryStat::new(name.to_vec(), &before, racy))));
        }
        unreachable!("the last attempt returns")
    }

    /// Makes a store through a mapping of a file that changed lately show in its times.
    pub(super) fn watch(file: &File, stat: &Stat, since: Time) {
        if since.sec.saturating_sub(stat.ctime.sec) < MAYBE_DIRTY_SECONDS {
            belay_sys::watch_mappings(file);
        }
    }

    /// Reads a file once; returns its content and length, and what it is like afterwards.
    fn read_once(&mut self, file: &File, path: &[u8], before: &Stat) -> Result<((Content, u64), Stat)> {
        self.findings.files_read += 1;
        let content = match self.job.copier {
            Some((_, copier)) => {
                self.path = path.to_vec();
                let copy = copier.hold(path, file)?;
                let source = copy.as_ref().unwrap_or(file);
                let stat = belay_sys::stat_file(source).map_err(Error::workspace("read", b""))?;
                self.read_content(source, &stat)?
            }
            None => self.read_content(file, before)?,
        };
        let after = belay_sys::stat_file(file).map_err(Error::workspace("read", b""))?;
        Ok((content, after))
    }

    fn read_content(&mut self, file: &File, stat: &Stat) -> Result<(Content, u64)> {
        if stat.size <= WHOLE_BYTES_MAX && !self.may_have_holes(stat) {
            self.read_whole(file, stat.size)
        } else {
            self.read_large(file, stat)
        }
    }

    /// Whether the disk has to be asked where the file's data is.
    pub(super) fn may_have_holes(&self, stat: &Stat) -> bool {
        let held = stat.blocks.saturating_mul(512);
        let in_blocks = stat.size.next_multiple_of(BLOCK_BYTES);
        held < stat.size || stat.size > BLOCK_BYTES && (self.job.allocates_ahead || held > in_blocks)
    }

    fn read_whole(&mut self, file: &File, size: u64) -> Result<(Content, u64)> {
        let worker = self.worker.as_mut().filter(|_| self.job.copier.is_none() && size > 0);
        if let Some(worker) = worker
            && let Some(room) = worker.room(size as usize)
        {
            let len = fill(file, room)?;
            let key = self.job.store.algorithm().hash(&room[..len]);
            if len > 0 {
                worker.put_room(&key, len)?;
            }
            return Ok((Content::Whole(key), len as u64));
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        if buffer.len() < size as usize {
            buffer.resize(size as usize, 0);
        }
        let read = fill(file, &mut buffer[..size as usize]);
        let result = read.and_then(|len| Ok((Content::Whole(self.put_content(&buffer[..len])?), len as u64)));
        self.buffer = buffer;
        result
    }

    fn put_content(&mut self, bytes: &[u8]) -> Result<Hash> {
        if bytes.is_empty() {
            return Ok(self.job.store.algorithm().hash(b""));
        }
        let key = self.job.store.algorithm().hash(bytes);
        self.keep(&key, bytes, 0)?;
        Ok(key)
    }

    fn read_large(&mut self, file: &File, stat: &Stat) -> Result<(Content, u64)> {
        let extents = if self.may_have_holes(stat) {
            belay_sys::data_extents(file, stat.size).map_err(Error::workspace("read", b""))?
        } else {
            vec![(0, stat.size)]
        };
        let is_sparse = extents != [(0, stat.size)];
        if !is_sparse && stat.size <= WHOLE_BYTES_MAX {
            return self.read_whole(file, stat.size);
        }
        if !is_sparse
            && self.job.copier.is_none()
            && stat.size >= SHARED_BYTES_MIN
            && let Some(shared) = self.share_large(file)?
        {
            return Ok(shared);
        }
        let mut all = (!is_sparse).then(|| self.job.store.algorithm().hasher());
        let mut segments = Vec::new();
        let mut at = 0;
        for (offset, len) in extents {
            if offset > at {
                segments.push(Segment::Hole { len: offset - at });
            }
            at = offset + self.read_extent(file, offset, len, &mut segments, &mut all)?;
        }
        if is_sparse && at < stat.size {
            segments.push(Segment::Hole { len: stat.size - at });
            at = stat.size;
        }
        let list = self.put(ObjectKind::Tree, &Segment::encode_list(&segments))?;
        let content = match all {
            Some(all) => Content::Chunked { hash: all.finish(), list },
            None => Content::Sparse { list },
        };
        Ok((content, at))
    }

    /// Cuts an extent into chunks and stores them; returns how long it really was.
    fn read_extent(
        &mut self,
        file: &File,
        offset: u64,
        len: u64,
        segments: &mut Vec<Segment>,
        all: &mut Option<crate::hash::Hasher>,
    ) -> Result<u64> {
        let read = |buffer: &mut [u8], at: u64| read_some(file, buffer, offset + at);
        let packing = packing_of(all.is_none(), self.job.store.packing);
        let mut at = offset;
        self.cut(len, packing, &read, &mut |hand, chunk| {
            let key = match all {
                Some(all) => all.update_and_hash(chunk),
                None => hand.job.store.algorithm().hash(chunk),
            };
            hand.keep(&key, chunk, at)?;
            at += chunk.len() as u64;
            segments.push(Segment::Data { key, len: chunk.len() as u64 });
            Ok(())
        })
    }

    /// Cuts up to `len` bytes where their content says, and hands over each chunk; returns how many there were.
    pub(super) fn cut(
        &mut self,
        len: u64,
        packing: Packing,
        read: &ReadSome<'_>,
        each: &mut EachChunk<'_, Self>,
    ) -> Result<u64> {
        let mut window = std::mem::take(&mut self.buffer);
        let (size, least) = match packing {
            Packing::Small => (WINDOW_BYTES, CHUNK_BYTES.2),
            Packing::Swift => (EVEN_BYTES, EVEN_BYTES),
        };
        if window.len() < size {
            window.resize(size, 0);
        }
        let (mut filled, mut taken, mut done) = (0usize, 0u64, 0u64);
        let mut ended = false;
        while !ended || filled > 0 {
            while !ended && filled < least {
                self.job.check_stop()?;
                let want = (len - taken).min((size - filled) as u64) as usize;
                let got = if want == 0 { 0 } else { read(&mut window[filled..filled + want], taken)? };
                ended = got == 0;
                filled += got;
                taken += got as u64;
                self.job.options.progress.advance(0, got as u64);
            }
            let mut used = 0;
            while let Some(chunk) = cut_chunk(&window[used..filled], ended, packing) {
                each(self, chunk)?;
                used += chunk.len();
                done += chunk.len() as u64;
            }
            window.copy_within(used..filled, 0);
            filled -= used;
        }
        self.buffer = window;
        Ok(done)
    }

    /// What stands for an entry that an error kept from being captured.
    pub(super) fn refused(&mut self, path: &[u8], name: &[u8], stat: &Stat, error: std::io::Error) -> Result<Taken> {
        let why = refusal(error).map_err(Error::workspace("read", path))?;
        Ok(self.without(path, name, stat, why))
    }

    pub(super) fn without(&mut self, path: &[u8], name: &[u8], stat: &Stat, why: Refusal) -> Taken {
        match why {
            Refusal::Vanished => {
                self.gap(path, GapKind::Vanished, "");
                None
            }
            Refusal::Mount => {
                self.gap(path, GapKind::Mount, "");
                Some(opaque(name, None, stat.file_type, Opaque::Mount))
            }
            Refusal::Unreadable(detail) => {
                self.gap(path, GapKind::Unreadable, detail);
                Some(opaque(name, Some(stat), stat.file_type, Opaque::Unreadable))
            }
        }
    }
}

/// How a file is cut: one with holes always in the same way, because what it is called by is the list of its pieces.
pub(crate) fn packing_of(has_holes: bool, packing: Packing) -> Packing {
    if has_holes { Packing::Small } else { packing }
}

/// The first chunk of what was read so far; `None` if more must be read to tell where it ends, or nothing is left.
pub(crate) fn cut_chunk(rest: &[u8], ended: bool, packing: Packing) -> Option<&[u8]> {
    if packing == Packing::Swift {
        let is_whole = ended || rest.len() >= EVEN_BYTES;
        return Some(&rest[..rest.len().min(EVEN_BYTES)]).filter(|chunk| is_whole && !chunk.is_empty());
    }
    if rest.is_empty() || !ended && rest.len() < CHUNK_BYTES.2 {
        return None;
    }
    let cut = fastcdc::v2020::FastCDC::new(rest, CHUNK_BYTES.0, CHUNK_BYTES.1, CHUNK_BYTES.2).next();
    Some(&rest[..cut.map_or(rest.len(), |chunk| chunk.length)])
}

/// Reads as many bytes from the start as there is room for; whether there are more shows in what the file is like afterwards.
pub(super) fn fill(file: &File, buffer: &mut [u8]) -> Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match read_some(file, &mut buffer[filled..], filled as u64)? {
            0 => break,
            got => filled += got,
        }
    }
    Ok(filled)
}

fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> Result<usize> {
    loop {
        match file.read_at(buffer, offset) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            other => return other.map_err(Error::workspace("read", b"")),
        }
    }
}
