//! Tests of what goes first.

use super::*;
use crate::timeline::tests::{at, sample, timeline};

fn numbers(snapshots: &[Snapshot]) -> Vec<u64> {
    snapshots.iter().map(|snapshot| snapshot.number).collect()
}

/// A pre-run snapshot, six plain ones of which the third has a label, and a safety snapshot.
fn eight() -> Timeline {
    let mut all: Vec<Snapshot> = (1..=8).map(|n| sample(n, Kind::Auto)).collect();
    all[0].kind = Kind::PreRun;
    all[2].label = Some("keep me".into());
    all[5].kind = Kind::Safety;
    timeline(all)
}

#[test]
fn keeping_five_keeps_the_initial_and_the_newest_and_beside_them_the_named() {
    let plan = divide(&eight(), &Terms::default(), PruneRule::Keep(5), at(60));
    assert_eq!(numbers(&plan.keep), [1, 8, 7, 6, 5, 3]);
    assert_eq!(numbers(&plan.delete), [2, 4]);
}

#[test]
fn keeping_five_of_a_run_is_the_one_before_it_and_four_more() {
    let mut all: Vec<Snapshot> = (1..=8).map(|n| sample(n, Kind::Git)).collect();
    all[0].kind = Kind::PreRun;
    let plan = divide(&timeline(all), &Terms::default(), PruneRule::Keep(5), at(60));
    assert_eq!(numbers(&plan.keep), [1, 8, 7, 6, 5], "as the first design of it prints");
}

#[test]
fn many_runs_push_out_neither_what_has_a_label_nor_what_is_newest() {
    let mut all: Vec<Snapshot> = (1..=9).map(|n| sample(n, Kind::PreRun)).collect();
    all[3] = sample(4, Kind::Manual);
    all[3].label = Some("before-refactor".into());
    all[6] = sample(7, Kind::Turn);
    all[7] = sample(8, Kind::Turn);
    all[8] = sample(9, Kind::Final);
    let plan = divide(&timeline(all), &Terms::default(), PruneRule::Keep(3), at(60));
    assert_eq!(numbers(&plan.keep), [6, 5, 3, 2, 1, 9, 8, 4]);
    assert_eq!(numbers(&plan.delete), [7]);
}

#[test]
fn some_stay_whatever_the_rule() {
    let plan = divide(&eight(), &Terms::default(), PruneRule::Keep(0), at(60));
    assert_eq!(numbers(&plan.keep), [1, 8, 3]);
    let terms = Terms { delete_initial: true, needed: ["snap_000004".to_owned()].into() };
    let plan = divide(&eight(), &terms, PruneRule::Keep(0), at(60));
    assert_eq!(numbers(&plan.keep), [8, 4, 3]);
}

#[test]
fn what_undo_needs_takes_nobodys_place() {
    let terms = Terms { delete_initial: true, needed: ["snap_000004".to_owned()].into() };
    let plan = divide(&eight(), &terms, PruneRule::Keep(2), at(60));
    assert_eq!(
        numbers(&plan.keep),
        [8, 7, 4, 3],
        "the newest two, and beside them what undo needs and what has a name"
    );
}

#[test]
fn old_snapshots_go_unless_they_have_a_name() {
    let rule = PruneRule::OlderThan(SignedDuration::from_mins(4));
    let plan = divide(&eight(), &Terms::default(), rule, at(10));
    assert_eq!(numbers(&plan.keep), [1, 8, 7, 6, 3]);
}

#[test]
fn what_is_hard_to_replace_goes_last() {
    let (eight, terms) = (eight(), Terms { delete_initial: true, ..Terms::default() });
    let all = eight.snapshots().iter().map(|snapshot| (terms.worth(&eight, snapshot), snapshot)).collect();
    let order: Vec<u64> = keep_order(all, at(60)).iter().map(|(_, snapshot)| snapshot.number).collect();
    assert_eq!(order[..4], [8, 3, 6, 1]);
}

#[test]
fn thinning_leaves_a_history_that_is_denser_towards_the_present() {
    let all: Vec<Snapshot> = (1..=200).map(|n| sample(n, Kind::Auto)).collect();
    let order = thin(all.iter().collect(), at(201));
    let mut kept: Vec<u64> = order[..10].iter().map(|snapshot| snapshot.number).collect();
    kept.sort();
    assert_eq!((kept[0], kept[9]), (1, 200), "the oldest and the newest stay");
    let gaps: Vec<u64> = kept.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.windows(2).all(|pair| pair[0] * 2 >= pair[1]), "gaps shrink towards the present: {kept:?}");
    assert!(gaps[0] > 4 * gaps[8], "{kept:?}");
}
