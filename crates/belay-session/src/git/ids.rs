//! Which content has which name in git, remembered in belay's home so that what did not change is not hashed again.
//!
//! It is a cache: damaged or missing, the names are worked out anew.

use std::collections::HashMap;

use belay_store::{Content, Disk, Hash};

use super::id::{Format, GitId};
use crate::log::replace;

const START: &[u8] = b"belay git ids 1\n";
const CHECK_BYTES: usize = 32;

/// Names of blobs by the hash of their content.
pub(crate) struct Ids {
    format: Format,
    known: HashMap<Hash, GitId>,
    /// What was asked for; only that is kept.
    used: HashMap<Hash, GitId>,
}

impl Ids {
    pub(crate) fn read(disk: &dyn Disk, name: &str, format: Format) -> Ids {
        let known = disk.read(name).ok().and_then(|bytes| parse(format, &bytes)).unwrap_or_default();
        Ids { format, known, used: HashMap::new() }
    }

    pub(crate) fn get(&mut self, content: &Content) -> Option<GitId> {
        let id = *self.known.get(&content.identity())?;
        self.used.insert(content.identity(), id);
        Some(id)
    }

    pub(crate) fn put(&mut self, content: &Content, id: GitId) {
        self.known.insert(content.identity(), id);
        self.used.insert(content.identity(), id);
    }

    /// Keeps what was used this time.
    pub(crate) fn save(&self, disk: &dyn Disk, name: &str) {
        let mut bytes = START.to_vec();
        bytes.push(self.format.len() as u8);
        for (content, id) in &self.used {
            bytes.extend_from_slice(&content.0);
            bytes.extend_from_slice(id.as_bytes());
        }
        let check = blake3::hash(&bytes);
        bytes.extend_from_slice(check.as_bytes());
        // Without it the next time is slower.
        let _ = replace(disk, name, &bytes);
    }
}

pub(super) fn parse(format: Format, bytes: &[u8]) -> Option<HashMap<Hash, GitId>> {
    let (body, check) = bytes.split_at_checked(bytes.len().checked_sub(CHECK_BYTES)?)?;
    if blake3::hash(body).as_bytes() != check {
        return None;
    }
    let records = body.strip_prefix(START)?.strip_prefix(&[format.len() as u8])?;
    let record = |record: &[u8]| {
        let (content, id) = record.split_at(32);
        Some((Hash(content.try_into().ok()?), GitId::from_bytes(id)?))
    };
    let records = records.chunks_exact(32 + format.len());
    if records.remainder().is_empty() { records.map(record).collect() } else { None }
}
