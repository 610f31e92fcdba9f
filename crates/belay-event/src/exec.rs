//! Commands: a process image from its `execve` to its end.
//!
//! A command has a number, counted from 1 in the order in which the run's commands were seen. A fork that never
//! executes anything belongs to the command that forked it.

use serde::{Deserialize, Serialize};

use crate::raw::Raw;

/// A process became a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exec {
    /// Its number in the run.
    pub command: u64,
    /// The command that started it; none for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u64>,
    /// Its process, as the host counts.
    pub pid: u32,
    /// Its parent process.
    pub ppid: u32,
    /// Whose it is.
    pub uid: u32,
    /// All arguments, the zeroth too.
    pub argv: Vec<Raw>,
    /// The program that really runs: for a script its interpreter.
    pub exe: Raw,
    /// Where it was started.
    pub cwd: Raw,
    /// Whether the arguments were longer than could be recorded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// A command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Its number in the run.
    pub command: u64,
    /// Its process.
    pub pid: u32,
    /// How.
    pub ended: Ended,
    /// How long it ran, in nanoseconds.
    pub duration_ns: u64,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Its process executed another command, of this number.
    Replaced(u64),
}
