//! Tracers on real processes and files: every command and every change accounted for.
//!
//! A case is written once and takes the engine as a parameter; a file for each engine says which cases it must pass.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

mod files;
mod flood;
mod kernel;
mod mirror;
mod orphans;
mod privileged;
mod processes;
mod terminal;
mod unprivileged;
mod world;
