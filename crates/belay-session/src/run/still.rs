//! Holding the runs of a workspace still while its files are swapped.
//!
//! A run goes on when the connection to it is closed, so that a rollback that dies leaves nobody frozen.

use std::time::Duration;

use belay_event::Rewound;

use super::client::RunClient;
use super::wire::{Answer, Request};
use crate::error::{Error, Result};
use crate::workspace::Workspace;

/// How long a run may take to hold still.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs that hold still; they go on when this is dropped.
#[derive(Default)]
pub(crate) struct Still(Vec<RunClient>);

impl Workspace<'_> {
    /// Holds every run of this workspace still.
    pub(crate) fn hold_still(&self) -> Result<Still> {
        let mut still = Still::default();
        for run in self.home().open_runs(self.id())?.into_iter().filter(|run| run.is_live()) {
            let refused = |why: String| Error::NotFrozen { run: run.id.clone(), why };
            // One that ended since, or has not begun yet, has no socket and changes nothing.
            let Ok(mut client) = RunClient::connect(&self.home().run_dir(&run.id)) else { continue };
            client.set_patience(PATIENCE).map_err(|error| refused(error.to_string()))?;
            client.ask(&Request::Freeze).map_err(|error| refused(error.to_string()))?;
            match await_still(&mut client) {
                Ok(true) => still.0.push(client),
                Ok(false) => {}
                Err(why) => return Err(refused(why)),
            }
        }
        Ok(still)
    }
}

/// Whether the run holds still; false if it ended instead.
fn await_still(client: &mut RunClient) -> std::result::Result<bool, String> {
    loop {
        match client.hear_answer() {
            Ok(Some(Answer::Frozen)) => return Ok(true),
            Ok(Some(Answer::Refused(why))) => return Err(why),
            Ok(Some(Answer::Ended(_)) | None) => return Ok(false),
            Ok(Some(_)) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
}

impl Still {
    /// Lets the runs go on, and tells them what was done.
    pub(crate) fn release(mut self, rewound: &Rewound) {
        for client in &mut self.0 {
            // A run that does not listen any more goes on when the connection closes.
            let _ = client.ask(&Request::Thaw(Some(rewound.clone())));
            let _ = client.hear_answer();
        }
    }
}
