//! Commands that are held before their first instruction, until somebody has looked at the files that they may destroy.
//!
//! Invariants: whoever is told of a held command has a key, and dropping it lets the command go; when the tracer ends for
//! whatever reason, nobody stays held; where the gate is before a program of the whole machine, who is not of the run is never held,
//! and nobody for longer than [`Holding::held_max`].

use std::fmt;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use belay_event::Raw;
use belay_sys::{Gate, GatePlan, Knock, Members};

use crate::ptrace::kin_of;

/// How long the keeper sleeps when nobody knocks.
const NAP: Duration = Duration::from_secs(60);

/// How often a gate that went is put up again: whoever stops the process that stands there does so on purpose.
const AGAIN_MAX: usize = 3;

/// Says of a process and the words that it executes whether it is meant.
pub type IsMeant = Arc<dyn Fn(u32, &[Raw]) -> bool + Send + Sync>;

/// What becomes of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateNews {
    /// This process of ours stands there.
    Stands(u32),
    /// It was stopped or killed, so that everybody was let in.
    Gone {
        /// The process that stood there.
        keeper: u32,
        /// Whether there is another already.
        again: bool,
    },
}

/// Which commands to hold, and whom to tell.
#[derive(Clone)]
pub struct Holding {
    /// The programs that are looked at where the kernel can be asked about some only, else every command is; the first has the
    /// name that they go by.
    pub programs: Vec<PathBuf>,
    /// Whether a process that executes these words is meant.
    pub is_meant: IsMeant,
    /// The name of the control group of whom to hold; without it the descendants of this process.
    pub group: Option<Vec<u8>>,
    /// How long a gate holds somebody whom nobody lets go.
    pub held_max: Duration,
    /// Takes what is held; it must not wait.
    pub tell: Arc<dyn Fn(Held) + Send + Sync>,
    /// Hears what becomes of a gate, if there is one; it must not wait.
    pub news: Arc<dyn Fn(GateNews) + Send + Sync>,
}

/// A command that is held; it goes on when this is dropped.
pub struct Held {
    /// Its process.
    pub pid: u32,
    /// Its words, if they can be read.
    pub argv: Option<Vec<Raw>>,
    /// Since when it is held; none if that is longer ago than anybody can tell.
    pub since: Option<Instant>,
    key: Box<dyn Send>,
}

impl Held {
    pub(crate) fn new(pid: u32, argv: Option<Vec<Raw>>, waited: Duration, key: impl Send + 'static) -> Held {
        Held { pid, argv, since: Instant::now().checked_sub(waited), key: Box::new(key) }
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
        let gate = open(&holding)?;
        let (ears, bell) = io::pipe()?;
        let thread = std::thread::Builder::new().name("belay-gate".into());
        let thread = thread.spawn(move || attend(gate, &ears, &holding))?;
        Ok(Keeper { bell: Some(bell), thread: Some(thread) })
    }
}

fn open(holding: &Holding) -> io::Result<Gate> {
    let members = match &holding.group {
        Some(name) => Members::Group(name.clone()),
        None => Members::Descendants(std::process::id()),
    };
    let plan = GatePlan { programs: holding.programs.clone(), members, held_max: holding.held_max };
    let gate = Gate::open(&plan)?;
    (holding.news)(GateNews::Stands(gate.keeper()));
    Ok(gate)
}

/// Hears who knocks, until the bell rings.
fn attend(mut gate: Gate, ears: &PipeReader, holding: &Holding) {
    let mut left = AGAIN_MAX;
    loop {
        let [line, keeper] = gate.as_fds();
        let rung = belay_sys::wait_readable(&[ears.as_fd(), line, keeper], NAP);
        if rung.is_ok_and(|rung| rung[0]) {
            return;
        }
        // Asked before the knocks are taken, so that the last ones of a gate that went are among them.
        let is_gone = gate.is_gone();
        gate.knocks().into_iter().for_each(|knock| consider(knock, holding));
        if is_gone {
            let another = if left > 0 { open(holding).ok() } else { None };
            left = left.saturating_sub(1);
            (holding.news)(GateNews::Gone { keeper: gate.keeper(), again: another.is_some() });
            match another {
                Some(another) => gate = another,
                None => return,
            }
        }
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
    // It is one of the programs, whatever it calls itself.
    let own = |words: Vec<Vec<u8>>| called(words.into_iter().map(Raw::from).collect(), holding.programs.first());
    let argv = knock.words().map(own);
    let pid = kin_of(knock.thread).map_or(knock.thread, |kin| kin.process);
    // Whose words cannot be read may be anything: it is of the run, or it would not have been told of, and perhaps it has gone on
    // already, because nobody listened for too long.
    if argv.as_deref().is_none_or(|argv| (holding.is_meant)(pid, argv)) {
        (holding.tell)(Held::new(pid, argv, knock.waited, knock));
    }
}

/// The words of a command, with the program's own name for one that it would not be known by.
pub(crate) fn called(mut argv: Vec<Raw>, program: Option<&PathBuf>) -> Vec<Raw> {
    let Some(own) = program.and_then(|program| program.file_name()).map(|name| name.as_bytes()) else { return argv };
    // By its name, or by that of one of its verbs.
    let is_own = |word: &Raw| {
        let name = word.bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        name.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"-"))
    };
    match argv.first_mut() {
        Some(first) if !is_own(first) => *first = Raw::from(own.to_vec()),
        Some(_) => {}
        None => argv.push(Raw::from(own.to_vec())),
    }
    argv
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_its_own_name_whatever_it_is_called() {
        let git = PathBuf::from("/usr/bin/git");
        let first = |words: &[&str]| {
            let argv = words.iter().map(|word| Raw::from(word.as_bytes())).collect();
            String::from_utf8_lossy(called(argv, Some(&git))[0].bytes()).into_owned()
        };
        assert_eq!(first(&["./xgit", "reset"]), "git");
        assert_eq!(first(&["gitty", "reset"]), "git");
        assert_eq!(first(&["/usr/bin/git", "reset"]), "/usr/bin/git");
        assert_eq!(first(&["/usr/lib/git-core/git-reset", "--hard"]), "/usr/lib/git-core/git-reset");
        assert_eq!(first(&[]), "git");
    }
}
