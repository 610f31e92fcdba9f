//! Turns a relative path into an open handle without ever leaving the directory it starts from.
//!
//! Invariants: no symlink and no magic link is followed, `.` and `..` are refused, a mount point is crossed only
//! when asked, and the answer is the same whether the kernel offers `openat2` or not. A path may be longer than
//! the kernel's 4,096 bytes: it is opened piece by piece, each piece beneath the handle of the one before.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::LazyLock;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

use crate::stat::stat_fd;

/// Leaves room for the final NUL and stays clear of `PATH_MAX` on every file system.
const PIECE_BYTES_MAX: usize = 4000;

/// A rename elsewhere can make `openat2` answer EAGAIN; a rename storm must not hold us for ever.
const RENAME_RACE_RETRIES_MAX: usize = 128;

/// May a resolution walk through a mount point inside the tree?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mounts {
    Stay,
    Cross,
}

/// How a directory on the way is opened: as cheaply as possible and without needing to read it.
pub(crate) const PASSING: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

/// Opens `rel` beneath `start`; an empty `rel` is `start` itself, opened anew.
pub(crate) fn open_beneath(start: BorrowedFd<'_>, rel: &[u8], flags: OFlags, mounts: Mounts) -> io::Result<OwnedFd> {
    check_relative(rel)?;
    let resolver = resolver();
    open_pieces(start, rel, flags, &|dir, piece, flags| resolver(dir, piece, flags, mounts))
}

/// Opens one name in `dir`; the caller has checked it with [`check_name`].
pub(crate) fn open_name(dir: BorrowedFd<'_>, name: &[u8], flags: OFlags, mounts: Mounts) -> io::Result<OwnedFd> {
    resolver()(dir, name, flags, mounts)
}

/// Opens for reading without touching the access time, which only the owner may ask for.
pub(crate) fn open_quietly(flags: OFlags, open: impl Fn(OFlags) -> io::Result<OwnedFd>) -> io::Result<OwnedFd> {
    match open(flags | OFlags::NOATIME) {
        Err(error) if error.raw_os_error() == Some(Errno::PERM.raw_os_error()) => open(flags),
        result => result,
    }
}

/// Opens a path that the user named, following symlinks as the user expects.
pub(crate) fn open_named_by_user(path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
    if path.len() <= PIECE_BYTES_MAX {
        return Ok(openat(rustix::fs::CWD, path, flags, Mode::empty())?);
    }
    let (start, rest): (&[u8], &[u8]) = match path.strip_prefix(b"/") {
        Some(rest) => (b"/", rest),
        None => (b".", path),
    };
    let start = openat(rustix::fs::CWD, start, PASSING | OFlags::CLOEXEC, Mode::empty())?;
    open_pieces(start.as_fd(), rest, flags, &|dir, piece, flags| {
        // A doubled slash at a cut would make the piece absolute.
        let piece = &piece[piece.iter().take_while(|byte| **byte == b'/').count()..];
        let piece = if piece.is_empty() { b"." } else { piece };
        Ok(openat(dir, piece, flags, Mode::empty())?)
    })
}

/// Refuses anything but one plain component.
pub(crate) fn check_name(name: &[u8]) -> io::Result<()> {
    if matches!(name, b"" | b"." | b"..") || name.iter().any(|byte| matches!(byte, b'/' | 0)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a single file name"));
    }
    Ok(())
}

type Resolver = fn(BorrowedFd<'_>, &[u8], OFlags, Mounts) -> io::Result<OwnedFd>;

fn resolver() -> Resolver {
    if *OPENAT2_WORKS { open_piece } else { open_by_steps }
}

fn check_relative(rel: &[u8]) -> io::Result<()> {
    if rel.is_empty() {
        return Ok(());
    }
    rel.split(|byte| *byte == b'/').try_for_each(check_name)
}

type OpenPiece<'a> = dyn Fn(BorrowedFd<'_>, &[u8], OFlags) -> io::Result<OwnedFd> + 'a;

fn open_pieces(start: BorrowedFd<'_>, mut rest: &[u8], flags: OFlags, open: &OpenPiece<'_>) -> io::Result<OwnedFd> {
    let mut passed: Option<OwnedFd> = None;
    while rest.len() > PIECE_BYTES_MAX {
        let cut = rest[..=PIECE_BYTES_MAX].iter().rposition(|byte| *byte == b'/').ok_or(Errno::NAMETOOLONG)?;
        let dir = passed.as_ref().map_or(start, AsFd::as_fd);
        passed = Some(open(dir, &rest[..cut], PASSING | OFlags::CLOEXEC)?);
        rest = &rest[cut + 1..];
    }
    let dir = passed.as_ref().map_or(start, AsFd::as_fd);
    open(dir, if rest.is_empty() { b"." } else { rest }, flags)
}

fn open_piece(dir: BorrowedFd<'_>, piece: &[u8], flags: OFlags, mounts: Mounts) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    resolve.set(ResolveFlags::NO_XDEV, mounts == Mounts::Stay);
    for _ in 0..RENAME_RACE_RETRIES_MAX {
        match openat2(dir, piece, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => continue,
            result => return Ok(result?),
        }
    }
    Err(Errno::AGAIN.into())
}

/// Does what [`open_piece`] does where `openat2` is missing, one component at a time.
fn open_by_steps(start: BorrowedFd<'_>, piece: &[u8], flags: OFlags, mounts: Mounts) -> io::Result<OwnedFd> {
    let mut passed: Option<OwnedFd> = None;
    let mut components = piece.split(|byte| *byte == b'/').peekable();
    while let Some(component) = components.next() {
        let wanted = if components.peek().is_some() { PASSING } else { flags };
        let dir = passed.as_ref().map_or(start, AsFd::as_fd);
        passed = Some(open_one_step(dir, component, wanted, mounts)?);
    }
    passed.ok_or_else(|| Errno::NOENT.into())
}

fn open_one_step(dir: BorrowedFd<'_>, name: &[u8], flags: OFlags, mounts: Mounts) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(dir, name, flags, Mode::empty())?;
    if mounts == Mounts::Stay {
        let (before, after) = (stat_fd(dir)?, stat_fd(opened.as_fd())?);
        let same = match (before.mount_id, after.mount_id) {
            (0, _) | (_, 0) => before.dev == after.dev,
            (before, after) => before == after,
        };
        if !same {
            return Err(Errno::XDEV.into());
        }
    }
    Ok(opened)
}

/// Kernels before 5.6 lack the call, and some seccomp profiles answer EPERM for what they do not know.
static OPENAT2_WORKS: LazyLock<bool> = LazyLock::new(|| {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let probe = openat2(rustix::fs::CWD, c".", flags, Mode::empty(), ResolveFlags::BENEATH);
    !matches!(probe, Err(Errno::NOSYS | Errno::PERM))
});
