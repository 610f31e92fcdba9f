//! Follows a process tree with ptrace, from a process of its own beside us.
//!
//! Invariants:
//! - a process halts only where it forks, executes, gets a signal or is stopped, and runs on at once with the same signal;
//! - an end is noted before its parent can learn of it;
//! - when the follower ends for whatever reason, the kernel lets everybody run on untraced: nobody stays halted.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use belay_event::Ended;
use belay_sys::Beside;
use belay_sys::ptrace::{Halt, Patience, halt_of_process, is_thread_of, listen, next_halt, reap, resume, seize};

use crate::hold::{Held, Holding, called};
use crate::table::{Image, Record};
use crate::unprivileged::queue::Queue;

mod image;

pub(crate) use image::kin_of;
use image::{Kin, Repose, read_image};

/// How often a request is repeated: a wake-up is lost when it comes just before the follower goes to sleep.
const REPEAT: Duration = Duration::from_micros(500);

/// How long somebody waits for the follower to have looked at everything; a tree that forks without end keeps it busy.
const CATCH_UP_MAX: Duration = Duration::from_secs(2);

/// How often the follower looks whether a command that is held may go.
const RELEASE_LOOK: Duration = Duration::from_micros(200);

/// The process that traces.
pub(crate) struct Follower {
    beside: Option<Beside>,
    /// Whether there is somebody to follow.
    follows: AtomicBool,
    orders: SyncSender<Order>,
    post: Arc<Post>,
}

/// A process to trace, and where to say whether it worked.
type Order = (u32, SyncSender<io::Result<()>>);

/// How the follower and its owner reach each other.
#[derive(Default)]
struct Post {
    leave: AtomicBool,
    asked: AtomicU64,
    answered: Mutex<u64>,
    changed: Condvar,
    holding: OnceLock<Holding>,
    /// The numbers of those who may go.
    released: Mutex<Vec<u64>>,
}

/// Lets a command go that was held.
struct Key {
    number: u64,
    post: Arc<Post>,
}

impl Drop for Key {
    fn drop(&mut self) {
        self.post.released.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
    }
}

impl Follower {
    /// Starts the process; it waits for an order.
    pub(crate) fn start(queue: Arc<Queue>) -> io::Result<Follower> {
        let post = Arc::new(Post::default());
        let (orders, inbox) = sync_channel(1);
        let theirs = Arc::clone(&post);
        let beside = Beside::start("belay-tracer", move || follow_orders(&inbox, &queue, &theirs))?;
        Ok(Follower { beside: Some(beside), follows: AtomicBool::new(false), orders, post })
    }

    /// The process that traces.
    pub(crate) fn pid(&self) -> u32 {
        self.beside.as_ref().map_or(0, Beside::pid)
    }

    /// Traces a process, and from then on everything that it starts.
    pub(crate) fn attach(&self, pid: u32) -> io::Result<()> {
        let (answer, answered) = sync_channel(1);
        let gone = || io::Error::other("the tracing process is gone");
        self.orders.send((pid, answer)).map_err(|_| gone())?;
        let seized = answered.recv().map_err(|_| gone())?;
        self.follows.store(seized.is_ok(), Ordering::SeqCst);
        seized
    }

    /// Holds some commands before their first instruction.
    pub(crate) fn hold(&self, holding: Holding) {
        // Whoever holds already goes on to do so.
        let _ = self.post.holding.set(holding);
    }

    /// Returns once everything that had happened is in the queue.
    pub(crate) fn catch_up(&self) {
        let Some(beside) = self.beside.as_ref().filter(|_| self.follows.load(Ordering::SeqCst)) else { return };
        let asked = self.post.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let start = Instant::now();
        let mut answered = self.post.answered.lock().unwrap_or_else(PoisonError::into_inner);
        while *answered < asked && !beside.ended() && start.elapsed() < CATCH_UP_MAX {
            beside.wake();
            let waited = self.post.changed.wait_timeout(answered, REPEAT);
            answered = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether the process ended without having seen the end of everybody.
    pub(crate) fn died(&self) -> bool {
        let ended = self.beside.as_ref().is_some_and(Beside::ended);
        ended && *self.post.answered.lock().unwrap_or_else(PoisonError::into_inner) != u64::MAX
    }

    /// Lets go of everybody.
    pub(crate) fn leave(&mut self) {
        let Some(beside) = self.beside.take() else { return };
        self.post.leave.store(true, Ordering::SeqCst);
        // Dropping the other end wakes a follower that never got an order.
        self.orders = sync_channel(1).0;
        while !beside.ended() {
            beside.wake();
            std::thread::sleep(REPEAT);
        }
        beside.join();
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.leave();
    }
}

fn follow_orders(inbox: &Receiver<Order>, queue: &Queue, post: &Arc<Post>) {
    if let Ok((pid, answer)) = inbox.recv() {
        let seized = seize(pid);
        let follow = seized.is_ok();
        if follow {
            queue.adopt(pid);
        }
        let _ = answer.send(seized);
        if follow {
            Tree::new(pid, queue, post).follow();
        }
    }
    answer(post, u64::MAX);
}

fn answer(post: &Post, number: u64) {
    *post.answered.lock().unwrap_or_else(PoisonError::into_inner) = number;
    post.changed.notify_all();
}

/// The living processes and threads.
struct Tree<'a> {
    queue: &'a Queue,
    post: &'a Arc<Post>,
    /// Each process with its parent.
    processes: HashMap<u32, u32>,
    /// Each further thread with its process.
    threads: HashMap<u32, u32>,
    /// Whose they all are, if they can be nobody else's.
    uid: Option<u32>,
    /// Processes that are held where they executed something, each with a number of its own and since when.
    held: HashMap<u32, (u64, Instant)>,
    /// How many were ever held.
    holds: u64,
    repose: Repose,
}

impl Tree<'_> {
    fn new<'a>(first: u32, queue: &'a Queue, post: &'a Arc<Post>) -> Tree<'a> {
        // A traced process cannot gain another user's rights unless its tracer has them.
        let uid = (!belay_sys::is_root()).then(belay_sys::user_id);
        let parent = kin_of(first).map_or(0, |kin| kin.parent);
        let (processes, threads) = (HashMap::from([(first, parent)]), HashMap::new());
        Tree { queue, post, processes, threads, uid, held: HashMap::new(), holds: 0, repose: Repose::default() }
    }

    fn follow(&mut self) {
        let (post, mut answered) = (self.post, 0);
        while !post.leave.load(Ordering::SeqCst) {
            let asked = post.asked.load(Ordering::SeqCst);
            let is_holding = !self.held.is_empty();
            let patience = if asked > answered || is_holding { Patience::Look } else { Patience::Wait };
            if is_holding {
                self.let_go();
            }
            match next_halt(patience) {
                Ok(Some((pid, halt))) => self.handle(pid, halt),
                Ok(None) if asked > answered => {
                    answered = asked;
                    answer(post, asked);
                }
                // A wake-up can be lost, and whoever is held must not wait for the next one.
                Ok(None) if is_holding => std::thread::sleep(RELEASE_LOOK),
                Ok(None) => {}
                // Nobody is left.
                Err(_) => return,
            }
        }
    }

    fn handle(&mut self, pid: u32, halt: Halt) {
        let signal = match halt {
            Halt::Made(newcomer) => {
                self.made(pid, newcomer);
                0
            }
            Halt::Executed => {
                if self.executed(pid) {
                    return;
                }
                0
            }
            Halt::Ready => {
                self.meet(pid);
                0
            }
            Halt::Signal(signal) => signal,
            // Whoever was killed meanwhile cannot be told anything, and its end is the next halt.
            Halt::Stopped => return listen(pid).unwrap_or(()),
            Halt::Exited(code) => return self.ended(pid, Ended::Code(code)),
            Halt::Killed(signal) => return self.ended(pid, Ended::Signal(signal)),
        };
        resume(pid, signal).unwrap_or(());
    }

    fn made(&mut self, pid: u32, newcomer: Option<u32>) {
        let Some(newcomer) = newcomer else { return };
        let process = self.process(pid);
        if self.knows(newcomer) {
            return;
        }
        if is_thread_of(newcomer, process) {
            self.threads.insert(newcomer, process);
        } else {
            self.begin(newcomer, process);
        }
    }

    /// A newcomer may halt before the halt of the one that made it is reported, or when that one was killed in between.
    fn meet(&mut self, pid: u32) {
        if self.knows(pid) {
            return;
        }
        match kin_of(pid) {
            Some(Kin { process, .. }) if process != pid => {
                self.threads.insert(pid, process);
            }
            kin => self.begin(pid, kin.map_or(0, |kin| kin.parent)),
        }
    }

    fn begin(&mut self, child: u32, parent: u32) {
        self.processes.insert(child, parent);
        self.queue.note(Record::Fork { at: belay_sys::boot_nanos(), parent, child });
    }

    /// Takes an exec in; says whether the process is held there.
    fn executed(&mut self, pid: u32) -> bool {
        // The other threads are gone, and the one that executed goes by the number of the process now.
        if !self.threads.is_empty() {
            self.threads.retain(|thread, process| *process != pid && *thread != pid);
        }
        let parent = self.processes.get(&pid).copied().filter(|parent| self.processes.contains_key(parent));
        let image = Box::new(read_image(pid, parent, self.uid));
        if let Some(parent) = parent.filter(|_| self.queue.minds_who_runs()) {
            self.let_rest(parent);
        }
        let is_held = self.hold(pid, &image);
        self.queue.note(Record::Exec { at: belay_sys::boot_nanos(), image });
        is_held
    }

    /// Holds the command if it is one of those; whoever is told hears of it before it is recorded.
    fn hold(&mut self, pid: u32, image: &Image) -> bool {
        let Some(holding) = self.post.holding.get() else { return false };
        let exe = Path::new(OsStr::from_bytes(image.exe.bytes()));
        let is_own = holding.programs.iter().any(|program| program == exe);
        let own = is_own.then(|| called(image.argv.clone(), holding.programs.first()));
        let argv = own.as_deref().unwrap_or(&image.argv);
        if !(holding.is_meant)(pid, argv) {
            return false;
        }
        self.holds += 1;
        self.held.insert(pid, (self.holds, Instant::now()));
        let key = Key { number: self.holds, post: Arc::clone(self.post) };
        (holding.tell)(Held::new(pid, Some(argv.to_vec()), Duration::ZERO, key));
        true
    }

    fn let_go(&mut self) {
        let released = std::mem::take(&mut *self.post.released.lock().unwrap_or_else(PoisonError::into_inner));
        let held_max = self.post.holding.get().map_or(Duration::ZERO, |holding| holding.held_max);
        // Whoever has the key may have been stopped.
        let is_over = |_: &u32, held: &mut (u64, Instant)| released.contains(&held.0) || held.1.elapsed() >= held_max;
        for (pid, _) in self.held.extract_if(is_over) {
            // One that was killed meanwhile needs no leave.
            resume(pid, 0).unwrap_or(());
        }
    }

    /// Waits a moment until a parent rests; it may still be halted where it made the child.
    fn let_rest(&mut self, parent: u32) {
        if let Some(halt @ Halt::Made(_)) = halt_of_process(parent) {
            self.handle(parent, halt);
        }
        self.repose.let_rest(parent);
    }

    fn ended(&mut self, pid: u32, ended: Ended) {
        self.held.remove(&pid);
        if self.threads.remove(&pid).is_none() && self.processes.remove(&pid).is_some() {
            self.queue.note(Record::Exit { at: belay_sys::boot_nanos(), pid, ended });
        }
        reap(pid);
    }

    fn process(&self, pid: u32) -> u32 {
        self.threads.get(&pid).copied().unwrap_or(pid)
    }

    fn knows(&self, pid: u32) -> bool {
        self.processes.contains_key(&pid) || self.threads.contains_key(&pid)
    }
}
