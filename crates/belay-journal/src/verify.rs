//! Verification: whether a record is what was written, and where it is not.
//!
//! Events are hashed again and compared with the links beside them, the last link with the signed head. What is
//! derived from events (the other tables, `exec.jsonl`) is derived once more and compared.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::fs;

use rusqlite::Connection;
use rusqlite::types::Value;
use serde::Serialize;

use crate::chain::{self, Head, Link, ORIGIN};
use crate::erase::Leaves;
use crate::error::{Error, Result};
use crate::exec_lines::{self, EXEC_LINES};
use crate::file_row;
use crate::key::{PublicKey, to_hex};
use crate::ledger::{Statements, name_of};
use crate::reader::Reader;
use crate::schema;
use crate::state::{Effect, State};
use crate::stored::{self, Stored, Walk};

/// Faults beyond which no more are collected.
const FAULTS_MAX: usize = 100;

/// Tables that are derived from events, with the column that orders them.
const DERIVED: [&str; 5] = ["exec_events", "snapshot_events", "net_events", "mcp_calls", "model_calls"];

/// What a verification found.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The run.
    pub run: String,
    /// How many events there are.
    pub events: u64,
    /// How many of them the signed head covers.
    pub signed: u64,
    /// Whether the run has ended, so that nothing may follow.
    pub closed: bool,
    /// The key that signed, in hexadecimal.
    pub public_key: String,
    /// Whether that is the key that was expected; none if nobody said which.
    pub known_key: Option<bool>,
    /// How many events were left out of an export on purpose.
    pub redacted: u64,
    /// How many events have other words than they were written with, because these were erased on purpose.
    pub erased: u64,
    /// The last link, in hexadecimal.
    pub link: String,
    /// The hash over the workspace before the run, in hexadecimal, as the events prove it.
    pub root_before: Option<String>,
    /// The same after the run.
    pub root_after: Option<String>,
    /// Everything that is not as it was written.
    pub faults: Vec<Fault>,
}

impl Verdict {
    /// Of a record that there was once, and of which nothing can be read.
    pub fn unreadable(run: &str, error: &Error) -> Verdict {
        let (run, link, public_key) = (run.to_owned(), String::new(), String::new());
        let head = Head { run, count: 0, link, closed: false, public_key, signature: String::new() };
        let mut verdict = Verdict { faults: Vec::new(), ..Verdict::begin(&head, None) };
        let damage = if matches!(error, Error::Missing(_)) { Damage::Removed } else { Damage::Changed };
        let why = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
        verdict.fault(schema::DATABASE, None, damage, format!("{error}{why}"));
        verdict
    }

    /// Whether nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.faults.is_empty()
    }

    pub(crate) fn begin(head: &Head, expected: Option<&PublicKey>) -> Verdict {
        let known_key = expected.map(|key| key.to_string() == head.public_key);
        let mut verdict = Verdict {
            run: head.run.clone(),
            events: 0,
            signed: 0,
            closed: head.closed,
            public_key: head.public_key.clone(),
            known_key,
            redacted: 0,
            erased: 0,
            link: String::new(),
            root_before: None,
            root_after: None,
            faults: Vec::new(),
        };
        match head.is_signed() {
            true => verdict.signed = head.count,
            false => verdict.fault("head", None, Damage::Changed, "its signature is not that of its key"),
        }
        if known_key == Some(false) {
            verdict.fault("head", None, Damage::Changed, "it is signed by another key than this installation's");
        }
        verdict
    }

    pub(crate) fn fault(&mut self, table: &str, line: Option<u64>, damage: Damage, detail: impl Into<String>) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(Fault { table: table.to_owned(), line, damage, detail: detail.into() });
        }
    }

    /// Compares the end of the chain with the head.
    pub(crate) fn end(&mut self, head: &Head, links: &Ends) {
        self.events = links.count;
        self.link = to_hex(&links.last);
        let table = "head";
        if links.count < head.count {
            let detail = format!("{} of {} signed events are there", links.count, head.count);
            self.fault(table, None, Damage::Truncated, detail);
        } else if links.at_head.as_ref().map(|link| to_hex(link)).as_ref() != Some(&head.link) {
            self.fault(table, None, Damage::Changed, "the events end in another link than the one that was signed");
        } else if head.closed && links.count > head.count {
            let detail = format!("{} events follow the end of the run", links.count - head.count);
            self.fault(table, Some(head.count + 1), Damage::Inserted, detail);
        }
    }
}

/// Where a chain stood.
pub(crate) struct Ends {
    pub(crate) count: u64,
    pub(crate) last: Link,
    /// The link after as many events as the head covers.
    pub(crate) at_head: Option<Link>,
}

impl Ends {
    pub(crate) fn new(head: &Head) -> Ends {
        Ends { count: 0, last: ORIGIN, at_head: (head.count == 0).then_some(ORIGIN) }
    }

    pub(crate) fn push(&mut self, link: Link, head: &Head) {
        self.count += 1;
        self.last = link;
        if self.count == head.count {
            self.at_head = Some(link);
        }
    }
}

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The table or file.
    pub table: String,
    /// The event's number; in a file or derived table, the line's.
    pub line: Option<u64>,
    /// What was done to it.
    pub damage: Damage,
    /// How that shows.
    pub detail: String,
}

/// What was done to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Damage {
    /// A line is not the one that was written.
    Changed,
    /// A line is gone.
    Removed,
    /// A line is there that was not written.
    Inserted,
    /// The last lines are gone.
    Truncated,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let damage = match self.damage {
            Damage::Changed => "changed",
            Damage::Removed => "removed",
            Damage::Inserted => "inserted",
            Damage::Truncated => "truncated",
        };
        write!(f, "{}", self.table)?;
        self.line.map_or(Ok(()), |line| write!(f, " {line}"))?;
        write!(f, ": {damage}: {}", self.detail)
    }
}

impl Reader {
    /// Checks the whole record; `expected` is the key of this installation, if it is known.
    pub fn verify(&self, expected: Option<&PublicKey>) -> Result<Verdict> {
        let head = self.head()?;
        let mut verdict = Verdict::begin(&head, expected);
        self.verify_schema(&mut verdict)?;
        let derived = schema::in_memory()?;
        let transaction = derived.unchecked_transaction().map_err(Error::database("verify"))?;
        let mut check = Check {
            ends: Ends::new(&head),
            secret: self.secret()?,
            // One that cannot be read is found where it stands.
            erased: self.erased().unwrap_or_default(),
            state: State::default(),
            before: ORIGIN,
            lines: Vec::new(),
            statements: Statements::prepare(&derived).map_err(Error::database("verify"))?,
            next_file: 1,
        };
        stored::walk(&self.connection, 0, |row| {
            check.row(row, &head, &mut verdict)?;
            Ok(if verdict.faults.len() < FAULTS_MAX { Walk::On } else { Walk::Stop })
        })?;
        let Check { ends, mut lines, state, statements, .. } = check;
        verdict.end(&head, &ends);
        drop(statements);
        transaction.commit().map_err(Error::database("verify"))?;
        if verdict.is_good() {
            if head.closed {
                exec_lines::push_running(&mut lines, &state);
            }
            self.verify_lines(&lines, head.closed, &mut verdict)?;
            for table in DERIVED {
                self.verify_table(table, &derived, &mut verdict)?;
            }
            self.verify_sequence(&mut verdict)?;
        }
        Ok(verdict)
    }

    /// A table that is a view, or a trigger, could show what was never recorded.
    fn verify_schema(&self, verdict: &mut Verdict) -> Result<()> {
        let read = |connection: &Connection| -> rusqlite::Result<BTreeSet<(String, String, Option<String>)>> {
            let mut statement = connection.prepare("SELECT type, name, sql FROM sqlite_schema")?;
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
        };
        let ours = read(&self.connection).map_err(Error::database("verify"))?;
        let expected = read(&schema::in_memory()?).map_err(Error::database("verify"))?;
        for (kind, name, _) in ours.difference(&expected) {
            verdict.fault(name, None, Damage::Inserted, format!("this {kind} is not belay's"));
        }
        for (kind, name, _) in expected.difference(&ours) {
            verdict.fault(name, None, Damage::Removed, format!("the {kind} is missing"));
        }
        Ok(())
    }

    fn verify_lines(&self, expected: &[u8], closed: bool, verdict: &mut Verdict) -> Result<()> {
        let path = self.dir.join(EXEC_LINES);
        let found = match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                verdict.fault(EXEC_LINES, None, Damage::Removed, "the file is gone");
                return Ok(());
            }
            other => other.map_err(Error::file("read", &path))?,
        };
        let (found, expected) = (lines_of(&found), lines_of(expected));
        for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
            if found != expected {
                let detail = "the line is not the one that the events give";
                verdict.fault(EXEC_LINES, Some(index as u64 + 1), Damage::Changed, detail);
            }
        }
        // A writer that is under way may be behind with its lines, or ahead of what was read above.
        if closed && found.len() < expected.len() {
            let detail = format!("{} of {} lines are there", found.len(), expected.len());
            verdict.fault(EXEC_LINES, None, Damage::Truncated, detail);
        }
        if closed && found.len() > expected.len() {
            let detail = format!("{} lines are there, the events give {}", found.len(), expected.len());
            verdict.fault(EXEC_LINES, Some(expected.len() as u64 + 1), Damage::Inserted, detail);
        }
        Ok(())
    }

    fn verify_table(&self, table: &str, expected: &Connection, verdict: &mut Verdict) -> Result<()> {
        let failed = || Error::database("verify");
        let select = format!("SELECT * FROM {table} ORDER BY id");
        let mut found = self.connection.prepare(&select).map_err(failed())?;
        let mut expected = expected.prepare(&select).map_err(failed())?;
        let columns = expected.column_count();
        let row = |row: &rusqlite::Row<'_>| (0..columns).map(|column| row.get(column)).collect();
        let mut found = found.query_map([], row).map_err(failed())?;
        let mut expected = expected.query_map([], row).map_err(failed())?;
        for line in 1.. {
            let found: Option<Vec<Value>> = found.next().transpose().map_err(failed())?;
            let expected: Option<Vec<Value>> = expected.next().transpose().map_err(failed())?;
            match (found, expected) {
                (None, None) => return Ok(()),
                (Some(found), Some(expected)) if found == expected => {}
                (Some(_), Some(_)) => {
                    verdict.fault(table, Some(line), Damage::Changed, "the row is not the one that the events give");
                }
                (Some(_), None) => verdict.fault(table, Some(line), Damage::Inserted, "no event gives this row"),
                (None, Some(_)) => verdict.fault(table, Some(line), Damage::Removed, "an event gives this row"),
            }
            if verdict.faults.len() >= FAULTS_MAX {
                return Ok(());
            }
        }
        Ok(())
    }
}

impl Reader {
    /// SQLite counts rows in a table of its own, in which nothing else may stand.
    fn verify_sequence(&self, verdict: &mut Verdict) -> Result<()> {
        let failed = || Error::database("verify");
        let mut expected: Vec<(Value, Value)> = Vec::new();
        for table in DERIVED.into_iter().chain(["fs_events"]) {
            let last = self.connection.query_row(&format!("SELECT max(id) FROM {table}"), [], |row| row.get(0));
            match last.map_err(failed())? {
                Value::Null => {}
                last => expected.push((Value::Text(table.to_owned()), last)),
            }
        }
        let mut statement = self.connection.prepare("SELECT name, seq FROM sqlite_sequence").map_err(failed())?;
        let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(failed())?;
        let found = found.collect::<rusqlite::Result<Vec<(Value, Value)>>>().map_err(failed())?;
        let is_same = found.len() == expected.len() && found.iter().all(|one| expected.contains(one));
        if !is_same {
            verdict.fault("sqlite_sequence", None, Damage::Changed, "it counts other rows than there are");
        }
        Ok(())
    }
}

/// The state of a check in the middle of the events.
struct Check<'c> {
    ends: Ends,
    secret: [u8; 32],
    erased: HashMap<u64, Leaves>,
    state: State,
    /// The link beside the event before: a changed line is then the only one that does not fit.
    before: Link,
    lines: Vec<u8>,
    statements: Statements<'c>,
    next_file: i64,
}

impl Check<'_> {
    fn row(&mut self, row: Result<Stored>, head: &Head, verdict: &mut Verdict) -> Result<()> {
        let row = match row {
            Ok(row) => row,
            Err(Error::Row { seq, detail }) => {
                verdict.fault("events", Some(seq), Damage::Changed, detail);
                self.state.seq += 1;
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let (seq, table) = (row.seq(), if matches!(row, Stored::File(_)) { "fs_events" } else { "events" });
        if seq <= self.state.seq {
            verdict.fault(table, Some(seq), Damage::Inserted, "this number is there twice");
            return Ok(());
        }
        if seq > self.state.seq + 1 {
            let detail = format!("events {} to {} are missing", self.state.seq + 1, seq - 1);
            verdict.fault(table, Some(seq), Damage::Removed, detail);
            self.state.seq = seq - 1;
        }
        let regular = self.is_regular(&row);
        let stored = row.link();
        let event = match row.into_event() {
            Ok(event) => event,
            Err(error) => {
                verdict.fault(table, Some(seq), Damage::Changed, error.to_string());
                self.state.seq = seq;
                return Ok(());
            }
        };
        let body = serde_json::to_vec(&event).expect("an event has nothing that JSON could not say");
        let mut leaf = chain::leaf(&chain::nonce(&self.secret, seq), &body);
        if let Some(leaves) = self.erased.get(&seq).filter(|leaves| leaves.now == leaf) {
            leaf = leaves.was;
            verdict.erased += 1;
        }
        let link = chain::link(&self.before, &leaf);
        verdict.roots_from(&event);
        let effect = self.state.observe(&event);
        if let Effect::Ended(running, exit) = &effect {
            exec_lines::push(&mut self.lines, running, Some(exit));
        }
        self.statements.derive(&effect).map_err(Error::database("verify"))?;
        if !regular || stored.as_ref().ok() != Some(&link) {
            verdict.fault(table, Some(seq), Damage::Changed, "the event does not fit its link");
        }
        self.before = stored.unwrap_or(link);
        self.ends.push(self.before, head);
        Ok(())
    }

    /// Whether the columns beside the event say the same as the event.
    fn is_regular(&mut self, row: &Stored) -> bool {
        match row {
            Stored::File(row) => {
                let in_place = row.id == self.next_file;
                self.next_file = row.id + 1;
                in_place && row.is_regular(self.state.rewound.as_deref())
            }
            Stored::Other(row) => row.event().is_ok_and(|event| {
                row.name == name_of(&event.what)
                    && row.timestamp == file_row::timestamp(event.at)
                    && serde_json::to_string(&event).is_ok_and(|body| body == row.body)
            }),
        }
    }
}

fn lines_of(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}
