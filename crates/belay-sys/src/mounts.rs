//! What is mounted where, as this process sees it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The places beneath a directory at which something is mounted; the directory itself does not count.
pub fn mounts_beneath(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let points = mounts()?.into_iter().map(|mount| mount.point);
    Ok(points.filter(|point| point.starts_with(dir) && point != dir).collect())
}

/// Where each mount at or above a path, or beneath it, shows which part of its filesystem; of two at one place the last.
pub fn mounts_about(path: &Path) -> io::Result<Vec<Shows>> {
    let about = |mount: &Mount| mount.point.starts_with(path) || path.starts_with(&mount.point);
    let mut shows: Vec<Shows> = Vec::new();
    for Mount { point, device, part, .. } in mounts()?.into_iter().filter(about) {
        shows.retain(|other| other.point != point);
        shows.push(Shows { point, device, part });
    }
    Ok(shows)
}

/// What a mount shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shows {
    /// Where.
    pub point: PathBuf,
    /// The filesystem, by a number that tells it apart from others.
    pub device: Vec<u8>,
    /// The directory of that filesystem.
    pub part: PathBuf,
}

/// Every mount, in the order in which they were made.
pub(crate) fn mounts() -> io::Result<Vec<Mount>> {
    let table = fs::read("/proc/self/mountinfo")?;
    Ok(table.split(|byte| *byte == b'\n').filter_map(Mount::parse).collect())
}

/// A line of the table of mounts.
pub(crate) struct Mount {
    pub(crate) id: u64,
    pub(crate) device: Vec<u8>,
    pub(crate) part: PathBuf,
    pub(crate) point: PathBuf,
    pub(crate) kind: Vec<u8>,
    pub(crate) source: Vec<u8>,
}

impl Mount {
    fn parse(line: &[u8]) -> Option<Mount> {
        let mut words = line.split(|byte| *byte == b' ');
        let id = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
        let device = words.nth(1)?.to_vec();
        let [part, point] =
            [words.next()?, words.next()?].map(|word| PathBuf::from(OsString::from_vec(unescape(word))));
        // Between the options and the type are any number of words, then a hyphen.
        let mut rest = words.skip_while(|word| *word != b"-").skip(1);
        Some(Mount { id, device, part, point, kind: rest.next()?.to_vec(), source: unescape(rest.next()?) })
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
        assert_eq!((mount.point.as_path(), mount.source.as_slice()), (Path::new("/mnt/a b"), &b"tank/my data"[..]));
        assert_eq!((mount.device.as_slice(), mount.part.as_path()), (&b"98:0"[..], Path::new("/")));
        assert!(Mount::parse(b"").is_none());
        assert!(Mount::parse(b"36 35 98:0 / /mnt").is_none());
    }

    #[test]
    fn what_is_beneath_is_told_and_what_is_beside_is_not() {
        let beneath = mounts_beneath(Path::new("/")).unwrap();
        assert!(beneath.contains(&"/proc".into()), "{beneath:?}");
        assert!(mounts_beneath(Path::new("/pro")).unwrap().is_empty());
        assert!(!mounts_beneath(Path::new("/proc")).unwrap().contains(&"/proc".into()));
    }
}
