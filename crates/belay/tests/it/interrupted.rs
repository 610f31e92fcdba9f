//! Interrupted and killed: the old state or the new one, never a mixture, and never a half snapshot.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use belay_testkit::{Ignore, diff_worlds};

use crate::world::{World, noise};

const FILES: usize = 400;
/// Each kill comes a little later than the one before, so that they spread over the whole rollback.
const KILLS: u32 = 12;

fn fill(world: &World, text: &str) {
    for number in 0..FILES {
        world.workspace.file(format!("dir{}/file{number:03}", number % 7), format!("{text} {number}\n").repeat(20));
    }
}

fn bytes_in(directory: &Path) -> u64 {
    let Ok(inside) = std::fs::read_dir(directory) else { return 0 };
    inside
        .filter_map(|entry| Some(entry.ok()?.path()))
        .map(|path| match path.is_dir() {
            true => bytes_in(&path),
            false => path.metadata().map(|meta| meta.len()).unwrap_or(0),
        })
        .sum()
}

fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), pid.to_string()]).stderr(Stdio::null()).status();
    assert!(sent.is_ok(), "kill(1) is missing");
}

#[test]
fn a_killed_rollback_is_finished_or_reversed_by_the_next_command() {
    let mut world = World::new();
    fill(&world, "good");
    world.ok(&["snapshot", "--label", "good"]);
    let good = world.workspace.walk();
    let mut recovered = 0;
    for round in 0..KILLS {
        fill(&world, &format!("bad {round}"));
        world.workspace.remove("dir0").file("dir0", "in the way\n");
        let bad = world.workspace.walk();
        let mut rollback = world.command(&["rollback", "good", "-y"]);
        let mut child = rollback.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("belay starts");
        std::thread::sleep(Duration::from_millis(u64::from(round * 7)));
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        let next = ["verify", "status", "gc", "du", "workspaces"][round as usize % 5];
        let ran = world.belay(&[next]);
        assert_eq!(ran.code, 0, "{ran}");
        if ran.stderr.contains("was interrupted") {
            recovered += 1;
            assert!(ran.stderr.starts_with("warning: an interrupted rollback to snap_"), "{ran}");
        }
        let now = world.workspace.walk();
        let (to_good, to_bad) =
            (diff_worlds(&good, &now, Ignore::default()), diff_worlds(&bad, &now, Ignore::default()));
        assert!(to_good.is_empty() || to_bad.is_empty(), "a mixture after {round}:\n{to_good:?}\n{ran}");
        world.ok(&["rollback", "good", "-y"]);
    }
    assert_eq!(world.belay(&["verify", "--deep"]).code, 0);
    println!("{recovered} of {KILLS} rollbacks were recovered");
}

#[test]
fn a_killed_export_leaves_nothing_behind() {
    let mut world = World::new();
    fill(&world, "good");
    world.workspace.file("large", noise(6_000_000));
    world.ok(&["snapshot"]);
    let out = world.workspace.outside().join("out");
    std::fs::create_dir(&out).unwrap();
    let file = out.join("x.tar.gz");
    let mut killed = 0;
    for round in 0..KILLS {
        let mut export = world.command(&["export", "@latest", file.to_str().unwrap(), "--force"]);
        let mut child = export.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("belay starts");
        std::thread::sleep(Duration::from_millis(u64::from(round * 15)));
        child.kill().expect("it can be killed");
        killed += u32::from(child.wait().expect("it ends").code().is_none());
        let names: Vec<_> = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(names.iter().all(|name| name == "x.tar.gz"), "after {round}: {names:?}");
    }
    assert!(killed > 2, "{killed} were killed before they ended");
    world.ok(&["export", "@latest", file.to_str().unwrap(), "--force"]);
    assert!(Command::new("tar").arg("-tzf").arg(&file).stdout(Stdio::null()).status().unwrap().success());
}

#[test]
fn a_killed_snapshot_of_any_backend_is_not_there_and_leaves_nothing() {
    let mut world = World::new();
    fill(&world, "good");
    for (round, backend) in ["clone", "archive"].into_iter().cycle().take(10).enumerate() {
        world.workspace.file(format!("round{round}"), noise(50_000 + round));
        let before = world.workspace.walk();
        let mut snapshot = world.command(&["snapshot", "--backend", backend]);
        let mut child = snapshot.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("belay starts");
        std::thread::sleep(Duration::from_millis(round as u64 * 12));
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        assert!(diff_worlds(&before, &world.workspace.walk(), Ignore::default()).is_empty());
    }
    world.ok(&["snapshot", "--backend", "clone"]);
    world.ok(&["gc"]);
    assert_eq!(world.belay(&["verify", "--deep"]).code, 0);
    let listed = world.json(&["snapshots"]);
    let copies: std::collections::BTreeSet<&str> =
        listed["snapshots"].as_array().unwrap().iter().filter_map(|one| one["native_ref"].as_str()).collect();
    let there = std::fs::read_dir(world.workspace.home().join("copies")).unwrap().count();
    assert_eq!(there, copies.len(), "each copy is a snapshot's");
    let now = world.workspace.walk();
    fill(&world, "bad");
    world.ok(&["rollback", "@latest", "-y"]);
    assert!(diff_worlds(&now, &world.workspace.walk(), Ignore::default()).is_empty());
}

#[test]
fn ctrl_c_during_a_snapshot_leaves_no_snapshot_and_says_so() {
    let mut world = World::new();
    let noise = noise(4_000_000);
    (0..30u8).for_each(|number| {
        world.workspace.file(format!("noise{number}"), [&[number], &noise[..]].concat());
    });
    let mut snapshot = world.command(&["snapshot"]);
    let child = snapshot.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("belay starts");
    // The work has begun when the store grows.
    let deadline = Instant::now() + Duration::from_secs(20);
    while bytes_in(&world.workspace.home().join("store")) < 1 << 20 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    signal(child.id(), "INT");
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        belay_testkit::skip("the snapshot was faster than the interruption");
        return;
    }
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert!(text.contains("interrupted"), "{text}");
    assert_eq!(world.json(&["snapshots"])["snapshots"].as_array().map(Vec::len), Some(0));
    world.snapshot();
    assert_eq!(world.belay(&["verify", "--deep"]).code, 0);
}
