//! A writer that is killed loses nothing that it answered for.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use belay_event::{Action, At, Ended, Event, What};
use belay_journal::{Error, Reader, recover};

use crate::events::{exec, exit, file, key, started, writer};

/// Where the process that is to be killed writes; only set for that one.
const VICTIM: &str = "BELAY_TEST_VICTIM";

#[test]
fn what_was_synced_survives_a_kill() {
    if let Some(dir) = std::env::var_os(VICTIM) {
        return write_until_killed(Path::new(&dir));
    }
    for round in 0..8 {
        let dir = tempfile::tempdir().unwrap();
        let promised = kill_after(dir.path(), Duration::from_millis(30 + round * 45));
        let head = recover(dir.path(), key(), At::from_unix_nanos(1)).unwrap();
        let reader = Reader::open(dir.path()).unwrap();
        let verdict = reader.verify(Some(&key().public())).unwrap();
        assert!(verdict.is_good(), "round {round}: {:?}", verdict.faults);
        assert!(head.closed && verdict.closed);
        assert!(verdict.events > promised, "round {round}: {} of {promised}", verdict.events);
        let (_, end) = reader.ended().unwrap().unwrap();
        assert_eq!(end.because.as_deref(), Some("controller lost"));
        let lines = fs::read_to_string(dir.path().join("exec.jsonl")).unwrap();
        assert_eq!(lines.lines().count(), reader.commands().unwrap().len());
    }
}

fn kill_after(dir: &Path, delay: Duration) -> u64 {
    let name = "killed::what_was_synced_survives_a_kill";
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(VICTIM, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let reading = std::thread::spawn(move || {
        let counts = lines.map_while(Result::ok).filter_map(|line| line.strip_prefix("synced ")?.parse().ok());
        counts.last().unwrap_or(0)
    });
    std::thread::sleep(delay);
    while Reader::open(dir).and_then(|reader| reader.count()).unwrap_or(0) == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    victim.kill().unwrap();
    victim.wait().unwrap();
    reading.join().unwrap()
}

fn write_until_killed(dir: &Path) {
    let writer = writer(dir);
    writer.append(vec![started(), exec(0, 1, &["sh"])]);
    for command in 2.. {
        writer.append(vec![exec(command, command, &["make"])]);
        writer.append((0..500).map(|_| file(command, Action::Modified, "a")).collect());
        if command % 3 != 0 {
            writer.append(vec![exit(command, command, Ended::Code(0))]);
        }
        if command % 4 == 0 {
            println!("synced {}", writer.sync().unwrap().count);
        }
    }
}

#[test]
fn recovering_twice_and_beside_a_writer_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(dir.path());
    writer.append(vec![started(), exec(1, 1, &["sh"])]);
    writer.sync().unwrap();
    let now = At::from_unix_nanos(1);
    assert!(matches!(recover(dir.path(), key(), now), Err(Error::Busy)));
    drop(writer);
    let head = recover(dir.path(), key(), now).unwrap();
    assert_eq!(head.count, 3);
    assert_eq!(recover(dir.path(), key(), now).unwrap(), head);
    let last = Reader::open(dir.path()).unwrap().last().unwrap().unwrap();
    assert!(matches!(last.event, Event { what: What::RunEnded(_), .. }));
}
