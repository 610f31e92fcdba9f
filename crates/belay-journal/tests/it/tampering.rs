//! Whatever is done to a record behind belay's back is found, and found where it was done.

use std::fs;
use std::path::Path;

use belay_event::{Action, Ended};
use belay_journal::{Damage, Key, Reader, Verdict};
use rusqlite::Connection;

use crate::events::{ended, exec, exit, file, key, snapshot, started, writer};

fn record() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(dir.path());
    writer.append(vec![started(), exec(1, 1, &["sh"]), exec(2, 2, &["rm", "a"])]);
    writer.append((3..9).map(|second| file(second, Action::Deleted, "a")).collect());
    writer.append(vec![exit(9, 2, Ended::Code(0)), snapshot(10, "auto", Some(0)), exit(11, 1, Ended::Code(0))]);
    writer.append(vec![ended()]);
    writer.finish().unwrap();
    dir
}

fn verify(dir: &Path) -> Verdict {
    Reader::open(dir).unwrap().verify(Some(&key().public())).unwrap()
}

fn tamper(sql: &str) -> Verdict {
    let dir = record();
    Connection::open(dir.path().join("session.db")).unwrap().execute_batch(sql).unwrap();
    verify(dir.path())
}

fn first(verdict: &Verdict) -> (&str, Option<u64>, Damage) {
    let fault = verdict.faults.first().expect("a fault is found");
    (fault.table.as_str(), fault.line, fault.damage)
}

#[test]
fn a_record_that_nobody_touched_is_good() {
    let dir = record();
    let verdict = verify(dir.path());
    assert!(verdict.is_good(), "{:?}", verdict.faults);
    assert!(verdict.closed);
    assert_eq!((verdict.events, verdict.signed, verdict.known_key), (13, 13, Some(true)));
}

#[test]
fn a_changed_line_is_the_only_one_named() {
    for column in
        ["path = 'b'", "size = 4", "pid = 1", "command = 1", "exact = 0", "dir = 1", "action = 'created'", "pid = NULL"]
    {
        let verdict = tamper(&format!("UPDATE fs_events SET {column} WHERE id = 3"));
        assert_eq!(first(&verdict), ("fs_events", Some(6), Damage::Changed), "{column}");
        assert_eq!(verdict.faults.len(), 1, "{column}: {:?}", verdict.faults);
    }
    for column in ["timestamp = '2026-01-20T10:20:02Z'", "to_path = 'x'", "to_raw = x'00'", "path_raw = x'61'"] {
        let verdict = tamper(&format!("UPDATE fs_events SET {column} WHERE id = 3"));
        assert_eq!(first(&verdict), ("fs_events", Some(6), Damage::Changed), "{column}");
    }
    let verdict = tamper("UPDATE events SET body = replace(body, '\"rm\"', '\"ls\"') WHERE seq = 3");
    assert_eq!(first(&verdict), ("events", Some(3), Damage::Changed));
    for column in ["timestamp = '2026-01-20T10:20:02Z'", "event = 'exit'", "hash = zeroblob(32)", "body = ' ' || body"]
    {
        let verdict = tamper(&format!("UPDATE events SET {column} WHERE seq = 3"));
        assert_eq!(first(&verdict), ("events", Some(3), Damage::Changed), "{column}");
    }
}

#[test]
fn derived_rows_are_held_against_the_events() {
    let cases = [
        ("UPDATE exec_events SET command = 'ls' WHERE number = 2", ("exec_events", Some(2), Damage::Changed)),
        ("UPDATE exec_events SET exit_code = 1 WHERE number = 1", ("exec_events", Some(1), Damage::Changed)),
        ("DELETE FROM exec_events WHERE number = 2", ("exec_events", Some(2), Damage::Removed)),
        ("UPDATE snapshot_events SET stop_fs_event_id = 2", ("snapshot_events", Some(1), Damage::Changed)),
        (
            "INSERT INTO net_events (timestamp, host, decision) VALUES ('x', 'y', 'z')",
            ("net_events", Some(1), Damage::Inserted),
        ),
        ("CREATE VIEW more AS SELECT 1", ("more", None, Damage::Inserted)),
        ("DROP TABLE mcp_calls", ("mcp_calls", None, Damage::Removed)),
    ];
    for (sql, expected) in cases {
        assert_eq!(first(&tamper(sql)), expected, "{sql}");
    }
}

#[test]
fn removed_inserted_and_truncated_lines_are_found() {
    let cases = [
        ("DELETE FROM fs_events WHERE id = 3", ("fs_events", Some(7), Damage::Removed)),
        ("DELETE FROM events WHERE seq = 3", ("fs_events", Some(4), Damage::Removed)),
        (
            "INSERT INTO fs_events (timestamp, action, path, seq, hash) \
             VALUES ('2026-01-20T10:20:02.000000000Z', 'created', 'x', 14, zeroblob(32))",
            ("fs_events", Some(14), Damage::Changed),
        ),
        (
            "INSERT INTO fs_events (timestamp, action, path, seq, hash) \
             VALUES ('2026-01-20T10:20:02.000000000Z', 'created', 'x', 9, zeroblob(32))",
            ("fs_events", Some(9), Damage::Inserted),
        ),
        ("DELETE FROM events WHERE seq >= 12", ("head", None, Damage::Truncated)),
        ("UPDATE head SET count = 12", ("head", None, Damage::Changed)),
        ("UPDATE head SET closed = 0", ("head", None, Damage::Changed)),
    ];
    for (sql, expected) in cases {
        assert_eq!(first(&tamper(sql)), expected, "{sql}");
    }
}

#[test]
fn a_chain_that_was_made_anew_lacks_the_key() {
    let dir = record();
    let forged = tempfile::tempdir().unwrap();
    let writer = belay_journal::Writer::create(forged.path(), "run_abcd1234", Key::from_bytes(&[8; 32])).unwrap();
    writer.append(vec![started(), ended()]);
    writer.finish().unwrap();
    fs::copy(forged.path().join("session.db"), dir.path().join("session.db")).unwrap();
    let verdict = verify(dir.path());
    assert_eq!(verdict.known_key, Some(false));
    assert!(!verdict.is_good());
}

#[test]
fn lines_of_commands_are_held_against_the_events() {
    let with = |edit: &dyn Fn(&str) -> String| {
        let dir = record();
        let path = dir.path().join("exec.jsonl");
        let lines = fs::read_to_string(&path).unwrap();
        fs::write(&path, edit(&lines)).unwrap();
        verify(dir.path())
    };
    assert_eq!(first(&with(&|text| text.replace("\"rm\"", "\"ls\""))), ("exec.jsonl", Some(1), Damage::Changed));
    assert_eq!(first(&with(&|text| format!("{text}{{}}\n"))), ("exec.jsonl", Some(3), Damage::Inserted));
    let cut = with(&|text| text.lines().take(1).map(|line| format!("{line}\n")).collect());
    assert_eq!(first(&cut), ("exec.jsonl", None, Damage::Truncated));
}

#[test]
fn a_yes_that_is_another_number_is_found() {
    for column in ["exact = 2", "dir = 7"] {
        let verdict = tamper(&format!("UPDATE fs_events SET {column} WHERE id = 3"));
        assert_eq!(first(&verdict), ("fs_events", Some(6), Damage::Changed), "{column}");
    }
}

#[test]
fn lines_that_are_gone_as_a_whole_are_found() {
    let dir = record();
    fs::remove_file(dir.path().join("exec.jsonl")).unwrap();
    assert_eq!(first(&verify(dir.path())), ("exec.jsonl", None, Damage::Removed));
}

#[test]
fn the_table_in_which_sqlite_counts_is_looked_at() {
    for sql in [
        "UPDATE sqlite_sequence SET seq = 99 WHERE name = 'fs_events'",
        "DELETE FROM sqlite_sequence WHERE name = 'exec_events'",
        "INSERT INTO sqlite_sequence VALUES ('hidden', 'text')",
    ] {
        assert_eq!(first(&tamper(sql)), ("sqlite_sequence", None, Damage::Changed), "{sql}");
    }
}
