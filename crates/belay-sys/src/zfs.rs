//! Snapshots of ZFS data sets, asked of the command `zfs`, which is the only stable interface that ZFS has.
//!
//! Invariants: nothing here can lose data of a data set: no rollback, no destruction of anything but one snapshot by its
//! full name, or of the read-only clone that shows it. The command is taken from the system's own directories,
//! never from a search path.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::root::Root;

/// Where distributions put the command.
const PROGRAMS: [&str; 5] =
    ["/usr/sbin/zfs", "/sbin/zfs", "/usr/bin/zfs", "/usr/local/sbin/zfs", "/run/current-system/sw/bin/zfs"];
/// Names of the file system in the table of mounts: of the kernel's, and of the one in user space.
const TYPES: [&[u8]; 2] = [b"zfs", b"fuse.zfs"];
/// Mounts of the one in user space take a moment to appear.
const APPEARS: (u32, std::time::Duration) = (100, std::time::Duration::from_millis(20));

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
    /// As a read-only clone mounted there, because the data set has no control directory.
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
    let table = fs::read("/proc/self/mountinfo")?;
    let mounts = table.split(|byte| *byte == b'\n').filter_map(Mount::parse);
    let Some(mount) = mounts.filter(|mount| mount.id == own.mount_id).last() else { return Ok(None) };
    let Ok(name) = String::from_utf8(mount.source) else { return Ok(None) };
    if !TYPES.contains(&mount.kind.as_slice()) || !is_dataset(&name) {
        return Ok(None);
    }
    let mounted_at = PathBuf::from(std::ffi::OsString::from_vec(mount.point));
    let top = fs::metadata(&mounted_at)?;
    Ok(((top.dev(), top.ino()) == (own.dev, own.ino)).then_some(Dataset { name, mounted_at }))
}

/// Takes the snapshot `name` of a data set, durably; needs root or the delegated right `snapshot`.
pub fn snapshot(dataset: &Dataset, name: &str) -> io::Result<()> {
    ask(&["snapshot", &full(&dataset.name, name)?]).map(drop)
}

/// Whether a snapshot exists.
pub fn exists(dataset: &str, name: &str) -> io::Result<bool> {
    let full = full(dataset, name)?;
    let listed = ask(&["list", "-H", "-o", "name", "-t", "snapshot", "-r", dataset])?;
    Ok(listed.lines().any(|line| line == full))
}

/// Makes the files of a snapshot visible; `mount` is where a clone goes if that is the only way, and is made then.
pub fn show(dataset: &Dataset, name: &str, mount: &Path) -> io::Result<Seen> {
    let snapshot = full(&dataset.name, name)?;
    let controlled = dataset.mounted_at.join(".zfs/snapshot").join(name);
    // A listing mounts it where that has not happened yet.
    if fs::read_dir(&controlled).is_ok() {
        return Ok(Seen::Controlled(controlled));
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(mount)?;
    let before = fs::metadata(mount)?.dev();
    let mut place = std::ffi::OsString::from("mountpoint=");
    place.push(mount);
    let place = place.into_string().map_err(|_| io::Error::other("zfs mounts nothing at a path that is not text"))?;
    ask(&["clone", "-o", "readonly=on", "-o", &place, &snapshot, &clone_of(&dataset.name, name)])?;
    for _ in 0..APPEARS.0 {
        if fs::metadata(mount)?.dev() != before {
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
    for doomed in [clone, snapshot] {
        if listed.lines().any(|line| line == doomed) {
            ask(&["destroy", &doomed])?;
        }
    }
    Ok(())
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
    let missing = || io::Error::new(io::ErrorKind::NotFound, "there is no command zfs");
    let program = PROGRAMS.iter().find(|program| Path::new(program).exists()).ok_or_else(missing)?;
    let output = Command::new(program).args(words).env_clear().env("LC_ALL", "C").stdin(Stdio::null()).output()?;
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

/// A line of the table of mounts.
struct Mount {
    id: u64,
    point: Vec<u8>,
    kind: Vec<u8>,
    source: Vec<u8>,
}

impl Mount {
    fn parse(line: &[u8]) -> Option<Mount> {
        let mut words = line.split(|byte| *byte == b' ');
        let id = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
        let point = unescape(words.nth(3)?);
        // Between the options and the type are any number of words, then a hyphen.
        let mut rest = words.skip_while(|word| *word != b"-").skip(1);
        Some(Mount { id, point, kind: rest.next()?.to_vec(), source: unescape(rest.next()?) })
    }
}

/// Spaces and their like are written as a backslash and three octal digits.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let digits = text
            .get(at + 1..at + 4)
            .filter(|digits| text[at] == b'\\' && digits.iter().all(|d| (b'0'..=b'7').contains(d)));
        match digits {
            Some(digits) => {
                out.push(digits.iter().fold(0_u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0')));
                at += 4;
            }
            None => {
                out.push(text[at]);
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_table_is_read() {
        let line = br"36 35 98:0 / /mnt/a\040b rw,noatime master:1 - fuse.zfs tank/my\040data rw,errors=continue";
        let mount = Mount::parse(line).unwrap();
        assert_eq!((mount.id, mount.kind.as_slice()), (36, &b"fuse.zfs"[..]));
        assert_eq!((mount.point.as_slice(), mount.source.as_slice()), (&b"/mnt/a b"[..], &b"tank/my data"[..]));
        assert!(Mount::parse(b"").is_none());
        assert!(Mount::parse(b"36 35 98:0 / /mnt").is_none());
    }

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
