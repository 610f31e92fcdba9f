//! Where a comparison runs: a directory on the disk as it is, or a fresh filesystem in a loop image.
//!
//! Everything is unmounted and removed on drop.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;
use tempfile::TempDir;

use crate::error::{Doing, Error, Result};
use crate::{measure, table};

/// An image holds a workspace, its twin and all repositories, so many times the workspace; the file is sparse.
const IMAGE_PER_BYTE: u64 = 8;
const IMAGE_BYTES_MIN: u64 = 4 << 30;

/// So much of it is in use at a time, and has to be free before anything is measured.
const FREE_PER_BYTE: u64 = 4;
const FREE_BYTES_MIN: u64 = 2 << 30;

/// A filesystem to measure on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fs {
    /// Whatever the scratch directory is on.
    Disk,
    /// A fresh image, because a disk's own ext4 may lack a journal or be full of recently deleted inodes.
    Ext4,
    Btrfs,
    Xfs,
}

impl Fs {
    /// The filesystem's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Fs::Disk => "disk",
            Fs::Ext4 => "ext4",
            Fs::Btrfs => "btrfs",
            Fs::Xfs => "xfs",
        }
    }

    /// Whether files can share blocks.
    pub(crate) fn reflinks(self) -> bool {
        matches!(self, Fs::Btrfs | Fs::Xfs)
    }
}

/// A scratch directory on the wanted filesystem.
pub(crate) struct Place {
    pub(crate) fs: Fs,
    root: PathBuf,
    mounted: bool,
    // Dropped after the unmount in `drop`, because fields go last.
    _dir: TempDir,
}

impl Place {
    /// Makes a place below `scratch` for a workspace of so many bytes, or says why it cannot be had.
    pub(crate) fn new(fs: Fs, scratch: &Path, bytes: u64) -> Result<std::result::Result<Self, String>> {
        fs::create_dir_all(scratch).doing("create", scratch)?;
        let (free, wanted) = (free_bytes(scratch)?, bytes * FREE_PER_BYTE + FREE_BYTES_MIN);
        if free < wanted {
            let (free, wanted) = (table::size(free), table::size(wanted));
            return Ok(Err(format!("{free} are free in {}, and {wanted} are needed", scratch.display())));
        }
        let dir =
            tempfile::Builder::new().prefix("bench-").tempdir_in(scratch).doing("create a directory in", scratch)?;
        if fs == Fs::Disk {
            let root = dir.path().to_path_buf();
            return Ok(Ok(Place { fs, root, mounted: false, _dir: dir }));
        }
        if !rustix::process::geteuid().is_root() {
            return Ok(Err("a loop image needs root".to_owned()));
        }
        let root = dir.path().join("mnt");
        match mount_image(fs, dir.path(), &root, bytes * IMAGE_PER_BYTE + IMAGE_BYTES_MIN) {
            Ok(()) => Ok(Ok(Place { fs, root, mounted: true, _dir: dir })),
            Err(Error::Start { program, source }) => Ok(Err(format!("{program}: {source}"))),
            Err(Error::Failed { said, .. }) => Ok(Err(said)),
            Err(other) => Err(other),
        }
    }

    /// A path of this place.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Copies a directory into this place under a name, as a subvolume where there is such a thing.
    pub(crate) fn copy(&self, from: &Path, name: &str) -> Result<PathBuf> {
        let to = self.path(name);
        if self.fs == Fs::Btrfs {
            let mut create = Command::new("btrfs");
            create.args(["-q", "subvolume", "create"]).arg(&to);
            measure::run(vec![create])?;
        } else {
            fs::create_dir(&to).doing("create", &to)?;
        }
        let mut copy = Command::new("cp");
        copy.args(["-a", "--reflink=never"]).arg(from.join(".")).arg(&to);
        measure::run(vec![copy])?;
        Ok(to)
    }

    /// Removes a copy.
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        let path = self.path(name);
        fs::remove_dir_all(&path).doing("remove", &path)
    }

    /// Gives the disk back what was removed in the image, which would otherwise grow to its full size.
    pub(crate) fn trim(&self) {
        if self.mounted {
            let mut trim = Command::new("fstrim");
            trim.arg(&self.root);
            // Where that cannot be done the image is as large as it may be, which was asked for.
            let _ = measure::run(vec![trim]);
        }
    }

    /// Waits until all is on the disk, so that no tool pays for what was written before it.
    pub(crate) fn settle(&self) -> Result<()> {
        let root = fs::File::open(&self.root).doing("open", &self.root)?;
        rustix::fs::syncfs(&root).doing("sync", &self.root)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.mounted {
            let mut umount = Command::new("umount");
            umount.arg(&self.root);
            if let Err(error) = measure::run(vec![umount]) {
                eprintln!("bench: {}", crate::error::chain(&error));
            }
        }
    }
}

fn free_bytes(path: &Path) -> Result<u64> {
    let stat = rustix::fs::statvfs(path).doing("examine", path)?;
    Ok(stat.f_bavail * stat.f_frsize)
}

fn mount_image(fs: Fs, dir: &Path, root: &Path, bytes: u64) -> Result<()> {
    let image = dir.join("image");
    fs::create_dir(root).doing("create", root)?;
    let mut size = Command::new("truncate");
    size.arg("-s").arg(bytes.to_string()).arg(&image);
    let mut mkfs = Command::new(format!("mkfs.{}", fs.name()));
    mkfs.arg("-q").arg(&image);
    // Without direct I/O every byte would be cached twice, once for the image.
    let mut attach = Command::new("losetup");
    attach.args(["--direct-io=on", "--find", "--show"]).arg(&image);
    let device = measure::run(vec![size, mkfs, attach])?.stdout;
    let mut mount = Command::new("mount");
    mount.arg(device.trim()).arg(root);
    let mounted = measure::run(vec![mount]).map(drop);
    // A detach while mounted takes effect at the unmount, so nothing is left behind then.
    let mut detach = Command::new("losetup");
    detach.arg("--detach").arg(device.trim());
    measure::run(vec![detach])?;
    mounted
}
