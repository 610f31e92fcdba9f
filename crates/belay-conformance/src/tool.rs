//! A snapshot tool as it is called: one command that captures the workspace, and one that brings it back.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

/// Bytes of what a tool says that are looked at.
const SAID_BYTES_MAX: i64 = 4096;
const POLL: Duration = Duration::from_millis(2);
/// What steers git elsewhere; a trial must never reach a repository of whoever starts it.
const GIT_STEERING: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// A tool to be judged.
#[derive(Clone, Debug)]
pub struct Tool {
    /// What it is called in the verdict.
    pub name: String,
    /// Captures the workspace.
    pub snapshot: Call,
    /// Brings the workspace back as it was captured.
    pub restore: Call,
    /// Variables that are set for it; `{store}` and `{workspace}` stand for their paths.
    pub set: Vec<(String, String)>,
    /// Variables that it must not see.
    pub unset: Vec<OsString>,
}

/// How a command is written.
#[derive(Clone, Debug)]
pub enum Call {
    /// A line for the shell, in which `{store}` and `{workspace}` stand for their paths.
    Line(String),
    /// A program and its words, in which they stand for them likewise.
    Words(Vec<OsString>),
}

impl Tool {
    /// A tool of two shell lines.
    pub fn of_lines(name: &str, snapshot: &str, restore: &str) -> Tool {
        let line = |line: &str| Call::Line(line.to_owned());
        Tool {
            name: name.to_owned(),
            snapshot: line(snapshot),
            restore: line(restore),
            set: Vec::new(),
            unset: Vec::new(),
        }
    }

    /// The program that takes `snapshot` or `restore`, the workspace and the store as its last three words.
    pub fn of_program(words: &[OsString]) -> Tool {
        let call = |verb: &str| {
            let last = [verb, "{workspace}", "{store}"].map(OsString::from);
            Call::Words(words.iter().cloned().chain(last).collect())
        };
        let name = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        Tool { name, snapshot: call("snapshot"), restore: call("restore"), set: Vec::new(), unset: Vec::new() }
    }
}

/// Where a tool is called, and for how long it may work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground<'a> {
    pub(crate) base: &'a Path,
    pub(crate) workspace: &'a Path,
    pub(crate) store: &'a Path,
    pub(crate) limit: Duration,
    /// Set when whoever waits does so no more.
    pub(crate) stop: &'a AtomicBool,
}

impl Ground<'_> {
    /// Calls one of the tool's commands in the workspace; what went wrong, if something did.
    pub(crate) fn call(&self, tool: &Tool, call: &Call) -> io::Result<Option<String>> {
        let mut command = self.command(call);
        for name in GIT_STEERING.iter().map(OsString::from).chain(tool.unset.iter().cloned()) {
            command.env_remove(name);
        }
        // A workspace without a repository must not be taken for a part of one that lies above it.
        command.env("GIT_CEILING_DIRECTORIES", self.base);
        command.envs(tool.set.iter().map(|(name, value)| (name, self.filled(value.as_bytes(), false))));
        self.wait(command)
    }

    fn command(&self, call: &Call) -> Command {
        match call {
            Call::Line(line) => {
                let mut command = Command::new("sh");
                command.arg("-c").arg(self.filled(line.as_bytes(), true));
                command
            }
            Call::Words(words) => {
                let mut words = words.iter().map(|word| self.filled(word.as_bytes(), false));
                let mut command = Command::new(words.next().unwrap_or_default());
                command.args(words);
                command
            }
        }
    }

    /// The text with the paths in their places, for a shell if it is one that reads it.
    fn filled(&self, text: &[u8], for_shell: bool) -> OsString {
        let path = |path: &Path| if for_shell { quoted(path) } else { path.as_os_str().to_owned() };
        let places = [(&b"{workspace}"[..], path(self.workspace)), (&b"{store}"[..], path(self.store))];
        let mut filled = OsString::new();
        let mut rest = text;
        while let Some(first) = rest.first() {
            let found = places.iter().find(|(name, _)| rest.starts_with(name));
            let (taken, length) = match found {
                Some((name, path)) => (path.as_os_str(), name.len()),
                None => (std::ffi::OsStr::from_bytes(std::slice::from_ref(first)), 1),
            };
            filled.push(taken);
            rest = &rest[length..];
        }
        filled
    }

    fn wait(&self, mut command: Command) -> io::Result<Option<String>> {
        // A file, not a pipe: whatever a tool leaves running would hold a pipe open.
        let mut said =
            File::options().read(true).write(true).create(true).truncate(true).open(self.base.join("said"))?;
        let output = || said.try_clone().map(Stdio::from);
        command.current_dir(self.workspace).stdin(Stdio::null()).stdout(output()?).stderr(output()?);
        let program = command.get_program().to_owned();
        let mut child = command.process_group(0).spawn().map_err(|error| {
            io::Error::new(error.kind(), format!("cannot start {}: {error}", program.to_string_lossy()))
        })?;
        let ended = wait_for(&mut child, self.limit, self.stop)?;
        Ok(match ended {
            Some(status) if status.success() => None,
            Some(status) => Some(format!("{status}: {}", last_line(&mut said)?)),
            None => Some(format!("stopped, as it had not ended after {} s", self.limit.as_secs())),
        })
    }
}

/// Waits for the end, and makes an end of it when the time is over.
fn wait_for(child: &mut Child, limit: Duration, stop: &AtomicBool) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let stopped = stop.load(Ordering::Relaxed);
        if stopped || begun.elapsed() > limit {
            let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            if let Some(group) = group {
                // It may have ended in this very moment.
                let _ = rustix::process::kill_process_group(group, Signal::KILL);
            }
            child.wait()?;
            return if stopped { Err(io::ErrorKind::Interrupted.into()) } else { Ok(None) };
        }
        std::thread::sleep(POLL);
    }
}

fn last_line(said: &mut File) -> io::Result<String> {
    let length = i64::try_from(said.metadata()?.len()).unwrap_or(i64::MAX);
    said.seek(SeekFrom::End(-length.min(SAID_BYTES_MAX)))?;
    let mut bytes = Vec::new();
    said.read_to_end(&mut bytes)?;
    let line = bytes.split(|byte| *byte == b'\n').rfind(|line| !line.trim_ascii().is_empty());
    Ok(line.map(|line| crate::show(line.trim_ascii())).unwrap_or_else(|| "it said nothing".to_owned()))
}

fn quoted(path: &Path) -> OsString {
    let mut quoted = OsString::from("'");
    for (at, part) in path.as_os_str().as_bytes().split(|byte| *byte == b'\'').enumerate() {
        if at > 0 {
            quoted.push("'\\''");
        }
        quoted.push(std::ffi::OsStr::from_bytes(part));
    }
    quoted.push("'");
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    static GO_ON: AtomicBool = AtomicBool::new(false);

    fn ground(base: &Path) -> Ground<'_> {
        Ground { base, workspace: base, store: Path::new("/st'ore"), limit: Duration::from_secs(20), stop: &GO_ON }
    }

    #[test]
    fn paths_take_their_places_and_a_shell_cannot_misread_them() {
        let base = tempfile::tempdir().unwrap();
        let ground = ground(base.path());
        assert_eq!(ground.filled(b"cp {store}/x {y}", true), OsString::from("cp '/st'\\''ore'/x {y}"));
        assert_eq!(ground.filled(b"{store}", false), OsString::from("/st'ore"));
    }

    #[test]
    fn what_goes_wrong_is_told_and_what_hangs_is_ended() {
        let base = tempfile::tempdir().unwrap();
        let tool = Tool::of_lines("x", "echo first; echo 'no space' >&2; exit 3", "sleep 1000 & sleep 1000");
        let mut ground = ground(base.path());
        let failed = ground.call(&tool, &tool.snapshot).unwrap();
        assert_eq!(failed.as_deref(), Some("exit status: 3: no space"));
        ground.limit = Duration::from_millis(100);
        let hung = ground.call(&tool, &tool.restore).unwrap();
        assert!(hung.is_some_and(|why| why.starts_with("stopped")));
        let none = Tool::of_program(&["/nowhere/at/all".into()]);
        assert!(ground.call(&none, &none.snapshot).unwrap_err().to_string().contains("cannot start /nowhere"));
    }
}
