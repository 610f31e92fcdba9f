//! The byte language of stored objects: LEB128 numbers, length-prefixed bytes, fixed hashes.
//!
//! A reader never trusts a length: every claim is checked against what is really left.

use belay_sys::Time;

use crate::error::{Error, Result};
use crate::hash::Hash;

/// Appends values to a buffer.
#[derive(Default)]
pub(crate) struct Encoder {
    pub(crate) bytes: Vec<u8>,
}

impl Encoder {
    pub(crate) fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(crate) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub(crate) fn blob(&mut self, value: &[u8]) {
        self.number(value.len() as u64);
        self.bytes.extend_from_slice(value);
    }

    pub(crate) fn hash(&mut self, value: &Hash) {
        self.bytes.extend_from_slice(&value.0);
    }

    pub(crate) fn time(&mut self, value: Time) {
        self.bytes.extend_from_slice(&value.sec.to_le_bytes());
        self.bytes.extend_from_slice(&value.nsec.to_le_bytes());
    }
}

/// Takes values from a buffer, in the order in which they were appended.
pub(crate) struct Decoder<'a> {
    rest: &'a [u8],
    name: &'a str,
}

impl<'a> Decoder<'a> {
    /// Reads `bytes`; `name` says in errors what they are.
    pub(crate) fn new(bytes: &'a [u8], name: &'a str) -> Self {
        Decoder { rest: bytes, name }
    }

    pub(crate) fn bad(&self, detail: &str) -> Error {
        Error::corrupt(self.name, detail)
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(len).ok_or_else(|| self.bad("it ends too early"))?;
        self.rest = rest;
        Ok(head)
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn number(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                // One value has one encoding, so that equal objects have equal names.
                let minimal = byte != 0 || shift == 0;
                return if minimal { Ok(value) } else { Err(self.bad("a number is padded")) };
            }
        }
        Err(self.bad("a number is too large"))
    }

    /// A number that counts things of at least one byte each, so it cannot exceed what is left.
    pub(crate) fn count(&mut self) -> Result<usize> {
        let value = self.number()?;
        if value > self.rest.len() as u64 {
            return Err(self.bad("a count exceeds what is there"));
        }
        Ok(value as usize)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        u32::try_from(self.number()?).map_err(|_| self.bad("a number is too large"))
    }

    pub(crate) fn blob(&mut self) -> Result<&'a [u8]> {
        let len = self.count()?;
        self.take(len)
    }

    pub(crate) fn text(&mut self) -> Result<String> {
        let bytes = self.blob()?;
        String::from_utf8(bytes.to_vec()).map_err(|_| self.bad("a text is not UTF-8"))
    }

    pub(crate) fn hash(&mut self) -> Result<Hash> {
        Ok(Hash(self.take(32)?.try_into().expect("32 bytes were taken")))
    }

    pub(crate) fn time(&mut self) -> Result<Time> {
        let sec = i64::from_le_bytes(self.take(8)?.try_into().expect("8 bytes were taken"));
        let nsec = u32::from_le_bytes(self.take(4)?.try_into().expect("4 bytes were taken"));
        if nsec >= 1_000_000_000 {
            return Err(self.bad("a time has too many nanoseconds"));
        }
        Ok(Time { sec, nsec })
    }

    pub(crate) fn finish(self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.bad("something follows its end")) }
    }
}
