//! The events as they are stored: changes of paths in `fs_events`, all others in `events`, in one order.

use belay_event::Event;
use rusqlite::{Connection, Row, Rows};

use crate::chain::Link;
use crate::error::{Error, Result};
use crate::file_row::{self, FileRow};

/// A stored event.
#[derive(Debug)]
pub(crate) enum Stored {
    /// A row of `fs_events`.
    File(FileRow),
    /// A row of `events`.
    Other(OtherRow),
}

/// A row of `events`.
#[derive(Debug)]
pub(crate) struct OtherRow {
    pub(crate) seq: u64,
    pub(crate) timestamp: String,
    pub(crate) name: String,
    pub(crate) body: String,
    pub(crate) hash: Vec<u8>,
}

impl Stored {
    pub(crate) fn seq(&self) -> u64 {
        match self {
            Stored::File(row) => row.seq,
            Stored::Other(row) => row.seq,
        }
    }

    pub(crate) fn hash(&self) -> &[u8] {
        match self {
            Stored::File(row) => &row.hash,
            Stored::Other(row) => &row.hash,
        }
    }

    pub(crate) fn link(&self) -> Result<Link> {
        self.hash().try_into().map_err(|_| Error::row(self.seq(), "its hash is none"))
    }

    pub(crate) fn into_event(self) -> Result<Event> {
        match self {
            Stored::File(row) => Ok(row.into_event()),
            Stored::Other(row) => row.event(),
        }
    }
}

impl OtherRow {
    pub(crate) fn event(&self) -> Result<Event> {
        serde_json::from_str(&self.body).map_err(|error| Error::row(self.seq, error))
    }

    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<OtherRow> {
        Ok(OtherRow {
            seq: row.get::<_, i64>(0)? as u64,
            timestamp: row.get(1)?,
            name: row.get(2)?,
            body: row.get(3)?,
            hash: row.get(4)?,
        })
    }
}

/// Which way to go on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Walk {
    On,
    Stop,
}

/// Shows the stored events after number `after`, in order; a row that cannot be read is an error in its place.
pub(crate) fn walk(
    connection: &Connection,
    after: u64,
    mut show: impl FnMut(Result<Stored>) -> Result<Walk>,
) -> Result<()> {
    // One transaction, so that both tables are seen as of the same moment.
    let transaction = connection.unchecked_transaction().map_err(Error::database("read"))?;
    let failed = Error::database;
    let first = first_file_after(&transaction, after).map_err(failed("read"))?;
    let files = format!("SELECT {} FROM fs_events WHERE id >= ?1 ORDER BY id", file_row::COLUMNS);
    let others = "SELECT seq, timestamp, event, body, hash FROM events WHERE seq > ?1 ORDER BY seq";
    let mut files = transaction.prepare(&files).map_err(failed("read"))?;
    let mut others = transaction.prepare(others).map_err(failed("read"))?;
    let mut files = files.query([first]).map_err(failed("read"))?;
    let mut others = others.query([after as i64]).map_err(failed("read"))?;
    let (mut file, mut other) = (next_file(&mut files)?, next_other(&mut others)?);
    loop {
        let order = |row: &Option<Result<Stored>>| match row {
            Some(Ok(stored)) => stored.seq(),
            Some(Err(Error::Row { seq, .. })) => *seq,
            Some(Err(_)) => 0,
            None => u64::MAX,
        };
        let next = if file.is_some() && order(&file) <= order(&other) {
            std::mem::replace(&mut file, next_file(&mut files)?)
        } else {
            std::mem::replace(&mut other, next_other(&mut others)?)
        };
        let Some(next) = next else { return Ok(()) };
        if show(next)? == Walk::Stop {
            return Ok(());
        }
    }
}

fn next_file(rows: &mut Rows<'_>) -> Result<Option<Result<Stored>>> {
    let row = rows.next().map_err(Error::database("read"))?;
    Ok(row.map(|row| file_row::read(row).map(Stored::File)))
}

fn next_other(rows: &mut Rows<'_>) -> Result<Option<Result<Stored>>> {
    let row = rows.next().map_err(Error::database("read"))?;
    Ok(row.map(|row| {
        let seq = row.get::<_, i64>(0).map_or(0, |seq| seq as u64);
        OtherRow::read(row).map(Stored::Other).map_err(|error| Error::row(seq, error))
    }))
}

/// The first id whose event comes after number `after`: numbers grow with ids, so the ids can be halved.
fn first_file_after(connection: &Connection, after: u64) -> rusqlite::Result<i64> {
    if after == 0 {
        return Ok(i64::MIN);
    }
    let last = connection.query_row("SELECT coalesce(max(id), 0) FROM fs_events", [], |row| row.get::<_, i64>(0))?;
    let mut at_or_above = connection.prepare("SELECT id, seq FROM fs_events WHERE id >= ?1 ORDER BY id LIMIT 1")?;
    let (mut low, mut high) = (1, last + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        let (id, seq): (i64, i64) = at_or_above.query_row([middle], |row| Ok((row.get(0)?, row.get(1)?)))?;
        match seq as u64 > after {
            true => high = middle,
            false => low = id + 1,
        }
    }
    Ok(low)
}
