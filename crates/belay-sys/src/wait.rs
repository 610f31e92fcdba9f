//! Waiting for the first of several descriptors.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Waits until one of them can be read or was closed at its other end, at most so long; says which.
pub fn wait_readable(descriptors: &[BorrowedFd<'_>], at_most: Duration) -> io::Result<Vec<bool>> {
    let mut polled: Vec<PollFd<'_>> =
        descriptors.iter().map(|descriptor| PollFd::from_borrowed_fd(*descriptor, PollFlags::IN)).collect();
    let limit = Timespec::try_from(at_most).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
    match poll(&mut polled, Some(&limit)) {
        // An interruption is nothing to wait longer for: callers look again anyway.
        Ok(_) | Err(Errno::INTR) => Ok(polled.iter().map(|one| !one.revents().is_empty()).collect()),
        Err(error) => Err(error.into()),
    }
}
