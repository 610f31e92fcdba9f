//! Where a comparison runs: a directory on the disk as it is, or a fresh filesystem in a loop image.
//!
//! Everything is unmounted and removed on drop.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;
use tempfile::TempDir;

use crate::error::{Doing, Error, Result};
use crate::measure;

/// Enough for L, its twin and all repositories; the file is sparse.
const IMAGE_SIZE: &str = "40G";

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
    /// Makes a place below `scratch`, or says why it cannot be had.
    pub(crate) fn new(fs: Fs, scratch: &Path) -> Result<std::result::Result<Self, String>> {
        fs::create_dir_all(scratch).doing("create", scratch)?;
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
        match mount_image(fs, dir.path(), &root) {
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

fn mount_image(fs: Fs, dir: &Path, root: &Path) -> Result<()> {
    let image = dir.join("image");
    fs::create_dir(root).doing("create", root)?;
    let mut size = Command::new("truncate");
    size.args(["-s", IMAGE_SIZE]).arg(&image);
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
