//! A turn in the middle of which the machine went down.
//!
//! Snapshots are durable when a hook is answered; what the log says of a turn is when the turn ends. So a machine that goes
//! down may take the last steps of the log with it, and that is said.

use belay_event::{At, Degraded};
use jiff::{SignedDuration, Timestamp};

use crate::error::Result;
use crate::record::Kind;
use crate::workspace::Workspace;

/// Clocks are set right by this much without anybody having gone down.
const CLOCK_STEP: SignedDuration = SignedDuration::from_secs(2);

/// A turn whose end was never told because the machine went down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenOff {
    /// Its number.
    pub turn: u64,
    /// When it began.
    pub at: Timestamp,
}

impl BrokenOff {
    /// What is said of it in the log.
    pub(super) fn said(&self) -> Degraded {
        let why = format!("the machine went down during @turn-{}: the log of it may lack its last steps", self.turn);
        Degraded { layer: "log".to_owned(), why }
    }
}

impl Workspace<'_> {
    /// The latest turn, if the machine went down before it had ended.
    pub fn broken_off(&self) -> Result<Option<BrokenOff>> {
        let timeline = self.timeline()?;
        let mut newest_first = timeline.snapshots().iter().rev();
        let Some(begun) = newest_first.find(|snapshot| snapshot.kind == Kind::Turn) else { return Ok(None) };
        let (Some(turn), Some(run)) = (begun.cause.turn, &begun.cause.run) else { return Ok(None) };
        if begun.created_at + CLOCK_STEP > booted_at(self.home.options.clock.now()) {
            return Ok(None);
        }
        let is_end = |snapshot: &&crate::record::Snapshot| {
            snapshot.number > begun.number && snapshot.kind == Kind::Final && snapshot.cause.run.as_ref() == Some(run)
        };
        let is_told_end = |(at, _): &(At, String)| at.timestamp() >= begun.created_at;
        let has_ended = timeline.snapshots().iter().rev().any(|snapshot| is_end(&snapshot))
            || self.ends_of_turns(run).iter().any(is_told_end);
        // A run that belay supervises is put in order when it is found dead.
        let is_told = self.home.run(run).is_ok_and(|run| run.supervisor.is_none());
        Ok((is_told && !has_ended).then_some(BrokenOff { turn, at: begun.created_at }))
    }
}

fn booted_at(now: Timestamp) -> Timestamp {
    let since = i64::try_from(belay_sys::boot_nanos()).unwrap_or(i64::MAX);
    now.checked_sub(SignedDuration::from_nanos(since)).unwrap_or(now)
}
