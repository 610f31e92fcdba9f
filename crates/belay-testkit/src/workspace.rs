//! A temporary workspace and builders for every kind of path that a workspace can hold.
//!
//! The workspace, a place for belay's files and a place outside lie beside each other on one filesystem, so that
//! links and renames between them are possible. All of it goes when the value is dropped, whatever its modes are.

use crate::at;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, XattrFlags};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A workspace in a temporary directory.
#[derive(Debug)]
pub struct TempWorkspace {
    base: Option<TempDir>,
    workspace: PathBuf,
    home: PathBuf,
    outside: PathBuf,
}

impl TempWorkspace {
    /// An empty workspace beneath `$TMPDIR`.
    #[track_caller]
    pub fn new() -> TempWorkspace {
        TempWorkspace::new_in(&std::env::temp_dir())
    }

    /// An empty workspace beneath `parent`, for instance on a [`crate::SmallDisk`].
    #[track_caller]
    pub fn new_in(parent: &Path) -> TempWorkspace {
        let base = tempfile::Builder::new()
            .prefix("belay-test-")
            .tempdir_in(parent)
            .unwrap_or_else(|error| panic!("make a directory in {}: {error}", parent.display()));
        let made = |name: &str| {
            let path = base.path().join(name);
            std::fs::create_dir(&path).unwrap_or_else(|error| panic!("make {}: {error}", path.display()));
            path
        };
        TempWorkspace { workspace: made("workspace"), home: made("home"), outside: made("outside"), base: Some(base) }
    }

    /// The workspace's directory.
    pub fn path(&self) -> &Path {
        &self.workspace
    }

    /// A directory outside the workspace for belay's own files, fit for `BELAY_HOME`.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// A directory outside the workspace for what must stay untouched.
    pub fn outside(&self) -> &Path {
        &self.outside
    }

    /// The directory that holds the workspace, [`Self::home`] and [`Self::outside`].
    pub fn base(&self) -> &Path {
        self.base.as_ref().expect("the directory is taken only by drop").path()
    }

    /// The full path of something in the workspace; too long paths can be built only by the methods below.
    pub fn join(&self, path: impl AsRef<[u8]>) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        self.workspace.join(std::ffi::OsStr::from_bytes(path.as_ref()))
    }

    /// Writes a file with mode 0644, making its directories; an existing one is rewritten in place.
    #[track_caller]
    pub fn file(&self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> &Self {
        self.file_mode(path, content, 0o644)
    }

    /// Writes a file with the given mode.
    #[track_caller]
    pub fn file_mode(&self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>, mode: u32) -> &Self {
        let file = self.open(path.as_ref(), OFlags::CREATE | OFlags::TRUNC);
        write_at(&file, 0, content.as_ref(), path.as_ref());
        done("set the mode of", path.as_ref(), rustix::fs::fchmod(&file, Mode::from_raw_mode(mode)));
        self
    }

    /// Writes bytes into an existing file at an offset, without changing its length unless they pass its end.
    #[track_caller]
    pub fn overwrite(&self, path: impl AsRef<[u8]>, offset: u64, content: &[u8]) -> &Self {
        let file = self.open(path.as_ref(), OFlags::empty());
        write_at(&file, offset, content, path.as_ref());
        self
    }

    /// Writes a file of `size` bytes with data only at the given offsets.
    #[track_caller]
    pub fn sparse(&self, path: impl AsRef<[u8]>, size: u64, data: &[(u64, &[u8])]) -> &Self {
        let file = self.open(path.as_ref(), OFlags::CREATE | OFlags::TRUNC);
        done("lengthen", path.as_ref(), rustix::fs::ftruncate(&file, size));
        for (offset, content) in data {
            write_at(&file, *offset, content, path.as_ref());
        }
        self
    }

    /// Makes a directory with mode 0755, and those above it.
    #[track_caller]
    pub fn dir(&self, path: impl AsRef<[u8]>) -> &Self {
        let (parent, name) = at::parent_of(&self.workspace, path.as_ref());
        let made = rustix::fs::mkdirat(&parent, &name[..], Mode::from_raw_mode(0o755));
        done("make directory", path.as_ref(), made);
        self.mode(path, 0o755)
    }

    /// Makes a symbolic link with the given text.
    #[track_caller]
    pub fn symlink(&self, path: impl AsRef<[u8]>, text: impl AsRef<[u8]>) -> &Self {
        let (parent, name) = at::parent_of(&self.workspace, path.as_ref());
        let made = rustix::fs::symlinkat(text.as_ref(), &parent, &name[..]);
        done("link", path.as_ref(), made);
        self
    }

    /// Makes `path` another name of `existing`; both are in the workspace.
    #[track_caller]
    pub fn hard_link(&self, path: impl AsRef<[u8]>, existing: impl AsRef<[u8]>) -> &Self {
        let (from, from_name) = at::parent_of(&self.workspace, existing.as_ref());
        let (to, to_name) = at::parent_of(&self.workspace, path.as_ref());
        let made = rustix::fs::linkat(&from, &from_name[..], &to, &to_name[..], AtFlags::empty());
        done("hard-link", path.as_ref(), made);
        self
    }

    /// Makes a named pipe.
    #[track_caller]
    pub fn fifo(&self, path: impl AsRef<[u8]>) -> &Self {
        self.node(path.as_ref(), FileType::Fifo, 0)
    }

    /// Makes a Unix socket that nobody listens on.
    #[track_caller]
    pub fn socket(&self, path: impl AsRef<[u8]>) -> &Self {
        self.node(path.as_ref(), FileType::Socket, 0)
    }

    /// Makes a character device, the same as `/dev/null`; only root can.
    #[track_caller]
    pub fn null_device(&self, path: impl AsRef<[u8]>) -> &Self {
        let device = rustix::fs::makedev(1, 3);
        self.node(path.as_ref(), FileType::CharacterDevice, device)
    }

    /// Sets the mode of a file or directory.
    #[track_caller]
    pub fn mode(&self, path: impl AsRef<[u8]>, mode: u32) -> &Self {
        let (parent, name) = at::parent_of(&self.workspace, path.as_ref());
        let mode = Mode::from_raw_mode(mode);
        let set = rustix::fs::chmodat(&parent, &name[..], mode, AtFlags::empty());
        done("set the mode of", path.as_ref(), set);
        self
    }

    /// Sets the owner of a path, not following links; only root can.
    #[track_caller]
    pub fn owner(&self, path: impl AsRef<[u8]>, uid: u32, gid: u32) -> &Self {
        let (parent, name) = at::parent_of(&self.workspace, path.as_ref());
        let set = rustix::fs::chownat(
            &parent,
            &name[..],
            Some(rustix::fs::Uid::from_raw(uid)),
            Some(rustix::fs::Gid::from_raw(gid)),
            AtFlags::SYMLINK_NOFOLLOW,
        );
        done("set the owner of", path.as_ref(), set);
        self
    }

    /// Sets the mtime of a path, not following links.
    #[track_caller]
    pub fn mtime(&self, path: impl AsRef<[u8]>, seconds: i64, nanoseconds: u32) -> &Self {
        let (parent, name) = at::parent_of(&self.workspace, path.as_ref());
        let times = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT },
            last_modification: Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() },
        };
        let set = rustix::fs::utimensat(&parent, &name[..], &times, AtFlags::SYMLINK_NOFOLLOW);
        done("set the times of", path.as_ref(), set);
        self
    }

    /// Sets an extended attribute, not following links; false where the filesystem has none.
    #[track_caller]
    pub fn xattr(&self, path: impl AsRef<[u8]>, key: &str, value: impl AsRef<[u8]>) -> bool {
        let (parent, name) = at::parent_of(&self.workspace, path.as_ref());
        let short = at::short_path(&parent, &name);
        match rustix::fs::lsetxattr(&short, key, value.as_ref(), XattrFlags::empty()) {
            Ok(()) => true,
            Err(rustix::io::Errno::NOTSUP) => false,
            Err(error) => panic!("set {key} of {}: {error}", crate::show(path.as_ref())),
        }
    }

    /// Renames a path, replacing what is at the new one.
    #[track_caller]
    pub fn rename(&self, path: impl AsRef<[u8]>, to: impl AsRef<[u8]>) -> &Self {
        let (from, from_name) = at::parent_of(&self.workspace, path.as_ref());
        let (onto, onto_name) = at::parent_of(&self.workspace, to.as_ref());
        let renamed = rustix::fs::renameat(&from, &from_name[..], &onto, &onto_name[..]);
        done("rename", path.as_ref(), renamed);
        self
    }

    /// Removes a path and everything beneath it.
    #[track_caller]
    pub fn remove(&self, path: impl AsRef<[u8]>) -> &Self {
        let (parent, name) = at::parent_of(&self.workspace, path.as_ref());
        done("remove", path.as_ref(), at::remove_all(&parent, &name));
        self
    }

    /// Observes the workspace.
    #[track_caller]
    pub fn walk(&self) -> crate::World {
        crate::walk(&self.workspace)
    }

    #[track_caller]
    fn open(&self, path: &[u8], flags: OFlags) -> File {
        let (parent, name) = at::parent_of(&self.workspace, path);
        let flags = flags | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&parent, &name[..], flags, Mode::from_raw_mode(0o644))
            .unwrap_or_else(|error| panic!("open {}: {error}", crate::show(path)))
            .into()
    }

    #[track_caller]
    fn node(&self, path: &[u8], kind: FileType, device: u64) -> &Self {
        let (parent, name) = at::parent_of(&self.workspace, path);
        let mode = Mode::from_raw_mode(0o644);
        let made = rustix::fs::mknodat(&parent, &name[..], kind, mode, device);
        done("make", path, made);
        self
    }
}

impl Default for TempWorkspace {
    fn default() -> TempWorkspace {
        TempWorkspace::new()
    }
}

impl Drop for TempWorkspace {
    fn drop(&mut self) {
        // TempDir alone stops at the first directory without write permission and at immutable files.
        let Some(base) = self.base.take() else { return };
        let base = base.keep();
        if let (Some(parent), Some(name)) = (base.parent(), base.file_name()) {
            let _ = at::remove_all(&at::open_top(parent), name.as_encoded_bytes());
        }
    }
}

#[track_caller]
fn write_at(file: &File, offset: u64, content: &[u8], path: &[u8]) {
    file.write_all_at(content, offset).unwrap_or_else(|error| panic!("write {}: {error}", crate::show(path)));
}

#[track_caller]
fn done(what: &str, path: &[u8], result: rustix::io::Result<()>) {
    if let Err(error) = result {
        panic!("{what} {}: {error}", crate::show(path));
    }
}
