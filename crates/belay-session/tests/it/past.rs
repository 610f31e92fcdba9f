//! A run that never ran: real snapshots, real files and a real journal, with events that the test makes up.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use belay_event::{Action, Actor, At, Ended, Event, Exec, Exit, FileChange, Raw, SnapshotTaken, What};
use belay_journal::Writer;
use belay_session::{Cause, Kind, Origin, RunPlan, Snapshot, SnapshotRequest};

use crate::bed::Bed;

pub(crate) struct Past<'b> {
    bed: &'b Bed,
    pub(crate) id: String,
    writer: Writer,
    commands: u64,
    /// When each of them began.
    begun: Vec<At>,
}

impl<'b> Past<'b> {
    /// A run in the workspace, with its first snapshot and its first command.
    pub(crate) fn new(bed: &'b Bed) -> Past<'b> {
        let plan = RunPlan { argv: vec![b"bash".to_vec()], cwd: b"/".to_vec(), ..RunPlan::default() };
        let record = bed.open().create_run(&plan).unwrap();
        let dir: PathBuf = bed.home.run_dir(&record.id);
        let writer = Writer::create(&dir, &record.id, bed.home.signing_key().unwrap()).unwrap();
        let mut past = Past { bed, id: record.id, writer, commands: 0, begun: Vec::new() };
        past.snap(Kind::PreRun, None);
        past.exec(None, "bash");
        past
    }

    /// Between the last thing that the clock stamped and the next.
    pub(crate) fn now(&self) -> At {
        let nanos = i128::from(self.bed.seconds.fetch_add(1, Ordering::Relaxed)) * 1_000_000_000;
        At::from_unix_nanos(nanos)
    }

    fn tell(&self, what: What) {
        // What a command does is there to be read once the command has ended.
        let is_end = !matches!(&what, What::Exec(_))
            && !matches!(&what, What::File(FileChange { by: Some(Actor { command: Some(_), .. }), .. }));
        self.writer.append(vec![Event::new(self.now(), what)]);
        if is_end {
            self.writer.sync().unwrap();
        }
    }

    pub(crate) fn exec(&mut self, parent: Option<u64>, line: &str) -> u64 {
        self.commands += 1;
        let argv: Vec<Raw> = line.split(' ').map(Raw::from).collect();
        let (command, pid, cwd) = (self.commands, self.commands as u32 + 1000, "/".into());
        let exec = Exec { command, parent, pid, ppid: 1, uid: 0, exe: argv[0].clone(), argv, cwd, cut: false };
        self.begun.push(At::from_unix_nanos(i128::from(self.bed.seconds.load(Ordering::Relaxed)) * 1_000_000_000));
        self.tell(What::Exec(exec));
        command
    }

    pub(crate) fn exit(&self, command: u64) {
        let pid = command as u32 + 1000;
        let begun = self.begun[command as usize - 1].unix_nanos();
        let now = i128::from(self.bed.seconds.load(Ordering::Relaxed)) * 1_000_000_000;
        let duration_ns = u64::try_from(now - begun).unwrap();
        self.tell(What::Exit(Exit { command, pid, ended: Ended::Code(0), duration_ns }));
    }

    /// Makes a directory.
    pub(crate) fn mkdir(&self, command: u64, path: &str) {
        std::fs::create_dir(self.bed.ws.join(path)).unwrap();
        let by = Some(Actor { pid: Some(1), command: Some(command), exact: true });
        let (action, path) = (Action::Created, path.into());
        self.tell(What::File(FileChange { action, path, to: None, dir: true, size: None, by }));
    }

    /// Moves a file, or a directory with all that is in it, as the command.
    pub(crate) fn rename(&self, command: u64, from: &str, to: &str) {
        let dir = self.bed.ws.join(from).is_dir();
        std::fs::rename(self.bed.ws.join(from), self.bed.ws.join(to)).unwrap();
        let by = Some(Actor { pid: Some(1), command: Some(command), exact: true });
        let (action, path, to) = (Action::Renamed, from.into(), Some(to.into()));
        self.tell(What::File(FileChange { action, path, to, dir, size: None, by }));
    }

    pub(crate) fn change(&self, command: Option<u64>, action: Action, path: &str) {
        let by = Some(Actor { pid: Some(1), command, exact: true });
        let size = std::fs::metadata(self.bed.ws.join(path)).ok().map(|meta| meta.len());
        self.tell(What::File(FileChange { action, path: path.into(), to: None, dir: false, size, by }));
    }

    /// A change that happened a moment before the snapshot, which was not told of it in time.
    pub(crate) fn too_late_for(&self, snapshot: &Snapshot, command: u64, action: Action, path: &str, to: Option<&str>) {
        let by = Some(Actor { pid: Some(1), command: Some(command), exact: true });
        let at = At::from_unix_nanos(At::from(snapshot.created_at).unix_nanos() - 1_000_000);
        let change = FileChange { action, path: path.into(), to: to.map(Raw::from), dir: false, size: None, by };
        self.writer.append(vec![Event::new(at, What::File(change))]);
        self.writer.sync().unwrap();
    }

    /// A change that the kernel gave to nobody.
    pub(crate) fn unknown(&self, action: Action, path: &str) {
        self.tell(What::File(FileChange { action, path: path.into(), to: None, dir: false, size: None, by: None }));
    }

    /// Removes a directory, as the command or as nobody who is known.
    pub(crate) fn rmdir(&self, command: Option<u64>, path: &str) {
        std::fs::remove_dir(self.bed.ws.join(path)).unwrap();
        let by = command.map(|command| Actor { pid: Some(1), command: Some(command), exact: true });
        let (action, path) = (Action::Deleted, path.into());
        self.tell(What::File(FileChange { action, path, to: None, dir: true, size: None, by }));
    }

    /// Removes a file, and nobody sees who it was.
    pub(crate) fn vanish(&self, path: &str) {
        std::fs::remove_file(self.bed.ws.join(path)).unwrap();
        self.unknown(Action::Deleted, path);
    }

    /// Writes a file, as the command or as somebody else.
    pub(crate) fn write(&self, command: Option<u64>, path: &str, text: &str) {
        let action = if self.bed.ws.join(path).exists() { Action::Modified } else { Action::Created };
        self.bed.ws.file(path, text);
        self.change(command, action, path);
    }

    pub(crate) fn remove(&self, command: Option<u64>, path: &str) {
        std::fs::remove_file(self.bed.ws.join(path)).unwrap();
        self.change(command, Action::Deleted, path);
    }

    /// A command that writes these files and ends.
    pub(crate) fn run(&mut self, line: &str, files: &[(&str, &str)]) -> u64 {
        let command = self.exec(Some(1), line);
        files.iter().for_each(|(path, text)| self.write(Some(command), path, text));
        self.exit(command);
        command
    }

    pub(crate) fn snap(&self, kind: Kind, command: Option<u64>) -> Snapshot {
        self.snap_with(kind, Cause { command, ..Cause::default() })
    }

    /// A snapshot that holds what `meanwhile` does, which is recorded as done while it was taken.
    pub(crate) fn slow_snap(&self, meanwhile: impl FnOnce()) -> Snapshot {
        let from = self.now();
        meanwhile();
        let snapshot = self.snap(Kind::Auto, None);
        let until = self.now();
        let taken = SnapshotTaken {
            snapshot: Some(snapshot.id.clone()),
            kind: "auto".into(),
            origin: "auto".into(),
            name: None,
            slot: None,
            files: 0,
            stored_bytes: 0,
            took_us: u64::try_from((until.unix_nanos() - from.unix_nanos()) / 1000).unwrap(),
            by_dirty_set: false,
            command: None,
            root: None,
            gaps: 0,
            meanwhile: 0,
            failed: None,
        };
        self.writer.append(vec![Event::new(until, What::Snapshot(taken))]);
        self.writer.sync().unwrap();
        snapshot
    }

    pub(crate) fn turn(&self, turn: u64, prompt: &str) -> Snapshot {
        self.snap_with(Kind::Turn, Cause { turn: Some(turn), trigger: Some(prompt.into()), ..Cause::default() })
    }

    fn snap_with(&self, kind: Kind, cause: Cause) -> Snapshot {
        let cause = Cause { run: Some(self.id.clone()), ..cause };
        self.bed
            .take(&SnapshotRequest { kind, origin: Origin::Auto, cause, ..SnapshotRequest::default() })
            .unwrap()
            .snapshot
    }
}
