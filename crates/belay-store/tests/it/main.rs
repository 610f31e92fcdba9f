//! The store on real directories, against an observer that shares no code with it.

mod capture;
mod crash;
mod enospc;
mod faulty;
mod proof;
mod restore;
mod twin;
mod world;
