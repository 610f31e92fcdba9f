//! The questions one may ask a record, also while it is being written.
//!
//! A reader never changes anything: its connection is read-only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use belay_event::{At, Ended, Event, Exec, FileChange, RunEnded, RunStarted, SnapshotTaken, What};
use rusqlite::{Connection, OptionalExtension, Params};

use crate::chain::{Head, Link};
use crate::error::{Error, Result};
use crate::file_row;
use crate::key::to_hex;
use crate::schema;
use crate::stored::{self, OtherRow, Stored, Walk};

/// A record, opened for reading.
#[derive(Debug)]
pub struct Reader {
    pub(crate) connection: Connection,
    pub(crate) dir: PathBuf,
}

/// An event with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number in the record, from 1.
    pub seq: u64,
    /// What happened.
    pub event: Event,
}

/// A command, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// When it began.
    pub at: At,
    /// The number of the event of its beginning.
    pub seq: u64,
    /// What was executed.
    pub exec: Exec,
    /// How it ended, if it has.
    pub ended: Option<Ended>,
    /// How long it ran, in nanoseconds.
    pub duration_ns: Option<u64>,
}

/// A change of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its id in `fs_events`, to which the ranges of snapshots refer.
    pub id: i64,
    /// The number of its event.
    pub seq: u64,
    /// When.
    pub at: At,
    /// What.
    pub change: FileChange,
}

/// A snapshot that was taken in the run, and the changes it covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The number of its event.
    pub seq: u64,
    /// When.
    pub at: At,
    /// What was taken.
    pub taken: SnapshotTaken,
    /// The change after which its range begins.
    pub start: i64,
    /// The last change in its range.
    pub stop: i64,
}

/// An event with the link that commits to it.
pub(crate) struct Linked {
    pub(crate) event: Event,
    pub(crate) link: Link,
}

impl Reader {
    /// Opens the record in a run's directory.
    pub fn open(dir: &Path) -> Result<Reader> {
        Ok(Reader { connection: schema::open_to_read(dir)?, dir: dir.to_owned() })
    }

    /// The head as it was last signed.
    pub fn head(&self) -> Result<Head> {
        let read = "SELECT run, count, hash, closed, public_key, signature FROM head";
        let head = self.connection.query_row(read, [], |row| {
            let bytes = |column| Ok::<_, rusqlite::Error>(to_hex(&row.get::<_, Vec<u8>>(column)?));
            Ok(Head {
                run: row.get(0)?,
                count: row.get::<_, i64>(1)? as u64,
                link: bytes(2)?,
                closed: row.get(3)?,
                public_key: bytes(4)?,
                signature: bytes(5)?,
            })
        });
        head.map_err(Error::database("read the head of"))
    }

    /// How many events are recorded, signed or not.
    pub fn count(&self) -> Result<u64> {
        let read = "SELECT max((SELECT coalesce(max(seq), 0) FROM events), \
                    coalesce((SELECT seq FROM fs_events ORDER BY id DESC LIMIT 1), 0))";
        let count = self.connection.query_row(read, [], |row| row.get::<_, i64>(0));
        count.map(|count| count as u64).map_err(Error::database("read"))
    }

    /// How the run began.
    pub fn started(&self) -> Result<Option<(At, RunStarted)>> {
        Ok(self.others("event = 'run-started'", [])?.into_iter().find_map(|(_, event)| match event.what {
            What::RunStarted(started) => Some((event.at, started)),
            _ => None,
        }))
    }

    /// How the run ended, if it has.
    pub fn ended(&self) -> Result<Option<(At, RunEnded)>> {
        Ok(self.others("event = 'run-ended'", [])?.into_iter().find_map(|(_, event)| match event.what {
            What::RunEnded(ended) => Some((event.at, ended)),
            _ => None,
        }))
    }

    /// What was lost and what became weaker.
    pub fn troubles(&self) -> Result<Vec<Event>> {
        let found = self.others("event IN ('lost', 'degraded')", [])?;
        Ok(found.into_iter().map(|(_, event)| event).collect())
    }

    /// All commands by their numbers.
    pub fn commands(&self) -> Result<Vec<Command>> {
        let mut commands: BTreeMap<u64, Command> = BTreeMap::new();
        for (seq, event) in self.others("event IN ('exec', 'exit')", [])? {
            match event.what {
                What::Exec(exec) => {
                    let command = Command { at: event.at, seq, exec, ended: None, duration_ns: None };
                    commands.insert(command.exec.command, command);
                }
                What::Exit(exit) => {
                    if let Some(command) = commands.get_mut(&exit.command) {
                        (command.ended, command.duration_ns) = (Some(exit.ended), Some(exit.duration_ns));
                    }
                }
                _ => {}
            }
        }
        Ok(commands.into_values().collect())
    }

    /// All changes of paths, in order.
    pub fn changes(&self) -> Result<Vec<Change>> {
        self.changes_where("1", [])
    }

    /// Shows all changes of paths, in order, without holding them all.
    pub fn each_change(&self, mut show: impl FnMut(Change)) -> Result<()> {
        self.each_change_where("1", [], &mut show)
    }

    /// The changes that a command made.
    pub fn changes_by(&self, command: u64) -> Result<Vec<Change>> {
        self.changes_where("command = ?1", [command as i64])
    }

    /// The changes in the range of a snapshot: after `start`, up to and with `stop`.
    pub fn changes_between(&self, start: i64, stop: i64) -> Result<Vec<Change>> {
        self.changes_where("id > ?1 AND id <= ?2", [start, stop])
    }

    /// The changes of a path, under its old or its new name.
    pub fn changes_of(&self, path: &[u8]) -> Result<Vec<Change>> {
        let text = file_row::readable(path);
        let found = "coalesce(path_raw, CAST(path AS BLOB)) = ?1 OR to_path = ?2";
        let changes = self.changes_where(found, rusqlite::params![path, text])?;
        let about = |change: &Change| {
            let to = change.change.to.as_ref().map(belay_event::Raw::bytes);
            change.change.path.bytes() == path || to == Some(path)
        };
        Ok(changes.into_iter().filter(about).collect())
    }

    /// How many changes each command made; those of nobody in the run under none.
    pub fn change_counts(&self) -> Result<BTreeMap<Option<u64>, u64>> {
        let read = "SELECT command, count(*) FROM fs_events GROUP BY command";
        let mut statement = self.connection.prepare(read).map_err(Error::database("read"))?;
        let counts = statement.query_map([], |row| {
            let command = row.get::<_, Option<i64>>(0)?.map(|command| command as u64);
            Ok((command, row.get::<_, i64>(1)? as u64))
        });
        counts.and_then(Iterator::collect).map_err(Error::database("read"))
    }

    /// How many different paths changed, and how many by each command.
    pub fn path_counts(&self) -> Result<(u64, BTreeMap<Option<u64>, u64>)> {
        // A rename changes two paths: one comes, and one goes. What came and went is no change that is left.
        const TOUCHED: &str = "WITH touched AS (SELECT id, command, path, action FROM fs_events \
                UNION ALL SELECT id, command, to_path, 'come' FROM fs_events WHERE to_path IS NOT NULL), \
            first AS (SELECT path, action, min(id) FROM touched GROUP BY path), \
            last AS (SELECT path, action, max(id) FROM touched GROUP BY path), \
            passed AS (SELECT path FROM first JOIN last USING (path) \
                WHERE first.action = 'created' AND last.action IN ('deleted', 'renamed'))";
        const LEFT: &str = "touched WHERE path NOT IN (SELECT path FROM passed)";
        let all = format!("{TOUCHED} SELECT count(DISTINCT path) FROM {LEFT}");
        let all: i64 = self.connection.query_row(&all, [], |row| row.get(0)).map_err(Error::database("read"))?;
        let read = format!("{TOUCHED} SELECT command, count(DISTINCT path) FROM {LEFT} GROUP BY command");
        let mut statement = self.connection.prepare(&read).map_err(Error::database("read"))?;
        let counts = statement.query_map([], |row| {
            let command = row.get::<_, Option<i64>>(0)?.map(|command| command as u64);
            Ok((command, row.get::<_, i64>(1)? as u64))
        });
        Ok((all as u64, counts.and_then(Iterator::collect).map_err(Error::database("read"))?))
    }

    /// The snapshots that were taken, in order.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>> {
        let read = "SELECT seq, start_fs_event_id, stop_fs_event_id FROM snapshot_events ORDER BY id";
        let mut statement = self.connection.prepare(read).map_err(Error::database("read"))?;
        let ranges = statement.query_map([], |row| Ok((row.get::<_, i64>(0)? as u64, (row.get(1)?, row.get(2)?))));
        let ranges: BTreeMap<u64, (i64, i64)> = ranges.and_then(Iterator::collect).map_err(Error::database("read"))?;
        let taken = self.others("event = 'snapshot'", [])?.into_iter().filter_map(|(seq, event)| {
            let (start, stop) = *ranges.get(&seq)?;
            match event.what {
                What::Snapshot(taken) => Some(Snapshot { seq, at: event.at, taken, start, stop }),
                _ => None,
            }
        });
        Ok(taken.collect())
    }

    /// At most `limit` events after number `seq`.
    pub fn events_after(&self, seq: u64, limit: usize) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        stored::walk(&self.connection, seq, |stored| {
            let stored = stored?;
            if entries.len() < limit {
                entries.push(Entry { seq: stored.seq(), event: stored.into_event()? });
            }
            Ok(if entries.len() < limit { Walk::On } else { Walk::Stop })
        })?;
        Ok(entries)
    }

    /// At most `limit` events after number `seq` that are not changes of paths.
    pub fn events_but_files(&self, seq: u64, limit: usize) -> Result<Vec<Entry>> {
        let found = self.others("seq > ?1 ORDER BY seq LIMIT ?2", [seq as i64, limit as i64])?;
        Ok(found.into_iter().map(|(seq, event)| Entry { seq, event }).collect())
    }

    /// The last event of all, if there is one.
    pub fn last(&self) -> Result<Option<Entry>> {
        let count = self.count()?;
        Ok(self.events_after(count.saturating_sub(1), 1)?.pop())
    }

    /// Shows all events in order with their links.
    pub(crate) fn walk(&self, mut show: impl FnMut(Linked) -> Result<()>) -> Result<()> {
        stored::walk(&self.connection, 0, |stored: Result<Stored>| {
            let stored = stored?;
            let link = stored.link()?;
            show(Linked { link, event: stored.into_event()? })?;
            Ok(Walk::On)
        })
    }

    pub(crate) fn others(&self, condition: &str, params: impl Params) -> Result<Vec<(u64, Event)>> {
        let order = if condition.contains("ORDER BY") { "" } else { "ORDER BY seq" };
        let read = format!("SELECT seq, timestamp, event, body, hash FROM events WHERE {condition} {order}");
        let mut statement = self.connection.prepare(&read).map_err(Error::database("read"))?;
        let rows = statement.query_map(params, OtherRow::read);
        let rows = rows.and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>).map_err(Error::database("read"))?;
        rows.iter().map(|row| Ok((row.seq, row.event()?))).collect()
    }

    fn changes_where(&self, condition: &str, params: impl Params) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        self.each_change_where(condition, params, &mut |change| changes.push(change))?;
        Ok(changes)
    }

    fn each_change_where(&self, condition: &str, params: impl Params, show: &mut dyn FnMut(Change)) -> Result<()> {
        let read = format!("SELECT {} FROM fs_events WHERE {condition} ORDER BY id", file_row::COLUMNS);
        let mut statement = self.connection.prepare(&read).map_err(Error::database("read"))?;
        let mut rows = statement.query(params).map_err(Error::database("read"))?;
        while let Some(row) = rows.next().map_err(Error::database("read"))? {
            let row = file_row::read(row)?;
            show(Change { id: row.id, seq: row.seq, at: row.at, change: row.change });
        }
        Ok(())
    }

    pub(crate) fn secret(&self) -> Result<[u8; 32]> {
        let secret = self.connection.query_row("SELECT secret FROM head", [], |row| row.get(0)).optional();
        secret.map_err(Error::database("read the head of"))?.ok_or(Error::Form("the head"))
    }
}
