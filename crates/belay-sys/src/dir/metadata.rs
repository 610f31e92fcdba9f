//! Mode, owner, times and inode flags of a name, or of the directory itself.
//!
//! Invariants: a symlink's target is never touched. Changing the owner clears setuid, setgid and file
//! capabilities, so the order is owner, mode, xattrs, times.

#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Gid, IFlags, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, Uid};
use rustix::io::Errno;

use super::{Dir, LISTING};
use crate::resolve::{check_name, open_name};
use crate::stat::{FileType, Time, stat_fd};

/// The inode flags (`chattr`) that stand in the way of a restore or belong to what is restored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InodeFlags {
    /// `+i`: nothing about the inode may change.
    pub immutable: bool,
    /// `+a`: content may only be appended.
    pub append_only: bool,
    /// `+d`: `dump` skips it.
    pub no_dump: bool,
    /// `+A`: reading does not update the access time.
    pub no_atime: bool,
}

impl Dir {
    /// Sets the permission bits of `name`; a symlink has none, so nothing happens to it or its target.
    pub fn set_mode(&self, name: &[u8], mode: u32) -> io::Result<()> {
        check_name(name)?;
        match fchmodat2(self.as_fd(), name, mode) {
            // The errors of a kernel or a seccomp profile that does not know the call, and of a symlink.
            Err(Errno::NOSYS | Errno::PERM | Errno::OPNOTSUPP) => {
                let handle = open_name(self.as_fd(), name, OFlags::PATH, self.mounts)?;
                match stat_fd(handle.as_fd())?.file_type {
                    FileType::Symlink => Ok(()),
                    _ => set_mode_of(handle.as_fd(), mode),
                }
            }
            result => Ok(result?),
        }
    }

    /// Sets the permission bits of the directory itself.
    pub fn set_self_mode(&self, mode: u32) -> io::Result<()> {
        set_mode_of(self.as_fd(), mode)
    }

    /// Sets the owner of `name`; a symlink's own.
    pub fn set_owner(&self, name: &[u8], uid: u32, gid: u32) -> io::Result<()> {
        check_name(name)?;
        set_owner_at(self.as_fd(), name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Sets the owner of the directory itself.
    pub fn set_self_owner(&self, uid: u32, gid: u32) -> io::Result<()> {
        set_owner_at(self.as_fd(), b"", uid, gid, AtFlags::EMPTY_PATH)
    }

    /// Sets the modification time of `name`, a symlink's own, and leaves the access time.
    pub fn set_times(&self, name: &[u8], mtime: Time) -> io::Result<()> {
        check_name(name)?;
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let times = only_modified(mtime);
        Ok(rustix::fs::utimensat(self.as_fd(), name, &times, flags)?)
    }

    /// Sets the modification time of the directory itself and leaves the access time.
    pub fn set_self_times(&self, mtime: Time) -> io::Result<()> {
        let path = handle_path(self.as_fd());
        let times = only_modified(mtime);
        let flags = AtFlags::empty();
        Ok(rustix::fs::utimensat(rustix::fs::CWD, path, &times, flags)?)
    }

    /// The inode flags of `name`, all off where the kind of file or the file system has none.
    pub fn inode_flags(&self, name: &[u8]) -> io::Result<InodeFlags> {
        match self.open_for_flags(name)? {
            Some(handle) => read_flags(handle.as_fd()).map(|flags| flags.into()),
            None => Ok(InodeFlags::default()),
        }
    }

    /// Sets the inode flags of `name` and keeps those that [`InodeFlags`] does not name.
    pub fn set_inode_flags(&self, name: &[u8], flags: InodeFlags) -> io::Result<()> {
        match self.open_for_flags(name)? {
            Some(handle) => write_flags(handle.as_fd(), flags),
            None if flags == InodeFlags::default() => Ok(()),
            None => Err(Errno::NOTTY.into()),
        }
    }

    /// The inode flags of the directory itself.
    pub fn self_inode_flags(&self) -> io::Result<InodeFlags> {
        let handle = open_name(self.as_fd(), b".", LISTING, self.mounts)?;
        read_flags(handle.as_fd()).map(|flags| flags.into())
    }

    /// Sets the inode flags of the directory itself.
    pub fn set_self_inode_flags(&self, flags: InodeFlags) -> io::Result<()> {
        let handle = open_name(self.as_fd(), b".", LISTING, self.mounts)?;
        write_flags(handle.as_fd(), flags)
    }

    fn open_for_flags(&self, name: &[u8]) -> io::Result<Option<OwnedFd>> {
        match self.stat(name)?.file_type {
            FileType::File => Ok(Some(self.open_read(name)?.into())),
            FileType::Dir => Ok(Some(self.subdir(name)?.fd)),
            _ => Ok(None),
        }
    }
}

/// A path that names an open handle, whatever its own path is by now.
pub(super) fn handle_path(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

fn set_mode_of(fd: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
    // fchmod does not take an O_PATH handle.
    let mode = Mode::from_raw_mode(mode);
    Ok(rustix::fs::chmod(handle_path(fd), mode)?)
}

fn fchmodat2(dir: BorrowedFd<'_>, name: &[u8], mode: u32) -> Result<(), Errno> {
    // Not in the tables of every libc yet; the number is the same on all architectures but alpha.
    const SYS_FCHMODAT2: libc::c_long = 452;
    let name = CString::new(name).map_err(|_| Errno::INVAL)?;
    // SAFETY: the descriptor is open, the name is NUL-terminated, and the kernel keeps neither.
    let result =
        unsafe { libc::syscall(SYS_FCHMODAT2, dir.as_raw_fd(), name.as_ptr(), mode, libc::AT_SYMLINK_NOFOLLOW) };
    if result == 0 {
        return Ok(());
    }
    Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO))
}

fn set_owner_at(fd: BorrowedFd<'_>, name: &[u8], uid: u32, gid: u32, flags: AtFlags) -> io::Result<()> {
    // The kernel takes this value as "leave it", which would be a silent no-op.
    if uid == u32::MAX || gid == u32::MAX {
        return Err(Errno::INVAL.into());
    }
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    Ok(rustix::fs::chownat(fd, name, Some(uid), Some(gid), flags)?)
}

fn only_modified(mtime: Time) -> Timestamps {
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: mtime.sec, tv_nsec: mtime.nsec.into() },
    }
}

fn read_flags(fd: BorrowedFd<'_>) -> io::Result<IFlags> {
    match rustix::fs::ioctl_getflags(fd) {
        Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(IFlags::empty()),
        result => Ok(result?),
    }
}

fn write_flags(fd: BorrowedFd<'_>, wanted: InodeFlags) -> io::Result<()> {
    let before = read_flags(fd)?;
    let mut after = before;
    after.set(IFlags::IMMUTABLE, wanted.immutable);
    after.set(IFlags::APPEND, wanted.append_only);
    after.set(IFlags::NODUMP, wanted.no_dump);
    after.set(IFlags::NOATIME, wanted.no_atime);
    if after == before {
        return Ok(());
    }
    Ok(rustix::fs::ioctl_setflags(fd, after)?)
}

impl From<IFlags> for InodeFlags {
    fn from(raw: IFlags) -> InodeFlags {
        InodeFlags {
            immutable: raw.contains(IFlags::IMMUTABLE),
            append_only: raw.contains(IFlags::APPEND),
            no_dump: raw.contains(IFlags::NODUMP),
            no_atime: raw.contains(IFlags::NOATIME),
        }
    }
}
