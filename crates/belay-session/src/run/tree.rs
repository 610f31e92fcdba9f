//! The processes of a run: all of them can be stopped, held still and looked at.
//!
//! With a control group that is one act of the kernel. Without one the descendants of this process are gone through
//! until none is left, which works because orphans are given to it (a subreaper).

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use belay_event::Degraded;
use belay_sys::Cgroup;

use super::agent::Helpers;
use super::halt;
use super::record::RunLimits;
use crate::trigger::Activity;

const FREEZE_TIME_MAX: Duration = Duration::from_secs(5);
const KILL_TIME_MAX: Duration = Duration::from_secs(10);
/// How long processes that end with their command are waited for.
const LAST_MOMENT: Duration = Duration::from_millis(50);
/// How long to sleep between two looks at processes that are on their way to a state.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// The processes of a run.
pub(super) struct Tree {
    group: Option<Groups>,
    /// Children of ours that are none of the run's.
    tracer: Option<u32>,
    helpers: Helpers,
    /// Processes that were stopped by signals, to be continued.
    stopped: Vec<u32>,
    last_look: Option<(Instant, Usage)>,
}

/// The group of the run, and the one inside it that is frozen: who asks for that from inside is put beside it.
struct Groups {
    outer: Cgroup,
    inner: Cgroup,
}

/// What the processes have used so far.
#[derive(Clone, Copy, Default)]
struct Usage {
    cpu_ns: u64,
    io_bytes: u64,
}

impl Tree {
    /// A tree without processes; what falls short is added to `degraded`.
    pub(super) fn prepare(
        run: &str,
        limits: RunLimits,
        is_over: &dyn Fn(&str) -> bool,
        degraded: &mut Vec<Degraded>,
    ) -> Tree {
        // Without it orphans of the run escape a walk of its descendants; with a group nothing does.
        let reaper = belay_sys::become_subreaper();
        let group = Groups::create(run).map(|mut group| {
            group.sweep(is_over);
            group.limit(limits, degraded);
            group
        });
        let group = group.inspect_err(|error| {
            let how = if reaper.is_ok() { "processes are found one by one" } else { "orphans may be missed" };
            degraded.push(Degraded {
                layer: "freeze".into(),
                why: format!("no control group: {}; {how}", belay_sys::plain(error)),
            });
        });
        Tree { group: group.ok(), tracer: None, helpers: Helpers::default(), stopped: Vec::new(), last_look: None }
    }

    /// The same, knowing the process that traces the others, and those that answer for us.
    pub(super) fn sparing(self, tracer: Option<u32>, helpers: Helpers) -> Tree {
        Tree { tracer, helpers, ..self }
    }

    /// The tracer's view of the group.
    pub(super) fn group(&self) -> Option<belay_trace::Group> {
        let outer = &self.group.as_ref()?.outer;
        Some(belay_trace::Group { id: outer.id(), level: outer.level()? })
    }

    /// Whether the kernel killed a process because the run's memory had run out.
    pub(super) fn has_run_out_of_memory(&self) -> bool {
        self.group.as_ref().is_some_and(|group| group.outer.memory_kills() > 0)
    }

    /// Where the group is.
    pub(super) fn group_path(&self) -> Option<&Path> {
        self.group.as_ref().map(|group| group.outer.path())
    }

    /// Who belongs to it, for whoever cannot ask the tree itself.
    pub(super) fn membership(&self) -> Membership {
        let group = self.group_path().and_then(Path::file_name).map(|name| name.as_encoded_bytes().to_vec());
        Membership { group, forebear: std::process::id() }
    }

    /// Whether everything can be held still at once.
    pub(super) fn can_freeze(&self) -> bool {
        self.group.is_some()
    }

    /// Where a process of the run is to be born.
    pub(super) fn cradle(&self) -> Option<File> {
        // Without it the process is moved there, which takes longer.
        self.group.as_ref()?.inner.directory().ok()
    }

    /// Takes in a process that was born in the [`Tree::cradle`] and is held before its first instruction.
    pub(super) fn adopt_born(&self, pid: u32) -> io::Result<()> {
        let Some(group) = &self.group else { return Ok(()) };
        group.outer.add_to_older(pid)?;
        group.inner.add_to_older(pid)
    }

    /// Takes in a process that is held before its first instruction.
    pub(super) fn adopt(&self, pid: u32, limits: RunLimits, degraded: &mut Vec<Degraded>) -> io::Result<()> {
        if let Some(group) = &self.group {
            group.outer.add(pid)?;
            return group.inner.add(pid);
        }
        let mut told = |what: &str, result: io::Result<()>| {
            let why = match result {
                Ok(()) => format!("no control group: the limit of {what} counts for each process or user alone"),
                Err(error) => format!("the limit of {what} is not in force: {}", belay_sys::plain(error)),
            };
            let one = Degraded { layer: "limits".into(), why };
            // Of several processes of one command it is told once.
            if !degraded.contains(&one) {
                degraded.push(one);
            }
        };
        if let Some(bytes) = limits.memory {
            told("memory", belay_sys::limit_address_space(pid, bytes));
        }
        if let Some(count) = limits.processes {
            told("processes", belay_sys::limit_processes_of_user(pid, count));
        }
        Ok(())
    }

    /// Every process of the run that lives.
    pub(super) fn pids(&self) -> Vec<u32> {
        let own = std::process::id();
        let found = match &self.group {
            Some(group) => group.outer.pids(),
            None => belay_sys::descendants(own),
        };
        let is_helper = |pid: u32| Some(pid) == self.tracer || self.helpers.has(pid);
        let is_ours = |pid: &u32| *pid != own && !is_helper(*pid) && is_running(*pid);
        found.unwrap_or_default().into_iter().filter(is_ours).collect()
    }

    /// Sends every process a signal.
    pub(super) fn signal(&self, signal: i32) {
        for pid in self.pids() {
            // One that ended in between needs no signal.
            let _ = belay_sys::signal_process(pid, signal);
        }
    }

    /// Kills everything.
    pub(super) fn kill(&mut self) -> io::Result<()> {
        if let Some(group) = &self.group {
            let _ = group.inner.thaw();
            return group.outer.kill(KILL_TIME_MAX);
        }
        halt::kill_all(&|| self.pids(), KILL_TIME_MAX)
    }

    /// Holds everything still but `but`, who asks for it and may be one of them.
    pub(super) fn freeze(&mut self, but: Option<u32>) -> io::Result<()> {
        if let Some(group) = &self.group {
            if let Some(pid) = but.filter(|pid| group.outer.pids().is_ok_and(|pids| pids.contains(pid))) {
                group.set_apart(pid)?;
            }
            return group.inner.freeze(FREEZE_TIME_MAX);
        }
        let mut stopped = std::mem::take(&mut self.stopped);
        let find = || self.pids().into_iter().filter(|pid| Some(*pid) != but).collect();
        let held = halt::stop_all(&find, FREEZE_TIME_MAX, &mut stopped);
        self.stopped = stopped;
        held
    }

    /// Lets everything go on.
    pub(super) fn thaw(&mut self) -> io::Result<()> {
        if let Some(group) = &self.group {
            return group.inner.thaw();
        }
        halt::continue_all(&mut self.stopped);
        Ok(())
    }

    /// What lives on after the end, given a moment to end too; if that is nothing, the group goes.
    pub(super) fn outlive(&self) -> Vec<u32> {
        let deadline = Instant::now() + LAST_MOMENT;
        loop {
            let left = self.pids();
            if left.is_empty() {
                self.group.as_ref().map(|group| group.outer.remove());
                return left;
            }
            if Instant::now() > deadline {
                return left;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// What the run did since the last call.
    pub(super) fn activity(&mut self) -> Activity {
        let usage = self.pids().into_iter().filter_map(usage_of).fold(Usage::default(), |sum, one| Usage {
            cpu_ns: sum.cpu_ns + one.cpu_ns,
            io_bytes: sum.io_bytes + one.io_bytes,
        });
        let now = Instant::now();
        let Some((then, before)) = self.last_look.replace((now, usage)) else { return Activity::default() };
        let seconds = now.duration_since(then).as_secs_f64().max(0.001);
        // Processes that ended took their share of the sum with them.
        let cpu_ns = usage.cpu_ns.saturating_sub(before.cpu_ns);
        let io_bytes = usage.io_bytes.saturating_sub(before.io_bytes);
        Activity { cpu_percent: cpu_ns as f64 / 1e7 / seconds, io_bytes_per_second: (io_bytes as f64 / seconds) as u64 }
    }
}

/// Tells whether a process is one of a run.
pub(super) struct Membership {
    group: Option<Vec<u8>>,
    forebear: u32,
}

impl Membership {
    /// The name of the control group that tells, if one does.
    pub(super) fn group(&self) -> Option<&[u8]> {
        self.group.as_deref()
    }

    /// Whether it is.
    pub(super) fn has(&self, pid: u32) -> bool {
        let Some(group) = &self.group else { return self.descends(pid) };
        let groups = std::fs::read(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let line = groups.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"0::"));
        line.is_some_and(|path| path.split(|byte| *byte == b'/').any(|name| name == group))
    }

    fn descends(&self, pid: u32) -> bool {
        let mut pid = pid;
        while pid > 1 {
            if pid == self.forebear {
                return true;
            }
            let Some(parent) = parent_of(pid) else { return false };
            pid = parent;
        }
        false
    }
}

impl Groups {
    fn create(run: &str) -> io::Result<Groups> {
        let outer = Cgroup::create(&format!("belay-{run}"))?;
        let inner = outer.path().join("work");
        let inner = std::fs::create_dir(&inner).and_then(|()| Cgroup::open(&inner));
        let inner = inner.inspect_err(|_| drop(outer.remove()))?;
        Ok(Groups { outer, inner })
    }

    /// Removes groups of runs that are over and that something outlived for a while.
    fn sweep(&self, is_over: &dyn Fn(&str) -> bool) {
        let Some(Ok(siblings)) = self.outer.path().parent().map(std::fs::read_dir) else { return };
        for sibling in siblings.flatten() {
            let name = sibling.file_name();
            let run = name.to_str().and_then(|name| name.strip_prefix("belay-")).filter(|run| run.starts_with("run_"));
            if run.is_some_and(is_over) {
                // One that is not empty stays, and is the business of `belay stop`.
                let _ = Cgroup::open(&sibling.path()).and_then(|group| group.remove());
            }
        }
    }

    fn limit(&mut self, limits: RunLimits, degraded: &mut Vec<Degraded>) {
        let mut told = |what: &str, result: io::Result<()>| {
            if let Err(error) = result {
                let why = format!("the limit of {what} is not in force: {}", belay_sys::plain(error));
                degraded.push(Degraded { layer: "limits".into(), why });
            }
        };
        if let Some(bytes) = limits.memory {
            told("memory", self.outer.limit_memory(bytes));
        }
        if let Some(count) = limits.processes {
            told("processes", self.outer.limit_pids(count));
        }
    }

    /// Moves a process of the run to where it is not frozen.
    fn set_apart(&self, pid: u32) -> io::Result<()> {
        let apart = self.outer.path().join("apart");
        match std::fs::create_dir(&apart) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        std::fs::write(apart.join("cgroup.procs"), pid.to_string())
    }
}

/// Every program of this name that the environment's `PATH` leads to, and what lies beside it for its own use.
pub(super) fn programs_called(name: &str, env: &[Vec<u8>]) -> Vec<PathBuf> {
    let path = env.iter().find_map(|variable| variable.strip_prefix(b"PATH=")).unwrap_or_default();
    let dirs = path.split(|byte| *byte == b':').map(|dir| Path::new(OsStr::from_bytes(dir)));
    let beside = |dir: &Path| {
        let prefix = dir.parent().unwrap_or(dir).to_owned();
        [
            dir.join(name),
            prefix.join(format!("lib/{name}-core/{name}")),
            prefix.join(format!("libexec/{name}-core/{name}")),
        ]
    };
    let mut found: Vec<PathBuf> = dirs.filter(|dir| dir.is_absolute()).flat_map(beside).collect();
    found.retain(|program| program.is_file());
    found.sort();
    found.dedup();
    found
}

/// What follows the name of a process in its `stat`: its state's letter, its parent, and more.
fn stat_of(pid: u32) -> Option<Vec<u8>> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    stat.get(end + 2..).map(<[u8]>::to_vec)
}

/// The letter of a process's state.
pub(super) fn state_of(pid: u32) -> Option<u8> {
    stat_of(pid)?.first().copied()
}

/// The parent of a process.
pub(super) fn parent_of(pid: u32) -> Option<u32> {
    let stat = stat_of(pid)?;
    str::from_utf8(stat.split(|byte| *byte == b' ').nth(1)?).ok()?.parse().ok()
}

fn is_running(pid: u32) -> bool {
    state_of(pid).is_some_and(|state| !matches!(state, b'Z' | b'X'))
}

fn usage_of(pid: u32) -> Option<Usage> {
    let schedstat = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    let cpu_ns = schedstat.split_ascii_whitespace().next()?.parse().ok()?;
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let counted = io.lines().filter_map(|line| line.strip_prefix("rchar:").or(line.strip_prefix("wchar:")));
    let io_bytes = counted.filter_map(|number| number.trim().parse::<u64>().ok()).sum();
    Some(Usage { cpu_ns, io_bytes })
}

/// What lives on in a jail after its command, given a moment to end too; `jail` is the first process of its namespace.
pub(super) fn left_in(jail: u32) -> Vec<(u32, String)> {
    // Whoever lost its parent is a child of the first process, so that mostly nobody is to be looked for.
    let has_none = || std::fs::read(format!("/proc/{jail}/task/{jail}/children")).is_ok_and(|all| all.is_empty());
    let deadline = Instant::now() + LAST_MOMENT;
    loop {
        let found = if has_none() { Vec::new() } else { belay_sys::descendants(jail).unwrap_or_default() };
        let living = found.into_iter().filter(|pid| is_running(*pid)).map(|pid| (pid, command_of(pid)));
        let left: Vec<(u32, String)> = living.filter(|(_, command)| !command.is_empty()).collect();
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// The command line of a process, for a person.
pub(super) fn command_of(pid: u32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    words.join(" ").trim_end().to_owned()
}
