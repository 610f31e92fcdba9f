//! The resident helper: a process that sees a workspace's changes and has its store open, so that an agent's hook costs
//! what changed.
//!
//! Nobody has to know of it. It is started by a hook that found none, there is one for each workspace, and it ends when
//! nobody needs it. Whatever it cannot or may not do, and whatever happens to it, whoever asked does by itself.

mod hung;
mod inbox;
mod serve;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use belay_event::Raw;
use belay_store::LockMode;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::agent::AgentWord;
use crate::error::{Error, Result};
use crate::run::{Frame, read_frame, write_text};
use crate::workspace::Workspace;

pub use hung::{Hung, end_hung};
pub use serve::{Residence, reside};

/// Beneath belay's home: where helpers listen, each under the number of its directory.
const PLACE: &str = "helpers";
/// The longest path that a socket's address holds.
const ADDRESS_BYTES_MAX: usize = 107;
/// How long a helper is waited for that is alive and at work: agents give up on their hooks soon after.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most letters are answered in this time; after it one asks whether the helper is alive at all.
const CALM: Duration = Duration::from_millis(150);
/// A helper says within this time that it is alive, whatever it is busy with; one that does not is taken to hang.
const PULSE: Duration = Duration::from_millis(300);

/// What is sent to a helper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    /// The version of whoever asks.
    pub version: String,
    /// What steers whoever asks: where its configuration is, and what overrides it.
    pub steering: String,
    /// The directory that it is about.
    pub directory: Raw,
    /// What is wanted.
    pub want: Want,
}

/// What is wanted of a helper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Want {
    /// To take in what an agent told.
    Hear(AgentWord),
    /// To say how it stands.
    Standing,
    /// To end.
    Leave,
}

/// What a helper says to a letter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// It is done: what changed is durable, and what was told survives the helper.
    Done,
    /// It will be done, behind something that takes longer than anybody should wait.
    Later,
    /// It is not done; whoever asked is to do it.
    Yourself(String),
    /// How it stands.
    Standing(Box<Standing>),
    /// It ends now.
    Leaving,
}

/// How a helper stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// The workspace's identifier.
    pub workspace: String,
    /// Where the workspace is.
    pub path: Raw,
    /// How it sees changes; `none` if it cannot, so that every look is a walk.
    pub files: String,
    /// How many paths changed since the latest snapshot; none if it cannot tell.
    #[serde(default)]
    pub changed: Option<u64>,
    /// Letters that it answered.
    pub answered: u64,
    /// Seconds without a letter after which it ends.
    pub idle_seconds: u64,
}

/// A connection to a helper.
pub struct Resident {
    stream: UnixStream,
    place: PathBuf,
    name: String,
}

/// Why nobody was told.
#[derive(Debug)]
pub enum Unheard {
    /// There is a helper, and it gives no sign of life.
    Hangs(Option<u32>),
    /// The helper is alive and goes on with what was asked for, which takes longer than anybody should wait.
    Busy,
    /// The connection broke, or what came was no answer.
    Broken(io::Error),
}

impl From<io::Error> for Unheard {
    fn from(error: io::Error) -> Unheard {
        Unheard::Broken(error)
    }
}

impl Resident {
    /// The helper of the nearest directory at or above this one that has one.
    pub fn near(home: &Path, directory: &Path) -> Result<Option<Resident>, Unheard> {
        let Ok(directory) = directory.canonicalize() else { return Ok(None) };
        directory.ancestors().find_map(|above| Resident::at(home, above).transpose()).transpose()
    }

    fn at(home: &Path, directory: &Path) -> Result<Option<Resident>, Unheard> {
        let Ok(meta) = directory.metadata() else { return Ok(None) };
        Resident::connect(&home.join(PLACE), &name_of(meta.dev(), meta.ino()))
    }

    /// Every helper that listens.
    pub fn all(home: &Path) -> Vec<Result<Resident, Unheard>> {
        let place = home.join(PLACE);
        let Ok(entries) = place.read_dir() else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.filter_map(|name| Resident::connect(&place, &name).transpose()).collect()
    }

    /// None if nobody listens.
    fn connect(place: &Path, name: &str) -> Result<Option<Resident>, Unheard> {
        let connected = address(place, name).and_then(|(_held, path)| connect(&path));
        match connected {
            Ok(stream) => Ok(Some(Resident { stream, place: place.to_owned(), name: name.to_owned() })),
            // As many wait to be heard as can: it has not listened for long.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(Unheard::Hangs(None)),
            Err(_) => Ok(None),
        }
    }

    /// The helper's process.
    pub fn pid(&self) -> Option<u32> {
        let peer = rustix::net::sockopt::socket_peercred(&self.stream).ok()?;
        u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
    }

    /// Sends a letter, and waits for what is said to it, for as long as the helper is alive.
    pub fn ask(&mut self, letter: &Letter) -> Result<Told, Unheard> {
        self.stream.set_read_timeout(Some(PULSE))?;
        self.stream.set_write_timeout(Some(PULSE))?;
        let begun = Instant::now();
        let is_sent = write_text(&mut self.stream, letter);
        if is_sent.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
            return Err(Unheard::Hangs(self.pid()));
        }
        is_sent?;
        while !is_readable(&self.stream, CALM)? {
            if !self.has_pulse() {
                return Err(Unheard::Hangs(self.pid()));
            }
            if begun.elapsed() > PATIENCE {
                return Err(Unheard::Busy);
            }
        }
        match read_frame(&mut Within { stream: &self.stream, until: Instant::now() + PULSE })? {
            Some(Frame::Text(told)) => Ok(told),
            _ => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        }
    }

    /// Whether the helper answers at all: to what it does not understand it says so at once.
    fn has_pulse(&self) -> bool {
        if self.pid().is_some_and(belay_sys::is_stopped) {
            return false;
        }
        let Ok(Some(mut other)) = Resident::connect(&self.place, &self.name) else { return false };
        let asked = write_text(&mut other.stream, &json!({ "want": "pulse" }));
        // Another one that has the place by now is no sign of life of this one.
        asked.is_ok() && is_readable(&other.stream, PULSE).unwrap_or(false) && other.pid() == self.pid()
    }
}

/// What comes until a moment, and nothing after it: somebody who sends byte after byte keeps nobody waiting.
struct Within<'s> {
    stream: &'s UnixStream,
    until: Instant,
}

impl Read for Within<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match is_readable(self.stream, self.until.saturating_duration_since(Instant::now()))? {
            true => self.stream.read(buffer),
            false => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// Connects unless that would have to wait.
fn connect(path: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// Whether something comes in this time; the end counts.
fn is_readable(stream: &UnixStream, within: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + within;
    loop {
        let rest = deadline.saturating_duration_since(Instant::now());
        let is_ready = belay_sys::wait_readable(&[stream.as_fd()], rest)?[0];
        if is_ready || rest.is_zero() {
            return Ok(is_ready);
        }
    }
}

/// What a helper's socket is called: the directory's number, which whoever asks has at hand.
fn name_of(device: u64, inode: u64) -> String {
    format!("{device:x}-{inode:x}")
}

/// A path to the socket that its address holds, whatever belay's home is called; it lasts as long as the handle.
fn address(place: &Path, name: &str) -> io::Result<(Option<File>, PathBuf)> {
    let path = place.join(name);
    if path.as_os_str().len() <= ADDRESS_BYTES_MAX {
        return Ok((None, path));
    }
    // Whatever is there instead of a directory is not waited for.
    let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY;
    let flags = i32::try_from(flags.bits()).expect("a flag of the kernel fits");
    let held = File::options().read(true).custom_flags(flags).open(place)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}/{name}", held.as_raw_fd()));
    Ok((Some(held), path))
}

/// The lock that a helper holds while it lives.
pub(crate) fn lock_name(workspace: &str) -> String {
    format!("workspaces/{workspace}/helper.lock")
}

impl Workspace<'_> {
    /// Whether a helper would be of use here, and none is there or on its way.
    pub fn wants_helper(&self) -> Result<bool> {
        let is_wanted = self.settings.number("agents.helper_idle_seconds") > 0 && self.settings.disabled_by().is_none();
        if !is_wanted || !self.can_be_seen() {
            return Ok(false);
        }
        let lock = lock_name(&self.id);
        let free = self.home.disk().lock(&lock, LockMode::Exclusive, false).map_err(Error::disk("lock", &lock))?;
        Ok(free.is_some())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn whoever_listens_and_never_hears_keeps_nobody_waiting() {
        let place = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(place.path().join("1-1")).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let begun = Instant::now();
        let mut first = Resident::connect(place.path(), "1-1").unwrap().expect("somebody listens");
        assert!(matches!(Resident::connect(place.path(), "1-1"), Err(Unheard::Hangs(None))), "no more can wait");
        let letter =
            Letter { version: "1".into(), steering: String::new(), directory: Raw::from("/"), want: Want::Standing };
        assert!(matches!(first.ask(&letter), Err(Unheard::Hangs(Some(pid))) if pid == std::process::id()));
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        drop(listener);
        assert!(matches!(Resident::connect(place.path(), "1-1"), Ok(None)));
    }

    #[test]
    fn whoever_answers_byte_after_byte_keeps_nobody_waiting() {
        let place = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(place.path().join("1-1")).unwrap();
        let dripping = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let slow = |byte: u8| {
                std::thread::sleep(Duration::from_millis(100));
                io::Write::write_all(&mut stream, &[byte]).is_ok()
            };
            // The head of a long answer, and then as little of it as keeps the other side hoping.
            [1, 0, 0, 1, 0].into_iter().chain(std::iter::repeat_n(b' ', 200)).all(slow)
        });
        let begun = Instant::now();
        let mut resident = Resident::connect(place.path(), "1-1").unwrap().expect("somebody listens");
        let letter =
            Letter { version: "1".into(), steering: String::new(), directory: Raw::from("/"), want: Want::Standing };
        assert!(matches!(resident.ask(&letter), Err(Unheard::Broken(_))));
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        drop(resident);
        assert!(!dripping.join().unwrap(), "it was left alone");
    }

    #[test]
    fn what_is_no_directory_of_sockets_is_not_waited_for() {
        let base = tempfile::tempdir().unwrap();
        let place = base.path().join("x".repeat(120));
        let made = std::process::Command::new("mkfifo").arg(&place).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo is part of every system");
        assert!(matches!(Resident::connect(&place, "1-1"), Ok(None)));
        assert!(Resident::all(base.path()).is_empty());
    }
}
