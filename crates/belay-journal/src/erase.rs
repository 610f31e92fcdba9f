//! Erasing words from a record: the event stays in its place with other words, and a signed event says so.
//!
//! The chain keeps the leaf of what was there, so everything before and after still proves itself, and so do
//! bundles that were exported before. What stands there now is hashed into the event that tells of the erasure;
//! a record in which words are missing without such an event, or in which other words stand, does not verify.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use belay_event::{At, Erased, ErasedEvent, Event, What};
use rusqlite::{Connection, TransactionBehavior, params};
use rustix::fs::FlockOperation;

use crate::chain::{self, Head};
use crate::error::{Error, Result};
use crate::exec_lines::{self, EXEC_LINES};
use crate::file_row::{self, Position, readable};
use crate::key::{Key, from_hex, to_hex};
use crate::ledger::{self, Statements};
use crate::reader::Reader;
use crate::recover::replay;
use crate::schema;
use crate::state::State;
use crate::stored::{self, Stored, Walk};

/// Events that one event tells of; more are told by more.
const TOLD_MAX: usize = 4096;

/// What an event's leaf was, and that of what stands in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaves {
    pub(crate) was: [u8; 32],
    pub(crate) now: [u8; 32],
}

/// An event that gets other words.
struct Changed {
    seq: u64,
    event: Event,
    leaves: Leaves,
    /// For a change of a path: its row, its link, and the snapshot of the latest rewind before it.
    file: Option<(i64, chain::Link, Option<String>)>,
}

/// How many events of the record in `dir` have words that `redact` would replace.
pub fn count_erasable(dir: &Path, redact: &dyn Fn(&Event) -> Option<Event>) -> Result<u64> {
    let mut count = 0;
    let reader = Reader::open(dir)?;
    stored::walk(&reader.connection, 0, |stored| {
        count += u64::from(redact(&stored?.into_event()?).is_some());
        Ok(Walk::On)
    })?;
    Ok(count)
}

/// Gives every event of the record in `dir` the words that `redact` has for it, and signs that; returns how many
/// those were. A record that somebody writes is [`Error::Busy`], one that is not what was written is left alone.
///
/// Only words may differ: which event it is, its time, and which command it is about stay.
pub fn erase(dir: &Path, key: Key, at: At, redact: &dyn Fn(&Event) -> Option<Event>) -> Result<u64> {
    let path = dir.join(EXEC_LINES);
    let mut lines = OpenOptions::new().read(true).write(true).open(&path).map_err(Error::file("open", &path))?;
    rustix::fs::flock(&lines, FlockOperation::NonBlockingLockExclusive).map_err(|_| Error::Busy)?;
    let reader = Reader::open(dir)?;
    let (changed, state) = plan(&reader, redact)?;
    let was_erased = !reader.erased()?.is_empty();
    if changed.is_empty() && !was_erased {
        return Ok(0);
    }
    let verdict = reader.verify(Some(&key.public()))?;
    // The lines of a record whose erasure was interrupted are made anew below.
    if let Some(fault) = verdict.faults.iter().find(|fault| !was_erased || fault.table != EXEC_LINES) {
        return Err(Error::NotAsWritten(fault.to_string()));
    }
    let (head, secret) = (reader.head()?, reader.secret()?);
    drop(reader);
    let mut connection = schema::open_to_write(dir, false)?;
    if !changed.is_empty() {
        connection.pragma_update(None, "secure_delete", "on").map_err(Error::database("open"))?;
        let told = tell(&changed, at);
        let write = |connection: &mut Connection| replace(connection, &changed, &told, state, (&secret, &key, &head));
        schema::durably(&mut connection, write).map_err(Error::database("erase words in"))?;
    }
    rewrite_lines(dir, &mut lines, head.closed)?;
    // Pages that were left behind by earlier changes of a row may hold the words as well.
    let rest = "PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE);";
    connection.execute_batch(rest).map_err(Error::database("make anew"))?;
    // Whoever reads at this moment keeps the log of changes, and with it the words; the next try is rid of them.
    let log = std::fs::metadata(dir.join(format!("{}-wal", schema::DATABASE)));
    if log.is_ok_and(|log| log.len() > 0) { Err(Error::Busy) } else { Ok(changed.len() as u64) }
}

impl Reader {
    /// The events whose words were erased, as far as the head signs it.
    pub(crate) fn erased(&self) -> Result<HashMap<u64, Leaves>> {
        let signed = self.head()?.count;
        let told = self.others("event = 'erased' AND seq <= ?1", [signed as i64])?;
        let mut erased: HashMap<u64, Leaves> = HashMap::new();
        for (seq, event) in told {
            let What::Erased(told) = event.what else { continue };
            for one in told.events {
                let bad = || Error::row(seq, "a hash in it is none");
                let was = from_hex(&one.leaf).ok_or_else(bad)?;
                let now = from_hex(&one.now).ok_or_else(bad)?;
                erased.insert(one.seq, Leaves { was, now });
            }
        }
        Ok(erased)
    }
}

fn plan(reader: &Reader, redact: &dyn Fn(&Event) -> Option<Event>) -> Result<(Vec<Changed>, State)> {
    let (secret, erased) = (reader.secret()?, reader.erased()?);
    let (mut changed, mut state) = (Vec::new(), State::default());
    stored::walk(&reader.connection, 0, |stored| {
        let stored = stored?;
        let (seq, link) = (stored.seq(), stored.link()?);
        let row = if let Stored::File(row) = &stored { Some(row.id) } else { None };
        let event = stored.into_event()?;
        state.observe(&event);
        state.link = link;
        if let Some(new) = redact(&event) {
            let leaf = |event: &Event| chain::leaf(&chain::nonce(&secret, seq), &body(event));
            let was = erased.get(&seq).map_or_else(|| leaf(&event), |leaves| leaves.was);
            let leaves = Leaves { was, now: leaf(&new) };
            let file = row.map(|id| (id, link, state.rewound.clone()));
            changed.push(Changed { seq, event: new, leaves, file });
        }
        Ok(Walk::On)
    })?;
    Ok((changed, state))
}

/// The events that say which events have other words now.
fn tell(changed: &[Changed], at: At) -> Vec<Event> {
    let told =
        |one: &Changed| ErasedEvent { seq: one.seq, leaf: to_hex(&one.leaves.was), now: to_hex(&one.leaves.now) };
    let event = |part: &[Changed]| Event::new(at, What::Erased(Erased { events: part.iter().map(told).collect() }));
    changed.chunks(TOLD_MAX).map(event).collect()
}

/// All in one transaction: the words, what is derived from them, the events that tell of it, and the head.
fn replace(
    connection: &mut Connection,
    changed: &[Changed],
    told: &[Event],
    mut state: State,
    (secret, key, head): (&[u8; 32], &Key, &Head),
) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let mut file = transaction.prepare(file_row::INSERT)?;
        for one in changed {
            match (&one.event.what, &one.file) {
                (What::File(change), Some((id, link, rewound))) => {
                    transaction.execute("DELETE FROM fs_events WHERE id = ?1", [id])?;
                    let place = Position { id: *id, seq: one.seq, link, rewound: rewound.as_deref() };
                    file_row::write(&mut file, &place, one.event.at, change)?;
                }
                _ => other(&transaction, one)?,
            }
        }
        let mut statements = Statements::prepare(&transaction)?;
        let (mut body, mut lines) = (Vec::new(), Vec::new());
        told.iter().try_for_each(|event| statements.record(&mut state, secret, event, &mut body, &mut lines))?;
    }
    let head = Head::sign(key, &head.run, state.seq, &state.link, head.closed);
    ledger::put_head(&transaction, &head, secret, &state.link)?;
    transaction.commit()
}

/// An event that is no change of a path, and the rows that are derived from it.
fn other(connection: &Connection, one: &Changed) -> rusqlite::Result<()> {
    let text = String::from_utf8(body(&one.event)).expect("JSON is text");
    let seq = one.seq as i64;
    connection.execute("UPDATE events SET body = ?2 WHERE seq = ?1", params![seq, text])?;
    match &one.event.what {
        What::Exec(exec) => {
            let (command, args) = exec_lines::words(exec);
            let args = serde_json::to_string(args).expect("arguments have nothing that JSON could not say");
            let (cwd, exe) = (readable(exec.cwd.bytes()), readable(exec.exe.bytes()));
            let update = "UPDATE exec_events SET command = ?2, args = ?3, working_dir = ?4, exe = ?5 WHERE seq = ?1";
            connection.execute(update, params![seq, readable(command.bytes()), args, cwd, exe])?;
        }
        What::McpCall(call) => {
            let update = "UPDATE mcp_calls SET request_preview = ?2, response_preview = ?3, error = ?4 WHERE seq = ?1";
            connection.execute(update, params![seq, call.request, call.response, call.error])?;
        }
        _ => {}
    }
    Ok(())
}

/// Writes `exec.jsonl` anew in its place: whoever adds to the record later has this very file open.
fn rewrite_lines(dir: &Path, file: &mut File, closed: bool) -> Result<()> {
    let (state, mut lines) = replay(&Reader::open(dir)?)?;
    if closed {
        exec_lines::push_running(&mut lines, &state);
    }
    let write = |file: &mut File| {
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&lines)?;
        file.set_len(lines.len() as u64)?;
        file.sync_all()
    };
    write(file).map_err(Error::file("write", dir.join(EXEC_LINES)))
}

fn body(event: &Event) -> Vec<u8> {
    serde_json::to_vec(event).expect("an event has nothing that JSON could not say")
}
