//! A pool of ZFS in a file: of the kernel's where it has one, else of zfs-fuse, which is started for it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// One pool at a time on a machine, because only one zfs-fuse can run on it.
const TURN: &str = "/run/lock/belay-test-zfs";
const POOL_BYTES: u64 = 128 << 20;

/// A pool with one data set, mounted; gone when dropped.
#[derive(Debug)]
pub struct ZfsPool {
    name: String,
    mount_point: PathBuf,
    daemon: Option<Child>,
    // Given back after the pool and the program behind it are gone.
    _turn: File,
    _base: TempDir,
}

impl ZfsPool {
    /// A new pool, or none, said aloud, where there can be none.
    pub fn create() -> Option<ZfsPool> {
        if !crate::is_root() {
            crate::skip("a ZFS pool needs root");
            return None;
        }
        let turn = File::create(TURN).and_then(|turn| turn.lock().map(|()| turn));
        let turn = turn.unwrap_or_else(|error| panic!("lock {TURN}: {error}"));
        let base = tempfile::Builder::new().prefix("belay-zfs-").tempdir().expect("a temporary directory can be made");
        let daemon = if answers() { None } else { Some(start(base.path())?) };
        let name = format!("belaytest{}", std::process::id());
        let mut pool = ZfsPool { mount_point: base.path().join("mounted"), name, daemon, _turn: turn, _base: base };
        pool.fill()?;
        Some(pool)
    }

    /// Where the data set is mounted.
    pub fn path(&self) -> &Path {
        &self.mount_point
    }

    /// Makes a data set of the pool and mounts it at a path, where there is nothing or an empty directory.
    #[track_caller]
    pub fn mount_at(&self, path: &Path) -> String {
        let name = format!("{}/work", self.name);
        let place = format!("mountpoint={}", path.display());
        let made = said(Command::new("zfs").args(["create", "-o", &place, &name]));
        made.unwrap_or_else(|why| panic!("zfs create {name}: {why}"));
        name
    }

    /// The name of the data set.
    pub fn dataset(&self) -> &str {
        &self.name
    }

    fn fill(&mut self) -> Option<()> {
        let image = self._base.path().join("pool");
        File::create(&image).and_then(|file| file.set_len(POOL_BYTES)).expect("an image can be made");
        // Nothing about it is remembered when it is gone.
        let mut create = Command::new("zpool");
        create.args(["create", "-o", "cachefile=none", "-m"]).arg(&self.mount_point).arg(&self.name).arg(&image);
        said(&mut create).map_err(|why| crate::skip(&format!("zpool: {why}"))).ok()?;
        Some(())
    }
}

impl Drop for ZfsPool {
    fn drop(&mut self) {
        match &mut self.daemon {
            // At once and without its consent: it stands still for good if a file of what goes is open somewhere.
            Some(daemon) => {
                let _ = daemon.kill();
                let _ = daemon.wait();
            }
            // Whatever fails here is found by the next pool, which says so.
            None => drop(said(Command::new("zpool").args(["destroy", "-f", &self.name]))),
        }
        let table = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        for line in table.lines().rev() {
            let mut words = line.split(' ');
            let (source, point) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            if source.split('/').next() == Some(self.name.as_str()) {
                let _ = said(Command::new("umount").args(["--lazy", point]));
            }
        }
    }
}

fn answers() -> bool {
    said(Command::new("zpool").arg("list")).is_ok()
}

/// Starts zfs-fuse and waits until it answers.
fn start(base: &Path) -> Option<Child> {
    let mut command = Command::new("zfs-fuse");
    // Nothing is cached by the kernel, because a link made by one name is not seen by the other then.
    command.args(["--no-daemon", "--no-kstat-mount", "--enable-xattr", "-a", "0", "-e", "0", "--pidfile"]);
    command.arg(base.join("pid")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut daemon = match command.spawn() {
        Ok(daemon) => daemon,
        Err(error) => {
            crate::skip(&format!("zfs-fuse: {error}"));
            return None;
        }
    };
    for _ in 0..250 {
        if answers() {
            return Some(daemon);
        }
        if daemon.try_wait().is_ok_and(|ended| ended.is_some()) {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = daemon.kill();
    let _ = daemon.wait();
    crate::skip("zfs-fuse does not answer");
    None
}

fn said(command: &mut Command) -> Result<(), String> {
    match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
