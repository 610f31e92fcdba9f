//! Words can be erased from a record: they are gone from every file, the rest still proves itself, and nobody but
//! the holder of the key can do it unseen.

use std::fs;
use std::path::Path;

use belay_event::{Action, At, Ended, Event, McpCall, Raw, What};
use belay_journal::{Damage, Error, Reader, Verdict, count_erasable, erase, recover, verify_bundle};
use rusqlite::Connection;

use crate::events::{ended, event, exec, exit, file, key, snapshot, started, writer};

const GONE: &str = "(erased)";
const AT: i128 = 1_768_999_999_000_000_005;

fn record() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(dir.path());
    writer.append(vec![started(), exec(1, 1, &["sh"]), exec(2, 2, &["cat", "id_rsa"])]);
    writer.append(vec![file(3, Action::Created, "id_rsa"), file(4, Action::Created, "notes")]);
    let call = McpCall { tool: "read".into(), request: "{\"path\":\"id_rsa\"}".into(), ..McpCall::default() };
    writer.append(vec![event(5, What::McpCall(call)), exit(6, 2, Ended::Code(0)), snapshot(7, "auto", Some(0))]);
    writer.append(vec![exit(8, 1, Ended::Code(0)), ended()]);
    writer.finish().unwrap();
    dir
}

/// What takes every mention of a name out of an event.
fn without(name: &'static str) -> impl Fn(&Event) -> Option<Event> {
    move |event| {
        let mut new = event.clone();
        match &mut new.what {
            What::File(change) if change.path.bytes() == name.as_bytes() => change.path = Raw::from(GONE),
            What::Exec(exec) => {
                let named = |word: &&mut Raw| word.bytes() == name.as_bytes();
                exec.argv.iter_mut().filter(named).for_each(|word| *word = Raw::from(GONE));
            }
            What::McpCall(call) if call.request.contains(name) => call.request = GONE.to_owned(),
            _ => {}
        }
        (new != *event).then_some(new)
    }
}

fn erase_in(dir: &Path, name: &'static str) -> belay_journal::Result<u64> {
    erase(dir, key(), At::from_unix_nanos(AT), &without(name))
}

fn verify(dir: &Path) -> Verdict {
    Reader::open(dir).unwrap().verify(Some(&key().public())).unwrap()
}

fn bundle(dir: &Path) -> Vec<u8> {
    let mut out = Vec::new();
    Reader::open(dir).unwrap().export(&mut out, &|_| false).unwrap();
    out
}

fn files_with(dir: &Path, text: &str) -> Vec<String> {
    let holds = |entry: &fs::DirEntry| {
        let bytes = fs::read(entry.path()).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    let entries = fs::read_dir(dir).unwrap().map(Result::unwrap);
    entries.filter(holds).map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn erased_words_are_in_no_file_and_the_record_is_good() {
    let dir = record();
    let before = bundle(dir.path());
    assert!(!files_with(dir.path(), "id_rsa").is_empty());
    assert_eq!(count_erasable(dir.path(), &without("id_rsa")).unwrap(), 3);
    assert_eq!(erase_in(dir.path(), "id_rsa").unwrap(), 3);
    assert_eq!(files_with(dir.path(), "id_rsa"), Vec::<String>::new());
    let verdict = verify(dir.path());
    assert!(verdict.is_good(), "{:?}", verdict.faults);
    assert_eq!((verdict.erased, verdict.events, verdict.signed, verdict.closed), (3, 11, 11, true));
    let reader = Reader::open(dir.path()).unwrap();
    assert_eq!(reader.changes().unwrap()[0].change.path.bytes(), GONE.as_bytes());
    assert_eq!(reader.changes().unwrap()[1].change.path.bytes(), b"notes");
    assert_eq!(reader.commands().unwrap()[1].exec.argv, [Raw::from("cat"), Raw::from(GONE)]);
    assert_eq!(erase_in(dir.path(), "id_rsa").unwrap(), 0, "nothing is left to erase");
    for (bundle, left_out) in [(before, 0), (bundle(dir.path()), 3)] {
        let verdict = verify_bundle(&mut bundle.as_slice(), Some(&key().public())).unwrap();
        assert!(verdict.is_good(), "{:?}", verdict.faults);
        assert_eq!(verdict.redacted, left_out);
    }
}

#[test]
fn words_are_erased_from_the_same_events_again() {
    let dir = record();
    erase_in(dir.path(), "id_rsa").unwrap();
    assert_eq!(erase_in(dir.path(), "cat").unwrap(), 1);
    assert_eq!(erase_in(dir.path(), "notes").unwrap(), 1);
    let verdict = verify(dir.path());
    assert!(verdict.is_good(), "{:?}", verdict.faults);
    assert_eq!((verdict.erased, verdict.events), (4, 13));
    assert!(verify_bundle(&mut bundle(dir.path()).as_slice(), None).unwrap().is_good());
}

#[test]
fn what_stands_in_place_of_erased_words_cannot_be_changed() {
    let sql = [
        "UPDATE fs_events SET path = 'other' WHERE id = 1",
        "UPDATE fs_events SET action = 'deleted' WHERE id = 1",
        "UPDATE events SET body = replace(body, '\"cat\"', '\"cut\"') WHERE seq = 3",
        "UPDATE events SET body = replace(body, '\"seq\":3', '\"seq\":2') WHERE event = 'erased'",
        "DELETE FROM events WHERE event = 'erased'",
    ];
    for sql in sql {
        let dir = record();
        erase_in(dir.path(), "id_rsa").unwrap();
        Connection::open(dir.path().join("session.db")).unwrap().execute_batch(sql).unwrap();
        assert!(!verify(dir.path()).is_good(), "{sql}");
    }
}

#[test]
fn words_that_are_missing_without_a_signed_word_about_it_are_found() {
    let dir = record();
    let connection = Connection::open(dir.path().join("session.db")).unwrap();
    connection.execute_batch(&format!("UPDATE fs_events SET path = '{GONE}' WHERE id = 1")).unwrap();
    let verdict = verify(dir.path());
    assert_eq!(verdict.faults.first().map(|fault| (fault.line, fault.damage)), Some((Some(4), Damage::Changed)));
    // And erasing something else does not sign it.
    assert!(matches!(erase_in(dir.path(), "notes"), Err(Error::NotAsWritten(_))));
    assert!(!verify(dir.path()).is_good());
}

#[test]
fn nobody_signs_an_erasure_that_was_slipped_behind_the_head() {
    let dir = tempfile::tempdir().unwrap();
    let open = writer(dir.path());
    open.append(vec![started(), file(1, Action::Created, "id_rsa")]);
    open.sync().unwrap();
    drop(open);
    let sql = "INSERT INTO events (seq, timestamp, event, body, hash) VALUES (3, '2026-01-20T10:20:02.000000005Z', 'erased', \
               '{\"at\":\"2026-01-20T10:20:02.000000005Z\",\"event\":\"erased\",\"events\":[]}', zeroblob(32))";
    Connection::open(dir.path().join("session.db")).unwrap().execute_batch(sql).unwrap();
    let recovered = recover(dir.path(), key(), At::from_unix_nanos(AT));
    assert!(matches!(recovered, Err(Error::Row { seq: 3, .. })), "{recovered:?}");
}

#[test]
fn a_record_that_is_being_written_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(dir.path());
    writer.append(vec![started(), file(1, Action::Created, "id_rsa")]);
    writer.sync().unwrap();
    assert!(matches!(erase_in(dir.path(), "id_rsa"), Err(Error::Busy)));
}
