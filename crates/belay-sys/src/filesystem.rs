//! What kind of file system a directory is on, and how much room it has.

use std::io;
use std::os::fd::BorrowedFd;

/// The file systems whose manners belay knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileSystemKind {
    /// ext2, ext3 or ext4: they share one magic number.
    Ext,
    /// btrfs
    Btrfs,
    /// XFS
    Xfs,
    /// tmpfs
    Tmpfs,
    /// overlayfs
    Overlay,
    /// NFS, any version
    Nfs,
    /// SMB or CIFS
    Cifs,
    /// Anything served by a process through FUSE.
    Fuse,
    /// OpenZFS
    Zfs,
    /// Another one, by its magic number.
    Other(u64),
}

/// A file system's kind and room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileSystem {
    /// Which file system it is.
    pub kind: FileSystemKind,
    /// Its block size in bytes.
    pub block_size: u64,
    /// Bytes that an ordinary user may still write.
    pub bytes_free: u64,
    /// Bytes in all.
    pub bytes_total: u64,
}

impl FileSystem {
    pub(crate) fn of(fd: BorrowedFd<'_>) -> io::Result<FileSystem> {
        let raw = rustix::fs::fstatfs(fd)?;
        let block_size = u64::try_from(raw.f_bsize).unwrap_or(0);
        Ok(FileSystem {
            // Magic numbers are 32-bit values that a signed word may have extended.
            kind: FileSystemKind::from_magic(raw.f_type as u32),
            block_size,
            bytes_free: raw.f_bavail.saturating_mul(block_size),
            bytes_total: raw.f_blocks.saturating_mul(block_size),
        })
    }

    /// Whether a directory of two links surely has no directory in it: each would link back to it.
    pub fn counts_directories(&self) -> bool {
        matches!(self.kind, FileSystemKind::Ext | FileSystemKind::Xfs | FileSystemKind::Tmpfs)
    }

    /// Whether a file may be given blocks beyond its end, so that their number does not tell whether it has holes.
    pub fn allocates_ahead(&self) -> bool {
        !matches!(self.kind, FileSystemKind::Ext | FileSystemKind::Btrfs | FileSystemKind::Tmpfs)
    }

    /// True where another machine or process answers, so that a call may take for ever.
    pub fn is_remote(&self) -> bool {
        use FileSystemKind::{Cifs, Fuse, Nfs, Other};
        match self.kind {
            Nfs | Cifs | Fuse => true,
            Other(magic) => REMOTE_MAGICS.contains(&magic),
            _ => false,
        }
    }
}

/// 9p, AFS (kernel and OpenAFS), Ceph, Coda, GFS2, OCFS2, Lustre: remote, but nothing else is special about them.
const REMOTE_MAGICS: [u64; 8] =
    [0x0102_1997, 0x6b41_4653, 0x5346_414f, 0x00c3_6400, 0x7375_7245, 0x0116_1970, 0x7461_636f, 0x0bd0_0bd0];

impl FileSystemKind {
    fn from_magic(magic: u32) -> FileSystemKind {
        match magic {
            0xef53 => FileSystemKind::Ext,
            0x9123_683e => FileSystemKind::Btrfs,
            0x5846_5342 => FileSystemKind::Xfs,
            0x0102_1994 => FileSystemKind::Tmpfs,
            0x794c_7630 => FileSystemKind::Overlay,
            0x6969 => FileSystemKind::Nfs,
            0x517b | 0xff53_4d42 | 0xfe53_4d42 => FileSystemKind::Cifs,
            0x6573_5546 => FileSystemKind::Fuse,
            0x2fc1_2fc1 => FileSystemKind::Zfs,
            other => FileSystemKind::Other(u64::from(other)),
        }
    }
}
