//! Holding the runs of a workspace still while its files are swapped.
//!
//! A run goes on when the connection to it is closed, so that a rollback that dies leaves nobody frozen. What outlived its run
//! has nobody who would see that; the command that finishes the rollback lets it go on.

use std::time::Duration;

use belay_event::Rewound;
use belay_sys::Cgroup;

use super::client::RunClient;
use super::record::RunRecord;
use super::wire::{Answer, Request};
use super::{halt, tree};
use crate::error::{Error, Result};
use crate::workspace::Workspace;

/// How long a run may take to hold still.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long what outlived a run may take to.
const SURVIVORS_TIME_MAX: Duration = Duration::from_secs(5);

/// Runs that hold still; they go on when this is dropped.
#[derive(Default)]
pub(crate) struct Still {
    runs: Vec<RunClient>,
    survivors: Vec<Survivors>,
}

/// What outlived a run and holds still.
enum Survivors {
    /// Everything in the group of the run.
    Frozen(Cgroup),
    /// These processes.
    Stopped(Vec<u32>),
}

impl Drop for Survivors {
    fn drop(&mut self) {
        match self {
            // A group that cannot be thawed is gone, and so are its processes.
            Survivors::Frozen(group) => drop(group.thaw()),
            Survivors::Stopped(pids) => halt::continue_all(pids),
        }
    }
}

impl Workspace<'_> {
    /// Holds every run of this workspace still.
    pub(crate) fn hold_still(&self) -> Result<Still> {
        let mut still = Still::default();
        for run in self.home().open_runs(self.id())?.into_iter().filter(|run| run.is_live()) {
            let refused = |why: String| Error::NotFrozen { run: run.id.clone(), why };
            // One that ended since, or has not begun yet, has no socket and changes nothing.
            let Ok(mut client) = RunClient::connect(&self.home().run_dir(&run.id)) else { continue };
            client.set_patience(PATIENCE).map_err(|error| refused(belay_sys::plain(error)))?;
            client.ask(&Request::Freeze).map_err(|error| refused(belay_sys::plain(error)))?;
            match await_still(&mut client) {
                Ok(true) => still.runs.push(client),
                Ok(false) => {}
                Err(why) => return Err(refused(why)),
            }
        }
        for (run, _) in self.outlived_runs()? {
            let held =
                hold_survivors(&run).map_err(|error| Error::NotFrozen { run: run.id, why: belay_sys::plain(error) })?;
            still.survivors.push(held);
        }
        Ok(still)
    }

    /// Lets go on what outlived its run and was left still by a rollback that died.
    pub(crate) fn release_survivors(&self) -> Result<()> {
        for (run, left) in self.outlived_runs()? {
            let mut stopped: Vec<u32> = left.into_iter().map(|(pid, _)| pid).collect();
            halt::continue_all(&mut stopped);
            drop(run.open_group().map(Survivors::Frozen));
        }
        Ok(())
    }
}

/// Stops what outlived the run, but not whoever asks for it and those who wait for that one.
fn hold_survivors(run: &RunRecord) -> std::io::Result<Survivors> {
    let own = own_line();
    if let Some(group) =
        run.open_group().filter(|group| !group.pids().is_ok_and(|pids| pids.iter().any(|pid| own.contains(pid))))
    {
        group.freeze(SURVIVORS_TIME_MAX)?;
        return Ok(Survivors::Frozen(group));
    }
    let mut stopped = Vec::new();
    let find = || run.living().into_iter().filter(|pid| !own.contains(pid)).collect();
    halt::stop_all(&find, SURVIVORS_TIME_MAX, &mut stopped)?;
    Ok(Survivors::Stopped(stopped))
}

/// This process and its forebears.
pub(super) fn own_line() -> Vec<u32> {
    std::iter::successors(Some(std::process::id()), |pid| tree::parent_of(*pid).filter(|parent| *parent > 1)).collect()
}

/// Whether the run holds still; false if it ended instead.
fn await_still(client: &mut RunClient) -> std::result::Result<bool, String> {
    loop {
        match client.hear_answer() {
            Ok(Some(Answer::Frozen)) => return Ok(true),
            Ok(Some(Answer::Refused(why))) => return Err(why),
            Ok(Some(Answer::Ended(_)) | None) => return Ok(false),
            Ok(Some(_)) => {}
            Err(error) => return Err(belay_sys::plain(error)),
        }
    }
}

impl Still {
    /// Lets the runs go on, and tells them what was done.
    pub(crate) fn release(mut self, rewound: &Rewound) {
        for client in &mut self.runs {
            // A run that does not listen any more goes on when the connection closes.
            let _ = client.ask(&Request::Thaw(Some(rewound.clone())));
            let _ = client.hear_answer();
        }
    }
}
