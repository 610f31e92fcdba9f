//! The run's side of its `control.sock`: who is connected, and who sees the terminal.
//!
//! A client that does not take what it is sent for too long is let go: it must not hold the run up.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::Wake;
use super::wire::{Answer, Frame, Request, read_frame, write_data, write_text};

/// Ctrl-C and Ctrl-backslash, as a terminal has them that no program has set up yet.
const END_KEYS: [u8; 2] = [0x03, 0x1c];

/// Room for what the kernel says of a process.
const STATUS_BYTES: usize = 8192;

/// A terminal that takes nothing for this long is given up.
const PATIENCE: Duration = Duration::from_secs(20);

/// Everybody who is connected.
#[derive(Clone)]
pub(super) struct Control {
    clients: Arc<Mutex<Vec<Client>>>,
    next: Arc<AtomicU64>,
    wakes: Sender<Wake>,
    /// Where keys go.
    terminal: Option<Arc<File>>,
    /// Set by whoever wants it stopped before the loop takes requests.
    stop: &'static AtomicBool,
    is_preparing: Arc<AtomicBool>,
}

struct Client {
    id: u64,
    stream: UnixStream,
    pid: Option<u32>,
    is_watching: bool,
}

/// A way to the socket that is short whatever belay's home is called, since the kernel takes 107 bytes; it lasts as
/// long as the handle.
pub(super) fn socket_in(dir: &Path) -> io::Result<(File, PathBuf)> {
    let held = File::open(dir)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}/control.sock", held.as_raw_fd()));
    Ok((held, path))
}

/// Whether whoever connects is not confined: where rules on paths alone are in force, this socket can be named inside.
///
/// A jail renounces new privileges and adds filters, for good; who has more of either than we is in one. Who is gone
/// already cannot be asked.
pub(crate) fn is_free(stream: &UnixStream) -> bool {
    let Ok(peer) = rustix::net::sockopt::socket_peercred(stream) else { return false };
    let (own, theirs) = (fetters("self"), fetters(&peer.pid.as_raw_nonzero().to_string()));
    matches!((own, theirs), (Some(own), Some(theirs)) if theirs[0] <= own[0] && theirs[1] <= own[1])
}

/// Whether new privileges are renounced, and how many filters there are.
fn fetters(process: &str) -> Option<[u64; 2]> {
    // It is shorter than this, and the kernel makes it anew for each read.
    let mut status = String::with_capacity(STATUS_BYTES);
    File::open(format!("/proc/{process}/status")).ok()?.read_to_string(&mut status).ok()?;
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    };
    Some([number("NoNewPrivs:"), number("Seccomp_filters:")])
}

/// Whether a request means that the run is to end.
fn is_end(request: &Request) -> bool {
    use rustix::process::Signal;
    match request {
        Request::Stop { .. } => true,
        Request::Signal(signal) => [Signal::INT, Signal::QUIT, Signal::TERM].iter().any(|one| one.as_raw() == *signal),
        _ => false,
    }
}

impl Control {
    pub(super) fn new(wakes: Sender<Wake>, terminal: Option<Arc<File>>, stop: &'static AtomicBool) -> Control {
        let is_preparing = Arc::new(AtomicBool::new(true));
        Control { clients: Arc::default(), next: Arc::new(AtomicU64::new(1)), wakes, terminal, stop, is_preparing }
    }

    /// From now on the loop answers; whether somebody wanted it stopped before.
    pub(super) fn end_preparing(&self) -> bool {
        self.is_preparing.store(false, Ordering::SeqCst);
        self.stop.load(Ordering::SeqCst)
    }

    /// Takes connections in the run's directory until the process ends.
    pub(super) fn listen(&self, dir: &Path) -> io::Result<()> {
        let (_held, path) = socket_in(dir)?;
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        let control = self.clone();
        std::thread::Builder::new().name("control".into()).spawn(move || {
            for stream in listener.incoming().flatten().filter(is_free) {
                // A connection that cannot be served is one that the other side finds closed.
                let _ = control.serve(stream);
            }
        })?;
        Ok(())
    }

    /// Serves one connection from now on.
    pub(super) fn serve(&self, stream: UnixStream) -> io::Result<()> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        stream.set_write_timeout(Some(PATIENCE))?;
        let pid = rustix::net::sockopt::socket_peercred(&stream).ok();
        let pid = pid.map(|peer| peer.pid.as_raw_nonzero().get().unsigned_abs());
        let mut reading = stream.try_clone()?;
        self.clients.lock().expect("no holder panics").push(Client { id, stream, pid, is_watching: false });
        let control = self.clone();
        std::thread::Builder::new().name("client".into()).spawn(move || {
            control.read(id, &mut reading);
            control.drop_client(id);
            let _ = control.wakes.send(Wake::Gone(id));
        })?;
        Ok(())
    }

    fn read(&self, id: u64, from: &mut UnixStream) {
        while let Ok(Some(frame)) = read_frame::<Request>(from) {
            match (frame, &self.terminal) {
                (Frame::Data(keys), Some(terminal)) => {
                    if keys.iter().any(|key| END_KEYS.contains(key)) && self.is_preparing.load(Ordering::SeqCst) {
                        self.stop.store(true, Ordering::SeqCst);
                    }
                    if (&**terminal).write_all(&keys).is_err() {
                        return;
                    }
                }
                (Frame::Data(_), None) => {}
                (Frame::Text(request), _) => {
                    if is_end(&request) && self.is_preparing.load(Ordering::SeqCst) {
                        // There is no command yet that it could be passed on to, and there will be none.
                        self.stop.store(true, Ordering::SeqCst);
                    }
                    if self.wakes.send(Wake::Request(id, request)).is_err() {
                        return;
                    }
                }
            }
        }
    }

    /// The process at the other end.
    pub(super) fn pid_of(&self, id: u64) -> Option<u32> {
        let clients = self.clients.lock().expect("no holder panics");
        clients.iter().find(|client| client.id == id).and_then(|client| client.pid)
    }

    /// Whether anybody is connected.
    pub(super) fn has_clients(&self) -> bool {
        !self.clients.lock().expect("no holder panics").is_empty()
    }

    /// Whether somebody sits at the terminal.
    pub(super) fn is_watched(&self) -> bool {
        self.clients.lock().expect("no holder panics").iter().any(|client| client.is_watching)
    }

    /// Shows a client the terminal from now on, beginning with `recent`.
    pub(super) fn show_terminal(&self, id: u64, recent: &[u8]) {
        let mut clients = self.clients.lock().expect("no holder panics");
        if let Some(client) = clients.iter_mut().find(|client| client.id == id) {
            client.is_watching = recent.is_empty() || write_data(&mut client.stream, recent).is_ok();
        }
    }

    /// Shows a client nothing from now on: it takes nothing.
    pub(super) fn look_away(&self, id: u64) {
        let mut clients = self.clients.lock().expect("no holder panics");
        clients.iter_mut().filter(|client| client.id == id).for_each(|client| client.is_watching = false);
    }

    /// Passes on what the terminal shows.
    pub(super) fn broadcast(&self, data: &[u8]) {
        let mut clients = self.clients.lock().expect("no holder panics");
        for client in clients.iter_mut().filter(|client| client.is_watching) {
            if write_data(&mut client.stream, data).is_err() {
                client.is_watching = false;
                let _ = client.stream.shutdown(std::net::Shutdown::Both);
            }
        }
    }

    /// Tells everybody who sits at the terminal that its program is stopped.
    pub(super) fn tell_stopped(&self) {
        let mut clients = self.clients.lock().expect("no holder panics");
        for client in clients.iter_mut().filter(|client| client.is_watching) {
            // If it is gone, its reader will say so.
            let _ = write_text(&mut client.stream, &Answer::Stopped);
        }
    }

    /// Tells one client something.
    pub(super) fn answer(&self, id: u64, answer: &Answer) {
        let mut clients = self.clients.lock().expect("no holder panics");
        if let Some(client) = clients.iter_mut().find(|client| client.id == id) {
            // If it is gone, its reader will say so.
            let _ = write_text(&mut client.stream, answer);
        }
    }

    /// Tells everybody something.
    pub(super) fn tell_all(&self, answer: &Answer) {
        let mut clients = self.clients.lock().expect("no holder panics");
        clients.iter_mut().for_each(|client| drop(write_text(&mut client.stream, answer)));
    }

    fn drop_client(&self, id: u64) {
        self.clients.lock().expect("no holder panics").retain(|client| client.id != id);
    }
}
