//! A workspace, a command held until it is traced, and the story of what was seen.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use belay_event::{Action, Ended, Event, Exec, FileChange, What};
use belay_sys::Cgroup;
use belay_trace::{Engine, Group, Options, Totals, Tracer};
use tempfile::TempDir;

/// A workspace under a tracer.
pub(crate) struct World {
    path: PathBuf,
    place: Option<TempDir>,
    pub(crate) tracer: Tracer,
    events: Arc<Mutex<Vec<Event>>>,
    group: Option<Cgroup>,
}

impl World {
    /// Prepares a tracer for a workspace that `fill` has filled.
    pub(crate) fn new(engine: Engine, fill: impl FnOnce(&Path)) -> World {
        let place = tempfile::tempdir().unwrap();
        fill(place.path());
        World::open(engine, place, None)
    }

    /// Prepares a tracer for the processes of a control group.
    pub(crate) fn grouped(engine: Engine) -> Option<World> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        match Cgroup::create(&format!("belay-trace-{}-{number}", std::process::id())) {
            Ok(group) => Some(World::open(engine, tempfile::tempdir().unwrap(), Some(group))),
            Err(error) => {
                belay_testkit::skip(&format!("no control group: {error}"));
                None
            }
        }
    }

    /// Prepares a tracer for a workspace that is there.
    pub(crate) fn open(engine: Engine, place: TempDir, group: Option<Cgroup>) -> World {
        let path = place.path().to_path_buf();
        World { place: Some(place), ..World::over(engine, path, group) }
    }

    /// Prepares a tracer for a workspace that stays.
    pub(crate) fn over(engine: Engine, path: PathBuf, group: Option<Cgroup>) -> World {
        let events = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&events);
        let sink = Box::new(move |batch: Vec<Event>| log.lock().unwrap().extend(batch));
        let workspace = path.clone();
        let watched = group.as_ref().map(|group| Group { id: group.id(), level: group.level().unwrap() });
        let options = Options { workspace, exec: true, files: true, engine, group: watched };
        let tracer = Tracer::prepare(&options, sink).unwrap();
        World { path, place: None, tracer, events, group }
    }

    /// A path in the workspace.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.path.join(path)
    }

    /// Where the group is.
    pub(crate) fn group_path(&self) -> &Path {
        self.group.as_ref().unwrap().path()
    }

    /// Starts a command that runs from its first instruction under the tracer.
    pub(crate) fn start(&mut self, argv: &[impl AsRef<OsStr>]) -> Child {
        let held = tempfile::NamedTempFile::new().unwrap();
        let mut child = Command::new("/bin/sh")
            .args(["-c", "echo held > \"$0\"; read go; exec \"$@\""])
            .arg(held.path())
            .args(argv)
            .current_dir(&self.path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        // Before that the exec of the holding shell itself may still be under way.
        while std::fs::read(held.path()).unwrap().is_empty() {
            std::thread::yield_now();
        }
        if let Some(group) = &self.group {
            group.add(child.id()).unwrap();
        }
        self.tracer.attach(child.id()).unwrap();
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        child
    }

    /// Runs a command to its end.
    pub(crate) fn run(&mut self, argv: &[impl AsRef<OsStr>]) -> ExitStatus {
        self.start(argv).wait().unwrap()
    }

    /// Runs a shell script to its end.
    pub(crate) fn shell(&mut self, script: &str) -> ExitStatus {
        self.run(&["/bin/sh", "-c", script])
    }

    /// Everything that was seen until now.
    pub(crate) fn seen(&self) -> Vec<Event> {
        self.tracer.flush();
        self.events.lock().unwrap().clone()
    }

    /// Stops the tracer and tells the story.
    pub(crate) fn end(self) -> Story {
        let World { place, tracer, events, group, .. } = self;
        let totals = tracer.stop();
        if let Some(group) = group {
            group.kill(std::time::Duration::from_secs(5)).unwrap();
            group.remove().unwrap();
        }
        let events = std::mem::take(&mut *events.lock().unwrap());
        Story { events, totals, _place: place }
    }
}

/// What a tracer saw.
pub(crate) struct Story {
    pub(crate) events: Vec<Event>,
    pub(crate) totals: Totals,
    _place: Option<TempDir>,
}

impl Story {
    pub(crate) fn execs(&self) -> Vec<&Exec> {
        self.events
            .iter()
            .filter_map(|event| if let What::Exec(exec) = &event.what { Some(exec) } else { None })
            .collect()
    }

    /// The commands whose zeroth argument ends so.
    pub(crate) fn named(&self, name: &str) -> Vec<&Exec> {
        let ends = |exec: &&Exec| exec.argv.first().is_some_and(|word| word.lossy().ends_with(name));
        self.execs().into_iter().filter(ends).collect()
    }

    /// How each command ended.
    pub(crate) fn ends(&self) -> BTreeMap<u64, Ended> {
        let end =
            |event: &Event| if let What::Exit(exit) = &event.what { Some((exit.command, exit.ended)) } else { None };
        self.events.iter().filter_map(end).collect()
    }

    pub(crate) fn files(&self) -> Vec<&FileChange> {
        self.events
            .iter()
            .filter_map(|event| if let What::File(file) = &event.what { Some(file) } else { None })
            .collect()
    }

    /// The paths to which this was done.
    pub(crate) fn paths(&self, action: Action) -> Vec<String> {
        self.files().iter().filter(|file| file.action == action).map(|file| file.path.lossy().into_owned()).collect()
    }

    /// Asserts that the numbers are gapless, every command ended once, and nothing was lost.
    pub(crate) fn assert_whole(&self) {
        let numbers: Vec<_> = self.execs().iter().map(|exec| exec.command).collect();
        assert!(numbers.iter().copied().eq(1..=numbers.len() as u64), "the numbers have gaps or no order");
        let ends = self.ends();
        let endless: Vec<_> = self.execs().into_iter().filter(|exec| !ends.contains_key(&exec.command)).collect();
        assert!(endless.is_empty(), "no end was seen of {endless:?}");
        assert_eq!(self.events.iter().filter(|event| matches!(event.what, What::Exit(_))).count(), numbers.len());
        assert_eq!(self.totals.lost, 0);
        assert_eq!(self.totals.execs, numbers.len() as u64);
    }
}

/// Python, where it is installed.
pub(crate) fn python() -> Option<&'static str> {
    let found = Command::new("python3").arg("--version").output().is_ok();
    if !found {
        belay_testkit::skip("no python3");
    }
    found.then_some("python3")
}

/// Whether this machine and user can trace with BPF and fanotify; says aloud what is missing.
pub(crate) fn able() -> bool {
    let options =
        Options { workspace: std::env::temp_dir(), exec: true, files: false, engine: Engine::Privileged, group: None };
    let prepared = Tracer::prepare(&options, Box::new(|_| {}));
    if let Err(error) = &prepared {
        belay_testkit::skip(&format!("no privileged tracer: {error}"));
    }
    prepared.is_ok()
}
