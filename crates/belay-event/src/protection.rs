//! The protection that is really in force, and where it falls short.

use serde::{Deserialize, Serialize};

use crate::raw::Raw;

/// What protects a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protection {
    /// What keeps the agent in.
    pub isolation: Isolation,
    /// How commands are seen.
    pub exec: ExecSource,
    /// How file changes are seen.
    pub files: FileSource,
    /// How paths that a jail refuses are seen; absent where there is no jail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denials: Option<DenialSource>,
    /// Who the command is, where root starts it and it is somebody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<Person>,
    /// Whether snapshots are taken.
    pub snapshots: bool,
    /// Whether the whole tree of processes can be stopped at once.
    pub freeze: bool,
    /// Everything that is weaker than it could be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<Degraded>,
}

/// Who a command is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The user's number.
    pub uid: u32,
    /// The group's number.
    pub gid: u32,
    /// The user's name, if there is an account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The home that it has.
    pub home: Raw,
}

/// What keeps an agent in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Nothing: tracing and snapshots only.
    None,
    /// Namespaces, Landlock, seccomp.
    Jail,
    /// Landlock and seccomp alone.
    Landlock,
    /// A virtual machine.
    Vm,
}

/// How paths that a jail refuses are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DenialSource {
    /// They are not.
    None,
    /// BPF: whatever fails is seen.
    Ebpf,
    /// A filter of system calls that asks first: whatever is about to fail is seen.
    Seccomp,
}

/// How commands are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExecSource {
    /// Not at all.
    None,
    /// By a BPF program in the kernel.
    Ebpf,
    /// By tracing the processes.
    Ptrace,
}

/// How file changes are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileSource {
    /// Not at all; snapshots look at the whole tree.
    None,
    /// By a mark on the filesystem; the kernel names the process.
    Fanotify,
    /// By a watch on every directory; the kernel does not name the process.
    Inotify,
}

impl FileSource {
    /// The source as it is printed and recorded.
    pub fn name(self) -> &'static str {
        match self {
            FileSource::None => "none",
            FileSource::Fanotify => "fanotify",
            FileSource::Inotify => "inotify",
        }
    }
}

/// A protection that is weaker than it could be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Degraded {
    /// Which: `exec`, `files`, `freeze`, `jail`, `snapshots`.
    pub layer: String,
    /// Why, and what to do about it.
    pub why: String,
}
