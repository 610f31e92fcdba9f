//! The store on real directories, against an observer that shares no code with it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod capture;
mod crash;
mod deeds;
mod enospc;
mod faulty;
mod flips;
mod many;
mod model;
mod mounts;
mod proof;
mod race;
mod restore;
mod rules;
mod twin;
mod world;
