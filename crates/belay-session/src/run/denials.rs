//! Paths that a jail refuses: seen by the kernel or asked for beforehand, judged, and told once for each command and path.
//!
//! Invariants: only what the jail refused is told, and not what fails for other reasons; what repeats is counted; a run
//! that is refused a million paths tells of a bounded number, and of how many more there were.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use belay_event::{At, DenialSource, Denied, Raw, Wanted, What};
use belay_jail::{PATH_CALLS, path_call};
use belay_sys::Refused;
use belay_trace::{Denial, Denials, PathArgument};

use super::supervisor::Supervisor;
use crate::proposals::{Proposal, proposals};
use crate::reasons::{Judged, Reasons};

/// More different paths than this are counted and not told.
const TOLD_MAX: usize = 1_000;
/// Proposals at the end of a run.
const PROPOSALS_MAX: usize = 50;
/// How often to look at most, however often the loop turns.
const LOOK: Duration = Duration::from_millis(100);
/// Paths that are remembered to be allowed.
const ALLOWED_MAX: usize = 10_000;
/// As long as the kernel lets a path be.
const PATH_BYTES_MAX: usize = 4096;
/// As much of a script as the kernel reads to find its interpreter.
const SCRIPT_BYTES: u64 = 256;
/// The directory of the process itself, where a call takes a directory.
const CURRENT: i32 = -100;

/// The program that watches, loaded before there is a jail.
pub(super) fn load() -> Result<Denials, belay_trace::Error> {
    let calls = PATH_CALLS.iter().copied().flatten().map(|call| {
        let arguments = call.operands.iter().map(|operand| (operand.directory, operand.path));
        (call.number, arguments.collect::<Vec<PathArgument>>())
    });
    let calls: Vec<(i32, Vec<PathArgument>)> = calls.collect();
    Denials::load(calls.iter().map(|(number, arguments)| (*number, arguments.as_slice())))
}

/// What watches a run, and what it was refused so far.
pub(super) struct Watch {
    reasons: Arc<Reasons>,
    kernel: Option<Denials>,
    source: DenialSource,
    known: HashMap<(Option<u64>, Vec<u8>, Wanted), usize>,
    told: Vec<Told>,
    more: u64,
    next_look: Instant,
}

/// A refusal that was told, and how often it came again.
struct Told {
    denied: Denied,
    again: u64,
}

/// A path that was refused.
pub(super) struct RefusedPath {
    pub(super) judged: Judged,
    pub(super) wanted: Wanted,
}

impl Watch {
    /// Watches with whatever there is.
    pub(super) fn new(reasons: Arc<Reasons>, kernel: Option<Denials>, asks_first: bool) -> Watch {
        let source = match (&kernel, asks_first) {
            (Some(_), _) => DenialSource::Ebpf,
            (None, true) => DenialSource::Seccomp,
            (None, false) => DenialSource::None,
        };
        let (known, told) = (HashMap::new(), Vec::new());
        Watch { reasons, kernel, source, known, told, more: 0, next_look: Instant::now() }
    }

    pub(super) fn source(&self) -> DenialSource {
        self.source
    }

    /// What fails in the namespaces of this process is told from now on.
    pub(super) fn begin(&mut self, pid: u32) -> Result<(), belay_trace::Error> {
        match &mut self.kernel {
            Some(kernel) => kernel.watch(pid, self.reasons.sight().places()),
            None => Ok(()),
        }
    }

    /// The kernel tells nothing after all; whoever asks first still sees everything.
    pub(super) fn give_up(&mut self) {
        self.kernel = None;
        if self.source == DenialSource::Ebpf {
            self.source = DenialSource::None;
        }
    }

    /// What looks at calls before they happen, if that is how it is done.
    pub(super) fn foresight(&self) -> Option<Foresight> {
        (self.source == DenialSource::Seccomp).then(|| Foresight::new(Arc::clone(&self.reasons)))
    }

    /// Everything that failed since the last look and that the jail refused.
    fn look(&mut self) -> Vec<(Denial, RefusedPath)> {
        let mut found = Vec::new();
        if let Some(kernel) = &mut self.kernel {
            kernel.drain(&mut found);
        }
        let judge = |denial: Denial| {
            let operand = path_call(denial.number)?.operands.get(denial.operand)?;
            let wanted = operand.wanted(&denial.arguments, |_| None);
            let path = joined(denial.base.as_deref(), &denial.path);
            let judged = self.reasons.judge(&path, wanted, Some(denial.errno), |_| false)?;
            Some((denial, RefusedPath { judged, wanted: of(wanted) }))
        };
        found.into_iter().filter_map(judge).collect()
    }

    /// The refusal as an event, unless it was told already.
    fn tell(&mut self, denied: Denied) -> Option<Denied> {
        let path = denied.path.as_ref().map(|path| path.bytes().to_vec()).unwrap_or_default();
        let key = (denied.command, path, denied.wanted?);
        if let Some(at) = self.known.get(&key) {
            self.told[*at].again += 1;
            return None;
        }
        if self.told.len() >= TOLD_MAX {
            self.more += 1;
            return None;
        }
        self.known.insert(key, self.told.len());
        self.told.push(Told { denied: denied.clone(), again: 0 });
        Some(denied)
    }

    /// What came again after it was told, as events; and from here on all of it counts.
    fn repeats(&mut self) -> Vec<Denied> {
        let mut repeats = Vec::new();
        for told in self.told.iter_mut().filter(|told| told.again > 0) {
            let count = std::mem::take(&mut told.again);
            told.denied.count += count;
            repeats.push(Denied { count, ..told.denied.clone() });
        }
        repeats
    }

    /// What it comes to.
    pub(super) fn refusals(&self, has_failed: &dyn Fn(u64) -> bool, home: &Path, root: &Path) -> RefusedPaths {
        let mut paths = proposals(self.told.iter().map(|told| &told.denied), has_failed, home, root);
        let more = paths.len().saturating_sub(PROPOSALS_MAX) as u64;
        paths.truncate(PROPOSALS_MAX);
        RefusedPaths { paths, more, untold: self.more + self.kernel.as_ref().map_or(0, Denials::lost) }
    }
}

/// The paths that a run was refused.
#[derive(Default)]
pub(super) struct RefusedPaths {
    /// With what would have allowed them; only the first.
    pub(super) paths: Vec<Proposal>,
    /// How many more there were.
    pub(super) more: u64,
    /// Refusals of which nobody knows the path: not how many paths there were.
    pub(super) untold: u64,
}

fn joined(base: Option<&[u8]>, path: &[u8]) -> PathBuf {
    Path::new(OsStr::from_bytes(base.unwrap_or(b"/"))).join(OsStr::from_bytes(path))
}

fn of(wanted: belay_jail::Wanted) -> Wanted {
    match wanted {
        belay_jail::Wanted::Read => Wanted::Read,
        belay_jail::Wanted::Write => Wanted::Write,
    }
}

/// Looks at calls before they happen.
pub(super) struct Foresight {
    reasons: Arc<Reasons>,
    allowed: HashMap<(PathBuf, belay_jail::Wanted), ()>,
}

impl Foresight {
    pub(super) fn new(reasons: Arc<Reasons>) -> Foresight {
        Foresight { reasons, allowed: HashMap::new() }
    }

    /// The paths that a waiting call will be refused.
    pub(super) fn refused(&mut self, call: &Refused) -> Vec<RefusedPath> {
        let Some(known) = path_call(call.number) else { return Vec::new() };
        // Who cannot be read is left alone.
        let Ok(memory) = call.memory() else { return Vec::new() };
        let mut refused = Vec::new();
        for operand in known.operands {
            let Some(given) = memory.text(call.arguments[usize::from(operand.path)], PATH_BYTES_MAX) else { continue };
            let Some(path) = begin_at(call, operand.directory, &given).filter(|_| !given.is_empty()) else { continue };
            let wanted = operand.wanted(&call.arguments, |at| memory.word(at));
            if self.allows(&path, wanted) {
                continue;
            }
            let judged = self.reasons.judge(&path, wanted, None, |path| is_inside(call.thread, path));
            refused.extend(judged.map(|judged| RefusedPath { judged, wanted: of(wanted) }));
        }
        refused
    }

    fn allows(&mut self, path: &Path, wanted: belay_jail::Wanted) -> bool {
        let key = (path.to_owned(), wanted);
        if self.allowed.contains_key(&key) {
            return true;
        }
        let allows = self.reasons.allows(path, wanted);
        if allows {
            if self.allowed.len() >= ALLOWED_MAX {
                self.allowed.clear();
            }
            self.allowed.insert(key, ());
        }
        allows
    }
}

/// The path from the root; a caller that waits keeps its directories.
fn begin_at(call: &Refused, directory: Option<u8>, given: &[u8]) -> Option<PathBuf> {
    if given.starts_with(b"/") {
        return Some(PathBuf::from(OsStr::from_bytes(given)));
    }
    // Only the lower half of an argument counts.
    let number = directory.map_or(CURRENT, |at| call.arguments[usize::from(at)] as i32);
    let link = match number {
        CURRENT => format!("/proc/{}/cwd", call.thread),
        number => format!("/proc/{}/fd/{number}", call.thread),
    };
    Some(std::fs::read_link(link).ok().filter(|base| base.is_absolute())?.join(OsStr::from_bytes(given)))
}

/// The program that the first line of a script names.
fn interpreter_of(script: &Path) -> Option<PathBuf> {
    // Without waiting, should it be a pipe.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(nonblocking).open(script).ok()?;
    let mut first = Vec::new();
    file.take(SCRIPT_BYTES).read_to_end(&mut first).ok()?;
    let line = first.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let interpreter = line.trim_ascii().split(u8::is_ascii_whitespace).next()?;
    interpreter.starts_with(b"/").then(|| PathBuf::from(OsStr::from_bytes(interpreter)))
}

/// Whether something is at a path, as a thread sees it.
fn is_inside(thread: u32, path: &Path) -> bool {
    let root = PathBuf::from(format!("/proc/{thread}/root"));
    let inside = root.join(path.strip_prefix("/").unwrap_or(path));
    !matches!(inside.symlink_metadata(), Err(error) if error.kind() == std::io::ErrorKind::NotFound)
}

/// Who was refused a path, and how.
pub(super) struct Occasion {
    pub(super) call: &'static str,
    pub(super) pid: u32,
    pub(super) ppid: Option<u32>,
    /// When, if that is not now.
    pub(super) at: Option<At>,
}

impl Supervisor<'_> {
    /// Writes down what the jail refused since the last look.
    pub(super) fn watch_denials(&mut self) {
        if self.denials.as_ref().is_none_or(|watch| Instant::now() < watch.next_look) {
            return;
        }
        self.take_denials();
    }

    fn take_denials(&mut self) {
        let Some(watch) = &mut self.denials else { return };
        watch.next_look = Instant::now() + LOOK;
        let found = watch.look();
        if found.is_empty() {
            return;
        }
        // The tracer may not have told yet who became which command.
        self.catch_up();
        for (denial, refused) in found {
            let call = path_call(denial.number).map_or("a call", |call| call.name);
            let occasion = Occasion { call, pid: denial.pid, ppid: Some(denial.ppid), at: Some(denial.at) };
            self.denied(&occasion, refused);
        }
    }

    /// Writes one refusal down, unless it was told already.
    pub(super) fn denied(&mut self, occasion: &Occasion, refused: RefusedPath) {
        let at = occasion.at.unwrap_or_else(|| self.now());
        let denied = Denied {
            call: occasion.call.to_owned(),
            path: Some(Raw::from(refused.judged.path.as_os_str().as_bytes())),
            errno: refused.judged.errno,
            pid: occasion.pid,
            command: self.commands.of(occasion.pid, occasion.ppid, at),
            wanted: Some(refused.wanted),
            closed: refused.judged.closed,
            absent: refused.judged.absent,
            count: 1,
        };
        let Some(told) = self.denials.as_mut().and_then(|watch| watch.tell(denied)) else { return };
        self.happened(vec![belay_event::Event::new(at, What::Denied(told))]);
    }

    /// After the last command: what is left to be told, and what came again.
    pub(super) fn settle_denials(&mut self) {
        self.take_denials();
        let repeats = self.denials.as_mut().map(Watch::repeats).unwrap_or_default();
        let events: Vec<_> = repeats.into_iter().map(|denied| self.event(What::Denied(denied))).collect();
        if !events.is_empty() {
            self.happened(events);
        }
    }

    /// What the jail hides of a program that could not be executed: itself, where its link leads, or the interpreter that
    /// it names.
    pub(super) fn hidden_program(&self, errno: i32) -> Vec<Proposal> {
        let Some(watch) = &self.denials else { return Vec::new() };
        let cwd = Path::new(OsStr::from_bytes(self.record.cwd.bytes()));
        let Some(name) = self.record.argv.first().map(|name| Path::new(OsStr::from_bytes(name.bytes()))) else {
            return Vec::new();
        };
        let search = self.env.iter().find_map(|variable| variable.strip_prefix(b"PATH=")).unwrap_or_default();
        let dirs = search.split(|byte| *byte == b':').map(|dir| cwd.join(OsStr::from_bytes(dir)));
        let program = match name.as_os_str().as_bytes().contains(&b'/') {
            true => Some(cwd.join(name)),
            false => dirs.map(|dir| dir.join(name)).find(|program| program.is_file()),
        };
        let interpreter = program.as_deref().and_then(interpreter_of);
        let judge = |path: PathBuf| {
            let judged = watch.reasons.judge(&path, belay_jail::Wanted::Read, Some(errno), |_| false)?;
            Some(Denied {
                call: "execve".to_owned(),
                path: Some(Raw::from(judged.path.as_os_str().as_bytes())),
                errno,
                pid: 0,
                command: None,
                wanted: Some(Wanted::Read),
                closed: judged.closed,
                absent: judged.absent,
                count: 1,
            })
        };
        let denied: Vec<Denied> = program.into_iter().chain(interpreter).filter_map(judge).collect();
        proposals(&denied, &|_| true, &self.den.home, Path::new(OsStr::from_bytes(self.record.root.bytes())))
    }

    /// What would have allowed what was refused, with the words of who asked.
    pub(super) fn refused_paths(&self) -> RefusedPaths {
        let Some(watch) = &self.denials else { return RefusedPaths::default() };
        let root = PathBuf::from(OsStr::from_bytes(self.record.root.bytes()));
        let has_failed = |command| self.commands.has_failed(command);
        let mut all = watch.refusals(&has_failed, &self.den.home, &root);
        for one in &mut all.paths {
            one.argv = one.command.map(|command| self.commands.words(command)).unwrap_or_default();
        }
        all
    }
}
