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
    assert_eq!(count("SELECT COUNT(*) FROM fs_events WHERE path = 'extra' AND action = 'restored'"), "1");
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
