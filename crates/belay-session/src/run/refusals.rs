//! Calls that a jail refuses: answered at once, told once for each process and call; and what it hides, kept so.
//!
//! Invariant: whoever is refused never waits for us to write it down.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::mpsc::Sender;

use belay_event::{Degraded, Denied, Event, What};
use belay_jail::{Covers, Refusals};

use super::Wake;
use super::supervisor::Supervisor;
use crate::error::chain_of;

/// More different refusals than this are no news any more.
const TOLD_MAX: usize = 4_096;
/// Processes that are remembered.
const COMMANDS_MAX: usize = 100_000;
/// Whoever replaces what is hidden again and again is told of so often.
const MENDED_MAX: usize = 100;
const EPERM: i32 = rustix::io::Errno::PERM.raw_os_error();

/// The last command that each process was; one that ended may have been refused something just before.
#[derive(Default)]
pub(super) struct Commands(HashMap<u32, u64>);

impl Commands {
    /// Takes an event in.
    pub(super) fn observe(&mut self, event: &Event) {
        if let What::Exec(exec) = &event.what {
            if self.0.len() >= COMMANDS_MAX {
                self.0.clear();
            }
            self.0.insert(exec.pid, exec.command);
        }
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

/// A call that was refused.
pub(super) struct Refusal {
    pid: u32,
    call: &'static str,
}

/// Answers refused calls until nobody is left to be refused one.
pub(super) fn attend(refusals: Refusals, wakes: Sender<Wake>) -> std::io::Result<()> {
    std::thread::Builder::new().name("refusals".into()).spawn(move || {
        let mut told = HashSet::new();
        while let Ok(Some(refused)) = refusals.next() {
            // A caller that waits for its answer does not end meanwhile, so its number is its own.
            let pid = process_of(refused.thread);
            if refusals.answer(&refused, EPERM).is_err() {
                return;
            }
            let call = belay_jail::name_of_call(refused.number).unwrap_or("a call");
            if told.len() < TOLD_MAX && told.insert((pid, refused.number)) {
                // A loop that has ended needs no news.
                let _ = wakes.send(Wake::Refused(Refusal { pid, call }));
            }
        }
    })?;
    Ok(())
}

fn process_of(thread: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    group.and_then(|text| text.trim().parse().ok()).unwrap_or(thread)
}

impl Supervisor<'_> {
    /// Hides and protects again what somebody outside replaced; until then it stood open.
    pub(super) fn mend_covers(&mut self) {
        let Some(mending) = &mut self.mending else { return };
        let whys: Vec<String> = match mending.covers.mend() {
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
    pub(super) fn refused(&mut self, refusal: &Refusal) {
        // The tracer may not have told yet that the process became a command.
        self.catch_up();
        let command = self.commands.0.get(&refusal.pid).copied();
        let denied = Denied { call: refusal.call.to_owned(), path: None, errno: EPERM, pid: refusal.pid, command };
        self.happened(vec![self.event(What::Denied(denied))]);
    }
}
