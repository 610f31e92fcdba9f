//! The session crate against real directories and the real store.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod bed;
mod budget;
mod crowd;
mod health;
mod names;
mod paths;
mod recover;
mod rewind;
mod snapshots;
mod workspaces;
