//! A record that is written now and then, by whoever has something to add: no process has it for itself.
//!
//! Whoever adds holds a lock for that moment. Who comes back later goes on from what it remembers, unless the database
//! says that somebody else wrote meanwhile; then the fold is made again from the events.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use belay_event::Event;
use rustix::fs::{FlockOperation, flock};

use crate::error::{Error, Result};
use crate::exec_lines::EXEC_LINES;
use crate::key::Key;
use crate::ledger::Ledger;
use crate::reader::Reader;
use crate::recover::replay;
use crate::schema;

/// A record that others may add to as well.
pub struct Notebook {
    dir: PathBuf,
    lines: File,
    ledger: Ledger,
    /// What the database says of writes by others.
    version: i64,
}

impl Notebook {
    /// Opens the record of `run` in the directory `dir`, and begins it if there is none.
    pub fn open(dir: &Path, run: &str, key: Key) -> Result<Notebook> {
        let path = dir.join(EXEC_LINES);
        let mut options = OpenOptions::new();
        let lines = options.append(true).create(true).mode(0o600).open(&path).map_err(Error::file("open", &path))?;
        let held = Held::new(&lines)?;
        let mut ledger = match dir.join(schema::DATABASE).exists() {
            true => {
                let (state, _) = replay(&Reader::open(dir)?)?;
                Ledger::resume(schema::open_to_write(dir, false)?, key, state)?
            }
            false => Ledger::create(schema::open_to_write(dir, true)?, run, key)?,
        };
        let version = ledger.version()?;
        drop(held);
        Ok(Notebook { dir: dir.to_owned(), lines, ledger, version })
    }

    /// Adds events, which survive the death of this process; with `seal` they are signed and durable when this returns.
    pub fn append(&mut self, events: &[Event], seal: bool) -> Result<()> {
        let held = Held::new(&self.lines)?;
        if self.ledger.version()? != self.version {
            self.ledger.state = replay(&Reader::open(&self.dir)?)?.0;
            self.version = self.ledger.version()?;
        }
        if self.ledger.state.ended {
            return Err(Error::Closed);
        }
        let mut lines = Vec::new();
        self.ledger.commit(events, &mut lines).map_err(Error::database("write"))?;
        (&self.lines).write_all(&lines).map_err(Error::file("write", &self.dir.join(EXEC_LINES)))?;
        if seal {
            self.ledger.seal(false)?;
        }
        drop(held);
        Ok(())
    }
}

/// The right to add.
struct Held<'a>(&'a File);

impl Held<'_> {
    fn new(file: &File) -> Result<Held<'_>> {
        // Somebody who adds is done in a moment.
        flock(file, FlockOperation::LockExclusive).map_err(|_| Error::Busy)?;
        Ok(Held(file))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // A lock that cannot be given back goes with the file.
        let _ = flock(self.0, FlockOperation::Unlock);
    }
}
