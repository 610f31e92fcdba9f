//! Records that can be read and not written beside, and those that cannot be read: nothing else is told of them than that.

use std::fs;

use belay_testkit::skip;

use crate::running::records;
use crate::world::World;

fn after_a_run() -> World {
    let mut world = World::new();
    world.workspace.file("a", "a\n");
    let ran = world.belay(&["run", "--isolation", "none", "-q", "--", "sh", "-c", "echo b > b"]);
    assert_eq!(ran.code, 0, "{ran}");
    world
}

fn set_writable(world: &World, is_writable: bool) {
    let sign = if is_writable { "u+w" } else { "a-w" };
    let done = std::process::Command::new("chmod").args(["-R", sign]).arg(world.workspace.home()).status();
    assert!(done.expect("chmod starts").success());
}

#[test]
fn a_record_in_a_home_that_cannot_be_written_is_read() {
    if belay_testkit::is_root() {
        return skip("root can write everywhere");
    }
    let mut world = after_a_run();
    set_writable(&world, false);
    let asked: Vec<_> =
        [&["log"][..], &["show"], &["sql", "SELECT count(*) FROM exec_events"], &["audit", "verify"], &["blame", "b"]]
            .iter()
            .map(|words| world.belay(words))
            .collect();
    set_writable(&world, true);
    for ran in &asked {
        assert_eq!(ran.code, 0, "{ran}");
    }
    assert!(asked[4].stdout.contains("sh -c"), "{}", asked[4]);
}

#[test]
fn what_a_record_cannot_tell_is_not_told_as_if_it_did() {
    let mut world = after_a_run();
    let id = records(&world)[0]["id"].as_str().unwrap().to_owned();
    let dir = world.workspace.home().join("runs").join(&id);
    for name in ["session.db-wal", "session.db-shm"] {
        let _ = fs::remove_file(dir.join(name));
    }
    fs::write(dir.join("session.db"), "no database").unwrap();
    let blame = world.ok(&["blame", "b"]);
    assert!(blame.contains(&format!("the record of {id} cannot be read")), "{blame}");
    assert!(!blame.contains("outside of any run"), "{blame}");
    let verdict = world.belay(&["audit", "verify"]);
    assert_eq!(verdict.code, 6, "{verdict}");
    assert!(verdict.stdout.contains("session.db: changed"), "{verdict}");
    let description = fs::read_to_string(dir.join("run.json")).unwrap();
    fs::write(dir.join("run.json"), description.replace(&id, "run_00000000")).unwrap();
    assert!(world.belay(&["runs"]).stderr.contains("is not listed"), "it says that it is another run");
    fs::write(dir.join("run.json"), "{}").unwrap();
    let listed = world.belay(&["runs"]);
    assert!(listed.stderr.contains("is not listed"), "{listed}");
    let verdict = world.belay(&["audit", "verify", &id]);
    assert_eq!(verdict.code, 6, "{verdict}");
    assert!(verdict.stderr.contains("run.json is damaged"), "{verdict}");
}

#[test]
fn a_record_that_was_removed_during_its_run_is_missed_and_no_way_back_is_promised_that_is_gone() {
    for (gone, is_store) in [("runs", false), ("", true)] {
        let mut world = World::new();
        world.workspace.file("a", "a\n");
        let script = format!("rm -rf {}; echo b > b", world.workspace.home().join(gone).display());
        let ran = world.belay(&["run", "--isolation", "none", "--", "sh", "-c", &script]);
        assert_eq!(ran.code, 0, "{ran}");
        assert!(ran.stderr.contains("it was removed while the run went on"), "{ran}");
        assert!(!ran.stderr.contains("belay log"), "{ran}");
        assert_eq!(ran.stderr.contains("rollback"), !is_store, "{ran}");
        assert_eq!(ran.stderr.contains("nothing can be taken back"), is_store, "{ran}");
    }
}
