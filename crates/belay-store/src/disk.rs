//! The seam between the store and the disk: few operations, so that a twin can crash at each of them.
//!
//! Names are relative, `/`-separated and chosen by belay. A write is durable after [`DiskWrite::sync`], a
//! created or renamed name after [`Disk::sync_dir`] of its directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// With others who share it.
    Shared,
    /// Alone.
    Exclusive,
}

/// A held lock; dropping it, or dying, releases it.
pub struct Lock(#[expect(dead_code, reason = "held for its drop")] Box<dyn std::any::Any + Send + Sync>);

impl Lock {
    /// A lock that lasts as long as `held`.
    pub fn new(held: impl Send + Sync + 'static) -> Lock {
        Lock(Box::new(held))
    }
}

/// A file that is read.
pub trait DiskFile: Send + Sync {
    /// Fills `buffer` from `offset`, or fails.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
    /// How long the file is.
    fn len(&self) -> io::Result<u64>;
    /// Makes `to` begin with so many bytes from `offset`, by sharing the disk's blocks; both are whole blocks.
    fn share_to(&self, _offset: u64, _len: u64, _to: &File) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Whether the file has no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// A file that is appended to.
pub trait DiskWrite: Send {
    /// Appends all of `bytes`.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Goes on at `at` with all of `from`, by sharing the disk's blocks; returns how long the file is then.
    fn share(&mut self, _from: &File, _at: u64) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Has the disk begin with so many bytes at an offset, so that the sync finds less to do; nothing is durable by it.
    fn begin_sync(&mut self, _offset: u64, _len: u64) {}
    /// Makes all that was appended durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// A directory of files.
pub trait Disk: Send + Sync {
    /// Opens a file to read.
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Creates a file that must not exist; missing directories are made.
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskWrite>>;
    /// Opens a file to append, creating it if missing, after cutting it to `len` bytes.
    fn append(&self, name: &str, len: u64) -> io::Result<Box<dyn DiskWrite>>;
    /// Renames a file, replacing what has the new name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// The names and lengths of the files directly inside a directory; none if it does not exist.
    fn list(&self, dir: &str) -> io::Result<Vec<(String, u64)>>;
    /// Whether there is a directory of that name; on a disk that has none of its own, there always is.
    fn has_dir(&self, _dir: &str) -> bool {
        true
    }
    /// Makes the names in a directory durable.
    fn sync_dir(&self, dir: &str) -> io::Result<()>;
    /// Takes a lock; `None` if another holds it and `wait` is false.
    fn lock(&self, name: &str, mode: LockMode, wait: bool) -> io::Result<Option<Lock>>;
    /// Bytes that can still be written.
    fn free_bytes(&self) -> io::Result<u64>;
    /// Where the directory is, if other programs can reach it by a path.
    fn path(&self) -> Option<&Path> {
        None
    }

    /// Reads a whole file.
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let file = self.open(name)?;
        let mut bytes = vec![0; file.len()? as usize];
        file.read_at(&mut bytes, 0)?;
        Ok(bytes)
    }
}

/// A real directory, private to its owner whatever the umask.
pub struct RealDisk {
    root: PathBuf,
}

impl RealDisk {
    /// The directory, made with mode 0700 if it is missing.
    pub fn open(root: &Path) -> io::Result<RealDisk> {
        let disk = RealDisk { root: root.to_path_buf() };
        make_private_dir(root)?;
        Ok(disk)
    }

    /// Where the directory is.
    pub fn path(&self) -> &Path {
        &self.root
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn with_parent<T>(&self, name: &str, open: impl Fn(&Path) -> io::Result<T>) -> io::Result<T> {
        let path = self.at(name);
        match open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.make_private_dirs(path.parent().expect("every name is beneath the root"))?;
                open(&path)
            }
            other => other,
        }
    }

    fn make_private_dirs(&self, dir: &Path) -> io::Result<()> {
        let is_missing = |dir: &&Path| dir.starts_with(&self.root) && !dir.is_dir();
        let missing: Vec<&Path> = dir.ancestors().take_while(is_missing).collect();
        missing.into_iter().rev().try_for_each(make_private_dir)
    }
}

fn make_private_dir(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        // What lies above belay's own directory belongs to the user and follows the umask.
        fs::create_dir_all(parent)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
        Ok(()) => {
            fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
            // A file made durable in a directory whose own name is lost would be lost with it.
            // One above belay's own may not be readable; then that is as durable as the user made it.
            match path.parent().map(File::open) {
                Some(Ok(parent)) => parent.sync_all(),
                _ => Ok(()),
            }
        }
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600).custom_flags(belay_sys::UNWAITED);
    options
}

/// The file, unless it is something else.
fn plain(file: File) -> io::Result<File> {
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a plain file")),
    }
}

impl DiskFile for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(buffer, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn share_to(&self, offset: u64, len: u64, to: &File) -> io::Result<()> {
        belay_sys::clone_range(self, (offset, len), to, 0)
    }
}

impl DiskWrite for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn share(&mut self, from: &File, at: u64) -> io::Result<u64> {
        belay_sys::clone_range(from, (0, 0), self, at)?;
        self.seek(io::SeekFrom::End(0))
    }

    fn begin_sync(&mut self, offset: u64, len: u64) {
        belay_sys::begin_writing_out(self, offset, len);
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

impl Disk for RealDisk {
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(plain(OpenOptions::new().read(true).custom_flags(belay_sys::UNWAITED).open(self.at(name))?)?))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskWrite>> {
        let file = self.with_parent(name, |path| private().write(true).create_new(true).open(path))?;
        Ok(Box::new(file))
    }

    fn append(&self, name: &str, len: u64) -> io::Result<Box<dyn DiskWrite>> {
        let file = plain(self.with_parent(name, |path| private().append(true).create(true).open(path))?)?;
        if file.metadata()?.len() > len {
            file.set_len(len)?;
        }
        Ok(Box::new(file))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.at(from), self.at(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.at(name))
    }

    fn list(&self, dir: &str) -> io::Result<Vec<(String, u64)>> {
        let mut found = Vec::new();
        let entries = match fs::read_dir(self.at(dir)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
            other => other?,
        };
        for entry in entries {
            let entry = entry?;
            // A file that another process removed meanwhile is simply not there.
            if let (Ok(name), Ok(meta)) = (entry.file_name().into_string(), entry.metadata())
                && meta.is_file()
            {
                found.push((name, meta.len()));
            }
        }
        found.sort();
        Ok(found)
    }

    fn has_dir(&self, dir: &str) -> bool {
        self.at(dir).is_dir()
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        File::open(self.at(dir))?.sync_all()
    }

    fn lock(&self, name: &str, mode: LockMode, wait: bool) -> io::Result<Option<Lock>> {
        let file = plain(self.with_parent(name, |path| private().read(true).append(true).create(true).open(path))?)?;
        let kind = match mode {
            LockMode::Shared => belay_sys::LockKind::Shared,
            LockMode::Exclusive => belay_sys::LockKind::Exclusive,
        };
        if wait {
            return Ok(Some(Lock::new(belay_sys::lock_file(file, kind)?)));
        }
        Ok(belay_sys::try_lock_file(file, kind)?.ok().map(Lock::new))
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.root)
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(belay_sys::Root::open(&self.root)?.file_system()?.bytes_free)
    }
}
