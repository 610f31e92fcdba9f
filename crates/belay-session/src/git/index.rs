//! The paths that git tracks, from its index: they are part of what git sees even where an ignore file matches them.

use std::collections::BTreeSet;

use super::id::Format;
use super::place::{Repository, failed, read_file};
use crate::error::Result;

const INDEX_BYTES_MAX: u64 = 1 << 30;
/// Times, owner, size and so on, before the name of the object.
const STAT_BYTES: usize = 40;
const EXTENDED: u16 = 0x4000;
/// The bits for the length of a name; all of them stand for one that is longer.
const LENGTH: u16 = 0x0fff;
/// Where the mode is in an entry, and that of a repository.
const MODE_AT: usize = 24;
const GITLINK: u32 = 0o160_000;

/// What an index says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tracked {
    pub(crate) paths: BTreeSet<Vec<u8>>,
    /// Those of them that are repositories of their own.
    pub(crate) repositories: Vec<Vec<u8>>,
    /// Whether some are listed elsewhere, or as whole directories, or could not be read.
    pub(crate) is_partial: bool,
}

impl Repository {
    /// The tracked paths of this worktree; an index that belay cannot read is said to be partial, not guessed at.
    pub(crate) fn tracked(&self) -> Result<Tracked> {
        let bytes = read_file(&self.own, b"index", INDEX_BYTES_MAX).map_err(failed("read its index"))?;
        let Some(bytes) = bytes else { return Ok(Tracked::default()) };
        Ok(parse(self.objects.format(), &bytes).unwrap_or(Tracked { is_partial: true, ..Tracked::default() }))
    }
}

/// The paths of an index, whatever names its objects have.
pub(crate) fn tracked_in(index: &[u8]) -> Option<Tracked> {
    [Format::Sha1, Format::Sha256].into_iter().find_map(|format| parse(format, index))
}

pub(super) fn parse(format: Format, bytes: &[u8]) -> Option<Tracked> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?));
    let version = number(4).filter(|version| bytes.starts_with(b"DIRC") && (2..=4).contains(version))?;
    let count = number(8)?;
    let mut tracked = Tracked::default();
    let mut at = 12;
    let mut last: Vec<u8> = Vec::new();
    for _ in 0..count {
        let mode_at = at + MODE_AT;
        let flags_at = at + STAT_BYTES + format.len();
        let flags = u16::from_be_bytes(bytes.get(flags_at..flags_at + 2)?.try_into().ok()?);
        let mut name_at = flags_at + if version >= 3 && flags & EXTENDED != 0 { 4 } else { 2 };
        let mut name = Vec::new();
        if version == 4 {
            let (strip, len) = offset(bytes.get(name_at..)?)?;
            name_at += len;
            name.extend_from_slice(&last[..last.len().checked_sub(strip)?]);
        }
        let len = bytes.get(name_at..)?.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(&bytes[name_at..name_at + len]);
        // Git goes by this number where it can, and would find the next entry elsewhere.
        let told = usize::from(flags & LENGTH);
        if told != usize::from(LENGTH) && told != name.len() {
            return None;
        }
        at = match version {
            4 => name_at + len + 1,
            // From one to eight zero bytes make each entry a multiple of eight.
            _ => at + (name_at + len - at + 8) / 8 * 8,
        };
        last.clone_from(&name);
        if bytes.get(mode_at..mode_at + 4)? == GITLINK.to_be_bytes() {
            tracked.repositories.push(name.clone());
        }
        match name.ends_with(b"/") {
            true => tracked.is_partial = true,
            false => drop(tracked.paths.insert(name)),
        }
    }
    let end = bytes.len().checked_sub(format.len())?;
    while at + 8 <= end {
        tracked.is_partial |= &bytes[at..at + 4] == b"link";
        at = at.checked_add(8)?.checked_add(number(at + 4)? as usize)?;
    }
    // Git does without what is too short for anything.
    (at <= end).then_some(tracked)
}

/// A number in git's form for offsets, and how many bytes it takes.
fn offset(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = usize::from(bytes.first()? & 0x7f);
    let mut at = 0;
    while bytes[at] & 0x80 != 0 {
        at += 1;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(bytes.get(at)? & 0x7f))?;
    }
    Some((value, at + 1))
}
