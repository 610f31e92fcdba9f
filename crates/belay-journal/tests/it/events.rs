//! Events to record.

use std::path::Path;

use belay_event::{
    Action, Actor, At, Ended, Event, Exec, ExecSource, Exit, FileChange, FileSource, Isolation, Protection, Raw,
    RunEnded, RunStarted, SnapshotTaken, What,
};
use belay_journal::{Key, Writer};

pub(crate) const RUN: &str = "run_abcd1234";

pub(crate) fn key() -> Key {
    Key::from_bytes(&[7; 32])
}

pub(crate) fn writer(dir: &Path) -> Writer {
    Writer::create(dir, RUN, key()).unwrap()
}

pub(crate) fn event(second: u64, what: What) -> Event {
    Event::new(At::from_unix_nanos(i128::from(1_768_904_400 + second) * 1_000_000_000 + 5), what)
}

pub(crate) fn started() -> Event {
    let protection = Protection {
        isolation: Isolation::None,
        exec: ExecSource::Ptrace,
        files: FileSource::Inotify,
        denials: None,
        person: None,
        snapshots: true,
        freeze: false,
        degraded: Vec::new(),
    };
    let started = RunStarted {
        run: RUN.into(),
        workspace: "ws_1".into(),
        root: "/srv/project".into(),
        argv: vec!["sh".into()],
        cwd: "/srv/project".into(),
        protection,
    };
    event(0, What::RunStarted(started))
}

pub(crate) fn ended() -> Event {
    event(99, What::RunEnded(RunEnded { ended: Some(Ended::Code(0)), because: None, root: Some("ab".repeat(32)) }))
}

pub(crate) fn exec(second: u64, command: u64, argv: &[&str]) -> Event {
    exec_raw(second, command, argv.iter().map(|arg| Raw::from(*arg)).collect())
}

pub(crate) fn exec_raw(second: u64, command: u64, argv: Vec<Raw>) -> Event {
    let exec = Exec {
        command,
        parent: (command > 1).then_some(1),
        pid: 1000 + command as u32,
        ppid: 999,
        uid: 1000,
        argv,
        exe: "/usr/bin/git".into(),
        cwd: "/srv/project".into(),
        cut: false,
    };
    event(second, What::Exec(exec))
}

pub(crate) fn exit(second: u64, command: u64, ended: Ended) -> Event {
    event(second, What::Exit(Exit { command, pid: 1000 + command as u32, ended, duration_ns: 1_500_000_000 }))
}

pub(crate) fn file(second: u64, action: Action, path: impl Into<Raw>) -> Event {
    let by = Some(Actor { pid: Some(1002), command: Some(2), exact: true });
    event(second, What::File(FileChange { action, path: path.into(), to: None, dir: false, size: Some(3), by }))
}

pub(crate) fn snapshot(second: u64, origin: &str, slot: Option<u32>) -> Event {
    let taken = SnapshotTaken {
        snapshot: Some(format!("snap_{second:06}")),
        kind: origin.into(),
        origin: origin.into(),
        name: None,
        slot,
        files: 10,
        stored_bytes: 100,
        took_us: 7,
        by_dirty_set: true,
        command: None,
        root: Some("cd".repeat(32)),
        gaps: 0,
        meanwhile: 0,
        failed: None,
    };
    event(second, What::Snapshot(taken))
}
