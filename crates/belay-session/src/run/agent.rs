//! What an agent may ask of the run that it is in, over `agent.sock`: a command line of belay's, as a line of JSON.
//!
//! Invariants: whoever asks is taken for an enemy: lines, answers, time and the number of clients are bounded; nothing
//! is carried out here, but by a process that decides for itself what an agent may do; one question at a time, beside
//! those that are given the connection itself and talk for as long as the client likes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use belay_event::Raw;
use serde::{Deserialize, Serialize};

use super::Wake;

/// The socket's name in a run's directory.
pub(super) const SOCKET: &str = "agent.sock";

/// Longer questions are nonsense, and not worth the memory.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// What of an answer's text is passed on; the rest is cut off and that is said.
const TEXT_BYTES_MAX: usize = 4 << 20;
const CLIENTS_MAX: usize = 8;
/// Conversations at a time: an agent and its helpers have one each.
const PIPES_MAX: usize = 16;
/// Questions of one run: an agent that asks more is in a loop.
const CALLS_MAX: u64 = 100_000;
/// How long one question may take.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(300);
/// How long a client may take to read its answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentCall {
    /// The words after `belay`.
    pub argv: Vec<Raw>,
    /// Where paths among them begin; the workspace if it is not in there.
    #[serde(default)]
    pub cwd: Raw,
    /// Whether the answer may be coloured.
    #[serde(default)]
    pub color: bool,
    /// Whether the rest of the connection is a conversation with whoever answers, once it says so.
    #[serde(default)]
    pub pipe: bool,
    /// No words, but a step that a hook of the agent told of: what changed is to be captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum AgentAnswer {
    /// What the command wrote, and its exit code.
    Done {
        /// The exit code.
        code: u8,
        /// Standard output.
        out: Raw,
        /// Standard error.
        err: Raw,
        /// Whether there was more than can be passed on.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
    },
    /// Nothing was done, and why.
    Refused(String),
    /// What follows on the connection is the conversation.
    Piped,
}

/// Makes the process that answers a question.
pub type Answerer = fn(run: &str, call: &AgentCall) -> Command;

/// Processes of ours that are none of the run's.
#[derive(Clone, Debug, Default)]
pub(super) struct Helpers(Arc<Mutex<Vec<u32>>>);

impl Helpers {
    pub(super) fn has(&self, pid: u32) -> bool {
        self.0.lock().expect("no holder panics").contains(&pid)
    }

    /// Takes one in.
    pub(super) fn add(&self, pid: u32) {
        self.change(|pids| pids.push(pid));
    }

    /// Forgets one that is gone.
    pub(super) fn remove(&self, pid: u32) {
        self.change(|pids| pids.retain(|other| *other != pid));
    }

    fn change(&self, change: impl FnOnce(&mut Vec<u32>)) {
        change(&mut self.0.lock().expect("no holder panics"));
    }
}

/// The side that answers.
struct Desk {
    run: String,
    answerer: Answerer,
    helpers: Helpers,
    clients: AtomicUsize,
    pipes: AtomicUsize,
    calls: AtomicU64,
    busy: Mutex<()>,
    wakes: Mutex<Sender<Wake>>,
}

/// Answers in the run's directory until the process ends.
pub(super) fn listen(
    dir: &Path,
    run: &str,
    (answerer, helpers): (Answerer, Helpers),
    owner: Option<(u32, u32)>,
    wakes: Sender<Wake>,
) -> io::Result<()> {
    let held = File::open(dir)?;
    let path = by_handle(&held);
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    if let Some((uid, gid)) = owner {
        // Whoever the command is, nobody else gets into the directory that it lies in.
        std::os::unix::fs::lchown(&path, Some(uid), Some(gid))?;
    }
    let desk = Arc::new(Desk {
        run: run.to_owned(),
        answerer,
        helpers,
        clients: AtomicUsize::new(0),
        pipes: AtomicUsize::new(0),
        calls: AtomicU64::new(0),
        busy: Mutex::new(()),
        wakes: Mutex::new(wakes),
    });
    std::thread::Builder::new().name("agent".into()).spawn(move || {
        for stream in listener.incoming().flatten() {
            receive(&desk, stream);
        }
    })?;
    Ok(())
}

/// A way to the socket that is short whatever belay's home is called, since the kernel takes 107 bytes.
fn by_handle(dir: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", dir.as_raw_fd()))
}

fn receive(desk: &Arc<Desk>, mut stream: UnixStream) {
    if stream.set_write_timeout(Some(PATIENCE)).is_err() {
        return;
    }
    if desk.clients.fetch_add(1, Ordering::SeqCst) >= CLIENTS_MAX {
        let _ = write_line(&mut stream, &AgentAnswer::Refused("too many others are asking".into()));
        desk.clients.fetch_sub(1, Ordering::SeqCst);
        return;
    }
    let own = Arc::clone(desk);
    let thread = std::thread::Builder::new().name("agent-client".into()).spawn(move || {
        // A client that is gone, or speaks nonsense, is let go.
        let _ = own.serve(stream);
        own.clients.fetch_sub(1, Ordering::SeqCst);
    });
    if thread.is_err() {
        desk.clients.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Desk {
    fn serve(&self, stream: UnixStream) -> io::Result<()> {
        let mut writing = stream.try_clone()?;
        let mut reading = BufReader::new(stream);
        loop {
            let call = match read_call(&mut reading) {
                Ok(Some(call)) => call,
                Ok(None) => return Ok(()),
                Err(error) => return write_line(&mut writing, &AgentAnswer::Refused(belay_sys::plain(error))),
            };
            if call.pipe {
                return match self.join(&call, &writing) {
                    Ok(()) => Ok(()),
                    Err(error) => write_line(&mut writing, &AgentAnswer::Refused(belay_sys::plain(error))),
                };
            }
            write_line(&mut writing, &self.answer(&call))?;
        }
    }

    /// Why a question is not even passed on.
    fn objection(&self, call: &AgentCall) -> Option<&'static str> {
        if self.calls.fetch_add(1, Ordering::SeqCst) >= CALLS_MAX {
            return Some("this run has asked too often");
        }
        // Words with a zero byte cannot be passed to a process.
        let is_torn = call.argv.iter().chain([&call.cwd]).any(|word| word.bytes().contains(&0));
        is_torn.then_some("a word holds a zero byte")
    }

    /// Gives the connection to a process that answers on it to its end; what the client said too early is lost.
    fn join(&self, call: &AgentCall, stream: &UnixStream) -> io::Result<()> {
        if let Some(why) = self.objection(call) {
            return Err(io::Error::other(why));
        }
        if self.pipes.fetch_add(1, Ordering::SeqCst) >= PIPES_MAX {
            self.pipes.fetch_sub(1, Ordering::SeqCst);
            return Err(io::Error::other("too many others are served"));
        }
        // A conversation does not count among those who ask, since it may last as long as the run.
        self.clients.fetch_sub(1, Ordering::SeqCst);
        let done = self.converse(call, stream);
        self.clients.fetch_add(1, Ordering::SeqCst);
        self.pipes.fetch_sub(1, Ordering::SeqCst);
        done
    }

    fn converse(&self, call: &AgentCall, stream: &UnixStream) -> io::Result<()> {
        stream.set_write_timeout(None)?;
        let mut command = (self.answerer)(&self.run, call);
        command.stdin(OwnedFd::from(stream.try_clone()?)).stdout(OwnedFd::from(stream.try_clone()?));
        let mut child = command.stderr(Stdio::null()).spawn()?;
        // It holds the connection open as long as it is there.
        drop(command);
        let pid = child.id();
        self.helpers.add(pid);
        let ended = child.wait();
        self.helpers.remove(pid);
        let _ = stream.shutdown(std::net::Shutdown::Both);
        ended.map(drop)
    }

    fn answer(&self, call: &AgentCall) -> AgentAnswer {
        if let Some(why) = self.objection(call) {
            return AgentAnswer::Refused(why.into());
        }
        if let Some(why) = &call.step {
            return self.step(why);
        }
        let _turn = self.busy.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let done = carry_out((self.answerer)(&self.run, call), &self.helpers);
        done.unwrap_or_else(|error| AgentAnswer::Refused(belay_sys::plain(error)))
    }
}

impl Desk {
    /// Has the run itself capture what changed, by what it saw.
    fn step(&self, why: &str) -> AgentAnswer {
        let (tell, told) = channel();
        let told_by = Box::new(move |done| drop(tell.send(done)));
        let wakes = self.wakes.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let asked = wakes.send(Wake::Step(why.to_owned(), told_by)).is_ok();
        match asked.then(|| told.recv_timeout(ANSWER_TIME_MAX)) {
            Some(Ok(Ok(()))) => AgentAnswer::Done { code: 0, out: Raw::default(), err: Raw::default(), cut: false },
            Some(Ok(Err(why))) => AgentAnswer::Refused(why),
            _ => AgentAnswer::Refused("the run is about to end".to_owned()),
        }
    }
}

/// Has a process answer, which is not one of the run's.
pub(super) fn carry_out(mut command: Command, helpers: &Helpers) -> io::Result<AgentAnswer> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let pid = child.id();
    helpers.add(pid);
    let heard = hear(&mut child);
    if heard.is_err() {
        // It is past its time, or nobody can hear it any more.
        let _ = child.kill();
    }
    let status = child.wait();
    helpers.remove(pid);
    let ([out, err], status) = (heard?, status?);
    let cut = out.len() >= TEXT_BYTES_MAX || err.len() >= TEXT_BYTES_MAX;
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX);
    Ok(AgentAnswer::Done { code, out: out.into(), err: err.into(), cut })
}

/// Both streams of a process to their ends, as far as they are passed on.
fn hear(child: &mut Child) -> io::Result<[Vec<u8>; 2]> {
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    let mut heard = [Vec::new(), Vec::new()];
    let deadline = Instant::now() + ANSWER_TIME_MAX;
    let mut buffer = vec![0; 64 << 10];
    while out.is_some() || err.is_some() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the answer takes too long"));
        }
        let open: Vec<_> = out.iter().map(AsFd::as_fd).chain(err.iter().map(AsFd::as_fd)).collect();
        let ready = belay_sys::wait_readable(&open, left)?;
        let (out_ready, err_ready) = match (out.is_some(), err.is_some()) {
            (true, true) => (ready[0], ready[1]),
            (is_out, _) => (is_out && ready[0], !is_out && ready[0]),
        };
        if out_ready && take(out.as_mut(), &mut buffer, &mut heard[0])? {
            out = None;
        }
        if err_ready && take(err.as_mut(), &mut buffer, &mut heard[1])? {
            err = None;
        }
    }
    Ok(heard)
}

/// Takes what is there; true at the end.
fn take(from: Option<&mut impl Read>, buffer: &mut [u8], to: &mut Vec<u8>) -> io::Result<bool> {
    let length = from.map_or(Ok(0), |from| from.read(buffer))?;
    let room = TEXT_BYTES_MAX - to.len();
    to.extend_from_slice(&buffer[..length.min(room)]);
    Ok(length == 0)
}

/// The next question; none at the end.
fn read_call(from: &mut impl BufRead) -> io::Result<Option<AgentCall>> {
    let mut line = Vec::new();
    from.take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(serde_json::from_slice(&line)?)),
        Some(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long, or has no end")),
    }
}

fn write_line(to: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    to.write_all(&line)
}

/// Asks the run whose socket this is; without an answer in time the run goes on with it all the same.
pub fn ask_run(socket: &Path, call: &AgentCall, patience: Option<Duration>) -> io::Result<AgentAnswer> {
    let mut line = Vec::new();
    let stream = put(socket, call)?;
    stream.set_read_timeout(patience)?;
    match BufReader::new(stream).read_until(b'\n', &mut line) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(io::ErrorKind::TimedOut.into()),
        read => {
            read?;
            Ok(serde_json::from_slice(&line)?)
        }
    }
}

/// Asks for a conversation; the answer is a refusal if there is no connection.
pub fn talk_to_run(socket: &Path, call: &AgentCall) -> io::Result<(AgentAnswer, Option<UnixStream>)> {
    let mut stream = put(socket, call)?;
    // Not a byte more than the line is taken, since the rest is for somebody else.
    let (mut line, mut byte) = (Vec::new(), [0]);
    while byte[0] != b'\n' && (line.len() as u64) < LINE_BYTES_MAX {
        stream.read_exact(&mut byte)?;
        line.push(byte[0]);
    }
    let answer = serde_json::from_slice(&line)?;
    let stream = (answer == AgentAnswer::Piped).then_some(stream);
    Ok((answer, stream))
}

fn put(socket: &Path, call: &AgentCall) -> io::Result<UnixStream> {
    let dir = socket.parent().ok_or(io::ErrorKind::InvalidInput)?;
    // Rules on paths may forbid to list the directory, but not to name it.
    let flags = i32::try_from(rustix::fs::OFlags::PATH.bits()).expect("a flag of the kernel fits");
    let held = File::options().read(true).custom_flags(flags).open(dir)?;
    let mut stream = UnixStream::connect(by_handle(&held))?;
    write_line(&mut stream, call)?;
    Ok(stream)
}

#[cfg(test)]
mod tests;
