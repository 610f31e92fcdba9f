//! Small filesystems that can be filled, made from loop images or memory as root and unmounted when dropped.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A mounted filesystem of a known small size.
#[derive(Debug)]
pub struct SmallDisk {
    mount_point: PathBuf,
    // Holds the image and the mount point; removed after the unmount in drop.
    _base: TempDir,
}

impl SmallDisk {
    /// An ext4 filesystem of `bytes`.
    pub fn ext4(bytes: u64) -> Option<SmallDisk> {
        let options = ["-q", "-F", "-m", "0", "-O", "^has_journal"];
        SmallDisk::loop_image("mkfs.ext4", &options, bytes)
    }

    /// A btrfs filesystem; mkfs wants at least 110 MiB.
    pub fn btrfs(bytes: u64) -> Option<SmallDisk> {
        SmallDisk::loop_image("mkfs.btrfs", &["-q", "-f"], bytes)
    }

    /// Makes a directory of a btrfs filesystem, which is empty or not there, a subvolume.
    #[track_caller]
    pub fn make_subvolume(path: &Path) {
        // What is not there need not be removed.
        let _ = std::fs::remove_dir(path);
        let mut create = Command::new("btrfs");
        let output = create.args(["-q", "subvolume", "create"]).arg(path).output();
        let made = output.as_ref().is_ok_and(|output| output.status.success());
        assert!(made, "btrfs subvolume create {}: {output:?}", path.display());
    }

    /// An xfs filesystem; mkfs wants at least 300 MiB.
    pub fn xfs(bytes: u64) -> Option<SmallDisk> {
        SmallDisk::loop_image("mkfs.xfs", &["-q", "-f"], bytes)
    }

    /// A filesystem in memory of `bytes`.
    pub fn tmpfs(bytes: u64) -> Option<SmallDisk> {
        let disk = SmallDisk::unmounted()?;
        let size = format!("size={bytes}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "belay-test"]);
        disk.mounted(&mut mount)
    }

    /// Where it is mounted, writable for everybody.
    pub fn path(&self) -> &Path {
        &self.mount_point
    }

    /// How many bytes an ordinary user can still write.
    #[track_caller]
    pub fn bytes_free(&self) -> u64 {
        let stat = rustix::fs::statvfs(&self.mount_point)
            .unwrap_or_else(|error| panic!("stat {}: {error}", self.mount_point.display()));
        stat.f_bavail * stat.f_frsize
    }

    /// Fills it with a file of zeroes until only `bytes` are free, and returns that file.
    #[track_caller]
    pub fn fill_leaving(&self, bytes: u64) -> PathBuf {
        use std::io::Write;
        let ballast = self.mount_point.join("ballast");
        let mut file =
            std::fs::File::create(&ballast).unwrap_or_else(|error| panic!("create {}: {error}", ballast.display()));
        let block = vec![1; 64 * 1024];
        while self.bytes_free() > bytes + block.len() as u64 {
            if file.write_all(&block).and_then(|()| file.sync_data()).is_err() {
                break;
            }
        }
        ballast
    }

    fn loop_image(mkfs: &str, options: &[&str], bytes: u64) -> Option<SmallDisk> {
        let disk = SmallDisk::unmounted()?;
        let image = disk._base.path().join("image");
        let made = std::fs::File::create(&image).and_then(|file| file.set_len(bytes));
        made.unwrap_or_else(|error| panic!("make {}: {error}", image.display()));
        run(Command::new(mkfs).args(options).arg(&image))?;
        disk.mounted(Command::new("mount").args(["-o", "loop"]).arg(&image))
    }

    fn unmounted() -> Option<SmallDisk> {
        if !crate::is_root() {
            crate::skip("a small filesystem needs root");
            return None;
        }
        let base = tempfile::Builder::new()
            .prefix("belay-disk-")
            .tempdir()
            .unwrap_or_else(|error| panic!("make a temporary directory: {error}"));
        let mount_point = base.path().join("mounted");
        std::fs::create_dir(&mount_point).unwrap_or_else(|error| panic!("make {}: {error}", mount_point.display()));
        open_to_all(base.path());
        Some(SmallDisk { mount_point, _base: base })
    }

    fn mounted(self, mount: &mut Command) -> Option<SmallDisk> {
        run(mount.arg(&self.mount_point))?;
        open_to_all(&self.mount_point);
        Some(self)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmount = |options: &[&str]| {
            Command::new("umount")
                .args(options)
                .arg(&self.mount_point)
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success())
        };
        // Lazily only if a file is still open: the image's space then goes with the last handle.
        if !unmount(&[]) {
            unmount(&["--lazy"]);
        }
    }
}

fn open_to_all(directory: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o1777);
    std::fs::set_permissions(directory, mode)
        .unwrap_or_else(|error| panic!("set the mode of {}: {error}", directory.display()));
}

fn run(command: &mut Command) -> Option<()> {
    let failure = match command.output() {
        Ok(output) if output.status.success() => return Some(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    crate::skip(&format!("{}: {failure}", command.get_program().to_string_lossy()));
    None
}
