//! Whether a live path still holds what was captured, by its bytes.
//!
//! Times and size do not tell: a same-size edit may put the old time back, and stores into a mapped page that is
//! dirty already move no time at all. What is about to be replaced or removed is therefore read once more.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use belay_sys::Dir;

use super::Work;
use crate::error::Error;
use crate::tree::{Entry, Kind, Segment, View};

impl Work<'_> {
    /// Whether the file or link of that name is the captured one; everything else has no content.
    pub(super) fn holds(&self, dir: &Dir, name: &[u8], entry: &Entry) -> io::Result<bool> {
        match &entry.kind {
            Kind::Symlink(text) => Ok(dir.read_link(name)? == *text),
            Kind::File { size, content } => {
                let segments = View::stored(self.store).segments(*size, content).map_err(into_io)?;
                self.holds_segments(&dir.open_read(name)?, *size, &segments)
            }
            _ => Ok(true),
        }
    }

    fn holds_segments(&self, file: &File, size: u64, segments: &[Segment]) -> io::Result<bool> {
        if file.metadata()?.len() != size {
            return Ok(false);
        }
        let is_sparse = segments.iter().any(|segment| matches!(segment, Segment::Hole { .. }));
        let extents = if is_sparse { belay_sys::data_extents(file, size)? } else { Vec::new() };
        let mut buffer = Vec::new();
        let mut at = 0;
        for segment in segments {
            let (len, is_same) = match segment {
                Segment::Data { key, len } => {
                    let is_read = read(file, at, *len, &mut buffer)?;
                    (*len, is_read && self.store.algorithm().hash(&buffer) == *key)
                }
                Segment::Hole { len } => (*len, is_empty(file, at, at + len, &extents, &mut buffer)?),
            };
            if !is_same {
                return Ok(false);
            }
            at += len;
        }
        Ok(true)
    }
}

/// Whether nothing but zeros lies between two offsets.
fn is_empty(file: &File, from: u64, to: u64, extents: &[(u64, u64)], buffer: &mut Vec<u8>) -> io::Result<bool> {
    const STEP_BYTES: u64 = 1 << 20;
    for (offset, len) in extents {
        let (mut at, end) = ((*offset).max(from), (offset + len).min(to));
        while at < end {
            let step = (end - at).min(STEP_BYTES);
            if !read(file, at, step, buffer)? || buffer.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            at += step;
        }
    }
    Ok(true)
}

/// Reads so many bytes; false if the file ends before.
fn read(file: &File, at: u64, len: u64, buffer: &mut Vec<u8>) -> io::Result<bool> {
    buffer.resize(len as usize, 0);
    match file.read_exact_at(buffer, at) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        other => other.map(|()| true),
    }
}

fn into_io(error: Error) -> io::Error {
    io::Error::other(error)
}
