//! The writer's thread: takes events from the queue, commits them, answers requests, and outlives a full disk.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use belay_event::{At, Degraded, Event, Lost, What};

use super::{Request, Shared};
use crate::chain::Head;
use crate::error::{Error, Result};
use crate::exec_lines;
use crate::ledger::Ledger;
use crate::recover::rewrite_lines;

/// How often a record that is to be finished is tried again.
const LAST_TRIES: u32 = 10;

pub(super) struct Worker {
    ledger: Ledger,
    file: File,
    dir: PathBuf,
    shared: Arc<Shared>,
    /// Events that are not committed yet.
    pending: Vec<Event>,
    /// Lines that are not in the file yet.
    lines: Vec<u8>,
    /// Whether the file misses lines, and is to be written anew at the end.
    torn: bool,
    /// Why the disk refused, if the record does not tell yet.
    refused: Option<String>,
}

impl Worker {
    pub(super) fn new(ledger: Ledger, file: File, dir: PathBuf, shared: Arc<Shared>) -> Worker {
        let (pending, lines) = (Vec::new(), Vec::new());
        Worker { ledger, file, dir, shared, pending, lines, torn: false, refused: None }
    }

    pub(super) fn run(mut self) {
        loop {
            let (requests, stop) = self.shared.wait(!self.pending.is_empty());
            let done = self.commit_handed_in();
            let finished = requests.iter().any(|request| request.finish);
            for request in requests {
                self.answer(request, &done);
            }
            // What comes behind a closed head must not be recorded.
            if finished {
                return;
            }
            if stop {
                return self.leave();
            }
        }
    }

    /// Commits what an earlier attempt left, and then everything that was handed in since.
    fn commit_handed_in(&mut self) -> Result<()> {
        self.commit()?;
        let dropped = self.shared.refill(&mut self.pending);
        self.tell(dropped);
        self.commit()
    }

    fn commit(&mut self) -> Result<()> {
        if !self.pending.is_empty() {
            let committed = self.ledger.commit(&self.pending, &mut self.lines);
            self.shared.lock().trouble = committed.as_ref().err().map(ToString::to_string);
            if let Err(error) = committed {
                self.refused = Some(error.to_string());
                return Err(Error::Database { operation: "write", source: error });
            }
            self.pending.clear();
        }
        if !self.lines.is_empty() && !self.torn {
            self.torn = self.file.write_all(&self.lines).is_err();
        }
        self.lines.clear();
        Ok(())
    }

    /// Puts what went wrong into the record.
    fn tell(&mut self, dropped: u64) {
        let told = self.pending.last().map(|event| event.at).or(self.ledger.state.last);
        let at = told.unwrap_or(At::from_unix_nanos(0));
        if dropped > 0 {
            let lost = Lost { source: "file".to_owned(), count: Some(dropped) };
            self.pending.push(Event::new(at, What::Lost(lost)));
        }
        if let Some(why) = self.refused.take() {
            let why = format!("the record could not be written for a while: {why}");
            self.pending.push(Event::new(at, What::Degraded(Degraded { layer: "journal".to_owned(), why })));
        }
    }

    fn answer(&mut self, request: Request, committed: &Result<()>) {
        let head = match committed {
            Err(error) if !request.finish => Err(Error::Writer(describe(error))),
            _ if request.finish => self.finish(),
            _ => self.ledger.seal(false),
        };
        // Whoever asked may have gone.
        let _ = request.reply.send(head);
    }

    fn finish(&mut self) -> Result<Head> {
        self.commit_all()?;
        exec_lines::push_running(&mut self.lines, &self.ledger.state);
        self.torn |= self.file.write_all(&self.lines).and_then(|()| self.file.sync_all()).is_err();
        self.lines.clear();
        let head = self.ledger.seal(self.ledger.state.ended)?;
        if self.torn {
            rewrite_lines(&self.dir)?;
        }
        // A reader may be in the way; the log of changes is then read along with the database, as before.
        let _ = self.ledger.settle();
        Ok(head)
    }

    /// Writes what is left, and does not give up at the first refusal.
    fn commit_all(&mut self) -> Result<()> {
        for _ in 1..LAST_TRIES {
            if self.commit_handed_in().is_ok() {
                return Ok(());
            }
            std::thread::sleep(super::RETRY);
        }
        self.commit_handed_in()
    }

    /// The end without [`Writer::finish`](super::Writer::finish): the record stays open, as after a crash.
    fn leave(mut self) {
        // Nobody is left who could be told; what is missing is missing, and the head says how far it goes.
        let _ = self.commit_handed_in();
        if self.refused.is_none() {
            let _ = self.ledger.settle();
        }
    }
}

fn describe(error: &Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}
