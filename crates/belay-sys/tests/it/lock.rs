//! Locks between open files and between processes.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use belay_sys::{LockKind, lock_file, try_lock_file};
use tempfile::TempDir;

use crate::rerun;

fn open(dir: &Path) -> File {
    File::options().create(true).truncate(false).write(true).open(dir.join("lock")).unwrap()
}

fn is_free(dir: &Path, kind: LockKind) -> bool {
    try_lock_file(open(dir), kind).unwrap().is_ok()
}

#[test]
fn shared_holders_exclude_only_exclusive_ones() {
    let temp = TempDir::new().unwrap();
    let first = lock_file(open(temp.path()), LockKind::Shared).unwrap();
    let second = try_lock_file(open(temp.path()), LockKind::Shared).unwrap().unwrap();
    assert!(!is_free(temp.path(), LockKind::Exclusive));
    drop(first);
    assert!(!is_free(temp.path(), LockKind::Exclusive));
    drop(second);
    assert!(is_free(temp.path(), LockKind::Exclusive));
    let alone = lock_file(open(temp.path()), LockKind::Exclusive).unwrap();
    assert!(!is_free(temp.path(), LockKind::Shared));
    let duplicate = alone.file().try_clone().unwrap();
    drop(alone);
    assert!(is_free(temp.path(), LockKind::Exclusive), "a duplicate kept the lock: {duplicate:?}");
}

#[test]
fn a_waiter_gets_the_lock_when_it_is_let_go() {
    let temp = TempDir::new().unwrap();
    let held = lock_file(open(temp.path()), LockKind::Exclusive).unwrap();
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _lock = lock_file(open(temp.path()), LockKind::Exclusive).unwrap();
            sender.send(()).unwrap();
        });
        assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err());
        drop(held);
        receiver.recv_timeout(Duration::from_secs(20)).unwrap();
    });
}

#[test]
fn death_lets_go() {
    if rerun::is_rerun() {
        let dir = std::env::current_dir().unwrap();
        let _lock = lock_file(open(&dir), LockKind::Exclusive).unwrap();
        eprintln!("locked");
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    let temp = TempDir::new().unwrap();
    let mut command = rerun::command(&[], "lock::death_lets_go");
    let mut child = command.current_dir(temp.path()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "locked"));
    assert!(!is_free(temp.path(), LockKind::Shared));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_free(temp.path(), LockKind::Exclusive));
}
