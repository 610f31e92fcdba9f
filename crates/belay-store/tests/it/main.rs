//! The store on real directories.

mod capture;
mod world;
