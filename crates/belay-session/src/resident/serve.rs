//! The helper's own side: who it answers, what it checks before it does, and when it ends.
//!
//! One thread takes letters. If nothing changed since the latest snapshot it says so at once; what the agent told is kept
//! in the inbox before that, and written down after it. Everything else waits its turn behind what was told before, and is
//! answered when its snapshot is durable, or at once that it takes long.

mod desk;

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use belay_event::{FileSource, Raw};
use belay_store::{LockMode, Quiet};
use belay_sys::inotify::Inotify;
use serde_json::Value;

use self::desk::{Desk, Job};
use super::inbox::Inbox;
use super::{Letter, PLACE, Standing, Told, Want, address, is_readable, lock_name, name_of};
use crate::config::Sources;
use crate::error::{Error, Result, chain};
use crate::eyes::{Eyes, Sight, number};
use crate::home::Home;
use crate::run::{Frame, is_free, read_frame, write_text};
use crate::trust::{OwnWord, own_word};
use crate::workspace::{Work, Workspace};

/// Whoever connects and does not say what it wants in this time is let go: others wait behind it.
const SILENCE: Duration = Duration::from_millis(200);

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
    // Another one may have been killed before it had written down what it was told.
    workspace.take_up_held(Work { progress: &Quiet, stop: residence.stop })?;
    let sight = open_eyes(&workspace);
    let helper = Helper::new(residence, workspace, sight, sources)?;
    let (listener, departure) = (helper.listen()?, departure(&helper.path, &home.path().join("store")));
    let desk = Desk::new(residence.stop, &helper.bell, &helper.inbox).map_err(Error::run("wait for letters"))?;
    std::thread::scope(|scope| {
        let jobs = desk.open(scope, helper.sight.get());
        helper.attend(&listener, departure.as_ref(), &desk, jobs);
        // Whoever is still waiting to be heard finds the connection closed, and helps itself.
        let _ = fs::remove_file(&helper.socket);
        drop(listener);
    });
    helper.inbox.close();
    Ok(())
}

/// Eyes that see everything; those that do not would only use up what others need to see.
fn open_eyes(workspace: &Workspace<'_>) -> Sight {
    let eyes = Eyes::open(workspace.path()).ok().filter(Eyes::sees_all);
    Arc::new(eyes.map(OnceLock::from).unwrap_or_default())
}

/// Tells when the workspace or the store is removed or moved away.
fn departure(workspace: &Path, store: &Path) -> Option<Inotify> {
    let inotify = Inotify::new().ok()?;
    // What cannot be watched is noticed with the next letter.
    [workspace, store].into_iter().for_each(|path| drop(inotify.watch_departures(path)));
    Some(inotify)
}

struct Helper<'a> {
    residence: &'a Residence<'a>,
    path: PathBuf,
    place: Option<(u64, u64)>,
    store: Option<(u64, u64)>,
    program: Option<(u64, u64)>,
    socket: PathBuf,
    sight: Sight,
    open: Mutex<Open<'a>>,
    idle: AtomicU64,
    answered: AtomicU64,
    over: AtomicBool,
    bell: belay_sys::Bell,
    inbox: Inbox<'a>,
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
        sight: Sight,
        sources: Sources,
    ) -> Result<Helper<'a>> {
        let own = own_word(residence.home, workspace.id(), workspace.root())?;
        let (path, idle) = (workspace.path().to_owned(), workspace.settings().number("agents.helper_idle_seconds"));
        let place = number(&path);
        let (device, inode) = place.ok_or_else(|| Error::NoWorkspace(path.clone()))?;
        let workspace = Arc::new(workspace.seen_by(Arc::clone(&sight)));
        Ok(Helper {
            residence,
            store: number(&residence.home.path().join("store")),
            program: residence.program.as_deref().and_then(number),
            socket: residence.home.path().join(PLACE).join(name_of(device, inode)),
            place,
            path,
            sight,
            open: Mutex::new(Open { workspace, sources, own }),
            idle: AtomicU64::new(idle),
            answered: AtomicU64::new(0),
            over: AtomicBool::new(false),
            bell: belay_sys::Bell::new().map_err(Error::run("wait for letters"))?,
            inbox: Inbox::new(residence.home.disk(), residence.workspace),
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

    fn attend(&self, listener: &UnixListener, gone: Option<&Inotify>, desk: &Desk<'_>, jobs: Sender<Job<'a>>) {
        if let (Ok(workspace), Some(_)) = (self.workspace(), self.sight.get()) {
            // It learns what the files are like before anybody asks.
            desk.take(&jobs, Job::first_look(workspace));
        }
        let mut last = Instant::now();
        while !self.over.load(Ordering::SeqCst) && !self.residence.stop.load(Ordering::SeqCst) {
            let mut waited: Vec<_> = vec![self.bell.as_fd(), listener.as_fd()];
            waited.extend(gone.map(AsFd::as_fd));
            let idle = Duration::from_secs(self.idle.load(Ordering::SeqCst));
            let rest = idle.saturating_sub(last.elapsed());
            let Ok(ready) = belay_sys::wait_readable(&waited, if desk.is_busy() { idle } else { rest }) else { return };
            while let Ok((stream, _)) = listener.accept() {
                last = Instant::now();
                // A connection that breaks is one whose other end helps itself.
                let _ = self.receive(stream, desk, &jobs);
            }
            if ready[0] {
                self.bell.hush();
                last = Instant::now();
            }
            if ready.get(2) == Some(&true) {
                // What it was does not matter, only whether everything is still in its place.
                let _ = gone.map(|gone| gone.drain(&mut Vec::new()));
                if !self.is_at_home() {
                    return;
                }
            }
            if !desk.is_busy() && last.elapsed() >= idle {
                return;
            }
        }
    }

    fn leave(&self) {
        self.over.store(true, Ordering::SeqCst);
    }

    /// Whether the directory and the store are where they were.
    fn is_at_home(&self) -> bool {
        number(&self.path) == self.place && number(&self.residence.home.path().join("store")) == self.store
    }

    /// Takes a letter, and answers it unless the answer takes work.
    fn receive(&self, mut stream: UnixStream, desk: &Desk<'_>, jobs: &Sender<Job<'a>>) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        if !is_free(&stream) {
            return Ok(());
        }
        let Some(Frame::Text(said)) = read_frame::<Value>(&mut stream)? else { return Ok(()) };
        // Whoever has hung up does it without us, which is how it goes on if we were stopped for a while.
        if is_readable(&stream, Duration::ZERO)? {
            return Ok(());
        }
        self.answered.fetch_add(1, Ordering::SeqCst);
        let letter = match self.consider(said) {
            Ok(letter) => letter,
            Err(told) => return write_text(&mut stream, &told),
        };
        match self.begin(letter) {
            Ok((workspace, mut word)) if !desk.is_taking() && desk::is_nothing_new(&workspace, &word) => {
                // So that it is known again if it has to be taken up after us.
                word.key.get_or_insert_with(|| self.residence.home.options.ids.next("told_", 12));
                let Ok(number) = self.inbox.keep(&word) else {
                    desk.take(jobs, Job::asked(workspace, word, stream));
                    return Ok(());
                };
                let answered = write_text(&mut stream, &Told::Done);
                desk.take(jobs, Job::told(workspace, word, number));
                answered
            }
            Ok((workspace, word)) if desk.is_slow() => {
                // What it waits for was not there in time for another hook, and that one has said so.
                desk.take(jobs, Job::late(workspace, word));
                write_text(&mut stream, &Told::Later)
            }
            Ok((workspace, word)) => {
                desk.take(jobs, Job::asked(workspace, word, stream));
                Ok(())
            }
            Err(why) => write_text(&mut stream, &Told::Yourself(why)),
        }
    }

    /// The letter, which may be from another version, if it is for us to carry out; else what to say to it.
    fn consider(&self, said: Value) -> std::result::Result<Letter, Told> {
        let text = |name: &str| said.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("want") {
            "leave" => {
                self.leave();
                return Err(Told::Leaving);
            }
            "standing" => return Err(Told::Standing(Box::new(self.standing()))),
            _ => {}
        }
        let version = text("version");
        if version != self.residence.version {
            if is_newer(version, self.residence.version) {
                self.leave();
            }
            return Err(Told::Yourself(format!("the helper is of version {}", self.residence.version)));
        }
        if self.program != self.residence.program.as_deref().and_then(number) {
            self.leave();
            return Err(Told::Yourself("belay was installed anew since the helper began".to_owned()));
        }
        if !self.is_at_home() {
            self.leave();
            return Err(Told::Yourself("the workspace or the store is no longer where it was".to_owned()));
        }
        serde_json::from_value(said).map_err(|error| Told::Yourself(error.to_string()))
    }

    /// The workspace that a letter is about and what an agent told; or why somebody else has to do it.
    fn begin(&self, letter: Letter) -> std::result::Result<(Arc<Workspace<'a>>, crate::agent::AgentWord), String> {
        if letter.steering != self.residence.steering {
            return Err("the helper is steered by another configuration".to_owned());
        }
        let workspace = self.workspace().map_err(|error| chain(&error))?;
        let directory = Path::new(std::ffi::OsStr::from_bytes(letter.directory.bytes()));
        let holder = self.residence.home.holder(directory).map_err(|error| chain(&error))?;
        match letter.want {
            Want::Hear(word) if workspace.has_news(&word) => Err("there is something to tell the agent".to_owned()),
            // Whoever finishes it tells of it, and a helper has nobody to tell.
            Want::Hear(_) if workspace.has_intent() => Err("a rollback is not finished".to_owned()),
            Want::Hear(word) if holder.as_deref() == Some(workspace.id()) => Ok((workspace, word)),
            _ => Err("the directory is of another workspace".to_owned()),
        }
    }

    /// The workspace, opened anew if its configuration is another by now.
    fn workspace(&self) -> Result<Arc<Workspace<'a>>> {
        let home = self.residence.home;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let id = open.workspace.id().to_owned();
        let own = own_word(home, &id, open.workspace.root())?;
        let Some(sources) = (self.residence.sources)() else { return Err(Error::NoWorkspace(self.path.clone())) };
        if open.sources != sources || open.own != own {
            let workspace = home.workspace(&id, &sources)?.seen_by(Arc::clone(&self.sight));
            self.idle.store(workspace.settings().number("agents.helper_idle_seconds"), Ordering::SeqCst);
            *open = Open { workspace: Arc::new(workspace), sources, own };
        }
        Ok(Arc::clone(&open.workspace))
    }

    /// How many paths changed since the latest snapshot; unknown where that was taken by somebody else, or files were put back
    /// since: what belay itself did is among what was seen then.
    fn changed(&self) -> Option<u64> {
        let seen = self.sight.get()?.look();
        let timeline = self.workspace().and_then(|workspace| workspace.timeline()).ok()?;
        let latest = timeline.latest()?;
        let is_since = seen.since.as_ref().is_some_and(|(base, _)| base.key == latest.manifest);
        let is_rewound = timeline.rewinds().last().is_some_and(|rewind| rewind.at >= latest.created_at);
        if is_since && !is_rewound { seen.changed() } else { None }
    }

    fn standing(&self) -> Standing {
        let files = self.sight.get().map_or(FileSource::None, Eyes::source);
        Standing {
            pid: std::process::id(),
            version: self.residence.version.to_owned(),
            workspace: self.residence.workspace.to_owned(),
            path: Raw::from(self.path.as_os_str().as_bytes()),
            files: files.name().to_owned(),
            changed: self.changed(),
            answered: self.answered.load(Ordering::SeqCst),
            idle_seconds: self.idle.load(Ordering::SeqCst),
        }
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
