//! One table of operations, spoken as MCP: what an agent may ask of belay, and how it is told.
//!
//! The only crate that knows JSON-RPC, and the only one that is async. Invariants:
//! - store work never runs on the thread that reads and answers messages (`crew`);
//! - an operation is written once, in the table (`ops`): its name, its words, its parameters, what it may change;
//! - nothing here prints, and nothing but the protocol goes to the output.

mod arguments;
mod crew;
mod error;
mod mcp;
mod ops;
mod output;
mod page;
mod reply;
mod words;

pub use error::{Error, Result};
pub use mcp::{Desk, Patch, serve};
pub use ops::Need;
