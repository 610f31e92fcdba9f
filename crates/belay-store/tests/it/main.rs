//! The store on real directories, against an observer that shares no code with it.

mod capture;
mod restore;
mod world;
