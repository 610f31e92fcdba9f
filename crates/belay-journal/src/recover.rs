//! What a killed writer left: the fold is made again from the events, and the record closed.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use belay_event::{At, Event, RunEnded, What};
use rustix::fs::FlockOperation;

use crate::chain::Head;
use crate::error::{Error, Result};
use crate::exec_lines::{self, EXEC_LINES};
use crate::key::Key;
use crate::ledger::Ledger;
use crate::reader::Reader;
use crate::schema;
use crate::state::{Effect, State};

/// Why a run ended whose record nobody closed.
const CONTROLLER_LOST: &str = "controller lost";

/// Closes the record in `dir`, whose writer is dead, as of the moment `at`; one that is closed stays as it is.
pub fn recover(dir: &Path, key: Key, at: At) -> Result<Head> {
    recover_with(dir, key, at, Vec::new())
}

/// The same, with what became known of the run since; it stands before its end.
pub fn recover_with(dir: &Path, key: Key, at: At, known: Vec<Event>) -> Result<Head> {
    let path = dir.join(EXEC_LINES);
    let mut options = OpenOptions::new();
    let lock = options.append(true).create(true).mode(0o600).open(&path).map_err(Error::file("open", &path))?;
    rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|_| Error::Busy)?;
    let reader = Reader::open(dir)?;
    let head = reader.head()?;
    if head.closed && head.is_signed() {
        return Ok(head);
    }
    let (state, _) = replay(&reader)?;
    drop(reader);
    let ended = state.ended;
    let mut ledger = Ledger::resume(schema::open_to_write(dir, false)?, key, state)?;
    if !ended {
        let end = RunEnded { ended: None, because: Some(CONTROLLER_LOST.to_owned()), root: None };
        let mut events = known;
        events.push(Event::new(at, What::RunEnded(end)));
        ledger.commit(&events, &mut Vec::new()).map_err(Error::database("close"))?;
    }
    let head = ledger.seal(true)?;
    rewrite_lines(dir)?;
    // A reader may be in the way; nothing depends on it.
    let _ = ledger.settle();
    Ok(head)
}

/// Writes `exec.jsonl` anew from the events.
pub(crate) fn rewrite_lines(dir: &Path) -> Result<()> {
    let (state, mut lines) = replay(&Reader::open(dir)?)?;
    exec_lines::push_running(&mut lines, &state);
    let (path, temporary) = (dir.join(EXEC_LINES), dir.join("exec.jsonl.new"));
    let mut options = OpenOptions::new();
    let written = options.write(true).create(true).truncate(true).mode(0o600).open(&temporary);
    let written = written.and_then(|mut file| file.write_all(&lines).and_then(|()| file.sync_all()));
    written.and_then(|()| fs::rename(&temporary, &path)).map_err(Error::file("write", &path))
}

/// The fold over the whole record, and the lines of the commands that ended.
pub(crate) fn replay(reader: &Reader) -> Result<(State, Vec<u8>)> {
    let (mut state, mut lines) = (State::default(), Vec::new());
    let signed = reader.head()?.count;
    reader.walk(|entry| {
        if state.seq >= signed && matches!(entry.event.what, What::Erased(_)) {
            // Whoever goes on from here would sign that what was written before is something else.
            return Err(Error::row(state.seq + 1, "it tells of erased words, and nobody signed it"));
        }
        if let Effect::Ended(running, exit) = state.observe(&entry.event) {
            exec_lines::push(&mut lines, &running, Some(exit));
        }
        state.link = entry.link;
        Ok(())
    })?;
    Ok((state, lines))
}
