//! Throws damaged bytes at every reader of the session's own files: none may panic, and none may read what was not written.
//!
//! The bytes are mutations of valid ones, so that they get far; `BELAY_FUZZ_SECONDS` makes it last longer.

#![cfg(test)]

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use belay_store::{
    Algorithm, Assembly, Coverage, Disk, Filter, Gap, GapKind, Hash, Limits, Meta, Quiet, RealDisk, Store, Time,
};
use belay_testkit::fuzz;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::archive::Note;
use crate::identity::{Identity, Index, Place};
use crate::intent::{Intent, Named, Pending};
use crate::log::Log;
use crate::record::{Cause, Kind, PathText, Pool, Record, RewindKind, Rewound, Rewritten, Snapshot, Why};
use crate::timeline::tests::{at, sample};
use crate::timeline::{Timeline, payloads};
use crate::workspace::Work;

fn records() -> Vec<Record> {
    let full = Snapshot {
        label: Some("näme\n".into()),
        description: Some("text".into()),
        pool: Some(Pool::Auto),
        slot: Some(3),
        cause: Cause { command: Some(118), ..Cause::default() },
        imported: false,
        replaces: vec!["snap_000001".into()],
        ..sample(7, Kind::Turn)
    };
    let paths = vec![PathText::from(&b"a/\xff"[..]), PathText::from(&b"plain"[..])];
    let (operation, from, to) = ("op_1".to_owned(), "snap_000007".to_owned(), "snap_000001".to_owned());
    let kind = RewindKind::Rollback;
    let rewritten = Rewritten { id: from.clone(), root: Hash([1; 32]), manifest: Hash([2; 32]), files: 3, bytes: 4 };
    vec![
        Record::Snapshot(Box::new(sample(1, Kind::Manual))),
        Record::Snapshot(Box::new(full)),
        Record::Rewind(Rewound { operation, kind, from, to, paths, at: at(9), changed: 5, reversed: true }),
        Record::Delete { ids: vec!["snap_000001".into()], why: Why::Budget, at: at(10) },
        Record::Forget { rewritten: vec![rewritten], at: at(11) },
        Record::Base { numbers: 9, latest_at: at(12), auto_slot: Some(2) },
    ]
}

fn intent() -> Intent {
    let named = |id: &str| Named { id: id.into(), manifest: Hash([7; 32]) };
    Intent {
        operation: "op_x".into(),
        kind: RewindKind::Undo,
        prefix: ".belay-op_x-".into(),
        target: named("snap_target"),
        safety: named("snap_safety"),
        paths: vec![PathText::from(&b"a\xff"[..])],
        guard: crate::guard::Guard::default(),
        exact_times: true,
        leaves_damaged: true,
        begun_at: at(1),
    }
}

/// What is accepted says the same when it is written and read again.
fn comes_back<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(bytes: &[u8]) -> Option<T> {
    let value: T = serde_json::from_slice(bytes).ok()?;
    let again = serde_json::to_vec(&value).expect("plain data with text keys");
    assert_eq!(serde_json::from_slice::<T>(&again).expect("it was just written"), value);
    Some(value)
}

fn disk() -> (tempfile::TempDir, RealDisk) {
    let dir = tempfile::tempdir().expect("a directory");
    let disk = RealDisk::open(dir.path()).expect("a disk");
    (dir, disk)
}

#[test]
fn records_of_a_timeline() {
    let seeds = payloads(&records());
    fuzz("records", &seeds, |bytes| {
        if let Some(record) = comes_back::<Record>(bytes) {
            let mut timeline = Timeline::default();
            records().into_iter().chain([record]).for_each(|record| timeline.apply(record));
            timeline.instant(at(1));
            let _ = (timeline.undo_stack(), timeline.redo_stack(), timeline.base(), timeline.next_number());
            let mut again = Timeline::default();
            timeline.essence().into_iter().for_each(|record| again.apply(record));
            let tells = |timeline: &Timeline| -> Vec<(String, Hash)> {
                timeline.snapshots().iter().map(|snapshot| (snapshot.id.clone(), snapshot.manifest)).collect()
            };
            assert_eq!(tells(&again), tells(&timeline), "a rewritten timeline tells something else");
        }
    });
}

#[test]
fn intents() {
    let seed = serde_json::to_vec(&intent()).expect("plain data");
    fuzz("intents", &[seed], |bytes| {
        if let Some(intent) = comes_back::<Intent>(bytes) {
            let _ = (intent.mtime(), intent.paths());
        }
    });
}

#[test]
fn identities() {
    let place = Place::look(&std::env::temp_dir()).expect("a directory");
    let seed = serde_json::to_vec(&Identity::new("ws_1".into(), &place, at(1)).copied_from("ws_0".into()));
    fuzz("identities", &[seed.expect("plain data")], |bytes| {
        if let Some(identity) = comes_back::<Identity>(bytes) {
            let _ = identity.path();
        }
    });
}

#[test]
fn logs_yield_only_what_was_written_to_them() {
    let (dir, disk) = disk();
    let written = payloads(&records());
    Log::rewrite(&disk, "log", &written).expect("a log");
    let whole = std::fs::read(dir.path().join("log")).expect("its bytes");
    fuzz("logs", &[whole], |bytes| {
        std::fs::write(dir.path().join("log"), bytes).expect("a file");
        if let Ok(log) = Log::read(&disk, "log") {
            for (_, payload) in log.payloads() {
                assert!(written.iter().any(|one| one == payload), "a payload that nobody wrote");
            }
        }
        let _ = Timeline::read(&disk, "log");
    });
}

#[test]
fn files_of_intents_and_the_index() {
    let (dir, disk) = disk();
    intent().write(&disk, "ws").expect("an intent");
    let name = dir.path().join("workspaces/ws/intent-op_x");
    let place = Place::look(dir.path()).expect("a directory");
    Index::update(&disk, |_| Some(Identity::new("ws_1".into(), &place, at(1)))).expect("an index");
    let index = dir.path().join("workspaces/index");
    let seeds = [std::fs::read(&name).expect("its bytes"), std::fs::read(&index).expect("its bytes")];
    fuzz("files", &seeds, |bytes| {
        std::fs::write(&name, bytes).expect("a file");
        std::fs::write(&index, bytes).expect("a file");
        if let Ok(pending) = Pending::read(&disk, "ws") {
            assert!(pending.intents.iter().all(|one| *one == intent()), "an intent that nobody had");
            assert_eq!(pending.intents.len() + pending.damage.len(), 1, "an intent is lost without a word");
        }
        let _ = Index::read(&disk);
    });
    assert!(disk.list("workspaces/ws").is_ok());
}

fn note() -> Note {
    let meta = Meta { mode: 0o644, uid: 7, mtime: Time { sec: -1, nsec: 999_999_999 }, ..Meta::default() };
    let gap = Gap { path: b"left".to_vec(), kind: GapKind::Attributes, detail: "why".into() };
    Note {
        root: (Algorithm::Blake3, Hash([7; 32])),
        filter: Filter::default(),
        coverage: Coverage { gaps: vec![gap] },
        sockets: vec![(b"dir/socket".to_vec(), meta)],
        links: vec![(b"dir/socket too".to_vec(), b"dir/socket".to_vec())],
        flags: vec![(b"dir/a".to_vec(), true, false)],
    }
}

#[test]
fn notes_in_archives() {
    fuzz("notes", &[note().text().into_bytes()], |bytes| {
        if let Some(note) = std::str::from_utf8(bytes).ok().and_then(Note::parse) {
            assert_eq!(Note::parse(&note.text()), Some(note), "a note says something else when it is written again");
        }
    });
}

/// An archive with a member of each kind, without the block that ends it.
fn archive() -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    let comment = note().text();
    let mut add = |kind, path: &str, link: &str, extended: &[(&str, &[u8])], data: &[u8]| {
        tar.append_pax_extensions(extended.iter().copied()).expect("a vector takes everything");
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(kind);
        header.set_size(data.len() as u64);
        header.set_mode(0o755);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(7);
        header.set_path(path).expect("a short path");
        if !link.is_empty() {
            header.set_link_name(link).expect("a short path");
        }
        header.set_cksum();
        tar.append(&header, data).expect("a vector takes everything");
    };
    use tar::EntryType;
    let global = format!(" comment={comment}\n");
    let len = (global.len()..).find(|len| format!("{len}{global}").len() == *len).expect("a length that counts itself");
    add(EntryType::XGlobalHeader, "global", "", &[], format!("{len}{global}").as_bytes());
    add(EntryType::Directory, "dir/", "", &[("mtime", b"-1.5")], b"");
    add(EntryType::Regular, "dir/a", "", &[("SCHILY.xattr.user.a", b"x"), ("uid", b"70000")], b"content");
    add(EntryType::Symlink, "link", "dir/a", &[], b"");
    add(EntryType::Link, "hard", "dir/a", &[], b"");
    add(EntryType::Fifo, "fifo", "", &[], b"");
    let holes: [(&str, &[u8]); 4] = [
        ("GNU.sparse.major", b"1"),
        ("GNU.sparse.minor", b"0"),
        ("GNU.sparse.name", b"sparse"),
        ("GNU.sparse.realsize", b"100000"),
    ];
    let mut map = b"1\n4096\n5\n".to_vec();
    map.resize(512, 0);
    map.extend_from_slice(b"holes");
    add(EntryType::Regular, "sparse", "", &holes, &map);
    tar.into_inner().expect("a vector takes everything")
}

/// The same bytes with every header's sum made to fit, or no damage would get past it.
fn with_sums(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for block in bytes.chunks_exact_mut(512).filter(|block| block[257..262] == *b"ustar") {
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    }
    bytes
}

#[test]
fn archives() {
    let (_dir, disk) = disk();
    let store = Store::open(Arc::new(disk), Algorithm::Blake3).expect("a store");
    let stop = AtomicBool::new(false);
    let read = |bytes: &[u8]| {
        let batch = store.begin().expect("a batch");
        let mut into = Assembly::new(&store, &batch, Limits::default());
        let work = Work { progress: &Quiet, stop: &stop };
        let said = crate::archive::read(&mut &bytes[..], &mut into, Algorithm::Blake3, work).ok()?;
        let manifest = into.finish(&Filter::default(), &Coverage::default()).ok()?.manifest;
        Some((said.note, manifest.counts.files))
    };
    assert_eq!(read(&archive()), Some((Some(note()), 7)), "what is mutated is a good archive");
    fuzz("archives", &[archive()], |bytes| drop(read(&with_sums(bytes))));
}
