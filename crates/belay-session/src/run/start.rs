//! The beginning of a run: snapshot, tracer and journal side by side, then the command, held until all is in place.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use belay_event::{Degraded, Ended, ExecSource, FileSource, Isolation, Protection, RunStarted, What};
use belay_jail::Access;
use belay_sys::{Launch, Process, Turn};
use belay_trace::{Engine, Options, Tracer};
use rustix::fs::FileType;

use super::captures::{Done, Job};
use super::confine::{self, Command, Engine as Confiner, HeldCommand};
use super::denials::{self, Watch};
use super::discarded::Private;
use super::links::{Ahead, Links, Names, Rules};
use super::person::{Owner, told_of_stranger};
use super::progress::Telling;
use super::record::{ProcessName, RunRecord, RunState};
use super::repository::Ways;
use super::supervisor::Supervisor;
use super::tree::{self, Tree};
use super::wire::Answer;
use super::{Unheld, Wake, console, journal, outskirts, refusals};
use crate::error::{Error, Result};
use crate::guard::Guard;
use crate::reasons::Reasons;
use crate::workspace::Work;

/// The standard streams of the command.
pub(super) struct Streams([OwnedFd; 3]);

impl Streams {
    /// Our own streams, or a new terminal, whose other end is returned; we ourselves let go of ours.
    pub(super) fn open(record: &RunRecord, dir: &Path) -> io::Result<(Streams, Option<Arc<File>>)> {
        let size = record.size.map(|size| belay_sys::Size { rows: size.rows, columns: size.columns });
        let pty = record.terminal.contains(&true).then(|| belay_sys::open_pty(size.unwrap_or_default())).transpose()?;
        let own = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
        let stream = |at: usize| match &pty {
            Some(pty) if record.terminal[at] => pty.slave.try_clone(),
            // Not every descriptor that a process is born with is open.
            _ => own[at].try_clone_to_owned().or_else(|_| File::open("/dev/null").map(OwnedFd::from)),
        };
        let streams = Streams([stream(0)?, stream(1)?, stream(2)?]);
        if let Some(pty) = &pty {
            // The command shares our session, or keys could not stop it; without a session there is no job control.
            let _ = belay_sys::take_terminal(&pty.slave);
        }
        // Whoever waits for the end of a pipe waits for the command, not for us.
        let null = File::options().read(true).write(true).open("/dev/null")?;
        let log = File::options().create(true).append(true).mode(0o600).open(dir.join("supervisor.log"))?;
        rustix::stdio::dup2_stdin(&null)?;
        rustix::stdio::dup2_stdout(&null)?;
        rustix::stdio::dup2_stderr(&log)?;
        Ok((streams, pty.map(|pty| Arc::new(pty.master))))
    }

    /// Lets somebody else open them by their names, as `/dev/stderr`: a terminal of ours, and pipes, which are root's.
    fn give_to(&self, owner: &Owner, terminal: [bool; 3]) {
        let (uid, gid) = owner.numbers();
        for (stream, is_ours) in self.0.iter().zip(terminal) {
            let is_pipe = rustix::fs::fstat(stream)
                .is_ok_and(|found| found.st_uid == 0 && FileType::from_raw_mode(found.st_mode) == FileType::Fifo);
            if is_ours || is_pipe {
                // It can be used by its number all the same.
                let _ = std::os::unix::fs::fchown(stream, Some(uid), Some(gid));
            }
        }
    }

    fn copies(&self) -> io::Result<[OwnedFd; 3]> {
        Ok([self.0[0].try_clone()?, self.0[1].try_clone()?, self.0[2].try_clone()?])
    }

    fn as_fds(&self) -> [BorrowedFd<'_>; 3] {
        [self.0[0].as_fd(), self.0[1].as_fd(), self.0[2].as_fd()]
    }
}

/// What a command is born with.
struct Child<'a> {
    argv: &'a [Vec<u8>],
    env: &'a [Vec<u8>],
    streams: &'a Streams,
    /// Who will trace it, if that is not us.
    tracer: Option<u32>,
}

/// A command that was born, and what fell short.
struct Born {
    held: HeldCommand,
    isolation: Isolation,
    degraded: Vec<Degraded>,
    confined: Option<Confined>,
}

/// What is known of a jail.
struct Confined {
    reasons: Reasons,
    /// Whether calls that name paths wait for us.
    asks_first: bool,
    /// Whether what is written to the workspace is kept apart.
    is_apart: bool,
    /// The directories beside it that can be written.
    outskirts: Vec<PathBuf>,
    /// What the command must not make or change, and no mount can hold.
    unheld: Vec<Unheld>,
}

impl Rules for Reasons {
    fn opens(&self, path: &Path) -> bool {
        self.is_named(path)
    }

    fn opens_within(&self, path: &Path) -> bool {
        self.is_named_within(path)
    }

    fn is_flagged(&self, path: &Path) -> bool {
        self.has_flag(path)
    }

    fn access(&self, path: &Path) -> Access {
        self.rules_say(path)
    }

    fn guarded(&self) -> Vec<(PathBuf, Access)> {
        self.inside()
            .filter(|(_, access)| *access != Access::Write)
            .map(|(path, access)| (path.to_owned(), access))
            .collect()
    }
}

impl Supervisor<'_> {
    /// Everything until the command's first instruction.
    pub(super) fn start(&mut self) -> Result<()> {
        let mut degraded = Vec::new();
        let tree = match self.record.is_watch() {
            true => None,
            false => {
                let home = self.workspace.home();
                let is_over = |run: &str| home.run(run).is_ok_and(|run| !run.state.is_open());
                Some(Tree::prepare(&self.record.id, self.record.limits, &is_over, &mut degraded))
            }
        };
        let born = self.prepare(tree.as_ref(), &mut degraded)?;
        self.record.group = tree.as_ref().and_then(Tree::group_path).map(|path| path.as_os_str().as_bytes().into());
        let (held, isolation) = match (&tree, born) {
            (Some(tree), Some(born)) => {
                let isolation = born.isolation;
                (Some(self.follow(tree, born, &mut degraded)?), isolation)
            }
            _ => (None, Isolation::None),
        };
        self.record.protection = Some(self.protection(isolation, tree.as_ref(), degraded));
        let tracer = self.tracer.as_ref().and_then(Tracer::tracer_pid);
        self.tree = tree.map(|tree| tree.sparing(tracer, self.helpers.clone()));
        // From here on it is the command that is stopped.
        if self.control.end_preparing() {
            return Err(Error::RunInterrupted);
        }
        self.announce_start()?;
        // Told before the command shows anything, so that it does not find a word of ours on its screen.
        self.control.tell_all(&Answer::Started(Box::new(self.record.clone())));
        self.release(held)
    }

    /// The pre-run snapshot, the tracer, the journal and the birth of the command take their time beside each other.
    fn prepare(&mut self, tree: Option<&Tree>, degraded: &mut Vec<Degraded>) -> Result<Option<Born>> {
        let settings = self.workspace.settings();
        let options = self.watching(tree);
        let wakes = self.wakes.clone();
        // A loop that has ended needs no events.
        let sink = Box::new(move |events| drop(wakes.send(Wake::Events(events))));
        let mut ask = self.triggers.before_run();
        // What is kept apart harms nothing: its snapshot is taken beside the run, however large the workspace is.
        let later = ask.take_if(|_| self.record.confinement.ephemeral);
        let cradle = tree.map(|tree| (tree, self.streams.take().expect("streams are opened once and used once")));
        let (workspace, record, this) = (self.workspace, &self.record, &*self);
        let progress = Telling::new(self.control.clone(), record.terminal.contains(&true));
        let work = Work { progress: &progress, stop: self.stop };
        let watches = tree.is_some() && self.watches_by_kernel();
        let looks =
            tree.is_some() && record.confinement.engine != Confiner::None && ask.is_some() && !workspace.is_layered();
        let (tracer, journal, taken, born, denials, ahead) = std::thread::scope(|scope| {
            let (name, named) = std::sync::mpsc::channel();
            let tracer =
                scope.spawn(move || Tracer::prepare_naming(&options, sink, |pid| name.send(pid).unwrap_or(())));
            let denials = watches.then(|| scope.spawn(denials::load));
            let saved = scope.spawn(|| record.save(workspace.home().disk(), true));
            let journal = scope.spawn(|| journal::create(workspace.home(), record));
            let ahead = looks.then(|| scope.spawn(|| Ahead::of(workspace)));
            let taken = scope.spawn(move || ask.map(|ask| Job::whole(ask).carry_out(workspace, record, work)));
            // By this thread, since the command ends with the one that bore it. Where the system lets only ancestors trace unasked,
            // it must know its tracer; root may trace whom it likes.
            let pid = if belay_sys::is_root() { None } else { named.recv().ok().flatten() };
            let born = cradle.as_ref().map(|(tree, streams)| this.bear(tree, streams, pid));
            let tracer = tracer.join().expect("a tracer does not panic");
            let saved = saved.join().expect("a record does not panic");
            let journal = journal.join().expect("a journal does not panic");
            let denials = denials.map(|denials| denials.join());
            let ahead = ahead.map(|ahead| ahead.join().expect("a look does not panic"));
            (tracer, saved.and(journal), taken.join(), born, denials, ahead.unwrap_or_default())
        });
        // Without it nothing is seen of refused paths, and that is said.
        self.denials_by_kernel = denials.and_then(|loaded| loaded.expect("loading does not panic").ok());
        match tracer {
            Ok(tracer) => {
                degraded.extend_from_slice(tracer.degraded());
                self.tracer = Some(tracer);
            }
            Err(error) => {
                let why = crate::error::chain(&error.into());
                degraded.push(Degraded { layer: "exec".into(), why: format!("nothing is traced: {why}") });
            }
        }
        self.journal = Some(journal?);
        later.into_iter().for_each(|ask| self.captures.ask(ask));
        if let Some(layer) = settings.disabled_by() {
            let why = format!("none is taken, so nothing can be taken back: snapshots.disabled, {}", layer.name());
            degraded.push(Degraded { layer: "snapshots".into(), why });
        }
        degraded.extend(self.repository_elsewhere());
        self.begin_from(taken.expect("a snapshot does not panic"), degraded)?;
        self.linked = std::mem::take(&mut self.linked).and(ahead);
        let born = born.transpose()?;
        degraded.extend(born.iter().flat_map(|born| born.degraded.iter().cloned()));
        Ok(born)
    }

    /// What is watched of the run, and how.
    fn watching(&self, tree: Option<&Tree>) -> Options {
        let settings = self.workspace.settings();
        Options {
            workspace: self.workspace.path().to_owned(),
            exec: !settings.flag("tracing.disable_exec") && tree.is_some(),
            // What is written to a layer is nowhere in the directory.
            files: !self.workspace.is_layered()
                && !self.record.confinement.ephemeral
                && !settings.flag("tracing.disable_files"),
            engine: match settings.choice("tracing.engine") {
                "unprivileged" => Engine::Unprivileged,
                "privileged" => Engine::Privileged,
                _ => Engine::Best,
            },
            group: tree.and_then(Tree::group),
        }
    }

    /// Without the snapshot to come back to, nothing is run.
    fn begin_from(&mut self, taken: Option<Done>, degraded: &mut Vec<Degraded>) -> Result<()> {
        let Some(mut done) = taken else { return Ok(()) };
        let linked = done.take_linked();
        if let Some(snapshot) = done.snapshot() {
            self.linked = Names::seen_by(self.workspace, snapshot, linked);
        }
        let id = done.id().map(str::to_owned);
        if id.is_none() && self.stop.load(Ordering::SeqCst) {
            return Err(Error::RunInterrupted);
        }
        degraded.extend(self.news_of_gaps(done.snapshot()));
        self.note_left_out(done.snapshot());
        // Changes made while the tracer was not yet ready may be in neither: the next snapshot looks at everything.
        let taken = self.captures.done(done, false);
        match (id, taken.failed.clone()) {
            (Some(id), _) => self.record.pre_run = Some(id),
            (None, why) => return Err(Error::NoPreRun(why.unwrap_or_default())),
        }
        self.pending.push(self.event(What::Snapshot(taken)));
        Ok(())
    }

    /// Starts the command, held before its first instruction, confined, in the group of the run.
    fn bear(&self, tree: &Tree, streams: &Streams, tracer: Option<u32>) -> Result<Born> {
        let argv: Vec<Vec<u8>> = self.record.argv.iter().map(|word| word.bytes().to_vec()).collect();
        let mut env = self.env.clone();
        env.retain(|variable| !variable.starts_with(b"BELAY_RUN="));
        env.push(format!("BELAY_RUN={}", self.record.id).into_bytes());
        let mut degraded = Vec::new();
        let child = Child { argv: &argv, env: &env, streams, tracer };
        let (held, isolation, confined) = match self.hold_confined(&child, &mut degraded)? {
            Some((held, isolation, confined)) => (held, isolation, Some(confined)),
            None => (self.hold_free(&child, tree)?, Isolation::None, None),
        };
        for pid in held.pids() {
            let adopted = match held.is_in_group() {
                true => tree.adopt_born(pid),
                false => tree.adopt(pid, self.record.limits, &mut degraded),
            };
            adopted.map_err(Error::run("put the command into its group"))?;
        }
        Ok(Born { held, isolation, degraded, confined })
    }

    /// Whether the kernel is to tell which paths a jail refuses.
    fn watches_by_kernel(&self) -> bool {
        let wanted = &self.record.confinement;
        let is_wanted = wanted.denials || !self.workspace.settings().flag("tracing.disable_denials");
        is_wanted && wanted.engine != Confiner::None && belay_trace::Denials::is_possible()
    }

    /// Has the command watched that was just born.
    fn follow(&mut self, tree: &Tree, born: Born, degraded: &mut Vec<Degraded>) -> Result<HeldCommand> {
        let Born { mut held, isolation, confined, .. } = born;
        let kernel = self.denials_by_kernel.take();
        if let Some(mut confined) = confined {
            self.guard_links(&mut held, &mut confined, isolation == Isolation::Jail, degraded)?;
            let like = self.watching(Some(tree));
            self.unheld = std::mem::take(&mut confined.unheld);
            self.watch_outskirts(std::mem::take(&mut confined.outskirts), &like, degraded);
            let mut watch = Watch::new(Arc::new(confined.reasons), kernel, confined.asks_first);
            if isolation != Isolation::Jail || watch.begin(held.pid()).is_err() {
                watch.give_up();
            }
            self.denials = Some(watch);
            self.private = Private::of(held.private(), &self.den.home);
        } else {
            // Nothing keeps it from anything.
            Guard::default().save(self.workspace.home().disk(), &self.record.id)?;
        }
        let foresight = self.denials.as_ref().and_then(Watch::foresight);
        match held.take_refusals() {
            Some(told) => {
                let attended = refusals::attend(told, self.wakes.clone(), foresight);
                attended.map_err(Error::run("attend to what is refused"))?;
            }
            None if foresight.is_some() => self.denials = None,
            None => {}
        }
        self.mending = held.take_covers().map(refusals::Mending::new);
        let pid = held.pid();
        self.record.child = ProcessName::of(pid);
        self.hold_destroyers(tree, degraded);
        if let Some(tracer) = &mut self.tracer
            && let Err(error) = tracer.attach(pid)
        {
            degraded.push(Degraded { layer: "exec".into(), why: crate::error::chain(&error.into()) });
        }
        Ok(held)
    }

    /// Makes files of the workspace read-only that have a name elsewhere, as the snapshot just saw them, and hides or
    /// protects those that are by another name; what the command is kept from is written down for those who answer it.
    fn guard_links(
        &mut self,
        held: &mut HeldCommand,
        confined: &mut Confined,
        can_guard: bool,
        degraded: &mut Vec<Degraded>,
    ) -> Result<()> {
        let names = std::mem::take(&mut self.linked);
        let (at, reasons) = (self.workspace.path(), &confined.reasons);
        let Links { guarded, told } = match confined.is_apart {
            true => Links::of_hidden(self.workspace.root(), at, reasons)?,
            false => Links::of(at, names, can_guard, reasons)?,
        };
        held.guard(&guarded).map_err(|error| Error::Confinement { why: crate::error::chain_of(&error) })?;
        let guard = Guard::of(at, reasons.inside()).and(at, &guarded).and_unheld(confined.unheld.clone());
        guard.save(self.workspace.home().disk(), &self.record.id)?;
        confined.reasons.guard(guarded);
        degraded.extend(told);
        Ok(())
    }

    /// The command in a jail; none if none is wanted, or only the strongest that works and that is nothing.
    fn hold_confined(
        &self,
        child: &Child<'_>,
        degraded: &mut Vec<Degraded>,
    ) -> Result<Option<(HeldCommand, Isolation, Confined)>> {
        let wanted = &self.record.confinement;
        if wanted.engine == Confiner::None {
            degraded.push(confine::unconfined(None));
            degraded.extend(self.den.owner.as_ref().map(Owner::told_of_root));
            return Ok(None);
        }
        let owner = self.den.owner.as_ref();
        let (mut policy, patterns) = confine::policy(&self.record, &self.den, self.workspace)?;
        policy.tells_paths = wanted.denials && !self.watches_by_kernel();
        let home = self.workspace.home().path();
        let reasons = Reasons::under(&policy, wanted, &self.den, home, self.workspace.path())?;
        let confined = Confined {
            reasons,
            asks_first: policy.tells_paths,
            is_apart: !policy.kept.is_empty(),
            outskirts: outskirts::of(&policy, self.workspace.path()),
            unheld: Ways::of(&policy, self.workspace.path(), self.den.own())?.unheld,
        };
        degraded.extend(self.den.stranger.map(told_of_stranger));
        degraded.extend(outskirts::told(&policy, self.workspace.path()));
        if let Some(owner) = owner {
            child.streams.give_to(owner, self.record.terminal);
            degraded.extend(owner.told());
        }
        let stdio = child.streams.copies().map_err(Error::run("open the streams"))?;
        let cwd = PathBuf::from(OsStr::from_bytes(self.record.cwd.bytes()));
        let command = Command { argv: child.argv, env: child.env, cwd: &cwd, stdio, tracer: child.tracer, owner };
        match confine::hold(&policy, &patterns, command, degraded) {
            Ok((held, isolation)) => Ok(Some((held, isolation, confined))),
            // Only a machine without any jail: whatever else went wrong, a workspace may have been made so that it does.
            Err(error @ belay_jail::Error::Unavailable { .. }) if wanted.engine == Confiner::Auto => {
                degraded.push(confine::unconfined(Some(crate::error::chain_of(&error))));
                degraded.retain(|one| one.layer != "person");
                degraded.extend(owner.map(Owner::told_of_root));
                Ok(None)
            }
            Err(error) => Err(Error::Confinement { why: crate::error::chain_of(&error) }),
        }
    }

    fn hold_free(&self, child: &Child<'_>, tree: &Tree) -> Result<HeldCommand> {
        let cradle = tree.cradle();
        let path = PathBuf::from(OsStr::from_bytes(self.record.cwd.bytes()));
        let cwd = File::open(&path).map_err(Error::path("open", &path))?;
        let launch = Launch {
            argv: child.argv,
            env: child.env,
            cwd: cwd.as_fd(),
            stdio: child.streams.as_fds(),
            tracer: child.tracer,
            group: cradle.as_ref().map(File::as_fd),
        };
        belay_sys::hold(&launch).map(HeldCommand::Free).map_err(Error::run("start the command"))
    }

    fn protection(&self, isolation: Isolation, tree: Option<&Tree>, degraded: Vec<Degraded>) -> Protection {
        Protection {
            isolation,
            exec: self.tracer.as_ref().map_or(ExecSource::None, Tracer::exec_source),
            files: self.tracer.as_ref().map_or(FileSource::None, Tracer::file_source),
            denials: self.denials.as_ref().filter(|_| isolation != Isolation::None).map(Watch::source),
            person: self.den.owner.as_ref().filter(|_| isolation != Isolation::None).map(Owner::person),
            snapshots: self.workspace.settings().disabled_by().is_none(),
            freeze: tree.is_some_and(Tree::can_freeze),
            degraded,
        }
    }

    /// The first events; they are durable before the command does anything.
    fn announce_start(&mut self) -> Result<()> {
        let record = &self.record;
        let started = RunStarted {
            run: record.id.clone(),
            workspace: record.workspace.clone(),
            root: record.root.clone(),
            argv: record.argv.clone(),
            cwd: record.cwd.clone(),
            protection: record.protection.clone().expect("it was just worked out"),
        };
        let degraded = started.protection.degraded.clone();
        let mut events = vec![self.event(What::RunStarted(started))];
        events.append(&mut self.pending);
        events.extend(degraded.into_iter().map(|one| self.event(What::Degraded(one))));
        self.happened(events);
        if let Some(journal) = &self.journal {
            journal.sync()?;
        }
        let now = self.workspace.home().options.clock.now();
        self.record.state = RunState::Running;
        self.record.started_at = Some(now);
        self.record.save(self.workspace.home().disk(), false)
    }

    /// Lets the command go, and waits for its end on a thread.
    fn release(&mut self, held: Option<HeldCommand>) -> Result<()> {
        self.time_up_at = self.record.limits.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        let Some(held) = held else { return Ok(()) };
        if let Some(terminal) = self.terminal.clone() {
            let log = self.workspace.home().run_dir(&self.record.id).join("console.log");
            let pump = console::pump(terminal, &log, self.control.clone(), self.recent.clone());
            self.pump = Some(pump.map_err(Error::run("read the terminal"))?);
        }
        match held.release() {
            Ok((process, jail)) => {
                wait_for(process, jail, self.wakes.clone()).map_err(Error::run("wait for the command"))
            }
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(0);
                self.unexecuted = Some(errno);
                self.record.ended = Some(Ended::Code(if errno == NOT_FOUND { 127 } else { 126 }));
                let _ = self.wakes.send(Wake::ChildExited(Vec::new()));
                Ok(())
            }
        }
    }
}

const NOT_FOUND: i32 = rustix::io::Errno::NOENT.raw_os_error();

fn wait_for(process: Process, jail: Option<Process>, wakes: std::sync::mpsc::Sender<Wake>) -> io::Result<()> {
    std::thread::Builder::new().name("waiter".into()).spawn(move || {
        // It cannot be waited for only if it is gone.
        while let Ok(Turn::Stopped) = process.wait_for_turn() {
            let _ = wakes.send(Wake::ChildStopped(Instant::now()));
        }
        let mut ended = Vec::new();
        if let Some(jail) = jail {
            ended = tree::left_in(jail.pid());
            // Whatever the command left behind could still write, and nobody would record it.
            let _ = jail.signal(rustix::process::Signal::KILL.as_raw());
            let _ = jail.wait(None);
        }
        let _ = wakes.send(Wake::ChildExited(ended));
    })?;
    Ok(())
}
