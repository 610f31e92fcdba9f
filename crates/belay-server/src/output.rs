//! Standard output as a stream that takes an answer at once: no other thread has to be woken for it.
//!
//! Nor is the thread that also reads ever held up. Where whoever reads is behind, it is looked again a moment later.

use std::future::Future;
use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::AsyncWrite;
use tokio::time::{Sleep, sleep};

/// How soon it is looked again whether there is room.
const LOOK: Duration = Duration::from_millis(1);

/// Standard output.
#[derive(Default)]
pub(crate) struct Output {
    /// Until when there is no use in looking.
    wait: Option<Pin<Box<Sleep>>>,
}

impl AsyncWrite for Output {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            if let Some(wait) = &mut self.wait {
                if wait.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                self.wait = None;
            }
            match belay_session::write_if_room(io::stdout().as_fd(), bytes) {
                Ok(Some(written)) => return Poll::Ready(Ok(written)),
                Ok(None) => self.wait = Some(Box::pin(sleep(LOOK))),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
