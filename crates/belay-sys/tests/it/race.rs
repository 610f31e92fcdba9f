//! Somebody swaps directories for symlinks while we resolve through them.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use belay_sys::{Dir, Root};
use tempfile::TempDir;

const ROUNDS: usize = 20_000;

#[derive(Default, Debug)]
struct Seen {
    inside: usize,
    refused: usize,
}

impl Seen {
    fn both(&self) -> bool {
        self.inside > 0 && self.refused > 0
    }
}

/// Ends the other thread also when an assertion fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Calls `attempt` while `tree/door` alternates between a directory and a symlink to `outside`.
fn while_swapping(attempt: impl Fn(&Root) -> Option<Dir>) {
    let temp = TempDir::new().unwrap();
    let (tree, outside) = (temp.path().join("tree"), temp.path().join("outside"));
    std::fs::create_dir_all(tree.join("door/room")).unwrap();
    std::fs::create_dir_all(outside.join("room")).unwrap();
    symlink("../outside", tree.join("link")).unwrap();
    std::fs::write(outside.join("room/canary"), "alive").unwrap();
    let root = Root::open(&tree).unwrap();
    let handle = root.dir(b"").unwrap();
    let done = AtomicBool::new(false);
    let mut seen = Seen::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                handle.exchange(b"door", &handle, b"link").unwrap();
            }
        });
        let _stop = Stop(&done);
        let begun = Instant::now();
        let mut round = 0;
        // On a busy machine the swapping thread may not get its turn within the rounds.
        while round < ROUNDS || (!seen.both() && begun.elapsed() < Duration::from_secs(30)) {
            round += 1;
            match attempt(&root) {
                Some(room) => {
                    seen.inside += 1;
                    act_in(&room, round);
                }
                None => seen.refused += 1,
            }
        }
    });
    assert_untouched(&outside);
    assert!(seen.both(), "no race: {seen:?}");
}

fn act_in(room: &Dir, round: usize) {
    assert!(room.stat(b"canary").is_err(), "round {round}: resolved to the outside");
    if round.is_multiple_of(64) {
        room.create_new(b"note", 0o600).unwrap();
        room.set_mode(b"note", 0o640).unwrap();
        room.remove_file(b"note").unwrap();
    }
}

fn assert_untouched(outside: &Path) {
    assert_eq!(std::fs::read(outside.join("room/canary")).unwrap(), b"alive");
    let count = |path: &Path| std::fs::read_dir(path).unwrap().count();
    assert_eq!((count(outside), count(&outside.join("room"))), (1, 1));
}

#[test]
fn a_path_resolved_beneath_a_root_never_leaves_it() {
    while_swapping(|root| root.dir_path_only(b"door/room").ok());
    while_swapping(|root| root.dir(b"door/room").ok());
}

#[test]
fn names_resolved_one_by_one_never_leave() {
    while_swapping(|root| {
        let top = root.dir_path_only(b"").ok()?;
        top.subdir_path_only(b"door").ok()?.subdir(b"room").ok()
    });
}
