//! The append-only, hash-chained record of a run in `session.db`, and the questions one may ask it.
//!
//! Invariants:
//! - an event is recorded whole or not at all, in the order in which it was handed in, and never changed, but for
//!   words that are erased on purpose, which a signed event tells;
//! - every event commits to the one before, and what a table shows can be derived from the events alone;
//! - what [`Writer::sync`] returned for survives the death of the process and of the machine;
//! - whoever hands in events never waits for the disk for long; what had to be given up is counted in the record.

mod bundle;
mod chain;
mod erase;
mod error;
mod exec_lines;
mod file_row;
mod key;
mod ledger;
mod notebook;
mod query;
mod reader;
mod recover;
mod schema;
mod state;
mod stored;
mod verify;
mod writer;

pub use bundle::{Exported, verify_bundle};
pub use chain::Head;
pub use erase::{count_erasable, erase};
pub use error::{Error, Result};
pub use key::{Key, PublicKey};
pub use notebook::Notebook;
pub use query::{Answer, Cell};
pub use reader::{Change, Command, Entry, Reader, Snapshot};
pub use recover::{recover, recover_with};
pub use verify::{Damage, Fault, Verdict};
pub use writer::Writer;
