//! The journals of runs, read: which run is meant, what it recorded, and whether that is still what was written.

use std::path::Path;

use belay_journal::{Damage, Fault, Reader, Verdict};

use crate::error::{Error, Result};
use crate::home::Home;
use crate::run::{CONTROLLER_LOST, RunRecord};

/// The file that says what a run is.
const RUN: &str = "run.json";

fn changed(table: &str, detail: String) -> Fault {
    Fault { table: table.to_owned(), line: None, damage: Damage::Changed, detail }
}

impl Home {
    /// What a run recorded.
    pub fn journal(&self, run: &RunRecord) -> Result<Reader> {
        Ok(Reader::open(&self.run_dir(&run.id))?)
    }

    /// Checks what a run recorded against this installation's key, and that it is this run's record.
    pub fn verify_journal(&self, run: &RunRecord) -> Result<Verdict> {
        let key = self.signing_key()?.public();
        let read = self.journal(run).and_then(|journal| Ok((journal.verify(Some(&key))?, journal)));
        let (mut verdict, journal) = match read {
            // Of a run that never began there is none.
            Err(Error::Journal(error)) if error.is_damage() && run.started_at.is_some() => {
                return Ok(Verdict::unreadable(&run.id, &error));
            }
            other => other?,
        };
        if verdict.run != run.id {
            let detail = format!("it is the record of {}, not of {}", verdict.run, run.id);
            verdict.faults.push(changed("head", detail));
            return Ok(verdict);
        }
        // What is held against the events is told only where these are what was written.
        if !verdict.is_good() {
            return Ok(verdict);
        }
        let started = journal.started()?.map(|(_, started)| started);
        let protection = started.as_ref().map(|started| started.protection.clone());
        let told = started.map(|started| (started.argv, started.cwd, started.root, started.workspace));
        let kept = (run.argv.clone(), run.cwd.clone(), run.root.clone(), run.workspace.clone());
        if told.is_some_and(|told| told != kept) {
            verdict.faults.push(changed(RUN, "it names another command or place than the first event".to_owned()));
        }
        let Some((_, ended)) = journal.ended()? else {
            // A conversation that hooks told of has no supervisor, and never an end.
            if !run.state.is_open() && run.supervisor.is_some() {
                let detail =
                    "the run is over and its record has no end: nobody closed it, or an older one was put here";
                verdict.faults.push(Fault { damage: Damage::Truncated, ..changed("head", detail.to_owned()) });
            }
            return Ok(verdict);
        };
        if (ended.ended, &ended.because) != (run.ended, &run.because) {
            verdict.faults.push(changed(RUN, "it tells of another end than the last event".to_owned()));
        }
        // Where the controller died, the description may be older than the events.
        if ended.because.as_deref() == Some(CONTROLLER_LOST) {
            return Ok(verdict);
        }
        if protection != run.protection {
            verdict.faults.push(changed(RUN, "it names another protection than the first event".to_owned()));
        }
        let snapshots = journal.snapshots()?;
        let of_kind = |kind: &str| snapshots.iter().rev().find(|one| one.taken.kind == kind)?.taken.snapshot.clone();
        if (of_kind("pre-run"), of_kind("final")) != (run.pre_run.clone(), run.final_snapshot.clone()) {
            verdict.faults.push(changed(RUN, "it names other snapshots than the events".to_owned()));
        }
        let counted = (journal.commands()?.len() as u64, snapshots.len() as u64);
        if counted != (run.totals.commands, run.totals.snapshots) {
            verdict.faults.push(changed(RUN, "it counts other commands or snapshots than the events".to_owned()));
        }
        Ok(verdict)
    }

    /// Checks an exported bundle; a stranger's key is told, not refused.
    pub fn verify_bundle(&self, path: &Path) -> Result<Verdict> {
        let file = std::fs::File::open(path).map_err(Error::path("open", path))?;
        let mut file = std::io::BufReader::new(file);
        let mut verdict = belay_journal::verify_bundle(&mut file, None)?;
        verdict.known_key = Some(self.signing_key()?.public().to_string() == verdict.public_key);
        Ok(verdict)
    }
}
