//! Turns a policy into a confined process: namespaces, Landlock, seccomp, limits; applies exactly what it is given.
//!
//! Invariants:
//! - what no grant names cannot be reached: the root that a program sees is composed of what was granted;
//! - a program is held before its first instruction, with everything already in force, so that a tracer can attach;
//! - what is weaker than the policy says is told by [`Held::degraded`], and never happens in silence;
//! - nothing is decided here: which paths, which limits and whose identity are the caller's.

mod calls;
mod compose;
mod confine;
mod covers;
mod environment;
mod error;
mod filter;
mod kept;
mod places;
mod policy;
mod rights;
mod sight;

pub use belay_sys::{Refusals, Refused};
pub use calls::{Operand, PATH_CALLS, PathCall, Wanted, path_call};
pub use confine::{Held, Launch, Layer, Running, hold, merged, merged_writable};
pub use covers::Covers;
pub use environment::scrub;
pub use error::{Error, Result};
pub use filter::{DENIED_CALLS, DeniedCall, denied_call, is_refused, name_of_call, sets_modes};
pub use kept::{Change, kept_changes};
pub use places::{Followed, follow};
pub use policy::{Access, Grant, Identity, Kept, Limits, Network, Policy, Replaced, Shown};
pub use sight::{Seen, Sight};
