//! The other end of a run's `control.sock`: whoever started it, attached to it, stops it or holds it still.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::control::socket_in;
use super::wire::{Answer, Frame, Request, read_frame, write_data, write_text};

/// The other end of [`RunClient::pair`] in the supervisor, which knows it by its number.
pub fn inherited(fd: std::os::fd::RawFd) -> io::Result<UnixStream> {
    belay_sys::inherited(fd).map(UnixStream::from)
}

/// A connection to a run.
#[derive(Debug)]
pub struct RunClient(UnixStream);

impl RunClient {
    /// Connects to the run whose directory this is.
    pub fn connect(dir: &Path) -> io::Result<RunClient> {
        let (_held, path) = socket_in(dir)?;
        Ok(RunClient(UnixStream::connect(path)?))
    }

    /// A connection whose other end a supervisor that is started now will inherit.
    pub fn pair() -> io::Result<(RunClient, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        rustix::io::fcntl_setfd(theirs.as_fd(), rustix::io::FdFlags::empty())?;
        Ok((RunClient(ours), OwnedFd::from(theirs)))
    }

    /// The same connection for another thread.
    pub fn another(&self) -> io::Result<RunClient> {
        Ok(RunClient(self.0.try_clone()?))
    }

    /// Gives up waiting for an answer after this time.
    pub(crate) fn set_patience(&self, time: std::time::Duration) -> io::Result<()> {
        self.0.set_read_timeout(Some(time))
    }

    /// Asks for something.
    pub fn ask(&mut self, request: &Request) -> io::Result<()> {
        write_text(&mut self.0, request)
    }

    /// Leaves; the run goes on.
    pub fn hang_up(&self) {
        // A connection that is closed already is what was wanted.
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }

    /// Types.
    pub fn type_keys(&mut self, keys: &[u8]) -> io::Result<()> {
        write_data(&mut self.0, keys)
    }

    /// What comes next; none when the run has closed the connection.
    pub fn hear(&mut self) -> io::Result<Option<Frame<Answer>>> {
        match read_frame(&mut self.0) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(None),
            other => other,
        }
    }

    /// The next answer, terminal data aside.
    pub fn hear_answer(&mut self) -> io::Result<Option<Answer>> {
        loop {
            match self.hear()? {
                Some(Frame::Data(_)) => {}
                Some(Frame::Text(answer)) => return Ok(Some(answer)),
                None => return Ok(None),
            }
        }
    }
}
