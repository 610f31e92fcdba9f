//! `exec.jsonl`: one object a line for each command, written when it has ended.

use belay_event::{At, Ended, Exec, Exit, Raw};
use serde::Serialize;

use crate::state::{Running, State};

/// The file's name in a run's directory.
pub(crate) const EXEC_LINES: &str = "exec.jsonl";

/// A line; the order of the fields is the order in the file.
#[derive(Serialize)]
struct Line<'a> {
    timestamp: At,
    pid: u32,
    ppid: u32,
    command: &'a Raw,
    args: &'a [Raw],
    working_dir: &'a Raw,
    exit_code: Option<i32>,
    duration: Option<f64>,
    number: u64,
    parent: Option<u64>,
    exe: &'a Raw,
    uid: u32,
    signal: Option<i32>,
    replaced_by: Option<u64>,
    duration_ns: Option<u64>,
    cut: bool,
}

/// How a command ended, taken apart.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct End {
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) replaced_by: Option<u64>,
    pub(crate) duration_ns: Option<u64>,
}

impl End {
    pub(crate) fn of(exit: &Exit) -> End {
        let end = End { duration_ns: Some(exit.duration_ns), ..End::default() };
        match exit.ended {
            Ended::Code(code) => End { exit_code: Some(code), ..end },
            Ended::Signal(signal) => End { signal: Some(signal), ..end },
            Ended::Replaced(number) => End { replaced_by: Some(number), ..end },
        }
    }

    /// The duration in seconds.
    pub(crate) fn seconds(self) -> Option<f64> {
        self.duration_ns.map(|nanos| nanos as f64 / 1e9)
    }
}

/// The zeroth argument and the others; the program where there are none.
pub(crate) fn words(exec: &Exec) -> (&Raw, &[Raw]) {
    exec.argv.split_first().unwrap_or((&exec.exe, &[]))
}

/// Adds the line of a command that ended, or that did not.
pub(crate) fn push(lines: &mut Vec<u8>, running: &Running, exit: Option<&Exit>) {
    let exec = &running.exec;
    let (command, args) = words(exec);
    let end = exit.map(End::of).unwrap_or_default();
    let line = Line {
        timestamp: running.at,
        pid: exec.pid,
        ppid: exec.ppid,
        command,
        args,
        working_dir: &exec.cwd,
        exit_code: end.exit_code,
        duration: end.seconds(),
        number: exec.command,
        parent: exec.parent,
        exe: &exec.exe,
        uid: exec.uid,
        signal: end.signal,
        replaced_by: end.replaced_by,
        duration_ns: end.duration_ns,
        cut: exec.cut,
    };
    serde_json::to_writer(&mut *lines, &line).expect("a line has nothing that JSON could not say");
    lines.push(b'\n');
}

/// Adds the lines of all commands that have not ended.
pub(crate) fn push_running(lines: &mut Vec<u8>, state: &State) {
    state.running.values().for_each(|running| push(lines, running, None));
}
