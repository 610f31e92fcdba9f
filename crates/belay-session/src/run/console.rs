//! The terminal of a run: everything that it shows is kept in `console.log` and passed on to whoever is attached.
//!
//! The log is bounded: when it is full it becomes `console.log.1`, and the one before that goes.

mod replay;

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::control::Control;

/// A log of this size becomes the old one.
const LOG_BYTES_MAX: u64 = 16 << 20;
/// So much of what was shown last is shown to a client that attaches.
const RECENT_BYTES: usize = 8 << 10;

/// What the terminal showed last.
#[derive(Clone, Default)]
pub(super) struct Recent(Arc<Mutex<Vec<u8>>>);

impl Recent {
    fn add(&self, data: &[u8]) {
        let mut recent = self.0.lock().expect("no holder panics");
        recent.extend_from_slice(data);
        let excess = recent.len().saturating_sub(RECENT_BYTES);
        recent.drain(..excess);
    }

    /// The last of it, as text and colours.
    pub(super) fn bytes(&self) -> Vec<u8> {
        replay::harmless(&self.0.lock().expect("no holder panics"))
    }
}

/// Reads the terminal until nobody sits at it any more.
pub(super) fn pump(terminal: Arc<File>, log: &Path, control: Control, recent: Recent) -> io::Result<JoinHandle<()>> {
    let mut log = Log::open(log)?;
    std::thread::Builder::new().name("terminal".into()).spawn(move || {
        let mut buffer = [0; 16 << 10];
        loop {
            match (&*terminal).read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The kernel says EIO once the last process has closed its end.
                Ok(0) | Err(_) => return,
                Ok(length) => {
                    let shown = &buffer[..length];
                    // A full disk costs the log, not the terminal.
                    let _ = log.add(shown);
                    recent.add(shown);
                    control.broadcast(shown);
                }
            }
        }
    })
}

struct Log {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Log {
    fn open(path: &Path) -> io::Result<Log> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        Ok(Log { path: path.to_owned(), length: file.metadata()?.len(), file })
    }

    fn add(&mut self, data: &[u8]) -> io::Result<()> {
        if self.length + data.len() as u64 > LOG_BYTES_MAX {
            std::fs::rename(&self.path, older(&self.path))?;
            *self = Log::open(&self.path)?;
        }
        self.file.write_all(data)?;
        self.length += data.len() as u64;
        Ok(())
    }
}

/// The name of the log before this one.
pub(crate) fn older(log: &Path) -> PathBuf {
    log.with_extension("log.1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_becomes_the_old_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("console.log");
        let mut log = Log::open(&path).unwrap();
        log.length = LOG_BYTES_MAX - 1;
        log.add(b"ab").unwrap();
        log.add(b"c").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"abc");
        assert!(older(&path).exists());
    }

    #[test]
    fn only_the_last_of_what_was_shown_is_kept() {
        let recent = Recent::default();
        recent.add(&[b'x'; RECENT_BYTES]);
        recent.add(b"end");
        assert_eq!(recent.bytes().len(), RECENT_BYTES);
        assert!(recent.bytes().ends_with(b"xend"));
    }
}
