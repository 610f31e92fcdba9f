//! Safe wrappers for the kernel facilities that belay needs.
//!
//! Invariants: everything inside a workspace is reached from an open directory handle ([`Root`], [`Dir`]),
//! no symlink is ever followed on the way, and nothing here prints, reads the environment or keeps policy.
//! Only this crate may write `unsafe`, and only the modules that say so at their top do.

mod dir;
mod file;
mod filesystem;
mod interrupt;
mod lock;
mod map;
mod process;
mod resolve;
mod root;
mod sandbox;
mod stat;

pub use dir::{Dir, InodeFlags};
pub use file::{
    advise_sequential, clone_file, data_extents, file_xattrs, punch_or_extend, set_file_mtime, watch_mappings,
};
pub use filesystem::{FileSystem, FileSystemKind};
pub use interrupt::on_interrupt;
pub use lock::{FileLock, LockKind, lock_file, try_lock_file};
pub use map::{Mapped, map_readonly};
pub use process::{
    boot_id, is_root, now, now_coarse, peak_rss_bytes, process_alive, raise_open_files_limit, self_start_ticks,
};
pub use root::Root;
pub use sandbox::{
    Attributes, HeldProgram, Instruction, Limited, Namespaces, Recipe, RunningProgram, Stage, StartError, Step,
    hold_sandboxed, landlock_abi,
};
pub use stat::{FileType, Stat, Time, stat_file};
