//! The journals of runs, read: which run is meant, what it recorded, and whether that is still what was written.

use std::path::Path;

use belay_journal::{Reader, Verdict};

use crate::error::{Error, Result};
use crate::home::Home;
use crate::run::RunRecord;

impl Home {
    /// What a run recorded.
    pub fn journal(&self, run: &RunRecord) -> Result<Reader> {
        Ok(Reader::open(&self.run_dir(&run.id))?)
    }

    /// Checks what a run recorded against this installation's key.
    pub fn verify_journal(&self, run: &RunRecord) -> Result<Verdict> {
        Ok(self.journal(run)?.verify(Some(&self.signing_key()?.public()))?)
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
