//! The process that stands at a gate: it alone has the kernel's queue, and nobody's git waits for anybody but it.
//!
//! Whoever is none of the gate's members is let in at once; a member when the owner says so, or when it waited for long enough.
//! Invariants: it calls nothing but the kernel, on memory that was made before it was forked; it never forks, so the queue is
//! nobody else's; it ends with its owner, whoever else has a copy of the line between them; and if it stands still for
//! [`STILL_MAX`], because somebody stopped it or debugs it, a timer of the kernel's kills it. With it goes the queue, and
//! then the kernel lets everybody in.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};
use rustix::time::{ClockId, clock_gettime};

use super::Members;

/// How long it may stand still before it is killed: that long the machine waits at most if somebody stops this very process.
pub(super) const STILL_MAX: Duration = Duration::from_secs(4);

/// How often it moves at least.
const BEAT_NS: u64 = 1_000_000_000;

/// So many members wait at most, each with an open file; one more is let in, since a queue that cannot open another file
/// turns people away.
const WAITING_MAX: usize = 64;

const METADATA_BYTES: usize = 24;
const BUFFER_BYTES: usize = 4096;

/// How far up a process is looked for among the descendants of another.
const FOREBEARS_MAX: usize = 4096;

/// What a keeper is told before it is forked.
pub(super) struct Orders<'a> {
    pub(super) programs: &'a [CString],
    pub(super) members: &'a Members,
    /// The process that it serves.
    pub(super) owner: u32,
    pub(super) held_max: Duration,
    /// Its end of the line to the owner.
    pub(super) line: BorrowedFd<'a>,
}

/// What a keeper says to its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// The gate stands.
    Stands,
    /// It does not, by this error.
    Failed(i32),
    /// A member waits.
    Knock { serial: u64, thread: u32, since: u64 },
}

pub(super) const WORD_BYTES: usize = 24;

impl Word {
    pub(super) fn to_bytes(self) -> [u8; WORD_BYTES] {
        let (kind, thread, serial, since) = match self {
            Word::Stands => (0, 0, 0, 0),
            Word::Failed(errno) => (1, errno.unsigned_abs(), 0, 0),
            Word::Knock { serial, thread, since } => (2_u32, thread, serial, since),
        };
        let mut bytes = [0; WORD_BYTES];
        let (head, tail) = bytes.split_at_mut(8);
        head[..4].copy_from_slice(&kind.to_ne_bytes());
        head[4..].copy_from_slice(&thread.to_ne_bytes());
        tail[..8].copy_from_slice(&serial.to_ne_bytes());
        tail[8..].copy_from_slice(&since.to_ne_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Word> {
        let short = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let long = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        match short(0)? {
            0 => Some(Word::Stands),
            1 => Some(Word::Failed(short(4)?.cast_signed())),
            2 => Some(Word::Knock { thread: short(4)?, serial: long(8)?, since: long(16)? }),
            _ => None,
        }
    }
}

/// The clock by which knocks are dated, in nanoseconds.
pub(super) fn clock() -> u64 {
    let raw = clock_gettime(ClockId::Monotonic);
    raw.tv_sec.unsigned_abs() * 1_000_000_000 + raw.tv_nsec.unsigned_abs()
}

/// A member that waits.
struct Waiting {
    program: OwnedFd,
    serial: u64,
    until: u64,
}

/// The gate, as the one who stands there has it.
struct Post<'a> {
    orders: &'a Orders<'a>,
    queue: OwnedFd,
    owner: OwnedFd,
    timer: libc::c_int,
    waiting: [Option<Waiting>; WAITING_MAX],
    serial: u64,
}

/// Stands at the gate until there is nothing to stand for.
///
/// SAFETY: only to be called in the child of a fork, whose descriptors nobody else in it uses.
pub(super) unsafe fn keep(orders: &Orders<'_>) -> ! {
    // SAFETY: the caller's promise; a panic cannot leave an `extern "C"` function, it ends the process.
    unsafe {
        stand(ptr::from_ref(orders).cast());
        libc::_exit(0)
    }
}

/// SAFETY: `orders` is a live `Orders`, and this is the child of a fork.
unsafe extern "C" fn stand(orders: *const libc::c_void) {
    // SAFETY: the caller's promise.
    let orders = unsafe { &*orders.cast::<Orders<'_>>() };
    // SAFETY: the caller's promise.
    let word = match unsafe { Post::take(orders) } {
        Ok(mut post) => {
            if say(orders.line, Word::Stands) {
                while post.turn() {}
            }
            return;
        }
        Err(error) => Word::Failed(error.raw_os_error()),
    };
    say(orders.line, word);
}

/// Says something to the owner, who may be too busy to have it; whether it has it.
fn say(line: BorrowedFd<'_>, word: Word) -> bool {
    rustix::io::write(line, &word.to_bytes()).is_ok()
}

impl<'a> Post<'a> {
    /// SAFETY: as for [`keep`].
    unsafe fn take(orders: &'a Orders<'a>) -> Result<Post<'a>, Errno> {
        // SAFETY: the caller's promise.
        unsafe { retire(orders.line.as_raw_fd()) };
        let pid = i32::try_from(orders.owner).ok().and_then(Pid::from_raw).ok_or(Errno::INVAL)?;
        let owner = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
        if rustix::process::getppid() != Some(pid) {
            // It is gone already, and the number may be another's.
            return Err(Errno::SRCH);
        }
        // The watch over this process comes before the first who could be kept waiting.
        let timer = make_timer()?;
        let queue = open_queue()?;
        let post = Post { orders, queue, owner, timer, waiting: [const { None }; WAITING_MAX], serial: 0 };
        post.rewind()?;
        orders.programs.iter().try_for_each(|program| post.guard(program))?;
        Ok(post)
    }

    fn guard(&self, program: &CString) -> Result<(), Errno> {
        let (queue, mask) = (self.queue.as_raw_fd(), libc::FAN_OPEN_EXEC_PERM);
        // SAFETY: the path ends with a zero byte and outlives the call.
        let answer = unsafe { libc::fanotify_mark(queue, libc::FAN_MARK_ADD, mask, libc::AT_FDCWD, program.as_ptr()) };
        if answer == 0 { Ok(()) } else { Err(last_error()) }
    }

    /// Winds the timer up again that kills whoever stands still.
    fn rewind(&self) -> Result<(), Errno> {
        // SAFETY: a structure of numbers, of which zeros are a value.
        let mut wish: libc::itimerspec = unsafe { std::mem::zeroed() };
        wish.it_value.tv_sec = STILL_MAX.as_secs().cast_signed();
        let none = ptr::null_mut::<libc::itimerspec>();
        // SAFETY: the timer is ours, and the kernel reads one structure.
        let answer = unsafe { libc::syscall(libc::SYS_timer_settime, self.timer, 0, &raw const wish, none) };
        if answer == 0 { Ok(()) } else { Err(last_error()) }
    }

    /// One look at everything; no if there is nothing to stand for any more.
    fn turn(&mut self) -> bool {
        if self.rewind().is_err() {
            return false;
        }
        let now = clock();
        let next = self.waiting.iter().flatten().map(|waiting| waiting.until).min();
        let rest = next.map_or(BEAT_NS, |next| next.saturating_sub(now).min(BEAT_NS));
        let rest = Timespec { tv_sec: (rest / BEAT_NS).cast_signed(), tv_nsec: (rest % BEAT_NS).cast_signed() };
        let fds = [self.orders.line, self.queue.as_fd(), self.owner.as_fd()];
        let mut polled = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        match poll(&mut polled, Some(&rest)) {
            Ok(_) => {}
            Err(Errno::INTR) => return true,
            Err(_) => return false,
        }
        let [line, queue, owner] = polled.map(|one| !one.revents().is_empty());
        if owner || (line && !self.listen()) || (queue && !self.open_up()) {
            return false;
        }
        self.let_late_in();
        true
    }

    /// Lets in whom the owner names; no if the line is closed.
    fn listen(&mut self) -> bool {
        let mut bytes = [0_u8; 8];
        loop {
            match rustix::io::read(self.orders.line, &mut bytes) {
                Ok(8) => {
                    let serial = u64::from_ne_bytes(bytes);
                    let known =
                        self.waiting.iter_mut().find(|one| one.as_ref().is_some_and(|one| one.serial == serial));
                    // One whose time was up is gone already.
                    if let Some(waiting) = known.and_then(Option::take) {
                        self.let_in(&waiting.program);
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return true,
                Ok(_) | Err(_) => return false,
            }
        }
    }

    /// Sees who came to the gate; no if it cannot be read.
    fn open_up(&mut self) -> bool {
        let mut buffer = [0_u8; BUFFER_BYTES];
        let length = match rustix::io::read(&self.queue, &mut buffer) {
            Ok(length) => length,
            Err(Errno::INTR | Errno::AGAIN) => return true,
            Err(_) => return false,
        };
        let mut rest = buffer.get(..length).unwrap_or_default();
        while let Some(notice) = rest.get(..METADATA_BYTES) {
            let number = |at: usize| -> i32 {
                notice.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(-1, i32::from_ne_bytes)
            };
            let (size, fd, thread) = (number(0), number(16), number(20));
            if fd >= 0 {
                // SAFETY: the kernel opened this descriptor for whoever reads the notice, and only we do.
                let program = unsafe { OwnedFd::from_raw_fd(fd) };
                self.meet(program, thread.unsigned_abs());
            }
            rest = rest.get(usize::try_from(size).unwrap_or(0).max(METADATA_BYTES)..).unwrap_or_default();
        }
        true
    }

    /// Has a member wait, and tells the owner; anybody else is let in.
    fn meet(&mut self, program: OwnedFd, thread: u32) {
        if !is_member(self.orders.members, thread) {
            return self.let_in(&program);
        }
        self.serial += 1;
        let (serial, now) = (self.serial, clock());
        let Some(place) = self.waiting.iter_mut().find(|one| one.is_none()) else {
            self.let_in(&program);
            // It was dated so that the owner knows that it did not wait.
            say(self.orders.line, Word::Knock { serial, thread, since: 0 });
            return;
        };
        if !say(self.orders.line, Word::Knock { serial, thread, since: now }) {
            return self.let_in(&program);
        }
        let held_max = u64::try_from(self.orders.held_max.as_nanos()).unwrap_or(u64::MAX);
        *place = Some(Waiting { program, serial, until: now.saturating_add(held_max) });
    }

    fn let_late_in(&mut self) {
        let now = clock();
        for at in 0..WAITING_MAX {
            let place = self.waiting.get_mut(at);
            if let Some(waiting) = place.and_then(|one| one.take_if(|one| one.until <= now)) {
                self.let_in(&waiting.program);
            }
        }
    }

    fn let_in(&self, program: &OwnedFd) {
        let [a, b, c, d] = program.as_raw_fd().to_ne_bytes();
        let [e, f, g, h] = libc::FAN_ALLOW.to_ne_bytes();
        // Whoever was killed meanwhile needs no answer.
        let _ = rustix::io::write(&self.queue, &[a, b, c, d, e, f, g, h]);
    }
}

/// Leaves everything behind that a fork inherits: descriptors, the session and its terminal, signals, the directory.
///
/// SAFETY: only in the child of a fork, where nobody uses any descriptor but `line`.
unsafe fn retire(line: RawFd) {
    // SAFETY: the caller's promise; sets and names are local. Whatever fails leaves something behind that does no harm.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, ptr::null_mut());
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"belay-gate".as_ptr());
        libc::chdir(c"/".as_ptr());
        let line = line.unsigned_abs();
        if line > 0 {
            libc::close_range(0, line - 1, 0);
        }
        libc::close_range(line + 1, u32::MAX, 0);
    }
}

fn make_timer() -> Result<libc::c_int, Errno> {
    // SAFETY: a structure of numbers, of which zeros are a value.
    let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
    event.sigev_notify = libc::SIGEV_SIGNAL;
    // A stopped process takes no other signal.
    event.sigev_signo = libc::SIGKILL;
    let mut timer: libc::c_int = 0;
    // SAFETY: the kernel reads one structure and writes one number.
    let answer =
        unsafe { libc::syscall(libc::SYS_timer_create, libc::CLOCK_MONOTONIC, &raw const event, &raw mut timer) };
    if answer == 0 { Ok(timer) } else { Err(last_error()) }
}

fn open_queue() -> Result<OwnedFd, Errno> {
    let flags = libc::FAN_CLASS_CONTENT | libc::FAN_REPORT_TID | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK;
    // SAFETY: the call takes no pointers.
    let fd = unsafe { libc::fanotify_init(flags, (libc::O_RDONLY | libc::O_CLOEXEC) as libc::c_uint) };
    if fd < 0 {
        return Err(last_error());
    }
    // SAFETY: the kernel just gave us this descriptor and nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn last_error() -> Errno {
    // SAFETY: the C library's error number of this thread.
    Errno::from_raw_os_error(unsafe { *libc::__errno_location() })
}

fn is_member(members: &Members, thread: u32) -> bool {
    let mut buffer = [0_u8; BUFFER_BYTES];
    match members {
        Members::Group(name) => {
            let groups = about(thread, b"cgroup", &mut buffer);
            let path = groups.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"0::"));
            path.is_some_and(|path| path.split(|byte| *byte == b'/').any(|part| part == name.as_slice()))
        }
        Members::Descendants(forebear) => {
            let mut pid = thread;
            for _ in 0..FOREBEARS_MAX {
                match parent_in(about(pid, b"stat", &mut buffer)) {
                    Some(parent) if parent == *forebear => return true,
                    Some(parent) if parent > 1 => pid = parent,
                    _ => return false,
                }
            }
            false
        }
    }
}

/// The parent that a `stat` of the kernel's names.
fn parent_in(stat: &[u8]) -> Option<u32> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let word = stat.get(end + 2..)?.split(|byte| *byte == b' ').nth(1)?;
    str::from_utf8(word).ok()?.parse().ok()
}

/// The beginning of what the kernel says about a thread; nothing if it is gone.
fn about<'b>(thread: u32, what: &[u8], buffer: &'b mut [u8; BUFFER_BYTES]) -> &'b [u8] {
    let (mut path, mut length) = ([0_u8; 48], 0);
    let mut add = |part: &[u8]| {
        let end = length + part.len();
        if let Some(place) = path.get_mut(length..end) {
            place.copy_from_slice(part);
            length = end;
        }
    };
    let (mut digits, mut at, mut left) = ([0_u8; 10], 10, thread);
    while at > 0 && (left > 0 || at == 10) {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    add(b"/proc/");
    add(&digits[at..]);
    add(b"/");
    add(what);
    add(b"\0");
    let Ok(path) = std::ffi::CStr::from_bytes_until_nul(&path) else { return &[] };
    let Ok(file) = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else { return &[] };
    let read = rustix::io::read(&file, &mut *buffer).unwrap_or(0);
    buffer.get(..read).unwrap_or_default()
}
