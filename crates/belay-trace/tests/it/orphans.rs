//! What becomes of a tree when its tracer is killed.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use belay_event::What;
use belay_trace::Engine;

use crate::world::World;

const WORKSPACE: &str = "BELAY_TEST_ORPHANS";
const SCRIPT: &str = "i=0; while [ $i -lt 400 ]; do /bin/true; i=$((i+1)); echo $i > count; done; echo > done";

/// Not a test by itself: the process that [`a_killed_tracer`] kills.
pub(crate) fn victim(engine: Engine) {
    let Some(place) = std::env::var_os(WORKSPACE) else { return };
    let mut world = World::new(engine, |_| {});
    world.run(&["/bin/sh".as_ref(), "-c".as_ref(), format!("cd \"$0\"; {SCRIPT}").as_ref(), place.as_os_str()]);
}

/// Whoever traces may be killed at any moment: the tree runs on, and nobody stays halted.
pub(crate) fn a_killed_tracer(test: &str) {
    for round in 0..5u64 {
        let place = tempfile::tempdir().unwrap();
        let mut tracer = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture"])
            .env(WORKSPACE, place.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait_for(&place.path().join("count"));
        std::thread::sleep(Duration::from_millis(round * 7));
        tracer.kill().unwrap();
        tracer.wait().unwrap();
        wait_for(&place.path().join("done"));
        assert_eq!(fs::read_to_string(place.path().join("count")).unwrap().trim(), "400");
    }
}

/// If only the process that traces is killed, the run goes on and the loss is told.
pub(crate) fn a_killed_follower(engine: Engine) {
    let mut world = World::new(engine, |_| {});
    let mut child = world.start(&["/bin/sh", "-c", SCRIPT]);
    wait_for(&world.at("count"));
    let follower = world.tracer.tracer_pid().unwrap();
    assert!(Command::new("kill").args(["-KILL", &follower.to_string()]).status().unwrap().success());
    assert!(child.wait().unwrap().success());
    assert!(world.at("done").exists());
    std::thread::sleep(Duration::from_millis(700));
    let seen = world.seen();
    assert!(seen.iter().any(|event| matches!(&event.what, What::Lost(lost) if lost.source == "exec")));
    assert!(seen.iter().any(|event| matches!(&event.what, What::Degraded(degraded) if degraded.layer == "exec")));
    assert!(world.tracer.dirty().complete, "files are still seen");
    world.end();
}

/// Letting go while everything is in motion leaves everything in motion.
pub(crate) fn a_tracer_that_leaves(engine: Engine) {
    let mut world = World::new(engine, |_| {});
    let place = tempfile::tempdir().unwrap();
    let script = format!("cd \"$0\"; {SCRIPT}");
    let mut child = world.start(&["/bin/sh".as_ref(), "-c".as_ref(), script.as_ref(), place.path().as_os_str()]);
    wait_for(&place.path().join("count"));
    world.end();
    assert!(child.wait().unwrap().success());
    assert!(place.path().join("done").exists());
}

fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "{} never came", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}
