//! The tracer: prepared beside the first snapshot, attached to a held process, asked for what changed.

use std::sync::Arc;

use belay_event::{Degraded, ExecSource, FileSource};
use belay_sys::Root;
use belay_sys::fanotify::Queue;

use crate::error::{Error, Result};
use crate::hold::{Holding, Keeper};
use crate::options::{Dirty, Engine, Options, Sink};
use crate::privileged::{Privileged, shortcoming};
use crate::unprivileged::Unprivileged;

/// Watches until it is stopped.
pub struct Tracer {
    exec: ExecSource,
    files: FileSource,
    degraded: Vec<Degraded>,
    /// Whether somebody who is not on this machine, or a program in between, can change files unseen.
    remote: bool,
    means: Means,
    keeper: Option<Keeper>,
}

/// What does the watching.
enum Means {
    /// BPF and fanotify.
    Privileged(Privileged),
    /// ptrace and inotify.
    Unprivileged(Unprivileged),
}

/// What a tracer saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Commands.
    pub execs: u64,
    /// File changes.
    pub files: u64,
    /// Events that were lost and counted.
    pub lost: u64,
}

impl Tracer {
    /// Loads and marks whatever is needed; file changes are seen from here on.
    pub fn prepare(options: &Options, sink: Sink) -> Result<Tracer> {
        Tracer::prepare_naming(options, sink, |_| ())
    }

    /// The same, and says which process will trace as soon as that is known: what it is to trace can be born beside the rest.
    pub fn prepare_naming(options: &Options, sink: Sink, name: impl FnOnce(Option<u32>)) -> Result<Tracer> {
        let mut tracer = Tracer::best(options, sink, name)?;
        tracer.remote =
            Root::open(&options.workspace).and_then(|root| root.file_system()).is_ok_and(|on| on.is_remote());
        if tracer.remote && options.files {
            let why = "the workspace is on a network or FUSE file system, where files change unseen; every snapshot looks \
                       at the whole workspace";
            tracer.degraded.push(Degraded { layer: "files".into(), why: why.into() });
        }
        Ok(tracer)
    }

    fn best(options: &Options, sink: Sink, name: impl FnOnce(Option<u32>)) -> Result<Tracer> {
        let sink = Arc::new(sink);
        let mut degraded = Vec::new();
        if options.engine != Engine::Unprivileged {
            let theirs = Arc::clone(&sink);
            match Privileged::prepare(options, Box::new(move |events| theirs(events)), Queue::Unlimited) {
                Ok(tracer) => return Ok(Tracer::privileged(tracer)),
                Err(error) if options.engine == Engine::Privileged => return Err(error),
                // What an ordinary user misses is said with what is used instead.
                Err(error) if belay_sys::is_root() => degraded.push(shortcoming(&error)),
                Err(_) => {}
            }
        }
        let tracer = Unprivileged::prepare(options, Box::new(move |events| sink(events)), name)?;
        degraded.extend_from_slice(tracer.degraded());
        let exec = if options.exec { ExecSource::Ptrace } else { ExecSource::None };
        let files = if options.files { FileSource::Inotify } else { FileSource::None };
        Ok(Tracer { exec, files, degraded, remote: false, means: Means::Unprivileged(tracer), keeper: None })
    }

    fn privileged(tracer: Privileged) -> Tracer {
        let (exec, files) = (tracer.exec_source(), tracer.file_source());
        let degraded = tracer.degraded().to_vec();
        Tracer { exec, files, degraded, remote: false, means: Means::Privileged(tracer), keeper: None }
    }

    /// The process that will trace, if it is not ours: the held process calls `belay_sys::ptrace::allow_tracer` with it.
    pub fn tracer_pid(&self) -> Option<u32> {
        match &self.means {
            Means::Privileged(_) => None,
            Means::Unprivileged(tracer) => tracer.tracer_pid(),
        }
    }

    /// Watches the process, which is held before its first instruction, and everything that it starts.
    pub fn attach(&mut self, pid: u32) -> Result<()> {
        match &self.means {
            Means::Privileged(tracer) => tracer.attach(pid),
            Means::Unprivileged(tracer) => tracer.attach(pid),
        }
    }

    /// Holds some commands before their first instruction; asked for before a process is attached.
    pub fn hold(&mut self, holding: Holding) -> Result<()> {
        match &self.means {
            Means::Unprivileged(tracer) => tracer.hold(holding),
            Means::Privileged(_) => {
                let keeper = Keeper::start(holding);
                self.keeper = Some(keeper.map_err(|source| Error::Kernel { what: "hold commands", source })?);
            }
        }
        Ok(())
    }

    /// How commands are seen.
    pub fn exec_source(&self) -> ExecSource {
        self.exec
    }

    /// How file changes are seen.
    pub fn file_source(&self) -> FileSource {
        self.files
    }

    /// What is weaker than it could be, and why.
    pub fn degraded(&self) -> &[Degraded] {
        &self.degraded
    }

    /// What changed since the last call; every change that happened before this call is in it, or it is not complete.
    pub fn dirty(&self) -> Dirty {
        let dirty = match &self.means {
            Means::Privileged(tracer) => tracer.dirty(),
            Means::Unprivileged(tracer) => tracer.dirty(),
        };
        Dirty { complete: dirty.complete && !self.remote, ..dirty }
    }

    /// Hands over every change of a file that already happened, and what is known of commands; waits for nobody else.
    pub fn hand_over(&self) {
        match &self.means {
            Means::Privileged(tracer) => tracer.flush(),
            Means::Unprivileged(tracer) => tracer.hand_over(),
        }
    }

    /// Hands over every event that already happened; returns once the sink had them.
    pub fn flush(&self) {
        match &self.means {
            Means::Privileged(tracer) => tracer.flush(),
            Means::Unprivileged(tracer) => tracer.flush(),
        }
    }

    /// Hands over the last events and lets go of the processes.
    pub fn stop(self) -> Totals {
        match self.means {
            Means::Privileged(tracer) => tracer.stop(),
            Means::Unprivileged(tracer) => tracer.stop(),
        }
    }
}
