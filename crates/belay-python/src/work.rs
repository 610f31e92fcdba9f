//! Work that Python waits for: without its lock, and ended by Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use belay_session::Work;
use belay_session::store::Quiet;
use pyo3::prelude::*;

use crate::error::{Error, Result};

/// How often Python is asked whether somebody wants to stop.
const ASKED_EVERY: Duration = Duration::from_millis(50);

/// Runs `work` without Python's lock; a signal's exception stops it and is what comes out of it.
pub(crate) fn run<T: Send>(py: Python<'_>, work: impl FnOnce(Work<'_>) -> Result<T> + Send) -> PyResult<T> {
    Ok(py.detach(|| watched(work))?)
}

fn watched<T: Send>(work: impl FnOnce(Work<'_>) -> Result<T> + Send) -> Result<T> {
    let stop = AtomicBool::new(false);
    let (done, ended) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Nobody is gone who waits for it: the scope outlives the thread.
            let _ = done.send(work(Work { progress: &Quiet, stop: &stop }));
        });
        let mut signal = None;
        loop {
            match ended.recv_timeout(ASKED_EVERY) {
                Ok(result) => return signal.map_or(result, |error| Err(Error::Python(error))),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = Python::attach(|py| py.check_signals()) {
                        stop.store(true, Ordering::Relaxed);
                        signal = Some(error);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => unreachable!("the work sends its result or panics"),
            }
        }
    })
}
