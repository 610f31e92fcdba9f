//! The helper's own side: who it answers, what it checks before it does, and when it ends.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use belay_event::{FileSource, Raw};
use belay_store::{LockMode, Quiet};
use belay_sys::inotify::Inotify;

use super::{Letter, PLACE, Standing, Told, Want, address, lock_name, name_of};
use crate::config::Sources;
use crate::error::{Error, Result, chain};
use crate::eyes::Eyes;
use crate::home::Home;
use crate::run::{Frame, is_free, read_frame, write_text};
use crate::trust::{OwnWord, own_word};
use crate::workspace::{Work, Workspace};

/// Whoever connects and says nothing for so long is let go.
const SILENCE: Duration = Duration::from_secs(5);

/// What a helper is given by the process that it is.
pub struct Residence<'a> {
    /// Belay's home.
    pub home: &'a Home,
    /// The workspace's identifier.
    pub workspace: &'a str,
    /// Reads the configuration as it is now.
    pub sources: &'a (dyn Fn() -> Option<Sources> + Sync),
    /// Its version.
    pub version: &'a str,
    /// What steers it, to be compared with what steers whoever asks.
    pub steering: &'a str,
    /// The program that it is, which may be replaced by another version.
    pub program: Option<PathBuf>,
    /// Set when it is to end.
    pub stop: &'a AtomicBool,
}

/// Answers until nobody needs it any more; returns at once if another one does already.
pub fn reside(residence: &Residence<'_>) -> Result<()> {
    let home = residence.home;
    let lock = lock_name(residence.workspace);
    let held = home.disk().lock(&lock, LockMode::Exclusive, false).map_err(Error::disk("lock", &lock))?;
    let Some(_held) = held else { return Ok(()) };
    let Some(sources) = (residence.sources)() else { return Ok(()) };
    let workspace = home.workspace(residence.workspace, &sources)?;
    let eyes = open_eyes(&workspace);
    let helper = Helper::new(residence, workspace, eyes, sources)?;
    let (listener, departure) = (helper.listen()?, departure(&helper.path, &home.path().join("store")));
    std::thread::scope(|scope| {
        scope.spawn(|| helper.look_first());
        helper.attend(scope, &listener, departure.as_ref());
        // Whoever is still waiting to be heard finds the connection closed, and helps itself.
        let _ = fs::remove_file(&helper.socket);
        drop(listener);
    });
    Ok(())
}

/// Eyes that see everything; those that do not would only use up what others need to see.
fn open_eyes(workspace: &Workspace<'_>) -> Option<Arc<Eyes>> {
    let eyes = Eyes::open(workspace.path()).ok()?;
    eyes.sees_all().then(|| Arc::new(eyes))
}

/// Tells when the workspace or the store is removed or moved away.
fn departure(workspace: &Path, store: &Path) -> Option<Inotify> {
    let inotify = Inotify::new().ok()?;
    // What cannot be watched is noticed with the next letter.
    [workspace, store].into_iter().for_each(|path| drop(inotify.watch_departures(path)));
    Some(inotify)
}

/// A file or directory, by its number.
type Number = (u64, u64);

fn number(path: &Path) -> Option<Number> {
    fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

struct Helper<'a> {
    residence: &'a Residence<'a>,
    path: PathBuf,
    place: Option<Number>,
    store: Option<Number>,
    program: Option<Number>,
    socket: PathBuf,
    eyes: Option<Arc<Eyes>>,
    open: Mutex<Open<'a>>,
    idle: AtomicU64,
    answered: AtomicU64,
    busy: AtomicU64,
    last: Mutex<Instant>,
    over: AtomicBool,
    bell: belay_sys::Bell,
}

/// The workspace as it was opened, and by what configuration.
struct Open<'a> {
    workspace: Arc<Workspace<'a>>,
    sources: Sources,
    own: OwnWord,
}

impl<'a> Helper<'a> {
    fn new(
        residence: &'a Residence<'a>,
        workspace: Workspace<'a>,
        eyes: Option<Arc<Eyes>>,
        sources: Sources,
    ) -> Result<Helper<'a>> {
        let own = own_word(residence.home, workspace.id(), workspace.root())?;
        let (path, idle) = (workspace.path().to_owned(), workspace.settings().number("agents.helper_idle_seconds"));
        let place = number(&path);
        let (device, inode) = place.ok_or_else(|| Error::NoWorkspace(path.clone()))?;
        let workspace = Arc::new(seen(workspace, eyes.as_ref()));
        Ok(Helper {
            residence,
            store: number(&residence.home.path().join("store")),
            program: residence.program.as_deref().and_then(number),
            socket: residence.home.path().join(PLACE).join(name_of(device, inode)),
            place,
            path,
            eyes,
            open: Mutex::new(Open { workspace, sources, own }),
            idle: AtomicU64::new(idle),
            answered: AtomicU64::new(0),
            busy: AtomicU64::new(0),
            last: Mutex::new(Instant::now()),
            over: AtomicBool::new(false),
            bell: belay_sys::Bell::new().map_err(Error::run("wait for letters"))?,
        })
    }

    /// A socket that only its user reaches; one that a killed helper left is no longer anybody's.
    fn listen(&self) -> Result<UnixListener> {
        let bind = || -> io::Result<UnixListener> {
            let place = self.residence.home.path().join(PLACE);
            DirBuilder::new().mode(0o700).recursive(true).create(&place)?;
            let name = self.socket.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let (_held, path) = address(&place, name)?;
            let _ = fs::remove_file(&path);
            let listener = UnixListener::bind(&path)?;
            fs::set_permissions(&path, Permissions::from_mode(0o600))?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        bind().map_err(Error::run("listen for letters"))
    }

    /// Learns what the files are like before anybody asks.
    fn look_first(&self) {
        if let (Ok(workspace), Some(_)) = (self.workspace(), &self.eyes) {
            let work = Work { progress: &Quiet, stop: self.residence.stop };
            // Whoever asks first looks again.
            let _ = workspace.present(work);
        }
    }

    fn attend<'s>(&'s self, scope: &'s std::thread::Scope<'s, '_>, listener: &UnixListener, gone: Option<&Inotify>) {
        while !self.over.load(Ordering::SeqCst) && !self.residence.stop.load(Ordering::SeqCst) {
            let mut waited: Vec<_> = vec![self.bell.as_fd(), listener.as_fd()];
            waited.extend(gone.map(AsFd::as_fd));
            let Ok(ready) = belay_sys::wait_readable(&waited, self.rest()) else { return };
            while let Ok((stream, _)) = listener.accept() {
                self.busy.fetch_add(1, Ordering::SeqCst);
                scope.spawn(move || {
                    // A connection that breaks is one whose other end helps itself.
                    let _ = self.answer(stream);
                    *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
                    self.busy.fetch_sub(1, Ordering::SeqCst);
                    // The time until it is idle begins anew.
                    self.bell.ring();
                });
            }
            self.bell.hush();
            if ready.get(2) == Some(&true) {
                // What it was does not matter, only whether everything is still in its place.
                let _ = gone.map(|gone| gone.drain(&mut Vec::new()));
                if !self.is_at_home() {
                    return;
                }
            }
            if self.rest().is_zero() {
                return;
            }
        }
    }

    /// How long it may still be idle.
    fn rest(&self) -> Duration {
        let idle = Duration::from_secs(self.idle.load(Ordering::SeqCst));
        if self.busy.load(Ordering::SeqCst) > 0 {
            return idle.max(Duration::from_secs(1));
        }
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        idle.saturating_sub(last.elapsed())
    }

    fn leave(&self) {
        self.over.store(true, Ordering::SeqCst);
        self.bell.ring();
    }

    /// Whether the directory and the store are where they were.
    fn is_at_home(&self) -> bool {
        number(&self.path) == self.place && number(&self.residence.home.path().join("store")) == self.store
    }

    fn answer(&self, mut stream: UnixStream) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        if !is_free(&stream) {
            return Ok(());
        }
        while let Some(Frame::Text(said)) = read_frame::<serde_json::Value>(&mut stream)? {
            let told = self.consider(said);
            let leaves = matches!(told, Told::Leaving) || self.over.load(Ordering::SeqCst);
            self.answered.fetch_add(1, Ordering::SeqCst);
            write_text(&mut stream, &told)?;
            if leaves {
                self.leave();
                return Ok(());
            }
        }
        Ok(())
    }

    /// What to say to a letter, which may be from another version.
    fn consider(&self, said: serde_json::Value) -> Told {
        let version = said.get("version").and_then(serde_json::Value::as_str).unwrap_or_default();
        if version != self.residence.version {
            if is_newer(version, self.residence.version) {
                self.leave();
            }
            return Told::Yourself(format!("the helper is of version {}", self.residence.version));
        }
        if self.program != self.residence.program.as_deref().and_then(number) {
            self.leave();
            return Told::Yourself("belay was installed anew since the helper began".to_owned());
        }
        if !self.is_at_home() {
            self.leave();
            return Told::Yourself("the workspace or the store is no longer where it was".to_owned());
        }
        match serde_json::from_value::<Letter>(said) {
            Ok(Letter { want: Want::Leave, .. }) => Told::Leaving,
            Ok(Letter { want: Want::Standing, .. }) => Told::Standing(self.standing()),
            Ok(letter) => self.carry_out(&letter).unwrap_or_else(|error| Told::Yourself(chain(&error))),
            Err(error) => Told::Yourself(error.to_string()),
        }
    }

    fn carry_out(&self, letter: &Letter) -> Result<Told> {
        if letter.steering != self.residence.steering {
            return Ok(Told::Yourself("the helper is steered by another configuration".to_owned()));
        }
        let workspace = self.workspace()?;
        let directory = Path::new(std::ffi::OsStr::from_bytes(letter.directory.bytes()));
        if self.residence.home.holder(directory)?.as_deref() != Some(workspace.id()) {
            return Ok(Told::Yourself("the directory is of another workspace".to_owned()));
        }
        let Want::Hear(word) = &letter.want else { return Ok(Told::Leaving) };
        workspace.hear(word, Work { progress: &Quiet, stop: self.residence.stop })?;
        Ok(Told::Done)
    }

    /// The workspace, opened anew if its configuration is another by now.
    fn workspace(&self) -> Result<Arc<Workspace<'a>>> {
        let home = self.residence.home;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let id = open.workspace.id().to_owned();
        let own = own_word(home, &id, open.workspace.root())?;
        let Some(sources) = (self.residence.sources)() else { return Err(Error::NoWorkspace(self.path.clone())) };
        if open.sources != sources || open.own != own {
            let workspace = seen(home.workspace(&id, &sources)?, self.eyes.as_ref());
            self.idle.store(workspace.settings().number("agents.helper_idle_seconds"), Ordering::SeqCst);
            *open = Open { workspace: Arc::new(workspace), sources, own };
        }
        Ok(Arc::clone(&open.workspace))
    }

    fn standing(&self) -> Standing {
        let files = self.eyes.as_ref().map_or(FileSource::None, |eyes| eyes.source());
        Standing {
            pid: std::process::id(),
            version: self.residence.version.to_owned(),
            workspace: self.residence.workspace.to_owned(),
            path: Raw::from(self.path.as_os_str().as_bytes()),
            files: files.name().to_owned(),
            answered: self.answered.load(Ordering::SeqCst),
            idle_seconds: self.idle.load(Ordering::SeqCst),
        }
    }
}

fn seen<'h>(workspace: Workspace<'h>, eyes: Option<&Arc<Eyes>>) -> Workspace<'h> {
    match eyes {
        Some(eyes) => workspace.seen_by(Arc::clone(eyes)),
        None => workspace,
    }
}

/// Whether the first version is younger than the second; what is no version is older than any.
fn is_newer(one: &str, other: &str) -> bool {
    let parts =
        |version: &str| -> Vec<u64> { version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect() };
    parts(one) > parts(other)
}

#[cfg(test)]
mod tests {
    use super::is_newer;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(is_newer("0.10.0", "0.9.9") && is_newer("1.0.0", "0.9.9"));
        assert!(!is_newer("0.9.9", "0.10.0") && !is_newer("0.1.0", "0.1.0") && !is_newer("what", "0.1.0"));
    }
}
