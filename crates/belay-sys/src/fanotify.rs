//! Changes of a whole file system, each with the process that made it and the names of the directory and the entry.
//!
//! Invariants: reading never waits; what the kernel could not queue is a notice of its own ([`Notice::overflow`]).
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// What is told: every change of an entry, a content or an attribute, of directories too, and every execution.
const CHANGES: u64 = libc::FAN_CREATE
    | libc::FAN_DELETE
    | libc::FAN_RENAME
    | libc::FAN_MODIFY
    | libc::FAN_CLOSE_WRITE
    | libc::FAN_ATTRIB
    | libc::FAN_ONDIR
    | libc::FAN_OPEN_EXEC;

const METADATA_BYTES: usize = 24;
const OLD_NAME: u8 = 10;
const NEW_NAME: u8 = 12;

/// A queue of notices.
#[derive(Debug)]
pub struct Fanotify {
    fd: OwnedFd,
}

/// How many notices the kernel keeps for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// As many as there are.
    Unlimited,
    /// As many as the machine's setting says, and then one about the overflow.
    Limited,
}

impl Fanotify {
    /// An empty queue; needs `CAP_SYS_ADMIN`, and Linux 5.17 for all that is asked of it.
    pub fn open(queue: Queue) -> io::Result<Fanotify> {
        let mut flags =
            libc::FAN_CLASS_NOTIF | libc::FAN_REPORT_DFID_NAME_TARGET | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK;
        if queue == Queue::Unlimited {
            flags |= libc::FAN_UNLIMITED_QUEUE;
        }
        // SAFETY: the call takes no pointers.
        let fd = unsafe { libc::fanotify_init(flags, (libc::O_RDONLY | libc::O_CLOEXEC) as libc::c_uint) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just gave us this descriptor and nobody else knows of it.
        Ok(Fanotify { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// Asks for every change in the file system that holds `dir`.
    pub fn watch_file_system(&self, dir: BorrowedFd<'_>) -> io::Result<()> {
        self.mark(dir, CHANGES)
    }

    /// Asks for every execution of a file in the file system that holds `dir`.
    pub fn watch_executions(&self, dir: BorrowedFd<'_>) -> io::Result<()> {
        self.mark(dir, libc::FAN_OPEN_EXEC)
    }

    fn mark(&self, dir: BorrowedFd<'_>, mask: u64) -> io::Result<()> {
        let flags = libc::FAN_MARK_ADD | libc::FAN_MARK_FILESYSTEM;
        // SAFETY: the path is a constant that ends with a zero byte.
        let answer = unsafe { libc::fanotify_mark(self.fd.as_raw_fd(), flags, mask, dir.as_raw_fd(), c".".as_ptr()) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// How many notices wait.
    pub fn waiting(&self) -> io::Result<usize> {
        // The kernel counts the fixed part of each notice and nothing else.
        let bytes = rustix::io::ioctl_fionread(&self.fd)?;
        Ok(usize::try_from(bytes).unwrap_or(usize::MAX) / METADATA_BYTES)
    }

    /// Reads what is there, up to the buffer's length; nothing is no bytes.
    pub fn read<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Notices<'a>> {
        match rustix::io::retry_on_intr(|| rustix::io::read(&self.fd, &mut *buffer)) {
            Ok(length) => Ok(Notices { rest: &buffer[..length] }),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(Notices { rest: &[] }),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Fanotify {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Notices in the order of the queue.
#[derive(Debug)]
pub struct Notices<'a> {
    rest: &'a [u8],
}

impl<'a> Notices<'a> {
    /// No notices.
    pub fn none() -> Self {
        Notices { rest: &[] }
    }

    /// Notices that were put aside.
    pub fn of(bytes: &'a [u8]) -> Self {
        Notices { rest: bytes }
    }

    /// The bytes of those that are left, for [`Notices::of`].
    pub fn bytes(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether there is none left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

/// A change, or several of one kind of inode by one process under one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notice<'a> {
    mask: u64,
    /// Who; 0 for a process that this one cannot name.
    pub pid: u32,
    /// The entry, or its old name if it was renamed.
    pub entry: Option<Entry<'a>>,
    /// Its new name if it was renamed.
    pub renamed: Option<Entry<'a>>,
    /// The inode itself, as a [`crate::Handle`]'s bytes.
    pub target: Option<&'a [u8]>,
}

/// A name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The directory, as a [`crate::Handle`]'s bytes.
    pub dir: &'a [u8],
    /// The name; `.` for the directory itself.
    pub name: &'a [u8],
}

impl Notice<'_> {
    /// Whether notices before this one were dropped.
    pub fn overflow(&self) -> bool {
        self.has(libc::FAN_Q_OVERFLOW)
    }

    /// Whether it is about a directory.
    pub fn dir(&self) -> bool {
        self.has(libc::FAN_ONDIR)
    }

    /// Whether it was opened to be executed, and nothing else: the kernel may put later notices of a file into an earlier one.
    pub fn executed(&self) -> bool {
        self.mask == libc::FAN_OPEN_EXEC
    }

    /// Whether the entry is new.
    pub fn created(&self) -> bool {
        self.has(libc::FAN_CREATE)
    }

    /// Whether the entry is gone.
    pub fn deleted(&self) -> bool {
        self.has(libc::FAN_DELETE)
    }

    /// Whether the content or an attribute changed.
    pub fn modified(&self) -> bool {
        self.has(libc::FAN_MODIFY | libc::FAN_ATTRIB)
    }

    /// Whether somebody who could write to it, perhaps through a mapping, let it go.
    pub fn released(&self) -> bool {
        self.has(libc::FAN_CLOSE_WRITE)
    }

    fn has(&self, bits: u64) -> bool {
        self.mask & bits != 0
    }
}

impl<'a> Iterator for Notices<'a> {
    type Item = Notice<'a>;

    fn next(&mut self) -> Option<Notice<'a>> {
        let length = u32_at(self.rest, 0)? as usize;
        let header = u16::from_ne_bytes(self.rest.get(6..8)?.try_into().ok()?) as usize;
        let event = self.rest.get(..length).filter(|event| event.len() >= METADATA_BYTES)?;
        self.rest = &self.rest[length..];
        let mask = u64::from_ne_bytes(event[8..16].try_into().ok()?);
        let mut notice = Notice { mask, pid: u32_at(event, 20)?, ..Notice::default() };
        let mut infos = event.get(header.max(METADATA_BYTES)..)?;
        while let Some(info) = next_info(&mut infos) {
            notice.take(info);
        }
        Some(notice)
    }
}

impl<'a> Notice<'a> {
    fn take(&mut self, info: &'a [u8]) {
        let Some((handle, name)) = handle_and_name(info) else { return };
        match info[0] {
            libc::FAN_EVENT_INFO_TYPE_FID => self.target = Some(handle),
            libc::FAN_EVENT_INFO_TYPE_DFID_NAME | OLD_NAME => self.entry = Some(Entry { dir: handle, name }),
            libc::FAN_EVENT_INFO_TYPE_DFID => self.entry = Some(Entry { dir: handle, name: b"." }),
            NEW_NAME => self.renamed = Some(Entry { dir: handle, name }),
            _ => {}
        }
    }
}

/// Cuts one record of information off.
fn next_info<'a>(infos: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = u16::from_ne_bytes(infos.get(2..4)?.try_into().ok()?) as usize;
    let info = infos.get(..length).filter(|info| info.len() >= 4)?;
    *infos = &infos[length..];
    Some(info)
}

/// After a header of four bytes and the file system's number of eight: the handle's length, type and bytes, then a name.
fn handle_and_name(info: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = u32_at(info, 12)? as usize;
    let handle = info.get(16..20 + length)?;
    let rest = &info[20 + length..];
    let name = rest.split(|byte| *byte == 0).next().unwrap_or_default();
    Some((handle, name))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
