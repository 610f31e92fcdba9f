//! Tests of timelines, and samples for other tests.

use belay_store::{Hash, RealDisk};

use super::*;
use crate::record::{Backend, Cause, Kind, Origin, PathText, Pool, Why};

/// A snapshot with a number and everything else made up from it, one minute after the one before.
pub(crate) fn sample(number: u64, kind: Kind) -> Snapshot {
    Snapshot {
        id: format!("snap_{number:06}"),
        number,
        kind,
        origin: Origin::Manual,
        label: None,
        description: None,
        pool: None,
        slot: None,
        cause: Cause::default(),
        parent: number.checked_sub(1).map(|parent| format!("snap_{parent:06}")),
        created_at: at(number),
        backend: Backend::Objects,
        native_ref: None,
        size_delta: 10,
        files: 3,
        bytes: 30,
        gaps: 0,
        all: false,
        root: Hash([number as u8; 32]),
        manifest: Hash([number as u8; 32]),
        imported: false,
        replaces: Vec::new(),
    }
}

/// Minute `minutes` of the test's day.
pub(crate) fn at(minutes: u64) -> Timestamp {
    "2026-01-20T10:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_mins(minutes as i64)
}

/// A timeline of these snapshots.
pub(crate) fn timeline(snapshots: impl IntoIterator<Item = Snapshot>) -> Timeline {
    let mut timeline = Timeline::default();
    snapshots.into_iter().for_each(|snapshot| timeline.apply(Record::Snapshot(Box::new(snapshot))));
    timeline
}

fn rewind(kind: RewindKind, from: &str) -> Record {
    Record::Rewind(Rewound {
        operation: from.to_owned(),
        kind,
        from: from.to_owned(),
        to: String::new(),
        paths: Vec::new(),
        at: at(0),
        changed: 1,
        reversed: false,
    })
}

fn tops(timeline: &Timeline) -> (Option<&str>, Option<&str>) {
    let (undo, redo) = timeline.stacks();
    (undo.last().map(|r| r.from.as_str()), redo.last().map(|r| r.from.as_str()))
}

#[test]
fn a_record_round_trips_through_json() {
    let mut snapshot = sample(1, Kind::Turn);
    snapshot.label = Some("vor dem Umbau".into());
    snapshot.cause =
        Cause { run: Some("run_1".into()), turn: Some(7), trigger: Some("rm -rf".into()), ..Cause::default() };
    let records = [
        Record::Snapshot(Box::new(snapshot)),
        Record::Delete { ids: vec!["snap_1".into()], why: Why::Pruned, at: at(1) },
        rewind(RewindKind::Undo, "snap_2"),
    ];
    for (record, payload) in records.iter().zip(payloads(&records)) {
        assert_eq!(&serde_json::from_slice::<Record>(&payload).unwrap(), record);
    }
}

#[test]
fn a_path_of_any_bytes_round_trips_through_json() {
    for path in [&b"a/b"[..], b"a\xff", b"", b"\n"] {
        let text = serde_json::to_string(&PathText::from(path)).unwrap();
        assert_eq!(serde_json::from_str::<PathText>(&text).unwrap().bytes(), path);
    }
}

#[test]
fn undo_goes_further_back_and_redo_forward_until_a_new_rollback() {
    let mut timeline = Timeline::default();
    timeline.apply(rewind(RewindKind::Rollback, "s1"));
    timeline.apply(rewind(RewindKind::Restore, "s2"));
    assert_eq!(tops(&timeline), (Some("s2"), None));
    timeline.apply(rewind(RewindKind::Undo, "s3"));
    assert_eq!(tops(&timeline), (Some("s1"), Some("s3")));
    timeline.apply(rewind(RewindKind::Undo, "s4"));
    assert_eq!(tops(&timeline), (None, Some("s4")));
    timeline.apply(rewind(RewindKind::Redo, "s5"));
    assert_eq!(tops(&timeline), (Some("s5"), Some("s3")));
    timeline.apply(rewind(RewindKind::Rollback, "s6"));
    assert_eq!(tops(&timeline), (Some("s6"), None));
}

#[test]
fn time_and_numbers_never_go_back_even_when_all_is_deleted() {
    let mut timeline = timeline([sample(1, Kind::Manual), sample(2, Kind::Manual)]);
    timeline.apply(Record::Delete {
        ids: vec!["snap_000001".into(), "snap_000002".into()],
        why: Why::Asked,
        at: at(9),
    });
    assert_eq!(timeline.snapshots(), []);
    let mut again = Timeline::default();
    timeline.essence().into_iter().for_each(|record| again.apply(record));
    assert_eq!(again.next_number(), 3);
    assert_eq!(again.instant(at(0)), at(2) + SignedDuration::from_nanos(1));
    assert_eq!(again.instant(at(5)), at(5));
}

#[test]
fn the_ring_goes_on_after_its_newest_was_deleted_and_the_log_rewritten() {
    let mut newest = sample(2, Kind::Auto);
    (newest.pool, newest.slot) = (Some(Pool::Auto), Some(4));
    let mut timeline = timeline([sample(1, Kind::Manual), newest]);
    timeline.apply(Record::Delete { ids: vec!["snap_000002".into()], why: Why::Asked, at: at(3) });
    let mut again = Timeline::default();
    timeline.essence().into_iter().for_each(|record| again.apply(record));
    assert_eq!(again.auto_slot(), Some(4));
}

#[test]
fn a_snapshot_of_the_ring_removes_in_one_record_what_it_replaces() {
    let mut third = sample(3, Kind::Auto);
    third.replaces = vec!["snap_000001".into()];
    let timeline = timeline([sample(1, Kind::Auto), sample(2, Kind::Auto), third]);
    assert_eq!(timeline.snapshots().iter().map(|s| s.number).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn a_record_of_an_unknown_kind_is_from_a_newer_belay() {
    let dir = tempfile::tempdir().unwrap();
    let disk = RealDisk::open(dir.path()).unwrap();
    Log::default().append(&disk, "timeline", &[br#"{"hologram":{}}"#.to_vec()]).unwrap();
    assert!(matches!(Timeline::read(&disk, "timeline"), Err(Error::TooNew { .. })));
}

#[test]
fn a_long_log_of_what_is_gone_is_worth_rewriting() {
    let mut timeline = timeline((1..=10).map(|n| sample(n, Kind::Auto)));
    assert!(!timeline.wants_rewrite(1 << 20));
    timeline.apply(Record::Delete {
        ids: (1..=8).map(|n| format!("snap_{n:06}")).collect(),
        why: Why::Budget,
        at: at(20),
    });
    assert!(timeline.wants_rewrite(1 << 20));
    assert!(!timeline.wants_rewrite(1 << 10));
}

#[test]
fn the_last_known_state_is_what_was_taken_or_gone_back_to() {
    let mut timeline = timeline([sample(1, Kind::Manual), sample(2, Kind::Manual), sample(3, Kind::Safety)]);
    assert_eq!(timeline.base().unwrap().number, 2);
    let mut back = |to: u64, paths: &[&str], minute| {
        let Record::Rewind(rewind) = rewind(RewindKind::Rollback, "snap_000003") else { unreachable!() };
        let paths = paths.iter().map(|path| PathText::from(path.as_bytes())).collect();
        timeline.apply(Record::Rewind(Rewound { to: format!("snap_{to:06}"), paths, at: at(minute), ..rewind }));
        timeline.base().unwrap().number
    };
    assert_eq!(back(1, &["only/this"], 4), 2, "a part of a state is none");
    assert_eq!(back(1, &[], 5), 1);
    timeline.apply(Record::Snapshot(Box::new(sample(6, Kind::Auto))));
    assert_eq!(timeline.base().unwrap().number, 6);
}
