//! Calls that a jail refuses: answered at once, told once for each process and call; and what it hides, kept so.
//!
//! Invariant: whoever is refused never waits for us to write it down.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::mpsc::Sender;

use belay_event::{At, Degraded, Denied, Ended, Event, Raw, What};
use belay_jail::{Covers, Refusals, is_refused, path_call};

use super::Wake;
use super::denials::{Foresight, Occasion, RefusedPath};
use super::supervisor::Supervisor;
use super::tally;
use crate::error::chain_of;

/// More different refusals than this are no news any more.
const TOLD_MAX: usize = 4_096;
/// Processes that are remembered.
const COMMANDS_MAX: usize = 100_000;
/// Commands that one process became, the last of them.
const COMMANDS_OF_PROCESS_MAX: usize = 4;
/// Commands whose words are remembered.
const WORDS_MAX: usize = 4_096;
/// Whoever replaces what is hidden again and again is told of so often.
const MENDED_MAX: usize = 100;
const EPERM: i32 = rustix::io::Errno::PERM.raw_os_error();

/// The last commands that each process was; one that ended may have been refused something just before.
#[derive(Default)]
pub(super) struct Commands {
    by_process: HashMap<u32, Vec<(At, u64)>>,
    words: BTreeMap<u64, Vec<Raw>>,
    succeeded: HashSet<u64>,
}

impl Commands {
    /// Takes an event in.
    pub(super) fn observe(&mut self, event: &Event) {
        if let What::Exit(exit) = &event.what
            && exit.ended == Ended::Code(0)
            && self.succeeded.len() < COMMANDS_MAX
        {
            self.succeeded.insert(exit.command);
        }
        let What::Exec(exec) = &event.what else { return };
        if self.by_process.len() >= COMMANDS_MAX {
            self.by_process.clear();
        }
        let known = self.by_process.entry(exec.pid).or_default();
        known.push((event.at, exec.command));
        if known.len() > COMMANDS_OF_PROCESS_MAX {
            known.remove(0);
        }
        self.words.insert(exec.command, tally::cut(&exec.argv));
        if self.words.len() > WORDS_MAX {
            self.words.pop_first();
        }
    }

    /// The command that a process was then, or that its parent was if it executed nothing itself.
    pub(super) fn of(&self, pid: u32, ppid: Option<u32>, at: At) -> Option<u64> {
        let known = self.by_process.get(&pid).or_else(|| self.by_process.get(&ppid?))?;
        let then = known.iter().rev().find(|(since, _)| *since <= at);
        then.or_else(|| known.first()).map(|(_, command)| *command)
    }

    /// The first command that a process was.
    pub(super) fn first_of(&self, pid: u32) -> Option<u64> {
        self.by_process.get(&pid).and_then(|known| known.first()).map(|(_, command)| *command)
    }

    /// Whether a command is not known to have ended well.
    pub(super) fn has_failed(&self, command: u64) -> bool {
        !self.succeeded.contains(&command)
    }

    /// The words of a command, if they are still known.
    pub(super) fn words(&self, command: u64) -> Vec<Raw> {
        self.words.get(&command).cloned().unwrap_or_default()
    }
}

/// What of a jail is mended while its command runs.
pub(super) struct Mending {
    covers: Covers,
    told: usize,
}

impl Mending {
    pub(super) fn new(covers: Covers) -> Mending {
        Mending { covers, told: 0 }
    }
}

fn reopened(path: &Path) -> String {
    let path = path.display();
    format!("{path} was replaced from outside, and stood open to the command until it was covered again")
}

/// A call that was refused, or will be refused a path.
pub(super) struct Refusal {
    pid: u32,
    ppid: Option<u32>,
    call: &'static str,
    path: Option<RefusedPath>,
}

/// Answers refused calls until nobody is left to be refused one; with foresight, those that name a path are looked at.
pub(super) fn attend(refusals: Refusals, wakes: Sender<Wake>, mut foresight: Option<Foresight>) -> std::io::Result<()> {
    std::thread::Builder::new().name("refusals".into()).spawn(move || {
        let mut told = HashSet::new();
        while let Ok(Some(refused)) = refusals.next() {
            if let Some(foresight) = foresight.as_mut().filter(|_| !is_refused(refused.number, &refused.arguments)) {
                let paths = foresight.refused(&refused);
                let (pid, ppid) = if paths.is_empty() { (refused.thread, None) } else { kin_of(refused.thread) };
                if refusals.let_pass(&refused).is_err() {
                    return;
                }
                let call = path_call(refused.number).map_or("a call", |call| call.name);
                for path in paths {
                    let _ = wakes.send(Wake::Refused(Refusal { pid, ppid, call, path: Some(path) }));
                }
                continue;
            }
            // A caller that waits for its answer does not end meanwhile, so its number is its own.
            let (pid, ppid) = kin_of(refused.thread);
            if refusals.answer(&refused, EPERM).is_err() {
                return;
            }
            let call = belay_jail::name_of_call(refused.number).unwrap_or("a call");
            if told.len() < TOLD_MAX && told.insert((pid, refused.number)) {
                // A loop that has ended needs no news.
                let _ = wakes.send(Wake::Refused(Refusal { pid, ppid, call, path: None }));
            }
        }
    })?;
    Ok(())
}

/// The process of a thread, and the parent of that.
fn kin_of(thread: u32) -> (u32, Option<u32>) {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    (field("Tgid:").unwrap_or(thread), field("PPid:"))
}

impl Supervisor<'_> {
    /// Hides and protects again what somebody outside replaced; until then it stood open.
    ///
    /// Files with names elsewhere are looked at some at a time, unless all of them are asked for: there may be many.
    pub(super) fn mend_covers(&mut self, all: bool) {
        let Some(mending) = &mut self.mending else { return };
        let mended = if all { mending.covers.mend_all() } else { mending.covers.mend() };
        let whys: Vec<String> = match mended {
            Ok(replaced) => replaced.iter().map(|path| reopened(path)).collect(),
            Err(error) => {
                vec![format!("what was replaced from outside stands open to the command: {}", chain_of(&error))]
            }
        };
        let room = MENDED_MAX.saturating_sub(mending.told);
        mending.told += whys.len();
        let degraded = |why| What::Degraded(Degraded { layer: "jail".into(), why });
        let events: Vec<Event> = whys.into_iter().take(room).map(|why| self.event(degraded(why))).collect();
        if !events.is_empty() {
            self.happened(events);
        }
    }

    /// Writes down what was refused, with the command that it happened to.
    pub(super) fn refused(&mut self, refusal: Refusal) {
        // The tracer may not have told yet that the process became a command.
        self.catch_up();
        let Refusal { pid, ppid, call, path } = refusal;
        if let Some(path) = path {
            return self.denied(&Occasion { call, pid, ppid, at: None }, path);
        }
        let command = self.commands.of(pid, ppid, self.now());
        let denied = Denied {
            call: call.to_owned(),
            path: None,
            errno: EPERM,
            pid,
            command,
            wanted: None,
            closed: None,
            absent: false,
            count: 1,
        };
        self.happened(vec![self.event(What::Denied(denied))]);
    }
}
