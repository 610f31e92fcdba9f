//! Watches a process tree and a workspace, and yields events: commands and file changes, joined.
//!
//! Invariants:
//! - nothing of the run is unseen: a tracer is attached before the first instruction of the command, or it says so;
//! - what is lost is counted and told ([`belay_event::What::Lost`]), and makes the dirty set incomplete;
//! - nothing from outside the run is reported as the run's: a change by somebody else has no command.

mod clock;
mod ebpf;
mod error;
mod fanotify;
mod hold;
mod inotify;
mod mapped;
mod options;
mod privileged;
mod ptrace;
mod table;
mod team;
mod tracer;
mod unprivileged;

pub use ebpf::{Denial, Denials, PathArgument};
pub use error::{Error, Result};
pub use hold::{GateNews, Held, Holding, IsMeant};
pub use mapped::mapped_by_anybody;
pub use options::{Dirty, Engine, Group, Options, Sink};
pub use tracer::{Totals, Tracer};
