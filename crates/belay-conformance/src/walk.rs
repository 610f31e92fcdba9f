//! An independent observer: every property of every path beneath a directory, read by plain system calls.
//!
//! FIFOs, sockets and devices are never opened, links never followed, and paths may be longer than the kernel's limit.

use crate::at::{self, about};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, SeekFrom, StatxAttributes, StatxFlags};
use rustix::fs::{lgetxattr, lgetxattr_query, llistxattr, llistxattr_query};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::Path;

/// All paths beneath a directory, relative, the directory itself under the empty name.
pub type World = BTreeMap<Vec<u8>, Seen>;

/// What a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
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
}

/// Everything that the observer saw of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What it is.
    pub kind: Kind,
    /// Permission bits, 07777.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Length in bytes; of a directory, whatever the filesystem says.
    pub size: u64,
    /// Last change of content: seconds and nanoseconds.
    pub mtime: (i64, u32),
    /// Last change of anything: seconds and nanoseconds.
    pub ctime: (i64, u32),
    /// Inode number.
    pub inode: u64,
    /// Major and minor number of a device.
    pub device: (u32, u32),
    /// 128 bits over a file's content; holes and written zeroes hash alike.
    pub content: Option<u128>,
    /// The first bytes of a file, for messages and simple assertions.
    pub head: Vec<u8>,
    /// The text of a symbolic link.
    pub link: Option<Vec<u8>>,
    /// The first path, in byte order, of the hard-link group that this path is in.
    pub same_file_as: Option<Vec<u8>>,
    /// Extended attributes, ACLs included.
    pub xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Where a file has data, as offset and length; the rest are holes.
    pub data: Vec<(u64, u64)>,
    /// The immutable flag.
    pub immutable: bool,
    /// The append-only flag.
    pub append_only: bool,
    /// Content or names could not be read by this user.
    pub unreadable: bool,
}

const HEAD_BYTES: usize = 64;
const BLOCK_BYTES: usize = 4096;

/// Observes `top` and everything beneath it.
pub fn walk(top: &Path) -> io::Result<World> {
    let mut walker = Walker::default();
    let directory = at::open_top(top)?;
    walker.world.insert(Vec::new(), see(&directory, b"", b"")?.0);
    walker.descend(&directory, &[])?;
    Ok(walker.finish())
}

/// Device (major, minor) and inode: what hard links of one file share.
type FileId = (u32, u32, u64);

#[derive(Default)]
struct Walker {
    world: World,
    groups: BTreeMap<FileId, Vec<Vec<u8>>>,
}

impl Walker {
    fn descend(&mut self, directory: &OwnedFd, prefix: &[u8]) -> io::Result<()> {
        for name in at::names(directory).map_err(about("list", prefix))? {
            self.visit(directory, &name, at::join(prefix, &name))?;
        }
        Ok(())
    }

    fn visit(&mut self, directory: &OwnedFd, name: &[u8], path: Vec<u8>) -> io::Result<()> {
        let (mut seen, group) = see(directory, name, &path)?;
        let inside = match seen.kind {
            Kind::File => {
                read_content(directory, name, &mut seen).map_err(about("read", &path))?;
                None
            }
            Kind::Directory => match at::open_dir(directory, name) {
                Ok(inside) => Some(inside),
                Err(Errno::ACCESS) => {
                    seen.unreadable = true;
                    None
                }
                Err(error) => return Err(about("open", &path)(error)),
            },
            _ => None,
        };
        if let Some(group) = group {
            self.groups.entry(group).or_default().push(path.clone());
        }
        self.world.insert(path.clone(), seen);
        match inside {
            Some(inside) => self.descend(&inside, &path),
            None => Ok(()),
        }
    }

    fn finish(mut self) -> World {
        for group in self.groups.values().filter(|group| group.len() > 1) {
            let first = group.iter().min().cloned();
            for path in group {
                if let Some(seen) = self.world.get_mut(path) {
                    seen.same_file_as = first.clone();
                }
            }
        }
        self.world
    }
}

fn see(directory: &OwnedFd, name: &[u8], path: &[u8]) -> io::Result<(Seen, Option<FileId>)> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::EMPTY_PATH;
    let stat = rustix::fs::statx(directory, name, flags, StatxFlags::BASIC_STATS).map_err(about("stat", path))?;
    let kind = kind_of(stat.stx_mode);
    let link = match kind {
        Kind::Symlink => {
            let text = rustix::fs::readlinkat(directory, name, Vec::new()).map_err(about("read link", path))?;
            Some(text.into_bytes())
        }
        _ => None,
    };
    let linked = kind != Kind::Directory && stat.stx_nlink > 1;
    let file_id = (stat.stx_dev_major, stat.stx_dev_minor, stat.stx_ino);
    let here: &[u8] = if name.is_empty() { b"." } else { name };
    let seen = Seen {
        kind,
        mode: u32::from(stat.stx_mode) & 0o7777,
        uid: stat.stx_uid,
        gid: stat.stx_gid,
        size: stat.stx_size,
        mtime: (stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec),
        ctime: (stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec),
        inode: stat.stx_ino,
        device: (stat.stx_rdev_major, stat.stx_rdev_minor),
        content: None,
        head: Vec::new(),
        link,
        same_file_as: None,
        xattrs: xattrs(&at::short_path(directory, here)).map_err(about("read attributes of", path))?,
        data: Vec::new(),
        immutable: stat.stx_attributes.contains(StatxAttributes::IMMUTABLE),
        append_only: stat.stx_attributes.contains(StatxAttributes::APPEND),
        unreadable: false,
    };
    Ok((seen, linked.then_some(file_id)))
}

fn kind_of(mode: u16) -> Kind {
    use rustix::fs::FileType;
    match FileType::from_raw_mode(mode.into()) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Symlink,
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        FileType::CharacterDevice => Kind::CharDevice,
        FileType::BlockDevice => Kind::BlockDevice,
        FileType::Unknown => unreachable!("a file type that Linux does not have: {mode:o}"),
    }
}

fn read_content(directory: &OwnedFd, name: &[u8], seen: &mut Seen) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(directory, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::ACCESS) => {
            seen.unreadable = true;
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    seen.data = data_extents(&file, seen.size)?;
    let mut low = DefaultHasher::new();
    let mut high = DefaultHasher::new();
    high.write_u8(1);
    let mut block = vec![0; BLOCK_BYTES];
    for (offset, length) in &seen.data {
        // Blocks are aligned whatever the extents are, so that equal content hashes equally.
        let mut position = offset - offset % BLOCK_BYTES as u64;
        while position < offset + length {
            let count = read_block(&file, &mut block, position)?;
            if block[..count].iter().any(|byte| *byte != 0) {
                for hasher in [&mut low, &mut high] {
                    hasher.write_u64(position);
                    hasher.write(&block[..count]);
                }
            }
            position += BLOCK_BYTES as u64;
        }
    }
    seen.head = vec![0; HEAD_BYTES];
    let head = read_block(&file, &mut seen.head, 0)?;
    seen.head.truncate(head);
    low.write_u64(seen.size);
    seen.content = Some(u128::from(high.finish()) << 64 | u128::from(low.finish()));
    Ok(())
}

fn read_block(file: &File, block: &mut [u8], position: u64) -> Result<usize, Errno> {
    let mut count = 0;
    while count < block.len() {
        match rustix::io::pread(file, &mut block[count..], position + count as u64)? {
            0 => break,
            read => count += read,
        }
    }
    Ok(count)
}

fn data_extents(file: &File, size: u64) -> Result<Vec<(u64, u64)>, Errno> {
    let mut extents = Vec::new();
    let mut position = 0;
    while position < size {
        let start = match rustix::fs::seek(file.as_fd(), SeekFrom::Data(position)) {
            Ok(start) => start,
            Err(Errno::NXIO) => break,
            Err(Errno::INVAL) => return Ok(vec![(0, size)]),
            Err(error) => return Err(error),
        };
        let end = rustix::fs::seek(file.as_fd(), SeekFrom::Hole(start))?.min(size);
        extents.push((start, end - start));
        position = end;
    }
    Ok(extents)
}

fn xattrs(path: &Path) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, Errno> {
    let list = llistxattr_query(path).and_then(|length| {
        let mut list = vec![0; length];
        let length = llistxattr(path, &mut list[..])?;
        list.truncate(length);
        Ok(list)
    });
    let list = present(list)?.unwrap_or_default();
    let mut found = BTreeMap::new();
    for name in list.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        if let Some(value) = xattr(path, name)? {
            found.insert(name.to_vec(), value);
        }
    }
    Ok(found)
}

fn xattr(path: &Path, name: &[u8]) -> Result<Option<Vec<u8>>, Errno> {
    let value = lgetxattr_query(path, name).and_then(|length| {
        let mut value = vec![0; length];
        let length = lgetxattr(path, name, &mut value[..])?;
        value.truncate(length);
        Ok(value)
    });
    present(value)
}

fn present(bytes: Result<Vec<u8>, Errno>) -> Result<Option<Vec<u8>>, Errno> {
    match bytes {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Errno::NOTSUP | Errno::ACCESS | Errno::PERM | Errno::NODATA) => Ok(None),
        Err(error) => Err(error),
    }
}
