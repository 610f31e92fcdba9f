//! Commands that are held before their first instruction, until somebody has looked at the files that they may destroy.
//!
//! Invariants: whoever is told of a held command has the only key, and dropping it lets the command go; when the tracer ends for
//! whatever reason, nobody stays held.

use std::fmt;
use std::io::{self, PipeWriter};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use belay_event::Raw;
use belay_sys::{Gate, Knock};

use crate::ptrace::kin_of;

/// How long the keeper sleeps when nobody knocks.
const NAP: Duration = Duration::from_secs(60);

/// Says of a process and the words that it executes whether it is meant.
pub type IsMeant = Arc<dyn Fn(u32, &[Raw]) -> bool + Send + Sync>;

/// Which commands to hold, and whom to tell.
#[derive(Clone)]
pub struct Holding {
    /// The programs that are looked at where the kernel can be asked about some only; else every command is.
    pub programs: Vec<PathBuf>,
    /// Whether a process that executes these words is meant.
    pub is_meant: IsMeant,
    /// Takes what is held; it must not wait.
    pub tell: Arc<dyn Fn(Held) + Send + Sync>,
}

/// A command that is held; it goes on when this is dropped.
pub struct Held {
    /// Its process.
    pub pid: u32,
    /// Its words.
    pub argv: Vec<Raw>,
    key: Box<dyn Send>,
}

impl Held {
    pub(crate) fn new(pid: u32, argv: Vec<Raw>, key: impl Send + 'static) -> Held {
        Held { pid, argv, key: Box::new(key) }
    }

    /// Lets the command go.
    pub fn release(self) {
        drop(self.key);
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("pid", &self.pid).field("argv", &self.argv).finish_non_exhaustive()
    }
}

/// Stands at the gate of some programs: they are held while they are still being executed.
pub(crate) struct Keeper {
    bell: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Puts a gate before the programs; needs root.
    pub(crate) fn start(holding: Holding) -> io::Result<Keeper> {
        let gate = Gate::open()?;
        for program in &holding.programs {
            gate.guard(program)?;
        }
        let (ears, bell) = io::pipe()?;
        let thread = std::thread::Builder::new().name("belay-gate".into()).spawn(move || {
            loop {
                let rung = belay_sys::wait_readable(&[ears.as_fd(), gate.as_fd()], NAP);
                if rung.is_ok_and(|rung| rung[0]) {
                    return;
                }
                // A gate that cannot be read goes, and lets everybody in.
                let Ok(knocks) = gate.knocks() else { return };
                knocks.into_iter().for_each(|knock| consider(knock, &holding));
            }
        })?;
        Ok(Keeper { bell: Some(bell), thread: Some(thread) })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.bell.take());
        if let Some(thread) = self.thread.take() {
            // It panics only if somebody whom it tells does, and then that one knows.
            let _ = thread.join();
        }
    }
}

fn consider(knock: Knock, holding: &Holding) {
    let Some(words) = knock.words() else { return };
    let argv: Vec<Raw> = words.into_iter().map(Raw::from).collect();
    let pid = kin_of(knock.thread).map_or(knock.thread, |kin| kin.process);
    if (holding.is_meant)(pid, &argv) {
        (holding.tell)(Held::new(pid, argv, knock));
    }
}
