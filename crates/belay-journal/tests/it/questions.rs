//! SQL that reads is answered; all other is refused.

use belay_event::Action;
use belay_journal::{Cell, Error, Reader};

use crate::events::{ended, exec, file, started, writer};

fn reader(dir: &std::path::Path) -> Reader {
    let writer = writer(dir);
    writer.append(vec![started(), exec(1, 1, &["sh"]), file(2, Action::Created, "a"), ended()]);
    writer.finish().unwrap();
    Reader::open(dir).unwrap()
}

#[test]
fn a_question_is_answered() {
    let dir = tempfile::tempdir().unwrap();
    let reader = reader(dir.path());
    let answer = reader.query("SELECT count(*) AS n, max(path), NULL, 1.5, x'ff' FROM fs_events").unwrap();
    assert_eq!(answer.columns[0], "n");
    let row = [Cell::Integer(1), Cell::Text("a".into()), Cell::Null, Cell::Real(1.5), Cell::Bytes(vec![0xff])];
    assert_eq!(answer.rows, [row]);
    for sql in [
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 9) SELECT sum(n) FROM t",
        "SELECT name FROM pragma_table_info('fs_events')",
        "PRAGMA table_info(fs_events)",
        "EXPLAIN QUERY PLAN SELECT * FROM fs_events",
        "SELECT json_extract(args, '$[0]') FROM exec_events",
    ] {
        reader.query(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
}

#[test]
fn what_is_more_than_reading_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let reader = reader(dir.path());
    for sql in [
        "DELETE FROM fs_events",
        "UPDATE fs_events SET path = 'b'",
        "INSERT INTO fs_events (timestamp, action, path, seq, hash) VALUES ('', '', '', 1, '')",
        "DROP TABLE fs_events",
        "CREATE TEMP TABLE t (a)",
        "ATTACH DATABASE '/tmp/belay-attached.db' AS other",
        "ATTACH DATABASE ':memory:' AS other",
        "PRAGMA user_version = 7",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA writable_schema = ON",
        "VACUUM INTO '/tmp/belay-vacuumed.db'",
        "SELECT load_extension('x')",
        "SELECT secret FROM head",
        "SELECT * FROM head",
        "BEGIN",
        "SELECT 1; DELETE FROM fs_events",
        "SELECT * FROM nothing",
        "",
    ] {
        assert!(matches!(reader.query(sql), Err(Error::Query(_))), "{sql}");
    }
    assert!(!std::path::Path::new("/tmp/belay-attached.db").exists());
    assert_eq!(reader.count().unwrap(), 4);
}
