//! The journals of runs, read: which run is meant, what it recorded, and whether that is still what was written.

use std::path::Path;

use belay_journal::{Damage, Fault, Reader, Verdict};

use crate::error::{Error, Result};
use crate::home::Home;
use crate::run::RunRecord;

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
        let journal = self.journal(run)?;
        let mut verdict = journal.verify(Some(&self.signing_key()?.public()))?;
        if verdict.run != run.id {
            let detail = format!("it is the record of {}, not of {}", verdict.run, run.id);
            verdict.faults.push(changed("head", detail));
            return Ok(verdict);
        }
        let started = journal.started()?.map(|(_, started)| started);
        let told = started.map(|started| (started.argv, started.cwd, started.root, started.workspace));
        let kept = (run.argv.clone(), run.cwd.clone(), run.root.clone(), run.workspace.clone());
        if told.is_some_and(|told| told != kept) {
            verdict.faults.push(changed(RUN, "it names another command or place than the first event".to_owned()));
        }
        let ended = journal.ended()?.map(|(_, ended)| ended.ended);
        if ended.is_some_and(|ended| ended != run.ended) {
            verdict.faults.push(changed(RUN, "it tells of another end than the last event".to_owned()));
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
