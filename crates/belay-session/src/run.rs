//! A run: one supervisor process that holds tracer, journal, terminal and snapshots, and one loop over what wakes it.
//!
//! - The record and the pre-run snapshot are durable before the command's first instruction; one that is held ends with us.
//! - The command is held until the tracer is attached, so that nothing runs unseen.
//! - Nobody holds the run up: snapshots are taken on a thread beside it, clients are let go when they stop listening.

mod agent;
mod captures;
mod client;
mod confine;
mod console;
mod control;
mod denials;
mod discarded;
mod gaps;
mod halt;
mod held;
mod journal;
mod links;
mod lost;
mod moves;
mod outskirts;
mod passers;
mod person;
mod progress;
mod record;
mod refusals;
mod repository;
mod seat;
mod sockets;
mod start;
mod steps;
mod still;
mod storm;
mod supervisor;
mod tally;
mod thrift;
mod tree;
mod unheld;
mod unseen;
mod wire;

use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use belay_event::{Event, Raw};

use crate::backend::BackendChoice;
use crate::config::Sources;
use crate::error::{Error, Result};
use crate::home::Home;
use crate::workspace::Workspace;

use supervisor::Supervisor;

pub use agent::{AgentAnswer, AgentCall, Answerer, ask_run, talk_to_run};
pub use client::{RunClient, inherited};
pub use confine::try_cgroup;
pub use confine::{Confinement, Den, Engine as ConfinementEngine, Reach};
pub(crate) use confine::{policy_at, shown_in_general};
pub(crate) use control::is_free;
pub use discarded::{Discarded, DiscardedPath};
pub(crate) use lost::CONTROLLER_LOST;
pub use lost::{LostRun, Outlived};
pub use person::Owner;
pub use record::{ProcessName, RunLimits, RunRecord, RunState, RunTotals, TerminalSize};
pub(crate) use still::Still;
pub(crate) use unheld::Unheld;
pub use wire::{Answer, Beyond, Deed, Farewell, Frame, Request, Step};
pub(crate) use wire::{read_frame, write_text};

/// Whatever wakes the loop.
enum Wake {
    /// Something happened in the run.
    Events(Vec<Event>),
    /// Something happened in a directory outside of the workspace that the run may write; which of them.
    Outside(usize, Vec<Event>),
    /// A client asks for something.
    Request(u64, Request),
    /// A client is gone.
    Gone(u64),
    /// The command ended, and these processes of it were ended with its jail.
    ChildExited(Vec<(u32, String)>),
    /// A signal stopped the command, at this time.
    ChildStopped(Instant),
    /// A command waits for a snapshot before its first instruction.
    Held(belay_trace::Held),
    /// Who holds commands for their snapshots stands there, or no more.
    Gate(belay_trace::GateNews),
    /// A jail refused a call.
    Refused(refusals::Refusal),
    /// What a storm deleted is back; or why not all of it.
    Undone(Option<String>),
    /// A snapshot was taken, or not.
    Taken(Box<captures::Done>),
    /// An agent in the run told of a step.
    Step(String, steps::Told),
}

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct RunPlan {
    /// The command and its arguments; none to watch only.
    pub argv: Vec<Vec<u8>>,
    /// Where to start it.
    pub cwd: Vec<u8>,
    /// A name for the run.
    pub label: Option<String>,
    /// Which standard streams are a terminal of belay's own.
    pub terminal: [bool; 3],
    /// The size of that terminal.
    pub size: Option<TerminalSize>,
    /// What it may use.
    pub limits: RunLimits,
    /// What it is confined to.
    pub confinement: Confinement,
    /// Where the content of its snapshots is to lie; without it, where the settings say.
    pub backend: Option<BackendChoice>,
}

/// What a supervisor is given by the process that it is.
pub struct Host {
    /// The environment of the command, `NAME=value`.
    pub env: Vec<Vec<u8>>,
    /// The connection to whoever started it.
    pub channel: Option<UnixStream>,
    /// What a jail is made from.
    pub den: Den,
    /// Who answers what a confined command asks; without it nobody does.
    pub answerer: Option<Answerer>,
    /// Set when the supervisor is to stop.
    pub stop: &'static AtomicBool,
}

impl Workspace<'_> {
    /// Records a run that is about to be started.
    pub fn create_run(&self, plan: &RunPlan) -> Result<RunRecord> {
        use std::os::unix::ffi::OsStrExt;
        let home = self.home();
        let _alone = self.claim_layer()?;
        // A backend that cannot be had is told before anything begins.
        self.backend(plan.backend)?;
        let record = RunRecord {
            id: home.options.ids.next("run_", 8),
            state: RunState::Created,
            workspace: self.id().to_owned(),
            root: Raw::from(self.path().as_os_str().as_bytes()),
            argv: plan.argv.iter().map(|word| Raw::from(word.as_slice())).collect(),
            cwd: Raw::from(plan.cwd.as_slice()),
            label: plan.label.clone(),
            terminal: plan.terminal,
            size: plan.size,
            limits: plan.limits,
            confinement: plan.confinement.clone(),
            backend: plan.backend.map(|choice| choice.name().to_owned()),
            created_at: home.options.clock.now(),
            started_at: None,
            ended_at: None,
            supervisor: record::ProcessName::of(std::process::id()),
            child: None,
            group: None,
            protection: None,
            pre_run: None,
            left_out: Vec::new(),
            final_snapshot: None,
            ended: None,
            because: None,
            totals: RunTotals::default(),
            discarded: None,
        };
        record.make_room(home.disk());
        // The supervisor makes it durable beside other work, before the command does anything.
        record.save(home.disk(), false)?;
        record.mark(home.disk())?;
        Ok(record)
    }
}

/// Leaves the session of whoever started this process, and its terminal.
pub fn lead_session() {
    // A group leader already is what this would make it.
    let _ = rustix::process::setsid();
}

/// Supervises the run of that id to its end; this process does nothing else.
pub fn supervise(home: &Home, sources: &Sources, id: &str, host: Host) -> Result<()> {
    lead_session();
    belay_sys::survive_terminal();
    let record = home.run(id)?;
    if !record.state.is_open() {
        return Err(Error::RunOver(record.id));
    }
    let workspace = home.workspace(&record.workspace, sources)?;
    let mut run = Supervisor::open(&workspace, record, host)?;
    let result = std::thread::scope(|scope| {
        run.take_snapshots_on(scope);
        let result = run.start().map(|()| {
            run.attend();
            run.settle();
        });
        run.stop_taking_snapshots();
        result
    });
    run.farewell(result)
}
