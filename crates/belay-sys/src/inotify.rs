//! Watches on directories: what happens to their entries, without who did it.
//!
//! Invariants: a directory is watched through its open handle or by its name in one, so that no link on the way can lead elsewhere; events come in
//! the order in which they happened; [`Notice::Overflow`] stands where some are missing.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::inotify::{CreateFlags, WatchFlags};
use rustix::io::Errno;

/// The error number of opening a directory in whose place, or above it, there is a symlink.
pub const LINK_IN_THE_WAY: i32 = libc::ELOOP;

const HEADER_BYTES: usize = 16;
/// Room for some thousand events; much less would mean many calls, more would be touched for nothing.
const READ_BYTES: usize = 64 * 1024;

/// What is told of the entries of a directory.
const CHANGES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB);

/// A working directory of the thread that made it, and of no other.
#[derive(Debug)]
pub struct Stand(());

impl Stand {
    /// Gives this thread a working directory of its own, for as long as it lives; refused in some containers.
    pub fn new() -> io::Result<Stand> {
        // SAFETY: this thread no longer shares its working directory and its mask of file modes; no memory is involved.
        match unsafe { libc::unshare(libc::CLONE_FS) } {
            0 => Ok(Stand(())),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Goes to an open directory.
    pub fn go_to(&mut self, dir: BorrowedFd<'_>) -> io::Result<()> {
        Ok(rustix::process::fchdir(dir)?)
    }
}

/// A queue of events about watched directories.
#[derive(Debug)]
pub struct Inotify {
    fd: OwnedFd,
}

/// What happened in a watched directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The watch.
    pub watch: i32,
    /// The entry; empty for the directory itself.
    pub name: &'a [u8],
    /// Whether the entry is a directory.
    pub dir: bool,
    /// What.
    pub notice: Notice,
}

/// What can happen to an entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// It is new.
    Created,
    /// It is gone.
    Deleted,
    /// It left; the other half has the same number.
    MovedFrom(u32),
    /// It came.
    MovedTo(u32),
    /// Its content changed.
    Written,
    /// Somebody who could write to it closed it.
    Closed,
    /// Its metadata changed.
    Attributes,
    /// The watch is gone, because the directory is or because we said so.
    Ignored,
    /// Events are missing here.
    Overflow,
    /// Nothing that matters.
    Other,
}

impl Inotify {
    /// An empty queue.
    pub fn new() -> io::Result<Inotify> {
        let fd = rustix::fs::inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Inotify { fd })
    }

    /// Watches the open directory; the same directory has the same watch, under whatever name it was opened.
    pub fn watch(&self, dir: BorrowedFd<'_>) -> io::Result<i32> {
        let path = format!("/proc/self/fd/{}", dir.as_raw_fd());
        Ok(rustix::fs::inotify::add_watch(&self.fd, path.as_str(), CHANGES | WatchFlags::ONLYDIR)?)
    }

    /// Watches the directory of this name where the thread stands, `.` for that itself; a link is not followed.
    ///
    /// Nothing is opened, and no way through `/proc` is looked for: this takes a third of the time.
    pub fn watch_at(&self, _stand: &Stand, name: &[u8]) -> io::Result<i32> {
        if name.contains(&b'/') {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let flags = CHANGES | WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW;
        Ok(rustix::fs::inotify::add_watch(&self.fd, name, flags)?)
    }

    /// Tells when the directory at this path, or one above it, is removed or moved away, and when an entry beside it is.
    pub fn watch_departures(&self, path: &Path) -> io::Result<()> {
        let own = WatchFlags::MOVE_SELF | WatchFlags::DELETE_SELF | WatchFlags::MASK_ADD | WatchFlags::ONLYDIR;
        for (above, dir) in path.ancestors().enumerate() {
            // The end of a directory that somebody has open is told only to whoever watches the one above.
            let entries = WatchFlags::DELETE | WatchFlags::MOVED_FROM;
            let flags = if above == 1 { own | entries } else { own };
            rustix::fs::inotify::add_watch(&self.fd, dir, flags)?;
        }
        Ok(())
    }

    /// Stops watching; what was queued stays queued.
    pub fn unwatch(&self, watch: i32) {
        // The kernel may have dropped the watch by itself, which is as good.
        let _ = rustix::fs::inotify::remove_watch(&self.fd, watch);
    }

    /// Appends everything that is queued to `bytes`, for [`entries`].
    pub fn drain(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        loop {
            bytes.reserve(READ_BYTES);
            match rustix::io::read(&self.fd, rustix::buffer::spare_capacity(bytes)) {
                Ok(0) | Err(Errno::AGAIN) => return Ok(()),
                Ok(_) => {}
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Inotify {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The events in bytes from [`Inotify::drain`].
pub fn entries(bytes: &[u8]) -> impl Iterator<Item = Entry<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let header: &[u8; HEADER_BYTES] = rest.first_chunk()?;
        let field = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| header[at + i]));
        let (watch, mask, cookie, length) = (field(0).cast_signed(), field(4), field(8), field(12) as usize);
        let padded = rest.get(HEADER_BYTES..HEADER_BYTES + length)?;
        rest = &rest[HEADER_BYTES + length..];
        let name = padded.split(|byte| *byte == 0).next().unwrap_or(padded);
        Some(Entry { watch, name, dir: mask & libc::IN_ISDIR != 0, notice: notice(mask, cookie) })
    })
}

fn notice(mask: u32, cookie: u32) -> Notice {
    let table = [
        (libc::IN_Q_OVERFLOW, Notice::Overflow),
        (libc::IN_IGNORED, Notice::Ignored),
        (libc::IN_CREATE, Notice::Created),
        (libc::IN_DELETE, Notice::Deleted),
        (libc::IN_MOVED_FROM, Notice::MovedFrom(cookie)),
        (libc::IN_MOVED_TO, Notice::MovedTo(cookie)),
        (libc::IN_MODIFY, Notice::Written),
        (libc::IN_CLOSE_WRITE, Notice::Closed),
        (libc::IN_ATTRIB, Notice::Attributes),
    ];
    table.iter().find(|(bit, _)| mask & bit != 0).map_or(Notice::Other, |(_, notice)| *notice)
}

#[cfg(test)]
mod tests {
    use super::{Inotify, Notice, entries};
    use crate::Root;

    #[test]
    fn what_happens_in_a_directory_is_told_in_order() {
        let place = tempfile::tempdir().unwrap();
        let root = Root::open(place.path()).unwrap();
        let inotify = Inotify::new().unwrap();
        let watch = inotify.watch(root.dir(b"").unwrap().as_fd()).unwrap();
        std::fs::write(place.path().join("a"), "x").unwrap();
        std::fs::create_dir(place.path().join("d")).unwrap();
        std::fs::rename(place.path().join("a"), place.path().join("b")).unwrap();
        std::fs::remove_file(place.path().join("b")).unwrap();
        let mut bytes = Vec::new();
        inotify.drain(&mut bytes).unwrap();
        let seen: Vec<_> = entries(&bytes).inspect(|entry| assert_eq!(entry.watch, watch)).collect();
        let names: Vec<_> = seen.iter().map(|entry| entry.name).collect();
        assert_eq!(names, [&b"a"[..], b"a", b"a", b"d", b"a", b"b", b"b"]);
        let first = [Notice::Created, Notice::Written, Notice::Closed, Notice::Created];
        assert_eq!(seen.iter().map(|entry| entry.notice).take(4).collect::<Vec<_>>(), first);
        assert!(seen[3].dir && !seen[0].dir);
        let (Notice::MovedFrom(from), Notice::MovedTo(to)) = (seen[4].notice, seen[5].notice) else {
            panic!("{seen:?}");
        };
        assert_eq!(from, to);
        assert_eq!(seen[6].notice, Notice::Deleted);
    }

    #[test]
    fn a_directory_has_one_watch_under_every_name() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("d")).unwrap();
        let root = Root::open(place.path()).unwrap();
        let inotify = Inotify::new().unwrap();
        let first = inotify.watch(root.dir(b"d").unwrap().as_fd()).unwrap();
        std::fs::rename(place.path().join("d"), place.path().join("e")).unwrap();
        assert_eq!(inotify.watch(root.dir(b"e").unwrap().as_fd()).unwrap(), first);
    }

    #[test]
    fn half_an_event_is_none() {
        assert_eq!(entries(&[1, 2, 3]).count(), 0);
        let mut long = [0u8; 16];
        long[12] = 16;
        assert_eq!(entries(&long).count(), 0);
    }
}
