//! Gives a file its content out of a copy by sharing the copy's blocks, so that a restore writes no bytes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::{Held, Pointer};
use crate::error::{Error, Result};
use crate::hash::Algorithm;
use crate::objects::Store;
use crate::tree::Segment;

/// Below this a filesystem keeps a file in its metadata, or in the one block that sharing would save.
pub(crate) const GIVEN_BYTES_MIN: u64 = 4096;

/// A file that lies in more copies than this is written, because each attempt reads what it finds.
const CANDIDATES_MAX: usize = 3;

const ENOTTY: i32 = 25;

/// What came of an attempt to share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// The file holds the content, and it is right.
    Shared,
    /// The file is empty: no copy has all of it as one file, or what one has is not right.
    Not,
    /// The file is empty, and so would every other be: the two lie where nothing can be shared.
    Never,
}

/// Whether an attempt to share blocks failed in a way in which every other would.
pub(super) fn is_never(error: &io::Error) -> bool {
    let never = [io::ErrorKind::CrossesDevices, io::ErrorKind::Unsupported];
    never.contains(&error.kind()) || error.raw_os_error() == Some(ENOTTY)
}

impl Store {
    /// Whether some content lies in copies.
    pub(crate) fn has_copies(&self) -> Result<bool> {
        self.packs()?;
        Ok(!self.copies.is_empty())
    }

    /// Makes an empty file hold these segments by sharing the blocks of a copy.
    pub(crate) fn give(&self, segments: &[Segment], file: &File) -> Result<Given> {
        for kept in self.candidates(segments)? {
            match belay_sys::clone_file(&kept, file) {
                Ok(()) => {}
                Err(error) if is_never(&error) => return Ok(Given::Never),
                // About this file alone, such as one whose blocks may not be shared.
                Err(_) => continue,
            }
            if is_right(&kept, file, segments, self.algorithm()).unwrap_or(false) {
                return Ok(Given::Shared);
            }
            file.set_len(0).map_err(Error::disk("empty", "a file that was shared"))?;
        }
        Ok(Given::Not)
    }

    /// Files of copies that may be these segments, the likeliest first.
    ///
    /// Of a file that changed in part, each copy was the first to hold some of the segments, and the newest of them is
    /// the only one that has them all.
    fn candidates(&self, segments: &[Segment]) -> Result<Vec<File>> {
        let mut found: Vec<(Arc<Held>, Vec<u8>)> = Vec::new();
        for segment in segments {
            let Segment::Data { key, .. } = segment else { continue };
            let Some(Pointer { copy, path, frame: None, .. }) = self.pointer_of(key)? else { continue };
            let is_known = |(held, known): &(Arc<Held>, Vec<u8>)| held.copy.id == copy && *known == path;
            if let Some(held) = self.copies.get(&copy).filter(|_| !found.iter().any(is_known)) {
                found.push((held, path));
            }
        }
        found.sort_by_key(|(held, _)| std::cmp::Reverse(held.copy.order));
        let size: u64 = segments.iter().map(Segment::len).sum();
        let files = found.iter().take(CANDIDATES_MAX).filter_map(|(held, path)| held.open(path).ok());
        Ok(files.filter(|file| file.metadata().is_ok_and(|metadata| metadata.len() == size)).collect())
    }
}

/// Whether a file and what it was shared from are these segments: the bytes by their hashes, the holes by being none.
fn is_right(kept: &File, file: &File, segments: &[Segment], algorithm: Algorithm) -> io::Result<bool> {
    let (mut at, mut buffer) = (0, Vec::new());
    let extents = match segments.iter().any(|segment| matches!(segment, Segment::Hole { .. })) {
        true => belay_sys::data_extents(file, segments.iter().map(Segment::len).sum())?,
        false => Vec::new(),
    };
    for segment in segments {
        let end = at + segment.len();
        match segment {
            Segment::Data { key, len } => {
                buffer.resize(usize::try_from(*len).map_err(|_| io::ErrorKind::InvalidData)?, 0);
                kept.read_exact_at(&mut buffer, at)?;
                if algorithm.hash(&buffer) != *key {
                    return Ok(false);
                }
            }
            Segment::Hole { .. } if extents.iter().any(|(from, len)| *from < end && from + len > at) => {
                return Ok(false);
            }
            Segment::Hole { .. } => {}
        }
        at = end;
    }
    Ok(true)
}
