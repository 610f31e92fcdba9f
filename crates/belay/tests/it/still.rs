//! A rollback while processes go on: nothing that they write in the meantime is lost.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::running::until;
use crate::world::World;

/// Makes a file for each number, without end; now and then a process of its own.
///
/// A name is there or not: what is appended to a file that a rollback just removed goes where it went.
const COUNT: &str = "i=0; while :; do i=$((i+1)); : > n/$i; /bin/true; done";

/// Every name that was ever made must be in the workspace or in a safety snapshot.
fn assert_nothing_lost(world: &mut World) {
    let mut numbers = BTreeSet::new();
    let mut take =
        |text: &str| numbers.extend(text.lines().filter_map(|line| line.rsplit('/').next()?.parse::<u64>().ok()));
    let all = world.json(&["snapshots"])["snapshots"].as_array().cloned().unwrap_or_default();
    let safety = all.iter().filter(|snapshot| snapshot["type"] == "safety");
    for id in safety.filter_map(|snapshot| snapshot["id"].as_str()) {
        take(&world.ok(&["ls", id, "n"]));
    }
    let names = std::fs::read_dir(world.workspace.join("n")).expect("a directory");
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    take(&names.collect::<Vec<_>>().join("\n"));
    let last = numbers.last().copied().unwrap_or_default();
    assert!(last > 20, "only {last} numbers were written");
    let lost: Vec<u64> = (1..=last).filter(|number| !numbers.contains(number)).collect();
    assert_eq!(lost, Vec::<u64>::new(), "of {last}");
}

#[test]
fn a_run_that_forks_without_end_holds_still_each_time() {
    let mut world = World::new();
    world.workspace.file("n/x", "x");
    let script = format!("(while :; do /bin/true; done) & (while :; do sh -c /bin/true; done) & {COUNT}");
    world.ok(&["run", "--isolation", "none", "-q", "--detach", "--", "sh", "-c", &script]);
    until("numbers are written", || world.has("n/30"));
    for round in 0..6 {
        let ran = world.belay(&["rollback", "@pre-run", "-y"]);
        assert_eq!(ran.code, 0, "round {round}: {ran}");
        assert!(!ran.stderr.contains("left as it is"), "round {round}: {ran}");
        assert!(ran.stderr.contains("still runs here"), "{ran}");
        std::thread::sleep(Duration::from_millis(150));
    }
    world.ok(&["stop", "--now"]);
    assert_nothing_lost(&mut world);
}

#[test]
fn what_outlived_its_run_holds_still_too() {
    let mut world = World::new();
    world.workspace.file("n/x", "x");
    let script = format!("setsid sh -c '{COUNT}' >/dev/null 2>&1 & until [ -e n/5 ]; do sleep 0.02; done");
    let ran = world.belay(&["run", "--isolation", "none", "-q", "--", "sh", "-c", &script]);
    assert_eq!(ran.code, 0, "{ran}");
    for round in 0..6 {
        std::thread::sleep(Duration::from_millis(150));
        let ran = world.belay(&["rollback", "@pre-run", "-y"]);
        assert_eq!(ran.code, 0, "round {round}: {ran}");
        assert!(!ran.stderr.contains("left as it is"), "round {round}: {ran}");
        assert!(ran.stderr.contains("although the run is over"), "{ran}");
    }
    let count = || std::fs::read_dir(world.workspace.join("n")).unwrap().count();
    let before = count();
    until("it goes on", || count() != before);
    world.ok(&["stop"]);
    assert_nothing_lost(&mut world);
}
