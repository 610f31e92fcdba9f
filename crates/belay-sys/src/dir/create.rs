//! Making, linking, renaming and removing names.

use std::io;

use rustix::fs::{AtFlags, Mode, RenameFlags};

use super::Dir;
use crate::resolve::check_name;
use crate::stat::FileType;

impl Dir {
    /// Creates a directory.
    pub fn make_dir(&self, name: &[u8], mode: u32) -> io::Result<()> {
        check_name(name)?;
        let mode = Mode::from_raw_mode(mode);
        Ok(rustix::fs::mkdirat(self.as_fd(), name, mode)?)
    }

    /// Creates a symlink whose text is `target`, byte for byte.
    pub fn make_symlink(&self, name: &[u8], target: &[u8]) -> io::Result<()> {
        check_name(name)?;
        Ok(rustix::fs::symlinkat(target, self.as_fd(), name)?)
    }

    /// Creates a named pipe.
    pub fn make_fifo(&self, name: &[u8], mode: u32) -> io::Result<()> {
        self.make_node(name, rustix::fs::FileType::Fifo, 0, mode)
    }

    /// Creates a socket that nobody listens on.
    pub fn make_socket(&self, name: &[u8], mode: u32) -> io::Result<()> {
        self.make_node(name, rustix::fs::FileType::Socket, 0, mode)
    }

    /// Creates a device node; `kind` is `CharDevice` or `BlockDevice`.
    pub fn make_device(&self, name: &[u8], kind: FileType, rdev: u64, mode: u32) -> io::Result<()> {
        let kind = match kind {
            FileType::CharDevice => rustix::fs::FileType::CharacterDevice,
            FileType::BlockDevice => rustix::fs::FileType::BlockDevice,
            _ => {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a device type"));
            }
        };
        self.make_node(name, kind, rdev, mode)
    }

    fn make_node(&self, name: &[u8], kind: rustix::fs::FileType, rdev: u64, mode: u32) -> io::Result<()> {
        check_name(name)?;
        let mode = Mode::from_raw_mode(mode);
        Ok(rustix::fs::mknodat(self.as_fd(), name, kind, mode, rdev)?)
    }

    /// Gives the inode `name` a second name; a symlink is linked itself.
    pub fn hard_link(&self, name: &[u8], to_dir: &Dir, to_name: &[u8]) -> io::Result<()> {
        check_name(name)?;
        check_name(to_name)?;
        let (from, to) = (self.as_fd(), to_dir.as_fd());
        Ok(rustix::fs::linkat(from, name, to, to_name, AtFlags::empty())?)
    }

    /// Renames, replacing what has the new name; does nothing when both name the same inode.
    pub fn rename(&self, name: &[u8], to_dir: &Dir, to_name: &[u8]) -> io::Result<()> {
        check_name(name)?;
        check_name(to_name)?;
        let (from, to) = (self.as_fd(), to_dir.as_fd());
        Ok(rustix::fs::renameat(from, name, to, to_name)?)
    }

    /// Renames only if the new name is free, else `AlreadyExists`.
    pub fn rename_new(&self, name: &[u8], to_dir: &Dir, to_name: &[u8]) -> io::Result<()> {
        self.rename_with(name, to_dir, to_name, RenameFlags::NOREPLACE)
    }

    /// Swaps two names in one step.
    pub fn exchange(&self, name: &[u8], to_dir: &Dir, to_name: &[u8]) -> io::Result<()> {
        self.rename_with(name, to_dir, to_name, RenameFlags::EXCHANGE)
    }

    fn rename_with(&self, name: &[u8], to_dir: &Dir, to_name: &[u8], flags: RenameFlags) -> io::Result<()> {
        check_name(name)?;
        check_name(to_name)?;
        let (from, to) = (self.as_fd(), to_dir.as_fd());
        Ok(rustix::fs::renameat_with(from, name, to, to_name, flags)?)
    }

    /// Removes a name that is not a directory.
    pub fn remove_file(&self, name: &[u8]) -> io::Result<()> {
        check_name(name)?;
        let flags = AtFlags::empty();
        Ok(rustix::fs::unlinkat(self.as_fd(), name, flags)?)
    }

    /// Removes an empty directory.
    pub fn remove_dir(&self, name: &[u8]) -> io::Result<()> {
        check_name(name)?;
        let flags = AtFlags::REMOVEDIR;
        Ok(rustix::fs::unlinkat(self.as_fd(), name, flags)?)
    }
}
