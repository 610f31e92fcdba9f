//! Reads several small files before it hashes any of them, for a hash of which a processor makes two in hardly more time than one.

use belay_sys::{Dir, FileType, Stat, Time};

use super::hand::{Hand, is_racy, join, meta_of, open_file};
use super::sqlite::Item;
use crate::error::{Error, Result};
use crate::hash::Algorithm;
use crate::statcache::{EntryStat, flags};
use crate::tree::{Content, Entry, Kind};

/// So many bytes are read before they are hashed: few enough to be still near the processor.
const TOGETHER_BYTES: usize = 512 << 10;

/// A file that was read, and held still meanwhile.
struct Unhashed {
    name: Vec<u8>,
    stat: Stat,
    xattrs: Option<Vec<(Vec<u8>, Vec<u8>)>>,
    len: usize,
}

impl Hand<'_> {
    /// Whether it is worth waiting for others with a file.
    pub(super) fn is_for_together(&self, item: &Item) -> bool {
        let is_plain = item.known.is_none() && item.stat.file_type == FileType::File && item.stat.nlink < 2;
        let is_small = item.stat.size > 0 && item.stat.size <= TOGETHER_BYTES as u64 / 2;
        is_plain
            && is_small
            && self.job.copier.is_none()
            && self.worker.is_some()
            && self.job.store.algorithm() == Algorithm::Sha256
    }

    /// Captures small files; one that needs more than to be read once is captured like any other.
    pub(super) fn take_together(
        &mut self,
        dir: &Dir,
        path: &[u8],
        items: Vec<Item>,
        since: Time,
    ) -> Result<Vec<(Entry, EntryStat)>> {
        let mut taken = Vec::with_capacity(items.len());
        let (mut waiting, mut bytes) = (Vec::new(), 0);
        for item in items {
            if bytes >= TOGETHER_BYTES {
                self.hash_together(&mut waiting, since, &mut taken)?;
                bytes = 0;
            }
            match self.read_behind(dir, path, &item, bytes, since)? {
                Some(unhashed) => {
                    bytes += unhashed.len;
                    waiting.push(unhashed);
                }
                None => {
                    self.hash_together(&mut waiting, since, &mut taken)?;
                    bytes = 0;
                    taken.extend(self.take(dir, &join(path, &item.name), &item.name, &item.stat, since)?);
                }
            }
        }
        self.hash_together(&mut waiting, since, &mut taken)?;
        Ok(taken)
    }

    /// Reads a file behind so many bytes of others that wait; none if it is not as plain as it looked.
    fn read_behind(
        &mut self,
        dir: &Dir,
        path: &[u8],
        item: &Item,
        waiting: usize,
        since: Time,
    ) -> Result<Option<Unhashed>> {
        self.job.check_stop()?;
        if self.job.is_too_much(waiting as u64 + item.stat.size) {
            return Ok(None);
        }
        let path = join(path, &item.name);
        let opened = open_file(dir, &item.name).map_err(Error::workspace("open", &path))?;
        let Ok((file, before)) = opened else { return Ok(None) };
        if before.nlink > 1 || before.size != item.stat.size || self.may_have_holes(&before) {
            return Ok(None);
        }
        Self::watch(&file, &before, since);
        let Some(worker) = self.worker.as_mut() else { return Ok(None) };
        let Ok(len) = super::file::fill(&file, worker.room_behind(waiting, before.size as usize)) else {
            return Ok(None);
        };
        let after = belay_sys::stat_file(&file).map_err(Error::workspace("read", &path))?;
        let is_still = (before.size, before.mtime, before.ctime) == (after.size, after.mtime, after.ctime);
        if !is_still || len as u64 != before.size {
            return Ok(None);
        }
        self.findings.files_read += 1;
        let xattrs = self.xattrs(&path, belay_sys::file_xattrs(&file));
        Ok(Some(Unhashed { name: item.name.clone(), stat: before, xattrs, len }))
    }

    /// Hashes and packs what waits.
    fn hash_together(
        &mut self,
        waiting: &mut Vec<Unhashed>,
        since: Time,
        taken: &mut Vec<(Entry, EntryStat)>,
    ) -> Result<()> {
        let Some(worker) = self.worker.as_mut().filter(|_| !waiting.is_empty()) else { return Ok(()) };
        let lens: Vec<usize> = waiting.iter().map(|one| one.len).collect();
        let keys = worker.put_behind(&lens)?;
        for (Unhashed { name, stat, xattrs, len }, key) in waiting.drain(..).zip(keys) {
            let racy = xattrs.is_none() || is_racy(stat.mtime, stat.ctime, since);
            let kind = Kind::File { size: len as u64, content: Content::Whole(key) };
            let proof = EntryStat::new(name.clone(), &stat, if racy { flags::RACY } else { 0 });
            taken.push((Entry { name, meta: meta_of(&stat, xattrs), kind }, proof));
        }
        Ok(())
    }
}
