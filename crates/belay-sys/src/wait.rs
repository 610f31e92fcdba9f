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

/// A pipe that has room at all has room for this much.
const ROOM_BYTES: usize = 4096;

/// Writes as much as can be written without waiting for whoever reads; none if nothing can.
pub fn write_if_room(to: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<Option<usize>> {
    let mut polled = [PollFd::from_borrowed_fd(to, PollFlags::OUT)];
    let has_room = match poll(&mut polled, Some(&Timespec::default())) {
        // An end that was closed is told by the write.
        Ok(_) => !polled[0].revents().is_empty(),
        Err(Errno::INTR) => false,
        Err(error) => return Err(error.into()),
    };
    if !has_room {
        return Ok(None);
    }
    match rustix::io::write(to, &bytes[..bytes.len().min(ROOM_BYTES)]) {
        Ok(written) => Ok(Some(written)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_full_pipe_is_not_waited_for_and_one_without_a_reader_is_told() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let (part, mut total) = (vec![7; 10_000], 0);
        while let Some(written) = write_if_room(writer.as_fd(), &part).unwrap() {
            total += written;
        }
        assert!(total >= 4096, "{total}");
        let mut some = vec![0; 8192.min(total)];
        reader.read_exact(&mut some).unwrap();
        assert!(write_if_room(writer.as_fd(), &part).unwrap().is_some());
        drop(reader);
        assert!(write_if_room(writer.as_fd(), &part).is_err());
    }
}
