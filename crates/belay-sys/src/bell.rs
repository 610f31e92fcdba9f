//! A bell that wakes a thread which waits for it and for a descriptor at once.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};

/// Rings until somebody waits.
#[derive(Debug)]
pub struct Bell {
    fd: OwnedFd,
}

impl Bell {
    /// A silent bell.
    pub fn new() -> io::Result<Bell> {
        let fd = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Bell { fd })
    }

    /// Wakes whoever waits, or the next who does.
    pub fn ring(&self) {
        // It can only fail because it has rung 2^64 times unheard, and then it rings already.
        let _ = rustix::io::write(&self.fd, &1u64.to_ne_bytes());
    }

    /// Silences the bell.
    pub fn hush(&self) {
        // One that does not ring is silent.
        let _ = rustix::io::read(&self.fd, &mut [0u8; 8]);
    }

    /// Waits until the bell rings, `other` can be read, or the time is over; the bell is silent afterwards.
    pub fn wait(&self, other: Option<BorrowedFd<'_>>, at_most: Option<Duration>) {
        let mut fds = vec![PollFd::from_borrowed_fd(self.fd.as_fd(), PollFlags::IN)];
        fds.extend(other.map(|other| PollFd::from_borrowed_fd(other, PollFlags::IN)));
        let at_most = at_most.and_then(|limit| Timespec::try_from(limit).ok());
        // An interruption counts as a wake-up: whoever waits looks around anyway.
        let _ = rustix::event::poll(&mut fds, at_most.as_ref());
        self.hush();
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::Bell;
    use std::time::{Duration, Instant};

    #[test]
    fn a_bell_that_rang_before_wakes_once() {
        let bell = Bell::new().unwrap();
        bell.ring();
        bell.ring();
        bell.wait(None, None);
        let start = Instant::now();
        bell.wait(None, Some(Duration::from_millis(20)));
        assert!(start.elapsed() >= Duration::from_millis(19));
    }
}
