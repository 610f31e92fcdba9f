//! The session crate against real directories and the real store.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod agents;
mod archives;
mod backends;
mod bed;
mod bereft;
mod blame;
mod budget;
mod cause;
mod crash;
mod crowd;
#[path = "../../../belay-store/tests/it/faulty.rs"]
#[allow(dead_code, reason = "the store's tests use all of it")]
mod faulty;
mod full;
mod health;
mod losses;
mod moves;
mod names;
mod native;
mod past;
mod paths;
mod power;
mod recover;
mod rewind;
mod shuffles;
mod snapshots;
#[path = "../../../belay-store/tests/it/twin.rs"]
#[allow(dead_code, reason = "the store's tests use all of it")]
mod twin;
mod workspaces;
