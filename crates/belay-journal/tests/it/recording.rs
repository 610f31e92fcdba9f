//! What is handed in comes out again, in tables and lines.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use belay_event::{Action, Actor, Ended, FileChange, Raw, Rewound, What};
use belay_journal::Reader;
use rusqlite::Connection;

use crate::events::{ended, event, exec, exec_raw, exit, file, snapshot, started, writer};

const COUNTS: &str = "
SELECT s.slot,
    (SELECT COUNT(*) FROM fs_events WHERE id > s.start_fs_event_id AND id <= s.stop_fs_event_id AND action = 'created'),
    (SELECT COUNT(*) FROM fs_events WHERE id > s.start_fs_event_id AND id <= s.stop_fs_event_id AND action = 'modified'),
    (SELECT COUNT(*) FROM fs_events WHERE id > s.start_fs_event_id AND id <= s.stop_fs_event_id AND action = 'deleted'),
    (SELECT COUNT(*) FROM fs_events WHERE id > s.start_fs_event_id AND id <= s.stop_fs_event_id AND action = 'restored')
FROM snapshot_events s
WHERE s.id IN (SELECT MAX(id) FROM snapshot_events GROUP BY slot)";

#[test]
fn every_event_comes_back_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let odd = FileChange {
        action: Action::Renamed,
        path: Raw::from(vec![b'a', 0xff, b'\n']),
        to: Some(Raw::from(vec![0xfe])),
        dir: true,
        size: None,
        by: Some(Actor { pid: None, command: None, exact: false }),
    };
    let nobody = FileChange { to: None, by: None, path: "b\\xff".into(), ..odd.clone() };
    let rewound = Rewound {
        kind: "undo".into(),
        from: "snap_1".into(),
        to: "snap_9".into(),
        checkpoint: Some("cp-3".into()),
        changed: 1,
    };
    let events = vec![
        started(),
        exec(1, 1, &["sh", "-c", "x"]),
        exec_raw(2, 2, vec![Raw::from(vec![0xff]), Raw::from(vec![0x80, b'"'])]),
        file(3, Action::Created, "src/main.rs"),
        event(4, What::File(odd)),
        event(5, What::File(nobody)),
        snapshot(6, "auto", Some(0)),
        exit(7, 2, Ended::Signal(9)),
        event(8, What::Rewound(rewound)),
        file(9, Action::Restored, "src/main.rs"),
        ended(),
    ];
    let writer = writer(dir.path());
    writer.append(events.clone());
    let head = writer.finish().unwrap();
    assert!(head.closed && head.is_signed());
    assert_eq!(head.count, events.len() as u64);
    let reader = Reader::open(dir.path()).unwrap();
    let entries = reader.events_after(0, 100).unwrap();
    assert_eq!(entries.iter().map(|entry| entry.event.clone()).collect::<Vec<_>>(), events);
    assert_eq!(entries.iter().map(|entry| entry.seq).collect::<Vec<_>>(), (1..=11).collect::<Vec<_>>());
    for after in 0..11 {
        assert_eq!(reader.events_after(after, 1).unwrap()[0].seq, after + 1);
    }
    let paths: Vec<String> = column(dir.path(), "SELECT path FROM fs_events");
    assert_eq!(paths, ["src/main.rs", "a\\xff\n", "b\\xff", "src/main.rs (from cp-3)"]);
    assert_eq!(reader.changes_of(b"src/main.rs").unwrap().len(), 2);
    assert_eq!(reader.changes_of(&[0xfe]).unwrap().len(), 1);
}

#[test]
fn lines_and_rows_tell_the_commands() {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(dir.path());
    writer.append(vec![started(), exec(1, 1, &["sh"]), exec(2, 2, &["git", "commit", "-m", "fix bug"])]);
    writer.append(vec![exit(4, 2, Ended::Code(3)), exec_raw(5, 3, vec!["x".into(), Raw::from(vec![0xff])])]);
    writer.append(vec![exit(6, 3, Ended::Replaced(4)), ended()]);
    writer.finish().unwrap();
    let lines = fs::read_to_string(dir.path().join("exec.jsonl")).unwrap();
    assert_eq!(
        lines,
        concat!(
            r#"{"timestamp":"2026-01-20T10:20:02.000000005Z","pid":1002,"ppid":999,"command":"git","args":["commit","-m","fix bug"],"working_dir":"/srv/project","exit_code":3,"duration":1.5,"number":2,"parent":1,"exe":"/usr/bin/git","uid":1000,"signal":null,"replaced_by":null,"duration_ns":1500000000,"cut":false}"#,
            "\n",
            r#"{"timestamp":"2026-01-20T10:20:05.000000005Z","pid":1003,"ppid":999,"command":"x","args":[[255]],"working_dir":"/srv/project","exit_code":null,"duration":1.5,"number":3,"parent":1,"exe":"/usr/bin/git","uid":1000,"signal":null,"replaced_by":4,"duration_ns":1500000000,"cut":false}"#,
            "\n",
            r#"{"timestamp":"2026-01-20T10:20:01.000000005Z","pid":1001,"ppid":999,"command":"sh","args":[],"working_dir":"/srv/project","exit_code":null,"duration":null,"number":1,"parent":null,"exe":"/usr/bin/git","uid":1000,"signal":null,"replaced_by":null,"duration_ns":null,"cut":false}"#,
            "\n",
        )
    );
    let rows: Vec<String> =
        column(dir.path(), "SELECT command || ' ' || args || ' ' || coalesce(exit_code, '-') FROM exec_events");
    assert_eq!(rows, ["sh [] -", r#"git ["commit","-m","fix bug"] 3"#, "x [[255]] -"]);
}

#[test]
fn a_snapshot_counts_its_own_changes_after_the_ring_wrapped() {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(dir.path());
    let created = |n: u64| (0..n).map(move |i| file(i, Action::Created, "a")).collect::<Vec<_>>();
    let deleted = |n: u64| (0..n).map(move |i| file(i, Action::Deleted, "a")).collect::<Vec<_>>();
    writer.append(vec![started()]);
    for (events, snap) in [
        (created(1), snapshot(1, "auto", Some(0))),
        (created(2), snapshot(2, "manual", Some(2))),
        (deleted(3), snapshot(3, "auto", Some(1))),
        (created(4), snapshot(4, "auto", None)),
        (created(5), snapshot(5, "auto", Some(0))),
    ] {
        writer.append(events);
        writer.append(vec![snap]);
    }
    writer.finish().unwrap();
    let database = Connection::open(dir.path().join("session.db")).unwrap();
    let mut statement = database.prepare(COUNTS).unwrap();
    let row = |row: &rusqlite::Row<'_>| {
        Ok((row.get::<_, i64>(0)?, [1, 2, 3, 4].map(|column| row.get::<_, i64>(column).unwrap())))
    };
    let mut counts: Vec<_> = statement.query_map([], row).unwrap().map(Result::unwrap).collect();
    counts.sort();
    // The slots -4, 0, 1, 2: one in no pool, the newest of slot 0, and the manual one with all before it.
    assert_eq!(counts, [(-4, [4, 0, 0, 0]), (0, [9, 0, 0, 0]), (1, [2, 0, 3, 0]), (2, [3, 0, 0, 0])]);
}

#[test]
fn everything_is_readable_as_soon_as_it_is_synced() {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(dir.path());
    writer.append(vec![started()]);
    assert_eq!(writer.sync().unwrap().count, 1);
    let reader = Reader::open(dir.path()).unwrap();
    writer.append(vec![file(1, Action::Created, "a"), exec(2, 1, &["a"])]);
    let head = writer.sync().unwrap();
    assert!(!head.closed && head.is_signed());
    assert_eq!(reader.head().unwrap(), head);
    assert_eq!(reader.count().unwrap(), 3);
    assert_eq!(reader.events_after(1, 10).unwrap().len(), 2);
    assert_eq!(reader.commands().unwrap()[0].ended, None);
}

#[test]
fn the_files_are_their_owners_alone() {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(dir.path());
    writer.append(vec![started()]);
    writer.sync().unwrap();
    for name in ["session.db", "session.db-wal", "session.db-shm", "exec.jsonl"] {
        let mode = fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn after_the_end_nothing_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(dir.path());
    writer.append(vec![started(), ended()]);
    writer.finish().unwrap();
    writer.append(vec![file(1, Action::Created, "late")]);
    assert!(writer.sync().is_err());
    assert_eq!(Reader::open(dir.path()).unwrap().count().unwrap(), 2);
}

fn column(dir: &std::path::Path, sql: &str) -> Vec<String> {
    let database = Connection::open(dir.join("session.db")).unwrap();
    let mut statement = database.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn what_comes_while_a_record_is_closed_does_not_get_behind_its_end() {
    for _ in 0..20 {
        let dir = tempfile::tempdir().unwrap();
        let writer = writer(dir.path());
        writer.append(vec![started(), ended()]);
        std::thread::scope(|scope| {
            scope.spawn(|| (0..200).for_each(|second| writer.append(vec![file(second, Action::Created, "late")])));
            let head = writer.finish().unwrap();
            assert_eq!(Reader::open(dir.path()).unwrap().count().unwrap(), head.count);
        });
        let reader = Reader::open(dir.path()).unwrap();
        assert!(reader.verify(None).unwrap().is_good());
    }
}
