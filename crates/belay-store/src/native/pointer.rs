//! What a block of a pack of pointers holds instead of bytes: the copy, and where in it the bytes are.

use crate::codec::{Decoder, Encoder};
use crate::error::Result;

const FILE: u8 = 1;
const ZSTD: u8 = 2;
const GZIP: u8 = 3;

/// A part of an archive that is unpacked by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where it begins in the archive.
    pub offset: u64,
    /// How long it is there.
    pub len: u32,
    /// How long it is unpacked.
    pub raw_len: u32,
    /// Whether it is packed by gzip, and not by zstd.
    pub gzip: bool,
}

/// Where the bytes of one object lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    /// The id of the copy.
    pub(crate) copy: String,
    /// The path of the file beneath the copy; empty in an archive.
    pub(crate) path: Vec<u8>,
    /// The part of an archive.
    pub(crate) frame: Option<Frame>,
    /// Where in the file, or in the unpacked part.
    pub(crate) at: u64,
}

impl Pointer {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        match self.frame {
            None => {
                out.byte(FILE);
                out.blob(self.copy.as_bytes());
                out.blob(&self.path);
            }
            Some(frame) => {
                out.byte(if frame.gzip { GZIP } else { ZSTD });
                out.blob(self.copy.as_bytes());
                out.number(frame.offset);
                out.number(frame.len.into());
                out.number(frame.raw_len.into());
            }
        }
        out.number(self.at);
        out.bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Pointer> {
        let mut input = Decoder::new(bytes, "a pointer");
        let kind = input.byte()?;
        let copy = input.text()?;
        let (path, frame) = match kind {
            FILE => (input.blob()?.to_vec(), None),
            ZSTD | GZIP => {
                let (offset, len, raw_len) = (input.number()?, input.u32()?, input.u32()?);
                (Vec::new(), Some(Frame { offset, len, raw_len, gzip: kind == GZIP }))
            }
            _ => return Err(input.bad("its kind is unknown")),
        };
        let at = input.number()?;
        input.finish()?;
        Ok(Pointer { copy, path, frame, at })
    }
}
