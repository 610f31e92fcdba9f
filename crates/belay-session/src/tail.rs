//! Where a timeline was known to end, beside it, so that records missing from its end do not look like records never written.
//!
//! The mark is written after the record that it names is durable, and removed for good before a timeline is
//! written anew. So a timeline may be longer than its mark says, and is never shorter unless it was damaged.

use belay_store::Disk;

use crate::error::{Error, Result};
use crate::log::{Check, Log};

const MAGIC: &[u8; 4] = b"BLT1";
const LEN: usize = 4 + 8 + 16 + 16;

/// The end of a timeline that was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tail {
    /// Bytes up to the end of its last record.
    pub(crate) len: u64,
    /// The check of that record.
    pub(crate) check: Check,
}

fn file_of(name: &str) -> String {
    format!("{name}.tail")
}

impl Tail {
    /// The mark beside the timeline of that name, if there is a good one.
    pub(crate) fn read(disk: &dyn Disk, name: &str) -> Option<Tail> {
        let bytes = disk.read(&file_of(name)).ok().filter(|bytes| bytes.len() == LEN && bytes.starts_with(MAGIC))?;
        let len = u64::from_le_bytes(bytes[4..12].try_into().expect("eight bytes"));
        let tail = Tail { len, check: bytes[12..28].try_into().expect("sixteen bytes") };
        (tail.encode() == bytes).then_some(tail)
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&self.len.to_le_bytes());
        bytes.extend_from_slice(&self.check);
        let check = blake3::hash(&bytes);
        bytes.extend_from_slice(&check.as_bytes()[..16]);
        bytes
    }

    /// Marks where the log ends, under the lock that covers it.
    ///
    /// Nothing waits for the disk: a mark that a power cut took back, or that could not be written, only says less.
    pub(crate) fn write(disk: &dyn Disk, name: &str, log: &Log) {
        if let Some(tail) = log.tail() {
            let _ = disk.append(&file_of(name), 0).and_then(|mut file| file.write(&tail.encode()));
        }
    }

    /// Removes the mark, durably, before the log is written anew and becomes shorter.
    pub(crate) fn remove(disk: &dyn Disk, name: &str) -> Result<()> {
        let file = file_of(name);
        match disk.remove(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            removed => removed.map_err(Error::disk("remove", &file))?,
        }
        let dir = name.rsplit_once('/').map_or("", |(dir, _)| dir);
        disk.sync_dir(dir).map_err(Error::disk("sync", dir))
    }
}
