//! Tests of the names of snapshots.

use super::*;
use crate::timeline::tests::{at, sample, timeline};

/// Five snapshots at 10:01 to 10:05 UTC: pre-run, manual (labelled), turn 7, auto (slot 3), safety.
fn five() -> Timeline {
    let kinds = [Kind::PreRun, Kind::Manual, Kind::Turn, Kind::Auto, Kind::Safety];
    let mut all: Vec<_> = kinds.iter().zip(1..).map(|(kind, number)| sample(number, *kind)).collect();
    all[0].id = "snap_w5k9n3".into();
    all[1].id = "snap_w5b2m7".into();
    all[1].label = Some("before-refactor".into());
    all[2].cause.turn = Some(7);
    all[3].slot = Some(3);
    timeline(all)
}

fn number(name: &str) -> Result<u64> {
    let now = at(30).to_zoned(jiff::tz::TimeZone::UTC);
    five().resolve(name, &now).map(|snapshot| snapshot.number)
}

#[test]
fn every_way_to_name_a_snapshot_works() {
    let expected = [
        ("snap_w5k9n3", 1),
        ("w5k9", 1),
        ("snap_w5b", 2),
        ("before-refactor", 2),
        ("cp-3", 4),
        ("5", 5),
        ("@latest", 4),
        ("@pre-run", 1),
        ("@safety", 5),
        ("@-0", 4),
        ("@-2", 2),
        ("@turn-7", 3),
        ("@auto", 4),
        ("27m ago", 3),
        ("10:02", 2),
        ("10:02:59", 2),
        ("2026-01-20T10:04:00Z", 4),
        (" 4 ", 4),
    ];
    for (name, wanted) in expected {
        assert_eq!(number(name).unwrap(), wanted, "{name}");
    }
}

#[test]
fn an_ambiguous_name_lists_what_it_could_be() {
    let Err(Error::AmbiguousSnapshot { candidates, .. }) = number("snap_w5") else { panic!("w5 fits two") };
    assert_eq!(candidates, ["snap_w5b2m7", "snap_w5k9n3"]);
}

#[test]
fn an_unknown_name_lists_the_nearest() {
    let Err(Error::UnknownSnapshot { nearest, .. }) = number("before-refcator") else { panic!("nobody has it") };
    assert_eq!(nearest, ["before-refactor"]);
    let Err(Error::UnknownSnapshot { nearest, .. }) = number("@lastest") else { panic!("nobody has it") };
    assert_eq!(nearest, ["@latest"]);
    for name in ["cp-9", "77", "@-9", "@turn-1", "@", ""] {
        assert!(matches!(number(name), Err(Error::UnknownSnapshot { .. })), "{name:?}");
    }
    // Too short for an id that nobody announced, or a number that no snapshot has.
    for (name, meant) in [("w", "snap_w5b2m7"), ("w5k", "snap_w5k9n3")] {
        let Err(Error::UnknownSnapshot { nearest, .. }) = number(name) else { panic!("{name:?} is an accident") };
        assert!(nearest.iter().any(|near| near.ends_with(&meant["snap_".len()..])), "{name:?}: {nearest:?}");
    }
    for time in ["09:00", "2 years ago"] {
        assert!(matches!(number(time), Err(Error::NoneSoOld { .. })), "{time:?}");
    }
}

#[test]
fn a_workspace_without_snapshots_says_so() {
    let now = at(0).to_zoned(jiff::tz::TimeZone::UTC);
    assert!(matches!(Timeline::default().resolve("@latest", &now), Err(Error::NoSnapshots)));
}

#[test]
fn a_label_is_free_and_cannot_be_mistaken() {
    let five = five();
    assert!(five.check_label("after refactor (2)").is_ok());
    assert!(matches!(five.check_label("before-refactor"), Err(Error::LabelInUse { .. })));
    for label in ["", " x", "@x", "-x", "cp-3", "42", "snap_abc", "a\nb", "a\u{1b}[31m", &"x".repeat(101)] {
        assert!(matches!(five.check_label(label), Err(Error::BadLabel { .. })), "{label:?}");
    }
}
