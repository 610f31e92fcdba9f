//! Control groups: a group of our own that holds exactly the processes of a run.
//!
//! Invariants:
//! - a group is made beneath the one that this process is in, in the version 2 hierarchy, wherever that is mounted;
//! - where version 2 lacks a controller that a limit needs, a group of the same name is made in the old hierarchy
//!   that has it, and is joined and removed with the first;
//! - nothing waits for ever: freezing and emptying have a deadline.

mod layout;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use layout::Layout;

/// How long to sleep between two looks at a group that is on its way to a state.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// A control group that we made.
#[derive(Debug)]
pub struct Cgroup {
    path: PathBuf,
    id: u64,
    level: Option<u32>,
    parent: PathBuf,
    name: String,
    older: Vec<PathBuf>,
}

impl Cgroup {
    /// Makes a group of this name beneath our own; fails where there is no version 2 hierarchy or no right to write to it.
    pub fn create(name: &str) -> io::Result<Cgroup> {
        let layout = Layout::of_this_process()?;
        let parent = layout.unified.ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "no cgroup2 mount"))?;
        let path = parent.directory.join(name);
        fs::create_dir(&path)?;
        let id = fs::metadata(&path)?.ino();
        let level = parent.level.map(|level| level + 1);
        Ok(Cgroup { path, id, level, parent: parent.directory, name: name.to_owned(), older: Vec::new() })
    }

    /// A group that somebody made at this directory of the version 2 hierarchy, to be ended and removed.
    pub fn open(path: &Path) -> io::Result<Cgroup> {
        let id = fs::metadata(path.join("cgroup.procs")).and_then(|_| fs::metadata(path))?.ino();
        let parent = path.parent().unwrap_or(path).to_owned();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let older = Layout::of_this_process()?.older_groups(&name);
        Ok(Cgroup { path: path.to_owned(), id, level: None, parent, name, older })
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its number, by which the kernel's programs know it.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// How deep it lies; none inside a cgroup namespace, where nobody can tell.
    pub fn level(&self) -> Option<u32> {
        self.level
    }

    /// The files through which a process joins by writing `0` to each: see [`join`].
    pub fn doors(&self) -> io::Result<Vec<File>> {
        let directories = std::iter::once(&self.path).chain(&self.older);
        directories.map(|directory| OpenOptions::new().write(true).open(directory.join("cgroup.procs"))).collect()
    }

    /// Moves a process here.
    pub fn add(&self, pid: u32) -> io::Result<()> {
        self.doors()?.iter().try_for_each(|mut door| door.write_all(pid.to_string().as_bytes()))
    }

    /// Its directory, for a process that is to be born in it.
    pub fn directory(&self) -> io::Result<File> {
        File::open(&self.path)
    }

    /// Moves a process that was born here to where the older hierarchies have it, if they are needed.
    pub fn add_to_older(&self, pid: u32) -> io::Result<()> {
        let mut doors = self.older.iter().map(|directory| directory.join("cgroup.procs"));
        doors.try_for_each(|door| fs::write(door, pid.to_string()))
    }

    /// The processes in it and in the groups beneath.
    pub fn pids(&self) -> io::Result<Vec<u32>> {
        let mut found = Vec::new();
        collect_pids(&self.path, &mut found)?;
        Ok(found)
    }

    /// Whether a process lives in it or beneath.
    pub fn populated(&self) -> io::Result<bool> {
        self.state("populated")
    }

    /// Stops every process where it is; an error if one does not stop in time, and then all go on.
    pub fn freeze(&self, within: Duration) -> io::Result<()> {
        fs::write(self.path.join("cgroup.freeze"), "1")?;
        if self.reaches("frozen", true, within)? {
            return Ok(());
        }
        self.thaw()?;
        Err(io::Error::new(io::ErrorKind::TimedOut, "a process does not stop"))
    }

    /// Lets every process go on.
    pub fn thaw(&self) -> io::Result<()> {
        fs::write(self.path.join("cgroup.freeze"), "0")
    }

    /// Kills every process in it and beneath, at once, and waits for them to be gone.
    pub fn kill(&self, within: Duration) -> io::Result<()> {
        // Kernels before 5.14 have no such file; there a fork may escape one round, but not all of them.
        if fs::write(self.path.join("cgroup.kill"), "1").is_err() {
            self.kill_one_by_one(within)?;
        }
        if self.reaches("populated", false, within)? {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "a process does not end"))
    }

    /// Removes the group and everything beneath; it must be empty of processes.
    pub fn remove(&self) -> io::Result<()> {
        let older = self.older.iter().try_for_each(|directory| remove_groups(directory));
        remove_groups(&self.path).and(older)
    }

    /// Allows at most so many bytes of memory.
    pub fn limit_memory(&mut self, bytes: u64) -> io::Result<()> {
        self.limit("memory", "memory.max", "memory.limit_in_bytes", bytes)
    }

    /// How many processes the kernel killed in it because memory had run out.
    pub fn memory_kills(&self) -> u64 {
        let older = self.older.iter().map(|directory| directory.join("memory.oom_control"));
        let files = std::iter::once(self.path.join("memory.events")).chain(older);
        let kills =
            |text: String| text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse::<u64>().ok());
        files.filter_map(|file| fs::read_to_string(file).ok().and_then(kills)).sum::<u64>()
    }

    /// Allows at most so many processes and threads.
    pub fn limit_pids(&mut self, count: u64) -> io::Result<()> {
        self.limit("pids", "pids.max", "pids.max", count)
    }

    fn limit(&mut self, controller: &str, file: &str, older_file: &str, value: u64) -> io::Result<()> {
        let unified = self.path.join(file);
        if !unified.exists() {
            // Refused while processes sit in the parent itself; then the older hierarchy is the last hope.
            let _ = fs::write(self.parent.join("cgroup.subtree_control"), format!("+{controller}"));
        }
        if unified.exists() {
            return fs::write(unified, value.to_string());
        }
        let missing = || io::Error::new(io::ErrorKind::Unsupported, format!("no {controller} controller"));
        let parent = Layout::of_this_process()?.older_parent(controller).ok_or_else(missing)?;
        let directory = parent.join(&self.name);
        if !self.older.contains(&directory) {
            fs::create_dir(&directory)?;
            self.older.push(directory.clone());
        }
        fs::write(directory.join(older_file), value.to_string())
    }

    fn kill_one_by_one(&self, within: Duration) -> io::Result<()> {
        let deadline = Instant::now() + within;
        while self.populated()? && Instant::now() < deadline {
            for pid in self.pids()? {
                let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
                // One that ended by itself in between is what we want.
                pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn reaches(&self, key: &str, wanted: bool, within: Duration) -> io::Result<bool> {
        let deadline = Instant::now() + within;
        while self.state(key)? != wanted {
            if Instant::now() >= deadline {
                return Ok(false);
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(true)
    }

    fn state(&self, key: &str) -> io::Result<bool> {
        let events = fs::read_to_string(self.path.join("cgroup.events"))?;
        let value = events.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u32>().ok());
        Ok(value == Some(1))
    }
}

/// Moves this process through the doors of a group; allocates nothing, so that a forked child may call it.
pub fn join(doors: &[File]) -> io::Result<()> {
    doors.iter().try_for_each(|mut door| door.write_all(b"0"))
}

fn collect_pids(directory: &Path, found: &mut Vec<u32>) -> io::Result<()> {
    let procs = fs::read_to_string(directory.join("cgroup.procs"))?;
    found.extend(procs.lines().filter_map(|line| line.parse::<u32>().ok()));
    for child in child_groups(directory)? {
        match collect_pids(&child, found) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn remove_groups(directory: &Path) -> io::Result<()> {
    for child in child_groups(directory)? {
        remove_groups(&child)?;
    }
    fs::remove_dir(directory)
}

fn child_groups(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut children = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            children.push(entry.path());
        }
    }
    Ok(children)
}
