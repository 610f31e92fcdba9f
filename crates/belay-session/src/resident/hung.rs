//! A helper that gives no sign of life: what a hook does about it, and what is said.
//!
//! One that somebody stopped keeps whatever it holds, locks included, from everybody else; so it is ended, which loses
//! nothing that it had answered. One that only does not answer is left to itself.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::agent::overwrite;
use crate::error::{Error, Result};
use crate::record::Kind;
use crate::workspace::Workspace;

const SIGKILL: i32 = rustix::process::Signal::KILL.as_raw();
/// A process that is killed is gone in a moment.
const DYING: Duration = Duration::from_secs(2);

/// A helper that did not answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hung {
    /// When.
    pub at: Timestamp,
    /// Its process.
    pub pid: u32,
    /// Whether somebody had stopped it, and it was ended.
    pub ended: bool,
}

impl Workspace<'_> {
    /// Deals with a helper that did not answer, and remembers that for whoever looks.
    pub fn mind_hung(&self, pid: u32) -> Result<()> {
        let ended = belay_sys::is_stopped(pid) && end_hung(pid);
        let hung = Hung { at: self.home.options.clock.now(), pid, ended };
        let bytes = serde_json::to_vec(&hung).expect("it is plain data with text keys");
        overwrite(self.home.disk(), &self.file("hung"), &bytes)
    }

    /// The last helper that did not answer in this turn.
    pub fn hung(&self) -> Result<Option<Hung>> {
        let name = self.file("hung");
        let hung: Hung = match self.home.disk().read(&name) {
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(hung) => hung,
                Err(_) => return Ok(None),
            },
            Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::InvalidData) => {
                return Ok(None);
            }
            Err(error) => return Err(Error::disk("read", &name)(error)),
        };
        let timeline = self.timeline()?;
        let turn = timeline.snapshots().iter().rev().find(|snapshot| snapshot.kind == Kind::Turn);
        Ok(Some(hung).filter(|hung| turn.is_none_or(|turn| turn.created_at < hung.at)))
    }
}

/// Ends a helper that does not answer; whether it is gone.
pub fn end_hung(pid: u32) -> bool {
    let end = || -> std::io::Result<bool> {
        let process = belay_sys::Process::open(pid)?;
        process.signal(SIGKILL)?;
        process.wait(Some(DYING))
    };
    end().unwrap_or(false)
}
