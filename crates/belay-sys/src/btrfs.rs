//! Subvolumes of btrfs: taking snapshots of them, knowing them again, removing them, and what changed in them.
//!
//! Invariants: a snapshot is taken of a whole subvolume and never of the one around it, it is read-only from its
//! first instant, and it is durable when the call returns, since the kernel commits a transaction for it.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, Setter, Updater, opcode};

use crate::dir::Dir;
use crate::filesystem::{FileSystem, FileSystemKind};
use crate::resolve::check_name;
use crate::stat::FileType;

mod changed;

pub use changed::{changed_since, has_subvolume_named};

/// The group of all ioctls of btrfs.
const GROUP: u8 = 0x94;
/// The root of every subvolume has this inode number.
const ROOT_INODE: u64 = 256;
/// What is left in a snapshot of a subvolume that lay inside the one that was taken: an empty directory of this number.
const STUB_INODE: u64 = 2;
/// In the flags of the ioctls.
const READ_ONLY: u64 = 1 << 1;
/// In the subvolume's own record.
const RECORDED_READ_ONLY: u64 = 1 << 0;

const SNAPSHOT_CREATE: Opcode = opcode::write::<VolumeArguments>(GROUP, 23);
const FLAGS_READ: Opcode = opcode::read::<u64>(GROUP, 25);
const FLAGS_WRITE: Opcode = opcode::write::<u64>(GROUP, 26);
const INFO: Opcode = opcode::read::<RawInfo>(GROUP, 60);
const FILE_SYSTEM_INFO: Opcode = opcode::read::<RawFileSystem>(GROUP, 31);
const INNER: Opcode = opcode::read_write::<RawInner>(GROUP, 61);
const DESTROY: Opcode = opcode::write::<VolumeArguments>(GROUP, 63);

/// `struct btrfs_ioctl_vol_args_v2`
#[repr(C)]
struct VolumeArguments {
    fd: i64,
    transaction: u64,
    flags: u64,
    unused: [u64; 4],
    name: [u8; 4040],
}

/// `struct btrfs_ioctl_get_subvol_info_args`
#[repr(C)]
struct RawInfo {
    id: u64,
    name: [u8; 256],
    parent_id: u64,
    dir_id: u64,
    generation: u64,
    flags: u64,
    uuid: [u8; 16],
    parent_uuid: [u8; 16],
    received_uuid: [u8; 16],
    changed: u64,
    created: u64,
    sent: u64,
    received: u64,
    times: [[u64; 2]; 4],
    reserved: [u64; 8],
}

/// `struct btrfs_ioctl_fs_info_args`
#[repr(C)]
struct RawFileSystem {
    devices: [u64; 2],
    id: [u8; 16],
    rest: [u64; 124],
}

/// `struct btrfs_ioctl_get_subvol_rootref_args`
#[repr(C)]
struct RawInner {
    id_min: u64,
    found: [[u64; 2]; 255],
    count: u8,
    unused: [u8; 7],
}

/// What a subvolume is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subvolume {
    /// Its number, which the file system never uses twice.
    pub id: u64,
    /// Its name for ever, also after it was moved.
    pub uuid: [u8; 16],
    /// The subvolume that it was taken of; none for one that was made empty.
    pub parent_uuid: Option<[u8; 16]>,
    /// The transaction that last changed it and was committed.
    pub generation: u64,
    /// The transaction that made it: of a snapshot, everything in it is of this transaction or older.
    pub created_generation: u64,
    /// Whether nobody can write to it.
    pub is_readonly: bool,
}

/// How a snapshot was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// By one call.
    Whole,
    /// Entry by entry, because this user may not remove subvolumes otherwise on this mount.
    Piecemeal,
}

/// Whether the open directory is the root of a subvolume.
pub fn is_subvolume(dir: BorrowedFd<'_>) -> io::Result<bool> {
    Ok(FileSystem::of(dir)?.kind == FileSystemKind::Btrfs && rustix::fs::fstat(dir)?.st_ino == ROOT_INODE)
}

/// Whether the open directory stands in a snapshot for a subvolume that was inside, whose content is not here.
pub fn is_stub(dir: BorrowedFd<'_>) -> io::Result<bool> {
    Ok(FileSystem::of(dir)?.kind == FileSystemKind::Btrfs && rustix::fs::fstat(dir)?.st_ino == STUB_INODE)
}

/// Describes the subvolume that holds the open directory; needs Linux 4.18.
pub fn subvolume(dir: BorrowedFd<'_>) -> io::Result<Subvolume> {
    // SAFETY: the kernel fills a structure of the layout that the number names.
    let raw: RawInfo = unsafe { rustix::ioctl::ioctl(dir, Getter::<INFO, RawInfo>::new())? };
    Ok(Subvolume {
        id: raw.id,
        uuid: raw.uuid,
        parent_uuid: (raw.parent_uuid != [0; 16]).then_some(raw.parent_uuid),
        generation: raw.generation,
        created_generation: raw.created,
        is_readonly: raw.flags & RECORDED_READ_ONLY != 0,
    })
}

/// The name for ever of the whole file system that holds the open directory; all its subvolumes share it.
pub fn file_system_id(dir: BorrowedFd<'_>) -> io::Result<[u8; 16]> {
    // SAFETY: the kernel fills a structure of the layout that the number names.
    let raw: RawFileSystem = unsafe { rustix::ioctl::ioctl(dir, Getter::<FILE_SYSTEM_INFO, RawFileSystem>::new())? };
    Ok(raw.id)
}

/// Whether other subvolumes lie inside the one that holds the open directory; needs Linux 4.18.
pub fn has_subvolumes_inside(dir: BorrowedFd<'_>) -> io::Result<bool> {
    let mut raw = Box::new(RawInner { id_min: 0, found: [[0; 2]; 255], count: 0, unused: [0; 7] });
    // SAFETY: the structure has the layout that the number names and outlives the call.
    match unsafe { rustix::ioctl::ioctl(dir, Updater::<INNER, _>::new(&mut *raw)) } {
        Ok(()) => Ok(raw.count > 0),
        // There are more than fit.
        Err(Errno::OVERFLOW) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Takes a read-only snapshot of the subvolume whose root `source` is, as the new entry `name` of `into`.
///
/// Root, or the owner of the subvolume's root, who may write to `into`. Subvolumes inside are not in it.
pub fn snapshot(source: BorrowedFd<'_>, into: &Dir, name: &[u8]) -> io::Result<()> {
    if !is_subvolume(source)? {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not the root of a subvolume"));
    }
    let mut arguments = volume(name)?;
    arguments.fd = source.as_raw_fd().into();
    arguments.flags = READ_ONLY;
    // SAFETY: the structure has the layout that the number names and outlives the call, and so does `source`.
    unsafe { rustix::ioctl::ioctl(into.as_fd(), Setter::<SNAPSHOT_CREATE, _>::new(*arguments))? };
    Ok(())
}

/// Lets nobody write to the subvolume whose root `dir` is, or its owner again.
pub fn set_readonly(dir: BorrowedFd<'_>, yes: bool) -> io::Result<()> {
    let wanted = flags(dir)? & !READ_ONLY | if yes { READ_ONLY } else { 0 };
    // SAFETY: the kernel reads one number.
    unsafe { rustix::ioctl::ioctl(dir, Setter::<FLAGS_WRITE, u64>::new(wanted))? };
    Ok(())
}

/// Removes the subvolume `name` of `parent`, with all that is in it.
///
/// Root can. The owner can at once if the file system is mounted with `user_subvol_rm_allowed`, and otherwise entry by
/// entry, as far as the entries may be removed. What fails half-way is left writable and incomplete.
pub fn remove(parent: &Dir, name: &[u8]) -> io::Result<Removal> {
    match destroy(parent, name) {
        Ok(()) => return Ok(Removal::Whole),
        Err(Errno::PERM | Errno::ACCESS | Errno::ROFS) => {}
        Err(error) => return Err(error.into()),
    }
    let doomed = parent.subdir(name)?;
    if !is_subvolume(doomed.as_fd())? {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a subvolume"));
    }
    // Of a read-only one not even its owner may remove anything.
    set_readonly(doomed.as_fd(), false)?;
    if destroy(parent, name).is_ok() {
        return Ok(Removal::Whole);
    }
    clear(&doomed)?;
    parent.remove_dir(name)?;
    Ok(Removal::Piecemeal)
}

fn destroy(parent: &Dir, name: &[u8]) -> Result<(), Errno> {
    let arguments = volume(name).map_err(|_| Errno::INVAL)?;
    // SAFETY: the structure has the layout that the number names and outlives the call.
    unsafe { rustix::ioctl::ioctl(parent.as_fd(), Setter::<DESTROY, _>::new(*arguments)) }
}

/// Removes everything in a directory, which stays.
fn clear(dir: &Dir) -> io::Result<()> {
    // The owner needs these rights to remove what is inside; where they cannot be had the removal says so.
    let _ = dir.set_self_mode(0o700);
    let mut names = Vec::new();
    dir.list(&mut Vec::new(), &mut |name, kind, _| names.push((name.to_vec(), kind)))?;
    for (name, kind) in names {
        if kind != FileType::Dir {
            dir.remove_file(&name)?;
            continue;
        }
        let _ = dir.set_mode(&name, 0o700);
        let inner = dir.subdir(&name)?;
        if !is_stub(inner.as_fd())? {
            clear(&inner)?;
        }
        dir.remove_dir(&name)?;
    }
    Ok(())
}

fn flags(dir: BorrowedFd<'_>) -> io::Result<u64> {
    // SAFETY: the kernel fills one number.
    Ok(unsafe { rustix::ioctl::ioctl(dir, Getter::<FLAGS_READ, u64>::new())? })
}

fn volume(name: &[u8]) -> io::Result<Box<VolumeArguments>> {
    check_name(name)?;
    let mut arguments = Box::new(VolumeArguments { fd: 0, transaction: 0, flags: 0, unused: [0; 4], name: [0; 4040] });
    // The kernel takes as many bytes as an entry can have, and there has to be a zero after them.
    let room = arguments.name.get_mut(..name.len()).filter(|_| name.len() <= 255);
    room.ok_or(io::ErrorKind::InvalidFilename)?.copy_from_slice(name);
    Ok(arguments)
}
