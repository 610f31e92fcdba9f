//! A pack: blocks of objects, a table of where each is, and a trailer that proves it complete.
//!
//! ```text
//! magic "BELAYPK1"
//! blocks, back to back; each is one object or many small ones, compressed unless that gains nothing
//! footer: block table, object table sorted by key, 257 counts that split the object table by first byte
//! trailer: footer offset u64, footer length u64, blocks u32, objects u32, BLAKE3 of the footer, magic "BELAYEND"
//! ```
//!
//! All numbers are little-endian. A pack is written under another name, made durable and then renamed, so
//! whoever sees a `.pack` sees all of it. Its name is the hash of its footer.

mod read;
mod write;

pub(crate) use read::Pack;
pub(crate) use write::{NewBlock, PackWriter, Sealed, Shared};

pub(crate) const MAGIC: &[u8; 8] = b"BELAYPK1";
pub(crate) const END_MAGIC: &[u8; 8] = b"BELAYEND";
pub(crate) const TRAILER_LEN: u64 = 64;
/// What a pack takes for itself, however little is in it.
pub(crate) const FRAME_BYTES: u64 = MAGIC.len() as u64 + FANOUT_LEN as u64 + TRAILER_LEN;
pub(crate) const BLOCK_ROW: usize = 28;
pub(crate) const OBJECT_ROW: usize = 44;
pub(crate) const FANOUT_LEN: usize = 257 * 4;
/// Where the bytes begin that a pack shares with a file: at the second block of the disk.
pub(crate) const SHARED_AT: u64 = 4096;

/// Where a block is, and how it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) offset: u64,
    pub(crate) stored_len: u32,
    pub(crate) raw_len: u32,
    pub(crate) compressed: bool,
    pub(crate) tree: bool,
    /// The first eight bytes of the BLAKE3 of the stored bytes; none if the hashes of its objects are all that tells whether it
    /// is right.
    pub(crate) check: Option<u64>,
}

impl Block {
    pub(crate) fn to_row(self) -> [u8; BLOCK_ROW] {
        let mut row = [0; BLOCK_ROW];
        row[..8].copy_from_slice(&self.offset.to_le_bytes());
        row[8..12].copy_from_slice(&self.stored_len.to_le_bytes());
        row[12..16].copy_from_slice(&self.raw_len.to_le_bytes());
        row[16] = u8::from(self.compressed) | u8::from(self.tree) << 1 | u8::from(self.check.is_none()) << 2;
        row[20..].copy_from_slice(&self.check.unwrap_or(0).to_le_bytes());
        row
    }

    pub(crate) fn from_row(row: &[u8]) -> Block {
        Block {
            offset: u64_at(row, 0),
            stored_len: u32_at(row, 8),
            raw_len: u32_at(row, 12),
            compressed: row[16] & 1 != 0,
            tree: row[16] & 2 != 0,
            check: (row[16] & 4 == 0).then(|| u64_at(row, 20)),
        }
    }
}

/// Where an object is inside a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) block: u32,
    pub(crate) offset: u32,
    pub(crate) len: u32,
}

impl Place {
    pub(crate) fn from_row(row: &[u8]) -> Place {
        Place { block: u32_at(row, 32), offset: u32_at(row, 36), len: u32_at(row, 40) }
    }

    /// The object's bytes in the raw bytes of its block, unless it lies outside.
    pub(crate) fn of(self, raw: &[u8]) -> Option<&[u8]> {
        raw.get(self.offset as usize..)?.get(..self.len as usize)
    }
}

pub(crate) fn check_of(stored: &[u8]) -> u64 {
    u64_at(blake3::hash(stored).as_bytes(), 0)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
