//! What the trees on the disk tell: which paths of a subvolume changed since a transaction, and which subvolumes there are.

#![allow(unsafe_code)]

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, opcode};

use super::{GROUP, ROOT_INODE};

/// What the items of an inode are: itself, its names, and its names that have no room there.
const INODE_ITEM: u32 = 1;
const NAMES: u32 = 12;
const MORE_NAMES: u32 = 13;
/// The tree of all subvolumes, and what its items are that say where one lies.
const ALL_TREES: u64 = 1;
const TREE_NAME: u32 = 156;
/// In those the name comes after the directory's number, a place in it and the name's length.
const TREE_NAME_AT: usize = 18;
/// Where an inode's item says which transaction last changed it.
const CHANGED_AT: usize = 8;

/// The key of a search in words; then come the size of the buffer and the buffer.
const KEY_WORDS: usize = 13;
const FOUND_AT: usize = (KEY_WORDS + 1) * 8;
/// Where the kernel puts how many items it found.
const COUNT_AT: usize = 64;
/// A search answers with so many bytes at a time, which is many leaves of a tree.
const FOUND_BYTES: usize = 64 * 1024;
const HEADER_BYTES: usize = 32;

/// The size that the number of the ioctl names is that of the key and the buffer's size.
const TREE_SEARCH: Opcode = opcode::read_write::<[u64; KEY_WORDS + 1]>(GROUP, 17);
const DIRECTORY_PATH: Opcode = opcode::read_write::<PathArguments>(GROUP, 18);

/// `struct btrfs_ioctl_ino_lookup_args`
#[repr(C)]
struct PathArguments {
    tree: u64,
    inode: u64,
    path: [u8; 4080],
}

/// Every path beneath the subvolume's root whose inode a transaction after `generation` changed; the root is `""`.
///
/// A directory is named if an entry of it came or went, a file with all its names. What went is not named itself, and
/// what was changed by a transaction that is not committed yet may be missing, so it is asked of a snapshot. Needs
/// `CAP_SYS_ADMIN` outside of any user namespace; anybody else gets `PermissionDenied`.
pub fn changed_since(dir: BorrowedFd<'_>, generation: u64) -> io::Result<Vec<Vec<u8>>> {
    let mut inodes = Vec::new();
    let mut space = vec![0; FOUND_AT + FOUND_BYTES];
    let from = (ROOT_INODE, 0, 0);
    let every = Slice { tree: 0, from, to: (u64::MAX, u8::MAX.into(), u64::MAX), after: generation };
    search(dir, &mut space, every, &mut |item| {
        if item.kind == INODE_ITEM && item.changed().is_some_and(|changed| changed > generation) {
            inodes.push(item.inode);
        }
        Some(())
    })?;
    let mut paths = BTreeSet::new();
    let mut dirs = HashMap::from([(ROOT_INODE, Vec::new())]);
    for inode in inodes {
        if inode == ROOT_INODE {
            paths.insert(Vec::new());
            continue;
        }
        for (parent, name) in names_of(dir, &mut space, inode)? {
            let mut path = directory(dir, parent, &mut dirs)?;
            path.extend_from_slice(&name);
            paths.insert(path);
        }
    }
    Ok(paths.into_iter().collect())
}

/// Whether a subvolume of that name lies anywhere on the file system; needs `CAP_SYS_ADMIN` like [`changed_since`].
pub fn has_subvolume_named(dir: BorrowedFd<'_>, name: &[u8]) -> io::Result<bool> {
    let mut is_there = false;
    let mut space = vec![0; FOUND_AT + FOUND_BYTES];
    let every = Slice { tree: ALL_TREES, from: (0, TREE_NAME, 0), to: (u64::MAX, TREE_NAME, u64::MAX), after: 0 };
    search(dir, &mut space, every, &mut |item| {
        is_there |= item.kind == TREE_NAME && item.body.get(TREE_NAME_AT..) == Some(name);
        Some(())
    })?;
    Ok(is_there)
}

/// The names of an inode, each with the directory it is in; none for one that was removed and is still open.
fn names_of(dir: BorrowedFd<'_>, space: &mut [u8], inode: u64) -> io::Result<Vec<(u64, Vec<u8>)>> {
    let mut names = Vec::new();
    let own = Slice { tree: 0, from: (inode, NAMES, 0), to: (inode, MORE_NAMES, u64::MAX), after: 0 };
    search(dir, space, own, &mut |item| {
        let mut rest = item.body;
        while !rest.is_empty() {
            let parent = match item.kind {
                NAMES => item.offset,
                _ => u64::from_le_bytes(*rest.split_off(..8)?.first_chunk()?),
            };
            // The place of the name in its directory is of no interest.
            let length = u16::from_le_bytes(*rest.split_off(..10)?.last_chunk()?);
            names.push((parent, rest.split_off(..usize::from(length))?.to_vec()));
        }
        Some(())
    })?;
    Ok(names)
}

/// The path of a directory as the beginning of those in it.
fn directory(dir: BorrowedFd<'_>, inode: u64, known: &mut HashMap<u64, Vec<u8>>) -> io::Result<Vec<u8>> {
    if let Some(path) = known.get(&inode) {
        return Ok(path.clone());
    }
    let mut arguments = Box::new(PathArguments { tree: 0, inode, path: [0; 4080] });
    // SAFETY: the structure has the layout that the number names and outlives the call.
    let asked = unsafe { rustix::ioctl::ioctl(dir, Updater::<DIRECTORY_PATH, _>::new(&mut *arguments)) };
    let path = match asked {
        Ok(()) => arguments.path.split(|byte| *byte == 0).next().unwrap_or_default().to_vec(),
        Err(Errno::NOENT) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    known.insert(inode, path.clone());
    Ok(path)
}

/// Number, kind and offset of an item, in the order of which a tree is sorted.
type Key = (u64, u32, u64);

/// Items of a tree from one key to another, in leaves that were written after a transaction.
#[derive(Clone, Copy)]
struct Slice {
    /// Its number; 0 is that of the subvolume that is asked.
    tree: u64,
    from: Key,
    to: Key,
    after: u64,
}

/// Calls `each` with the items; `None` from it means that one is not as it should be.
fn search(
    dir: BorrowedFd<'_>,
    space: &mut [u8],
    mut slice: Slice,
    each: &mut dyn FnMut(&Item<'_>) -> Option<()>,
) -> io::Result<()> {
    loop {
        let count = search_once(dir, space, slice)?;
        if count == 0 {
            return Ok(());
        }
        let mut at = FOUND_AT;
        for _ in 0..count {
            let item = Item::parse(space, at).ok_or(io::ErrorKind::InvalidData)?;
            each(&item).ok_or(io::ErrorKind::InvalidData)?;
            slice.from = (item.inode, item.kind, item.offset);
            at += HEADER_BYTES + item.body.len();
        }
        slice.from = match slice.from {
            (inode, kind, offset) if offset < u64::MAX => (inode, kind, offset + 1),
            (inode, kind, _) if kind < u32::from(u8::MAX) => (inode, kind + 1, 0),
            (inode, ..) if inode < u64::MAX => (inode + 1, 0, 0),
            _ => return Ok(()),
        };
        if slice.from > slice.to {
            return Ok(());
        }
    }
}

/// Fills `space` with the first items of a slice and returns how many there are.
fn search_once(dir: BorrowedFd<'_>, space: &mut [u8], slice: Slice) -> io::Result<u32> {
    let Slice { tree, from, to, after } = slice;
    let kinds = u64::from(from.1) | u64::from(to.1) << 32;
    let size = (space.len() - FOUND_AT) as u64;
    // Four words mean nothing yet.
    let key = [tree, from.0, to.0, from.2, to.2, after + 1, u64::MAX, kinds, u64::from(u32::MAX), 0, 0, 0, 0, size];
    for (word, place) in key.iter().zip(space.chunks_exact_mut(8)) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    // SAFETY: the space is a key, the size of the buffer and a buffer of that size, and outlives the call; the kernel
    // copies it byte by byte, so that it needs no alignment.
    match unsafe { libc::ioctl(dir.as_raw_fd(), TREE_SEARCH as libc::Ioctl, space.as_mut_ptr()) } {
        0 => Ok(u32::from_ne_bytes(*space[COUNT_AT..].first_chunk().expect("the space is longer than a key"))),
        _ => Err(io::Error::last_os_error()),
    }
}

struct Item<'a> {
    inode: u64,
    offset: u64,
    kind: u32,
    body: &'a [u8],
}

impl<'a> Item<'a> {
    fn parse(bytes: &'a [u8], at: usize) -> Option<Item<'a>> {
        let header = bytes.get(at..at + HEADER_BYTES)?;
        let word = |from: usize| Some(u64::from_ne_bytes(header.get(from..from + 8)?.try_into().ok()?));
        let half = |from: usize| Some(u32::from_ne_bytes(header.get(from..from + 4)?.try_into().ok()?));
        let body = bytes.get(at + HEADER_BYTES..)?.get(..half(28)? as usize)?;
        Some(Item { inode: word(8)?, offset: word(16)?, kind: half(24)?, body })
    }

    /// The transaction that last changed the inode.
    fn changed(&self) -> Option<u64> {
        Some(u64::from_le_bytes(*self.body.get(CHANGED_AT..)?.first_chunk()?))
    }
}
