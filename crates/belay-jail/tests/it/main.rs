//! What a confined program can and cannot do, tried on the real kernel.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod comfort;
mod covered;
mod escape;
mod held;
mod kept;
mod rules_alone;
mod storm;
mod tools;
mod world;
