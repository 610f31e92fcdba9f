//! The session crate against real directories and the real store.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod bed;
mod budget;
mod crowd;
mod health;
mod names;
mod paths;
mod power;
mod recover;
mod rewind;
mod snapshots;
#[allow(dead_code, reason = "the store's tests use more of it")]
#[path = "../../../belay-store/tests/it/twin.rs"]
mod twin;
mod workspaces;
