//! A disk that refuses stops neither the run nor the record.

use std::time::{Duration, Instant};

use belay_event::{Action, What};
use belay_journal::Reader;
use rusqlite::Connection;

use crate::events::{ended, exec, file, started, writer};

#[test]
fn a_locked_record_is_waited_for_and_told() {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(dir.path());
    writer.append(vec![started()]);
    writer.sync().unwrap();
    let other = Connection::open(dir.path().join("session.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begin = Instant::now();
    let burst = || (0..50_000).map(|second| file(second, Action::Modified, "a")).collect::<Vec<_>>();
    for _ in 0..3 {
        writer.append(burst());
    }
    assert!(writer.sync().is_err());
    assert!(writer.trouble().is_some());
    writer.append(burst());
    writer.append(vec![exec(1, 1, &["kept"])]);
    assert!(begin.elapsed() < Duration::from_secs(6), "{:?}", begin.elapsed());
    other.execute_batch("ROLLBACK").unwrap();
    drop(other);
    writer.append(vec![ended()]);
    writer.finish().unwrap();
    assert_eq!(writer.trouble(), None);
    let reader = Reader::open(dir.path()).unwrap();
    let events = reader.events_but_files(0, 100).unwrap();
    let lost = events.iter().filter_map(|entry| match &entry.event.what {
        What::Lost(lost) => lost.count,
        _ => None,
    });
    assert_eq!(lost.sum::<u64>() + reader.changes().unwrap().len() as u64, 200_000);
    assert!(events.iter().any(|entry| matches!(&entry.event.what, What::Degraded(why) if why.layer == "journal")));
    assert_eq!(reader.commands().unwrap().len(), 1);
}
