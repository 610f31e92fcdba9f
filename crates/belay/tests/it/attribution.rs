//! Whose a change is: what belay itself puts back is nobody's command, and what no event told is in the record all the same.

use crate::running::until;
use crate::world::World;

#[test]
fn what_a_rollback_writes_during_a_run_is_restored_and_not_the_agents() {
    let mut world = World::new();
    for number in 0..60 {
        world.workspace.file(format!("d/{number}"), "before");
    }
    let script = "for f in d/*; do echo after > $f; done; rm d/7; echo new > extra; : > ready; sleep 60";
    world.ok(&["run", "--isolation", "none", "-q", "--detach", "--", "sh", "-c", script]);
    until("everything changed", || world.has("ready"));
    world.ok(&["rollback", "-y", "@pre-run"]);
    assert_eq!(world.read("d/7"), "before");
    world.ok(&["stop", "--now"]);
    let mut count = |sql: &str| world.ok(&["sql", "@latest", sql, "--csv"]).lines().nth(1).unwrap().to_owned();
    assert_eq!(
        count("SELECT COUNT(*) FROM fs_events WHERE path LIKE '%.belay-op_%' OR to_path LIKE '%.belay-op_%'"),
        "0"
    );
    let restored = "SELECT COUNT(DISTINCT path) FROM fs_events WHERE action = 'restored' AND path LIKE 'd/%'";
    assert_eq!(count(restored), "60");
    assert_eq!(count("SELECT COUNT(*) FROM fs_events WHERE action = 'restored' AND command IS NOT NULL"), "0");
    assert_eq!(count("SELECT COUNT(*) FROM fs_events WHERE path LIKE 'extra%' AND action = 'restored'"), "1");
}

#[test]
fn a_store_through_a_mapping_is_in_the_record_at_the_end() {
    let mut world = World::new();
    world.workspace.file("mapped", "a".repeat(5_000));
    let script = "import mmap, os\nf = os.open('mapped', os.O_RDWR)\nm = mmap.mmap(f, 0)\nos.close(f)\nm[0:4] = b'XXXX'\nm.close()";
    let ran = world.belay(&["run", "--isolation", "none", "-q", "--", "python3", "-c", script]);
    assert_eq!(ran.code, 0, "{ran}");
    let rows = world.ok(&["sql", "@latest", "SELECT action FROM fs_events WHERE path = 'mapped'", "--csv"]);
    assert!(rows.lines().skip(1).any(|action| action == "modified"), "{rows}");
}

#[test]
fn what_somebody_edits_after_the_run_is_not_the_runs() {
    let mut world = World::new();
    world.workspace.file("a", "one\n").file("b", "one\n");
    world.ok(&["run", "--isolation", "none", "-q", "--", "sed", "-i", "s/one/two/", "a", "b"]);
    world.workspace.file("a", "two\nby hand\n");
    let changes = world.json(&["changes"]);
    let unseen = |path: &str| {
        let one = changes.as_array().unwrap().iter().find(|change| change["path"] == path);
        one.map(|change| change["unseen"].clone())
    };
    assert_eq!((unseen("a"), unseen("b")), (Some(true.into()), Some(false.into())));
    let text = world.ok(&["changes"]);
    assert!(text.lines().any(|line| line.contains(" a ") && line.contains("outside of any run")), "{text}");
    assert!(world.ok(&["blame", "a"]).contains("outside of any run"));
}

#[test]
fn a_snapshot_that_came_late_stands_where_it_was_taken() {
    let mut world = World::new();
    let script = "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one; sleep 0.5; \
                  rm doomed; sleep 2.5; true";
    world.workspace.file("doomed", "x");
    if std::process::Command::new("git").arg("--version").output().is_err() {
        return belay_testkit::skip("no git");
    }
    world.ok(&["run", "--isolation", "none", "-q", "--", "bash", "-c", script]);
    let log = world.ok(&["log"]);
    let line = |text: &str| log.lines().position(|line| line.contains(text));
    let (removed, taken) = (line("rm doomed"), line(", git, "));
    assert!(removed.is_some() && removed < taken, "{log}");
    let note = log.lines().nth(taken.unwrap()).unwrap_or_default();
    assert!(note.contains("(for #") && note.contains(" later, after #"), "{log}");
}

#[test]
fn the_name_of_a_run_means_the_state_before_it() {
    let mut world = World::new();
    world.workspace.file("a", "one\n");
    world.ok(&["run", "--isolation", "none", "-q", "--label", "nightly", "--", "sed", "-i", "s/one/two/", "a"]);
    world.ok(&["run", "--isolation", "none", "-q", "--", "sed", "-i", "s/two/three/", "a"]);
    let second = world.json(&["runs"])[1]["id"].as_str().unwrap().to_owned();
    assert_eq!(world.ok(&["cat", &second, "a"]), "two\n");
    world.ok(&["rollback", &second, "-y"]);
    assert_eq!(world.read("a"), "two\n");
    world.ok(&["restore", "nightly", "a", "-y"]);
    assert_eq!(world.read("a"), "one\n");
    assert_eq!(world.belay(&["rollback", "run_nosuchrun", "-y"]).code, 3);
}

#[test]
fn a_count_of_changes_is_the_same_everywhere() {
    let mut world = World::new();
    world.workspace.file("a", "one\n");
    let script = "for i in 1 2 3 4 5; do echo $i >> a; echo $i > b; done; mv b c";
    let ran = world.belay(&["run", "--isolation", "none", "--", "sh", "-c", script]);
    let said = ran.stderr.split(" changed,").next().and_then(|text| text.rsplit(", ").next()).unwrap_or_default();
    let count = world.json(&["runs"])["changes"].as_u64().unwrap();
    assert_eq!(said, format!("{count} paths"), "{ran}");
    assert_eq!(world.json(&["show"])["changes"].as_u64(), Some(count));
    assert_eq!(world.json(&["show"])["run"]["totals"]["paths"].as_u64(), Some(count));
}
