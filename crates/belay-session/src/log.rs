//! Append-only files of framed records, each chained to the one before.
//!
//! A record is `BLR1`, its payload's length (u32, little-endian), the check of the record before (zero for the
//! first), its own check (BLAKE3 over the two, 16 bytes), then the payload, which is JSON. Readers take no
//! lock: what a crash tore off the end was never published and is not seen; the next writer cuts it. A record
//! that is damaged is reported, and those around it stay readable.

use std::collections::HashSet;
use std::io;
use std::ops::Range;

use belay_store::Disk;

use crate::error::{Error, Result};

const MAGIC: &[u8; 4] = b"BLR1";
const HEADER: usize = 4 + 4 + 16 + 16;

/// Below 2^24 the length's last byte is zero. JSON has no zero byte, so nothing inside a payload (a label that
/// somebody chose) can be taken for a record when the reader looks for the next one behind damage.
const PAYLOAD_BYTES_MAX: usize = (1 << 24) - 1;

/// What proves a record, and with it all before it.
pub(crate) type Check = [u8; 16];

/// A place in a log that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) offset: u64,
    pub(crate) detail: &'static str,
}

/// What a log holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    bytes: Vec<u8>,
    payloads: Vec<Range<usize>>,
    pub(crate) broken: Vec<Broken>,
    too_new: bool,
    exists: bool,
    end: usize,
    last: Check,
    /// What comes next follows a record that could not be read, so that its link says nothing.
    after_gap: bool,
}

impl Log {
    /// Reads a log; one that does not exist is empty.
    pub(crate) fn read(disk: &dyn Disk, name: &str) -> Result<Log> {
        match disk.read(name) {
            Ok(bytes) => Log { exists: true, ..Log::scan(bytes) }.checked(name),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Log::default()),
            // The file was cut between being measured and being read: a writer removed a torn end.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let bytes = disk.read(name).map_err(Error::disk("read", name))?;
                Log { exists: true, ..Log::scan(bytes) }.checked(name)
            }
            Err(error) => Err(Error::disk("read", name)(error)),
        }
    }

    fn checked(self, name: &str) -> Result<Log> {
        if self.too_new { Err(Error::TooNew { name: name.to_owned() }) } else { Ok(self) }
    }

    /// Whether the file still holds the same bytes.
    pub(crate) fn is_still(&self, disk: &dyn Disk, name: &str) -> Result<bool> {
        match disk.read(name) {
            Ok(bytes) => Ok(self.exists && bytes == self.bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(!self.exists),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(Error::disk("read", name)(error)),
        }
    }

    /// Whether a file begins as a log does that has a record; the rest of it is not looked at.
    pub(crate) fn begins(disk: &dyn Disk, name: &str) -> bool {
        let mut mark = [0; MAGIC.len()];
        disk.open(name).and_then(|file| file.read_at(&mut mark, 0)).is_ok() && mark == *MAGIC
    }

    /// Whether the file is there.
    pub(crate) fn exists(&self) -> bool {
        self.exists
    }

    /// Whether it has no record that can be read.
    pub(crate) fn is_empty(&self) -> bool {
        self.payloads.is_empty()
    }

    /// Bytes up to which the file holds records.
    pub(crate) fn len(&self) -> u64 {
        self.end as u64
    }

    /// Whether the file begins with these bytes.
    pub(crate) fn begins_with(&self, bytes: &[u8]) -> bool {
        self.bytes[..self.end].starts_with(bytes)
    }

    /// What the file holds behind its first bytes.
    pub(crate) fn since(&self, len: u64) -> &[u8] {
        &self.bytes[len as usize..self.end]
    }

    /// A log of these bytes, if none of it is damaged; a torn end is left out.
    pub(crate) fn whole(bytes: &[u8]) -> Option<Log> {
        let log = Log::scan(bytes.to_vec());
        (log.broken.is_empty() && !log.too_new).then_some(log)
    }

    /// Whether the other has a record that this one has not.
    pub(crate) fn lacks(&self, other: &Log) -> bool {
        self.behind(other).next().is_some()
    }

    /// The payloads of the other that this one has not, in order.
    pub(crate) fn behind<'o>(&self, other: &'o Log) -> impl Iterator<Item = &'o [u8]> {
        let own: HashSet<Check> = self.payloads.iter().map(|payload| self.check(payload)).collect();
        let missing = other.payloads.iter().filter(move |payload| !own.contains(&other.check(payload)));
        missing.map(|payload| &other.bytes[payload.clone()])
    }

    fn check(&self, payload: &Range<usize>) -> Check {
        self.bytes[payload.start - 16..payload.start].try_into().expect("a check has 16 bytes")
    }

    /// The payloads in order.
    pub(crate) fn payloads(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.payloads.iter().map(|range| ((range.start - HEADER) as u64, &self.bytes[range.clone()]))
    }

    /// Appends payloads and makes them durable; the caller holds the lock that covers this file and read it under
    /// it. Returns the log with them.
    pub(crate) fn append(&self, disk: &dyn Disk, name: &str, payloads: &[Vec<u8>]) -> Result<Log> {
        let mut log = Log { bytes: self.bytes[..self.end].to_vec(), exists: true, after_gap: false, ..self.clone() };
        for payload in payloads {
            log.last = frame(&mut log.bytes, &log.last, payload)?;
            log.payloads.push(log.bytes.len() - payload.len()..log.bytes.len());
        }
        log.end = log.bytes.len();
        let mut file = disk.append(name, self.end as u64).map_err(Error::disk("open", name))?;
        file.write(&log.bytes[self.end..]).map_err(Error::disk("append to", name))?;
        file.sync().map_err(Error::disk("sync", name))?;
        if !self.exists {
            sync_name(disk, name).map_err(Error::disk("sync", name))?;
        }
        Ok(log)
    }

    /// Replaces the file by one with just these payloads; the caller holds the lock that covers it.
    pub(crate) fn rewrite(disk: &dyn Disk, name: &str, payloads: &[Vec<u8>]) -> Result<Log> {
        let mut bytes = Vec::new();
        let mut last = Check::default();
        for payload in payloads {
            last = frame(&mut bytes, &last, payload)?;
        }
        replace(disk, name, &bytes)?;
        Ok(Log { exists: true, ..Log::scan(bytes) })
    }

    /// Replaces the file by this log, with more payloads behind it; the caller holds the lock that covers it.
    pub(crate) fn restore(&self, disk: &dyn Disk, name: &str, payloads: &[Vec<u8>]) -> Result<Log> {
        let (mut bytes, mut last) = (self.bytes[..self.end].to_vec(), self.last);
        for payload in payloads {
            last = frame(&mut bytes, &last, payload)?;
        }
        replace(disk, name, &bytes)?;
        Ok(Log { exists: true, ..Log::scan(bytes) })
    }

    fn scan(bytes: Vec<u8>) -> Log {
        let mut log = Log::default();
        let mut at = 0;
        while at < bytes.len() {
            match record(&bytes, at) {
                Some(found) => at = log.accept(&bytes, at, found),
                None => match log.resynchronise(&bytes, at) {
                    Some(next) => at = next,
                    None => {
                        log.bytes = bytes;
                        return log;
                    }
                },
            }
        }
        log.end = bytes.len();
        log.bytes = bytes;
        log
    }

    fn accept(&mut self, bytes: &[u8], at: usize, found: Record) -> usize {
        if bytes[at..at + 4] != *MAGIC {
            self.broken.push(Broken { offset: at as u64, detail: "a record's mark is damaged" });
        }
        if found.link != self.last && !self.after_gap {
            self.broken.push(Broken { offset: at as u64, detail: "a record before this one is missing" });
        }
        self.after_gap = false;
        self.end = found.payload.end;
        self.last = found.check;
        self.payloads.push(found.payload);
        self.end
    }

    /// Deals with bytes at `at` that are no record; returns where to go on, or nothing at the end of the log.
    fn resynchronise(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        let is_next = |next: &usize| bytes[*next..].starts_with(MAGIC) && record(bytes, *next).is_some();
        let next = (at + 1..bytes.len().saturating_sub(HEADER - 1)).find(is_next);
        let end = next.unwrap_or(bytes.len());
        let offset = at as u64;
        if let Some(found) = record_until(bytes, at, end) {
            self.broken.push(Broken { offset, detail: "a record's length is damaged" });
            self.accept(bytes, at, found);
        } else if next.is_none() && is_newer(&bytes[at..]) {
            self.too_new = true;
            self.end = end;
        } else if next.is_none() && is_torn(&bytes[at..]) {
            self.end = at;
        } else {
            self.broken.push(Broken { offset, detail: "a record is damaged" });
            self.after_gap = true;
            self.end = end;
        }
        next
    }
}

/// Writes a small file so that a crash leaves the old one or the new one; its directory is there and durable.
pub(crate) fn replace(disk: &dyn Disk, name: &str, bytes: &[u8]) -> Result<()> {
    let fresh = format!("{name}.new");
    match disk.remove(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::disk("remove", &fresh)(error)),
        _ => {}
    }
    let write = || -> io::Result<()> {
        let mut file = disk.create(&fresh)?;
        file.write(bytes)?;
        file.sync()?;
        disk.rename(&fresh, name)?;
        disk.sync_dir(name.rsplit_once('/').map_or("", |(dir, _)| dir))
    };
    write().map_err(|error| {
        // Best effort: the space of a half-written file goes back; the next writer removes it otherwise.
        let _ = disk.remove(&fresh);
        Error::disk("write", name)(error)
    })
}

/// Makes a name durable, and those of the directories above it, which may be as new.
fn sync_name(disk: &dyn Disk, mut name: &str) -> io::Result<()> {
    while !name.is_empty() {
        name = name.rsplit_once('/').map_or("", |(dir, _)| dir);
        disk.sync_dir(name)?;
    }
    Ok(())
}

struct Record {
    link: Check,
    check: Check,
    payload: Range<usize>,
}

fn frame(out: &mut Vec<u8>, last: &Check, payload: &[u8]) -> Result<Check> {
    if payload.len() > PAYLOAD_BYTES_MAX {
        return Err(Error::Unreadable { text: format!("{} bytes", payload.len()), expected: "a record below 16 MiB" });
    }
    let check = check_of(last, payload);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    out.extend_from_slice(last);
    out.extend_from_slice(&check);
    out.extend_from_slice(payload);
    Ok(check)
}

fn check_of(link: &Check, payload: &[u8]) -> Check {
    let mut hasher = blake3::Hasher::new();
    hasher.update(link).update(payload);
    hasher.finalize().as_bytes()[..16].try_into().expect("a BLAKE3 hash has 32 bytes")
}

/// The record at `at`, with the length that it claims.
fn record(bytes: &[u8], at: usize) -> Option<Record> {
    let claimed = u32::from_le_bytes(bytes.get(at + 4..at + 8)?.try_into().ok()?) as usize;
    if claimed > PAYLOAD_BYTES_MAX {
        return None;
    }
    record_until(bytes, at, (at + HEADER).checked_add(claimed)?)
}

/// The record at `at`, if it ends at `end`.
fn record_until(bytes: &[u8], at: usize, end: usize) -> Option<Record> {
    let payload = bytes.get(at + HEADER..end)?;
    let link: Check = bytes[at + 8..at + 24].try_into().ok()?;
    let check: Check = bytes[at + 24..at + 40].try_into().ok()?;
    (check_of(&link, payload) == check).then_some(Record { link, check, payload: at + HEADER..end })
}

/// Whether the rest of a file is what a crash leaves of a record that was being appended: a beginning of one,
/// or the zeros of blocks that were allocated and not yet written.
fn is_torn(rest: &[u8]) -> bool {
    let Some(header) = rest.get(..HEADER) else { return true };
    let claimed = u32::from_le_bytes(header[4..8].try_into().expect("four bytes")) as usize;
    let is_short = header.starts_with(MAGIC) && claimed <= PAYLOAD_BYTES_MAX && claimed > rest.len() - HEADER;
    // A payload has no zero byte. One in its middle could be a flipped bit; many, or one where the last brace was, not.
    let is_unwritten = rest.ends_with(&[0]) || rest[HEADER..].windows(8).any(|window| window == [0; 8]);
    is_short || is_unwritten || rest.starts_with(&[0; 4])
}

fn is_newer(rest: &[u8]) -> bool {
    rest.starts_with(b"BLR") && rest.get(3).is_some_and(|version| (b'2'..=b'9').contains(version))
}

#[cfg(test)]
mod tests;
