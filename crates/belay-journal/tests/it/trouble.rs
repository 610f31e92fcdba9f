//! A disk that refuses stops neither the run nor the record.

use std::time::{Duration, Instant};

use belay_event::{Action, Ended, What};
use belay_journal::Reader;
use belay_testkit::SmallDisk;
use rusqlite::Connection;

use crate::events::{ended, exec, exit, file, key, started, writer};

#[test]
fn a_locked_record_is_waited_for_and_told() {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(dir.path());
    writer.append(vec![started()]);
    writer.sync().unwrap();
    let other = Connection::open(dir.path().join("session.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begin = Instant::now();
    let burst = || (0..33_000).map(|second| file(second, Action::Modified, "a")).collect::<Vec<_>>();
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
    assert_eq!(lost.sum::<u64>() + reader.changes().unwrap().len() as u64, 4 * 33_000);
    assert!(events.iter().any(|entry| matches!(&entry.event.what, What::Degraded(why) if why.layer == "journal")));
    assert_eq!(reader.commands().unwrap().len(), 1);
}

#[test]
fn a_full_disk_is_waited_for_and_told() {
    let Some(disk) = SmallDisk::tmpfs(8 << 20) else { return };
    let writer = writer(disk.path());
    writer.append(vec![started(), exec(1, 1, &["sh"])]);
    writer.sync().unwrap();
    let filler = disk.fill_leaving(64 << 10);
    let changes = (0..5_000).map(|second| file(second, Action::Created, "some/path")).collect::<Vec<_>>();
    writer.append(changes);
    writer.append(vec![exit(2, 1, Ended::Code(0))]);
    assert!(writer.sync().is_err());
    assert!(writer.trouble().is_some());
    std::fs::remove_file(filler).unwrap();
    writer.append(vec![ended()]);
    writer.finish().unwrap();
    let reader = Reader::open(disk.path()).unwrap();
    let verdict = reader.verify(Some(&key().public())).unwrap();
    assert!(verdict.is_good() && verdict.closed, "{:?}", verdict.faults);
    assert_eq!(reader.changes().unwrap().len(), 5_000);
    let told = reader.events_but_files(0, 100).unwrap();
    assert!(told.iter().any(|entry| matches!(&entry.event.what, What::Degraded(why) if why.layer == "journal")));
}
