//! The ledger: events go into the database in transactions, each with its link and the rows derived from it.

use belay_event::{Event, What};
use rusqlite::{CachedStatement, Connection, TransactionBehavior, params};

use crate::chain::{self, Head, Link};
use crate::error::{Error, Result};
use crate::exec_lines::{self, End};
use crate::file_row::{self, Position, readable, timestamp};
use crate::key::{Key, from_hex};
use crate::schema;
use crate::state::{CallRow, Effect, Running, SnapshotRow, State};

const INSERT_EVENT: &str = "INSERT INTO events (seq, timestamp, event, body, hash) VALUES (?1, ?2, ?3, ?4, ?5)";
const INSERT_COMMAND: &str = "INSERT INTO exec_events (id, timestamp, pid, ppid, command, args, working_dir, number, \
     parent, exe, uid, cut, seq) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
const END_COMMAND: &str = "UPDATE exec_events SET exit_code = ?2, duration = ?3, signal = ?4, replaced_by = ?5, \
     duration_ns = ?6 WHERE id = ?1";
const INSERT_CALL: &str = "INSERT INTO mcp_calls (id, timestamp, server, method, tool, request_preview, response_preview, \
     decision, duration_ms, error, seq) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const INSERT_SNAPSHOT: &str = "INSERT INTO snapshot_events (id, timestamp, slot, origin, name, files_count, \
     start_fs_event_id, stop_fs_event_id, snapshot, kind, stored_bytes, took_us, by_dirty_set, command, root, seq) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";

/// An open record.
pub(crate) struct Ledger {
    connection: Connection,
    secret: [u8; 32],
    key: Key,
    run: String,
    pub(crate) state: State,
}

impl Ledger {
    /// A new record, with a signed head of no events.
    pub(crate) fn create(connection: Connection, run: &str, key: Key) -> Result<Ledger> {
        let secret = crate::key::random()?;
        let mut ledger = Ledger { connection, secret, key, run: run.to_owned(), state: State::default() };
        ledger.seal(false)?;
        Ok(ledger)
    }

    /// A record that is continued from `state`.
    pub(crate) fn resume(connection: Connection, key: Key, state: State) -> Result<Ledger> {
        let read = "SELECT run, secret FROM head";
        let (run, secret) = connection
            .query_row(read, [], |row| Ok((row.get(0)?, row.get(1)?)))
            .map_err(Error::database("read the head of"))?;
        Ok(Ledger { connection, secret, key, run, state })
    }

    /// Records all events or, on an error, none; adds the lines of the commands that ended to `lines`.
    pub(crate) fn commit(&mut self, events: &[Event], lines: &mut Vec<u8>) -> rusqlite::Result<()> {
        let mut state = self.state.clone();
        let before = lines.len();
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let recorded = Statements::prepare(&transaction).and_then(|mut statements| {
            let mut body = Vec::new();
            events.iter().try_for_each(|event| statements.record(&mut state, &self.secret, event, &mut body, lines))
        });
        if let Err(error) = recorded.and_then(|()| transaction.commit()) {
            lines.truncate(before);
            return Err(error);
        }
        self.state = state;
        Ok(())
    }

    /// Signs the head, and makes it and everything before it durable.
    pub(crate) fn seal(&mut self, closed: bool) -> Result<Head> {
        let head = Head::sign(&self.key, &self.run, self.state.seq, &self.state.link, closed);
        let (secret, link) = (self.secret, self.state.link);
        schema::durably(&mut self.connection, |connection| put_head(connection, &head, &secret, &link))
            .map_err(Error::database("sign"))?;
        Ok(head)
    }

    /// A number that is another one as soon as another connection has written.
    pub(crate) fn version(&mut self) -> Result<i64> {
        let asked = self.connection.query_row("PRAGMA data_version", [], |row| row.get(0));
        asked.map_err(Error::database("read"))
    }

    /// Brings the write-ahead log into the database, as far as readers let it.
    pub(crate) fn settle(&self) -> rusqlite::Result<()> {
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
    }
}

/// Replaces the head.
pub(crate) fn put_head(connection: &Connection, head: &Head, secret: &[u8; 32], link: &Link) -> rusqlite::Result<()> {
    let public = from_hex::<32>(&head.public_key).expect("a head that was just signed has a key");
    let signature = from_hex::<64>(&head.signature).expect("a head that was just signed has a signature");
    connection.execute(
        "INSERT OR REPLACE INTO head (id, run, secret, count, hash, closed, public_key, signature) \
         VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![head.run, secret, head.count as i64, link, head.closed, &public[..], &signature[..]],
    )?;
    Ok(())
}

/// The statements of a transaction; they are read once and kept by the connection.
pub(crate) struct Statements<'c> {
    file: CachedStatement<'c>,
    event: CachedStatement<'c>,
    command: CachedStatement<'c>,
    end: CachedStatement<'c>,
    snapshot: CachedStatement<'c>,
    call: CachedStatement<'c>,
}

impl<'c> Statements<'c> {
    pub(crate) fn prepare(connection: &'c Connection) -> rusqlite::Result<Statements<'c>> {
        Ok(Statements {
            file: connection.prepare_cached(file_row::INSERT)?,
            event: connection.prepare_cached(INSERT_EVENT)?,
            command: connection.prepare_cached(INSERT_COMMAND)?,
            end: connection.prepare_cached(END_COMMAND)?,
            snapshot: connection.prepare_cached(INSERT_SNAPSHOT)?,
            call: connection.prepare_cached(INSERT_CALL)?,
        })
    }

    pub(crate) fn record(
        &mut self,
        state: &mut State,
        secret: &[u8; 32],
        event: &Event,
        body: &mut Vec<u8>,
        lines: &mut Vec<u8>,
    ) -> rusqlite::Result<()> {
        body.clear();
        serde_json::to_writer(&mut *body, event).expect("an event has nothing that JSON could not say");
        let effect = state.observe(event);
        state.link = chain::link(&state.link, &chain::leaf(&chain::nonce(secret, state.seq), body));
        match &event.what {
            What::File(change) => {
                let (id, seq) = (state.files, state.seq);
                let place = Position { id, seq, link: &state.link, rewound: state.rewound.as_deref() };
                file_row::write(&mut self.file, &place, event.at, change)?;
            }
            _ => self.event(state.seq, &state.link, event, body)?,
        }
        if let Effect::Ended(running, exit) = &effect {
            exec_lines::push(lines, running, Some(exit));
        }
        self.derive(&effect)
    }

    fn event(&mut self, seq: u64, link: &Link, event: &Event, body: &[u8]) -> rusqlite::Result<()> {
        let body = std::str::from_utf8(body).expect("JSON is text");
        let name = name_of(&event.what);
        self.event.execute(params![seq as i64, timestamp(event.at), name, body, &link[..]])?;
        Ok(())
    }

    /// Writes the rows that follow from an event.
    pub(crate) fn derive(&mut self, effect: &Effect<'_>) -> rusqlite::Result<()> {
        match effect {
            Effect::None => Ok(()),
            Effect::Began(running) => self.began(running),
            Effect::Ended(running, exit) => {
                let end = End::of(exit);
                let replaced_by = end.replaced_by.map(|number| number as i64);
                let nanos = end.duration_ns.map(|nanos| nanos as i64);
                let row = params![running.row, end.exit_code, end.seconds(), end.signal, replaced_by, nanos];
                self.end.execute(row).map(drop)
            }
            Effect::Snapshot(row) => self.snapshot(row),
            Effect::Called(row) => self.called(row),
        }
    }

    fn called(&mut self, row: &CallRow<'_>) -> rusqlite::Result<()> {
        let call = row.call;
        let decision = if call.error.is_some() { "refused" } else { "allowed" };
        self.call.execute(params![
            row.id,
            timestamp(row.at),
            call.server,
            call.method,
            call.tool,
            call.request,
            call.response,
            decision,
            call.duration_ms as i64,
            call.error,
            row.seq as i64,
        ])?;
        Ok(())
    }

    fn began(&mut self, running: &Running) -> rusqlite::Result<()> {
        let exec = &running.exec;
        let (command, args) = exec_lines::words(exec);
        let args = serde_json::to_string(args).expect("arguments have nothing that JSON could not say");
        self.command.execute(params![
            running.row,
            timestamp(running.at),
            exec.pid,
            exec.ppid,
            readable(command.bytes()),
            args,
            readable(exec.cwd.bytes()),
            exec.command as i64,
            exec.parent.map(|parent| parent as i64),
            readable(exec.exe.bytes()),
            exec.uid,
            exec.cut,
            running.seq as i64,
        ])?;
        Ok(())
    }

    fn snapshot(&mut self, row: &SnapshotRow<'_>) -> rusqlite::Result<()> {
        let taken = row.taken;
        self.snapshot.execute(params![
            row.id,
            timestamp(row.at),
            row.slot,
            taken.origin,
            taken.name,
            taken.files as i64,
            row.start,
            row.stop,
            taken.snapshot,
            taken.kind,
            taken.stored_bytes as i64,
            taken.took_us as i64,
            taken.by_dirty_set,
            taken.command.map(|command| command as i64),
            taken.root,
            row.seq as i64,
        ])?;
        Ok(())
    }
}

/// The event's name in the column `event`, as in its JSON form.
pub(crate) fn name_of(what: &What) -> &'static str {
    match what {
        What::RunStarted(_) => "run-started",
        What::Exec(_) => "exec",
        What::Exit(_) => "exit",
        What::File(_) => "file",
        What::Snapshot(_) => "snapshot",
        What::Rewound(_) => "rewound",
        What::Lost(_) => "lost",
        What::Degraded(_) => "degraded",
        What::Denied(_) => "denied",
        What::Storm(_) => "storm",
        What::McpCall(_) => "mcp-call",
        What::Erased(_) => "erased",
        What::RunEnded(_) => "run-ended",
    }
}
