//! What a snapshot tool must keep, as a program that can be pointed at any of them.
//!
//! Each property is one small workspace that is made, captured by the tool, wrecked, brought back by the tool and looked
//! at with plain system calls. Nothing here depends on another belay crate: belay is judged as any other tool is, by
//! what it leaves on the disk. Nothing outside of the directory that a trial is given is ever written.

pub mod at;
mod compare;
mod preset;
mod property;
mod stage;
mod tool;
mod trial;
mod walk;

pub use compare::{Ignore, diff_worlds};
pub use preset::{PRESETS, Preset};
pub use property::{GROUPS, LAWS, Property, properties};
pub use stage::MadeAs;
pub use tool::{Call, Tool};
pub use trial::{Outcome, Trials, Verdict, try_all, try_one};
pub use walk::{Kind, Seen, World, walk};

/// A name of any bytes as text on one line.
pub fn show(name: &[u8]) -> String {
    name.escape_ascii().to_string()
}
