//! What the kernel says about one inode, in one plain value.
//!
//! Invariants: one `statx` per answer, no allocation, and never a symlink followed or an automount triggered.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, Statx, StatxAttributes, StatxFlags};

/// A point in time as the file system keeps it: seconds since 1970 and nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Time {
    /// Seconds since 1970, negative before.
    pub sec: i64,
    /// Nanoseconds within the second, below 1,000,000,000.
    pub nsec: u32,
}

/// What kind of thing a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FileType {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A Unix socket.
    Socket,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
    /// The file system did not say; `stat` will.
    Unknown,
}

/// The properties of one inode that a snapshot or a stat cache can need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stat {
    /// The kind of the inode.
    pub file_type: FileType,
    /// Permission bits with setuid, setgid and sticky: 07777.
    pub mode: u32,
    /// Owning user.
    pub uid: u32,
    /// Owning group.
    pub gid: u32,
    /// Size in bytes.
    pub size: u64,
    /// Allocated blocks of 512 bytes.
    pub blocks: u64,
    /// Number of hard links.
    pub nlink: u32,
    /// Inode number.
    pub ino: u64,
    /// Device that holds the inode.
    pub dev: u64,
    /// Device that the inode stands for, if it is a device.
    pub rdev: u64,
    /// Last change of the content.
    pub mtime: Time,
    /// Last change of anything; the kernel alone sets it.
    pub ctime: Time,
    /// Mount through which the inode was reached, 0 before Linux 5.8.
    pub mount_id: u64,
    /// The immutable flag (`chattr +i`).
    pub immutable: bool,
    /// The append-only flag (`chattr +a`).
    pub append_only: bool,
}

impl Stat {
    /// Whether it is a file that runs as root, whoever starts it.
    pub fn runs_as_root(&self) -> bool {
        self.file_type == FileType::File && self.uid == 0 && self.mode & 0o4000 != 0
    }
}

/// Describes an open file.
pub fn stat_file(file: &File) -> io::Result<Stat> {
    stat_fd(file.as_fd())
}

pub(crate) fn stat_fd(fd: BorrowedFd<'_>) -> io::Result<Stat> {
    stat_at(fd, b"", AtFlags::EMPTY_PATH)
}

pub(crate) fn stat_at(fd: BorrowedFd<'_>, name: &[u8], extra: AtFlags) -> io::Result<Stat> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | extra;
    let mask = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    Ok(Stat::from(&rustix::fs::statx(fd, name, flags, mask)?))
}

impl From<&Statx> for Stat {
    fn from(raw: &Statx) -> Stat {
        let mount_known = raw.stx_mask & StatxFlags::MNT_ID.bits() != 0;
        let time = |t: &rustix::fs::StatxTimestamp| Time { sec: t.tv_sec, nsec: t.tv_nsec };
        Stat {
            file_type: rustix::fs::FileType::from_raw_mode(u32::from(raw.stx_mode)).into(),
            mode: u32::from(raw.stx_mode) & 0o7777,
            uid: raw.stx_uid,
            gid: raw.stx_gid,
            size: raw.stx_size,
            blocks: raw.stx_blocks,
            nlink: raw.stx_nlink,
            ino: raw.stx_ino,
            dev: rustix::fs::makedev(raw.stx_dev_major, raw.stx_dev_minor),
            rdev: rustix::fs::makedev(raw.stx_rdev_major, raw.stx_rdev_minor),
            mtime: time(&raw.stx_mtime),
            ctime: time(&raw.stx_ctime),
            mount_id: if mount_known { raw.stx_mnt_id } else { 0 },
            immutable: raw.stx_attributes.contains(StatxAttributes::IMMUTABLE),
            append_only: raw.stx_attributes.contains(StatxAttributes::APPEND),
        }
    }
}

impl From<rustix::fs::FileType> for FileType {
    fn from(raw: rustix::fs::FileType) -> FileType {
        use rustix::fs::FileType as Raw;
        match raw {
            Raw::RegularFile => FileType::File,
            Raw::Directory => FileType::Dir,
            Raw::Symlink => FileType::Symlink,
            Raw::Fifo => FileType::Fifo,
            Raw::Socket => FileType::Socket,
            Raw::CharacterDevice => FileType::CharDevice,
            Raw::BlockDevice => FileType::BlockDevice,
            Raw::Unknown => FileType::Unknown,
        }
    }
}
