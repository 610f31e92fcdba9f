//! What a user or an agent may do to a workspace, as a value that a test can generate, carry out and shrink.
//!
//! Whatever cannot be done (a name is missing, a directory is full) is simply not done. A deed answers with the paths
//! that somebody who watched would have named.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use belay_store::Root;
use belay_testkit::TempWorkspace;
use proptest::prelude::*;

/// One deed; numbers choose among [`PATHS`].
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    Write(usize, u8, u32),
    Replace(usize, u8, u32),
    /// As long as before, and the old modification time put back.
    Forge(usize, u8),
    Append(usize, u8),
    Truncate(usize, u32),
    Hole(usize, u32, u8),
    Rename(usize, usize),
    Exchange(usize, usize),
    Link(usize, usize),
    Remove(usize),
    Mkdir(usize),
    Chmod(usize, u32),
    Chown(usize, u32),
    Touch(usize, i64, u32),
    Attribute(usize, u8, u8),
    Symlink(usize, usize),
    Fifo(usize),
    Socket(usize),
    Ignore(usize, usize),
    /// Long enough for times to prove something.
    Rest,
}

const PATHS: [&[u8]; 24] = [
    b"a",
    b"b",
    b"d",
    b"d/a",
    b"d/b",
    b"d/e",
    b"d/e/f",
    b"d/e/g/h",
    b"x",
    b"x/y",
    b"x/y/z",
    b"new\nline",
    b"odd/\xff\xfe",
    b"odd/ \x1b[31m",
    &[b'n'; 255],
    b"node_modules/m",
    b"node_modules",
    b"d/target/t",
    b"d/target",
    b"package.json",
    b"d/Cargo.toml",
    b".env",
    b"d/target/CACHEDIR.TAG",
    b".cache/CACHEDIR.TAG",
];

const IGNORES: [&str; 6] = ["", "node_modules/\n", "target\n*.o\n", "/d\n!/d/a\n", "*\n", ".env\nx/y\n"];
const MODES: [u32; 8] = [0o644, 0o600, 0o755, 0o700, 0o444, 0o4755, 0o2775, 0o1777];

pub(crate) fn deed() -> impl Strategy<Value = Deed> {
    let path = 0..PATHS.len();
    let length = prop_oneof![12 => 0..200u32, 2 => 90_000..110_000u32, 1 => 1_040_000..1_100_000u32];
    prop_oneof![
        6 => (path.clone(), any::<u8>(), length.clone()).prop_map(|(p, b, l)| Deed::Write(p, b, l)),
        3 => (path.clone(), any::<u8>(), length.clone()).prop_map(|(p, b, l)| Deed::Replace(p, b, l)),
        3 => (path.clone(), any::<u8>()).prop_map(|(p, b)| Deed::Forge(p, b)),
        2 => (path.clone(), any::<u8>()).prop_map(|(p, b)| Deed::Append(p, b)),
        1 => (path.clone(), length).prop_map(|(p, l)| Deed::Truncate(p, l)),
        2 => (path.clone(), 0..400_000u32, any::<u8>()).prop_map(|(p, at, b)| Deed::Hole(p, at, b)),
        4 => (path.clone(), path.clone()).prop_map(|(p, q)| Deed::Rename(p, q)),
        2 => (path.clone(), path.clone()).prop_map(|(p, q)| Deed::Exchange(p, q)),
        4 => (path.clone(), path.clone()).prop_map(|(p, q)| Deed::Link(p, q)),
        4 => path.clone().prop_map(Deed::Remove),
        3 => path.clone().prop_map(Deed::Mkdir),
        3 => (path.clone(), 0..MODES.len()).prop_map(|(p, m)| Deed::Chmod(p, MODES[m])),
        1 => (path.clone(), 0..3u32).prop_map(|(p, id)| Deed::Chown(p, id * 1000)),
        2 => (path.clone(), -5_000i64..2_000_000_000, 0..1_000_000_000u32).prop_map(|(p, s, n)| Deed::Touch(p, s, n)),
        2 => (path.clone(), 0..3u8, any::<u8>()).prop_map(|(p, k, v)| Deed::Attribute(p, k, v)),
        2 => (path.clone(), path.clone()).prop_map(|(p, q)| Deed::Symlink(p, q)),
        1 => path.clone().prop_map(Deed::Fifo),
        1 => path.clone().prop_map(Deed::Socket),
        2 => (path, 0..IGNORES.len()).prop_map(|(p, t)| Deed::Ignore(p, t)),
        1 => Just(Deed::Rest),
    ]
}

impl Deed {
    /// Does it and says which paths it touched.
    pub(crate) fn perform(&self, ws: &TempWorkspace) -> Vec<Vec<u8>> {
        // Even if it is not done: a parent may have been made, or what was in its way removed.
        let _: Option<()> = match *self {
            Deed::Write(p, byte, len) => reach(ws, p).and_then(|path| write(&path, &bytes(byte, len))),
            Deed::Replace(p, byte, len) => free(ws, p).and_then(|path| write(&path, &bytes(byte, len))),
            Deed::Forge(p, byte) => file(ws, p).and_then(|path| forge(&path, byte)),
            Deed::Append(p, byte) => file(ws, p).and_then(|path| {
                OpenOptions::new().append(true).open(path).and_then(|mut file| file.write_all(&[byte; 7])).ok()
            }),
            Deed::Truncate(p, len) => file(ws, p)
                .and_then(|path| OpenOptions::new().write(true).open(path).ok()?.set_len(u64::from(len)).ok()),
            Deed::Hole(p, at, byte) => free(ws, p).and_then(|path| hole(&path, at, byte)),
            Deed::Rename(p, q) => both(ws, p, q).and_then(|(from, to)| fs::rename(from, to).ok()),
            Deed::Exchange(p, q) => both(ws, p, q).and_then(|_| exchange(ws, PATHS[p], PATHS[q])),
            Deed::Link(p, q) => both(ws, p, q).and_then(|(from, to)| fs::hard_link(from, to).ok()),
            Deed::Remove(p) => reach(ws, p).map(|path| remove(&path)),
            Deed::Mkdir(p) => free(ws, p).and_then(|path| fs::create_dir(path).ok()),
            Deed::Chmod(p, mode) => no_link(ws, p).and_then(|path| chmod(&path, mode)),
            Deed::Chown(p, id) if belay_testkit::is_root() => {
                reach(ws, p).and_then(|path| std::os::unix::fs::lchown(path, Some(id), Some(id)).ok())
            }
            Deed::Chown(..) => None,
            Deed::Touch(p, seconds, nanoseconds) => there(ws, p).map(|_| {
                ws.mtime(PATHS[p], seconds, nanoseconds);
            }),
            Deed::Attribute(p, key, value) => no_link(ws, p).map(|_| {
                ws.xattr(PATHS[p], &format!("user.k{key}"), [value]);
            }),
            Deed::Symlink(p, q) => {
                free(ws, p).and_then(|path| std::os::unix::fs::symlink(OsStr::from_bytes(PATHS[q]), path).ok())
            }
            Deed::Fifo(p) => free(ws, p).map(|_| {
                ws.fifo(PATHS[p]);
            }),
            // The path of a socket is limited to what fits the kernel's address.
            Deed::Socket(p) => free(ws, p).filter(|_| PATHS[p].len() < 30).map(|_| {
                ws.socket(PATHS[p]);
            }),
            Deed::Ignore(p, text) => {
                reach(ws, p).and_then(|path| write(&path.with_file_name(".gitignore"), IGNORES[text].as_bytes()))
            }
            Deed::Rest => {
                std::thread::sleep(Duration::from_millis(25));
                None
            }
        };
        self.touched()
    }

    fn touched(&self) -> Vec<Vec<u8>> {
        let one = |path: usize| vec![PATHS[path].to_vec()];
        match *self {
            Deed::Rename(p, q) | Deed::Exchange(p, q) | Deed::Link(p, q) => [one(p), one(q)].concat(),
            Deed::Ignore(p, _) => {
                let above = PATHS[p].iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
                vec![[&PATHS[p][..above], b".gitignore"].concat()]
            }
            Deed::Write(p, ..)
            | Deed::Replace(p, ..)
            | Deed::Forge(p, _)
            | Deed::Append(p, _)
            | Deed::Truncate(p, _)
            | Deed::Hole(p, ..)
            | Deed::Remove(p)
            | Deed::Mkdir(p)
            | Deed::Chmod(p, _)
            | Deed::Chown(p, _)
            | Deed::Touch(p, ..)
            | Deed::Attribute(p, ..)
            | Deed::Symlink(p, _)
            | Deed::Fifo(p)
            | Deed::Socket(p) => one(p),
            Deed::Rest => Vec::new(),
        }
    }
}

/// The path, with its parents made where they are missing; none if something else is in their place.
fn reach(ws: &TempWorkspace, path: usize) -> Option<PathBuf> {
    let path = PATHS[path];
    for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
        let above = ws.join(&path[..at]);
        match above.symlink_metadata() {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return None,
            Err(_) => fs::create_dir(above).ok()?,
        }
    }
    Some(ws.join(path))
}

/// The path after whatever was there is gone.
fn free(ws: &TempWorkspace, path: usize) -> Option<PathBuf> {
    let path = reach(ws, path)?;
    remove(&path);
    Some(path)
}

fn there(ws: &TempWorkspace, path: usize) -> Option<PathBuf> {
    reach(ws, path).filter(|path| path.symlink_metadata().is_ok())
}

fn no_link(ws: &TempWorkspace, path: usize) -> Option<PathBuf> {
    there(ws, path).filter(|path| path.symlink_metadata().is_ok_and(|meta| meta.is_dir() || meta.is_file()))
}

fn file(ws: &TempWorkspace, path: usize) -> Option<PathBuf> {
    there(ws, path).filter(|path| path.symlink_metadata().is_ok_and(|meta| meta.is_file()))
}

fn both(ws: &TempWorkspace, from: usize, to: usize) -> Option<(PathBuf, PathBuf)> {
    Some((there(ws, from)?, reach(ws, to)?))
}

fn bytes(byte: u8, len: u32) -> Vec<u8> {
    (0..len).map(|at| byte.wrapping_add((at >> 9) as u8).wrapping_mul(31)).collect()
}

fn write(path: &Path, bytes: &[u8]) -> Option<()> {
    if path.symlink_metadata().is_ok_and(|meta| !meta.is_file()) {
        return None;
    }
    fs::write(path, bytes).ok()
}

fn forge(path: &Path, byte: u8) -> Option<()> {
    let meta = path.symlink_metadata().ok()?;
    let file = OpenOptions::new().write(true).open(path).ok()?;
    file.write_all_at(&vec![byte; meta.len().min(64) as usize], 0).ok()?;
    file.set_modified(meta.modified().ok()?).ok()
}

fn hole(path: &Path, at: u32, byte: u8) -> Option<()> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o640).open(path).ok()?;
    file.set_len(1 << 19).ok()?;
    file.write_all_at(&[byte; 9], u64::from(at)).ok()
}

fn chmod(path: &Path, mode: u32) -> Option<()> {
    let is_dir = path.symlink_metadata().ok()?.is_dir();
    // Who is not root must still be able to look into what the test observes.
    let mode = if is_dir { mode | 0o700 } else { mode };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).ok()
}

fn remove(path: &Path) {
    let is_dir = path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let _ = if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

fn exchange(ws: &TempWorkspace, from: &[u8], to: &[u8]) -> Option<()> {
    let root = Root::open(ws.path()).ok()?;
    let cut = |path: &[u8]| path.iter().rposition(|byte| *byte == b'/').map_or((0, 0), |at| (at, at + 1));
    let ((dir, name), (to_dir, to_name)) = (cut(from), cut(to));
    let (here, there) = (root.dir_path_only(&from[..dir]).ok()?, root.dir_path_only(&to[..to_dir]).ok()?);
    here.exchange(&from[name..], &there, &to[to_name..]).ok()
}
