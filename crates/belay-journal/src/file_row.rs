//! A file change as a row of `fs_events`, and back.
//!
//! `path` is for reading: the path's text with bytes that are not UTF-8 as `\xHH`, and for a restored path the
//! snapshot it came from behind it. Wherever that text is not the path itself, `path_raw` holds the path.

use belay_event::{Action, Actor, At, Event, FileChange, Raw, What};
use rusqlite::{Row, Statement, params};

use crate::chain::Link;
use crate::error::{Error, Result};

pub(crate) const INSERT: &str = "INSERT INTO fs_events (id, timestamp, action, path, size, to_path, dir, pid, command, \
     exact, path_raw, to_raw, seq, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";

/// The columns that [`read`] expects, in its order.
pub(crate) const COLUMNS: &str =
    "id, timestamp, action, path, size, to_path, dir, pid, command, exact, path_raw, to_raw, seq, hash";

/// A row of the table, read.
#[derive(Debug)]
pub(crate) struct FileRow {
    pub(crate) id: i64,
    pub(crate) seq: u64,
    pub(crate) at: At,
    pub(crate) change: FileChange,
    pub(crate) hash: Vec<u8>,
    path: Text,
    regular: bool,
}

impl FileRow {
    /// Whether every column is written as [`write`] would.
    pub(crate) fn is_regular(&self, rewound: Option<&str>) -> bool {
        self.regular && self.path == Text::of_path(&self.change, rewound)
    }

    pub(crate) fn into_event(self) -> Event {
        Event::new(self.at, What::File(self.change))
    }
}

/// Where a row belongs.
pub(crate) struct Position<'s> {
    pub(crate) id: i64,
    pub(crate) seq: u64,
    pub(crate) link: &'s Link,
    /// The snapshot that the latest rewind went to.
    pub(crate) rewound: Option<&'s str>,
}

/// Writes a row.
pub(crate) fn write(
    insert: &mut Statement<'_>,
    place: &Position<'_>,
    at: At,
    change: &FileChange,
) -> rusqlite::Result<()> {
    let path = Text::of_path(change, place.rewound);
    let to = change.to.as_ref().map(|to| Text::of(to.bytes()));
    let (to_path, to_raw) = to.map_or((None, None), |to| (Some(to.text), to.raw));
    insert.execute(params![
        place.id,
        timestamp(at),
        change.action.name(),
        path.text,
        change.size.map(|size| size as i64),
        to_path,
        change.dir,
        change.by.and_then(|by| by.pid),
        change.by.and_then(|by| by.command).map(|command| command as i64),
        change.by.map(|by| by.exact),
        path.raw,
        to_raw,
        place.seq as i64,
        &place.link[..],
    ])?;
    Ok(())
}

/// Reads a row of [`COLUMNS`].
pub(crate) fn read(row: &Row<'_>) -> Result<FileRow> {
    let seq = row.get::<_, i64>(12).map_or(0, |seq| seq as u64);
    read_columns(row).map_err(|error| Error::row(seq, error))?.map_err(|detail| Error::row(seq, detail))
}

fn read_columns(row: &Row<'_>) -> rusqlite::Result<std::result::Result<FileRow, &'static str>> {
    let written: String = row.get(1)?;
    let Ok(at) = written.parse::<jiff::Timestamp>().map(At::from) else { return Ok(Err("its time is none")) };
    let Some(action) = action(row.get_ref(2)?.as_str()?) else { return Ok(Err("its action is none")) };
    let path = Text { text: row.get(3)?, raw: row.get(10)? };
    let to_raw: Option<Vec<u8>> = row.get(11)?;
    let stray_to = to_raw.is_some();
    let to = row.get::<_, Option<String>>(5)?.map(|text| Text { text, raw: to_raw });
    let (pid, command): (Option<u32>, Option<i64>) = (row.get(7)?, row.get(8)?);
    let by = row.get::<_, Option<bool>>(9)?;
    let by = by.map(|exact| Actor { pid, command: command.map(|command| command as u64), exact });
    let change = FileChange {
        action,
        path: path.bytes(),
        to: to.as_ref().map(Text::bytes),
        dir: row.get(6)?,
        size: row.get::<_, Option<i64>>(4)?.map(|size| size as u64),
        by,
    };
    // Any number but zero is read as yes, and whoever counts such a column would count something else.
    let is_plain = |column: usize| row.get::<_, Option<i64>>(column).map(|value| value.is_none_or(|value| value <= 1));
    let regular = timestamp(at) == written
        && is_plain(6)?
        && is_plain(9)?
        && to.as_ref().map_or(!stray_to, |to| *to == Text::of(to.bytes().bytes()))
        && (by.is_some() || (pid.is_none() && command.is_none()));
    let (id, seq, hash) = (row.get(0)?, row.get::<_, i64>(12)? as u64, row.get(13)?);
    Ok(Ok(FileRow { id, seq, at, change, path, hash, regular }))
}

/// Bytes in two columns: a text to read, and the bytes unless they are that text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text {
    text: String,
    raw: Option<Vec<u8>>,
}

impl Text {
    fn of(bytes: &[u8]) -> Text {
        match std::str::from_utf8(bytes) {
            Ok(text) => Text { text: text.to_owned(), raw: None },
            Err(_) => Text { text: readable(bytes), raw: Some(bytes.to_vec()) },
        }
    }

    fn of_path(change: &FileChange, rewound: Option<&str>) -> Text {
        let bytes = change.path.bytes();
        match (change.action, rewound) {
            (Action::Restored, Some(from)) => {
                Text { text: format!("{} (from {from})", readable(bytes)), raw: Some(bytes.to_vec()) }
            }
            _ => Text::of(bytes),
        }
    }

    fn bytes(&self) -> Raw {
        Raw::from(self.raw.clone().unwrap_or_else(|| self.text.clone().into_bytes()))
    }
}

/// Bytes as text, those that are not UTF-8 as `\xHH`.
pub(crate) fn readable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

/// A moment as it stands in every table: always with nine digits, so that the order of texts is that of time.
pub(crate) fn timestamp(at: At) -> String {
    at.to_string()
}

fn action(name: &str) -> Option<Action> {
    let all = [Action::Created, Action::Modified, Action::Deleted, Action::Renamed, Action::Restored];
    all.into_iter().find(|action| action.name() == name)
}
