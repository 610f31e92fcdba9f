//! Where a trial happens: a workspace, a store for the tool, a place outside that must stay as it is; and builders.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Timespec, Timestamps, XattrFlags};
use rustix::io::Errno;

use crate::at;

/// A directory of its own, which goes with the value, whatever a tool left in it.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) base: PathBuf,
    pub(crate) workspace: PathBuf,
    pub(crate) store: PathBuf,
    pub(crate) outside: PathBuf,
    /// The data set that the workspace is.
    data_set: Option<String>,
}

/// What a workspace is made as: some tools capture nothing smaller than what a filesystem keeps apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MadeAs {
    /// A directory.
    #[default]
    Directory,
    /// A subvolume of btrfs.
    Subvolume,
    /// A data set of ZFS inside of this one.
    DataSet(String),
}

impl MadeAs {
    /// A data set inside of the one that holds the place.
    pub fn data_set_at(place: &Path) -> io::Result<MadeAs> {
        let listed = said(Command::new("zfs").args(["list", "-H", "-o", "mountpoint,name", "-t", "filesystem"]))?;
        let holder = listed
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .filter(|(point, _)| place.starts_with(point))
            .max_by_key(|(point, _)| point.len());
        let none = || io::Error::other(format!("{} is on no data set of ZFS", place.display()));
        Ok(MadeAs::DataSet(holder.ok_or_else(none)?.1.to_owned()))
    }

    /// Makes an empty workspace; returns its data set, if it is one.
    fn make(&self, path: &Path, name: &str) -> io::Result<Option<String>> {
        match self {
            MadeAs::Directory => fs::create_dir(path).map(|()| None),
            MadeAs::Subvolume => {
                said(Command::new("btrfs").args(["-q", "subvolume", "create"]).arg(path)).map(|_| None)
            }
            MadeAs::DataSet(inside) => {
                let data_set = format!("{inside}/{name}-{}", std::process::id());
                let point = format!("mountpoint={}", path.display());
                said(Command::new("zfs").args(["create", "-o", &point, &data_set])).map(|_| Some(data_set))
            }
        }
    }
}

/// Runs a program and returns what it printed; what it says of its failure is the error.
fn said(command: &mut Command) -> io::Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

/// Whether something can be made on this machine; the reason if not.
pub(crate) type Made = io::Result<Option<&'static str>>;

/// It was made.
pub(crate) const MADE: Made = Ok(None);

impl Stage {
    /// An empty stage named `name` in `place`, which must not have one of that name.
    pub(crate) fn new(place: &Path, name: &str, made_as: &MadeAs) -> io::Result<Stage> {
        let base = place.join(name);
        fs::create_dir(&base)?;
        let made = |name: &str| {
            let path = base.join(name);
            fs::create_dir(&path).map(|()| path)
        };
        let (workspace, store, outside) = (base.join("workspace"), made("store")?, made("outside")?);
        let data_set = made_as.make(&workspace, name)?;
        Ok(Stage { workspace, store, outside, data_set, base })
    }

    pub(crate) fn join(&self, path: impl AsRef<[u8]>) -> PathBuf {
        self.workspace.join(std::ffi::OsStr::from_bytes(path.as_ref()))
    }

    /// Writes a file with mode 0644 and makes its directories; an existing one is written in place.
    pub(crate) fn file(&self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> io::Result<()> {
        let (parent, name) = at::parent_of(&self.workspace, path.as_ref())?;
        let flags = OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&parent, &name[..], flags, Mode::from_raw_mode(0o644))?);
        // Whatever the umask of whoever starts this is.
        file.set_permissions(Permissions::from_mode(0o644))?;
        file.write_all_at(content.as_ref(), 0)
    }

    pub(crate) fn files(&self, files: &[(&str, &str)]) -> io::Result<()> {
        files.iter().try_for_each(|(path, content)| self.file(path, content))
    }

    pub(crate) fn overwrite(&self, path: &str, offset: u64, content: &[u8]) -> io::Result<()> {
        File::options().write(true).open(self.join(path))?.write_all_at(content, offset)
    }

    /// A file of that size with data at these offsets alone.
    pub(crate) fn sparse(&self, path: &str, size: u64, data: &[(u64, &[u8])]) -> io::Result<()> {
        self.file(path, "")?;
        let file = File::options().write(true).open(self.join(path))?;
        file.set_len(size)?;
        data.iter().try_for_each(|(offset, bytes)| file.write_all_at(bytes, *offset))
    }

    pub(crate) fn dir(&self, path: &str) -> io::Result<()> {
        fs::create_dir_all(self.join(path))?;
        self.mode(path, 0o755)
    }

    pub(crate) fn symlink(&self, path: &str, text: impl AsRef<Path>) -> io::Result<()> {
        let (parent, name) = at::parent_of(&self.workspace, path.as_bytes())?;
        Ok(rustix::fs::symlinkat(text.as_ref(), &parent, &name[..])?)
    }

    pub(crate) fn hard_link(&self, path: &str, existing: &str) -> io::Result<()> {
        fs::hard_link(self.join(existing), self.join(path))
    }

    /// A pipe, a socket or a device.
    pub(crate) fn node(&self, path: &str, kind: FileType, device: u64) -> io::Result<()> {
        Ok(rustix::fs::mknodat(CWD, self.join(path), kind, Mode::from_raw_mode(0o644), device)?)
    }

    pub(crate) fn mode(&self, path: &str, mode: u32) -> io::Result<()> {
        fs::set_permissions(self.join(path), Permissions::from_mode(mode))
    }

    pub(crate) fn owner(&self, path: &str, uid: u32, gid: u32) -> io::Result<()> {
        std::os::unix::fs::lchown(self.join(path), Some(uid), Some(gid))
    }

    /// Sets the time of the last change, of a link itself.
    pub(crate) fn mtime(&self, path: &str, seconds: i64, nanoseconds: u32) -> io::Result<()> {
        let times = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT },
            last_modification: Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() },
        };
        Ok(rustix::fs::utimensat(CWD, self.join(path), &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Sets an extended attribute, unless the filesystem has none.
    pub(crate) fn xattr(&self, path: &str, key: &str, value: &[u8]) -> Made {
        match rustix::fs::lsetxattr(self.join(path), key, value, XattrFlags::empty()) {
            Ok(()) => MADE,
            Err(Errno::NOTSUP) => Ok(Some("the filesystem has no extended attributes of this kind")),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn rename(&self, path: &str, to: &str) -> io::Result<()> {
        fs::rename(self.join(path), self.join(to))
    }

    /// Removes a path and everything beneath it.
    pub(crate) fn remove(&self, path: impl AsRef<[u8]>) -> io::Result<()> {
        let (parent, name) = at::parent_of(&self.workspace, path.as_ref())?;
        at::remove_all(&parent, &name).map_err(at::about("remove", path.as_ref()))
    }

    /// Removes everything in the workspace.
    pub(crate) fn clear(&self) -> io::Result<()> {
        let top = at::open_top(&self.workspace)?;
        at::names(&top)?.iter().try_for_each(|name| Ok(at::remove_all(&top, name)?))
    }

    /// Runs git in a directory of the workspace, steered by nobody's configuration; false without a git.
    pub(crate) fn git(&self, directory: &str, words: &[&str]) -> io::Result<bool> {
        let mut git = Command::new("git");
        git.args(["-c", "init.defaultBranch=main", "-c", "gc.auto=0", "-c", "maintenance.auto=false"]).args(words);
        git.current_dir(self.join(directory)).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        git.env_clear().envs(GIT_ENVIRONMENT).env("GIT_CEILING_DIRECTORIES", &self.base);
        match git.output() {
            Ok(output) if output.status.success() => Ok(true),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                Err(io::Error::other(format!("git {}: {said}", words.join(" "))))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

const GIT_ENVIRONMENT: [(&str, &str); 9] = [
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_AUTHOR_NAME", "Ada"),
    ("GIT_AUTHOR_EMAIL", "ada@example.org"),
    ("GIT_COMMITTER_NAME", "Ada"),
    ("GIT_COMMITTER_EMAIL", "ada@example.org"),
    ("LC_ALL", "C"),
];

impl Drop for Stage {
    fn drop(&mut self) {
        // Whoever owns the place removes what is left in it; a stage that cannot be removed is no verdict on a tool.
        if let Some(data_set) = &self.data_set {
            let _ = said(Command::new("zfs").args(["destroy", "-R", "-f", data_set]));
        }
        if let (Some(parent), Some(name)) = (self.base.parent(), self.base.file_name())
            && let Ok(parent) = at::open_top(parent)
        {
            let _ = at::remove_all(&parent, name.as_bytes());
        }
    }
}
