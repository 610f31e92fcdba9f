//! Finding the first snapshot at which a command fails, and what happened just before it.
//!
//! Each snapshot is tried in a checkout that is thrown away: a layer above the workspace where that is possible, so that
//! dependencies which no snapshot captures are there and only differences are written, else an extracted copy. Invariants:
//! the workspace is only read; the command sees the checkout alone where there is a jail; what a killed bisection
//! left is collected by the next command.

mod checkout;
mod search;

use crate::error::{Error, Result};
use crate::record::{Kind, Snapshot};
use crate::workspace::{Work, Workspace};

pub use checkout::{Checkout, Program};
pub use search::{Search, Turn, Verdict};

impl Workspace<'_> {
    /// The snapshots from one to another that are worth trying, oldest first; without an end, to the present.
    ///
    /// What belay saved before a rollback is no step of anybody's work, and of equal neighbours one is enough.
    pub fn suspects(&self, since: &str, until: Option<&str>, work: Work<'_>) -> Result<Vec<Snapshot>> {
        let since = self.resolve(since)?;
        let until = match until {
            Some(until) => self.resolve(until)?,
            None => self.fork_snapshot("the present, before a bisection", work)?,
        };
        let timeline = self.timeline()?;
        let is_between = |one: &&Snapshot| one.number > since.number && one.number < until.number;
        let between = timeline.snapshots().iter().filter(is_between).filter(|one| one.kind != Kind::Safety);
        let mut suspects = vec![since.clone()];
        suspects.extend(between.cloned());
        if until.number > since.number {
            suspects.push(until);
        }
        suspects.dedup_by(|later, earlier| later.root == earlier.root);
        if suspects.len() < 2 {
            return Err(Error::NothingTo("bisect"));
        }
        Ok(suspects)
    }
}
