//! What a block of a pack of pointers holds instead of bytes: the copy, the path in it, and where the bytes begin.

use crate::codec::{Decoder, Encoder};
use crate::error::Result;

const PLAIN: u8 = 1;

/// Where the bytes of one object lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    /// The id of the copy.
    pub(crate) copy: String,
    /// The path of the file beneath the copy.
    pub(crate) path: Vec<u8>,
    /// Where in the file.
    pub(crate) at: u64,
}

impl Pointer {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        out.byte(PLAIN);
        out.blob(self.copy.as_bytes());
        out.blob(&self.path);
        out.number(self.at);
        out.bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Pointer> {
        let mut input = Decoder::new(bytes, "a pointer");
        if input.byte()? != PLAIN {
            return Err(input.bad("its kind is unknown"));
        }
        let (copy, path, at) = (input.text()?, input.blob()?.to_vec(), input.number()?);
        input.finish()?;
        Ok(Pointer { copy, path, at })
    }
}
