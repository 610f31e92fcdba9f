//! Reads archives by parts: each is unpacked by itself, and the last few are kept for the next reader.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use super::Frame;

/// Parts that are kept unpacked: one for each thread of a restore, and some.
const KEPT_MAX: usize = 4;
/// The largest part that is believed.
const RAW_BYTES_MAX: u32 = 64 << 20;

/// The parts of one archive.
#[derive(Default)]
pub(super) struct Frames {
    file: OnceLock<File>,
    kept: Mutex<VecDeque<(u64, Arc<Vec<u8>>)>>,
}

impl Frames {
    /// Some bytes of a part.
    pub(super) fn read(&self, path: Option<&Path>, frame: &Frame, at: u64, len: usize) -> io::Result<Vec<u8>> {
        let raw = self.unpacked(path, frame)?;
        let bytes = usize::try_from(at).ok().and_then(|at| raw.get(at..)?.get(..len));
        bytes.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn unpacked(&self, path: Option<&Path>, frame: &Frame) -> io::Result<Arc<Vec<u8>>> {
        let find = |kept: &VecDeque<(u64, Arc<Vec<u8>>)>| {
            kept.iter().find(|(offset, _)| *offset == frame.offset).map(|(_, raw)| Arc::clone(raw))
        };
        if let Some(raw) = find(&self.kept.lock().expect("no holder panics")) {
            return Ok(raw);
        }
        let raw = Arc::new(unpack(self.file(path)?, frame)?);
        let mut kept = self.kept.lock().expect("no holder panics");
        kept.push_back((frame.offset, Arc::clone(&raw)));
        if kept.len() > KEPT_MAX {
            kept.pop_front();
        }
        Ok(raw)
    }

    fn file(&self, path: Option<&Path>) -> io::Result<&File> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let file = File::open(path.ok_or(io::ErrorKind::Unsupported)?)?;
        Ok(self.file.get_or_init(|| file))
    }
}

fn unpack(file: &File, frame: &Frame) -> io::Result<Vec<u8>> {
    if frame.raw_len > RAW_BYTES_MAX || frame.len > RAW_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut stored = vec![0; frame.len as usize];
    file.read_exact_at(&mut stored, frame.offset)?;
    let mut raw = Vec::with_capacity(frame.raw_len as usize);
    // No more is unpacked than it should have, whatever the bytes say.
    let limit = u64::from(frame.raw_len) + 1;
    match frame.gzip {
        true => flate2::read::GzDecoder::new(&stored[..]).take(limit).read_to_end(&mut raw)?,
        false => zstd::stream::read::Decoder::with_buffer(&stored[..])?.take(limit).read_to_end(&mut raw)?,
    };
    if raw.len() != frame.raw_len as usize {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a part has another length"));
    }
    Ok(raw)
}
