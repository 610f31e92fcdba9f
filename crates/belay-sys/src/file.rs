//! What can be done with the content of an open file beyond reading and writing it.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::{Advice, OFlags, SeekFrom, Timespec, Timestamps};
use rustix::io::Errno;

/// A flag for opening what should be a file: whatever somebody put in its place, a pipe for one, is not waited for.
pub const UNWAITED: i32 = OFlags::NONBLOCK.bits() as i32;

/// Offset and length of each run of data in the first `size` bytes; what lies between is holes.
///
/// A file system that does not know holes yields one extent. The file's cursor is left where it was.
pub fn data_extents(file: &File, size: u64) -> io::Result<Vec<(u64, u64)>> {
    let cursor = rustix::fs::tell(file)?;
    let extents = find_extents(file, size);
    rustix::fs::seek(file, SeekFrom::Start(cursor))?;
    extents
}

fn find_extents(file: &File, size: u64) -> io::Result<Vec<(u64, u64)>> {
    let mut extents = Vec::new();
    let mut position = 0;
    while position < size {
        let start = match rustix::fs::seek(file, SeekFrom::Data(position)) {
            Err(Errno::NXIO) => break,
            Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(vec![(0, size)]),
            result => result?,
        };
        if start >= size {
            break;
        }
        let end = match rustix::fs::seek(file, SeekFrom::Hole(start)) {
            // Cut short by someone else between the two calls.
            Err(Errno::NXIO) => break,
            result => result?.min(size),
        };
        extents.push((start, end - start));
        position = end;
    }
    Ok(extents)
}

/// Makes `to` share the blocks of `from`, where the file system can (btrfs, XFS).
pub fn clone_file(from: &File, to: &File) -> io::Result<()> {
    Ok(rustix::fs::ioctl_ficlone(to, from)?)
}

/// Makes `to` share so many bytes of `from`, and the blocks that hold them; all but an end of `from` at whole blocks.
///
/// A length of zero means all that there is from that offset on.
pub fn clone_range(from: &File, (offset, len): (u64, u64), to: &File, at: u64) -> io::Result<()> {
    #[repr(C)]
    struct Range {
        source: i64,
        source_offset: u64,
        source_length: u64,
        target_offset: u64,
    }
    // The number is FICLONERANGE, the same on all architectures that number their ioctls as x86 does.
    const FICLONERANGE: libc::Ioctl = 0x4020_940d;
    let range = Range { source: from.as_raw_fd().into(), source_offset: offset, source_length: len, target_offset: at };
    // SAFETY: both descriptors are open for as long as the files are borrowed, and the kernel only reads the structure.
    match unsafe { libc::ioctl(to.as_raw_fd(), FICLONERANGE, &raw const range) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets the length of `file`; what it gains is a hole.
pub fn punch_or_extend(file: &File, size: u64) -> io::Result<()> {
    Ok(rustix::fs::ftruncate(file, size)?)
}

/// Starts writing the file's dirty pages out, which makes the next store through a shared mapping visible.
///
/// While a page is dirty, a process that has it mapped changes it without the kernel noticing, and so without a new
/// time. A page that is being written out is protected: the next store to it is noticed, and moves the file's times.
pub fn watch_mappings(file: &File) {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE;
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and the call takes no pointers. Its failure
    // leaves things as they were.
    unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, flags) };
}

/// Has the disk write what the file gained at an offset while the caller goes on; durable only after a sync.
pub fn begin_writing_out(file: &File, offset: u64, len: u64) {
    // Lengths of files are far below the largest of these numbers.
    let (offset, len) = (offset as libc::off64_t, len as libc::off64_t);
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and the call takes no pointers. Its failure
    // leaves the work to the sync.
    unsafe { libc::sync_file_range(file.as_raw_fd(), offset, len, libc::SYNC_FILE_RANGE_WRITE) };
}

/// Sets the time of the last change of an open file's content; that of the last access stays.
pub fn set_file_mtime(file: &File, mtime: crate::Time) -> io::Result<()> {
    let omitted = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    let modified = Timespec { tv_sec: mtime.sec, tv_nsec: mtime.nsec.into() };
    Ok(rustix::fs::futimens(file, &Timestamps { last_access: omitted, last_modification: modified })?)
}

/// Tells the kernel that `file` will be read from front to back.
pub fn advise_sequential(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fadvise(file, 0, None, Advice::Sequential)?)
}

/// The extended attributes of an open file, sorted; cheaper than asking by name.
pub fn file_xattrs(file: &File) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    crate::dir::read_open_xattrs(file.as_fd())
}
