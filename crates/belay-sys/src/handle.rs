//! The kernel's own names for inodes, which stay the same whatever happens to their paths.
#![allow(unsafe_code)]

use std::borrow::Borrow;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;

/// Handles longer than this are made by no file system that the kernel knows.
const BYTES_MAX: usize = 128;

/// `AT_HANDLE_FID`: a handle that need not be opened again, which more file systems can give.
const FOR_NAMING_ONLY: libc::c_int = 0x200;

/// An inode's name within its file system: the type of the handle in four bytes, then its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(Box<[u8]>);

impl Handle {
    /// The type and the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<&[u8]> for Handle {
    fn from(bytes: &[u8]) -> Handle {
        Handle(bytes.into())
    }
}

impl Borrow<[u8]> for Handle {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

/// A handle, and the mount through which it was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The handle.
    pub handle: Handle,
    /// The mount's number.
    pub mount: i32,
}

#[repr(C, align(4))]
struct Space([u8; 8 + BYTES_MAX]);

/// The handle of an entry of `dir`, a symlink itself; of `dir` for an empty name.
pub fn handle_of(dir: BorrowedFd<'_>, name: &[u8]) -> io::Result<Located> {
    let name = CString::new(name)?;
    let flags = if name.is_empty() { libc::AT_EMPTY_PATH } else { 0 };
    match ask(dir, &name, flags | FOR_NAMING_ONLY) {
        // Kernels before 6.5 do not know the flag.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => ask(dir, &name, flags),
        answer => answer,
    }
}

fn ask(dir: BorrowedFd<'_>, name: &CString, flags: libc::c_int) -> io::Result<Located> {
    let mut space = Space([0; 8 + BYTES_MAX]);
    space.0[..4].copy_from_slice(&(BYTES_MAX as u32).to_ne_bytes());
    let mut mount: libc::c_int = 0;
    // SAFETY: `name` ends with a zero byte, `space` is a `file_handle` header that says how many bytes follow it, and
    // both out-parameters live until the call returns.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            dir.as_raw_fd(),
            name.as_ptr(),
            space.0.as_mut_ptr(),
            &raw mut mount,
            flags,
        )
    };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    let length = u32::from_ne_bytes([space.0[0], space.0[1], space.0[2], space.0[3]]) as usize;
    Ok(Located { handle: Handle(space.0[4..8 + length.min(BYTES_MAX)].into()), mount })
}

/// Opens, as a mere place, the inode with this handle in the file system of `any`, which is no mere place
/// itself; needs the right to read all.
pub fn open_handle(any: BorrowedFd<'_>, handle: &Handle) -> io::Result<OwnedFd> {
    let bytes = handle.bytes();
    let mut space = Space([0; 8 + BYTES_MAX]);
    let length = bytes.len().saturating_sub(4).min(BYTES_MAX);
    space.0[..4].copy_from_slice(&(length as u32).to_ne_bytes());
    space.0[4..8 + length].copy_from_slice(&bytes[..4 + length]);
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    // SAFETY: `space` is a `file_handle` whose header says how many bytes follow, and lives until the call returns.
    let fd = unsafe { libc::syscall(libc::SYS_open_by_handle_at, any.as_raw_fd(), space.0.as_mut_ptr(), flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just gave us this descriptor and nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) })
}

/// The path by which this process would reach an open file now, a deleted one's with a mark at its end.
pub fn path_of(file: impl AsFd) -> io::Result<Vec<u8>> {
    let link = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    Ok(std::fs::read_link(link)?.into_os_string().into_vec())
}
