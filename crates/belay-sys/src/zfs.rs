//! Snapshots of ZFS data sets, asked of the command `zfs`, which is the only stable interface that ZFS has.
//!
//! Invariants: nothing here can lose data of a data set: no rollback, no destruction of anything but one snapshot by its
//! full name, or of the clone that shows it. The command is taken from the system's own directories,
//! never from a search path.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::mount::MountFlags;

use crate::mounts::mounts;
use crate::root::Root;

/// Where distributions put the command.
const PROGRAMS: [&str; 5] =
    ["/usr/sbin/zfs", "/sbin/zfs", "/usr/bin/zfs", "/usr/local/sbin/zfs", "/run/current-system/sw/bin/zfs"];
/// Names of the file system in the table of mounts: of the kernel's, and of the one in user space.
const TYPES: [&[u8]; 2] = [b"zfs", b"fuse.zfs"];
/// Mounts of the one in user space take a moment to appear.
const APPEARS: (u32, std::time::Duration) = (100, std::time::Duration::from_millis(20));

/// What is busy may be free in a moment.
const BUSY: (u32, std::time::Duration) = (150, std::time::Duration::from_millis(20));

/// A mounted data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// Its full name, such as `tank/home`.
    pub name: String,
    /// Where it is mounted.
    pub mounted_at: PathBuf,
}

/// How the files of a snapshot can be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// In the control directory of the data set, for as long as the snapshot exists.
    Controlled(PathBuf),
    /// As a clone mounted there read-only, because the data set has no control directory.
    Cloned(PathBuf),
}

impl Seen {
    /// The directory that shows the snapshot.
    pub fn path(&self) -> &Path {
        match self {
            Seen::Controlled(path) | Seen::Cloned(path) => path,
        }
    }
}

/// The data set whose topmost directory this is; none for anything else.
pub fn dataset_at(dir: &Root) -> io::Result<Option<Dataset>> {
    let own = dir.dir_path_only(b"")?.stat_self()?;
    let Some(mount) = mounts()?.into_iter().rfind(|mount| mount.id == own.mount_id) else { return Ok(None) };
    let Ok(name) = String::from_utf8(mount.source) else { return Ok(None) };
    if !TYPES.contains(&mount.kind.as_slice()) || !is_dataset(&name) {
        return Ok(None);
    }
    let mounted_at = mount.point;
    let top = fs::metadata(&mounted_at)?;
    Ok(((top.dev(), top.ino()) == (own.dev, own.ino)).then_some(Dataset { name, mounted_at }))
}

/// Takes the snapshot `name` of a data set, durably; needs root or the delegated right `snapshot`.
///
/// The command outlives a caller that is killed, and has `held` open until it ends, so that a lock on it says so.
pub fn snapshot(dataset: &Dataset, name: &str, held: Option<&File>) -> io::Result<()> {
    ask_holding(&["snapshot", &full(&dataset.name, name)?], held).map(drop)
}

/// Whether a snapshot exists.
pub fn exists(dataset: &str, name: &str) -> io::Result<bool> {
    let full = full(dataset, name)?;
    let listed = ask(&["list", "-H", "-o", "name", "-t", "snapshot", "-r", dataset])?;
    Ok(listed.lines().any(|line| line == full))
}

/// Whether the data set has a control directory, in which its snapshots can be seen.
pub fn shows_snapshots(dataset: &Dataset) -> bool {
    fs::read_dir(dataset.mounted_at.join(".zfs/snapshot")).is_ok()
}

/// Where the control directory shows a snapshot.
pub fn shown_at(dataset: &Dataset, name: &str) -> PathBuf {
    dataset.mounted_at.join(".zfs/snapshot").join(name)
}

/// Makes the files of a snapshot visible; `mount` is where a clone goes if that is the only way, and is made then.
pub fn show(dataset: &Dataset, name: &str, mount: &Path, held: Option<&File>) -> io::Result<Seen> {
    let snapshot = full(&dataset.name, name)?;
    let controlled = shown_at(dataset, name);
    // A listing mounts it where that has not happened yet.
    if fs::read_dir(&controlled).is_ok() {
        return Ok(Seen::Controlled(controlled));
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(mount)?;
    let before = fs::metadata(mount)?.dev();
    let mut place = std::ffi::OsString::from("mountpoint=");
    place.push(mount);
    let place = place.into_string().map_err(|_| io::Error::other("zfs mounts nothing at a path that is not text"))?;
    ask_holding(&["clone", "-o", &place, &snapshot, &clone_of(&dataset.name, name)], held)?;
    for _ in 0..APPEARS.0 {
        if fs::metadata(mount)?.dev() != before {
            // The mount is made read-only and not the clone, because in a read-only one the ZFS in user space refuses to
            // list the extended attributes of a directory, and the kernel never asks it for any again.
            rustix::mount::mount_remount(mount, MountFlags::BIND | MountFlags::RDONLY, "")?;
            return Ok(Seen::Cloned(mount.to_path_buf()));
        }
        std::thread::sleep(APPEARS.1);
    }
    Err(io::Error::other(format!("zfs cloned {snapshot} and did not mount it")))
}

/// Removes a snapshot and the clone that shows it; what is not there is no error.
pub fn remove(dataset: &str, name: &str) -> io::Result<()> {
    let (snapshot, clone) = (full(dataset, name)?, clone_of(dataset, name));
    let listed = ask(&["list", "-H", "-o", "name", "-t", "filesystem,snapshot", "-r", dataset])?;
    let is_there = |name: &str| listed.lines().any(|line| line == name);
    if is_there(&clone) {
        // Never unmounted by force: the ZFS in user space stands still for good if what is destroyed is open somewhere.
        destroy_unless_busy(&clone)?;
    }
    if is_there(&snapshot) {
        destroy_unless_busy(&snapshot)?;
    }
    Ok(())
}

/// Whoever has its own view of the mounts (a jail, a container) keeps a clone busy until it ends, and so does whoever just looked.
fn destroy_unless_busy(name: &str) -> io::Result<()> {
    for _ in 0..BUSY.0 {
        match ask(&["destroy", name]) {
            Err(error) if error.to_string().ends_with("busy") => std::thread::sleep(BUSY.1),
            result => return result.map(drop),
        }
    }
    ask(&["destroy", name]).map(drop)
}

/// Bytes that would be free if a snapshot went.
pub fn own_bytes(dataset: &str, name: &str) -> io::Result<u64> {
    let said = ask(&["get", "-H", "-p", "-o", "value", "used", &full(dataset, name)?])?;
    said.trim().parse().map_err(|_| io::Error::other(format!("zfs said {said:?} where a number was asked for")))
}

/// The full name of a snapshot, if both parts are what belay itself would make or the mount table would say.
fn full(dataset: &str, name: &str) -> io::Result<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !is_dataset(dataset) || name.is_empty() || name.starts_with('-') || !name.bytes().all(is_plain) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{dataset}@{name} is no name of a snapshot")));
    }
    Ok(format!("{dataset}@{name}"))
}

fn is_dataset(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphanumeric()) && !name.contains(['@', '#', '\n', '\t'])
}

fn clone_of(dataset: &str, name: &str) -> String {
    format!("{dataset}/belay-shows-{name}")
}

/// Runs the command and returns what it printed; its complaint is the error.
fn ask(words: &[&str]) -> io::Result<String> {
    ask_holding(words, None)
}

/// The same with a file that the command has open as its input, which it never reads.
fn ask_holding(words: &[&str], held: Option<&File>) -> io::Result<String> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, "there is no command zfs");
    let program = PROGRAMS.iter().find(|program| Path::new(program).exists()).ok_or_else(missing)?;
    let input = held.map(File::try_clone).transpose()?.map_or_else(Stdio::null, Stdio::from);
    let output = Command::new(program).args(words).env_clear().env("LC_ALL", "C").stdin(input).output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let kind = match said.contains("ermission denied") {
        true => io::ErrorKind::PermissionDenied,
        false => io::ErrorKind::Other,
    };
    Err(io::Error::new(kind, format!("zfs {}: {}", words[0], said.trim().replace('\n', "; "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_snapshots_can_be_named() {
        assert_eq!(full("tank/home", "belay-1").unwrap(), "tank/home@belay-1");
        for (dataset, name) in [
            ("tank", ""),
            ("tank", "a@b"),
            ("tank", "-r"),
            ("-r", "a"),
            ("tank@x", "a"),
            ("", "a"),
            ("tank", "a,b"),
            ("tank", "%"),
        ] {
            assert!(full(dataset, name).is_err(), "{dataset}@{name}");
        }
    }
}
