//! A directory copied with everything in it: its blocks shared where the filesystem can, its bytes written where not.
//!
//! Whatever is there is copied, also what no snapshot captures: a fork that lacks its dependencies cannot be built.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use belay_store::{FileType, Root};
use belay_sys::Dir;

use crate::workspace::Work;

/// Copies a directory into one that is new or empty.
pub(super) fn tree(from: &Path, to: &Path, work: Work<'_>) -> io::Result<()> {
    if fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(io::ErrorKind::DirectoryNotEmpty.into());
    }
    fs::create_dir_all(to)?;
    // Without links and dots, so that what lies above it by name does so in fact.
    let whole = to.canonicalize()?;
    if whole.ancestors().filter_map(|above| fs::metadata(above).ok()).any(|above| is_same(&above, from)) {
        // It was made just now, or is as empty as it was.
        let _ = fs::remove_dir(to);
        return Err(io::Error::other("it lies inside the workspace"));
    }
    let (source, target) = (Root::open(from)?, Root::open(to)?);
    let mut copy = Copy { work, as_root: belay_sys::is_root(), names: HashMap::new(), target: to.to_owned() };
    copy.directory(&source.dir(b"")?, &target.dir(b"")?, &target, b"")
}

fn is_same(metadata: &fs::Metadata, path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|other| other.dev() == metadata.dev() && other.ino() == metadata.ino())
}

/// Whether blocks of files in one directory can be shared with files in the other, found by doing it.
pub(super) fn shares_blocks(from: &Path, to: &Path) -> bool {
    let try_it = || -> io::Result<()> {
        let target = tempfile_in(to)?;
        let source = tempfile_in(from)?;
        belay_sys::clone_file(&source, &target)
    };
    try_it().is_ok()
}

/// How many files a directory holds, and their bytes.
pub(super) fn weight(path: &Path) -> (u64, u64) {
    let Ok(metadata) = path.symlink_metadata() else { return (0, 0) };
    if !metadata.is_dir() {
        return (1, metadata.len());
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| weight(&entry.path())).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// A file without a name.
fn tempfile_in(dir: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(dir, flags, Mode::from_raw_mode(0o600))?);
    file.set_len(4096)?;
    Ok(file)
}

struct Copy<'a> {
    work: Work<'a>,
    as_root: bool,
    /// Files with several names: the path of the first copy by device and inode.
    names: HashMap<(u64, u64), Vec<u8>>,
    target: PathBuf,
}

impl Copy<'_> {
    fn directory(&mut self, from: &Dir, to: &Dir, root: &Root, path: &[u8]) -> io::Result<()> {
        if self.work.stop.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let mut names = Vec::new();
        from.list(&mut Vec::new(), &mut |name, kind, _| names.push((name.to_vec(), kind)))?;
        for (name, _) in names {
            let inner = if path.is_empty() { name.clone() } else { [path, b"/", &name].concat() };
            self.entry(from, to, root, &name, &inner)?;
        }
        let own = from.stat_self()?;
        to.set_self_mode(own.mode & 0o7777)?;
        to.set_self_times(own.mtime)
    }

    fn entry(&mut self, from: &Dir, to: &Dir, root: &Root, name: &[u8], path: &[u8]) -> io::Result<()> {
        let stat = from.stat(name)?;
        match stat.file_type {
            FileType::Dir => {
                to.make_dir(name, 0o700)?;
                let Ok(inside) = from.subdir(name) else { return Ok(()) };
                self.directory(&inside, &to.subdir(name)?, root, path)?;
            }
            FileType::File => {
                let key = (stat.dev, stat.ino);
                if stat.nlink > 1
                    && let Some(first) = self.names.get(&key)
                {
                    return fs::hard_link(self.path(first), self.path(path));
                }
                self.file(from, to, name, stat.mode)?;
                self.names.insert(key, path.to_vec());
                self.work.progress.advance(1, stat.size);
            }
            FileType::Symlink => to.make_symlink(name, &from.read_link(name)?)?,
            FileType::Fifo => to.make_fifo(name, stat.mode & 0o7777)?,
            FileType::Socket => to.make_socket(name, stat.mode & 0o7777)?,
            // A device is nobody's work, and only root could make one.
            _ => return Ok(()),
        }
        self.metadata(from, to, name, &stat)
    }

    fn file(&self, from: &Dir, to: &Dir, name: &[u8], mode: u32) -> io::Result<()> {
        let mut source = from.open_read(name)?;
        let mut target = to.create_new(name, mode & 0o777 | 0o200)?;
        if belay_sys::clone_file(&source, &target).is_err() {
            io::copy(&mut source, &mut target)?;
        }
        Ok(())
    }

    fn metadata(&self, from: &Dir, to: &Dir, name: &[u8], stat: &belay_store::Stat) -> io::Result<()> {
        for (key, value) in from.xattrs(name, stat.file_type).unwrap_or_default() {
            // What only root may set is missed by nobody else.
            let _ = to.set_xattr(name, &key, &value);
        }
        if self.as_root {
            to.set_owner(name, stat.uid, stat.gid)?;
        }
        if stat.file_type != FileType::Symlink {
            to.set_mode(name, stat.mode & 0o7777)?;
        }
        to.set_times(name, stat.mtime)
    }

    fn path(&self, path: &[u8]) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        self.target.join(std::ffi::OsStr::from_bytes(path))
    }
}
