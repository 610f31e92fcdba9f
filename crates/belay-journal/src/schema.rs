//! The tables of `session.db`, and how a connection to them is opened.
//!
//! The first columns of `fs_events` and `snapshot_events` are a contract with those who query them; ours follow.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};
use rusqlite_migration::{M, Migrations};

use crate::error::{Error, Result};

/// The database's name in a run's directory.
pub(crate) const DATABASE: &str = "session.db";

/// How long a writer waits for somebody who holds the database's lock.
const BUSY: Duration = Duration::from_secs(1);

/// Pages of the write-ahead log after which they are moved into the database: 32 MiB, so that a burst is not
/// stopped by a sync every few thousand events.
const CHECKPOINT_PAGES: u32 = 8192;

const STEPS: &[M<'static>] = &[M::up(TABLES)];
const MIGRATIONS: Migrations<'static> = Migrations::from_slice(STEPS);

const TABLES: &str = "
CREATE TABLE fs_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    timestamp TEXT NOT NULL,
    action TEXT NOT NULL,
    path TEXT NOT NULL,
    size INTEGER,
    to_path TEXT,
    dir INTEGER NOT NULL DEFAULT 0,
    pid INTEGER,
    command INTEGER,
    exact INTEGER,
    path_raw BLOB,
    to_raw BLOB,
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL
);
CREATE TABLE snapshot_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    timestamp TEXT NOT NULL,
    slot INTEGER NOT NULL,
    origin TEXT NOT NULL,
    name TEXT,
    files_count INTEGER DEFAULT 0,
    start_fs_event_id INTEGER DEFAULT 0,
    stop_fs_event_id INTEGER DEFAULT 0,
    snapshot TEXT,
    kind TEXT,
    stored_bytes INTEGER,
    took_us INTEGER,
    by_dirty_set INTEGER,
    command INTEGER,
    root TEXT,
    seq INTEGER
);
CREATE TABLE exec_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    timestamp TEXT NOT NULL,
    pid INTEGER NOT NULL,
    ppid INTEGER NOT NULL,
    command TEXT NOT NULL,
    args TEXT NOT NULL,
    working_dir TEXT NOT NULL,
    exit_code INTEGER,
    duration REAL,
    number INTEGER NOT NULL,
    parent INTEGER,
    exe TEXT NOT NULL,
    uid INTEGER NOT NULL,
    signal INTEGER,
    replaced_by INTEGER,
    duration_ns INTEGER,
    cut INTEGER NOT NULL DEFAULT 0,
    seq INTEGER NOT NULL
);
CREATE TABLE net_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    timestamp TEXT NOT NULL,
    host TEXT NOT NULL,
    port INTEGER,
    decision TEXT NOT NULL,
    rule TEXT,
    method TEXT,
    path TEXT,
    query TEXT,
    status INTEGER,
    bytes_sent INTEGER DEFAULT 0,
    bytes_received INTEGER DEFAULT 0,
    duration_ms INTEGER DEFAULT 0,
    request_headers TEXT,
    response_headers TEXT,
    request_body_preview TEXT,
    response_body_preview TEXT,
    error TEXT,
    pid INTEGER,
    command INTEGER,
    seq INTEGER
);
CREATE TABLE mcp_calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    timestamp TEXT NOT NULL,
    server TEXT NOT NULL,
    method TEXT NOT NULL,
    tool TEXT,
    request_id TEXT,
    request_preview TEXT,
    response_preview TEXT,
    decision TEXT NOT NULL,
    duration_ms INTEGER DEFAULT 0,
    error TEXT,
    command INTEGER,
    seq INTEGER
);
CREATE TABLE model_calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    timestamp TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT,
    net_event_id INTEGER,
    stream INTEGER NOT NULL DEFAULT 0,
    status INTEGER,
    stop_reason TEXT,
    input_tokens INTEGER,
    output_tokens INTEGER,
    cached_tokens INTEGER,
    cost_usd REAL,
    tool_calls TEXT,
    duration_ms INTEGER DEFAULT 0,
    error TEXT,
    command INTEGER,
    seq INTEGER
);
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    timestamp TEXT NOT NULL,
    event TEXT NOT NULL,
    body TEXT NOT NULL,
    hash BLOB NOT NULL
);
CREATE VIEW denials AS SELECT
    seq AS id,
    timestamp,
    json_extract(body, '$.call') AS call,
    json_extract(body, '$.path') AS path,
    json_extract(body, '$.errno') AS errno,
    json_extract(body, '$.pid') AS pid,
    json_extract(body, '$.command') AS command,
    json_extract(body, '$.wanted') AS wanted,
    COALESCE(json_extract(body, '$.count'), 1) AS count
FROM events WHERE event = 'denied';
CREATE TABLE head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    run TEXT NOT NULL,
    secret BLOB NOT NULL,
    count INTEGER NOT NULL,
    hash BLOB NOT NULL,
    closed INTEGER NOT NULL,
    public_key BLOB NOT NULL,
    signature BLOB NOT NULL
);
";

/// Opens the database in `dir` for writing, and makes its tables; with `new` it must not exist yet.
pub(crate) fn open_to_write(dir: &Path, new: bool) -> Result<Connection> {
    let path = dir.join(DATABASE);
    if new {
        // SQLite gives its other files the mode of this one, so the umask has no say.
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600).open(&path).map_err(Error::file("create", &path))?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(&path, flags).map_err(Error::database("open"))?;
    if new {
        // A command waits for this; what SQLite would sync step by step is synced once, when all of it is there.
        connection.pragma_update(None, "synchronous", "off").map_err(Error::database("open"))?;
    }
    prepare(&connection).map_err(Error::database("open"))?;
    migrate(&mut connection)?;
    connection.pragma_update(None, "synchronous", "normal").map_err(Error::database("open"))?;
    if new {
        for path in [path.as_path(), dir] {
            File::open(path).and_then(|file| file.sync_all()).map_err(Error::file("sync", path))?;
        }
    }
    Ok(connection)
}

/// Opens the database in `dir` for reading only.
pub(crate) fn open_to_read(dir: &Path) -> Result<Connection> {
    let path = dir.join(DATABASE);
    if !path.exists() {
        return Err(Error::Missing(dir.to_owned()));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&path, flags).map_err(Error::database("open"))?;
    match check(connection, dir) {
        Err(Error::Database { source, .. }) if is_unwritable(&source) && is_settled(dir) => {
            let uri = Connection::open_with_flags(immutable(&path), flags | OpenFlags::SQLITE_OPEN_URI);
            check(uri.map_err(Error::database("open"))?, dir)
        }
        checked => checked,
    }
}

/// Whether SQLite wanted to write beside the database, which even a reader does while there may be a writer.
fn is_unwritable(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen))
}

/// Whether everything is in the database itself, as at the end of a run.
fn is_settled(dir: &Path) -> bool {
    std::fs::metadata(dir.join(format!("{DATABASE}-wal"))).map_or(true, |log| log.len() == 0)
}

/// The name by which SQLite opens a database that it takes for unchangeable.
fn immutable(path: &Path) -> String {
    let mut name = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => name.push(char::from(*byte)),
            other => name.push_str(&format!("%{other:02X}")),
        }
    }
    name + "?immutable=1"
}

fn check(connection: Connection, dir: &Path) -> Result<Connection> {
    connection.busy_timeout(BUSY).map_err(Error::database("open"))?;
    let version = connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    match MIGRATIONS.pending_migrations(&connection).map_err(unsuitable)? {
        0 => Ok(connection),
        // Whoever began it was killed before it had a table.
        _ if version.map_err(Error::database("open"))? == 0 => Err(Error::Missing(dir.to_owned())),
        _ => Err(Error::Schema(Box::new(rusqlite_migration::Error::MigrationDefinition(
            rusqlite_migration::MigrationDefinitionError::DatabaseTooFarAhead,
        )))),
    }
}

/// The same tables in memory, to compare with.
pub(crate) fn in_memory() -> Result<Connection> {
    let mut connection = Connection::open_in_memory().map_err(Error::database("open"))?;
    migrate(&mut connection)?;
    Ok(connection)
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update_and_check(None, "wal_autocheckpoint", CHECKPOINT_PAGES, |_| Ok(()))?;
    connection.pragma_update_and_check(None, "journal_size_limit", 64 << 20, |_| Ok(()))
}

fn migrate(connection: &mut Connection) -> Result<()> {
    MIGRATIONS.to_latest(connection).map_err(unsuitable)
}

/// Why tables cannot be used: SQLite itself refused, or they are not ours.
fn unsuitable(error: rusqlite_migration::Error) -> Error {
    match error {
        rusqlite_migration::Error::RusqliteError { err, .. } => Error::Database { operation: "open", source: err },
        other => Error::Schema(Box::new(other)),
    }
}

/// Runs `work` so that its commit, and with it every earlier one, is on the disk when this returns.
pub(crate) fn durably<T>(
    connection: &mut Connection,
    work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    connection.pragma_update(None, "synchronous", "full")?;
    let done = work(connection);
    connection.pragma_update(None, "synchronous", "normal")?;
    done
}
