//! Records of runs, through the crate's own doors.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on may panic; one talks to its parent"
)]

mod bundles;
mod erasing;
mod events;
mod killed;
mod questions;
mod recording;
mod tampering;
mod trouble;
