//! Between a person's terminal and a run: keys go in, what the run shows comes out, signals are passed on.
//!
//! The terminal hands on every key while the run is attached and this process is in its foreground; it gets its old
//! mode back whatever happens.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use belay_session::event::{Decision, Storm};
use belay_session::{
    Answer, Farewell, Frame, RawMode, Request, RunClient, RunRecord, Step, TerminalSize, catch_signals, is_foreground,
    is_hung_up, suspend_job, suspend_self, terminal_size, wait_readable,
};

/// Ctrl-], which detaches when it is typed three times in a row.
pub(crate) const DETACH_KEY: u8 = 0x1d;
const DETACH_COUNT: usize = 3;

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGQUIT: i32 = 3;
const SIGUSR1: i32 = 10;
const SIGUSR2: i32 = 12;
const SIGTERM: i32 = 15;
const SIGCONT: i32 = 18;
const SIGTSTP: i32 = 20;
const SIGWINCH: i32 = 28;

/// How a connection to a run ended.
pub(crate) enum Outcome {
    /// The run is over.
    Ended(Box<Farewell>),
    /// The person left, or the terminal did; the run goes on.
    Detached,
    /// The run is gone without a word.
    Lost,
}

/// What becomes of the signals that ask this process to end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endings {
    /// They are meant for the command: this process stands for it.
    PassOn,
    /// They end the visit, and the run goes on.
    Leave,
}

/// What a run tells beside what it shows.
pub(crate) enum News<'a> {
    /// The snapshot before its command, or behind it, is so much further.
    Progress(Step),
    /// Its command begins.
    Started(&'a RunRecord),
    /// Many paths were deleted at once; somebody who has keys may decide what becomes of that.
    Storm(&'a Storm, bool),
}

/// Which parts of a terminal a run is shown at.
pub(crate) struct Screen {
    keys: Option<OwnedFd>,
    shown: Option<Shown>,
}

#[derive(Clone, Copy)]
enum Shown {
    Out,
    Err,
}

impl Screen {
    /// The terminal that this process has; none of it where it has none.
    pub(crate) fn find() -> Screen {
        let shown = match (io::stdout().is_terminal(), io::stderr().is_terminal()) {
            (true, _) => Some(Shown::Out),
            (false, true) => Some(Shown::Err),
            (false, false) => None,
        };
        let keys = match io::stdin().is_terminal() {
            true => io::stdin().as_fd().try_clone_to_owned().ok(),
            // `echo x | belay run -- less`: the program reads its keys from the terminal all the same.
            false if shown.is_some() => File::options().read(true).write(true).open("/dev/tty").ok().map(OwnedFd::from),
            false => None,
        };
        Screen { keys, shown }
    }

    /// No terminal at all.
    pub(crate) fn none() -> Screen {
        Screen { keys: None, shown: None }
    }

    /// Which of a command's streams should be a terminal of the run's own: those that are one here.
    pub(crate) fn streams(&self) -> [bool; 3] {
        let is = [io::stdin().is_terminal(), io::stdout().is_terminal(), io::stderr().is_terminal()];
        // A terminal at one end only is handed through: a pipeline or a file is at the other.
        let wanted = is[1] || (is[0] && is[2]);
        is.map(|is| is && wanted)
    }

    /// How large it is.
    pub(crate) fn size(&self) -> Option<TerminalSize> {
        let found = self.keys.as_ref().and_then(terminal_size).or_else(|| terminal_size(io::stdout()));
        found.map(|size| TerminalSize { rows: size.rows, columns: size.columns })
    }
}

/// What the threads of a relay share.
#[derive(Default)]
struct Shared {
    raw: Mutex<Option<RawMode>>,
    detached: AtomicBool,
    /// Whether keys are no longer for the run.
    is_done: AtomicBool,
    /// Whether the next key is a decision.
    is_asked: AtomicBool,
}

/// Connects this process with a run until one of them leaves; `hear` is told when the command begins and when something is to be decided.
pub(crate) fn relay(
    mut client: RunClient,
    screen: &Screen,
    endings: Endings,
    hear: &mut dyn FnMut(News<'_>),
) -> io::Result<Outcome> {
    let shared = Arc::new(Shared::default());
    let mut caught = vec![SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH];
    if screen.keys.is_none() {
        // Nobody types at a terminal of the run's own: what the shell sends us is meant for the command.
        caught.push(SIGTSTP);
    }
    let signals = catch_signals(&caught)?;
    pass_signals(signals, client.another()?, Arc::clone(&shared), screen.keys_clone()?, endings);
    if let Some(keys) = screen.keys_clone()? {
        // With a pipe at standard output, whoever is at its other end may write to this terminal as well.
        let is_shared = !matches!(screen.shown, Some(Shown::Out));
        pass_keys(keys, is_shared, client.another()?, Arc::clone(&shared));
    }
    let outcome = show(&mut client, screen, hear, &shared);
    // Not dropped before: whatever the run shows at its end is meant for the mode that it set up.
    shared.raw.lock().expect("no holder panics").take();
    outcome
}

impl Screen {
    fn keys_clone(&self) -> io::Result<Option<OwnedFd>> {
        self.keys.as_ref().map(OwnedFd::try_clone).transpose()
    }
}

fn show(
    client: &mut RunClient,
    screen: &Screen,
    hear: &mut dyn FnMut(News<'_>),
    shared: &Shared,
) -> io::Result<Outcome> {
    loop {
        match client.hear() {
            Ok(Some(Frame::Data(data))) => {
                // A terminal that is gone is noticed by its hangup.
                let _ = match screen.shown {
                    Some(Shown::Out) => io::stdout().write_all(&data).and_then(|()| io::stdout().flush()),
                    Some(Shown::Err) => io::stderr().write_all(&data),
                    None => Ok(()),
                };
            }
            Ok(Some(Frame::Text(Answer::Progress(step)))) => hear(News::Progress(step)),
            Ok(Some(Frame::Text(Answer::Started(record)))) => hear(News::Started(&record)),
            Ok(Some(Frame::Text(Answer::Storm(storm)))) => {
                let is_question = storm.decision == Decision::Held && screen.keys.is_some();
                shared.is_asked.store(is_question, Ordering::SeqCst);
                hear(News::Storm(&storm, is_question));
            }
            // A connection that ended meanwhile is found closed by the next look.
            Ok(Some(Frame::Text(Answer::Stopped))) => drop(suspend(client, screen, shared)),
            Ok(Some(Frame::Text(Answer::Finishing))) => shared.is_done.store(true, Ordering::SeqCst),
            Ok(Some(Frame::Text(Answer::Ended(farewell)))) => return Ok(Outcome::Ended(farewell)),
            Ok(Some(Frame::Text(_))) => {}
            Ok(None) | Err(_) if shared.detached.load(Ordering::SeqCst) => return Ok(Outcome::Detached),
            Ok(None) | Err(_) => return Ok(Outcome::Lost),
        }
    }
}

/// Stops with the command, so that the shell comes back, and lets it go on when the shell lets us.
fn suspend(client: &mut RunClient, screen: &Screen, shared: &Shared) -> io::Result<()> {
    if !screen.keys.as_ref().is_some_and(is_foreground) {
        // Nobody typed that here.
        return Ok(());
    }
    client.ask(&Request::Away)?;
    {
        // Held, so that nobody switches the terminal while the shell has it.
        let mut raw = shared.raw.lock().expect("no holder panics");
        raw.take();
        suspend_job();
    }
    client.ask(&Request::Resume(screen.size().unwrap_or_default()))
}

/// Asks everybody in the list to stop when a signal asks this process to end.
pub(crate) fn stop_on_signals(mut signals: File, clients: Arc<Mutex<Vec<RunClient>>>) {
    thread::spawn(move || {
        let mut byte = [0];
        while signals.read_exact(&mut byte).is_ok() {
            if i32::from(byte[0]) == SIGHUP {
                std::process::exit(0);
            }
            let mut clients = clients.lock().expect("no holder panics");
            clients.iter_mut().for_each(|client| drop(client.ask(&Request::Stop { now: false })));
        }
    });
}

/// Passes signals on to the run; a hangup leaves it alone.
fn pass_signals(
    mut signals: File,
    mut client: RunClient,
    shared: Arc<Shared>,
    keys: Option<OwnedFd>,
    endings: Endings,
) {
    thread::spawn(move || {
        let mut byte = [0];
        while signals.read_exact(&mut byte).is_ok() {
            let sent = match i32::from(byte[0]) {
                SIGINT | SIGQUIT | SIGTERM if endings == Endings::Leave => {
                    detach(&shared, &client);
                    return;
                }
                SIGHUP => {
                    detach(&shared, &client);
                    return;
                }
                // A shell whose terminal closes asks its stopped jobs to end as well.
                SIGTERM if keys.as_ref().is_some_and(is_hung_up) => {
                    detach(&shared, &client);
                    return;
                }
                SIGWINCH => match keys.as_ref().and_then(terminal_size) {
                    Some(size) => client.ask(&Request::Resize(TerminalSize { rows: size.rows, columns: size.columns })),
                    None => Ok(()),
                },
                SIGTSTP => client.ask(&Request::Signal(SIGTSTP)).and_then(|()| {
                    suspend_self();
                    client.ask(&Request::Signal(SIGCONT))
                }),
                signal => client.ask(&Request::Signal(signal)),
            };
            if sent.is_err() {
                return;
            }
        }
    });
}

/// Passes keys on to the run while this process is in the foreground.
fn pass_keys(keys: OwnedFd, is_shared: bool, mut client: RunClient, shared: Arc<Shared>) {
    const LOOK_EVERY: Duration = Duration::from_millis(100);
    thread::spawn(move || {
        let mut source = File::from(keys);
        let mut buffer = [0; 4096];
        let mut in_a_row = 0;
        loop {
            if !is_foreground(&source) {
                shared.raw.lock().expect("no holder panics").take();
                thread::sleep(LOOK_EVERY);
                continue;
            }
            {
                let mut raw = shared.raw.lock().expect("no holder panics");
                if raw.is_none() {
                    *raw = RawMode::enter(&source, is_shared).ok();
                }
            }
            match wait_readable(&[source.as_fd()], LOOK_EVERY) {
                // What is typed from now on is meant for whoever comes after the run.
                _ if shared.is_done.load(Ordering::SeqCst) => return,
                Ok(ready) if ready[0] => {}
                Ok(_) => continue,
                Err(_) => return,
            }
            let length = match source.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(length) => length,
            };
            if shared.is_asked.load(Ordering::SeqCst) {
                if let Some(decision) = buffer[..length].iter().find_map(|key| decision(*key)) {
                    shared.is_asked.store(false, Ordering::SeqCst);
                    if client.ask(&Request::Decide(decision)).is_err() {
                        return;
                    }
                }
                continue;
            }
            in_a_row = detach_keys(in_a_row, &buffer[..length]);
            if in_a_row >= DETACH_COUNT {
                detach(&shared, &client);
                return;
            }
            if client.type_keys(&buffer[..length]).is_err() {
                return;
            }
        }
    });
}

/// The keys that decide about a storm of deletions.
fn decision(key: u8) -> Option<Decision> {
    match key.to_ascii_lowercase() {
        b'a' => Some(Decision::Allowed),
        b'u' => Some(Decision::Undone),
        b's' => Some(Decision::Stopped),
        _ => None,
    }
}

/// How many detach keys in a row were typed last.
fn detach_keys(before: usize, keys: &[u8]) -> usize {
    keys.iter().fold(before, |count, key| match *key {
        _ if count >= DETACH_COUNT => count,
        DETACH_KEY => count + 1,
        _ => 0,
    })
}

fn detach(shared: &Shared, client: &RunClient) {
    shared.detached.store(true, Ordering::SeqCst);
    client.hang_up();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_detach_keys_in_a_row_detach() {
        assert_eq!(detach_keys(0, b"\x1d\x1d"), 2);
        assert_eq!(detach_keys(2, b"\x1d"), 3);
        assert_eq!(detach_keys(2, b"x\x1d"), 1);
        assert_eq!(detach_keys(0, b"\x1d\x1d\x1dx"), 3);
    }
}
