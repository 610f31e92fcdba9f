//! Read-only views of files in memory.
//!
//! Invariants: only for files that nobody shortens or rewrites while they are mapped, such as the store's
//! finished packs. Reading past a shortened file's end kills the process (SIGBUS).

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags};

/// A part of a file, mapped into memory for reading.
#[derive(Debug)]
pub struct Mapped {
    base: NonNull<u8>,
    mapped_len: usize,
    skip: usize,
    len: usize,
}

/// Maps `len` bytes of `file` from `offset`, which need not be aligned.
pub fn map_readonly(file: &File, offset: u64, len: usize) -> io::Result<Mapped> {
    let end = offset.checked_add(len as u64);
    if end.is_none_or(|end| end > file.metadata().map_or(0, |meta| meta.len())) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let page = rustix::param::page_size() as u64;
    let skip = (offset % page) as usize;
    let mapped_len = if len == 0 { 0 } else { len + skip };
    let mut base = NonNull::dangling();
    if mapped_len > 0 {
        let aligned = offset - skip as u64;
        let null = std::ptr::null_mut();
        // Private, since some files of the kernel's cannot be mapped otherwise; nobody writes to it in either way.
        // SAFETY: the kernel picks the address, so no memory of ours is replaced, and Drop alone unmaps it.
        let address = unsafe { rustix::mm::mmap(null, mapped_len, ProtFlags::READ, MapFlags::PRIVATE, file, aligned)? };
        base = NonNull::new(address.cast()).expect("mmap without MAP_FIXED never answers null");
    }
    Ok(Mapped { base, mapped_len, skip, len })
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: base is a live mapping of skip + len readable bytes until Drop, and nobody here writes to it.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(self.skip), self.len) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if self.mapped_len > 0 {
            // SAFETY: this is the mapping that map_readonly made, and no borrow of it outlives self. Failure
            // would only mean that it stays mapped.
            let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.mapped_len) };
        }
    }
}

// SAFETY: the mapping is read-only and belongs to the process, not to a thread.
unsafe impl Send for Mapped {}
// SAFETY: as above; shared reads need no synchronisation.
unsafe impl Sync for Mapped {}

#[cfg(test)]
mod tests {
    use super::map_readonly;
    use std::fs::File;

    fn own_source() -> (File, Vec<u8>) {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/map.rs");
        let file = File::open(path).unwrap();
        (file, std::fs::read(path).unwrap())
    }

    #[test]
    fn any_part_can_be_mapped() {
        let (file, bytes) = own_source();
        let whole = map_readonly(&file, 0, bytes.len()).unwrap();
        assert_eq!(&whole[..], &bytes[..]);
        let part = map_readonly(&file, 1001, 77).unwrap();
        assert_eq!(&part[..], &bytes[1001..1078]);
        assert!(map_readonly(&file, 5, 0).unwrap().is_empty());
    }

    #[test]
    fn past_the_end_is_refused() {
        let (file, bytes) = own_source();
        for (offset, len) in [(1, bytes.len()), (u64::MAX, 1), (bytes.len() as u64 + 1, 0)] {
            let error = map_readonly(&file, offset, len).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
        }
    }
}
