//! The way back: what it brings back, what it never touches, and how it ends when it is interrupted.

mod attributes;
pub(crate) mod bed;
mod claims;
mod crash;
mod enemies;
mod extract;
mod faults;
mod laws;
mod links;
mod retype;
mod rights;
mod share;
mod spared;
