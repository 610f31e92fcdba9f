//! Safe wrappers for the kernel facilities that belay needs.
//!
//! Invariants: everything inside a workspace is reached from an open directory handle ([`Root`], [`Dir`]),
//! no symlink is ever followed on the way, and nothing here prints, reads the environment or keeps policy.
//! Only this crate may write `unsafe`, and only the modules that say so at their top do.

mod account;
mod bell;
mod beside;
pub mod bpf;
pub mod btrfs;
mod cgroup;
mod dir;
pub mod fanotify;
mod file;
mod filesystem;
mod gate;
mod handle;
pub mod inotify;
mod interrupt;
mod limits;
mod lock;
mod map;
mod mounts;
mod pidfd;
mod process;
pub mod ptrace;
mod pty;
mod resolve;
mod root;
mod sandbox;
mod sha256;
mod signals;
mod spawn;
mod stat;
mod wait;
mod words;
pub mod zfs;

pub use account::{Account, account};
pub use bell::Bell;
pub use beside::Beside;
pub use cgroup::{Cgroup, join as join_cgroup};
pub use dir::{Dir, InodeFlags};
pub use file::{
    UNWAITED, advise_sequential, begin_writing_out, clone_file, clone_range, data_extents, file_xattrs,
    punch_or_extend, set_file_mtime, watch_mappings,
};
pub use filesystem::{FileSystem, FileSystemKind};
pub use gate::{Gate, GatePlan, Knock, Members};
pub use handle::{Handle, Located, handle_of, open_handle, path_of};
pub use interrupt::{on_interrupt, until_interrupt};
pub use limits::{limit_address_space, limit_processes_of_user};
pub use lock::{FileLock, LockKind, lock_file, try_lock_file};
pub use map::{Mapped, map_readonly};
pub use mounts::{Shows, mounts_about, mounts_beneath};
pub use pidfd::{
    Exit, Process, Turn, become_subreaper, descendants, reap_children, signal_group, signal_process, survive_terminal,
};
pub use process::{
    boot_id, boot_nanos, check_writable, is_in_vfork, is_root, is_stopped, now, now_coarse, peak_rss_bytes,
    process_alive, raise_open_files_limit, self_start_ticks, start_ticks, user_id,
};
pub use pty::{
    Pty, RawMode, Size, foreground_group, is_foreground, is_hung_up, open_pty, set_terminal_size, take_terminal,
    terminal_size,
};
pub use root::Root;
pub use sandbox::{
    Attributes, Door, HeldProgram, Instruction, Limited, Maps, Memory, Namespaces, Recipe, Refusals, Refused,
    RunningProgram, Stage, StartError, Step, hold_sandboxed, landlock_abi,
};
pub use sha256::{Sha256Block, sha256_side_by_side};
pub use signals::{catch_signals, suspend_job, suspend_self};
pub use spawn::{Held, Launch, close_inherited, hold, inherited, is_findable};
pub use stat::{FileType, Stat, Time, stat_file};
pub use wait::{wait_readable, write_if_room};
pub use words::plain;
