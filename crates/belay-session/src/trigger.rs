//! When to take a snapshot during a run: a pure function of its events and of the time.
//!
//! Time is the clock of the events; nothing here asks what time it is. Invariants:
//! - a storm of commits, builds or commands asks for one snapshot, not for one each;
//! - what is asked for at a command's end names the command, so that its changes can be found again;
//! - a run that is idle is asked about once, until it does something.

mod build;
mod family;
mod git;
mod words;

use std::collections::HashSet;
use std::time::Duration;

use belay_event::{At, Ended, Event, Exec, Exit, FileChange, Raw, What};

use crate::config::Settings;
use crate::record::Kind;
use build::Patterns;
use family::{Family, Role};
pub(crate) use words::said;

/// A commit counts once none followed it for this long, since a person who commits twice in a row means the second.
const COMMIT_DEBOUNCE: Duration = Duration::from_secs(2);
/// A storm of commits is not waited for any longer.
const COMMIT_WAIT_MAX: Duration = Duration::from_secs(30);
/// Builds that end closer together than this are one.
const BUILD_GAP: Duration = Duration::from_secs(2);
/// Snapshots around single commands are at least this far apart.
const COMMAND_GAP: Duration = Duration::from_millis(500);
/// Before a command that can destroy work, this is enough if something changed: what is not captured now is lost.
const DESTRUCTION_GAP: Duration = Duration::from_millis(100);

/// Below this a run counts as idle.
const IDLE_CPU_PERCENT: f64 = 5.0;
const IDLE_IO_BYTES_PER_SECOND: u64 = 1 << 20;

/// What the processes of a run did since the last look; zeros where the machine does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Activity {
    /// Processor time in per cent of one processor.
    pub cpu_percent: f64,
    /// Bytes read and written.
    pub io_bytes_per_second: u64,
}

impl Activity {
    fn is_busy(self) -> bool {
        self.cpu_percent >= IDLE_CPU_PERCENT || self.io_bytes_per_second >= IDLE_IO_BYTES_PER_SECOND
    }
}

/// A snapshot that should be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Of which kind.
    pub kind: Kind,
    /// The command that is the cause.
    pub command: Option<u64>,
    /// Whether the command is only beginning, so that every moment counts.
    pub before: bool,
    /// The process that is held until it is taken.
    pub held: Option<u32>,
    /// Whether it goes into the ring of automatic snapshots.
    pub pooled: bool,
    /// The cause in words.
    pub why: String,
}

impl Ask {
    /// One without anything special about it.
    pub(crate) fn new(kind: Kind, command: Option<u64>, why: impl Into<String>) -> Ask {
        Ask { kind, command, before: false, held: None, pooled: false, why: why.into() }
    }
}

/// Something that will be asked for at a moment unless it is put off.
#[derive(Clone, Debug)]
struct Pending {
    due: At,
    first: At,
    ask: Ask,
}

/// Which triggers there are.
#[derive(Clone, Debug)]
struct Rules {
    pre_run: bool,
    commits: bool,
    builds: Option<Patterns>,
    idle: Option<Duration>,
    interval: Option<Duration>,
    before_git: bool,
    commands: bool,
}

impl Rules {
    fn of(settings: &Settings) -> Rules {
        let is_on = |name: &str| settings.disabled_by().is_none() && !settings.flag(name);
        let seconds = |name: &str| Duration::from_secs(settings.number(name));
        let patterns = || Patterns::with(&settings.texts("snapshots.triggers.build_patterns"));
        Rules {
            pre_run: is_on("snapshots.triggers.disable_pre_run"),
            commits: is_on("snapshots.triggers.disable_git_commits"),
            builds: is_on("snapshots.triggers.disable_builds").then(patterns),
            idle: is_on("snapshots.triggers.disable_idle")
                .then(|| seconds("snapshots.triggers.idle_threshold_seconds")),
            // A ring without slots has no place for them.
            interval: (is_on("snapshots.triggers.disable_auto") && settings.pools().auto_max > 0)
                .then(|| seconds("snapshots.auto_interval"))
                .filter(|interval| !interval.is_zero()),
            before_git: is_on("snapshots.triggers.disable_before_git"),
            commands: is_on("snapshots.triggers.disable_commands"),
        }
    }
}

/// When snapshots are taken that no command causes; none where such a trigger is switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rhythm {
    /// After so much time in which something changed.
    pub interval: Option<Duration>,
    /// After so much time in which nothing happened.
    pub idle: Option<Duration>,
}

impl Settings {
    /// When snapshots are taken that no command causes.
    pub fn rhythm(&self) -> Rhythm {
        let Rules { interval, idle, .. } = Rules::of(self);
        Rhythm { interval, idle }
    }
}

/// Decides when to take snapshots during one run.
#[derive(Debug)]
pub struct Triggers {
    rules: Rules,
    sees_files: bool,
    family: Family,
    commit: Option<Pending>,
    build: Option<Pending>,
    command: Option<Pending>,
    last_build: Option<At>,
    last_command: Option<At>,
    last_active: At,
    is_idle_known: bool,
    next_interval: Option<At>,
    changed_since_interval: bool,
    changed_since_any: bool,
    /// Processes that were held, so that their command needs nothing more when it is seen.
    held: HashSet<u32>,
}

/// Whether a command can destroy work, so that it is worth holding.
pub(crate) fn destroys(argv: &[Raw]) -> bool {
    git::classify(argv) == Some(git::Git::Destroys)
}

impl Triggers {
    /// The triggers of a run that begins at `now`; `sees_files` says whether file changes will be among its events.
    pub fn new(settings: &Settings, sees_files: bool, now: At) -> Triggers {
        let rules = Rules::of(settings);
        Triggers {
            next_interval: rules.interval.map(|interval| later(now, interval)),
            rules,
            sees_files,
            family: Family::default(),
            commit: None,
            build: None,
            command: None,
            last_build: None,
            last_command: None,
            last_active: now,
            is_idle_known: false,
            changed_since_interval: false,
            changed_since_any: false,
            held: HashSet::new(),
        }
    }

    /// Whether commands that can destroy work are to be held until a snapshot is taken.
    pub fn wants_held(&self) -> bool {
        self.rules.before_git
    }

    /// What to take before a command that is held goes on; its process becomes it afterwards. Without words it may be anything.
    pub fn held(&mut self, pid: u32, argv: Option<&[Raw]>) -> Option<Ask> {
        if !self.rules.before_git || !argv.is_none_or(destroys) {
            return None;
        }
        self.held.insert(pid);
        let why = format!("before {}", argv.map_or_else(|| "git".to_owned(), words::said));
        let ask = Ask { before: true, held: Some(pid), ..Ask::new(Kind::Auto, None, why) };
        self.asked(std::slice::from_ref(&ask));
        Some(ask)
    }

    /// What to take before the run's first instruction.
    pub fn before_run(&self) -> Option<Ask> {
        self.rules.pre_run.then(|| Ask::new(Kind::PreRun, None, "before the run"))
    }

    /// Takes in an event of the run; says what is to be taken at once.
    pub fn observe(&mut self, event: &Event) -> Vec<Ask> {
        let before = match &event.what {
            What::Exec(exec) => self.begun(exec, event.at),
            What::Exit(exit) => {
                self.ended(exit, event.at);
                None
            }
            What::File(change) => {
                self.changed(change, event.at);
                None
            }
            // What could not be taken is still to be taken.
            What::Snapshot(taken) if taken.failed.is_some() => {
                self.has_changed();
                None
            }
            What::Lost(_) => {
                self.has_changed();
                None
            }
            _ => None,
        };
        let asks: Vec<Ask> = before.into_iter().chain(self.due_now(event.at)).collect();
        self.asked(&asks);
        asks
    }

    /// What is to be taken now, `activity` being what the run did since the last tick.
    pub fn tick(&mut self, now: At, activity: Activity) -> Vec<Ask> {
        if activity.is_busy() {
            self.resume(now);
        }
        let mut asks = self.due_now(now);
        if self.rules.idle.is_some_and(|idle| !self.is_idle_known && now >= later(self.last_active, idle)) {
            self.is_idle_known = true;
            asks.push(Ask::new(Kind::Idle, None, "idle"));
        }
        if let (Some(interval), Some(due)) = (self.rules.interval, self.next_interval)
            && now >= due
        {
            self.next_interval = Some(later(now, interval));
            if std::mem::take(&mut self.changed_since_interval) || !self.sees_files {
                asks.push(Ask { pooled: true, ..Ask::new(Kind::Auto, None, "interval") });
            }
        }
        self.asked(&asks);
        asks
    }

    /// What was put off and must not be forgotten when the run ends.
    pub fn at_end(&mut self) -> Vec<Ask> {
        self.command = None;
        [self.commit.take(), self.build.take()].into_iter().flatten().map(|pending| pending.ask).collect()
    }

    /// When the next tick can have something to say, if nothing happens before.
    pub fn next_tick(&self) -> Option<At> {
        let pending = [&self.commit, &self.build, &self.command].into_iter().flatten().map(|pending| pending.due);
        let idle = self.rules.idle.filter(|_| !self.is_idle_known).map(|idle| later(self.last_active, idle));
        pending.chain(idle).chain(self.next_interval).min()
    }

    fn has_changed(&mut self) {
        (self.changed_since_interval, self.changed_since_any) = (true, true);
    }

    fn asked(&mut self, asks: &[Ask]) {
        self.changed_since_any &= asks.is_empty();
    }

    fn resume(&mut self, at: At) {
        self.last_active = self.last_active.max(at);
        self.is_idle_known = false;
    }

    fn begun(&mut self, exec: &Exec, at: At) -> Option<Ask> {
        self.resume(at);
        let role = self.role(exec);
        let is_destruction = matches!(role, Role::Destroys(_));
        let Role::Destroys(why) = self.family.begin(exec, role) else { return None };
        if self.held.remove(&exec.pid) {
            self.last_command = Some(at);
            return None;
        }
        let gap = if self.changed_since_any { DESTRUCTION_GAP } else { COMMAND_GAP };
        if !is_destruction || self.last_command.is_some_and(|last| at < later(last, gap)) {
            return None;
        }
        self.last_command = Some(at);
        Some(Ask { before: true, ..Ask::new(Kind::Auto, Some(exec.command), format!("before {why}")) })
    }

    fn role(&self, exec: &Exec) -> Role {
        let why = || words::said(&exec.argv);
        match git::classify(&exec.argv) {
            Some(git::Git::Commit) if self.rules.commits => Role::Commit(why()),
            Some(git::Git::Destroys) if self.rules.before_git => Role::Destroys(why()),
            Some(_) => Role::Plain,
            None if self.rules.builds.as_ref().is_some_and(|patterns| patterns.match_argv(&exec.argv)) => {
                Role::Build(why())
            }
            None => Role::Plain,
        }
    }

    fn ended(&mut self, exit: &Exit, at: At) {
        self.resume(at);
        let Some(gone) = self.family.end(exit) else { return };
        match gone.role {
            Role::Commit(why) if exit.ended == Ended::Code(0) => {
                let first = self.commit.as_ref().map_or(at, |pending| pending.first);
                let due = later(at, COMMIT_DEBOUNCE).min(later(first, COMMIT_WAIT_MAX));
                self.commit = Some(Pending { due, first, ask: Ask::new(Kind::Git, Some(exit.command), why) });
            }
            Role::Build(why) => {
                let due = self.last_build.map_or(at, |last| at.max(later(last, BUILD_GAP)));
                let why = format!("{why}{}", failure(exit.ended));
                self.build = Some(Pending { due, first: at, ask: Ask::new(Kind::Build, Some(exit.command), why) });
            }
            _ => {}
        }
        if gone.changed_at_top {
            self.want_after(exit.command, at);
        }
    }

    fn changed(&mut self, change: &FileChange, at: At) {
        self.has_changed();
        let is_outside = change.by.is_some_and(|by| by.command.is_none() && by.pid.is_some());
        if !is_outside {
            self.resume(at);
        }
        if let Some(late) = self.family.change(change) {
            self.want_after(late, at);
        }
    }

    fn want_after(&mut self, command: u64, at: At) {
        if self.rules.commands {
            let due = self.last_command.map_or(at, |last| at.max(later(last, COMMAND_GAP)));
            let ask = Ask::new(Kind::Auto, Some(command), "after a command");
            self.command = Some(Pending { due, first: at, ask });
        }
    }

    fn due_now(&mut self, now: At) -> Vec<Ask> {
        let take = |pending: &mut Option<Pending>| pending.take_if(|pending| now >= pending.due);
        let (commit, build) = (take(&mut self.commit), take(&mut self.build));
        if build.is_some() {
            self.last_build = Some(now);
        }
        if commit.is_some() || build.is_some() {
            // The same moment is not captured twice.
            take(&mut self.command);
            self.last_command = Some(now);
        }
        let command = take(&mut self.command);
        if command.is_some() {
            self.last_command = Some(now);
        }
        [commit, build, command].into_iter().flatten().map(|pending| pending.ask).collect()
    }
}

fn later(at: At, by: Duration) -> At {
    At::from_unix_nanos(at.unix_nanos() + by.as_nanos() as i128)
}

/// How a build ended, unless it ended well.
fn failure(ended: Ended) -> String {
    match ended {
        Ended::Code(0) | Ended::Replaced(_) => String::new(),
        Ended::Code(code) => format!(" (exit code {code})"),
        Ended::Signal(signal) => format!(" (signal {signal})"),
    }
}

#[cfg(test)]
mod tests;
