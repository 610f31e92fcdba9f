//! The protection that is really in force, and where it falls short.

use serde::{Deserialize, Serialize};

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
    /// Whether snapshots are taken.
    pub snapshots: bool,
    /// Whether the whole tree of processes can be stopped at once.
    pub freeze: bool,
    /// Everything that is weaker than it could be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<Degraded>,
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
