//! A death before every single change of the workspace, and the next command that finishes or undoes the rest.

use std::sync::atomic::{AtomicU64, Ordering};

use belay_store::{Error, Faults, Plan, View, is_between};
use belay_testkit::{Ignore, assert_same_world};

use super::bed::Bed;
use super::laws::{build, wreck};

/// How far apart the tested changes are: all of them when the long suites run, a sample otherwise.
pub(crate) fn stride() -> u64 {
    if std::env::var("BELAY_CRASH").is_ok_and(|value| value == "full") { 1 } else { 17 }
}

/// Whether an interrupted restore is finished or reversed.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    Finish,
    Reverse,
}

fn die_everywhere(then: Then, start: u64) {
    let mut at = start;
    loop {
        let bed = Bed::new();
        build(&bed);
        let (whole, target) = (bed.ws.walk(), bed.snap());
        wreck(&bed);
        let (wrecked, safety) = (bed.ws.walk(), bed.snap());
        let plan = bed.plan(&safety, &target);
        let faults = Faults { after: AtomicU64::new(at), ..Faults::default() };
        match bed.apply_with(&plan, Some(&faults)) {
            Err(Error::Interrupted) => {}
            Err(error) => panic!("change {at}: {error}"),
            Ok(_) => {
                assert!(faults.seen.load(Ordering::SeqCst) < at, "change {at} was survived");
                return;
            }
        }
        between_old_and_new(&bed, &plan, at);
        let (to, world) = if then == Then::Finish { (&target, &whole) } else { (&safety, &wrecked) };
        assert_eq!(bed.recover(&plan, to).left, [], "change {at}");
        assert_same_world(world, &bed.ws.walk(), Ignore { directory_mtime: true, ..Ignore::default() });
        bed.nothing_to_do(to);
        at += stride();
    }
}

/// Every path of a plan that was interrupted is as it was, as it was to be, or has some properties of each.
fn between_old_and_new(bed: &Bed, plan: &Plan, at: u64) {
    belay_store::tidy_up(&bed.root, plan, &bed.options(None)).unwrap();
    let now = bed.snap();
    for step in &plan.steps {
        let found = View::stored(&bed.store).lookup(&now.root, step.path).unwrap();
        let (before, after) = (step.before.as_ref(), step.after.as_ref());
        let known = match (&found, before.or(after), after.or(before)) {
            (None, ..) => true,
            (Some(found), Some(before), Some(after)) => is_between(found, before, after),
            _ => false,
        };
        assert!(known, "change {at}: {}: {found:?}", belay_testkit::show(step.path));
    }
}

#[test]
fn a_restore_that_died_is_finished() {
    die_everywhere(Then::Finish, 1);
}

#[test]
fn a_restore_that_died_is_reversed() {
    die_everywhere(Then::Reverse, 6);
}

#[test]
fn a_recovery_that_dies_is_recovered_from() {
    let bed = Bed::new();
    build(&bed);
    let (whole, target) = (bed.ws.walk(), bed.snap());
    wreck(&bed);
    let mut at = 3;
    loop {
        let plan = bed.plan(&bed.snap(), &target);
        let faults = Faults { after: AtomicU64::new(at), ..Faults::default() };
        let applied = bed.apply_with(&plan, Some(&faults));
        belay_store::tidy_up(&bed.root, &plan, &bed.options(None)).unwrap();
        if applied.is_ok() {
            break;
        }
        at += 5;
    }
    bed.no_leftovers();
    assert_same_world(&whole, &bed.ws.walk(), Ignore { directory_mtime: true, ..Ignore::default() });
}

#[test]
fn a_directory_that_was_opened_up_is_shut_again_although_it_is_not_restored() {
    let bed = Bed::new();
    bed.ws.file("shut/a", "a\n").file("shut/b", "b\n").mode("shut", 0o555);
    let target = bed.snap();
    bed.ws.mode("shut", 0o755).file("shut/a", "A\n").mode("shut", 0o555);
    let plan = bed.plan_part(&bed.snap(), &target, &["shut/a"]);
    for at in 1.. {
        let faults = Faults { after: AtomicU64::new(at), ..Faults::default() };
        let applied = bed.apply_with(&plan, Some(&faults));
        belay_store::tidy_up(&bed.root, &plan, &bed.options(None)).unwrap();
        assert_eq!(bed.ws.walk()[&b"shut"[..]].mode, 0o555, "change {at}");
        bed.no_leftovers();
        if applied.is_ok() {
            break;
        }
    }
    assert_eq!(bed.text("shut/a"), "a\n");
}
